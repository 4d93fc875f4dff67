"""Guards that end a thread loop instead of being tested in it.

``if row < height and col < width:`` around a kernel's body holds for a stretch of threads that starts
with the first. Where the tested index is the thread's plus something the block shares, and the limit
is shared too, the loop over threads simply ends there, and what remains vectorises without masks.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.core import Function, Op, Value
from weft.ir.types import I64

__all__ = ["Bound", "take_guards"]

_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True, slots=True)
class Bound:
    """Threads along ``axis`` run while thread + sum(``offsets``) < ``limit`` (``<=`` if inclusive)."""

    axis: int
    offsets: tuple[Value, ...]
    limit: Value
    inclusive: bool


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
    analysis = _Analysis(pure, set(kernel.args))
    if not other.ops and [op.name for op in ops[at + 1 :]] == ["weft.return"]:
        bounds, left = analysis.split(guard.operands[0], negated=False)
        if bounds and not left:
            ops[at : at + 1] = then.ops
            if then.ops and then.ops[-1].spec.terminator:
                del ops[ops.index(then.ops[-1]) + 1 :]
        return bounds
    if not other.ops and [op.name for op in then.ops] == ["weft.return"]:
        bounds, left = analysis.split(guard.operands[0], negated=True)
        if bounds and not left:
            del ops[at]
        return bounds
    if not then.ops and [op.name for op in other.ops] == ["weft.return"]:
        bounds, left = analysis.split(guard.operands[0], negated=False)
        if bounds and not left:
            del ops[at]
        return bounds
    return []


class _Analysis:
    def __init__(self, pure: set[Value], arguments: set[Value]) -> None:
        self.pure = pure
        self.arguments = arguments
        self.threads: dict[Value, set[str] | None] = {}

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

    def thread_plus(self, v: Value) -> tuple[str, tuple[Value, ...]] | None:
        """``v`` as a thread index plus values that the block shares."""
        owner = v.owner
        if not isinstance(owner, Op) or v not in self.pure:
            return None
        if owner.name == "gpu.thread_id":
            return str(owner.attrs["dimension"]), ()
        if owner.name != "arith.addi":
            return None
        for one, rest in (owner.operands, reversed(owner.operands)):
            inner = self.thread_plus(one)
            if inner is not None and self.shared(rest, inner[0]):
                return inner[0], (*inner[1], rest)
        return None

    def shared(self, v: Value, axis: str) -> bool:
        """Whether ``v`` is known where the loop along ``axis`` begins: blocks along x run inside y."""
        axes = self.axes(v)
        return axes is not None and axes <= ({"block"} if axis == "x" else set[str]())

    def split(self, condition: Value, negated: bool) -> tuple[list[Bound], list[Value]]:
        """The bounds among the parts of a condition, and the parts that are none."""
        owner = condition.owner
        if isinstance(owner, Op) and owner.name == ("arith.ori" if negated else "arith.andi"):
            bounds: list[Bound] = []
            left: list[Value] = []
            for part in owner.operands:
                more, rest = self.split(part, negated)
                bounds += more
                left += rest
            return bounds, left
        bound = self.bound(condition, negated)
        return ([bound], []) if bound is not None else ([], [condition])

    def bound(self, condition: Value, negated: bool) -> Bound | None:
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
        found = self.thread_plus(left)
        return (
            None
            if found is None or not self.shared(right, found[0])
            else Bound(_AXES[found[0]], found[1], right, predicate == "sle")
        )
