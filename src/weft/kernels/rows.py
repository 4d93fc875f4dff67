"""Rows, each of which needs to be known as a whole: how they are spread over threads.

A row is everything along an axis. An operation says what is to be known of it, lane by lane of vectors:

- ``empty(kind, lanes)``, of nothing;
- ``of(values, there, ats)``, of those vectors that are ``there``, which begin at the places ``ats``; and what
  a thread keeps of each until the row is known;
- ``merge(a, b)`` of two, where ``state`` is the class if that is a struct;
- ``result(all, n, given)``, what a reduction gives; or ``writer(all, own, n, given)``, a function that makes
  the results of elements: of what is kept, weights and biases.

Rows of neighbours in memory are known by lanes of a warp, from one to all 32, or by a block: threads hold
their elements in registers, so that memory is read once. Longer rows are read twice, by a block that goes
along them in steps. Rows that lie side by side, along an axis that is not the last, are known by the threads
of a block that read neighbours, each of other rows. A reduction of few long rows has several blocks for each,
whose parts a second kernel joins, in the same order each time.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, cast

from weft.algorithm.elements import Memory
from weft.dtype import DType, as_dtype
from weft.kernels import row_kernels, row_reductions, row_strips
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.places import merged
from weft.kernels.row_memory import Line
from weft.lang.elements import element_type
from weft.lang.generic import written

THREADS, WARPS, HELD = 512, 128, 128
"""A block's threads at most; those of a block of rows that have less than it; bytes that a thread holds."""
SUMMING, EACH, BESIDE = 512, 4, 8
"""A reduction's threads for one of few long rows at most; vectors on their way together, along and across."""
AHEAD = 8
"""Rows of 4-byte elements are asked for early by so many times fewer than there are blocks at once, and more
of shorter ones: on an H200 softmax of 16384² Float32 goes from 4126 to 4218 GB/s with 6 to 32, with 2 to
3890; layer norm of BFloat16 from 4080 with 24 to 4173 with 8."""
LANES, CHUNK, TASKS = 16, 1 << 15, 64
"""Elements of a CPU's vectors; those of a long row that a task of a CPU has at least; such tasks at most."""


class Rows(NamedTuple):
    """Rows of some operands: ``number`` of ``n`` elements, which the axes ``extents`` count."""

    number: int
    n: int
    extents: tuple[int, ...]
    lines: tuple[Any, ...]
    """Of each operand the three parts of its ``Line``, or None."""
    width: int
    """How many elements an access has, in all operands alike."""
    beside: bool
    """Whether neighbours in memory are of different rows."""


def rows_of(op: Operands, axis: int, *operands: Operand | None, vectors: int = 4) -> Rows:
    """The rows along an axis of operands of one shape, the first ``vectors`` of which are read by vectors.

    They are counted by one axis, or by three or more, so that there are few kernels to compile.
    """
    there = [o for o in operands if o is not None]
    x, n = there[0], there[0].shape[axis]
    order = sorted((k for k in range(len(x.shape)) if k != axis), key=lambda k: -x.strides[k])
    shape, strides = tuple(x.shape[k] for k in order), [tuple(o.strides[k] for k in order) for o in there]
    extents, steps = merged(shape, *strides)
    along = [o.strides[axis] for o in there]
    beside = along[0] != 1 and n > 1 and steps[0][-1] == 1 and extents[-1] > 1
    width = 1
    near = [own[-1] for own in steps] if beside else along
    if all(step == 1 for step in near[:vectors]):
        length = extents[-1] if beside else n
        far = [(*own[:-1], step) if beside else own for own, step in zip(steps, along, strict=True)]
        width = min([o.lanes(length, *own) for o, own in zip(there, far[:vectors], strict=False)])
        if op.threads_are_loops:
            width = LANES if not beside or length % LANES == 0 else 1
    width = min(width, 4) if beside else width  # as threads share what they know
    if len(extents) == 2:
        extents, steps = (1, *extents), [(0, *own) for own in steps]
    made = iter([(o.memory, own, step) for o, own, step in zip(there, steps, along, strict=True)])
    lines = tuple(None if o is None else next(made) for o in operands)
    return Rows(prod(extents), n, extents, lines, width, beside)


