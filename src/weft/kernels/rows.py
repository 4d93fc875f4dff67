"""Rows, each of which needs to be known as a whole: how they are spread over threads.

A row is everything along an axis. An operation says what is to be known of it, lane by lane of vectors:

- ``empty(kind, lanes)``, of nothing;
- ``of(values, there, ats)``, of those vectors that are ``there``, which begin at the places ``ats``; and what
  a thread keeps of each until the row is known;
- ``merge(a, b)`` of two, where ``state`` is the class if that is a struct;
- ``result(all, n, given)``, what a reduction gives; or ``writer(all, own, n, given)``, a function that makes
  the results of elements: of what is kept, weights and biases.

Rows of neighbours in memory are known by lanes of a warp, from one to all 32, by a block, or by a cluster of
them: threads hold their elements in registers, so that memory is read once. Longer rows are read twice, by a
block that goes along them in steps. Rows that lie side by side, along an axis that is not the last, are known
by the threads of a block that read neighbours, each of other rows. Few long rows have several blocks for
each, whose parts a second kernel joins, in the same order each time.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, cast

from weft.dtype import DType, as_dtype
from weft.kernels import row_reductions, row_strips
from weft.kernels.operands import Operand, Operands
from weft.kernels.places import merged
from weft.lang.elements import element_type
from weft.lang.generic import written

THREADS, WARPS = 512, 128
"""A block's threads at most; those of a block of rows that have less than it."""
SUMMING, EACH, BESIDE = 512, 4, 8
"""A reduction's threads for one of few long rows at most; vectors on their way together, along and across."""
LANES, COLUMNS, CHUNK, TASKS = 16, 32, 1 << 15, 64
"""Elements of a CPU's vectors; columns that one of its tasks reduces; elements of a long row that it has at
least; such tasks at most."""
SECTOR, LONG = 32, 1 << 14
"""Bytes of memory that are read together; elements of rows whose parts are worth a second kernel."""


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
    itemsize: int
    """Bytes of an element of the first operand."""


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
    apart = op.threads_are_loops if n == 1 else along[0] != 1
    beside = apart and steps[0][-1] == 1 and extents[-1] > 1
    width = 1
    near = [own[-1] for own in steps] if beside else along
    if all(step == 1 for step in near[:vectors]):
        length = extents[-1] if beside else n
        far = [(*own[:-1], step) if beside else own for own, step in zip(steps, along, strict=True)]
        width = min([o.lanes(length, *own) for o, own in zip(there, far[:vectors], strict=False)])
        if op.threads_are_loops:
            width = min(COLUMNS if beside and vectors == 1 else LANES, 1 << max(1, length).bit_length() - 1)
            if beside and vectors > 1 and length % width and len({o.address for o in there}) < len(there):
                width = 1  # strips that overlap would read what others have written
    if beside and not op.threads_are_loops:
        width = min(width, 4)  # as threads share what they know
    if len(extents) == 2:
        extents, steps = (1, *extents), [(0, *own) for own in steps]
    made = iter([(o.memory, own, step) for o, own, step in zip(there, steps, along, strict=True)])
    lines = tuple(None if o is None else next(made) for o in operands)
    return Rows(prod(extents), n, extents, lines, width, beside, x.dtype.itemsize)


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
    target = rows.lines[1]
    known: dict[str, Any] = {"operation": operation, "kind": written(kind)}
    empty = operation.empty(written(kind), 1)
    if not rows.n:
        value = operation.result(empty, 0, given)
        op.launch(row_reductions.fill, rows.number, 1, *target, value, rows.extents)
        return
    plan = across(op, rows, operation.each) if rows.beside else _along(op, operation, rows)
    if plan.chunks == 1:
        _launch(op, plan, rows, target, None, given, known)
        return
    states = parts(op, operation, plan, rows, None, given, known)
    steps = (1, rows.number) if rows.beside else (plan.chunks, 1)
    lanes = 1 if op.threads_are_loops else 32
    arguments = states, *target, given, rows.number, rows.n, rows.extents, plan.chunks, *steps
    op.launch(row_reductions.combined, rows.number, lanes, *arguments, lanes=lanes, early=True, **known)


