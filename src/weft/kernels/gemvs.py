"""Products of a matrix and a vector: the matrix is read once, many accesses of each thread on their way.

Where rows are side by side in memory a warp has a row; where columns are, a thread has some rows and goes
along them, and a block's warps share the columns. If there are few rows, several blocks share what is added
up, and their sums are added in order.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft.algorithm.elements import Memory
from weft.gpu import barrier, block_idx, global_idx, thread_idx, warp
from weft.kernels.calls.planned import planned
from weft.kernels.operands import Operand, Operands, accumulator
from weft.lang import Comptime, Int, Pointer, kernel, unroll
from weft.lang.number import number_class
from weft.math import fma
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

A = TypeVar("A")
_WARPS, _AHEAD, _LANES = 8, 4, 16
"""Warps of a block; accesses of a thread on their way; elements of a CPU's vectors."""
_THREADS, _BLOCKS = 256, 1056
"""Threads that add up parts; blocks that there are to be."""


@kernel
def by_rows(
    a: Pointer[Any],
    x: Pointer[Any],
    y: Pointer[Any],
    m: Int,
    n: Int,
    each: Int,
    row_step: Int,
    step: Int,
    x_step: Int,
    y_step: Int,
    scales: Any,
    *,
    kind: Comptime[Any],
    lanes: Comptime[int],
    span: Comptime[int],
    warps: Comptime[int],
    alignment: Comptime[tuple[int, int]],
):
    """A row by ``span`` threads, of ``each`` of its elements by a block of each part."""
    row, lane = block_idx.x * warps + thread_idx.x // span, thread_idx.x % span
    if row < m:
        first, end = block_idx.y * each, least(block_idx.y * each + each, n)
        source, stride = a + row * row_step, span * lanes
        sums = stack_allocation(kind, _AHEAD * lanes)
        for k in unroll(range(_AHEAD * lanes)):
            sums[k] = kind(0)
        whole = first
        if lanes > 1:
            whole = first + (end - first) // (stride * _AHEAD) * (stride * _AHEAD)
            for i in range(first + lane * lanes, whole, stride * _AHEAD):
                at = [i + k * stride for k in range(_AHEAD)]
                ours = [source.load(k, width=lanes, alignment=alignment[0], invariant=True) for k in at]
                theirs = [x.load(k, width=lanes, alignment=alignment[1], invariant=True) for k in at]
                for k in unroll(range(_AHEAD)):
                    one, other = ours[k].cast(kind), theirs[k].cast(kind)
                    for j in unroll(range(lanes)):
                        sums[k * lanes + j] = fma(one[j], other[j], sums[k * lanes + j])
        for i in range(whole + lane, end, span):
            sums[0] = fma(source[i * step].cast(kind), x[i * x_step].cast(kind), sums[0])
        total = sums[0]
        for k in unroll(range(1, _AHEAD * lanes)):
            total += sums[k]
        if span > 1:
            total = warp.sum(total, width=span)
        if scales is not None:
            total *= scales.start[row].cast(kind)
        if lane == 0:
            y[(block_idx.y * m + row) * y_step] = total.cast(y.element_type)


@kernel
def by_columns(
    a: Pointer[Any],
    x: Pointer[Any],
    y: Pointer[Any],
    m: Int,
    n: Int,
    each: Int,
    column_step: Int,
    x_step: Int,
    y_step: Int,
    *,
    kind: Comptime[Any],
    lanes: Comptime[int],
    span: Comptime[int],
    warps: Comptime[int],
    alignment: Comptime[int],
):
    """``span * lanes`` rows by a block, of ``each`` columns, which ``warps`` threads of a row share."""
    row = (block_idx.x * span + thread_idx.x % span) * lanes
    part, end = thread_idx.x // span, least(block_idx.y * each + each, n)
    parts = stack_allocation(kind, span * warps * lanes, address_space=AddressSpace.SHARED)
    source, sums = a + least(row, m - lanes), kind.splat(lanes, 0)
    begin, pace = block_idx.y * each, warps * _AHEAD
    whole = begin + (end - begin) // pace * pace
    for first in range(begin + part, whole, pace):
        at = [first + k * warps for k in range(_AHEAD)]
        ours = [source.load(k * column_step, width=lanes, alignment=alignment, invariant=True) for k in at]
        for one, k in zip(ours, at, strict=True):
            sums = fma(one.cast(kind), kind.splat(lanes, x[k * x_step].cast(kind)), sums)
    for k in range(whole + part, end, warps):
        one = source.load(k * column_step, width=lanes, alignment=alignment, invariant=True)
        sums = fma(one.cast(kind), kind.splat(lanes, x[k * x_step].cast(kind)), sums)
    if warps > 1:
        parts.store(thread_idx.x * lanes, sums)
        barrier()
        for w in unroll(range(1, warps)):
            sums += parts.load((thread_idx.x % span + w * span) * lanes, width=lanes)
    if part == 0 and row < m:
        for k in unroll(range(lanes)):
            total = sums[k] if lanes > 1 else sums
            y[(block_idx.y * m + row + k) * y_step] = total.cast(y.element_type)


