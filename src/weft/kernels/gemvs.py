"""Products of a matrix and a vector: the matrix is read once, many accesses of each thread on their way.

Where rows are side by side in memory a warp has a row; where columns are, a thread has some rows and goes
along them, and a block's warps share the columns. If there are few rows, several blocks share what is added
up, and their sums are added in order.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft.algorithm.elements import Memory
from weft.calls.planned import planned_but
from weft.gpu import barrier, block_idx, global_idx, thread_idx, warp
from weft.kernels.early import begin_early
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.row_memory import added, by_pairs, load, type_of
from weft.lang import Comptime, Int, Pointer, func, iota, kernel, unroll
from weft.lang.machine import threads_are_loops
from weft.lang.number import number_class
from weft.math import fma
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

A = TypeVar("A")
_WARPS, _AHEAD, _LANES, _BESIDE = 8, 4, 16, 64
"""Warps of a block; accesses of a thread on their way; elements of a CPU's vectors, and of its strips."""
_SHARING, _FEW = 32, 8
"""Threads of few rows that share columns; parts that a thread adds up by itself."""
_THREADS, _BLOCKS = 256, 1056
"""Threads that add up parts; blocks that there are to be."""
_TASKS, _TASK = 64, 1 << 15
"""Tasks of a CPU that there are to be, and elements that one of them has at least."""


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
    batch: Any,
    scales: Any,
    *,
    kind: Comptime[Any],
    lanes: Comptime[int],
    span: Comptime[int],
    warps: Comptime[int],
    ahead: Comptime[int],
    alignment: Comptime[tuple[int, int]],
):
    """A row by ``span`` threads, of ``each`` of its elements by a block of each part.

    ``batch`` says how far the matrices, vectors and results of a batch lie apart.
    """
    begin_early()
    row, lane = block_idx.x * warps + thread_idx.x // span, thread_idx.x % span
    if row < m:
        first, end = block_idx.y * each, least(block_idx.y * each + each, n)
        source, stride = a + block_idx.z * batch[0] + row * row_step, span * lanes
        vector, target = x + block_idx.z * batch[1], y + block_idx.z * batch[2]
        if threads_are_loops() and span == 1 and lanes > 1:
            own = _dot(source + first, vector + first, end - first, kind=kind, lanes=lanes)
            if scales is not None:
                own *= scales.start[row].cast(kind)
            target[(block_idx.y * m + row) * y_step] = own.cast(y.element_type)
            return
        sums = stack_allocation(kind, ahead * lanes)
        for k in unroll(range(ahead * lanes)):
            sums[k] = kind(0)
        whole = first
        if lanes > 1:
            whole = first + (end - first) // (stride * ahead) * (stride * ahead)
            for i in range(first + lane * lanes, whole, stride * ahead):
                at = [i + k * stride for k in range(ahead)]
                ours = [source.load(k, width=lanes, alignment=alignment[0], invariant=True) for k in at]
                theirs = [vector.load(k, width=lanes, alignment=alignment[1], invariant=True) for k in at]
                for k in unroll(range(ahead)):
                    one, other = ours[k].cast(kind), theirs[k].cast(kind)
                    for j in unroll(range(lanes)):
                        sums[k * lanes + j] = fma(one[j], other[j], sums[k * lanes + j])
        for i in range(whole + lane, end, span):
            sums[0] = fma(source[i * step].cast(kind), vector[i * x_step].cast(kind), sums[0])
        total = sums[0]
        for k in unroll(range(1, ahead * lanes)):
            total += sums[k]
        if span > 1:
            total = warp.sum(total, width=span)
        if scales is not None:
            total *= scales.start[row].cast(kind)
        if lane == 0:
            target[(block_idx.y * m + row) * y_step] = total.cast(y.element_type)


