"""A product of matrices as Hopper wants it: ``a @ b.T`` of BFloat16, with sums of Float32.

One thread has the hardware copy tiles into a ring of stages, two groups of four warps multiply those that
have come, and what they have made is copied out while they go on. Blocks stay and take one tile after the
other. ``python -m benchmarks tensor-cores`` measures it. Where there is no such hardware the same source runs
on the CPU, on tiny matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import BFloat16, Comptime, Int, UInt64, func, kernel, unroll
from weft.gpu import block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id, wgmma
from weft.gpu.host import DeviceContext
from weft.gpu.pipeline import Pipeline
from weft.layout import Layout
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.memory import AddressSpace, Pointer, dynamic_shared_memory, stack_allocation

BK = 64
"""Elements along k of a stage: rows of 128 bytes."""
ROWS = 64
"""Rows of a warpgroup, the 128 threads that multiply together."""
PIECE = ROWS * BK
"""What a warpgroup stores at once."""


@kernel
def matmul(
    a: TMATensorTile[BFloat16],
    b: TMATensorTile[BFloat16],
    out: TMATensorTile[BFloat16],
    *,
    stages: Comptime[int],
    band: Comptime[int],
):
    """``band`` rows of tiles are done side by side, so that what they read of ``b`` stays in the cache."""
    bm, bn = a.box[0], b.box[0]
    launch_bounds(128 + 2 * bm)
    tiles_a = dynamic_shared_memory(BFloat16, alignment=1024)
    tiles_b = tiles_a + stages * bm * BK
    staging = tiles_b + stages * bn * BK
    pipe = Pipeline[stages](stack_allocation(UInt64, 2 * stages, address_space=AddressSpace.SHARED))
    pipe.init(consumers=bm // ROWS)
    down, across = -(-out.tensor.shape[0] // bm), -(-out.tensor.shape[1] // bn)
    steps = -(-a.tensor.shape[1] // BK)
    group, n = thread_idx.x // 128, Int(0)
    if group == 0:  # the producer
        wgmma.set_max_registers(40, more=False)
        if thread_idx.x == 0:
            for x in (a, b, out):
                x.prefetch_descriptor()
            for tile in range(block_idx.x, down * across, grid_dim.x):
                row, col = place(tile, across * band, band)
                for k in range(steps):
                    stage, full = pipe.producer_acquire(n), pipe.full(n)
                    full.expect_bytes(a.nbytes + b.nbytes)
                    a.async_copy(tiles_a + stage * (bm * BK), full, (row * bm, k * BK))
                    b.async_copy(tiles_b + stage * (bn * BK), full, (col * bn, k * BK))
                    n += 1
    else:  # the consumers
        wgmma.set_max_registers(232, more=True)
        mine, leads = (group - 1) * ROWS, thread_idx.x % 128 == 0
        area, first = staging + (group - 1) * (2 * PIECE), warp_id() % 4 * 16
        for tile in range(block_idx.x, down * across, grid_dim.x):
            row, col = place(tile, across * band, band)
            sums = wgmma.warpgroup_zero(bn)
            for k in range(steps):
                stage = pipe.consumer_wait(n)
                here = tiles_a + (stage * (bm * BK) + mine * BK)
                sums = wgmma.wgmma_async(here, tiles_b + stage * (bn * BK), sums, wait=1)
                if leads and k > 0:
                    pipe.consumer_release(n - 1)  # of which the product has ended
                n += 1
            sums = wgmma.wgmma_wait(sums)
            if leads:
                pipe.consumer_release(n - 1)
            for c in unroll(range(bn // BK)):
                half = area + c % 2 * PIECE
                write(sums[32 * c : 32 * c + 32], half, out)
                if lane_id() == 0:
                    out.async_store(half + first * BK, (row * bm + mine + first, col * bn + c * BK))
                    out.commit_group()
        if lane_id() == 0:
            out.wait_group()


@func
def place(tile: Int, size: Int, band: Int) -> tuple[Int, Int]:
    """Row and column of a tile of the result, counted in tiles."""
    return tile // size * band + tile % size % band, tile % size // band


@func
def write(sums: Any, area: Pointer[BFloat16], out: TMATensorTile[BFloat16]) -> None:
    """Write a warpgroup's 64 x 64 sums where this warp's copy before the last has been read."""
    if lane_id() == 0:
        out.wait_group(1, read=True)
    warp.syncwarp()
    for (row, column), pair in wgmma.warpgroup_pairs(sums, BFloat16):
        area.store(wgmma.swizzled(BFloat16, row, column), pair, alignment=4)
    wgmma.async_proxy_fence()
    warp.syncwarp()


def prepared(
    ctx: DeviceContext, a: Any, b: Any, out: Any, bm: int = 128, bn: int = 256, stages: int = 4
) -> Callable[[], None]:
    """What queues ``out = a @ b.T``, of tensors or arrays whose rows are multiples of 16 bytes."""
    boxes = ((a, (bm, BK)), (b, (bn, BK)), (out, (16, BK)))
    tiles = [ctx.create_tma_tile(x, box, swizzle=TensorMapSwizzle.SWIZZLE_128B) for x, box in boxes]
    down, across = -(-a.shape[0] // bm), -(-b.shape[0] // bn)
    function = matmul.bind(stages=stages, band=math.gcd(down, 16))
    blocks, threads = min(down * across, ctx.info.multiprocessors), 128 + 2 * bm
    nbytes = 2 * (stages * (bm + bn) * BK + 2 * bm * BK)
    return lambda: ctx.enqueue_function(
        function, *tiles, grid_dim=blocks, block_dim=threads, shared_mem_bytes=nbytes
    )


def main() -> None:
    ctx = DeviceContext()
    tiny = ctx.info.target != "sm_90"
    m, n, k = (40, 64, 72) if tiny else (1000, 520, 776)
    x, y = (np.random.default_rng(i).integers(-4, 5, (rows, k)) for i, rows in enumerate((m, n)))
    buffers = [ctx.enqueue_create_buffer(BFloat16, size) for size in (m * k, n * k, m * n)]
    for buffer, numbers in zip(buffers, (x, y), strict=False):
        with buffer.map_to_host() as host:
            host[:] = numbers.reshape(-1).tolist()
    layouts = [Layout.row_major(*shape) for shape in ((m, k), (n, k), (m, n))]
    a, b, out = (z.tensor(layout) for z, layout in zip(buffers, layouts, strict=True))
    multiply = prepared(ctx, a, b, out, 64, 64, 2) if tiny else prepared(ctx, a, b, out)
    multiply()
    with buffers[2].map_to_host() as host:
        made = np.array([float(z) for z in host]).reshape(m, n)
    right = x @ y.T
    assert np.all(abs(made - right) <= abs(right) / 256), "other than NumPy's"
    print(f"{m} x {n} x {k}: as NumPy has it")


if __name__ == "__main__":
    main()
