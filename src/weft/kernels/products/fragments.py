"""Products of 16-bit floats by the tensor cores of every NVIDIA GPU since Ampere: warps multiply fragments.

Tiles come to shared memory by asynchronous copies, some stages ahead, in rows of 128 bytes, swizzled so that
neither copies nor loads of fragments meet at a bank (CUTLASS 2.x, ``MmaMultistage``). Both sides lie along k;
rows beyond a matrix are its last one again, and columns beyond k are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from weft.gpu import barrier, block_idx, lane_id, launch_bounds, thread_idx, warp_id
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.mma import ld_matrix, mma
from weft.kernels.products.finish import finished
from weft.kernels.products.problem import Problem, aligned
from weft.kernels.products.schedule import place
from weft.lang import Comptime, Float32, Int, Pointer, func, kernel, unroll
from weft.memory import dynamic_shared_memory

DEEP, CHUNK = 64, 8
"""Columns of a stage, and elements that are copied at once."""
BAND = 8


@kernel
def product(
    a: Pointer[Any],
    b: Pointer[Any],
    out: Pointer[Any],
    m: Int,
    n: Int,
    k: Int,
    steps: Any,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    tile: Comptime[tuple[int, int]],
    warp: Comptime[tuple[int, int]],
    stages: Comptime[int],
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``, a tile a block."""
    (bm, bn), (wm, wn) = tile, warp
    threads, high, wide = bm // wm * (bn // wn) * 32, wm // 16, wn // 8
    launch_bounds(threads)
    size, memory = (bm + bn) * DEEP, cast("Any", dynamic_shared_memory)(a.element_type, alignment=128)
    down, across, count = -(-m // bm), -(-n // bn), -(-k // DEEP)
    z = block_idx.x // (down * across)
    row0, col0 = place(block_idx.x % (down * across), down, across, BAND)
    row0, col0 = row0 * bm, col0 * bn
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + z * of_b[0]
    own, column = thread_idx.x // CHUNK, thread_idx.x % CHUNK

    def fetch(step: Int):
        here, at = memory + step % stages * size, step * DEEP + column * CHUNK
        for p in unroll(range(0, bm, threads // CHUNK)):
            row = min(row0 + own + p, m - 1)
            bring(left + row * of_a[1], here + chunk(own + p, column), at, k)
        for p in unroll(range(0, bn, threads // CHUNK)):
            row = min(col0 + own + p, n - 1)
            bring(right + row * of_b[1], here + chunk(bm + own + p, column), at, k)

    lane, row, col = lane_id(), warp_id() // (bn // wn) * wm, warp_id() % (bn // wn) * wn
    at_a, at_b = row + lane % 16, bm + col + lane % 8 + lane // 16 * 8
    for s in unroll(range(stages - 1)):
        if s < count:
            fetch(Int(s))
        async_copy_commit_group()
    sums = (Float32.splat(4, 0.0),) * (high * wide)
    for step in range(count):
        async_copy_wait_group(stages - 2)
        barrier()  # all have multiplied the stage that is filled now
        if step + stages - 1 < count:
            fetch(Int(step + stages - 1))
        async_copy_commit_group()
        sums = multiplied(sums, memory + step % stages * size, (at_a, at_b), wide=wide)
    async_copy_wait_group(0)
    at, ends = (z, row0 + row, col0 + col), (alpha, terms, epilogue)
    write(sums, out + z * of_out[0], of_out, at, (m, n), ends, wide=wide, ways=ways)


@func
def multiplied(sums: Any, here: Any, at: Any, *, wide: Comptime[int]) -> Any:
    """A warp's sums, so many pieces wide, with the products of a stage."""
    lane, high = lane_id(), len(sums) // wide
    for s in unroll(range(DEEP // 16)):
        x, y = chunk(at[0], 2 * s + lane // 16), chunk(at[1], 2 * s + lane // 8 % 2)
        rows = [ld_matrix(here + x + i * 16 * DEEP, 8) for i in unroll(range(high))]
        pairs = [ld_matrix(here + y + j * 16 * DEEP, 8) for j in unroll(range(wide // 2))]
        columns = [pair.slice(4, offset=offset) for pair in pairs for offset in (0, 4)]
        sums = tuple([mma(rows[i // wide], columns[i % wide], sums[i]) for i in unroll(range(high * wide))])
    return sums


@func
def write(
    sums: Any,
    target: Any,
    steps: Any,
    at: Any,
    extents: Any,
    ends: Any,
    *,
    wide: Comptime[int],
    ways: Comptime[Any],
) -> None:
    """Write a warp's sums, of which those at a batch, row and column are the first."""
    (z, row, col), lane = at, lane_id()
    for i in unroll(range(len(sums))):
        for part in unroll(range(4)):
            r = row + i // wide * 16 + lane // 4 + part // 2 * 8
            c = col + i % wide * 8 + lane % 4 * 2 + part % 2
            if r < extents[0] and c < extents[1]:
                value = finished((sums[i][part],), (z, r, c), extents, ends, ways=ways)
                target[r * steps[1] + c * steps[2]] = value.cast(ways.type)


def chunk(row: Any, column: Any) -> Any:
    """Where in a stage the 16 bytes of a row and a column of so many lie, in elements."""
    return row * DEEP + (column ^ row % 8) * CHUNK


@func
def bring(source: Any, into: Any, at: Int, k: Int) -> None:
    """Copy 16 bytes of a row, or what is left of it."""
    left = min(max(k - at, Int(0)), Int(CHUNK))
    async_copy(source + (at if left > 0 else Int(0)), into, src_size=left * source.dtype.itemsize)


def multiply(problem: Problem) -> None:
    """Queue the product."""
    op = problem.op
    m, n, _, z = problem.extents
    a, b = (aligned(op, x, CHUNK, across=False) for x in (problem.a, problem.b))
    large = -(-m // 128) * -(-n // 128) * z >= op.context.info.multiprocessors
    tile, warp, stages = ((128, 128), (64, 32), 3) if large else ((64, 64), (32, 32), 4)
    grid, threads = -(-m // tile[0]) * -(-n // tile[1]) * z, tile[0] // warp[0] * (tile[1] // warp[1]) * 32
    known = {"tile": tile, "warp": warp, "stages": stages}
    problem.launch(product, grid, threads, a, b, **known, shared_mem_bytes=stages * sum(tile) * DEEP * 2)
