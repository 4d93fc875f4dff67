"""Integers and conditions of which something is known by how far numbers go: comparisons that always hold.

Python's ``//`` and ``%`` are divisions that are mended where signs differ, and where the divisor is 0 or -1:
of numbers that are known to be positive nothing is left of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import I1
from weft.compiler.passes.indices import Ranges

_Range = tuple[int, int]


class Decided(Ranges):
    """Ranges by which comparisons are decided; ``fact`` tells of values of which more is known."""

    def __init__(
        self, known: Mapping[Value, _Range], fact: Callable[[Value], _Range | None] = lambda v: None
    ) -> None:
        super().__init__(known)
        self._fact = fact
        self._truths: dict[Value, bool | None] = {}

    def learn(self, v: Value, ends: _Range) -> None:
        """Know how far a value goes."""
        self._known[v] = ends

    def _range(self, v: Value) -> _Range | None:
        fact, op = self._fact(v), v.owner
        if fact is not None or not isinstance(op, Op) or len(op.operands) < 2:
            return super()._range(v) if fact is None else fact
        if op.name == "arith.select":
            simple = self.simple(v)
            return self._either(*op.operands[1:]) if simple is v else self.range(simple)
        if op.name in ("arith.xori", "arith.andi"):
            return self._bits(*op.operands)
        rest = rest_of(op)
        if rest is not None or op.name == "arith.divsi":
            number, by = map(self.range, rest or op.operands)
            if number is None or by is None or number[0] < 0 or by[0] < 1:
                return None
            if rest is not None:
                return 0, min(number[1], by[1] - 1)
            return number[0] // by[1], number[1] // by[0]
        return super()._range(v)

    def _either(self, *values: Value) -> _Range | None:
        one, other = map(self.range, values)
        return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))

    def _bits(self, *values: Value) -> _Range | None:
        one, other = map(self.range, values)
        if one is None or other is None or one[0] < 0 or other[0] < 0:
            return None
        return 0, (1 << max(one[1], other[1]).bit_length()) - 1

    def simple(self, v: Value) -> Value:
        """A value that is certain to be the same, and made earlier; or itself."""
        op = v.owner
        if isinstance(op, Op) and op.name == "arith.select":
            truth = self.truth(op.operands[0])
            return v if truth is None else self.simple(op.operands[2 - truth])
        if isinstance(op, Op) and op.name in ("arith.addi", "arith.subi"):
            return self.simple(op.operands[0]) if self.range(op.operands[1]) == (0, 0) else v
        return v

    def truth(self, v: Value) -> bool | None:
        """Whether a condition always holds, or never; else None."""
        if v not in self._truths:
            self._truths[v] = self._truth(v)
        return self._truths[v]

    def _truth(self, v: Value) -> bool | None:
        op, known = v.owner, constant(v)
        if known is not None or not isinstance(op, Op) or v.type is not I1:
            return known if isinstance(known, bool) else None
        if op.name in ("arith.andi", "arith.ori"):
            ends = op.name == "arith.ori"  # what one of them being so decides
            truths = [self.truth(operand) for operand in op.operands]
            return ends if ends in truths else (None if None in truths else not ends)
        if op.name != "arith.cmpi" or op.operands[0].type is I1:
            return None
        one, other = map(self.range, op.operands)
        return None if one is None or other is None else _compared(str(op.attrs["predicate"]), one, other)


def _compared(predicate: str, one: _Range, other: _Range) -> bool | None:
    """Whether a comparison holds for all numbers that go so far, or for none."""
    less, more = one[1] < other[0], one[0] > other[1]
    if predicate in ("eq", "ne"):
        same = one == other and one[0] == one[1]
        return (predicate == "eq") is same if same or less or more else None
    if predicate in ("sge", "sle"):
        less, more = one[1] <= other[0], one[0] >= other[1]
    yes, no = {
        "slt": (less, one[0] >= other[1]),
        "sle": (less, one[0] > other[1]),
        "sgt": (more, one[1] <= other[0]),
        "sge": (more, one[1] < other[0]),
    }.get(predicate, (False, False))
    return True if yes else (False if no else None)


def rest_of(op: Op) -> tuple[Value, Value] | None:
    """Of what, and by what, an operation gives the rest of a division."""
    if op.name == "arith.remsi":
        return op.operands[0], op.operands[1]
    product = op.operands[1].owner if op.name == "arith.subi" else None
    if not isinstance(product, Op) or product.name != "arith.muli":
        return None
    quotient, by = product.operands
    division = quotient.owner
    if not isinstance(division, Op) or division.name != "arith.divsi":
        return None
    return (op.operands[0], by) if division.operands == (op.operands[0], by) else None
