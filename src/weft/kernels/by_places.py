"""Elements taken from places or put there on a CPU, where a thread does many of them, in their order."""

from __future__ import annotations

from typing import Any

from weft.gpu import block_idx
from weft.kernels.row_memory import begin
from weft.lang import Comptime, Int, Pointer, func, kernel
from weft.math import min as least

WIDE = 256
"""So many places are taken by a thread, and of a place so many elements are put."""


@func
def inside(place: Int, n: Int) -> Int:
    """A place, counted from the front."""
    found = place + n if place < 0 else place
    assert 0 <= found < n, "an index is outside of the axis"
    return found


@kernel
def taken_by_parts(
    x: Pointer[Any],
    indices: Pointer[Any],
    out: Pointer[Any],
    rows: Int,
    inner: Int,
    parts: Int,
    n: Int,
    steps: Any,
    *,
    bits: Comptime[Any],
):
    """A part of the places a thread."""
    before = block_idx.x // parts
    first = (block_idx.x - before * parts) * WIDE
    for row in range(first, least(first + WIDE, rows)):
        source = x.bitcast(bits) + (before * steps[0] + inside(Int(indices[row]), n) * steps[1])
        target = out.bitcast(bits) + (before * rows + row) * inner
        for part in range(inner):
            target[part] = source[part * steps[2]]


@kernel
def put_in_order(
    x: Pointer[Any],
    indices: Pointer[Any],
    values: Pointer[Any],
    steps: Any,
    each: Any,
    number: Int,
    n: Int,
    extents: Any,
    *,
    add: Comptime[bool],
):
    """A row a thread."""
    row = begin(x, steps[0], block_idx.x, extents)
    places, given = (begin(p, steps[i + 1], block_idx.x, extents) for i, p in enumerate((indices, values)))
    for k in range(number):
        at = inside(Int(places[k * each[1]]), n) * each[0]
        if add:
            row[at] += given[k * each[2]]
        else:
            row[at] = given[k * each[2]]


@kernel
def put_by_parts(
    indices: Pointer[Any],
    values: Pointer[Any],
    x: Pointer[Any],
    rows: Int,
    inner: Int,
    parts: Int,
    n: Int,
    steps: Any,
    *,
    add: Comptime[bool],
):
    """A part of all places a thread."""
    before, first = block_idx.x // parts, block_idx.x % parts * WIDE
    end = least(first + WIDE, inner)
    for row in range(rows):
        to = x + (before * steps[0] + inside(Int(indices[row]), n) * steps[1])
        given = values + (before * rows + row) * inner
        for part in range(first, end):
            if add:
                to[part * steps[2]] += given[part]
            else:
                to[part * steps[2]] = given[part]
