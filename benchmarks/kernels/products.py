"""Products of matrices by tensor cores, ``a @ b.T`` of BFloat16 with sums of Float32, in two ways.

Extents are multiples of the tiles'. ``by_warps`` is for GPUs from Ampere on: ``mma.sync`` on tiles that
``cp.async`` brings. ``by_warpgroups`` is for Hopper: ``wgmma`` on swizzled tiles, brought likewise. Both run
on a CPU too.
"""

from __future__ import annotations

from typing import Any

from weft import BFloat16, Comptime, Float32, Int, kernel, unroll
from weft.gpu import barrier, block_idx, thread_idx, warp_id
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.wgmma import (
    async_proxy_fence,
    swizzled,
    warpgroup_places,
    warpgroup_zero,
    wgmma_async,
    wgmma_wait,
)
from weft.layout import Layout, LayoutTensor
from weft.layout.tensor_core import TensorCore
from weft.memory import dynamic_shared_memory

GROUP = 8
"""Rows of tiles that blocks take side by side, so that what they read of ``b`` stays in the cache."""


@kernel
def by_warps(
    a: LayoutTensor[BFloat16],
    b: LayoutTensor[BFloat16],
    out: LayoutTensor[Float32],
    *,
    bm: Comptime[int],
    bn: Comptime[int],
    warp: Comptime[tuple[int, int]],
    stages: Comptime[int],
):
    """Tiles of bm x bn, ``warp`` of it each warp's, in steps of 64; shared rows are 72 elements."""
    bk, pitch, (wm, wn) = 64, 72, warp
    threads, m, n = bm // wm * (bn // wn) * 32, wm // 16, wn // 8
    memory = dynamic_shared_memory(BFloat16)
    core = TensorCore(Float32, BFloat16, (16, 8, 16), transpose_b=True)
    row0, col0, steps = block_idx.y * bm, block_idx.x * bn, a.shape[1] // bk

    def fetch(step: Int):
        here = memory + step % stages * ((bm + bn) * pitch)
        for p in unroll(range((bm + bn) * 8 // threads)):
            i = thread_idx.x + p * threads
            row, k = i // 8, i % 8 * 8
            place = here + (row * pitch + k)
            if p < bm * 8 // threads:
                async_copy(a.address(row0 + row, step * bk + k), place)
            else:
                async_copy(b.address(col0 + row - bm, step * bk + k), place)

    for s in unroll(range(stages - 1)):
        fetch(Int(s))
        async_copy_commit_group()
    row, col = warp_id() // (bn // wn) * m, warp_id() % (bn // wn) * n
    sums = (core.zero(),) * (m * n)
    for step in range(steps):
        async_copy_wait_group(stages - 2)
        barrier()
        if step + stages - 1 < steps:
            fetch(Int(step + stages - 1))
        async_copy_commit_group()
        here = memory + step % stages * ((bm + bn) * pitch)
        tile_a = LayoutTensor[BFloat16](here, Layout((bm, bk), (pitch, 1)), alignment=16)
        tile_b = LayoutTensor[BFloat16](here + bm * pitch, Layout((bn, bk), (pitch, 1)), alignment=16)
        for k in unroll(range(bk // 16)):
            left: list[Any] = [core.load_a(tile_a.tile[16, 16](row + i, k)) for i in unroll(range(m))]
            right: list[Any] = [core.load_b(tile_b.tile[8, 16](col + j, k)) for j in unroll(range(n))]
            sums = tuple([core.mma_op(left[i // n], right[i % n], sums[i]) for i in unroll(range(m * n))])
    tile = out.tile[bm, bn](block_idx.y, block_idx.x)
    for i in unroll(range(m * n)):
        core.store_d(tile.tile[16, 8](row + i // n, col + i % n), sums[i])


@kernel
def by_warpgroups(
    a: LayoutTensor[BFloat16],
    b: LayoutTensor[BFloat16],
    out: LayoutTensor[Float32],
    *,
    bm: Comptime[int],
    bn: Comptime[int],
    stages: Comptime[int],
):
    """Tiles of bm x bn by warpgroups of 64 rows, in steps of 64."""
    bk, threads = 64, 2 * bm
    memory = dynamic_shared_memory(BFloat16, alignment=1024)
    across = out.shape[1] // bn * GROUP
    row0 = (block_idx.x // across * GROUP + block_idx.x % GROUP) * bm
    col0 = block_idx.x % across // GROUP * bn
    steps = a.shape[1] // bk

    def fetch(step: Int):
        here = memory + step % stages * ((bm + bn) * bk)
        for n in unroll(range((bm + bn) * 8 // threads)):
            i = thread_idx.x + n * threads
            row, k = i // 8, i % 8 * 8
            place = here + swizzled(BFloat16, row, k)
            if n < bm * 8 // threads:
                async_copy(a.address(row0 + row, step * bk + k), place)
            else:
                async_copy(b.address(col0 + row - bm, step * bk + k), place)

    for s in unroll(range(stages - 2)):
        fetch(Int(s))
        async_copy_commit_group()
    group = thread_idx.x // 128 * 64
    sums = warpgroup_zero(bn)
    for step in range(steps):
        async_copy_wait_group(stages - 3)
        async_proxy_fence()
        barrier()  # behind it the product before the last has ended in all warps: its tiles are free
        here = memory + step % stages * ((bm + bn) * bk)
        sums = wgmma_async(here + group * bk, here + bm * bk, sums, wait=1)
        if step + stages - 2 < steps:
            fetch(Int(step + stages - 2))
        async_copy_commit_group()
    sums = wgmma_wait(sums)
    for n, (row, column) in enumerate(warpgroup_places(bn)):
        out[row0 + group + row, col0 + column] = sums[n]


def launch_by_warps(
    ctx: Any, a: Any, b: Any, out: Any, *, bm: int, bn: int, warp: tuple[int, int], stages: int
) -> None:
    """Queue it over tensors or arrays of two axes."""
    ctx.enqueue_function(
        by_warps,
        a,
        b,
        out,
        grid_dim=(b.shape[0] // bn, a.shape[0] // bm),
        block_dim=bm // warp[0] * (bn // warp[1]) * 32,
        shared_mem_bytes=stages * (bm + bn) * 72 * 2,
        bm=bm,
        bn=bn,
        warp=warp,
        stages=stages,
    )


def launch_by_warpgroups(ctx: Any, a: Any, b: Any, out: Any, *, bm: int, bn: int, stages: int) -> None:
    """Likewise; as many rows of tiles as a multiple of ``GROUP``."""
    ctx.enqueue_function(
        by_warpgroups,
        a,
        b,
        out,
        grid_dim=a.shape[0] // bm * (b.shape[0] // bn),
        block_dim=2 * bm,
        shared_mem_bytes=stages * (bm + bn) * 64 * 2,
        bm=bm,
        bn=bn,
        stages=stages,
    )
