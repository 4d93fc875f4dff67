"""Loops over threads whose index is divided by what they share: in between the quotient is the same.

``y, x = i // width, i % width`` divides for each thread, and what is addressed by ``y * width + x`` seems
scattered. But threads follow each other: the loop over them is cut where ``i // width`` changes, and in each
part that is a number and ``i % width`` goes on by 1. So a row of a picture is gone through as a row.

That is done where the divisor is no constant, or the index may have more than 32 bits: else vectors of
quotients are cheap. Where the divisor turns out to be small, or negative, threads divide as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.types import I1, I64
from weft.compiler.passes.conversions import converted
from weft.compiler.passes.decided import Decided
from weft.compiler.passes.guard_bounds import GuardAnalysis
from weft.compiler.passes.indices import IndexPlus, thread_plus
from weft.compiler.passes.thread_context import Rewriter, indexed, loop_nest
from weft.record import record

LEAST = 16
"""Divisors from which on it pays: as many threads as a vector has."""
_MOST = 1 << 31
_DIVISIONS = frozenset({"arith.divsi", "arith.remsi"})


@record
class Quotient:
    """What threads divide: their index, which is certain to be 0 or more, by what all of a row share."""

    index: IndexPlus
    divisor: Value


def find_quotient(kernel: Function) -> Quotient | None:
    """The first of a kernel that is worth it."""
    ops = list(kernel.body.walk())
    divisions = [op for op in ops if op.name in _DIVISIONS and op.result.type is I64]
    if not divisions:
        return None
    analysis = GuardAnalysis({v for op in ops if op.spec.pure for v in op.results}, set(kernel.args))
    known = Decided({})

    def shared(v: Value) -> bool:
        axes = analysis.axes(v)
        return axes is not None and "x" not in axes

    for op in divisions:
        index = thread_plus(op.operands[0], lambda v, _: shared(v))
        ends, divisor = known.range(op.operands[0]), _given(op.operands[1])
        if index is not None and index.name == "x" and ends is not None and ends[0] >= 0 and shared(divisor):
            number = integer(divisor)
            if number is None or (number >= LEAST and ends[1] >= 1 << 32):
                return Quotient(index, divisor)
    return None


def _given(divisor: Value) -> Value:
    """What a program divides by: what divides is 1 where that is 0 or -1."""
    op = divisor.owner
    safe = isinstance(op, Op) and op.name == "arith.select" and integer(op.operands[1]) == 1
    return op.operands[2] if isinstance(op, Op) and safe else divisor


def is_wide(b: Builder, divisor: Value) -> Value:
    """Whether a divisor is large enough, and no larger than is followed."""
    return b.compare("ult", b.arith("subi", divisor, b.constant(LEAST, I64)), b.constant(_MOST - LEAST, I64))


def in_parts(
    b: Builder,
    found: Quotient,
    end: Value,
    lookup: Callable[[Value], Value],
    part: Callable[[Value, Value, Part], None],
) -> None:
    """Emit the threads along x that are before an end as parts: ``part(begin, end, what is known)``."""
    zero, one, divisor = b.constant(0, I64), b.constant(1, I64), lookup(found.divisor)
    first = zero
    for name, offsets in (("addi", found.index.plus), ("subi", found.index.minus)):
        for offset in offsets:
            first = b.arith(name, first, lookup(offset))
    least, last = b.arith("divui", first, divisor), b.arith("subi", b.arith("addi", first, end), one)
    behind = b.arith("addi", b.arith("divui", last, divisor), one)
    behind = b.select(b.compare("sgt", end, zero), behind, least)
    (region,), (quotient,) = indexed("quotient")
    with b.into(region):
        product = b.arith("muli", quotient, divisor)
        low = b.arith("subi", product, first)
        high = b.arith("addi", low, divisor)
        low = b.select(b.compare("sgt", low, zero), low, zero)
        high = b.select(b.compare("slt", high, end), high, end)
        part(low, high, Part(found, b, quotient, product))
    loop_nest(b, [region], [(least, behind)], parallel=False)


class Part:
    """One part of the loop, in which the quotient is the same: how a rewriter copies operations there."""

    def __init__(self, found: Quotient, b: Builder, quotient: Value, product: Value) -> None:
        self.found, self.b = found, b
        self.quotient = quotient
        self.product = product
        """The quotient times the divisor."""
        self.names = Names()
        self.divisor = self.names.of(found.divisor)
        self.known = Decided({}, self.fact)
        self.index = self._sum(found.index)

    def fact(self, v: Value) -> tuple[int, int] | None:
        """How far a value goes that is known here alone."""
        return (LEAST, _MOST - 1) if self.names.of(v) == self.divisor else None

    def op(self, op: Op, rewriter: Rewriter) -> bool:
        """Copy an operation of which here more is known, if it is one."""
        made = self._made(op, rewriter) if len(op.results) == 1 else None
        if made is not None:
            rewriter.mapping[op.result] = made
        return made is not None

    def _made(self, op: Op, rewriter: Rewriter) -> Value | None:
        if op.name in _DIVISIONS and op.result.type is I64:
            index, divisor = thread_plus(op.operands[0], lambda v, _: True), self.known.simple(op.operands[1])
            if index is None or self._sum(index) != self.index or self.names.of(divisor) != self.divisor:
                return None
            if op.name == "arith.divsi":
                return self.quotient
            return self.b.arith("subi", rewriter.lookup(op.operands[0]), self.product)
        if op.name == "arith.sitofp":
            made = converted(self.b, op, rewriter.lookup(op.operands[0]), self.known.range(op.operands[0]))
            return None if made is None else made.result
        truth = self.known.truth(op.result) if op.result.type is I1 else None
        if truth is not None:
            return self.b.constant(truth, I1)
        simple = self.known.simple(op.result)
        return rewriter.lookup(simple) if simple is not op.result else None

    def _sum(self, index: IndexPlus) -> Hashable:
        plus, minus = (frozenset(map(self.names.of, part)) for part in index[1:])
        return index.name, plus, minus, len(index.plus), len(index.minus)


class Names:
    """The same name for values that are computed alike."""

    def __init__(self) -> None:
        self._known: dict[Value, Hashable] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, v: Value) -> Hashable:
        """The name of a value."""
        if v not in self._known:
            op = v.owner
            name: Hashable = v
            if isinstance(op, Op) and op.spec.pure and not op.regions and len(op.results) == 1:
                key = op.name, repr(sorted(op.attrs.items())), v.type, *map(self.of, op.operands)
                name = self._numbers.setdefault(key, len(self._numbers))
            self._known[v] = name
        return self._known[v]
