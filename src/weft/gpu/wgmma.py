"""Products of matrices in shared memory by four warps together: the tensor cores of Hopper, ``wgmma``.

A *warpgroup* is 128 threads that follow each other in the block. It multiplies 64 rows of ``a`` with up to
256 rows of ``b``, which both lie in shared memory in rows of 128 bytes along k, *swizzled*: of row r the 16
bytes number c lie at ``c ^ (r % 8)``, so that eight rows meet all banks (``swizzled`` says where an element
goes). The sums stay in registers. The hardware goes on by itself: ``wait`` says how many products may still
run.

On an NVIDIA GPU of compute capability 9.0 these are ``wgmma.mma_async`` (PTX ISA, "Asynchronous Warpgroup
Level Matrix Instructions"). On a CPU each thread computes its own sums where the product begins.

Example:
    >>> from weft import BFloat16, Float32, Pointer, kernel
    >>> from weft.gpu import barrier, thread_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def product(out: Pointer[Float32]):
    ...     a = stack_allocation(BFloat16, 64 * 64, address_space=AddressSpace.SHARED, alignment=1024)
    ...     b = stack_allocation(BFloat16, 8 * 64, address_space=AddressSpace.SHARED, alignment=1024)
    ...     for i in range(thread_idx.x, 64 * 64, 128):
    ...         a[swizzled(BFloat16, i // 64, i % 64)] = 1.0
    ...     for i in range(thread_idx.x, 8 * 64, 128):
    ...         b[swizzled(BFloat16, i // 64, i % 64)] = 0.5
    ...     async_proxy_fence()
    ...     barrier()
    ...     sums = wgmma_async(a, b, warpgroup_zero(8))
    ...     for n, (row, column) in enumerate(warpgroup_places(8)):
    ...         out[row * 8 + column] = sums[n]
    >>> ctx = DeviceContext(api="cpu")
    >>> out = ctx.enqueue_create_buffer(Float32, 512)
    >>> ctx.enqueue_function(product, out, grid_dim=1, block_dim=128)
    >>> with out.map_to_host() as host:
    ...     print({float(x) for x in host})
    {32.0}
"""

from __future__ import annotations

from typing import Any, cast

from weft.diagnostics import refuse
from weft.dtype import DTypeLike, as_dtype
from weft.gpu.lanes import block_threads, lane_id, warp_id
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.machine import note_use, threads_are_loops, uses_thread
from weft.lang.number import NumberLike, number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int, UInt32, UInt64
from weft.memory import stack_allocation

__all__ = [
    "async_proxy_fence",
    "set_max_registers",
    "swizzled",
    "warpgroup_pairs",
    "warpgroup_places",
    "warpgroup_zero",
    "wgmma_async",
    "wgmma_wait",
]

