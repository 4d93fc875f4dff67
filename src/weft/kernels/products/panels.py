"""Products on a CPU: a thread has a tile of the result in registers, a block packs panels of ``b`` for all.

Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008, with threads for the rows of
blocks: each multiplies its rows of ``a`` where they lie by a panel that stays in the first cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.gpu import barrier, block_idx, thread_idx
from weft.kernels.products.finish import finished
from weft.kernels.products.problem import Problem, rows_of
from weft.lang import Comptime, Int, Pointer, contraction, func, kernel, unroll
from weft.lang.generic import written
from weft.memory import AddressSpace, stack_allocation

ROWS, DEPTH, THREADS, VECTORS = 4, 256, 64, 2
"""Rows of a thread, of a panel, threads of a block, and vectors of 32 bytes that a thread has of a row."""


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
    columns: Comptime[int],
    threads: Comptime[int],
    kind: Comptime[Any],
    flat: Comptime[bool],
    beside: Comptime[bool],
    ways: Comptime[Any],
):
    """``out[z] = a[z] @ b[z].T``.

    Neighbours in a row of the result are so in ``b`` if ``flat``, and in ``out`` if ``beside``.
    """
    panel = stack_allocation(kind, DEPTH * columns, address_space=AddressSpace.SHARED, alignment=64)
    t, z = thread_idx.x, block_idx.z
    begin, m = rows_of(z, groups, m)
    row, col = begin + (block_idx.y * threads + t) * ROWS, block_idx.x * columns
    of_a, of_b, of_out = steps
    left, right = a + z * of_a[0], b + (z * of_b[0] + col * of_b[1])
    places = tuple([min(row + i, m - 1) * of_a[1] for i in range(ROWS)])
    sums = (kind.splat(columns, 0),) * ROWS
    for first in range(0, k if begin + block_idx.y * (threads * ROWS) < m else Int(0), DEPTH):
        deep = min(Int(DEPTH), k - first)
        for s in range(t, deep, threads):
            pack(
                panel + s * columns,
                right + (first + s) * of_b[2],
                of_b[1],
                n - col,
                columns=columns,
                kind=kind,
                flat=flat,
            )
        barrier()
        sums = multiplied(sums, panel, left + first * of_a[2], places, of_a[2], deep, kind=kind)
        barrier()
    target, ends = out + (z * of_out[0] + col * of_out[2]), (alpha, terms, epilogue)
    for i in unroll(range(ROWS)):
        if row + i < m:
            at = z, row + i, col
            write(
                sums[i], target + (row + i) * of_out[1], of_out[2], at, (m, n), ends, beside=beside, ways=ways
            )


@func
def multiplied(
    sums: Any, panel: Any, left: Any, places: Any, step: Int, deep: Int, *, kind: Comptime[Any]
) -> Any:
    """A thread's sums with the products of a panel so deep; its rows of ``a`` begin at ``places``."""
    columns = sums[0].lanes
    for s in range(deep):
        line = panel.load(s * columns, width=columns)
        with contraction():
            sums = tuple(
                [
                    sums[i] + kind.splat(columns, left[places[i] + s * step].cast(kind)) * line
                    for i in unroll(range(ROWS))
                ]
            )
    return sums


@func
def write(
    sums: Any,
    line: Any,
    step: Int,
    at: Any,
    extents: Any,
    ends: Any,
    *,
    beside: Comptime[bool],
    ways: Comptime[Any],
) -> None:
    """Write a row of a thread's sums, whose first is at a batch, row and column."""
    (z, row, col), columns = at, sums.lanes
    bare = not (ways.terms or ways.scaled or ways.epilogue)
    if bare and beside and extents[1] - col >= columns:
        line.store(0, sums.cast(ways.type))
    else:
        for j in unroll(range(columns)):
            if col + j < extents[1]:
                value = finished((sums[j],), (z, row, col + j), extents, ends, ways=ways)
                line[j * step] = value.cast(ways.type)


@func
def pack(
    into: Any,
    source: Any,
    step: Int,
    left: Int,
    *,
    columns: Comptime[int],
    kind: Comptime[Any],
    flat: Comptime[bool],
) -> None:
    """A row of a panel; what lies beyond the matrix is 0."""
    if flat and left >= columns:
        into.store(0, source.load(0, width=columns).cast(kind))
    else:
        for j in unroll(range(columns)):
            into[j] = kind(0)
            if j < left:
                into[j] = source[j * step].cast(kind)


def multiply(problem: Problem) -> None:
    """Queue the product."""
    (m, n, _, z), a, b = problem.extents, problem.a, problem.b
    columns = VECTORS * 32 // problem.sums.itemsize
    threads = min(THREADS, -(-m // ROWS))
    grid = -(-n // columns), -(-m // (ROWS * threads)), z
    known = {"columns": columns, "threads": threads, "kind": written(problem.sums)}
    lies = {"flat": b.strides[1] == 1, "beside": problem.out.strides[2] == 1}
    problem.launch(product, grid, threads, a, b, problem.grouping, **known, **lies)
