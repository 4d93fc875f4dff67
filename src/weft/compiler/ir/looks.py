"""Loops in which a thread looks at memory again and again until another has written there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.compiler.ir.core import Function, Module, Op, Region, Value
from weft.compiler.ir.effects import reads_anew
from weft.compiler.ir.types import AddressSpace, PointerType

AGAIN = frozenset({"xchg", "and", "or", "min", "max", "umin", "umax"})
"""Updates that change nothing when they are done once more."""


def may_look(module: Module, function: Function) -> bool:
    """Whether threads of a kernel may wait in loops for what others of its launch write."""
    reached = module.reached(function)
    looking = module.reaching({f.name for f in reached if any(map(_may_be_look, f.body.walk()))})
    if not looking:
        return False
    loops = [op for f in reached for op in f.body.walk() if is_open(op)]
    return any(_calls(op, looking) or any(looks_of(op)) for op in loops)


def calls_in_loops(functions: Iterable[Function]) -> set[str]:
    """The functions that are called in loops that go on for as long as something holds."""
    loops = [op for f in functions for op in f.body.walk() if is_open(op)]
    return {str(op.attrs["callee"]) for loop in loops for op in _own(loop) if op.name == "func.call"}


def is_open(op: Op) -> bool:
    """Whether it is a loop of which nobody knows before how many rounds it has: a ``for`` may be left."""
    return op.name == "weft.while" or (op.name == "weft.for" and any(map(_leaves, op.regions[0].walk())))


def _leaves(op: Op) -> bool:
    return op.name in ("weft.break", "weft.return")


def looks_of(loop: Op) -> Iterator[Op]:
    """What in an open loop looks at memory, and finds the same until another thread has written."""
    inner = [op for region in loop.regions for op in region.walk()]
    given = {op.operands[0] for op in inner if op.name == "weft.set"}
    changing = {v for region in loop.regions for v in region.args}
    for op in inner:
        known = op.spec.pure or (op.name == "weft.get" and op.operands[0] not in given)
        if not known or not changing.isdisjoint(op.operands):
            changing.update(op.results)
        changing.update(v for region in op.regions for v in region.args)
    return (op for op in _own(loop) if _may_be_look(op) and changing.isdisjoint(op.operands[1:]))


def is_vain(loop: Op) -> bool:
    """Whether a round in which the loop's variables stay as they are has changed nothing at all."""
    return loop.name == "weft.while" and all(
        _changes_nothing(op) for region in loop.regions for op in region.walk()
    )


def _changes_nothing(op: Op) -> bool:
    if op.name == "func.call":
        return str(op.attrs["callee"]).startswith("weft.")  # which notes what is done to memory
    if op.name == "llvm.load" or op.name.startswith("weft.") or _may_be_look(op):
        return not op.spec.writes or _may_be_look(op) or tells(op)
    return op.spec.pure or op.name == "llvm.fence"


def tells(op: Op) -> bool:
    """Whether a check tells of a fault there, behind which the thread goes on."""
    return op.name == "weft.failed" and "every" in op.attrs


def _may_be_look(op: Op) -> bool:
    """Whether it reads what others may have written, and has changed nothing where it finds the same again.

    Shared memory that is only read is left to ``passes/waits.py``.
    """
    if op.name == "llvm.atomicrmw":
        return op.attrs["bin_op"] in AGAIN or _is_zero(op.operands[1])
    if op.name == "llvm.cmpxchg":
        return True
    kind = op.operands[0].type if op.name == "llvm.load" else None
    return reads_anew(op) and isinstance(kind, PointerType) and kind.space != AddressSpace.SHARED


def _is_zero(v: Value) -> bool:
    return isinstance(v.owner, Op) and v.owner.name == "arith.constant" and v.owner.attrs["value"] == 0


def _calls(loop: Op, names: set[str]) -> bool:
    return any(op.attrs.get("callee") in names for op in _own(loop))


def _own(loop: Op) -> Iterator[Op]:
    """What a loop does, without the loops like it in there."""
    pending: list[Region] = [*loop.regions]
    while pending:
        for op in pending.pop().ops:
            yield op
            if not is_open(op):
                pending += op.regions