@func
def _dot(a: Any, b: Any, n: Int, *, kind: Comptime[Any], lanes: Comptime[int]) -> Any:
    """The product of ``lanes`` elements or more, by a thread of a CPU."""
    sums = stack_allocation(type_of(kind.splat(lanes, 0)), _AHEAD)
    for k in unroll(range(_AHEAD)):
        sums[k] = kind.splat(lanes, 0)
    piece, end = lanes * _AHEAD, n // lanes * lanes
    whole = n // piece * piece
    for i in range(0, whole, piece):
        for k in unroll(range(_AHEAD)):
            at = i + k * lanes
            sums[k] = fma(load(a, at, 1, lanes, kind), load(b, at, 1, lanes, kind), sums[k])
    for i in range(whole, end, lanes):
        sums[0] = fma(load(a, i, 1, lanes, kind), load(b, i, 1, lanes, kind), sums[0])
    last = n - lanes  # of which those from end on are new
    rest = fma(load(a, last, 1, lanes, kind), load(b, last, 1, lanes, kind), kind.splat(lanes, 0))
    sums[1] += (iota(Int, lanes) + last >= end).select(rest, 0)
    return by_pairs(added, [sums[k] for k in range(_AHEAD)]).reduce_add()


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
    batch: Any,
    *,
    kind: Comptime[Any],
    lanes: Comptime[int],
    span: Comptime[int],
    warps: Comptime[int],
    alignment: Comptime[int],
):
    """``span * lanes`` rows by a block, of ``each`` columns, which ``warps`` threads of a row share.

    ``batch`` is as of ``by_rows``.
    """
    begin_early()
    row = (block_idx.x * span + thread_idx.x % span) * lanes
    part, end = thread_idx.x // span, least(block_idx.y * each + each, n)
    parts = stack_allocation(kind, span * warps * lanes, address_space=AddressSpace.SHARED)
    source, sums = a + block_idx.z * batch[0] + least(row, m - lanes), kind.splat(lanes, 0)
    vector, target = x + block_idx.z * batch[1], y + block_idx.z * batch[2]
    before = row - least(row, m - lanes) if threads_are_loops() else 0  # lanes of rows that another strip has
    begin, pace = block_idx.y * each, warps * _AHEAD
    whole = begin + (end - begin) // pace * pace
    for first in range(begin + part, whole, pace):
        at = [first + k * warps for k in range(_AHEAD)]
        ours = [source.load(k * column_step, width=lanes, alignment=alignment, invariant=True) for k in at]
        for one, k in zip(ours, at, strict=True):
            sums = fma(one.cast(kind), kind.splat(lanes, vector[k * x_step].cast(kind)), sums)
    for k in range(whole + part, end, warps):
        one = source.load(k * column_step, width=lanes, alignment=alignment, invariant=True)
        sums = fma(one.cast(kind), kind.splat(lanes, vector[k * x_step].cast(kind)), sums)
    if warps > 1:
        parts.store(thread_idx.x * lanes, sums)
        barrier()
        for w in unroll(range(1, warps)):
            sums += parts.load((thread_idx.x % span + w * span) * lanes, width=lanes)
    if part == 0 and row < m:
        for k in unroll(range(lanes)):
            total = sums[k] if lanes > 1 else sums
            if k >= before:
                target[(block_idx.y * m + row - before + k) * y_step] = total.cast(y.element_type)


@kernel
def add_parts(
    parts: Pointer[Any], y: Pointer[Any], m: Int, count: Int, y_step: Int, batch: Int, *, span: Comptime[int]
):
    """The sums of a row's parts by ``span`` threads, in the same order each time."""
    begin_early()
    row, lane = global_idx.x // span, global_idx.x % span
    if row < m:
        here, total = parts + block_idx.y * (count * m) + row, parts.element_type(0)
        for k in range(lane, count, span):
            total += here[k * m]
        if span > 1:
            total = warp.sum(total, width=span)
        if lane == 0:
            y[block_idx.y * batch + row * y_step] = total.cast(y.element_type)


@planned_but("out")
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
        multiply(op, single(matrix), single(vector), single(target))
    return op.give(target)


def single(x: Operand) -> Operand:
    """A batch of one."""
    return x.seen((1, *x.shape), (0, *x.strides))


