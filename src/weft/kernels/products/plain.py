"""Products on any GPU, of all types and strides: tiles in shared memory, and parts of them in registers.

The textbook's algorithm (NVIDIA, CUDA C++ Programming Guide, "Shared Memory"; register tiles of Volkov and
Demmel, 2008), for what the tensor cores and the copies of tiles do not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.gpu import barrier, block_idx, launch_bounds, thread_idx
from weft.kernels.products.finish import finished
from weft.kernels.products.problem import Problem, rows_of
from weft.lang import Comptime, Int, Pointer, contraction, func, kernel, unroll
from weft.lang.generic import written
from weft.memory import AddressSpace, stack_allocation

SIDE, DEEP, EACH = 64, 16, 4
"""Rows and columns of a block's tile, its elements along k, and a thread's rows and columns."""
THREADS = (SIDE // EACH) ** 2
PITCH = SIDE + EACH


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
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``; ``beside`` says of which side neighbours in a column are so in memory."""
    launch_bounds(THREADS)
    tile_a = stack_allocation(kind, DEEP * PITCH, address_space=AddressSpace.SHARED)
    tile_b = stack_allocation(kind, DEEP * PITCH, address_space=AddressSpace.SHARED)
    across, down = -(-n // SIDE), -(-m // SIDE)
    unit, t = block_idx.x, thread_idx.x
    z, row, col = unit // (across * down), unit // across % down * SIDE, unit % across * SIDE
    begin, m = rows_of(z, groups, m)
    row += begin
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + z * of_b[0]
    ty, tx = t // (SIDE // EACH), t % (SIDE // EACH)
    sums = (kind.splat(EACH, 0),) * EACH
    for first in range(0, k if row < m else Int(0), DEEP):
        fill(tile_a, left, of_a, row, m, first, k, kind=kind, beside=beside[0])
        fill(tile_b, right, of_b, col, n, first, k, kind=kind, beside=beside[1])
        barrier()
        for s in unroll(range(DEEP)):
            x = tile_a.load(s * PITCH + ty * EACH, width=EACH)
            y = tile_b.load(s * PITCH + tx * EACH, width=EACH)
            with contraction():
                sums = tuple([sums[i] + x[i] * y for i in unroll(range(EACH))])
        barrier()
    target = out + z * of_out[0]
    for i in unroll(range(EACH)):
        for j in unroll(range(EACH)):
            r, c = row + ty * EACH + i, col + tx * EACH + j
            if r < m and c < n:
                value = finished((sums[i][j],), (z, r, c), (m, n), (alpha, terms, epilogue), ways=ways)
                target[r * of_out[1] + c * of_out[2]] = value.cast(ways.type)


@func
def fill(
    tile: Any,
    source: Any,
    steps: Any,
    row: Int,
    rows: Int,
    first: Int,
    k: Int,
    *,
    kind: Comptime[Any],
    beside: Comptime[bool],
) -> None:
    """Bring a tile, whose rows are of one place along k; what lies beyond the matrix is 0."""
    for i in unroll(range(SIDE * DEEP // THREADS)):
        at = thread_idx.x + i * THREADS
        r, s = (at % SIDE, at // SIDE) if beside else (at // DEEP, at % DEEP)
        value = kind(0)
        if row + r < rows and first + s < k:
            value = source[(row + r) * steps[1] + (first + s) * steps[2]].cast(kind)
        tile[s * PITCH + r] = value


def multiply(problem: Problem) -> None:
    """Queue the product."""
    (m, n, _, z), a, b = problem.extents, problem.a, problem.b
    grid = -(-m // SIDE) * -(-n // SIDE) * z
    known = {"kind": written(problem.sums), "beside": (a.strides[1] == 1, b.strides[1] == 1)}
    problem.launch(product, grid, THREADS, a, b, problem.grouping, **known)
