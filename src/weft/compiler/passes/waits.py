"""Loops in which a thread waits until others have written: where it may have to be left and gone on with."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.ir.core import Module, Op, Value
from weft.compiler.ir.effects import NAMED, reads_anew
from weft.compiler.ir.types import AddressSpace, PointerType
from weft.compiler.passes.inline_barriers import inline

_UPDATES_AGAIN = frozenset({"xchg", "and", "or", "min", "max", "umin", "umax"})
"""What changes nothing when it is done once more."""


def inline_waits(module: Module) -> set[str]:
    """The kernels of which a thread waits for others of its block, as no loop over threads can run it.

    All loops in which their threads wait stand in them then.
    """
    inline(module, lambda f: any(op.name == NAMED or _looks(op) for op in f.body.walk()))
    found = {f.name for f in module.functions if f.kernel and any(map(_waits, f.body.walk()))}
    if found:
        inline(module, lambda f: any(map(reads_anew, f.body.walk())))
    return found


def may_turn(op: Op) -> bool:
    """Whether a loop may go on until others have written."""
    return op.name == "weft.while" and any(map(reads_anew, _within(op)))


def ends_by_others(op: Op) -> bool:
    """Whether only other threads of the block can end such a loop.

    Its rounds change nothing, and it looks at nothing but the block's memory.
    """
    inner = [*_within(op)]
    given = {each.operands[0] for each in inner if each.name == "weft.set"}
    changing = set[Value]()
    size = -1
    while size != len(changing):
        size = len(changing)
        for each in inner:
            if not changing.isdisjoint(each.operands) or (
                each.name == "weft.get" and each.operands[0] in given
            ):
                changing.update(each.results)
    for each in inner:
        again = each.name == "llvm.cmpxchg" or each.attrs.get("bin_op") in _UPDATES_AGAIN
        if each.spec.writes and not again:
            return False
        if each.name in ("func.call", "llvm.call", "llvm.inline_asm", "weft.print", "weft.host_tell"):
            return False
        if (each.spec.writes or each.name == "weft.set") and not changing.isdisjoint(each.operands[1:]):
            return False
        if reads_anew(each) and not _is_shared(each.operands[0]):
            return False
    return True


def _waits(op: Op) -> bool:
    """Whether it is a named barrier, or a loop that looks at shared memory and writes none, as others do."""
    if op.name == NAMED:
        return True
    inner = [*_within(op)] if op.name == "weft.while" else []
    return any(map(_looks, inner)) and not any(each.spec.writes for each in inner)


def _looks(op: Op) -> bool:
    return op.name == "llvm.load" and reads_anew(op) and _is_shared(op.operands[0])


def _is_shared(v: Value) -> bool:
    return isinstance(v.type, PointerType) and v.type.space == AddressSpace.SHARED


def _within(op: Op) -> Iterator[Op]:
    return (each for region in op.regions for each in region.walk())
