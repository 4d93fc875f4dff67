"""Memory that a kernel brings along: of one thread, of a block, and of a size that the launch gives."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.core import Global
from weft.compiler.ir.types import I8, pointer
from weft.diagnostics import refuse
from weft.dtype import DType
from weft.lang.elaboration import Elaboration, current
from weft.lang.elements import memory_type
from weft.lang.machine import dynamic_shared
from weft.lang.pointer import AddressSpace, Pointer, pointer_at
from weft.targets import Target

_WIDEST = 16
"""Bytes of the widest access."""


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
    attrs = {"elem_type": memory_type(dtype), "count": _units(dtype, count), "alignment": alignment}
    return pointer_at(b.prologue("llvm.alloca", kind, attrs), dtype, AddressSpace.LOCAL, count)


def _units(dtype: DType, count: int) -> int:
    """How many of ``memory_type`` so many elements are."""
    return count if dtype.is_number else count * dtype.itemsize


def shared_memory(
    dtype: DType,
    count: int,
    alignment: int = _WIDEST,
    *,
    scratch: bool = False,
    what: str = "",
    hint: str | Sequence[str] = "",
    notes: Sequence[str] = (),
) -> Pointer[object]:
    """Memory of the block for ``count`` elements; if that is too much, the kernel is refused in the end.

    All ``scratch`` of a kernel begins at one place. It is for what threads hand each other at once, and who
    takes it keeps the rule by which that is right: behind the last access of each use, and before anything of
    the program runs, is a barrier of all threads. So what comes next may write without one.

    Args:
        dtype: of the elements.
        count: how many there are.
        alignment: in bytes.
        scratch: whether the elements are needed between barriers only.
        what: the beginning of what is said where a block has not so much, up to the number of bytes.
        hint: what to write then.
        notes: what else is said then.
    """
    b, size, space = current(), count * dtype.itemsize, AddressSpace.SHARED
    memory = (
        Global("scratch", space, I8, size, max(alignment, dtype.alignment), scratch=True)
        if scratch
        else Global("shared", space, memory_type(dtype), _units(dtype, count), alignment)
    )
    made = _named(b, memory, dtype, count)
    b.elaborator.take_shared_memory(what or f"{count} elements of {dtype} are", size, hint, *notes)
    return made


def check_shared_memory(
    what: str,
    size: int,
    taken: int,
    target: Target,
    hint: str | Sequence[str] = "",
    notes: Sequence[str] = (),
) -> None:
    """Refuse ``what`` if a block has not ``size`` bytes of static shared memory beside those taken.

    Raises:
        CompileError: it has not.
    """
    if taken + size > target.static_limit:
        there = f", beside {taken} bytes taken before" if taken else ""
        if not hint and taken + size <= target.shared_limit:
            most = target.shared_limit
            hint = f"dynamic_shared_memory(...) and shared_mem_bytes= at the launch allow {most} bytes"
        hint = hint or "use a smaller tile, or reuse one that is no longer needed"
        message = f"{what} {size} bytes of shared memory{there}; "
        message += f"{target.name} allows {target.static_limit} bytes of static size per block"
        refuse("shared-memory", message, hint=hint, notes=notes)


def dynamic_shared_memory(dtype: DType, alignment: int) -> Pointer[object]:
    """The start of the shared memory whose size the launch gives; every call gives the same."""
    b = current()
    if b.target.threads == "loops":
        return dynamic_shared().bitcast(dtype)
    return _named(
        b, Global("dynamic_shared_memory", AddressSpace.SHARED, I8, 0, alignment, external=True), dtype
    )


_of_modules: dict[tuple[str, DType, int], Global] = {}


def module_memory(name: str, dtype: DType, count: int) -> Pointer[object]:
    """Memory that stays with the code: all functions of a module that ask for this one share it."""
    made = Global(name, AddressSpace.GLOBAL, memory_type(dtype), _units(dtype, count), _WIDEST)
    return _named(current(), _of_modules.setdefault((name, dtype, count), made), dtype, count)


def _named(b: Elaboration, memory: Global, dtype: DType, count: int | None = None) -> Pointer[object]:
    """A pointer to memory of the module."""
    op = b.elaborator.refer(b.emit("llvm.mlir.addressof", (), (pointer(memory.space),)), memory)
    return pointer_at(op.result, dtype, memory.space, count)
