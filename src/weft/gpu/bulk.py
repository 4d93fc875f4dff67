"""Copies of whole stretches of memory by the hardware, begun by one thread: bulk copies.

``async_bulk_copy`` to shared memory tells a ``SharedMemBarrier`` when its bytes are there. Copies from shared
memory are in groups of the thread that began them: ``async_bulk_commit_group`` ends one,
``async_bulk_wait_group(n)`` waits until at most the last n still run. Before such a copy whoever wrote to the
shared memory calls ``async_proxy_fence()`` of ``weft.gpu.wgmma``, and then all meet at a ``barrier()``.

NVIDIA GPUs have them from compute capability 9.0 (Hopper) on: ``cp.async.bulk``. Elsewhere the thread copies
where the copy begins.

Example:
    >>> from weft import Float32, Pointer, kernel
    >>> from weft.gpu import barrier, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.gpu.wgmma import async_proxy_fence
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def count_up(out: Pointer[Float32]):
    ...     tile = stack_allocation(Float32, 32, address_space=AddressSpace.SHARED)
    ...     tile[thread_idx.x] = thread_idx.x
    ...     async_proxy_fence()
    ...     barrier()
    ...     if thread_idx.x == 0:
    ...         async_bulk_reduce(tile, out, 32, "add")
    ...         async_bulk_commit_group()
    ...         async_bulk_wait_group(0)
    >>> ctx = DeviceContext(api="cpu")
    >>> out = ctx.enqueue_create_buffer(Float32, 32)
    >>> out.enqueue_fill(10.0)
    >>> ctx.enqueue_function(count_up, out, grid_dim=1, block_dim=32)
    >>> with out.map_to_host() as host:
    ...     print(host[:4])
    [10. 11. 12. 13.]
"""

from __future__ import annotations

from typing import Any, cast

from weft.atomic import Atomic
from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.dtype import DType
from weft.gpu.mbarrier import SharedMemBarrier, count_in, has_hardware, shared_address
from weft.gpu.memory import CacheEviction
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.intrinsics import inline_asm
from weft.lang.machine import note_copies, uses_thread
from weft.lang.number import NumberLike
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Int, UInt32, UInt64

__all__ = [
    "async_bulk_commit_group",
    "async_bulk_copy",
    "async_bulk_prefetch",
    "async_bulk_reduce",
    "async_bulk_wait_group",
]

_CHUNK = 16
REDUCTIONS = ("add", "min", "max", "and", "or", "xor")
_WORDS = {
    "int32": "s32",
    "uint32": "u32",
    "int64": "s64",
    "uint64": "u64",
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
}