def parts(
    op: Operands, operation: Any, plan: Plan, rows: Rows, more: Any, given: Any, known: dict[str, Any]
) -> Any:
    """Launch what finds out about the chunks of rows; the memory in which that will be.

    ``more`` is the ``Line`` of what is added to the rows, if anything.
    """
    empty = operation.empty(known["kind"], 1)
    room = rows.number * plan.chunks * element_type(cast("type[Any]", type(empty))).itemsize
    states = op.scratch(room, as_dtype("uint8")).memory
    _launch(op, plan, rows, (states, rows.lines[0][1], 1), more, given, known)
    return states


def _launch(
    op: Operands, plan: Plan, rows: Rows, to: tuple[Any, ...], more: Any, given: Any, known: dict[str, Any]
) -> None:
    counts, partial = (rows.number, rows.n, rows.extents), plan.chunks > 1
    if rows.beside:
        known = known | {"way": "part" if partial else "result"}
        rest = None, None, None, given, *counts, None
    else:
        known, rest = known | {"partial": partial}, (given, *counts)
    places = *rows.lines[0], *to, more, *rest, plan.chunks
    op.launch(plan.kernel, plan.grid, plan.block, *places, early=not rows.beside, **plan.known, **known)


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
        chunks = chunks_of(op, rows.number, rows.n, 4 * threads * each * rows.width)
    grid = -(-rows.number * chunks * lanes // threads)
    known = {"threads": threads, "lanes": lanes, "each": each, "width": rows.width}
    return Plan(row_reductions.reduced, grid, threads, chunks, known)


def across(op: Operands, rows: Rows, each: int) -> Plan:
    """Rows that lie side by side; ``each`` as along them."""
    each = max(2, BESIDE * each // EACH)
    if op.threads_are_loops:
        beside = deep = 1
        strips = rows.number // rows.extents[-1] * -(-rows.extents[-1] // rows.width)
        chunks = chunks_of(op, strips, rows.n, 8 * each)
    else:
        beside, deep, strips, chunks = _spread(op, rows, each)
    known = {"across": beside, "deep": deep, "each": each, "width": rows.width}
    known["overlap"] = op.threads_are_loops
    return Plan(row_strips.down, strips * chunks, (beside, deep), chunks, known)


def _spread(op: Operands, rows: Rows, each: int) -> tuple[int, int, int, int]:
    """A GPU's threads side by side and one behind the other, of a block, the strips of rows, and their parts.

    Fewer are side by side where a quarter of the device had nothing to do otherwise, or by the parts of short
    rows alone, which a second kernel would have to join; but they read whole sectors.
    """
    vectors, size = -(-rows.number // rows.width), rows.width * rows.itemsize
    busy = 3 * op.context.info.multiprocessors // 4
    alone = rows.n < LONG and vectors * size >= 2 * SECTOR * busy
    beside = min(row_strips.ACROSS, 1 << (vectors - 1).bit_length())
    while True:
        deep = min(THREADS // beside, 1 << max(0, (-(-rows.n // each) - 1).bit_length()))
        strips = -(-vectors // beside)
        chunks = chunks_of(op, strips, rows.n, 8 * deep * each)
        if beside * size <= SECTOR or (strips if alone else strips * chunks) >= busy:
            return beside, deep, strips, chunks
        beside //= 2


def chunks_of(op: Operands, blocks: int, n: int, least: int) -> int:
    """In how many parts rows are cut, so that all of the device is busy; each has so many elements at least.

    A CPU's are the same whatever number of cores it has.
    """
    if op.threads_are_loops:
        return 1 if blocks >= TASKS else max(1, min(TASKS, n // CHUNK))
    return max(1, min(n // least, 2 * op.context.info.multiprocessors // blocks))
