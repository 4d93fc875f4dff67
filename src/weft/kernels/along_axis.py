"""Elements of rows by the places that each row has of its own."""

from __future__ import annotations

from typing import Any

from weft.gpu import block_idx, thread_idx
from weft.kernels.by_places import inside, take_in_rows
from weft.kernels.operands import Operand, Operands
from weft.kernels.places import merged
from weft.kernels.row_memory import begin
from weft.lang import Comptime, Int, Pointer, kernel

THREADS = 256
"""A block's threads."""
COLUMN = 4096
"""So many lines of memory, which a column is at most, a core's cache holds for each of three arrays."""


def take_along(op: Operands, source: Operand, numbers: Operand, target: Operand, along: int) -> None:
    """Launch what takes ``target[..., i, ...] = source[..., numbers[..., i, ...], ...]``.

    ``numbers`` is of the target's shape, and so is ``source`` but for the axis.
    """
    step, results = source.strides[along], target
    if source.dtype.itemsize == 16:
        source, results, step = source.halved(), target.halved(), 2 * step
        numbers = numbers.seen(results.shape, (*numbers.strides, 0))
    lines = results.shape, fixed(source, along), numbers.strides, results.strides
    if op.threads_are_loops and source.shape[along] <= COLUMN:
        lines = [(*line[:along], *line[along + 1 :], line[along]) for line in lines]
    extents, steps = merged(*lines)
    if op.threads_are_loops:
        operands = [*zip((source, numbers, results), steps, strict=True)]
        take_in_rows(op, operands, extents, source.shape[along], step, source.bits)
        return
    lines = (source, steps[0], step, numbers, steps[1], target, steps[2])
    counts, grid = (results.size, source.shape[along], extents), -(-results.size // THREADS)
    op.launch(taken_along, grid, THREADS, *lines, *counts, bits=source.bits, threads=THREADS)


def fixed(x: Operand, along: int) -> tuple[int, ...]:
    """How far neighbours lie apart, where places along an axis are another's to say."""
    return (*x.strides[:along], 0, *x.strides[along + 1 :])


@kernel
def taken_along(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    indices: Pointer[Any],
    steps: Any,
    out: Pointer[Any],
    out_steps: Any,
    number: Int,
    n: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    threads: Comptime[int],
):
    """An element a thread."""
    unit = block_idx.x * threads + thread_idx.x
    if unit < number:
        place = inside(begin(indices, steps, unit, extents)[0], n)
        row = begin(x.bitcast(bits), x_steps, unit, extents)
        begin(out.bitcast(bits), out_steps, unit, extents)[0] = row[place * x_step]
