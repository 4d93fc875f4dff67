"""Loops over threads whose index is divided by what they share: in between the quotient is the same.

``y, x = i // width, i % width`` divides for each thread, and what is addressed by ``y * width + x`` seems
scattered. But threads follow each other: the loop over them is cut where ``i // width`` changes, and in each
part that is a number and ``i % width`` goes on by 1. So a row of a picture is gone through as a row.

That is done where the divisor is no constant, or it is a large one and the index may have more than 32 bits:
else vectors of quotients are cheap. Where a divisor turns out to be small, or negative, threads divide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.types import I1, I64
from weft.compiler.passes.conversions import converted
from weft.compiler.passes.decided import Decided, rest_of
from weft.compiler.passes.guard_bounds import GuardAnalysis
from weft.compiler.passes.indices import IndexPlus, thread_plus
from weft.compiler.passes.thread_context import Rewriter, indexed, loop_nest
from weft.record import record

LEAST, _LEAST_CONSTANT = 16, 64
"""Divisors from which on it pays: as many threads as a vector has; more where dividing is cheap."""
_MOST = 1 << 31
_DIVISIONS = frozenset({"arith.divsi", "arith.remsi", "arith.shrsi", "arith.andi"})


Division = tuple[Value, Value | int, bool]
"""What is divided, by what, and whether it is the rest that is wanted."""
PlaceOf = Callable[[Value], IndexPlus | None]
"""What a value is made of, if that is a thread's index and what threads share."""


@record
class Quotient:
    """What threads divide: their index, which is certain to be 0 or more, by what all of a row share."""

    index: IndexPlus
    divisor: Value | int


def find_quotient(kernel: Function) -> Quotient | None:
    """The first of a kernel that is worth it."""
    ops = list(kernel.body.walk())
    divisions = [found for op in ops if (found := divided(op))]
    if not divisions:
        return None
    analysis = GuardAnalysis({v for op in ops if op.spec.pure for v in op.results}, set(kernel.args))

    def shared(v: Value) -> bool:
        axes = analysis.axes(v)
        return axes is not None and "x" not in axes

    return quotient_of(divisions, lambda v: thread_plus(v, lambda v, _: shared(v)), shared, Decided({}))


def quotient_of(
    divisions: Sequence[Division], place: PlaceOf, shared: Callable[[Value], bool], known: Decided
) -> Quotient | None:
    """The first of some divisions that is worth it, by what is ``known`` of how far numbers go."""
    for number, by, _ in divisions:
        index, ends = place(number), known.range(number)
        if index is not None and index.name == "x" and ends is not None and ends[0] >= 0:
            divisor = by if isinstance(by, int) else _given(by)
            if isinstance(divisor, int):
                if divisor >= _LEAST_CONSTANT and ends[1] >= 1 << 32:
                    return Quotient(index, divisor)
            elif shared(divisor):
                return Quotient(index, divisor)
    return None


def divided(op: Op) -> Division | None:
    """What an operation divides, and by what, and whether it gives the rest; if it does."""
    if op.name not in _DIVISIONS or op.result.type is not I64:
        return None
    number, by = op.operands
    constant = integer(by)
    if op.name in ("arith.divsi", "arith.remsi"):
        return number, by if constant is None else constant, op.name == "arith.remsi"
    if constant is None or not 0 < constant < _MOST:
        return None
    if op.name == "arith.shrsi":
        return (number, 1 << constant, False) if constant < 31 else None
    return (number, constant + 1, True) if constant & (constant + 1) == 0 else None


def _given(divisor: Value) -> Value:
    """What a program divides by: what divides is 1 where that is 0 or -1."""
    op = divisor.owner
    safe = isinstance(op, Op) and op.name == "arith.select" and integer(op.operands[1]) == 1
    return op.operands[2] if isinstance(op, Op) and safe else divisor


def is_wide(b: Builder, found: Quotient, lookup: Callable[[Value], Value]) -> Value:
    """Whether the divisor is large enough, and no larger than is followed."""
    if isinstance(found.divisor, int):
        return b.constant(True, I1)
    divisor = lookup(found.divisor)
    return b.compare("ult", b.arith("subi", divisor, b.constant(LEAST, I64)), b.constant(_MOST - LEAST, I64))


def _any_place(v: Value) -> IndexPlus | None:
    return thread_plus(v, lambda v, _: True)


def in_parts(
    b: Builder,
    found: Quotient,
    end: Value,
    lookup: Callable[[Value], Value],
    part: Callable[[Value, Value, Part], None],
    place: PlaceOf = _any_place,
) -> None:
    """Emit the threads along x that are before an end as parts: ``part(begin, end, what is known)``."""
    zero, one, divisor = b.constant(0, I64), b.constant(1, I64), found.divisor
    divisor = b.constant(divisor, I64) if isinstance(divisor, int) else lookup(divisor)
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
        part(low, high, Part(found, b, quotient, product, place))
    loop_nest(b, [region], [(least, behind)], parallel=False)


class Part:
    """One part of the loop, in which the quotient is the same: how a rewriter copies operations there."""

    def __init__(self, found: Quotient, b: Builder, quotient: Value, product: Value, place: PlaceOf) -> None:
        self.found, self.b, self.place = found, b, place
        self.quotient = quotient
        self.product = product
        """The quotient times the divisor."""
        self.names = Names()
        self.known = Decided({}, self.fact)
        self.divisor: Hashable = None
        self.divisor = self._name(found.divisor)
        self.index = self._sum(found.index)

    def fact(self, v: Value) -> tuple[int, int] | None:
        """How far a value goes that is known here alone."""
        if not isinstance(self.found.divisor, int) and self.names.of(v) == self.divisor:
            return LEAST, _MOST - 1
        op = v.owner
        rest = rest_of(op) if isinstance(op, Op) and v.type is I64 else None
        return (0, _MOST - 2) if rest is not None and self.divides(*rest) else None

    def divides(self, number: Value, by: Value | int) -> bool:
        """Whether it is the index of this quotient that is divided, and by its divisor."""
        index = self.place(number)
        return index is not None and self._sum(index) == self.index and self._name(by) == self.divisor

    def op(self, op: Op, rewriter: Rewriter) -> bool:
        """Copy an operation of which here more is known, if it is one."""
        made = self._made(op, rewriter) if len(op.results) == 1 else None
        if made is not None:
            rewriter.mapping[op.result] = made
        return made is not None

    def _made(self, op: Op, rewriter: Rewriter) -> Value | None:
        found = divided(op)
        if found is not None and self.divides(*found[:2]):
            number, _, rest = found
            return self.b.arith("subi", rewriter.lookup(number), self.product) if rest else self.quotient
        if op.name == "arith.sitofp":
            made = converted(self.b, op, rewriter.lookup(op.operands[0]), self.known.range(op.operands[0]))
            return None if made is None else made.result
        truth = self.known.truth(op.result) if op.result.type is I1 else None
        if truth is not None:
            return self.b.constant(truth, I1)
        simple = self.known.simple(op.result)
        return rewriter.lookup(simple) if simple is not op.result else None

    def _name(self, divisor: Value | int) -> Hashable:
        return divisor if isinstance(divisor, int) else self.names.of(self.known.simple(divisor))

    def _sum(self, index: IndexPlus) -> Hashable:
        plus, minus = (frozenset(Counter(map(self.names.of, part)).items()) for part in index[1:])
        return index.name, plus, minus


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
                name = "made", self._numbers.setdefault(key, len(self._numbers))
            self._known[v] = name
        return self._known[v]
