"""The kernels for rows of neighbours in memory: what is known of a row, and what becomes of its elements."""

from __future__ import annotations

from typing import Any

from weft.gpu import block, block_idx, launch_bounds, thread_idx, warp
from weft.gpu.bulk import async_bulk_prefetch
from weft.kernels.row_memory import apart, begin, joined, load, store, together
from weft.lang import Comptime, Int, Pointer, func, kernel, unroll
from weft.lang.machine import threads_are_loops
from weft.math import min as least

RESIDENT = 1024
"""Threads of a multiprocessor that are to be there at once: each has 64 registers.

A norm with weights and biases of 16384 Float32 would have 72, and spills 16 bytes for it: with 72 there
would be half as many threads.
"""


def added_to(start: Any, more: Any, at: Any, steps: Any, width: int, kind: Any) -> Any:
    """Elements of a row, and those of a row that is added to it, if any."""
    value = load(start, at, steps[0], width, kind)
    return value if more is None else value + load(more, at, steps[1], width, kind)


def vector_of(memory: Any, at: Any, width: int, kind: Any) -> Any:
    """What the norms' elements are multiplied by, or what is added; None where there is none."""
    return None if memory is None else load(memory.start, at, 1, width, kind)


@kernel
def held(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    more: Any,
    total: Any,
    weight: Any,
    bias: Any,
    given: Any,
    rows: Int,
    n: Int,
    extents: Any,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    lanes: Comptime[int],
    each: Comptime[int],
    whole: Comptime[bool],
    ahead: Comptime[int],
):
    """Rows whose elements ``lanes`` threads hold, ``each`` so many vectors.

    A block that has a row of whole vectors asks for the one ``ahead``, which another reads soon: so memory
    does not rest while blocks compute.
    """
    launch_bounds(threads, RESIDENT // threads)
    if ahead > 0 and whole and lanes == threads:
        if (thread_idx.x == 0) & (block_idx.x + ahead < rows):
            async_bulk_prefetch(begin(x, x_steps, block_idx.x + ahead, extents), n)
    row = block_idx.x * (threads // lanes) + thread_idx.x // lanes
    mine = least(row, rows - 1)
    source, target = begin(x, x_steps, mine, extents), begin(out, out_steps, mine, extents)
    added = None if more is None else begin(more.start, more.steps, mine, extents)
    steps = x_step, None if more is None else more.step
    ats = [(thread_idx.x % lanes + i * lanes) * width for i in unroll(range(each))]
    there = [True if whole else at < n for at in ats]
    values = [added_to(source, added, least(at, n - width), steps, width, kind) for at in ats]
    places = [at + i for at in ats for i in range(width)]
    own, kept = operation.of(apart(values), [here for here in there for _ in range(width)], places)
    kept = together(kept, width)  # of what the thread knows as one, not lane by lane
    if lanes > 32:
        all = block.reduce(own, operation.merge)
    else:
        all = warp.reduce(own, operation.merge, width=lanes)
    write = operation.writer(all, own, n, given)
    for i in unroll(range(each)):
        if row < rows and (whole or ats[i] < n):
            if total is not None:
                store(begin(total.start, total.steps, mine, extents), ats[i], total.step, values[i])
            by, plus = vector_of(weight, ats[i], width, kind), vector_of(bias, ats[i], width, kind)
            store(target, ats[i], out_step, write(kept[i], by, plus))


@func
def _met(
    operation: Any,
    own: Any,
    row: Any,
    first: Any,
    step: Any,
    end: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    each: Comptime[int],
    whole: Comptime[bool],
) -> Any:
    """What is known, with ``each`` so many vectors more, of which those before ``end`` are there."""
    source, added, steps = row
    ats = [first + i * step for i in unroll(range(each))]
    values = [
        added_to(source, added, at if whole else least(at, end - width), steps, width, kind) for at in ats
    ]
    return operation.merge(own, operation.of(values, [True if whole else at < end for at in ats], ats)[0])


@func
def along(
    operation: Any,
    row: Any,
    thread: Any,
    n: Any,
    chunk: Any,
    chunks: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    each: Comptime[int],
) -> Any:
    """What a thread meets of a row whose pieces the chunks take in turns.

    ``row`` is where it begins, where that begins which is added to it, if anything, and their steps.
    """
    own = operation.empty(kind, width)
    step, piece, end = threads * width, threads * width * each, n // width * width
    whole = end // piece * piece
    place, shape = thread * width, {"kind": kind, "width": width, "each": each}
    for first in range(chunk * piece, whole, chunks * piece):
        own = _met(operation, own, row, first + place, step, end, whole=True, **shape)
    if whole < end and whole // piece % chunks == chunk:
        own = _met(operation, own, row, whole + place, step, end, whole=False, **shape)
    found = joined(operation, own)
    if threads_are_loops() and chunk == chunks - 1:
        for at in range(end, n):
            found = _met(operation, found, row, Int(at), 1, n, kind=kind, width=1, each=1, whole=True)
    return found


@kernel
def streamed(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    more: Any,
    total: Any,
    weight: Any,
    bias: Any,
    given: Any,
    rows: Int,
    n: Int,
    extents: Any,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    each: Comptime[int],
):
    """A row that a block goes along twice, ``each`` so many vectors of a thread at a time."""
    launch_bounds(threads)
    row = block_idx.x
    source, target = begin(x, x_steps, row, extents), begin(out, out_steps, row, extents)
    added = None if more is None else begin(more.start, more.steps, row, extents)
    line = source, added, (x_step, None if more is None else more.step)
    shape = {"kind": kind, "width": width}
    all = along(operation, line, thread_idx.x, n, 0, 1, threads=threads, each=each, **shape)
    if threads > 1:
        all = block.reduce(all, operation.merge)
    places = target, None if total is None else begin(total.start, total.steps, row, extents)
    paces = out_step, None if total is None else total.step
    known, end = (operation, all, line, places, paces, (weight, bias), given, n), n // width * width
    for at in range(thread_idx.x * width, end, threads * width):
        _written(*known, at, **shape)
    if threads_are_loops():
        for at in range(end, n):
            _written(*known, at, kind=kind, width=1)


@func
def _written(
    operation: Any,
    all: Any,
    row: Any,
    places: Any,
    to: Any,
    vectors: Any,
    given: Any,
    n: Any,
    at: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
):
    """The results of a vector's elements, when the row is known."""
    source, added, steps = row
    value = added_to(source, added, at, steps, width, kind)
    if places[1] is not None:
        store(places[1], at, to[1], value)
    own, kept = operation.of([value], [True], [at])
    write = operation.writer(all, own, n, given)
    by, plus = [vector_of(vector, at, width, kind) for vector in vectors]
    store(places[0], at, to[0], write(kept[0], by, plus))
