"""A test of where a thread is, as a stencil makes it at the edge of its picture, with one outcome inside.

``if row > 0 and row < height - 1 and col > 0 and col < width - 1: ... else: ...``: along x the condition
holds for a stretch of threads, in rows where the rest of it holds. So the threads' loop is cut into edge,
interior, edge, and in the interior, as in the other rows, nothing is tested. That is what Halide calls
partitioning of loops. The rules for comparisons are those of ``guard_bounds``.
"""

from __future__ import annotations

from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.passes.guard_bounds import Bound, GuardAnalysis, parts_of
from weft.compiler.passes.uniformity import LOOPS
from weft.record import record

_APART = LOOPS | {"func.call", "weft.print", "weft.failed"}
"""With these a loop over threads becomes no vectors, or more code than it is worth."""


@record
class Interior:
    """The threads along x for which a branch goes one way: from all ``lows`` on, before all ``highs``."""

    lows: list[Bound]
    """Threads within one of these are not in it yet."""
    highs: list[Bound]
    rows: list[tuple[Value, bool]]
    """Conditions that are the same along x, and what they are to be."""
    inside: list[Op]
    """What the kernel does there."""
    outside: list[Op]
    """What it does where the branch goes the other way."""


def find_interior(kernel: Function) -> Interior | None:
    """That of the first branch of a kernel's body, if it tests for one."""
    ops = kernel.body.ops
    at = next((n for n, op in enumerate(ops) if op.regions), len(ops))
    if at == len(ops) or ops[at].name != "weft.if" or any(op.name in _APART for op in kernel.body.walk()):
        return None
    before = [op for op in ops[:at] if op.spec.pure]
    analysis = GuardAnalysis({v for op in before for v in op.results}, set(kernel.args))
    then, other = (_followed(region.ops, ops[at + 1 :]) for region in ops[at].regions)
    for negated, inside, outside in ((False, then, other), (True, other, then)):
        made = Interior([], [], [], [*ops[:at], *inside], [*ops[:at], *outside])
        if all(_take(made, analysis, part, negated) for part in parts_of(ops[at].operands[0], negated)):
            return made if made.lows or made.highs else None
    return None


def _followed(ops: list[Op], rest: list[Op]) -> list[Op]:
    return ops if ops and ops[-1].spec.terminator else [*ops, *rest]


def _take(made: Interior, analysis: GuardAnalysis, part: Value, negated: bool) -> bool:
    """Note a part of the condition; False where it is of another kind."""
    axes = analysis.axes(part)
    high, low = (analysis.bound(part, way) for way in (negated, not negated))
    if axes is not None and "x" not in axes:
        made.rows.append((part, not negated))
    elif high is not None and high.axis == 0:
        made.highs.append(high)
    elif low is not None and low.axis == 0:
        made.lows.append(low)
    else:
        return False
    return True