def normalize(
    op: Operands,
    operation: Any,
    x: Operand,
    out: Operand,
    axis: int,
    *,
    more: Operand | None = None,
    total: Operand | None = None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    given: Any = None,
) -> None:
    """Launch what makes rows of ``out`` of the rows of ``x``.

    Args:
        op: the call.
        operation: as the module has it.
        x: what is read.
        out: what is written; it may be ``x``.
        axis: along which rows lie.
        more: what is added to ``x`` before.
        total: where the sum goes.
        weight: for the operation's writer, a number for each place of a row.
        bias: likewise.
        given: what else the operation is given.
    """
    if not x.size:
        return
    rows = rows_of(op, axis, x, out, more, total)
    width = rows.width
    if not op.threads_are_loops and not rows.beside:
        width = min([width, *[o.lanes() for o in (weight, bias) if o is not None]])
    units, each = -(-rows.n // width), HELD // accumulator(x.dtype).itemsize // width
    source, target, *others = rows.lines
    added = [None if other is None else Line(*other) for other in others]
    vectors = [None if o is None else Memory(o.memory) for o in (weight, bias)]
    places = *source, *target, *added, *vectors, given, rows.number, rows.n, rows.extents
    known: dict[str, Any] = {"operation": operation, "kind": written(accumulator(x.dtype)), "width": width}
    if rows.beside:
        across, deep = _depth(op, rows.n)
        known |= {"across": across, "deep": deep, "each": EACH, "way": "rows"}
        op.launch(row_strips.down, -(-rows.number // (across * width)), (across, deep), *places, 1, **known)
    elif op.threads_are_loops or units > THREADS * each:
        wide = width * accumulator(x.dtype).itemsize > 16 or accumulator(x.dtype).itemsize > 4
        threads = 1 if op.threads_are_loops else THREADS if wide else 2 * THREADS
        op.launch(row_kernels.streamed, rows.number, threads, *places, threads=threads, each=EACH, **known)
    else:
        threads, lanes = WARPS, 1 << min(5, (-(-units // 4) - 1).bit_length())
        if units > 32 * each:
            threads = lanes = -(-units // (32 * each)) * 32
        each = -(-units // lanes)
        known |= {"threads": threads, "lanes": lanes, "each": each, "whole": units == each * lanes}
        blocks = op.context.info.multiprocessors * (row_kernels.RESIDENT // threads)
        size = x.dtype.itemsize
        known["ahead"] = blocks * 4 // (AHEAD * size) if width * size % 16 == 0 else 0
        op.launch(row_kernels.held, -(-rows.number * lanes // threads), threads, *places, **known)


class Plan(NamedTuple):
    """How a reduction is launched."""

    kernel: Any
    grid: int
    block: int | tuple[int, int]
    chunks: int
    known: dict[str, Any]
    """Compile-time parameters."""


def reduce(
    op: Operands, operation: Any, x: Operand, out: Operand, axis: int, kind: DType, given: Any = None
) -> None:
    """Launch what makes an element of ``out`` of each row of ``x``.

    Args:
        op: the call.
        operation: as the module has it.
        x: what is read.
        out: what is written, which has the axis too, of one element.
        axis: along which rows lie. What ``operation`` gives of nothing is written where they have no element.
        kind: the type in which is computed.
        given: what else the operation is given.
    """
    if not out.size:
        return
    flat = tuple(0 if n == axis else step for n, step in enumerate(out.strides))
    rows = rows_of(op, axis, x, out.seen(x.shape, flat), vectors=1)
    source, target = rows.lines
    known: dict[str, Any] = {"operation": operation, "kind": written(kind)}
    empty = operation.empty(written(kind), 1)
    if not rows.n:
        value = operation.result(empty, 0, given)
        op.launch(row_reductions.fill, rows.number, 1, *target, value, rows.extents)
        return
    plan = (_beside if rows.beside else _along)(op, operation, rows)
    to, where = target, rows.extents
    if plan.chunks > 1:
        room = rows.number * plan.chunks * element_type(cast("type[Any]", type(empty))).itemsize
        to = op.scratch(room, as_dtype("uint8")).memory, target[1], 1
    if rows.beside:
        way = "part" if plan.chunks > 1 else "result"
        arguments = *source, *to, None, None, None, None, given, rows.number, rows.n, where, plan.chunks
        op.launch(plan.kernel, plan.grid, plan.block, *arguments, way=way, **plan.known, **known)
    else:
        arguments = *source, *to, given, rows.number, rows.n, where, plan.chunks
        partial = plan.chunks > 1
        op.launch(plan.kernel, plan.grid, plan.block, *arguments, partial=partial, **plan.known, **known)
    if plan.chunks > 1:
        steps = (1, rows.number) if rows.beside else (plan.chunks, 1)
        lanes = 1 if op.threads_are_loops else 32
        arguments = to[0], *target, given, rows.number, rows.n, where, plan.chunks, *steps
        op.launch(row_reductions.combined, rows.number, lanes, *arguments, lanes=lanes, **known)


def _along(op: Operands, operation: Any, rows: Rows) -> Plan:
    """A reduction of rows of neighbours."""
    units, each = -(-rows.n // rows.width), operation.each
    threads = lanes = 1
    if not op.threads_are_loops:
        threads, lanes = WARPS, 1 << min(5, (-(-units // operation.short) - 1).bit_length())
        if units > 2 * each * 32:
            many = rows.number >= 4 * op.context.info.multiprocessors
            threads = lanes = min(operation.threads if many else SUMMING, -(-units // (32 * each)) * 32)
        else:
            each = operation.short
    chunks = 1
    if lanes == threads:
        chunks = _chunks(op, rows.number, rows.n, 4 * threads * each * rows.width)
    grid = -(-rows.number * chunks * lanes // threads)
    known = {"threads": threads, "lanes": lanes, "each": each, "width": rows.width}
    return Plan(row_reductions.reduced, grid, threads, chunks, known)


def _beside(op: Operands, operation: Any, rows: Rows) -> Plan:
    """A reduction of rows that lie side by side."""
    each = max(2, BESIDE * operation.each // EACH)
    block = across, deep = _depth(op, rows.n)
    strips = -(-rows.number // (across * rows.width))
    chunks = _chunks(op, strips, rows.n, 8 * deep * each)
    known = {"across": across, "deep": deep, "each": each, "width": rows.width}
    return Plan(row_strips.down, strips * chunks, block, chunks, known)


def _depth(op: Operands, n: int) -> tuple[int, int]:
    """The threads of a block side by side, and one behind the other, for rows that lie side by side."""
    if op.threads_are_loops:
        return 1, 1
    return row_strips.ACROSS, 1 << max(0, min(4, (-(-n // EACH) - 1).bit_length()))


def _chunks(op: Operands, blocks: int, n: int, least: int) -> int:
    """In how many parts rows are cut, so that all of the device is busy; each has so many elements at least.

    A CPU's are the same whatever number of cores it has.
    """
    if op.threads_are_loops:
        return 1 if blocks >= TASKS else max(1, min(TASKS, n // CHUNK))
    return max(1, min(n // least, 2 * op.context.info.multiprocessors // blocks))
