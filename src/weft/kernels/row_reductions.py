"""The kernels for results of rows, one for each, or for each part of a long one."""

from __future__ import annotations

from typing import Any

from weft.gpu import block, block_idx, thread_idx, warp
from weft.kernels.early import begin_early
from weft.kernels.row_kernels import added_to, along, line_of, of_chunks, stretch
from weft.kernels.row_memory import begin, store, type_of
from weft.lang import Comptime, Int, Pointer, func, kernel
from weft.lang.machine import threads_are_loops
from weft.math import min as least

PIECE = 4096
"""Elements that a CPU's thread goes through once for an extreme, and once more where it lies."""


@kernel
def reduced(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    more: Any,
    given: Any,
    rows: Int,
    n: Int,
    extents: Any,
    chunks: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    threads: Comptime[int],
    lanes: Comptime[int],
    each: Comptime[int],
    partial: Comptime[bool],
):
    """What ``lanes`` threads know of a row, or of a chunk of one."""
    begin_early()
    unit = block_idx.x * (threads // lanes) + thread_idx.x // lanes
    row, chunk = unit // chunks if partial else unit, unit % chunks if partial else Int(0)
    mine, shape = least(row, rows - 1), {"kind": kind, "width": width, "each": each}
    line = line_of(x, x_steps, x_step, more, mine, extents)
    if threads_are_loops() and lanes == 1 and hasattr(operation, "extreme"):
        all = _placed(operation, line, n, chunk, chunks, kind=kind, width=width)
    else:
        all = along(operation, line, thread_idx.x % lanes, n, chunk, chunks, threads=lanes, **shape)
    if lanes > 32:
        all = block.reduce(all, operation.merge)
    elif lanes > 1:
        all = warp.reduce(all, operation.merge, width=lanes)
    if thread_idx.x % lanes == 0 and row < rows:
        if partial:
            out.bitcast(type_of(all))[unit] = all
        else:
            store(begin(out, out_steps, row, extents), 0, 1, operation.result(all, n, given))


@func
def _placed(
    operation: Any, row: Any, n: Any, chunk: Any, chunks: Any, *, kind: Comptime[Any], width: Comptime[int]
) -> Any:
    """What a thread of a CPU knows of an extreme's place: it is looked for in pieces that go further."""
    extreme, best = operation.extreme, operation.empty(kind, 1)
    (source, more, steps), shape = row, {"kind": kind, "width": width}
    start, stop, pace = stretch(chunk, chunks, n, PIECE)
    for first in range(start, stop, pace):
        size = least(first + pace, stop) - first
        piece = source + first * steps[0], more, steps
        known = along(extreme, piece, 0, size, 0, 1, threads=1, each=extreme.each, **shape)
        merged = operation.merge(best, operation.state(known, first))
        if merged.place == first:
            best = operation.state(known, first + _place_of(known, piece, size, **shape))
    return best


@func
def _place_of(extreme: Any, row: Any, n: Any, *, kind: Comptime[Any], width: Comptime[int]) -> Any:
    """Where the first element lies that is as an extreme of the row is."""
    source, added, steps = row
    at, end, seen = Int(0), n // width * width, False
    while at < end and not seen:
        value = added_to(source, added, at, steps, width, kind)
        seen = ((value == extreme) | ((value != value) & (extreme != extreme))).any()
        if not seen:
            at += width
    while at < n - 1:
        value = added_to(source, added, at, steps, 1, kind)
        if (value == extreme) | ((value != value) & (extreme != extreme)):
            break
        at += 1
    return at


@kernel
def combined(
    states: Pointer[Any],
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
    given: Any,
    rows: Int,
    n: Int,
    extents: Any,
    chunks: Int,
    row_step: Int,
    chunk_step: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    lanes: Comptime[int],
):
    """What is known of the chunks of a row, joined by ``lanes`` threads."""
    begin_early()
    row, number = block_idx.x, thread_idx.x
    all = of_chunks(operation, states, row * row_step, chunk_step, number, lanes, chunks, kind=kind)
    if lanes > 1:
        all = warp.reduce(all, operation.merge, width=lanes)
    if number == 0:
        store(begin(out, out_steps, row, extents), 0, 1, operation.result(all, n, given))


@kernel
def fill(out: Pointer[Any], out_steps: Any, out_step: Int, value: Any, extents: Any):
    """A result where there are no elements."""
    store(begin(out, out_steps, block_idx.x, extents), 0, 1, value)
