"""The kernels for rows of neighbours in memory: what is known of a row, and what becomes of its elements."""

from __future__ import annotations

from typing import Any, cast

from weft.gpu import (
    block,
    block_idx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    launch_bounds,
    map_shared_rank,
    thread_idx,
    warp,
)
from weft.gpu.bulk import async_bulk_prefetch
from weft.kernels.early import begin_early
from weft.kernels.row_memory import apart, begin, behind, by_pairs, joined, load, store, together, type_of
from weft.lang import Comptime, Int, Pointer, func, iota, kernel, unroll
from weft.lang.machine import threads_are_loops
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

RESIDENT = 1024
"""Threads of a multiprocessor that are to be there at once: each has 64 registers.

A norm with weights and biases of 16384 Float32 would have 72, and spills 16 bytes for it: with 72 there
would be half as many threads.
"""


def added_to(start: Any, more: Any, at: Any, steps: Any, width: int, kind: Any) -> Any:
    """Elements of a row, and those of a row that is added to it, if any."""
    value = load(start, at, steps[0], width, kind)
    return value if more is None else value + load(more, at, steps[1], width, kind)


def line_of(x: Any, steps: Any, step: Any, more: Any, row: Any, extents: Any) -> Any:
    """Where a row begins, where that begins which is added to it, if anything, and their steps."""
    added = None if more is None else begin(more.start, more.steps, row, extents)
    return begin(x, steps, row, extents), added, (step, None if more is None else more.step)


