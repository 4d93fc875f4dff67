"""Products on any GPU, of all types and strides: tiles in shared memory, and parts of them in registers.

The textbook's algorithm (NVIDIA, CUDA C++ Programming Guide, "Shared Memory"; register tiles of Volkov and
Demmel, 2008), for what the other kernels do not take. The next tiles are read while these are multiplied, of
Float64 by tensor cores where there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.dtype import DType
from weft.gpu import barrier, block_idx, lane_id, launch_bounds, thread_idx, warp_id
from weft.gpu.mma import mma
from weft.kernels.products.finish import finished
from weft.kernels.products.problem import Problem, rows_of
from weft.lang import Comptime, Int, Pointer, contraction, func, kernel, unroll
from weft.lang.generic import written
from weft.lang.intrinsics import Feature
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation
from weft.targets import find_target

SIDE, DEEP, EACH = 64, 16, 4
"""Rows and columns of a block's tile, its elements along k, and a thread's rows and columns."""
THREADS = (SIDE // EACH) ** 2
NUMBERS = SIDE * DEEP // THREADS
"""Of a tile that a thread reads."""
PITCH = SIDE + EACH
DOWN, RIGHT, PIECE = 4, 2, 8
"""Pieces of 8 x 8 that a warp has by tensor cores, four warps side by side."""


@kernel
def product(
    a: Pointer[Any],
    b: Pointer[Any],
    out: Pointer[Any],
    m: Int,
    n: Int,
    k: Int,
    steps: Any,
    groups: Any,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    kind: Comptime[Any],
    beside: Comptime[tuple[bool, bool]],
    cores: Comptime[bool],
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``; ``beside`` says of which side neighbours in a column are so in memory.

    ``cores`` says whether tensor cores multiply.
    """
    launch_bounds(THREADS)
    tile_a = stack_allocation(kind, DEEP * PITCH, address_space=AddressSpace.SHARED)
    tile_b = stack_allocation(kind, DEEP * PITCH, address_space=AddressSpace.SHARED)
    across, down = -(-n // SIDE), -(-m // SIDE)
    unit = block_idx.x
    z, row, col = unit // (across * down), unit // across % down * SIDE, unit % across * SIDE
    begin, m = rows_of(z, groups, m)
    row += begin
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + z * of_b[0]
    of_left, of_right = {"kind": kind, "beside": beside[0]}, {"kind": kind, "beside": beside[1]}
    sums = (kind.splat(2, 0),) * (DOWN * RIGHT) if cores else (kind.splat(EACH, 0),) * EACH
    end = k if row < m else Int(0)
    x, y = (kind(0),) * NUMBERS, (kind(0),) * NUMBERS
    if end > 0:
        x = read(left, of_a, row, m, Int(0), k, **of_left)
        y = read(right, of_b, col, n, Int(0), k, **of_right)
    for first in range(0, end, DEEP):
        keep(tile_a, x, beside=beside[0])
        keep(tile_b, y, beside=beside[1])
        barrier()
        x = read(left, of_a, row, m, first + DEEP, k, **of_left)
        y = read(right, of_b, col, n, first + DEEP, k, **of_right)
        sums = by_cores(tile_a, tile_b, sums) if cores else by_threads(tile_a, tile_b, sums)
        barrier()
    target = out + z * of_out[0]
    for i in unroll(range(len(sums))):
        for j in unroll(range(sums[i].lanes)):
            down, right = place(i, j, cores)
            r, c = row + down, col + right
            if r < m and c < n:
                value = finished((sums[i][j],), (z, r, c), (m, n), (alpha, terms, epilogue), ways=ways)
                target[r * of_out[1] + c * of_out[2]] = value.cast(ways.type)


def corner(cores: bool) -> tuple[Any, Any]:
    """Where in a tile the rows and columns of a warp begin, or those of a thread."""
    if cores:
        return warp_id() // 4 * (DOWN * PIECE), warp_id() % 4 * (RIGHT * PIECE)
    return thread_idx.x // (SIDE // EACH) * EACH, thread_idx.x % (SIDE // EACH) * EACH


def place(i: int, j: int, cores: bool) -> tuple[Any, Any]:
    """Row and column in a tile of a number of this thread's vector ``i``."""
    row, column = corner(cores)
    if cores:
        return row + i // RIGHT * PIECE + lane_id() // 4, column + i % RIGHT * PIECE + lane_id() % 4 * 2 + j
    return row + i, column + j


@func
def by_threads(tile_a: Pointer[Any], tile_b: Pointer[Any], sums: Any) -> Any:
    """The sums with the products of a tile, of which a thread has a square."""
    row, column = corner(False)
    for s in unroll(range(DEEP)):
        x, y = tile_a.load(s * PITCH + row, width=EACH), tile_b.load(s * PITCH + column, width=EACH)
        with contraction():
            sums = tuple([sums[i] + x[i] * y for i in unroll(range(EACH))])
    return sums


@func
def by_cores(tile_a: Pointer[Any], tile_b: Pointer[Any], sums: Any) -> Any:
    """The same by tensor cores, of which a warp has a piece."""
    row, column = corner(True)
    row, column = row + lane_id() // 4, column + lane_id() // 4
    for s in unroll(range(0, DEEP, 4)):
        at = (s + lane_id() % 4) * PITCH
        x = [tile_a[at + row + i * PIECE] for i in range(DOWN)]
        y = [tile_b[at + column + j * PIECE] for j in range(RIGHT)]
        sums = tuple([mma(x[i // RIGHT], y[i % RIGHT], sums[i]) for i in range(DOWN * RIGHT)])
    return sums


def spot(i: int, beside: bool) -> tuple[Any, Any]:
    """Which row, and which place along k, a thread's number of a tile has."""
    at = thread_idx.x + i * THREADS
    return (at % SIDE, at // SIDE) if beside else (at // DEEP, at % DEEP)


@func
def read(
    source: Any,
    steps: Any,
    row: Int,
    rows: Int,
    first: Int,
    k: Int,
    *,
    kind: Comptime[Any],
    beside: Comptime[bool],
) -> Any:
    """A thread's numbers of a tile; what lies beyond the matrix is 0."""
    found: list[Any] = []
    for i in unroll(range(NUMBERS)):
        r, s = spot(i, beside)
        value = source[least(row + r, rows - 1) * steps[1] + least(first + s, k - 1) * steps[2]].cast(kind)
        found.append(((row + r < rows) & (first + s < k)).select(value, kind(0)))
    return tuple(found)


@func
def keep(tile: Pointer[Any], numbers: Any, *, beside: Comptime[bool]) -> None:
    """Write a tile, whose rows are of one place along k."""
    for i in unroll(range(NUMBERS)):
        r, s = spot(i, beside)
        tile[s * PITCH + r] = numbers[i]


def multiply(problem: Problem) -> None:
    """Queue the product."""
    a, b, grid = problem.a, problem.b, problem.tiles_of((SIDE, SIDE))
    known = {"kind": written(problem.sums), "beside": (a.strides[1] == 1, b.strides[1] == 1)}
    has = find_target(problem.op.context.target).supports(Feature.MMA)
    known["cores"] = has and problem.sums is DType.float64
    problem.launch(product, grid, THREADS, a, b, problem.grouping, **known)
