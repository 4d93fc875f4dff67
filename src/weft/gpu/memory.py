"""Copies to shared memory that go on while the threads do something else.

``async_copy`` begins a copy; ``async_copy_commit_group`` ends a group of them; ``async_copy_wait_group(n)``
waits until at most the last n groups still run. What a thread has waited for it may read itself; the others
may behind a ``barrier()``. NVIDIA GPUs have them from compute capability 8.0 (Ampere) on: ``cp.async``.
Elsewhere a copy is made where it begins, and nothing has to be waited for. A checked context on a CPU tells
of waits that are missing or come too late, if it looks for races.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu import barrier, global_idx, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def reversed_fours(x: Pointer[Float32], out: Pointer[Float32]):
    ...     tile = stack_allocation(Float32, 32, address_space=AddressSpace.SHARED)
    ...     async_copy(x + 4 * thread_idx.x, tile + 4 * thread_idx.x, size=16)
    ...     async_copy_wait_all()
    ...     barrier()
    ...     for n in range(4):
    ...         out[4 * thread_idx.x + n] = tile[31 - 4 * thread_idx.x - n]
    >>> ctx = DeviceContext(api="cpu")
    >>> x, out = (ctx.enqueue_create_buffer(Float32, 32) for _ in range(2))
    >>> with x.map_to_host() as host:
    ...     host[:] = range(32)
    >>> ctx.enqueue_function(reversed_fours, x, out, grid_dim=1, block_dim=8)
    >>> with out.map_to_host() as host:
    ...     print(host[:4])
    [31. 30. 29. 28.]
"""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DType
from weft.lang.doubts import COPIES_AWAITED, note_copy
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.lanes import iota
from weft.lang.machine import note_copies, note_use, uses_thread
from weft.lang.number import Number, NumberLike
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Int, UInt32

__all__ = [
    "CacheEviction",
    "async_copy",
    "async_copy_commit_group",
    "async_copy_wait_all",
    "async_copy_wait_group",
]

_WIDEST = 16
_SIZES = (4, 8, _WIDEST)


class CacheEviction(Enum):
    """How soon the L2 cache is to forget what a copy of the hardware reads or writes (``eviction_policy``).

    Mojo: ``CacheEviction``. PTX: ``createpolicy``, and ``.L2::cache_hint`` of the copy.
    """

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    """Before others: it is not needed again."""
    EVICT_LAST = "evict_last"
    """After others: all blocks need it."""
    EVICT_UNCHANGED = "evict_unchanged"
    """It stays as it was."""


def async_copy(
    src: Pointer[Any], dst: Pointer[Any], *, size: int = 16, src_size: NumberLike | None = None
) -> None:
    """Begin to copy a few bytes from global to shared memory.

    Args:
        src: where they are, at a multiple of ``size``; also what is not read must be an address like that.
        dst: where they go, in shared memory, at a multiple of ``size``.
        size: bytes, at compile time: 4, 8 or 16. 16 leave the L1 cache alone (``cp.async.cg``).
        src_size: how many of these bytes to read, at run time, whole elements; the rest become zero: where a
            tile reaches past an edge.

    Raises:
        CompileError: the pointers are to other memory or of different types, or the size is another.
    """
    kind = _checked(src, dst, size)
    uses_thread()
    note_copy(dst.value)
    count = size // kind.itemsize
    there = None if src_size is None else src_size if isinstance(src_size, Number) else Int(src_size)
    if current_target().supports(Feature.ASYNC_COPY):
        inline_asm(
            f"cp.async.{'cg' if size == _WIDEST else 'ca'}.shared.global [$0], [$1], {size}"
            f"{'' if there is None else ', $2'};",
            None,
            UInt32(Int(dst)),
            src,
            *([] if there is None else [there.cast(UInt32)]),
            constraints="r,l" if there is None else "r,l,r",
            effects="write",
        )
        return
    if there is None:
        read = src.load(0, width=count, alignment=size)
    else:
        held = iota(Int, count) < there.cast(Int) // kind.itemsize
        read = src.load(0, width=count, alignment=size, mask=held)
    note_copies("begins")
    dst.store(0, read, alignment=size)
    note_copies("ends")


def async_copy_commit_group() -> None:
    """End a group of this thread's copies: those since the group before. PTX: ``cp.async.commit_group``."""
    _waited("cp.async.commit_group;")
    note_copies("group")


def async_copy_wait_group(n: int) -> None:
    """Wait until at most the ``n`` last of this thread's groups still run; for other threads ``barrier()``.

    Args:
        n: a number known at compile time. PTX: ``cp.async.wait_group``.
    """
    if not isinstance(n, int) or n < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(
            "async-copy", f"async_copy_wait_group({n!r}): a count of groups is an int", hint="write 0, say"
        )
    _waited(f"cp.async.wait_group {n};")
    note_copies("left", count=n)


def async_copy_wait_all() -> None:
    """Wait for all copies of this thread, in groups or not. PTX: ``cp.async.wait_all``."""
    _waited("cp.async.wait_all;")
    note_copies("all")


def _waited(instruction: str) -> None:
    uses_thread()
    if "wait" in instruction:
        note_use(COPIES_AWAITED)
    if current_target().supports(Feature.ASYNC_COPY):
        inline_asm(instruction, None, constraints="", effects="write")


def _checked(src: Any, dst: Any, size: Any) -> DType:
    """The elements' type, of pointers that can be copied between."""
    for name, pointer, space in (("src", src, AddressSpace.GLOBAL), ("dst", dst, AddressSpace.SHARED)):
        if not isinstance(pointer, Pointer) or cast("Any", pointer).space != space:
            refuse(
                "async-copy",
                f"{name} of async_copy() is to be a pointer to AddressSpace.{space.name}, not "
                f"{kind_of(cast('object', pointer))}",
                hint="it copies from global to shared memory: async_copy(x + i, tile + j)",
            )
    if src.dtype != dst.dtype:
        refuse("async-copy", f"src has {src.dtype} and dst {dst.dtype}", hint="bitcast one of the pointers")
    kind = cast("DType", src.dtype)
    if size not in _SIZES or not kind.is_number or size % kind.itemsize:
        refuse("async-copy", f"{size!r} bytes of {kind} are not copied at once", hint="size is 4, 8 or 16")
    return kind


present(globals())