def multiply(op: Operands, matrix: Operand, vector: Operand, target: Operand) -> None:
    """Queue the products of matrices (batch, m, n): their rows are spread over threads as they lie."""
    loops, (row_step, step), (x_step,) = op.threads_are_loops, matrix.strides[1:], vector.strides[1:]
    (z, m, n), batch = matrix.shape, (matrix.strides[0], vector.strides[0])
    if row_step != 1 or step == 1 or m == 1:
        launch_rows(op, matrix, vector, target, None)
        return
    lanes = min(_BESIDE, _power(m)) if loops else matrix.lanes(step, matrix.strides[0])
    while m % lanes and not loops:
        lanes //= 2
    span = 1 if loops else min(warp.WARP_SIZE, _power(2 * (m // lanes) - 1))
    warps = 1 if loops else _SHARING if span < warp.WARP_SIZE else _WARPS
    blocks = -(-m // (span * lanes))
    parts, each = _parts(op, blocks * z, n, warps * _AHEAD, span * lanes)
    made, ends = _made(op, target, z, m, parts, matrix)
    aligned = matrix.dtype.itemsize * (1 if loops else lanes)
    named: dict[str, Any] = {"kind": made_of(matrix), "lanes": lanes, "span": span, "warps": warps}
    op.launch(
        by_columns,
        (blocks, parts, z),
        span * warps,
        *(matrix, vector, made, m, n, each, step, x_step, ends[0], (*batch, ends[1])),
        **named,
        early=True,
        alignment=aligned,
    )
    _add(op, made, target, parts)


def launch_rows(
    op: Operands, matrix: Operand, vector: Operand, target: Operand, scales: Operand | None
) -> None:
    """Rows by warps, or parts of them; ``scales`` has what they are multiplied by."""
    loops, (row_step, step), (x_step,) = op.threads_are_loops, matrix.strides[1:], vector.strides[1:]
    (z, m, n), batch = matrix.shape, (matrix.strides[0], vector.strides[0])
    near = step == 1 and x_step == 1
    lanes = 1
    if near:
        of_both = min(matrix.lanes(row_step, batch[0]), vector.lanes(batch[1]))
        lanes = min(_LANES, _power(n)) if loops else of_both
    span = 1 if loops else min(warp.WARP_SIZE, _power(n // lanes // 2))
    ahead = _AHEAD if loops else max(1, min(_AHEAD, n // (lanes * span)))
    warps = 1 if loops else _WARPS * warp.WARP_SIZE // span
    blocks = -(-m // warps)
    parts, each = _parts(op, blocks * z, n, span * lanes * ahead, warps)
    made, ends = _made(op, target, z, m, parts, vector)
    aligned = tuple([o.dtype.itemsize * (1 if loops else lanes) for o in (matrix, vector)])
    named: dict[str, Any] = {"kind": made_of(vector), "lanes": lanes, "span": span, "warps": warps}
    scaled = None if scales is None else Memory(scales.memory)
    sizes, steps = (m, n, each), (row_step, step, x_step, ends[0], (*batch, ends[1]))
    op.launch(
        by_rows,
        (blocks, parts, z),
        span * warps,
        *(matrix, vector, made, *sizes, *steps, scaled),
        **named,
        early=True,
        ahead=ahead,
        alignment=aligned,
    )
    _add(op, made, target, parts)


def made_of(x: Operand) -> Any:
    """What products are added up as."""
    return number_class(accumulator(x.dtype))


def _power(most: int) -> int:
    """The greatest power of two that is no more, and 1 at least."""
    return 1 << max(1, most).bit_length() - 1


def _parts(op: Operands, blocks: int, n: int, stride: int, rows: int) -> tuple[int, int]:
    """In how many parts rows are taken, so that all of a device is busy, and of how many elements.

    A block has ``rows`` so many.
    """
    parts = _BLOCKS // blocks
    if op.threads_are_loops:
        parts = min(_TASKS // blocks, rows * n // _TASK)
    parts = max(1, min(parts, n // (stride * _AHEAD)))
    each = max(1, -(-n // (parts * stride))) * stride
    return max(1, -(-n // each)), each


def _made(
    op: Operands, target: Operand, z: int, m: int, parts: int, x: Operand
) -> tuple[Any, tuple[int, int]]:
    """Where sums go, how far they lie apart, and how far those of the next matrix are."""
    if parts == 1:
        return target, (target.strides[1], target.strides[0])
    return op.scratch(z * parts * m, accumulator(x.dtype)), (1, parts * m)


def _add(op: Operands, made: Any, target: Operand, parts: int) -> None:
    if parts > 1:
        (z, m), span = target.shape, warp.WARP_SIZE if parts > _FEW and not op.threads_are_loops else 1
        args = made, target, m, parts, target.strides[1], target.strides[0]
        op.launch(add_parts, (-(-m * span // _THREADS), z), _THREADS, *args, span=span, early=True)