_ROWS = 64
_LINE = 128
"""Bytes of a row along k."""
_CHUNK = 16
_KINDS = {"float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
_STEP = 32
"""Bytes along k that one instruction takes."""
_DESCRIPTOR = 1 << 16 | 8 * _LINE // 16 << 32 | 1 << 62
"""Eight rows of a swizzled tile follow each other, and the next eight follow these."""


def swizzled(dtype: DTypeLike, row: NumberLike, column: NumberLike) -> Any:
    """Where an element lies in a tile of swizzled rows of 128 bytes, counted in elements.

    Args:
        dtype: the elements' type, whose 128 bytes are a row.
        row: the element's row.
        column: its place in the row.
    """
    each = _CHUNK // as_dtype(dtype).itemsize
    line = _LINE // as_dtype(dtype).itemsize
    row, column = Int(row), Int(column)
    return row * line + (column // each ^ row % 8) * each + column % each


def async_proxy_fence() -> None:
    """Let ``wgmma_async`` and bulk copies see what this thread wrote to shared memory, by ``async_copy`` too.

    After the writes, and before the barrier behind which the product or the copy begins. It does nothing
    where the target has neither. PTX: ``fence.proxy.async``.
    """
    uses_thread()
    if current_target().supports(Feature.TENSOR_MEMORY_ACCESS):
        inline_asm("fence.proxy.async.shared::cta;", None, constraints="", effects="block")


def set_max_registers(count: int, *, more: bool) -> None:
    """Give registers to the other warps of the block, or take some of them. PTX: ``setmaxnreg``.

    Args:
        count: how many each thread of this warpgroup may have from now on: 24 to 256, a multiple of 8.
        more: whether these are more than before. All warps of a warpgroup come to it together.

    The kernel says by ``launch_bounds`` how many threads a block has, from which follows how many registers
    each begins with. It does nothing where registers cannot be handed on.
    """
    uses_thread()
    if not 24 <= count <= 256 or count % 8:
        refuse("mma", f"{count} registers", hint="from 24 to 256, a multiple of 8")
    if current_target().supports(Feature.TENSOR_MEMORY_ACCESS):
        word = "inc" if more else "dec"
        inline_asm(f"setmaxnreg.{word}.sync.aligned.u32 {count};", None, constraints="", effects="block")


def warpgroup_zero(n: int) -> tuple[Float32, ...]:
    """A thread's sums of 64 x ``n`` to begin with: ``n // 2`` of them. n is 8 to 256, a multiple of 8."""
    if not 8 <= n <= 256 or n % 8:
        refuse("mma", f"a warpgroup multiplies with 8 to 256 columns, not {n}", hint="a multiple of 8")
    return (Float32(0.0),) * (n // 2)


def warpgroup_places(n: int) -> list[tuple[Any, Any]]:
    """Row and column of each of this thread's sums: two neighbours in a row, then two eight rows below."""
    lane = lane_id()
    row, column = warp_id() % 4 * 16 + (lane >> 2), 2 * (lane & 3)
    return [
        (row + 8 * half, column + 8 * j + i) for j in range(n // 8) for half in range(2) for i in range(2)
    ]


def warpgroup_pairs(sums: tuple[Float32, ...], dtype: DTypeLike) -> list[tuple[tuple[Any, Any], Any]]:
    """Each two neighbours in a row, as a vector of a type, with row and column of the first.

    Args:
        sums: this thread's, which were waited for: all of them, or those of some eights of columns.
        dtype: the type that they are converted to.
    """
    pair = number_class(Float32.dtype, 2)
    found = range(0, len(sums), 2)
    places = warpgroup_places(2 * len(sums))
    return [(places[i], pair(sums[i], sums[i + 1]).cast(as_dtype(dtype))) for i in found]


def wgmma_async(
    a: Pointer[Any], b: Pointer[Any], sums: tuple[Float32, ...], *, wait: int = 0
) -> tuple[Float32, ...]:
    """``a @ b.T + sums`` by the 128 threads of a warpgroup.

    Args:
        a: 64 swizzled rows of 128 bytes in shared memory, at a multiple of 1024 bytes: 64 elements of 16 bits
            or 128 of 8 along k.
        b: as many rows as the product has columns, likewise.
        sums: this thread's, by ``warpgroup_zero``, or what an earlier product gave.
        wait: how many products of this warpgroup may still run when it returns, this one included; at compile
            time. Before the sums are read, ``wgmma_wait`` waits for the last ones.

    Returns:
        the sums; they and the tiles are the hardware's until the product was waited for.

    Raises:
        CompileError: the tiles are no shared memory, of other types than Float16, BFloat16, Float8_e4m3fn or
            Float8_e5m2, or the target is a GPU other than ``sm_90``; code for that is ``sm_90a`` then.
    """
    uses_thread()
    note_use("warps")
    for name, tile in (("a", a), ("b", b)):
        _check(name, tile)
    n = 2 * len(sums)
    steps = range(_LINE // _STEP)
    k = _STEP // a.dtype.itemsize
    if threads_are_loops():
        return _computed(a, b, sums, n)
    _has("wgmma_async")
    count = len(sums)
    held = "{" + ", ".join(f"${i}" for i in range(count)) + "}"
    word = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{_KINDS[a.dtype.name]}.{_KINDS[b.dtype.name]}"
    turned = ", 0, 0" if k == _STEP // 2 else ""
    each = "".join(
        f"add.s64 da, ${2 * count}, {2 * s}; add.s64 db, ${2 * count + 1}, {2 * s}; "
        f"{word} {held}, da, db, p, 1, 1{turned}; "
        for s in steps
    )
    text = (
        f"{{ .reg .pred p; .reg .b64 da, db; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; {each}"
        f"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {wait}; }}"
    )
    places = ",".join(["=f"] * count + [str(i) for i in range(count)] + ["l", "l"])
    made = inline_asm(
        text,
        (Float32,) * count,
        *sums,
        _descriptor(a),
        _descriptor(b),
        constraints=places,
        effects="write",
    )
    return made


def wgmma_wait(sums: tuple[Float32, ...]) -> tuple[Float32, ...]:
    """Wait for all products of this warpgroup, and give their sums to be read."""
    uses_thread()
    if threads_are_loops():
        return sums
    _has("wgmma_wait")
    places = ",".join(["=f"] * len(sums) + [str(i) for i in range(len(sums))])
    text = "wgmma.wait_group.sync.aligned 0;"
    return inline_asm(text, (Float32,) * len(sums), *sums, constraints=places, effects="write")


def _check(name: str, tile: Any) -> None:
    if isinstance(tile, Pointer):
        pointer = cast("Pointer[Any]", tile)
        if pointer.space == AddressSpace.SHARED and pointer.dtype.name in _KINDS:
            return
        found = f"{pointer.dtype} in AddressSpace.{AddressSpace(pointer.space).name}"
    else:
        found = kind_of(tile)
    refuse(
        "mma",
        f"{name} of wgmma_async() is {found}",
        hint=f"give a pointer to {', '.join(_KINDS)} in AddressSpace.SHARED",
    )


def _has(name: str) -> None:
    target = current_target()
    if not target.supports(Feature.WGMMA):
        refuse(
            "unsupported",
            f"{target.name} has no {name}()",
            hint="it is for sm_90, and for CPUs; weft.gpu.mma has products by warps for the others",
        )


def _descriptor(tile: Pointer[Any]) -> UInt64:
    """What says to the hardware where a tile lies and how."""
    address = UInt32(Int(tile)) >> 4 & 0x3FFF
    return address.cast(UInt64) | UInt64(_DESCRIPTOR)


def _computed(a: Pointer[Any], b: Pointer[Any], sums: tuple[Float32, ...], n: int) -> tuple[Float32, ...]:
    """The same where threads are loops."""
    block_threads()
    held = stack_allocation(Float32, len(sums))
    for i, x in enumerate(sums):
        held[i] = x
    lane = lane_id()
    row, column = warp_id() % 4 * 16 + (lane >> 2), 2 * (lane & 3)
    _add_products(a, b, held, row, column, n=n, line=_LINE // a.dtype.itemsize)
    return tuple(held[i] for i in range(len(sums)))


@func
def _add_products(
    a: Any, b: Any, held: Any, row: Int, column: Int, *, n: Comptime[int], line: Comptime[int]
) -> None:
    for j in range(n // 8):
        for half in range(2):
            for i in range(2):
                total = held[4 * j + 2 * half + i]
                for k in range(line):
                    x = a[swizzled(a.dtype, row + 8 * half, k)].cast(Float32)
                    total += x * b[swizzled(a.dtype, column + 8 * j + i, k)].cast(Float32)
                held[4 * j + 2 * half + i] = total
