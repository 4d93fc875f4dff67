"""Indices that are held within an array: ``max(x - 1, 0)``, ``min(x + 1, width - 1)``.

What is read at such an index seems scattered. But along x it is the thread's own place but for the ends of a
row. So the threads' loop is cut into edge, interior, edge, and in the interior nothing is held back. Nor is
anything asked there by the guards of a stencil's taps, ``if 0 <= x + k < width`` in loops of constant bounds:
in the interior they hold for all of the rounds. And nothing is asked there by other branches around memory,
or choices of an index, that go by where a thread is (``places_tested``), along x or whichever row it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.types import I1, I64
from weft.compiler.passes.guard_bounds import (
    Bound,
    GuardAnalysis,
    Shared,
    bound_of,
    parts_of,
    threads_within,
)
from weft.compiler.passes.indices import IndexPlus, Ranges, thread_plus
from weft.compiler.passes.places_tested import tested_places
from weft.compiler.passes.thread_context import Rewriter
from weft.record import record


@record
class Clamps:
    """Where indices are what they would be if nobody held them back."""

    lows: list[Bound]
    """Threads within one of these are not there yet."""
    highs: list[Bound]
    inside: dict[Value, Value]
    """What each clamp is in the interior."""
    known: dict[Value, bool]
    """Comparisons, and whether they hold there."""
    points: list[tuple[IndexPlus, Value]]
    """Single threads that are not in it: those whose place is that value."""
    rows: list[Value]
    """Comparisons that are the same along x: in rows in which one is not as it is known, nobody is there."""
    rounds: dict[Value, tuple[int, int]]
    """How far the indices of loops go, around clamps."""
    tested: bool = False
    """Whether several branches or choices go by where a thread is."""

    def reaches(self, bound: Bound) -> bool:
        """Whether it is known how far a bound goes in all rounds of loops."""
        return bound.limit not in self.rounds and not self.rounds.keys() & bound.place.minus

    def ends(self, b: Builder, end: Value, lookup: Callable[[Value], Value]) -> tuple[Value, Value]:
        """The first thread of the interior, and that behind the last, of those along x before an end."""

        def within(bound: Bound, last: bool) -> Value:
            def known(v: Value) -> Value:
                return b.constant(self.rounds[v][last], I64) if v in self.rounds else lookup(v)

            return threads_within(b, bound, known)

        low, high = b.constant(0, I64), end
        for bound in self.lows:
            count = within(bound, False)
            low = b.select(b.compare("sgt", count, low), count, low)
        for bound in self.highs:
            count = within(bound, True)
            high = b.select(b.compare("slt", count, high), count, high)
        for place, value in self.points:
            at = place.index_at(lookup(value), b, lookup)
            among = b.arith("andi", b.compare("sge", at, low), b.compare("slt", at, high))
            first = b.compare("slt", b.arith("subi", at, low), b.arith("subi", high, at))
            last = b.arith("andi", among, b.arith("xori", first, b.constant(True, I1)))
            low = b.select(b.arith("andi", among, first), b.arith("addi", at, b.constant(1, I64)), low)
            high = b.select(last, at, high)
        zero = b.constant(0, I64)
        for row in self.rows:
            holds = lookup(row)
            if not self.known[row]:
                holds = b.arith("xori", holds, b.constant(True, I1))
            low, high = b.select(holds, low, zero), b.select(holds, high, zero)
        low = b.select(b.compare("slt", low, end), low, end)
        return low, b.select(b.compare("sgt", low, high), low, high)

    def op(self, op: Op, rewriter: Rewriter) -> bool:
        """Copy an operation as it is in the interior, if more is known of it there."""
        made = op.results[0] if op.results else None
        if made in self.inside:
            rewriter.mapping[made] = rewriter.lookup(self.inside[made])
        elif made in self.known:
            rewriter.mapping[made] = rewriter.b.constant(self.known[made], I1)
        else:
            return False
        return True


def find_clamps(kernel: Function) -> Clamps | None:
    """Those of a kernel along x, if it has any."""
    ops = list(kernel.body.walk())
    clamps, guards, tests = list(_clamps(ops)), list(_guards(ops)), tested_places(ops)
    if not (clamps or guards or tests):
        return None
    analysis = GuardAnalysis({v for op in ops if op.spec.pure for v in op.results}, set(kernel.args))
    made = Clamps([], [], {}, {}, [], [], dict(_rounds(ops)), bool(tests))
    ranges = Ranges(made.rounds)

    def fixed(v: Value, axis: str = "x") -> bool:
        axes = analysis.axes(v)
        return axes is not None and "x" not in axes

    def shared(v: Value, axis: str = "x") -> bool:
        return v in made.rounds or fixed(v)

    def takes(condition: Value, negated: bool) -> bool:
        """Note where a comparison holds, or does not, if it does along x."""
        high, low = (bound_of(condition, way, shared, ranges) for way in (negated, not negated))
        found, to = (high, made.highs) if high is not None else (low, made.lows)
        takes = found is not None and found.axis == 0 and made.reaches(found)
        if found is not None and takes:
            to.append(found)
        return takes

    for op in clamps:
        condition, yes, no = op.operands
        for own, negated in ((no, True), (yes, False)):
            index = thread_plus(own, shared)
            if index is not None and index.name == "x" and takes(condition, negated):
                made.inside[op.result] = own
                break
    for op in guards:
        made.known.update((part, True) for part in parts_of(op.operands[0], False) if takes(part, False))
    for op, guess in tests.items():
        axes = analysis.axes(op.result)
        if op.result in made.known:
            continue
        if axes is not None and axes <= {"y", "z"}:
            made.rows.append(op.result)
        elif op.attrs["predicate"] in ("eq", "ne"):
            one, other = op.operands
            point = _point(one, other, fixed) or _point(other, one, fixed)
            if point is None:
                continue
            made.points.append(point)
        elif not takes(op.result, not guess):
            continue
        made.known[op.result] = guess
    return made if made.inside or made.known else None


def _point(own: Value, value: Value, fixed: Shared) -> tuple[IndexPlus, Value] | None:
    """The place and the value, if those of a thread along x are compared with what others share."""
    place = thread_plus(own, fixed)
    return (place, value) if place is not None and place.name == "x" and fixed(value, "x") else None


def _clamps(ops: list[Op]) -> Iterator[Op]:
    """What is one of two integers by how integers compare."""
    for op in ops:
        if op.name == "arith.select" and op.result.type is I64:
            test = op.operands[0].owner
            if isinstance(test, Op) and test.name == "arith.cmpi":
                yield op


def _guards(ops: list[Op]) -> Iterator[Op]:
    """Branches without another side in loops of constant bounds, as a stencil's taps have them."""
    for op in ops:
        if op.name == "weft.for" and all(integer(v) is not None for v in op.operands):
            for inner in op.regions[0].walk():
                if inner.name == "weft.if" and not inner.regions[1].ops:
                    yield inner


def _rounds(ops: list[Op]) -> Iterator[tuple[Value, tuple[int, int]]]:
    for op in ops:
        if op.name == "weft.for":
            lower, upper, step = map(integer, op.operands)
            if lower is not None and upper is not None and step and range(lower, upper, step):
                first, last = lower, range(lower, upper, step)[-1]
                yield op.regions[0].args[0], (min(first, last), max(first, last))
