"""Reads followed by a write of the same place, ``t[i] += x``, in checked kernels: one check does for both.

What races with the read races with the write too, where nothing is between them at which threads may meet,
hand over, or end.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.compiler.ir.core import Op
from weft.compiler.ir.effects import is_pure
from weft.compiler.ir.numbering import Numbering

_MEMORY = frozenset({"llvm.load", "llvm.store"})
_VARIABLES = frozenset({"weft.get", "weft.set", "weft.slot"})


def updates(ops: Iterable[Op]) -> dict[Op, Op]:
    """By the writes among operations in a row, the reads of the same memory before them."""
    found: dict[Op, Op] = {}
    reads, numbers = list[Op](), Numbering()
    for op in ops:
        if not _is_plain(op):
            reads.clear()
        elif op.name == "llvm.load":
            reads.append(op)
        elif op.name == "llvm.store":
            read = next((read for read in reads if _is_of(read, op, numbers)), None)
            if read is not None:
                found[op] = read
                reads.remove(read)
    return found


def _is_plain(op: Op) -> bool:
    """Whether a thread goes on behind it, and no other knows."""
    if op.name in _MEMORY:
        return "ordering" not in op.attrs and op.attrs.get("volatile") is False
    if op.name == "weft.if":
        return all(_is_plain(inner) for region in op.regions for inner in region.ops)
    return op.name in _VARIABLES or is_pure(op) or (op.name == "weft.failed" and "every" in op.attrs)


def _is_of(read: Op, write: Op, numbers: Numbering) -> bool:
    of = numbers.of
    return read.result.type == write.operands[1].type and of(read.operands[0]) == of(write.operands[0])
