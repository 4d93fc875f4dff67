"""Copies of tiles between memories, by all threads of a block or a warp together.

A copy deals the elements of both tiles to the threads alike (``thread_layout``, as
``LayoutTensor.distribute`` has it) and each thread copies its own: numbers, or the vectors of a vectorized
tile in one instruction where alignment allows. What a masked tile has not is read as its default and not
written, so that the other side is always whole. Nothing waits: a ``barrier()`` has to stand between a copy
and what other threads do with it.

Names are those of Mojo's ``layout.layout_tensor``.

Example:
    >>> import numpy as np
    >>> from weft import Float32, kernel
    >>> from weft.gpu import barrier, block_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.layout import ComposedLayout, Layout, LayoutTensor, Swizzle
    >>> from weft.layout.copies import copy_dram_to_sram, copy_sram_to_dram
    >>> from weft.memory import AddressSpace, stack_allocation
    >>> @kernel
    ... def turned(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    ...     layout = ComposedLayout(Layout.row_major(8, 8), Swizzle(1, 2, 3))
    ...     here = stack_allocation(Float32, layout, address_space=AddressSpace.SHARED)
    ...     tile = x.tile[8, 8](block_idx.y, block_idx.x)
    ...     copy_dram_to_sram(here.vectorize[1, 4](), tile.vectorize[1, 4]())
    ...     barrier()
    ...     copy_sram_to_dram(out.tile[8, 8](block_idx.x, block_idx.y), here.transpose())
    >>> x = np.arange(5 * 12, dtype=np.float32).reshape(5, 12)
    >>> out = np.zeros((12, 5), np.float32)
    >>> ctx = DeviceContext(api="cpu")
    >>> ctx.enqueue_function(turned, x, out, grid_dim=(2, 1), block_dim=16)
    >>> ctx.synchronize()
    >>> bool((out == x.T).all())
    True
"""

from __future__ import annotations

import operator
from typing import Any, Literal

from weft.diagnostics import refuse
from weft.diagnostics.modules import present
from weft.gpu.lanes import LANES, block_thread, block_threads, lane_id
from weft.lang.decorators import func
from weft.lang.pointer import AddressSpace
from weft.layout.algebra.layout import Layout
from weft.layout.tensor.copies import check_space, copied
from weft.layout.tensor.loops import check_alike
from weft.layout.tensor.tensor import LayoutTensor

__all__ = [
    "copy_dram_to_local",
    "copy_dram_to_sram",
    "copy_dram_to_sram_async",
    "copy_local_to_dram",
    "copy_local_to_shared",
    "copy_sram_to_dram",
    "copy_sram_to_local",
]

Tile = LayoutTensor[Any]
Scope = Literal["block", "warp"]
_DRAM, _SRAM, _LOCAL = AddressSpace.GLOBAL, AddressSpace.SHARED, AddressSpace.LOCAL


def copy_dram_to_sram(
    dst: Tile,
    src: Tile,
    *,
    thread_layout: Layout | None = None,
    num_threads: int | None = None,
    scope: Scope = "block",
) -> None:
    """Copy a tile from memory of the device to shared memory.

    Args:
        dst: in shared memory, in any layout, swizzled or not.
        src: of the same static shape and the same vectors; where it is masked, its default is written.
        thread_layout: which thread copies what, as ``distribute`` takes it; static, its extents divide the
            tile's. By default the threads follow each other along the rows of the tile's vectors.
        num_threads: how many threads a block has, where that is known: then no loop is needed. Else the
            threads there are share the work, be they fewer or more than the layout's.
        scope: ``"warp"`` where the lanes of one warp copy, not the threads of a block.

    Raises:
        CompileError: the shapes differ or are not static, or a tile lies in other memory.

    On GPUs it becomes ``ld.global`` and ``st.shared``, of 16 bytes (``.v4``) for aligned vectors.
    """
    check_space("copy_dram_to_sram", "dst", dst, _SRAM)
    check_space("copy_dram_to_sram", "src", src, _DRAM)
    _together(dst, src, thread_layout, num_threads, scope)


def copy_dram_to_sram_async(
    dst: Tile,
    src: Tile,
    *,
    thread_layout: Layout | None = None,
    num_threads: int | None = None,
    scope: Scope = "block",
) -> None:
    """Begin to copy a tile from memory of the device to shared memory; takes what ``copy_dram_to_sram`` does.

    ``async_copy_commit_group`` and ``async_copy_wait_group`` of ``weft.gpu.memory`` say when it has ended,
    and a ``barrier()`` then shows it to the other threads. On NVIDIA GPUs from sm_80 on it becomes
    ``cp.async`` of 16 bytes for vectors that are known to be aligned to so much on both sides, of 8 or 4
    for others; where a masked tile ends, the bytes that are not there become zero. What has fewer than 4
    aligned bytes, or another default than 0, is copied at once, as all is on other targets.
    """
    check_space("copy_dram_to_sram_async", "dst", dst, _SRAM)
    check_space("copy_dram_to_sram_async", "src", src, _DRAM)
    _together(dst, src, thread_layout, num_threads, scope, True)


