"""The kernels for results of rows, one for each, or for each part of a long one."""

from __future__ import annotations

from typing import Any

from weft.gpu import block, block_idx, thread_idx, warp
from weft.kernels.row_kernels import along, line_of, of_chunks
from weft.kernels.row_memory import begin, store, type_of
from weft.lang import Comptime, Int, Pointer, kernel
from weft.math import min as least


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
    unit = block_idx.x * (threads // lanes) + thread_idx.x // lanes
    row, chunk = unit // chunks if partial else unit, unit % chunks if partial else Int(0)
    mine, shape = least(row, rows - 1), {"kind": kind, "width": width, "each": each}
    line = line_of(x, x_steps, x_step, more, mine, extents)
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
