"""Rows, each of which needs to be known as a whole: how they are spread over threads.

An operation says what is to be known of some numbers (``of``), of the numbers of two (``merge``), and what
becomes of an element when the row is known (``writer``). A row is everything along an axis. By its length

- lanes of a warp share a row, one to all 32 of them, or a block has it: each thread holds its elements in
  registers, so that memory is read once;
- or the row is longer than registers are, and is read twice by a block that goes along it in steps.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from weft.gpu import block, block_idx, thread_idx, warp
from weft.kernels.operands import Operand, Operands, accumulator, merged
from weft.lang import Comptime, Int, Pointer, func, kernel, unroll
from weft.lang.generic import written
from weft.lang.machine import threads_are_loops
from weft.math import min as least

THREADS, WARPS, HELD = 1024, 128, 8
"""A block's threads at most; those of a block of rows that have less than it; vectors that a thread holds."""
LANES, STEP = 16, 4
"""Elements of a CPU's vectors; vectors that are on their way together along long rows."""


class Rows(NamedTuple):
    """Rows of some operands: ``number`` of ``n`` elements, which the axes ``extents`` count."""

    number: int
    n: int
    extents: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    """Of each operand: how far rows lie apart along the axes."""
    along: tuple[int, ...]
    """Of each operand: how far neighbours in a row lie apart."""


def rows_of(axis: int, *operands: Operand) -> Rows:
    """The rows along an axis of operands of one shape.

    They are counted by one axis, or by three or more, so that there are few kernels to compile.
    """
    shape = operands[0].shape
    rest = shape[:axis] + shape[axis + 1 :]
    extents, steps = merged(rest, *[o.strides[:axis] + o.strides[axis + 1 :] for o in operands])
    if len(extents) == 2:
        extents, steps = (1, *extents), [(0, *own) for own in steps]
    return Rows(prod(extents), shape[axis], extents, tuple(steps), tuple(o.strides[axis] for o in operands))


def row_width(op: Operands, rows: Rows, *operands: Operand) -> int:
    """How many elements an access has, in all operands alike: of a CPU's wherever they begin."""
    if any(step != 1 for step in rows.along):
        return 1
    if op.threads_are_loops:
        return LANES
    widths = [o.lanes(rows.n, *steps) for o, steps in zip(operands, rows.steps, strict=True)]
    return min(widths)


def normalize(op: Operands, operation: Any, x: Operand, out: Operand, axis: int) -> None:
    """Launch what makes rows of ``out`` of the rows of ``x``; ``operation`` as the module has it."""
    if not x.size:
        return
    rows = rows_of(axis, x, out)
    width = row_width(op, rows, x, out)
    units = -(-rows.n // width)
    known: dict[str, Any] = {"operation": operation, "kind": written(accumulator(x.dtype)), "width": width}
    places = x, out, rows.number, rows.n, rows.extents, *rows.steps, *rows.along
    if op.threads_are_loops or units > THREADS * HELD:
        threads = 1 if op.threads_are_loops else THREADS
        op.launch(streamed, rows.number, threads, *places, threads=threads, each=STEP, **known)
        return
    if units <= 32 * HELD:
        threads, lanes = WARPS, 1 << min(5, (-(-units // 4) - 1).bit_length())
    else:
        threads = lanes = min(THREADS, -(-units // (32 * HELD)) * 32)
    each = -(-units // lanes)
    grid = -(-rows.number * lanes // threads)
    known |= {"threads": threads, "lanes": lanes, "each": each, "whole": units == each * lanes}
    op.launch(held, grid, threads, *places, **known)


def place(number: Any, extents: Any, steps: Any) -> Any:
    """Where the row of a number begins."""
    if len(extents) == 1:
        return number * steps[0]
    offset = Int(0)
    for extent, step in zip(reversed(extents), reversed(steps), strict=True):
        offset += number % extent * step
        number = number // extent
    return offset


def load(start: Any, at: Any, step: Any, width: int, kind: Any) -> Any:
    """Elements of a row from number ``at`` on, as those of the type in which is computed."""
    if width == 1:
        return start.load(at * step, width=1).cast(kind)
    return start.load(at, width=width, alignment=_alignment(start, width)).cast(kind)


def _alignment(start: Any, width: int) -> int:
    return start.dtype.itemsize * (1 if threads_are_loops() else width)


def store(start: Any, at: Any, step: Any, value: Any) -> None:
    """Write elements of a row from number ``at`` on."""
    value = value.cast(start.element_type)
    if value.lanes == 1:
        start[at * step] = value
    else:
        start.store(at, value, alignment=_alignment(start, value.lanes))


@kernel
def held(
    x: Pointer[Any],
    out: Pointer[Any],
    rows: Int,
    n: Int,
    extents: Any,
    x_steps: Any,
    out_steps: Any,
    x_step: Int,
    out_step: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    lanes: Comptime[int],
    each: Comptime[int],
    whole: Comptime[bool],
):
    """Rows whose elements ``lanes`` threads hold, ``each`` so many vectors."""
    row = block_idx.x * (threads // lanes) + thread_idx.x // lanes
    lane = thread_idx.x % lanes
    mine = least(row, rows - 1)
    source, target = x + place(mine, extents, x_steps), out + place(mine, extents, out_steps)
    ats = [(lane + i * lanes) * width for i in unroll(range(each))]
    there = [True if whole else at < n for at in ats]
    values = [load(source, least(at, n - width), x_step, width, kind) for at in ats]
    own, kept = operation.of(values, there, kind)
    if lanes > 32:
        all = block.reduce(own, operation.merge)
    else:
        all = warp.reduce(own, operation.merge, width=lanes)
    write = operation.writer(all, own)
    for i in unroll(range(each)):
        if row < rows and (whole or ats[i] < n):
            store(target, ats[i], out_step, write(kept[i], values[i]))


@kernel
def streamed(
    x: Pointer[Any],
    out: Pointer[Any],
    rows: Int,
    n: Int,
    extents: Any,
    x_steps: Any,
    out_steps: Any,
    x_step: Int,
    out_step: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    each: Comptime[int],
):
    """A row that a block goes along twice, ``each`` so many vectors of a thread at a time."""
    row = block_idx.x
    source, target = x + place(row, extents, x_steps), out + place(row, extents, out_steps)
    own = operation.empty(kind)
    end, step = n // width * width, threads * width
    for first in range(thread_idx.x * width, end, step * each):
        ats = [first + i * step for i in unroll(range(each))]
        values = [load(source, least(at, end - width), x_step, width, kind) for at in ats]
        own = operation.merge(own, operation.of(values, [at < end for at in ats], kind)[0])
    for at in range(end + thread_idx.x, n, threads):
        value = load(source, at, x_step, 1, kind)
        own = operation.merge(own, operation.of([value], [True], kind)[0])
    all = own if threads == 1 else block.reduce(own, operation.merge)
    for at in range(thread_idx.x * width, end, step):
        _write(operation, all, source, target, at, x_step, out_step, width=width, kind=kind)
    for at in range(end + thread_idx.x, n, threads):
        _write(operation, all, source, target, at, x_step, out_step, width=1, kind=kind)


@func
def _write(
    operation: Any,
    all: Any,
    source: Pointer[Any],
    target: Pointer[Any],
    at: Int,
    x_step: Int,
    out_step: Int,
    *,
    width: Comptime[int],
    kind: Comptime[Any],
):
    value = load(source, at, x_step, width, kind)
    own, kept = operation.of([value], [True], kind)
    store(target, at, out_step, operation.writer(all, own)(kept[0], value))
