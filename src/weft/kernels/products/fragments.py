"""Products of 16-bit floats by the tensor cores of every NVIDIA GPU since Ampere: warps multiply fragments.

Tiles come to shared memory by asynchronous copies, some stages ahead, in rows of 128 bytes, swizzled so that
neither copies nor loads of fragments meet at a bank (CUTLASS 2.x, ``MmaMultistage``). Sides may lie along k
or across it, which ``ldmatrix`` transposes; what lies beyond a matrix is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

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
    across: Comptime[tuple[bool, bool]],
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``, a tile a block; ``across`` says of which side neighbours lie across k."""
    (bm, bn), (wm, wn) = tile, warp
    threads, high, wide = bm // wm * (bn // wn) * 32, wm // 16, wn // 8
    launch_bounds(threads)
    size, memory = (bm + bn) * DEEP, cast("Any", dynamic_shared_memory)(a.element_type, alignment=128)
    down, beside, count = -(-m // bm), -(-n // bn), -(-k // DEEP)
    z = block_idx.x // (down * beside)
    row0, col0 = place(block_idx.x % (down * beside), down, beside, BAND)
    row0, col0 = row0 * bm, col0 * bn
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + z * of_b[0]

    def fetch(step: Int):
        here, at = memory + step % stages * size, (step * DEEP, k)
        known: dict[str, Any] = {"deep": DEEP, "threads": threads, "place": chunk}
        fill(here, left, of_a, (row0, m), at, rows=bm, across=across[0], **known)
        fill(here + bm * DEEP, right, of_b, (col0, n), at, rows=bn, across=across[1], **known)

    at = warp_id() // (bn // wn) * wm, warp_id() % (bn // wn) * wn
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
        sums = multiplied(sums, memory + step % stages * size, at, tile=tile, wide=wide, across=across)
    async_copy_wait_group(0)
    first, ends = (z, row0 + at[0], col0 + at[1]), (alpha, terms, epilogue)
    write(sums, out + z * of_out[0], of_out, first, (m, n), ends, wide=wide, ways=ways)


@func
def fill(
    here: Any,
    source: Any,
    steps: Any,
    rows_at: Any,
    along: Any,
    *,
    rows: Comptime[int],
    deep: Comptime[int],
    threads: Comptime[int],
    across: Comptime[bool],
    place: Comptime[Callable[..., Any]],
) -> None:
    """Begin to copy a side's part of a stage, 16 bytes a thread; what lies beyond the matrix is 0.

    ``place`` says where in it a chunk of a line lies, by both numbers and the length of lines.
    """
    (row0, m), (first, k), size = rows_at, along, source.dtype.itemsize
    (lines, wide), each = (deep, rows) if across else (rows, deep), 16 // size
    for i in unroll(range(0, lines * wide // each, threads)):
        line, spot = (thread_idx.x + i) // (wide // each), (thread_idx.x + i) % (wide // each)
        outer, inner = (first + line, row0 + spot * each) if across else (row0 + line, first + spot * each)
        last, end, step = (k, m, steps[2]) if across else (m, k, steps[1])
        left = (outer < last).select(min(max(end - inner, Int(0)), Int(each)), Int(0))
        begin = source + min(outer, last - 1) * step + (inner if left > 0 else Int(0))
        async_copy(begin, here + place(line, spot, wide), src_size=left * size)


@func
def multiplied(
    sums: Any,
    here: Any,
    at: Any,
    *,
    tile: Comptime[Any],
    wide: Comptime[int],
    across: Comptime[Any],
) -> Any:
    """A warp's sums, so many pieces wide, with the products of a stage."""
    high, right = len(sums) // wide, here + tile[0] * DEEP
    for s in unroll(range(0, DEEP, 16)):
        rows = [four(here, at[0] + i * 16, s, tile[0], across[0], 8) for i in unroll(range(high))]
        pairs = [four(right, at[1] + j * 16, s, tile[1], across[1], 16) for j in unroll(range(wide // 2))]
        columns = [pair.slice(4, offset=offset) for pair in pairs for offset in (0, 4)]
        sums = tuple([mma(rows[i // wide], columns[i % wide], sums[i]) for i in unroll(range(high * wide))])
    return sums


def four(here: Any, row: Any, k: int, rows: int, across: bool, along: int) -> Any:
    """Four matrices of 8 x 8 of 16 rows and places along k, by rows first if ``along`` is 8."""
    lane = lane_id()
    behind, deeper = lane // along % 2 * 8, lane // (24 - along) % 2 * 8
    line, spot = (k + deeper, row + behind) if across else (row + behind, k + deeper)
    place = chunk(line + lane % 8, spot // CHUNK, rows if across else DEEP)
    return ld_matrix(here + place, 8, transpose=across)


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
        for half in unroll(range(2)):
            r, c = row + i // wide * 16 + lane // 4 + half * 8, col + i % wide * 8 + lane % 4 * 2
            if r < extents[0] and c < extents[1]:
                two = sums[i][2 * half], sums[i][2 * half + 1]
                pair = finished(two, (z, r, c), extents, ends, ways=ways).cast(ways.type)
                there = target + (r * steps[1] + c * steps[2])
                if ways.paired:
                    there.store(0, pair, alignment=2 * ways.type.dtype.itemsize)
                else:
                    there[0] = pair[0]
                    if c + 1 < extents[1]:
                        there[steps[2]] = pair[1]


def chunk(line: Any, column: Any, wide: int) -> Any:
    """Where in a side's part of a stage 16 bytes of a line lie, which is so many elements long."""
    return line * wide + (column ^ (line % 8 if wide >= DEEP else line // 2 % 4)) * CHUNK


class Shape(NamedTuple):
    """What a kernel is compiled for: the tiles of blocks and warps, and the stages that are on their way."""

    tile: tuple[int, int]
    warp: tuple[int, int]
    stages: int


LARGE, MIDDLE, SMALL = (
    Shape((128, 128), (64, 32), 3),
    Shape((64, 64), (32, 32), 4),
    Shape((32, 32), (16, 16), 4),
)
BRIEF, LEAST = (384, 512), 32
"""Places along k where tiles fill the multiprocessors once, and where there are few; rows and columns."""


def begins_sooner(problem: Problem) -> bool:
    """Whether a product ends before one by warpgroups has begun: those wait for tiles to be described."""
    m, n, k, _ = problem.extents
    tiles, units = problem.tiles_of(MIDDLE.tile), problem.op.context.info.multiprocessors
    return min(m, n) >= LEAST and tiles <= units and k <= BRIEF[4 * tiles <= units]


def multiply(problem: Problem) -> None:
    """Queue the product."""
    op, units = problem.op, problem.op.context.info.multiprocessors
    a, b = (aligned(op, x, CHUNK, across=True) for x in (problem.a, problem.b))
    shape = LARGE if problem.tiles_of(LARGE.tile) >= units else MIDDLE
    if 2 * problem.tiles_of(MIDDLE.tile) <= units:
        shape = SMALL
    (bm, bn), (wm, wn), stages = shape
    across = tuple([x.strides[2] != 1 and x.shape[2] > 1 for x in (a, b)])
    known = {"tile": (bm, bn), "warp": (wm, wn), "stages": stages, "across": across, "ways": problem.ways}
    threads, nbytes = bm // wm * (bn // wn) * 32, stages * (bm + bn) * DEEP * a.dtype.itemsize
    problem.launch(product, problem.tiles_of(shape.tile), threads, a, b, **known, shared_mem_bytes=nbytes)
