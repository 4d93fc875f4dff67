"""Reads followed by a write of the same place, ``t[i] += x``, in checked kernels: one check does for both.

What races with the read races with the write too, where nothing is between them at which threads may meet,
hand over, or end.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.effects import is_pure

_MEMORY = frozenset({"llvm.load", "llvm.store"})
_VARIABLES = frozenset({"weft.get", "weft.set", "weft.slot"})


def updates(ops: Iterable[Op]) -> dict[Op, Op]:
    """By the writes among operations in a row, the reads of the same memory before them."""
    found: dict[Op, Op] = {}
    reads: list[Op] = []
    for op in ops:
        if not _is_plain(op):
            reads.clear()
        elif op.name == "llvm.load":
            reads.append(op)
        elif op.name == "llvm.store":
            read = next((read for read in reads if _is_of(read, op)), None)
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


def _is_of(read: Op, write: Op) -> bool:
    return read.result.type == write.operands[1].type and _same(read.operands[0], write.operands[0], set())


def _same(a: Value, b: Value, known: set[tuple[Value, Value]]) -> bool:
    """Whether two values are computed alike from the same; what is known is not asked again."""
    if a is b or (a, b) in known:
        return True
    one, other = a.owner, b.owner
    if not (isinstance(one, Op) and isinstance(other, Op) and one.spec is other.spec and one.spec.pure):
        return False
    alike = one.attrs == other.attrs and len(one.results) == len(other.results) == 1 and not one.regions
    pairs = zip(one.operands, other.operands, strict=True) if alike else ()
    if not alike or not all(_same(x, y, known) for x, y in pairs):
        return False
    known.add((a, b))
    return True
