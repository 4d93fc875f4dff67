"""Divisions of what is 0 or more and has 32 bits by constants: with 64 bits they are made thread by thread.

``flat // 34`` of a place in a tile is a product and a shift, of which vectors have those of 32 bits. And the
rest, ``flat % 34``, is what the quotient leaves: then ``row * 34 + column`` is seen to be ``flat`` again.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Module, Op, Region, Value
from weft.compiler.ir.types import I1, I32, I64
from weft.compiler.passes.decided import Decided
from weft.compiler.passes.indices import is_positive

_DIVISIONS = frozenset({"arith.divsi", "arith.remsi"})
_Parts = dict[tuple[Value, int], Value]
"""The quotients of numbers by constants."""


def short_divisions(module: Module) -> None:
    """Rewrite every function of the module, in place."""
    for f in module.functions:
        if any(_divides(op) for op in f.body.walk()):
            _Short().region(f.body, {})


def _divides(op: Op) -> bool:
    if op.name not in _DIVISIONS or op.result.type is not I64:
        return False
    by = integer(op.operands[1])
    return by is not None and 0 < by < 1 << 31


class _Short:
    def __init__(self) -> None:
        self.b = Builder()
        self.known = Decided({})
        self.made: dict[Value, Value] = {}
        """What stands for what there was."""

    def region(self, region: Region, quotients: Mapping[tuple[Value, int], Value]) -> None:
        """Rewrite a region, where some quotients are there."""
        ops, here = region.ops, dict(quotients)
        region.ops = []
        for op in ops:
            op.operands = tuple([self.made.get(v, v) for v in op.operands])
            if op.name == "weft.for":
                self.count(op)
            for inner in op.regions:
                self.region(inner, here)
            self.b.loc, self.b.region = op.loc, region
            made = self.simple(op, here) if len(op.results) == 1 and not op.regions else None
            if made is None:
                region.ops.append(op)
            else:
                self.made[op.result] = made

    def count(self, loop: Op) -> None:
        """Note how far an index goes."""
        lower, upper, step = loop.operands
        first, end = self.known.range(lower), self.known.range(upper)
        if first is not None and end is not None and is_positive(step):
            self.known.learn(loop.regions[0].args[0], (first[0], max(first[0], end[1] - 1)))

    def simple(self, op: Op, quotients: _Parts) -> Value | None:
        """What stands for an operation, if it is a division, or something that is known by now."""
        if _divides(op):
            number, by = op.operands[0], integer(op.operands[1]) or 1
            ends = self.known.range(number)
            if ends is None or ends[0] < 0 or ends[1] >= 1 << 32:
                return None
            quotient = self.quotient(number, by, quotients)
            self.known.learn(quotient, (ends[0] // by, ends[1] // by))
            if op.name == "arith.divsi":
                return quotient
            product = self.b.arith("muli", quotient, self.b.constant(by, I64))
            rest = self.b.arith("subi", number, product)
            self.known.learn(rest, (0, by - 1))
            return rest
        if op.name == "arith.subi":
            number, product = op.operands[0], op.operands[1].owner
            if isinstance(product, Op) and product.name == "arith.muli":
                by = integer(product.operands[1])
                if by is not None and quotients.get((number, by)) is product.operands[0]:
                    self.known.learn(op.result, (0, by - 1))
        truth = self.known.truth(op.result) if op.result.type is I1 and op.operands else None
        if truth is not None:
            return self.b.constant(truth, I1)
        found = self.known.simple(op.result)
        return None if found is op.result else found

    def quotient(self, number: Value, by: int, quotients: _Parts) -> Value:
        """Such a quotient."""
        if (number, by) not in quotients:
            b = self.b
            short = b.arith("divui", b.value("arith.trunci", (number,), I32), b.constant(by, I32))
            quotients[number, by] = b.value("arith.extui", (short,), I64)
        return quotients[number, by]