@kernel
def add_parts(parts: Pointer[Any], y: Pointer[Any], m: Int, count: Int, y_step: Int):
    """The sums of a row's parts, in order."""
    row = global_idx.x
    if row < m:
        total = parts[row]
        for k in range(1, count):
            total += parts[k * m + row]
        y[row * y_step] = total.cast(y.element_type)


@planned
def gemv(a: Any, x: A, *, out: Any = None) -> A:
    """The product of a matrix and a vector, ``a @ x``, of floats: 16-bit ones are added up as Float32.

    Args:
        a: floating, (m, n), of any strides: ``a.T`` is read as fast.
        x: of the same type, (n,).
        out: where the result goes: (m,), of that type.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import gemv
        >>> gemv(np.float32([[1, 2], [3, 4]]), np.float32([10, 1]))
        array([12., 34.], dtype=float32)
    """
    op = Operands("gemv", a=a, x=x)
    matrix = op["a"].of("float")
    if len(matrix.shape) != 2:
        matrix.refuse(f"of {len(matrix.shape)} axes", "pass a matrix; weft.kernels.matmul takes batches")
    m, n = matrix.shape
    vector = op["x"].of(matrix.dtype).shaped((n,), "a has columns for")
    target = op.result((m,), matrix.dtype, out)
    if m:
        multiply(op, matrix, vector, target, m, n)
    return op.give(target)


def multiply(op: Operands, matrix: Operand, vector: Operand, target: Operand, m: int, n: int) -> None:
    """Queue the product, of m rows: which are spread over threads as they lie."""
    loops, (row_step, step), (x_step,) = op.threads_are_loops, matrix.strides, vector.strides
    if row_step != 1 or step == 1 or m == 1:
        launch_rows(op, matrix, vector, target, None)
        return
    span, warps = (1, 1) if loops else (warp.WARP_SIZE, _WARPS)
    lanes = _LANES if loops else matrix.lanes(step)
    while m % lanes:
        lanes //= 2
    blocks = -(-m // (span * lanes))
    parts, each = _parts(blocks, n, warps * _AHEAD)
    wide = accumulator(matrix.dtype)
    made = target if parts == 1 else op.scratch(parts * m, wide)
    aligned = matrix.dtype.itemsize * (1 if loops else lanes)
    named: dict[str, Any] = {"kind": number_class(wide), "lanes": lanes, "span": span, "warps": warps}
    steps = (step, x_step, target.strides[0] if parts == 1 else 1)
    sizes = (m, n, each)
    op.launch(
        by_columns,
        (blocks, parts),
        span * warps,
        matrix,
        vector,
        made,
        *sizes,
        *steps,
        **named,
        alignment=aligned,
    )
    _add(op, made, target, m, parts)


def launch_rows(
    op: Operands, matrix: Operand, vector: Operand, target: Operand, scales: Operand | None
) -> None:
    """Rows by warps; ``scales`` has what they are multiplied by."""
    loops, (row_step, step), (x_step,) = op.threads_are_loops, matrix.strides, vector.strides
    span, warps = (1, 1) if loops else (warp.WARP_SIZE, _WARPS)
    m, n = matrix.shape
    near = step == 1 and x_step == 1
    lanes = 1 if not near else _LANES if loops else min(matrix.lanes(row_step), vector.lanes())
    blocks = -(-m // warps)
    parts, each = _parts(blocks, n, span * lanes * _AHEAD)
    wide = accumulator(vector.dtype)
    made = target if parts == 1 else op.scratch(parts * m, wide)
    aligned = tuple([o.dtype.itemsize * (1 if loops else lanes) for o in (matrix, vector)])
    named: dict[str, Any] = {"kind": number_class(wide), "lanes": lanes, "span": span, "warps": warps}
    steps = (row_step, step, x_step, target.strides[0] if parts == 1 else 1)
    scaled = None if scales is None else Memory(scales.memory)
    sizes, grid = (m, n, each), (blocks, parts)
    op.launch(
        by_rows, grid, span * warps, matrix, vector, made, *sizes, *steps, scaled, **named, alignment=aligned
    )
    _add(op, made, target, m, parts)


def _parts(blocks: int, n: int, stride: int) -> tuple[int, int]:
    """In how many parts rows are taken, so that all of a device is busy, and of how many elements."""
    parts = max(1, min(_BLOCKS // blocks, n // (stride * _AHEAD)))
    each = max(1, -(-n // (parts * stride))) * stride
    return max(1, -(-n // each)), each


def _add(op: Operands, made: Operand, target: Operand, m: int, parts: int) -> None:
    if parts > 1:
        op.launch(add_parts, -(-m // _THREADS), _THREADS, made, target, m, parts, target.strides[0])
