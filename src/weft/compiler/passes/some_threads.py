"""Pieces of a kernel in which only some threads do something: those within bounds, or a single one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.constants import integer
from weft.compiler.ir.core import Op, Value
from weft.compiler.passes.guard_bounds import Bound, bound_of, parts_of
from weft.compiler.passes.indices import Ranges, thread_plus

if TYPE_CHECKING:
    from weft.compiler.passes.barrier_split import BarrierBody


def guard(body: BarrierBody, ops: list[Op]) -> tuple[Op, list[Bound]] | None:
    """The branch that is all that a piece does, if it stands for bounds on the threads along x."""
    branch = only_branch(body, ops)
    if branch is None:
        return None
    parts = parts_of(branch.operands[0], False)
    bounds = [bound_of(part, False, lambda v, _: _is_known(body, v), Ranges()) for part in parts]
    known = [bound for bound in bounds if bound is not None and bound.axis == 0]
    return (branch, known) if len(known) == len(bounds) else None


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
    if not isinstance(number, Op) or not _is_known(body, other):
        return None
    if number.name == "gpu.lane_id" and body.warp is not None:
        return body.uniform_value(other)
    is_number = number.name == "gpu.thread_number"
    found = ("x", ()) if is_number else thread_plus(own, lambda v, _: _is_known(body, v))
    if found is None or found[0] != "x" or body.context.rank != 1:
        return None
    place = body.uniform_value(other)
    for offset in found[1]:
        place = b.arith("subi", place, body.uniform_value(offset))
    return place if body.warp is None else b.arith("subi", place, body.warp)


def _is_known(body: BarrierBody, v: Value) -> bool:
    """Whether a value is known before the loops over threads."""
    return integer(v) is not None or body.together.once(v)


def only_branch(body: BarrierBody, ops: list[Op]) -> Op | None:
    """The branch without an else that is all that a piece does, if it does no more."""
    found = [op for op in ops if body.matters(op)]
    if len(found) != 1 or found[0].name != "weft.if" or found[0].regions[1].ops:
        return None
    return None if any(op.spec.terminator for op in found[0].regions[0].ops) else found[0]