def vector_of(memory: Any, at: Any, width: int, kind: Any, aligned: bool = True) -> Any:
    """What the norms' elements are multiplied by, or what is added; None where there is none."""
    return None if memory is None else load(memory.start, at, 1, width, kind, aligned)


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
    blocks: Comptime[int],
    shifted: Comptime[bool],
):
    """Rows whose elements ``lanes`` threads hold, ``each`` so many vectors; or those of a cluster's blocks.

    A block that has a row asks for the one ``ahead``, which another reads soon: so memory does not rest while
    blocks compute. Rows that are ``shifted`` begin and end between vectors: the first threads also have one
    each of the elements before the first whole vector and behind the last.
    """
    launch_bounds(threads, RESIDENT // threads)
    begin_early()
    if blocks > 1:
        row, first = block_idx.x // blocks, block_idx.x % blocks * (threads * each)
    else:
        row, first = block_idx.x * (threads // lanes) + thread_idx.x // lanes, Int(0)
    if ahead > 0 and lanes == threads:
        own = least(n - first * width, threads * each * width)
        if (thread_idx.x == 0) & (row + ahead < rows) & (own > 0):
            async_bulk_prefetch(begin(x, x_steps, row + ahead, extents) + first * width, own)
    mine, thread = least(row, rows - 1), first + thread_idx.x % lanes
    source, added, steps = line_of(x, x_steps, x_step, more, mine, extents)
    target = begin(out, out_steps, mine, extents)
    edge, end = _vectors(source, n, width) if shifted else (Int(0), n)
    ats = [edge + (thread + i * lanes) * width for i in unroll(range(each))]
    there = [True if whole else at < end for at in ats]
    values = [added_to(source, added, least(at, end - width), steps, width, kind) for at in ats]
    parts, exist = apart(values), [here for here in there for _ in range(width)]
    places = [at + i for at in ats for i in range(width)]
    if shifted:
        ats.append((thread < edge).select(thread, end - edge + thread))
        there.append(ats[each] < n)
        values.append(added_to(source, added, least(ats[each], n - 1), steps, 1, kind))
        parts, exist, places = parts + values[each:], exist + there[each:], places + ats[each:]
    own, kept = operation.of(parts, exist, places)
    held = each * width
    kept = together(kept[:held], width) + kept[held:]  # of what the thread knows as one, not lane by lane
    if lanes > 32:
        all = block.reduce(own, operation.merge)
    else:
        all = warp.reduce(own, operation.merge, width=lanes)
    if blocks > 1:
        all = _over_cluster(operation, all, blocks=blocks)
    write = operation.writer(all, own, n, given)
    for at, here, value, keeps in zip(ats, there, values, kept, strict=True):
        if row < rows and here:
            if total is not None:
                store(begin(total.start, total.steps, mine, extents), at, total.step, value)
            by, plus = [vector_of(vector, at, value.lanes, kind, not shifted) for vector in (weight, bias)]
            store(target, at, out_step, write(keeps, by, plus))
    if blocks > 1:
        cluster_wait()


def _vectors(source: Any, n: Any, width: int) -> Any:
    """Where the first whole vector of a row begins in memory, and where the last ends."""
    edge = -(Int(source) // source.dtype.itemsize) & (width - 1)
    return edge, n - ((n - edge) & (width - 1))


@func
def _over_cluster(operation: Any, own: Any, *, blocks: Comptime[int]) -> Any:
    """What the blocks of a cluster know together, each in the same order. They end by ``cluster_wait``."""
    mine = stack_allocation(type_of(own), 1, address_space=AddressSpace.SHARED)
    if thread_idx.x == 0:
        mine[0] = own
    cluster_sync()
    all = by_pairs(operation.merge, [map_shared_rank(mine, rank)[0] for rank in range(blocks)])
    cluster_arrive()  # no block ends while another reads its memory
    return all


def stretch(chunk: Any, chunks: Any, end: Any, piece: Any) -> Any:
    """Where a chunk's pieces begin and end, and how far they lie apart.

    Blocks of a GPU take them in turns, so that they read what lies near; those of a CPU have neighbours.
    """
    if threads_are_loops():
        own = -(-end // (piece * chunks)) * piece
        return chunk * own, least((chunk + 1) * own, end), piece
    return chunk * piece, end, chunks * piece


@func
def of_chunks(
    operation: Any,
    states: Any,
    first: Any,
    step: Any,
    begins: Any,
    pace: Any,
    chunks: Any,
    *,
    kind: Comptime[Any],
) -> Any:
    """What is known of a row's chunks, from number ``begins`` on, every ``pace``."""
    all = operation.empty(kind, 1)
    parts = states.bitcast(type_of(all)) + first
    for chunk in range(begins, chunks, pace):
        all = operation.merge(all, parts[chunk * step])
    return all


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
    return behind(operation, own, operation.of(values, [True if whole else at < end for at in ats], ats)[0])


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
    start, stop, pace = stretch(chunk, chunks, whole, piece)
    for first in range(start, stop, pace):
        own = _met(operation, own, row, first + place, step, end, whole=True, **shape)
    if threads_are_loops() and threads == 1:
        if chunk == chunks - 1:
            for at in range(whole, end, width):
                own = _met(operation, own, row, at, step, end, kind=kind, width=width, each=1, whole=True)
            if end < n:  # by a vector that begins among those before
                last = n - width
                value = added_to(row[0], row[1], last, row[2], width, kind)
                own = behind(
                    operation, own, operation.of([value], [iota(Int, width) + last >= end], [last])[0]
                )
    elif whole < end and whole // piece % chunks == chunk:
        own = _met(operation, own, row, whole + place, step, end, whole=False, **shape)
    return joined(operation, own)


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
    states: Any,
    chunks: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    each: Comptime[int],
):
    """A row that a block goes along twice, ``each`` so many vectors of a thread at a time; or one of the
    chunks of a row, where ``states`` say what is known of all of them.
    """
    launch_bounds(threads)
    begin_early()
    row, chunk = (block_idx.x, Int(0)) if states is None else (block_idx.x // chunks, block_idx.x % chunks)
    line, target = line_of(x, x_steps, x_step, more, row, extents), begin(out, out_steps, row, extents)
    shape = {"kind": kind, "width": width}
    if states is None:
        all = along(operation, line, thread_idx.x, n, 0, 1, threads=threads, each=each, **shape)
    else:
        parts = states.start, row * chunks, 1
        all = of_chunks(operation, *parts, thread_idx.x, threads, chunks, kind=kind)
    if threads > 1:
        all = block.reduce(all, operation.merge)
    places = target, None if total is None else begin(total.start, total.steps, row, extents)
    paces = out_step, None if total is None else total.step
    known, end = (operation, all, line, places, paces, (weight, bias), given, n), n // width * width
    step, many = threads * width, 1 if threads_are_loops() else each
    start, stop, pace = stretch(chunk, 1 if states is None else chunks, end, step * many)
    last, rest = n - width, cast("Any", None)
    if threads_are_loops():  # the last vector begins among others, which may be written over what is read
        rest = added_to(line[0], line[1], last, line[2], width, kind)
    for at in range(start + thread_idx.x * width, stop, pace):
        _written(*known, at, step, end, each=many, **shape)
    if threads_are_loops() and end < n:
        if states is None:
            _put(operation, all, places, paces, (weight, bias), given, n, last, rest, kind)
        elif chunk == chunks - 1:  # where others may have elements before
            for at in range(end, n):
                _written(*known, at, 1, n, kind=kind, width=1, each=1)


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
    first: Any,
    step: Any,
    end: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    each: Comptime[int],
):
    """The results of the elements of ``each`` so many vectors, when the row is known."""
    source, added, steps = row
    ats = [first + i * step for i in unroll(range(each))]
    values = [
        added_to(source, added, at if each == 1 else least(at, end - width), steps, width, kind) for at in ats
    ]
    for at, value in zip(ats, values, strict=True):
        if each == 1 or at < end:
            _put(operation, all, places, to, vectors, given, n, at, value, kind)


def _put(
    operation: Any,
    all: Any,
    places: Any,
    to: Any,
    vectors: Any,
    given: Any,
    n: Any,
    at: Any,
    value: Any,
    kind: Any,
) -> None:
    """Write the results of a vector of elements."""
    if places[1] is not None:
        store(places[1], at, to[1], value)
    own, kept = None, value
    if not threads_are_loops():
        own, (kept,) = operation.of([value], [True], [at])
    by, plus = [vector_of(vector, at, value.lanes, kind) for vector in vectors]
    store(places[0], at, to[0], operation.writer(all, own, n, given)(kept, by, plus))
