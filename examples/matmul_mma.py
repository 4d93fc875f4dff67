"""A product of matrices by the tensor cores of every NVIDIA GPU since Ampere: ``a @ b.T`` of BFloat16.

Tiles come to shared memory by asynchronous copies, some stages ahead, in rows of 128 bytes, swizzled by 16,
so that neither copies nor loads of fragments meet at a bank. Each warp multiplies 64 x 64 of a tile,
and loads the fragments of the next 16 columns while it multiplies those of the last ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import BFloat16, Comptime, Float32, Int, Pointer, kernel, unroll
from weft.gpu import barrier, block_idx, lane_id, thread_idx, warp_id
from weft.gpu.host import DeviceContext
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.mma import ld_matrix, mma
from weft.layout import Layout, LayoutTensor
from weft.memory import dynamic_shared_memory

DEEP = 64
"""Columns of a tile: 128 bytes."""
PER_COPY = 8
"""Elements of 16 bytes."""


def chunk(row: Any, column: Any) -> Any:
    """Where in a tile the 16 bytes of a row and a column of so many lie, in elements."""
    return row * DEEP + (column ^ row % 8) * PER_COPY


@kernel
def product(
    a: LayoutTensor[BFloat16],
    b: LayoutTensor[BFloat16],
    out: LayoutTensor[Any],
    *,
    tile: Comptime[tuple[int, int]],
    warp: Comptime[tuple[int, int]],
    stages: Comptime[int],
    group: Comptime[int],
):
    """A tile of ``out`` a block; blocks that follow each other share ``group`` rows of tiles."""
    (bm, bn), (wm, wn) = tile, warp
    threads, m, n, steps = bm // wm * (bn // wn) * 32, wm // 16, wn // 8, a.shape[1] // DEEP
    size, memory = (bm + bn) * DEEP, dynamic_shared_memory(BFloat16, alignment=128)
    across = out.shape[1] // bn * group
    row0 = (block_idx.x // across * group + block_idx.x % group) * bm
    col0 = block_idx.x % across // group * bn
    own_row, own_column = thread_idx.x // 8, thread_idx.x % 8
    from_a = a.address(row0 + own_row, own_column * PER_COPY)
    from_b = b.address(col0 + own_row, own_column * PER_COPY)
    into, down = chunk(own_row, own_column), threads // 8

    def fetch(step: Int):
        here = memory + step % stages * size + into
        for p in unroll(range(bm // down)):
            async_copy(from_a + (p * down * a.shape[1] + step * DEEP), here + p * down * DEEP)
        for p in unroll(range(bn // down)):
            async_copy(from_b + (p * down * b.shape[1] + step * DEEP), here + (bm + p * down) * DEEP)

    lane, row, column = lane_id(), warp_id() // (bn // wn) * wm, warp_id() % (bn // wn) * wn
    at_a, at_b = row + lane % 16, bm + column + lane % 8 + lane // 16 * 8

    def fragments(stage: Pointer[BFloat16], k: int) -> tuple[Any, Any]:
        left, right = stage + chunk(at_a, 2 * k + lane // 16), stage + chunk(at_b, 2 * k + lane // 8 % 2)
        pairs = [ld_matrix(right + j * 16 * DEEP, 8) for j in unroll(range(n // 2))]
        return (
            tuple([ld_matrix(left + i * 16 * DEEP, 8) for i in unroll(range(m))]),
            tuple([pair.slice(4, offset=offset) for pair in pairs for offset in (0, 4)]),
        )

    for s in unroll(range(stages - 1)):
        fetch(Int(s))
        async_copy_commit_group()
    async_copy_wait_group(stages - 2)
    barrier()
    left, right = fragments(memory, 0)
    sums = (Float32.splat(4, 0.0),) * (m * n)
    for step in range(steps):
        here, now = memory + step % stages * size, sums
        for k in unroll(range(DEEP // 16)):
            if k == 0:
                if step + stages - 1 < steps:
                    fetch(Int(step + stages - 1))
                async_copy_commit_group()
            a_now, b_now, last = left, right, k == DEEP // 16 - 1
            if not last:
                left, right = fragments(here, k + 1)
            some = [mma(a_now[i // n], b_now[i % n], now[i]) for i in unroll(range(m * n // 2))]
            if last:  # in the midst of products, so that fewer wait idly
                async_copy_wait_group(stages - 2)
                barrier()
                left, right = fragments(memory + (step + 1) % stages * size, 0)
            rest = [mma(a_now[i // n], b_now[i % n], now[i]) for i in unroll(range(m * n // 2, m * n))]
            now = (*some, *rest)
        sums = now
    async_copy_wait_group(0)
    for i in unroll(range(m * n)):
        place = out.address(row0 + row + i // n * 16 + lane // 4, col0 + column + i % n * 8 + lane % 4 * 2)
        for half in unroll(range(2)):
            pair = sums[i].slice(2, offset=2 * half).cast(out.dtype)
            place.store(half * 8 * out.shape[1], pair, alignment=2 * out.dtype.itemsize)


def matmul(
    ctx: DeviceContext,
    a: Any,
    b: Any,
    out: Any,
    *,
    tile: tuple[int, int] = (128, 256),
    warp: tuple[int, int] = (64, 64),
    stages: int = 4,
    group: int = 8,
) -> None:
    """Queue it over tensors or arrays of two axes, whose extents are multiples of the tile's."""
    (rows, columns), (bm, bn) = (a.shape[0], b.shape[0]), tile
    if rows % (bm * group) or columns % bn or a.shape[1] % DEEP:
        raise ValueError(
            f"{rows} x {columns} x {a.shape[1]} are no multiples of {bm * group} x {bn} x {DEEP}"
        )
    ctx.enqueue_function(
        product,
        a,
        b,
        out,
        grid_dim=rows // bm * (columns // bn),
        block_dim=bm // warp[0] * (bn // warp[1]) * 32,
        shared_mem_bytes=stages * (bm + bn) * DEEP * 2,
        tile=tile,
        warp=warp,
        stages=stages,
        group=group,
    )


def main() -> None:
    ctx = DeviceContext()
    rows, columns, deep = 256, 256, 192
    rng = np.random.default_rng(1)
    numbers = [rng.integers(-8, 9, extents) for extents in ((rows, deep), (columns, deep))]
    buffers = [ctx.enqueue_create_buffer(BFloat16, each.size) for each in numbers]
    for buffer, each in zip(buffers, numbers, strict=True):
        with buffer.map_to_host() as host:
            host[:] = each.reshape(-1).tolist()
    out = ctx.enqueue_create_buffer(Float32, rows * columns)
    a, b = (x.tensor(Layout.row_major(*y.shape)) for x, y in zip(buffers, numbers, strict=True))
    matmul(ctx, a, b, out.tensor(Layout.row_major(rows, columns)), tile=(64, 128), stages=3, group=4)
    with out.map_to_host() as host:
        same = np.array_equal(host.numpy().reshape(rows, columns), numbers[0] @ numbers[1].T)
    print("as NumPy" if same else "not as NumPy")


if __name__ == "__main__":
    main()
