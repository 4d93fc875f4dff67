"""Pieces of a kernel in which only some threads do something: those within bounds, or a single one.

Or some of the first so many, or of every so manieth: then each of them asks still, and no others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Region, Value
from weft.compiler.ir.types import I64
from weft.compiler.passes.guard_bounds import Bound, bound_of, parts_of, threads_within
from weft.compiler.passes.indices import IndexPlus, Ranges, thread_axis, thread_plus
from weft.compiler.passes.thread_context import clamp

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody


def guard(body: BarrierBody, ops: list[Op]) -> tuple[Op, list[Bound]] | None:
    """The branch that is all that a piece does, if it stands for bounds on the threads along x."""
    branch = only_branch(body, ops)
    if branch is None:
        return None
    parts = parts_of(branch.operands[0], False)
    bounds = [bound_of(part, False, lambda v, _: is_known(body, v), Ranges()) for part in parts]
    known = [bound for bound in bounds if bound is not None and bound.axis == 0]
    return (branch, known) if len(known) == len(bounds) else None


def narrow(body: BarrierBody, ops: list[Op]) -> Value | None:
    """Let threads along x run a piece that is one branch from the first to the last that may do something.

    Gives every how manieth of them may, where that is known.
    """
    branch, step = only_branch(body, ops), None
    for part in parts_of(branch.operands[0], False) if branch is not None else ():
        test = part.owner
        high, low = (bound_of(part, way, lambda v, _: is_known(body, v), Ranges()) for way in (False, True))
        if high is not None and high.axis == 0:
            _no_more_than(body, threads_within(body.b, high, body.uniform_value))
        elif low is not None and low.axis == 0:
            _not_before(body, threads_within(body.b, low, body.uniform_value))
        elif isinstance(test, Op) and test.name == "arith.cmpi" and test.operands[0].type is I64:
            left, right = test.operands
            if test.attrs["predicate"] == "slt" and is_known(body, right):
                _times(body, left, right)
            elif test.attrs["predicate"] == "eq" and integer(right) == 0:
                step = _divisor(body, left) or step
    return step


def _no_more_than(body: BarrierBody, count: Value) -> None:
    b, bounds = body.b, body.bounds
    bounds[0] = b.select(b.compare("slt", count, bounds[0]), count, bounds[0])


def _not_before(body: BarrierBody, count: Value) -> None:
    b, first = body.b, body.first or body.b.constant(0, I64)
    body.first = b.select(b.compare("slt", first, count), count, first)


def _times(body: BarrierBody, product: Value, limit: Value) -> None:
    """Those whose index, times a positive number that all share, is less than a limit."""
    op, b = product.owner, body.b
    factors = op.operands if isinstance(op, Op) and op.name == "arith.muli" else ()
    for index, factor in (factors, factors[::-1]) if factors else ():
        if _is_index(index) and is_known(body, factor):
            given, one = body.uniform_value(factor), b.constant(1, I64)
            near = b.compare(
                "ult", b.arith("subi", given, one), b.constant(1 << 50, I64)
            )  # nothing wraps around
            by, most = b.select(near, given, one), clamp(b, body.uniform_value(limit), 0, 1 << 62)
            count = b.arith("divui", b.arith("addi", most, b.arith("subi", by, one)), by)
            _no_more_than(body, b.select(near, count, body.bounds[0]))
            return


def _divisor(body: BarrierBody, rest: Value) -> Value | None:
    """What the indices are divisible by of which a rest is 0; 1 where that is not a positive number.

    A rest is of the sign of what is divided by (Python's ``%``), and 0 where that is 0 or -1.
    """
    op, always = rest.owner, list[Value]()
    while isinstance(op, Op) and op.name == "arith.select" and integer(op.operands[1]) == 0:
        always.append(op.operands[0])
        op = op.operands[2].owner
    if isinstance(op, Op) and op.name == "arith.select":
        fixed, plain = op.operands[1].owner, op.operands[2].owner
        op = plain if isinstance(fixed, Op) and fixed.operands == (op.operands[2], _by(plain)) else None
    by = _by(op)
    if not isinstance(op, Op) or by is None or not _is_index(op.operands[0]) or not is_known(body, by):
        return None
    safe = by.owner
    if always:
        is_1 = isinstance(safe, Op) and safe.name == "arith.select" and integer(safe.operands[1]) == 1
        if not (isinstance(safe, Op) and is_1 and set(always) <= set(parts_of(safe.operands[0], True))):
            return None
    b, given, one = body.b, body.uniform_value(by), body.b.constant(1, I64)
    return b.select(b.compare("sgt", given, one), given, one)


def _by(rest: Op | Region | None) -> Value | None:
    return rest.operands[1] if isinstance(rest, Op) and rest.name == "arith.remsi" else None


def _is_index(v: Value) -> bool:
    return thread_axis(v) == "x"


def single(body: BarrierBody, ops: list[Op]) -> Value | None:
    """The one thread along x that a piece does something for, or the lane of the warp at hand."""
    branch = only_branch(body, ops)
    if branch is None or any(op.name == "weft.return" for r in branch.regions for op in r.walk()):
        return None
    for part in parts_of(branch.operands[0], False):
        test = part.owner
        if isinstance(test, Op) and test.name == "arith.cmpi" and test.attrs["predicate"] == "eq":
            for own, other in (test.operands, test.operands[::-1]):
                found = _equal(body, own, other)
                if found is not None:
                    return found
    return None


def _equal(body: BarrierBody, own: Value, other: Value) -> Value | None:
    """Which thread along x, or lane, has ``other`` for its ``own``."""
    number, b = own.owner, body.b
    if not isinstance(number, Op) or not is_known(body, other):
        return None
    if number.name == "gpu.lane_id" and body.warp is not None:
        return body.uniform_value(other)
    is_number = number.name == "gpu.thread_number" and body.context.rank == 1
    found = IndexPlus("x") if is_number else thread_plus(own, lambda v, _: is_known(body, v))
    if found is None or found.name != "x" or (body.warp is not None and body.context.rank != 1):
        return None
    place = found.index_at(body.uniform_value(other), b, body.uniform_value)
    return place if body.warp is None else b.arith("subi", place, body.warp)


def is_known(body: BarrierBody, v: Value) -> bool:
    """Whether a value is known before the loops over threads."""
    return integer(v) is not None or body.together.once(v)


def only_branch(body: BarrierBody, ops: list[Op]) -> Op | None:
    """The branch without an else that is all that a piece does, if it does no more."""
    found = [op for op in ops if body.matters(op)]
    if len(found) != 1 or found[0].name != "weft.if" or found[0].regions[1].ops:
        return None
    return None if any(op.spec.terminator for op in found[0].regions[0].ops) else found[0]
