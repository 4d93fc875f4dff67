"""Guards that end a thread loop instead of being tested in it.

``if row < height and col < width:`` around a kernel's body holds for a stretch of threads that starts
with the first. Where the tested index is the thread's plus something the block shares, and the limit
is shared too, the loop over threads simply ends there, and what remains vectorises without masks.

The threads are the first so many only where the index does not wrap around; so it must be known to stay
within 63 bits, as what is made of the block's place, constants and narrower integers does. Another guard is
tested in the loop as it is written.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Op, Value
from weft.compiler.ir.types import I64
from weft.compiler.passes.indices import IndexPlus, Ranges, thread_plus
from weft.compiler.passes.thread_context import clamp
from weft.record import record

Shared = Callable[[Value, str], bool]
_AXES = {"x": 0, "y": 1, "z": 2}


@record
class Bound:
    """Threads along ``axis`` run while their ``place`` is < ``limit`` (``<=`` if inclusive).

    It is always from ``least`` to ``greatest``, so that limits beyond these are the same as they.
    """

    axis: int
    place: IndexPlus
    limit: Value
    inclusive: bool
    least: int
    greatest: int


def take_guards(kernel: Function) -> list[Bound]:
    """Take the guard off the kernel's body, where it has this form; gives the bounds it stood for.

    Only for bodies without barriers: there a thread outside the range would have nothing to do.
    """
    ops = kernel.body.ops
    at = next((n for n, op in enumerate(ops) if not op.spec.pure and op.name != "weft.slot"), len(ops))
    if at == len(ops) or ops[at].name != "weft.if":
        return []
    guard = ops[at]
    then, other = guard.regions
    pure = {v for op in ops[:at] for v in op.results}
    analysis = GuardAnalysis(pure, set(kernel.args))
    body, returns, leaves = (_only_returns(part) for part in (ops[at + 1 :], then.ops, other.ops))
    around = body and not other.ops
    if not (around or (returns and not other.ops) or (leaves and not then.ops)):
        return []
    bounds, left = analysis.split(guard.operands[0], negated=not around and returns)
    if bounds and not left:
        ops[at : at + 1] = then.ops if around else ()
        if around and then.ops and then.ops[-1].spec.terminator:
            del ops[ops.index(then.ops[-1]) + 1 :]
    return bounds


def _only_returns(ops: list[Op]) -> bool:
    return [op.name for op in ops] == ["weft.return"]


class GuardAnalysis:
    """What the parts of a condition go by; ``pure`` are the values that may be computed anywhere."""

    def __init__(self, pure: set[Value], arguments: set[Value]) -> None:
        self.pure = pure
        self.arguments = arguments
        self.threads: dict[Value, set[str] | None] = {}
        self.ranges = Ranges()

    def axes(self, v: Value) -> set[str] | None:
        """What of the thread indices and the block's x ``v`` depends on; None where that is not known."""
        if v in self.threads:
            return self.threads[v]
        owner = v.owner
        found: set[str] | None
        if v in self.arguments:
            found = set()
        elif not isinstance(owner, Op) or v not in self.pure:
            found = None
        elif owner.name == "gpu.thread_id":
            found = {str(owner.attrs["dimension"])}
        elif owner.name == "gpu.block_id" and owner.attrs["dimension"] == "x":
            found = {"block"}
        else:
            found = set()
            for operand in owner.operands:
                inner = self.axes(operand)
                found = None if inner is None or found is None else found | inner
        self.threads[v] = found
        return found

    def shared(self, v: Value, axis: str) -> bool:
        """Whether ``v`` is known where the loop along ``axis`` begins: blocks along x run inside y."""
        axes = self.axes(v)
        return axes is not None and axes <= ({"block"} if axis == "x" else set[str]())

    def split(self, condition: Value, negated: bool) -> tuple[list[Bound], list[Value]]:
        """The bounds among the parts of a condition, and the parts that are none."""
        bounds: list[Bound] = []
        left: list[Value] = []
        for part in parts_of(condition, negated):
            bound = self.bound(part, negated)
            if bound is not None:
                bounds.append(bound)
            else:
                left.append(part)
        return bounds, left

    def bound(self, condition: Value, negated: bool) -> Bound | None:
        """The threads for which a comparison holds, or does not, if those are the first of an axis."""
        return bound_of(condition, negated, self.shared, self.ranges)


def parts_of(condition: Value, negated: bool) -> list[Value]:
    """What must all hold for a condition to hold; if ``negated``, all not, for it not to: each once."""
    joins = "arith.ori" if negated else "arith.andi"
    found, seen, waiting = list[Value](), set[Value](), [condition]
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        owner = part.owner
        if isinstance(owner, Op) and owner.name == joins:
            waiting += reversed(owner.operands)
        else:
            found.append(part)
    return found


def bound_of(condition: Value, negated: bool, shared: Shared, ranges: Ranges) -> Bound | None:
    """The threads for which a comparison holds, or does not, if those are the first of an axis.

    ``shared`` says of a value whether it is known where the loop along an axis begins.
    """
    owner = condition.owner
    if not isinstance(owner, Op) or owner.name != "arith.cmpi":
        return None
    predicate = str(owner.attrs["predicate"])
    left, right = owner.operands
    if negated:
        predicate = {"sge": "slt", "sgt": "sle", "sle": "sgt", "slt": "sge"}.get(predicate, "")
    if predicate in ("sgt", "sge"):
        left, right = right, left
        predicate = {"sgt": "slt", "sge": "sle"}[predicate]
    if left.type is not I64 or predicate not in ("slt", "sle"):
        return None
    found, ends = thread_plus(left, shared), ranges.range(left)
    if found is None or ends is None or not shared(right, found.name):
        return None
    return Bound(_AXES[found.name], found, right, predicate == "sle", *ends)


def threads_within(b: Builder, bound: Bound, lookup: Callable[[Value], Value]) -> Value:
    """How many threads, from the first on, are within a bound; ``lookup`` has what it is made of."""
    low, high = (bound.least - bound.inclusive, bound.greatest + 1 - bound.inclusive)
    left = clamp(b, lookup(bound.limit), low, high)  # so that nothing below wraps around
    left = bound.place.index_at(left, b, lookup)
    return b.arith("addi", left, b.constant(1, I64)) if bound.inclusive else left