def async_bulk_copy(
    src: Pointer[Any],
    dst: Pointer[Any],
    count: NumberLike,
    barrier: SharedMemBarrier | None = None,
    *,
    eviction_policy: CacheEviction = CacheEviction.EVICT_NORMAL,
) -> None:
    """Begin to copy a stretch between global and shared memory.

    Args:
        src: where it is, at a multiple of 16 bytes, in the one memory.
        dst: where it goes, likewise, in the other.
        count: elements, a multiple of 16 bytes.
        barrier: of a copy to shared memory the barrier that counts its bytes.
        eviction_policy: how soon the L2 cache is to forget it; where no hardware copies it says nothing.

    Raises:
        CompileError: the pointers are not to these, of different types, or a barrier is missing or too much.

    PTX: ``cp.async.bulk``.
    """
    kind = _checked("async_bulk_copy()", src, dst, count)
    loads = dst.space == AddressSpace.SHARED
    if loads != (barrier is not None):
        refuse(
            "async-copy",
            "async_bulk_copy() to shared memory tells a barrier of its bytes, and from it none",
            hint="give a SharedMemBarrier"
            if loads
            else "leave it out: async_bulk_wait_group(0) waits for it",
        )
    nbytes, hinted, *policy = UInt32(Int(count) * kind.itemsize), *cache_hint(eviction_policy)
    if not has_hardware():
        if barrier is None:
            _copied(src, dst, Int(count), each=_CHUNK // kind.itemsize)
            return
        note_copies("begins", barrier.word.value)
        _copied(src, dst, Int(count), each=_CHUNK // kind.itemsize)
        note_copies("ends")
        count_in(barrier, nbytes)
    elif barrier is not None:
        inline_asm(
            f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{hinted} "
            f"[$0], [$1], $2, [$3]{', $4' * len(policy)};",
            None,
            shared_address(dst),
            src,
            nbytes,
            shared_address(barrier.word),
            *policy,
            constraints="r,l,r,r" + ",l" * len(policy),
            effects="write",
        )
    else:
        inline_asm(
            f"cp.async.bulk.global.shared::cta.bulk_group{hinted} [$0], [$1], $2{', $3' * len(policy)};",
            None,
            dst,
            shared_address(src),
            nbytes,
            *policy,
            constraints="l,r,r" + ",l" * len(policy),
            effects="write",
        )


def cache_hint(policy: CacheEviction) -> tuple[Any, ...]:
    """What a copy's instruction says of how soon the cache is to forget it, and the operand for that.

    Raises:
        CompileError: it is no policy.
    """
    if not isinstance(policy, CacheEviction):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"eviction_policy is {kind_of(policy)}, not a CacheEviction"
        refuse("async-copy", message, hint="write CacheEviction.EVICT_FIRST, say, of weft.gpu.memory")
    if policy is CacheEviction.EVICT_NORMAL or not has_hardware():
        return ("",)
    text = f"createpolicy.fractional.L2::{policy.value}.b64 $0, 1.0;"
    return ".L2::cache_hint", inline_asm(text, UInt64, constraints="=l", effects="none")


def async_bulk_prefetch(src: Pointer[Any], count: NumberLike) -> None:
    """Ask for a stretch of global memory to be brought into the L2 cache; nobody waits for it.

    Where targets have no such copies, this does nothing.

    Args:
        src: where it is, at a multiple of 16 bytes.
        count: elements, a multiple of 16 bytes.

    Raises:
        CompileError: ``src`` is no pointer to global memory.

    PTX: ``cp.async.bulk.prefetch.L2``.

    Example:
        >>> from weft import Float32, Pointer, kernel
        >>> from weft.gpu import block_idx, grid_dim, thread_idx
        >>> @kernel
        ... def scale(x: Pointer[Float32]):
        ...     row = x + block_idx.x * 1024
        ...     if (thread_idx.x == 0) & (block_idx.x + 64 < grid_dim.x):
        ...         async_bulk_prefetch(row + 64 * 1024, 1024)  # for a block that comes soon
        ...     for i in range(4):
        ...         row[i * 256 + thread_idx.x] *= 2
        >>> from weft.compile import compile_info
        >>> "cp.async.bulk.prefetch.L2.global" in str(compile_info(scale, target="sm_90"))
        True
    """
    uses_thread()
    if not isinstance(src, Pointer) or src.space != AddressSpace.GLOBAL:  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"src of async_bulk_prefetch() is {kind_of(src)}"
        refuse("async-copy", message, hint="give a pointer to global memory")
    if has_hardware():
        nbytes = UInt32(Int(count) * src.dtype.itemsize)
        text = "cp.async.bulk.prefetch.L2.global [$0], $1;"
        inline_asm(text, None, src, nbytes, constraints="l,r", effects="write")


def async_bulk_reduce(src: Pointer[Any], dst: Pointer[Any], count: NumberLike, op: str = "add") -> None:
    """Begin to combine a stretch of global memory with one of shared memory, each element atomically.

    Args:
        src: in shared memory, at a multiple of 16 bytes.
        dst: in global memory, likewise.
        count: elements, a multiple of 16 bytes.
        op: ``add``; of integers also ``min``, ``max``, ``and``, ``or``, ``xor`` (these of unsigned ones).

    Raises:
        CompileError: the pointers are not to these, or there is no such operation of the type.

    PTX: ``cp.reduce.async.bulk``.
    """
    kind = _checked("async_bulk_reduce()", src, dst, count)
    if dst.space != AddressSpace.GLOBAL:
        refuse("async-copy", "async_bulk_reduce() goes to global memory", hint="give the shared memory first")
    word = reduction_word(kind, op)
    if not has_hardware():
        _combined(src, dst, Int(count), op=op)
        return
    rounding = ".noftz" if kind.bits == 16 else ""
    inline_asm(
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}{rounding}.{word} [$0], [$1], $2;",
        None,
        dst,
        shared_address(src),
        UInt32(Int(count) * kind.itemsize),
        constraints="l,r,r",
        effects="write",
    )


def reduction_word(kind: DType, op: str) -> str:
    """PTX's name of a type that such an operation takes.

    Raises:
        CompileError: there is none.
    """
    bitwise = op in ("and", "or", "xor")
    word = _WORDS.get(kind.name)
    right = op == "add" or (op in REDUCTIONS and kind.is_integer and (not bitwise or not kind.is_signed))
    if word is None or not right:
        refuse(
            "async-copy",
            f"copies combine no {kind.name} by {op!r}",
            hint="they add Int32, Int64, UInt32, UInt64, Float16, BFloat16, Float32 and Float64; "
            "min and max are for integers, and, or, xor for unsigned ones",
        )
    return f"b{kind.bits}" if bitwise else "u64" if word == "s64" and op == "add" else word


def async_bulk_commit_group() -> None:
    """End a group of this thread's copies from shared memory. PTX: ``cp.async.bulk.commit_group``."""
    _waited("cp.async.bulk.commit_group;")


def async_bulk_wait_group(n: int = 0, *, read: bool = False) -> None:
    """Wait until at most the ``n`` last of this thread's groups still run.

    Args:
        n: a number known at compile time.
        read: wait only until they have read the shared memory, which then may be written again.

    PTX: ``cp.async.bulk.wait_group``.
    """
    if not isinstance(n, int) or n < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"async_bulk_wait_group({n!r}): a count of groups is an int"
        refuse("async-copy", message, hint="write 0, say")
    _waited(f"cp.async.bulk.wait_group{'.read' if read else ''} {n};")


def _waited(instruction: str) -> None:
    uses_thread()
    if has_hardware():
        inline_asm(instruction, None, constraints="", effects="write")


def _checked(name: str, src: Any, dst: Any, count: Any) -> DType:
    """The elements' type, of pointers that can be copied between."""
    uses_thread()
    spaces: list[AddressSpace] = []
    for what, pointer in (("src", src), ("dst", dst)):
        if not isinstance(pointer, Pointer):
            refuse("async-copy", f"{what} of {name} is {kind_of(pointer)}", hint="give a pointer")
        spaces.append(AddressSpace(cast("Any", pointer).space))
    if {*spaces} != {AddressSpace.GLOBAL, AddressSpace.SHARED}:
        refuse(
            "async-copy",
            f"{name} goes between AddressSpace.GLOBAL and SHARED, "
            f"not from {spaces[0].name} to {spaces[1].name}",
            hint="one of the pointers is to be of stack_allocation(..., address_space=AddressSpace.SHARED)",
        )
    if src.dtype != dst.dtype:
        refuse("async-copy", f"src has {src.dtype} and dst {dst.dtype}", hint="bitcast one of the pointers")
    kind = cast("DType", src.dtype)
    if not kind.is_number or _CHUNK % kind.itemsize:
        refuse("async-copy", f"elements of {kind} are not copied in bulk", hint="bitcast both to UInt32")
    if isinstance(count, int) and (count <= 0 or count * kind.itemsize % _CHUNK):
        refuse(
            "async-copy",
            f"{count} elements of {kind} are {count * kind.itemsize} bytes",
            hint="copy a multiple of 16 bytes",
        )
    return kind


@func
def _copied(src: Any, dst: Any, count: Int, *, each: Comptime[int]) -> None:
    for i in range(count // each):
        dst.store(i * each, src.load(i * each, width=each, alignment=16), alignment=16)


@func
def _combined(src: Any, dst: Any, count: Int, *, op: Comptime[str]) -> None:
    for i in range(count):
        getattr(Atomic, f"fetch_{op}")(dst + i, src[i])


present(globals())
