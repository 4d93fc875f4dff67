"""Products of Float64 by the tensor cores of Hopper and later: warps multiply fragments of 16 x 8.

As ``fragments``, of which this differs in what a lane reads: single numbers, since ``ldmatrix`` moves none of
64 bits. Each side may lie along k or across it; its numbers are swizzled by 32 bytes, so that the four rows
and four places along k that half a warp reads lie in 16 different banks of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from weft.gpu import barrier, lane_id, launch_bounds, warp_id
from weft.gpu.memory import async_copy_commit_group, async_copy_wait_group
from weft.gpu.mma import mma
from weft.kernels.products.fragments import fill, write
from weft.kernels.products.parts import in_parts, join
from weft.kernels.products.problem import Problem, aligned
from weft.kernels.products.schedule import own_part
from weft.lang import Comptime, Float64, Int, Pointer, func, kernel, unroll
from weft.lang.number import number_class
from weft.memory import dynamic_shared_memory

DEPTH, CHUNK = 16, 2
"""Places along k of a stage, and numbers that are copied at once."""
BAND, PART = 8, 256
"""Rows of tiles that blocks go through together; places along k of a part at least, where tiles are few."""


@kernel
def product(
    a: Pointer[Any],
    b: Pointer[Any],
    out: Pointer[Any],
    m: Int,
    n: Int,
    k: Int,
    steps: Any,
    batches: Int,
    splits: Int,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    shape: Comptime[Any],
    across: Comptime[tuple[bool, bool]],
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``, a tile a block, or a part of k of one.

    ``across`` says of which side neighbours lie across k.
    """
    (bm, bn), (wm, wn), stages, deep = shape
    threads, high, wide = bm // wm * (bn // wn) * 32, wm // 16, wn // 8
    launch_bounds(threads)
    size, memory = (bm + bn) * DEPTH, cast("Any", dynamic_shared_memory)(a.element_type, alignment=128)
    part, z, row0, col0, first, count = own_part(
        (m, n, k), batches, splits, tile=(bm, bn), deep=DEPTH, band=BAND
    )
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + z * of_b[0]

    def fetch(step: Int):
        here, at = memory + step % stages * size, ((first + step) * DEPTH, k)
        known: dict[str, Any] = {"deep": DEPTH, "threads": threads, "place": chunk}
        fill(here, left, of_a, (row0, m), at, rows=bm, across=across[0], **known)
        fill(here + bm * DEPTH, right, of_b, (col0, n), at, rows=bn, across=across[1], **known)

    row, col = warp_id() // (bn // wn) * wm, warp_id() % (bn // wn) * wn
    for s in unroll(range(stages)):
        if s < count:
            fetch(Int(s))
        async_copy_commit_group()
    async_copy_wait_group(stages - 1)
    barrier()
    sums = (Float64.splat(4, 0.0),) * (high * wide)
    pieces = loaded(memory, (row, col), first=0, shape=shape, across=across)
    for step in range(count):
        here = memory + step % stages * size
        for s in unroll(range(0, DEPTH, deep)):
            if s + deep < DEPTH:
                ahead = loaded(here, (row, col), first=s + deep, shape=shape, across=across)
            else:
                async_copy_wait_group(stages - 2)
                barrier()  # all have read this stage, which is filled now
                if step + stages < count:
                    fetch(Int(step + stages))
                async_copy_commit_group()
                following = memory + min(step + 1, count - 1) % stages * size
                ahead = loaded(following, (row, col), first=0, shape=shape, across=across)
            rows, columns = pieces
            sums = tuple([mma(rows[i // wide], columns[i % wide], sums[i]) for i in range(high * wide)])
            pieces = ahead
    async_copy_wait_group(0)
    z += part * batches
    at, ends = (z, row0 + row, col0 + col), (alpha, terms, epilogue)
    write(sums, out + z * of_out[0], of_out, at, (m, n), ends, wide=wide, ways=ways)


def chunk(line: Any, spot: Any, wide: int) -> Any:
    """Where in a side's part of a stage two numbers of a line lie, which is so many long."""
    return line * wide + (spot * CHUNK ^ line % 4 * 4)


@func
def loaded(
    here: Any,
    at: Any,
    *,
    first: Comptime[int],
    shape: Comptime[Any],
    across: Comptime[Any],
) -> Any:
    """What a lane has of both sides for some places along k: pieces of 16 rows, and of 8 columns."""
    tile, warp, _, deep = shape
    left, right = here, here + tile[0] * DEPTH
    places = range(first, first + deep, 4)
    rows = [
        piece(left, at[0], range(i, i + 16, 8), places, (tile[0], DEPTH), across[0])
        for i in range(0, warp[0], 16)
    ]
    columns = [
        piece(right, at[1], range(j, j + 8, 8), places, (tile[1], DEPTH), across[1])
        for j in range(0, warp[1], 8)
    ]
    return tuple(rows), tuple(columns)


def piece(here: Any, row: Any, rows: range, places: range, extents: tuple[int, int], across: bool) -> Any:
    """A lane's numbers of some rows behind one, and of places along k, as ``mma`` takes them."""
    g, t, found = lane_id() // 4, lane_id() % 4, list[Any]()
    for s in places:
        for r in rows:
            if across:  # of what is written so, only the last term differs by more than a constant
                found.append(here[(s + t) * extents[0] + row + r // 16 * 16 + (r % 16 + g ^ t * 4)])
            else:
                found.append(here[(row + r + g) * extents[1] + s // 16 * 16 + (s % 16 + t ^ g % 4 * 4)])
    return number_class(Float64.dtype, len(found))(*found)


class Shape(NamedTuple):
    """What a kernel is compiled for: the tiles of blocks and warps, and the stages that are on their way."""

    tile: tuple[int, int]
    warp: tuple[int, int]
    stages: int
    deep: int
    """Places along k of a product."""


LARGE, SMALL = Shape((64, 128), (32, 32), 4, 8), Shape((32, 32), (16, 16), 6, 16)


def way_of(problem: Problem) -> tuple[Shape, int]:
    """The tiles of a product, and in how many parts k is gone through, where there are few."""
    units = problem.op.context.info.multiprocessors
    if 3 * problem.tiles_of(LARGE.tile) >= units:
        return LARGE, 1
    return SMALL, max(1, min(2 * units // problem.tiles_of(SMALL.tile), problem.extents[2] // PART))


def multiply(problem: Problem) -> None:
    """Queue the product."""
    a, b = (aligned(problem.op, x, CHUNK, across=True) for x in (problem.a, problem.b))
    shape, splits = way_of(problem)
    (bm, bn), (wm, wn), stages, _ = shape
    parts, grid = in_parts(problem, splits), problem.tiles_of(shape.tile) * splits
    across = tuple([x.strides[2] != 1 and x.shape[2] > 1 for x in (a, b)])
    threads, nbytes = bm // wm * (bn // wn) * 32, stages * (bm + bn) * DEPTH * a.dtype.itemsize
    known = {"shape": tuple(shape), "across": across, "ways": parts.ways, "shared_mem_bytes": nbytes}
    parts.launch(product, grid, threads, a, b, problem.extents[3], splits, **known)
    if splits > 1:
        join(problem, parts.out, splits)
