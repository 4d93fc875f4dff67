"""Memory that a kernel brings along: of one thread, of a block, and of a size that the launch gives."""

from __future__ import annotations

from weft.dtype import DType
from weft.ir.builder import Builder, current
from weft.ir.core import Global
from weft.ir.types import I8, pointer
from weft.lang.errors import refuse
from weft.lang.machine import dynamic_shared
from weft.lang.pointer import AddressSpace, Pointer, memory_type
from weft.targets import Feature

__all__ = ["dynamic_shared_memory", "local_memory", "shared_memory"]

_DYNAMIC = "dynamic_shared_memory"


def local_memory(dtype: DType, count: int, alignment: int) -> Pointer[object]:
    """Memory of the thread for ``count`` elements: registers where every index is known, else the stack.

    Raises:
        CompileError: the thread would take more than the target has.
    """
    b, kind = current(), pointer(AddressSpace.LOCAL)
    assert b.function is not None
    before = [op for op in b.function.body.ops if op.name == "llvm.alloca"]
    taken = sum(op.int_attr("count") * max(1, op.type_attr("elem_type").bits // 8) for op in before)
    size, limit = count * dtype.itemsize, b.target.local_limit
    if taken + size > limit:
        there = f", beside {taken} bytes taken before" if taken else ""
        refuse(
            "allocation-size",
            f"{count} elements of {dtype} are {size} bytes for each thread{there}; "
            f"one may have {limit} bytes",
            hint="pass a buffer, and give every thread a part of it",
        )
    attrs = {"elem_type": memory_type(dtype), "count": count, "alignment": alignment}
    return Pointer(b.prologue("llvm.alloca", kind, attrs), dtype, AddressSpace.LOCAL)


def shared_memory(dtype: DType, count: int, alignment: int) -> Pointer[object]:
    """Memory of the block for ``count`` elements.

    Raises:
        CompileError: the block would take more than the target has.
    """
    b, space = current(), AddressSpace.SHARED
    taken = sum(g.count * max(1, g.element.bits // 8) for g in b.module.globals if g.space == space)
    size = count * dtype.itemsize
    limit, most = b.target.static_shared_limit or b.target.shared_limit, b.target.shared_limit
    if taken + size > limit:
        there = f", beside {taken} bytes taken before" if taken else ""
        hint = "use a smaller tile, or reuse one that is no longer needed"
        if taken + size <= most:
            hint = f"dynamic_shared_memory(...) and shared_mem_bytes= at the launch allow {most} bytes"
        refuse(
            "shared-memory",
            f"{count} elements of {dtype} are {size} bytes of shared memory{there}; "
            f"{b.target.name} allows {limit} bytes of static size per block",
            hint=hint,
        )
    name = b.unique_global("shared", space, memory_type(dtype), count, alignment, None)
    return Pointer(b.value("llvm.mlir.addressof", (), pointer(space), {"global_name": name}), dtype, space)


def dynamic_shared_memory(dtype: DType, alignment: int) -> Pointer[object]:
    """The start of the shared memory whose size the launch gives; every call gives the same."""
    b, space = current(), AddressSpace.SHARED
    if b.target.supports(Feature.THREAD_LOOPS):
        return dynamic_shared().bitcast(dtype)
    _declare_dynamic(b, alignment)
    at = b.value("llvm.mlir.addressof", (), pointer(space), {"global_name": _DYNAMIC})
    return Pointer(at, dtype, space)


def _declare_dynamic(b: Builder, alignment: int) -> None:
    known = b.module.globals
    for n, g in enumerate(known):
        if g.name == _DYNAMIC:
            if g.align < alignment:
                known[n] = Global(_DYNAMIC, g.space, I8, 0, alignment, None, True)
            return
    known.append(Global(_DYNAMIC, AddressSpace.SHARED, I8, 0, alignment, None, True))