def copy_sram_to_dram(
    dst: Tile,
    src: Tile,
    *,
    thread_layout: Layout | None = None,
    num_threads: int | None = None,
    scope: Scope = "block",
) -> None:
    """Copy a tile from shared memory to memory of the device; of a masked ``dst``, what there is.

    Takes what ``copy_dram_to_sram`` does. Vectors whose elements lie apart in shared memory, as those of a
    transposed tile, are read one by one (``ld.shared``) and written together (``st.global.v4``).
    """
    check_space("copy_sram_to_dram", "dst", dst, _DRAM)
    check_space("copy_sram_to_dram", "src", src, _SRAM)
    _together(dst, src, thread_layout, num_threads, scope)


def copy_dram_to_local(dst: Tile, src: Tile, *, thread_layout: Layout, scope: Scope = "block") -> None:
    """Copy a thread's part of a tile to memory of its own: registers, where its indices are known.

    Args:
        dst: as large as ``src.distribute[thread_layout](thread)``; in local memory.
        src: in memory of the device. Where it is masked, its default is written.
        thread_layout: which thread has what; numbers from its size on start over.
        scope: ``"warp"``: by the lane's number, not by the thread's in the block.
    """
    check_space("copy_dram_to_local", "dst", dst, _LOCAL)
    check_space("copy_dram_to_local", "src", src, _DRAM)
    copied(dst, src.distribute[thread_layout](_thread(scope)))


def copy_sram_to_local(dst: Tile, src: Tile, *, thread_layout: Layout, scope: Scope = "block") -> None:
    """Likewise, of a tile in shared memory. With ``scope="warp"`` each warp has the whole tile."""
    check_space("copy_sram_to_local", "dst", dst, _LOCAL)
    check_space("copy_sram_to_local", "src", src, _SRAM)
    copied(dst, src.distribute[thread_layout](_thread(scope)))


def copy_local_to_dram(dst: Tile, src: Tile, *, thread_layout: Layout, scope: Scope = "block") -> None:
    """Write a thread's own part to its places in a tile of the device's memory.

    Of a masked tile, what there is. Threads with numbers from the layout's size on do nothing.
    """
    check_space("copy_local_to_dram", "dst", dst, _DRAM)
    check_space("copy_local_to_dram", "src", src, _LOCAL)
    _guarded(dst, src, thread_layout, _thread(scope))


def copy_local_to_shared(dst: Tile, src: Tile, *, thread_layout: Layout, scope: Scope = "block") -> None:
    """Likewise, to a tile in shared memory."""
    check_space("copy_local_to_shared", "dst", dst, _SRAM)
    check_space("copy_local_to_shared", "src", src, _LOCAL)
    _guarded(dst, src, thread_layout, _thread(scope))


def _thread(scope: str) -> Any:
    if scope not in ("block", "warp"):
        refuse("operand", f"scope={scope!r} is no scope of a copy", hint='write scope="block" or "warp"')
    return lane_id() if scope == "warp" else block_thread()


def _together(
    dst: Tile, src: Tile, threads: Layout | None, count: int | None, scope: str, asynchronous: bool = False
) -> None:
    check_alike(dst, src)
    if threads is None:
        threads = Layout.row_major(*dst.layout.static_shape)
    if not isinstance(threads, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse("layout", f"{threads!r} is no layout of threads", "write Layout.row_major(8, 4), say")
    if count is not None and operator.index(count) < 1:
        refuse("operand", f"num_threads={count} is no number of threads", "write how many a block has")
    thread = _thread(scope)
    count = LANES if scope == "warp" else count
    if count is None:
        _shared_out(dst, src, threads, asynchronous)
        return
    size: int = threads.size()
    for first in range(0, size, count):
        if first + count <= size:
            _share(dst, src, threads, thread + first, asynchronous)
        else:
            _rest(dst, src, threads, thread + first, asynchronous)


def _share(dst: Tile, src: Tile, threads: Layout, thread: Any, asynchronous: bool) -> None:
    parts = dst.distribute[threads](thread), src.distribute[threads](thread)
    copied(*parts, asynchronous=asynchronous)


@func
def _shared_out(dst: Any, src: Any, threads: Any, asynchronous: Any) -> None:
    for thread in range(block_thread(), threads.size(), block_threads()):
        _share(dst, src, threads, thread, asynchronous)


@func
def _rest(dst: Any, src: Any, threads: Any, thread: Any, asynchronous: Any) -> None:
    if thread < threads.size():
        _share(dst, src, threads, thread, asynchronous)


@func
def _guarded(dst: Any, src: Any, threads: Any, thread: Any) -> None:
    if thread < threads.size():
        copied(dst.distribute[threads](thread), src)


present(globals())
