"""Products of matrices by tensor cores, ``a @ b.T`` of BFloat16 with sums of Float32, by ``wgmma``.

Extents are multiples of the tiles', which ``cp.async`` brings. It runs on a CPU too.
"""

from __future__ import annotations

from typing import Any

from weft import BFloat16, Comptime, Float32, Int, kernel, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.wgmma import (
    async_proxy_fence,
    swizzled,
    warpgroup_places,
    warpgroup_zero,
    wgmma_async,
    wgmma_wait,
)
from weft.layout import LayoutTensor
from weft.memory import dynamic_shared_memory

GROUP = 8
"""Rows of tiles that blocks take side by side, so that what they read of ``b`` stays in the cache."""


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


def launch_by_warpgroups(ctx: Any, a: Any, b: Any, out: Any, *, bm: int, bn: int, stages: int) -> None:
    """Queue it over tensors or arrays of two axes, with a multiple of ``GROUP`` rows of tiles."""
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
