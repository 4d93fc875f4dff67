"""Elements taken from places or put there on a CPU, where a thread does many of them, in their order."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from weft.gpu import block_idx
from weft.kernels.operands import Operand, Operands
from weft.kernels.row_memory import begin
from weft.lang import Comptime, Int, Pointer, func, iota, kernel
from weft.math import min as least

WIDE, TAKEN = 256, 1 << 12
"""Of a place so many elements are put by a thread; so many are taken at most."""
LANES = 16
"""Places that are looked at together."""


class Places(NamedTuple):
    """An axis of ``n`` places, ``outer`` elements before and ``inner`` behind, and how far each lie apart."""

    outer: int
    n: int
    inner: int
    steps: tuple[int, int, int]


def take_by_loops(
    op: Operands, x: Operand, numbers: Operand, made: Operand, source: Places, rows: int
) -> None:
    """Launch what takes elements or more by ``rows`` so many numbers."""
    first, step, last = source.steps
    if source.inner == 1:
        lines = (x, (first, 0)), (numbers, (0, 1)), (made, (rows, 1))
        take_in_rows(op, lines, (source.outer, rows), source.n, step, x.bits)
        return
    each = max(1, TAKEN // source.inner)
    parts = -(-rows // each)
    width = 1 if last != 1 else min(64 // x.dtype.itemsize, 1 << source.inner.bit_length() - 1)
    arguments = x, numbers, made, rows, source.inner, each, parts, source.n, source.steps
    op.launch(taken_by_parts, source.outer * parts, 1, *arguments, bits=x.bits, width=width)


def take_in_rows(op: Operands, lines: Any, extents: tuple[int, ...], n: int, along: int, bits: Any) -> None:
    """What a CPU takes element by element, of ``n`` places that lie ``along`` so far apart."""
    if len(extents) == 1:
        extents, lines = (1, *extents), [(o, (0, *steps)) for o, steps in lines]
    others, rows, number = extents[:-2] or (1,), extents[-2], extents[-1]
    each, chunks = max(1, TAKEN // number), -(-number // TAKEN)
    groups = -(-rows // each)
    places = [part for o, steps in lines for part in (o, steps[:-2] or (0,), steps[-2:])]
    lanes = LANES if all(steps[-1] == 1 for _, steps in lines[1:]) else 1
    sizes = rows, number, each, groups, chunks, n, along, others
    op.launch(taken_in_rows, prod(others) * groups * chunks, 1, *places, *sizes, bits=bits, lanes=lanes)


@func
def inside(index: Any, n: Int) -> Int:
    """A place, counted from the front; of unsigned ones none is counted from the end."""
    place = Int(index)
    found = place + n if place < 0 and index.dtype.kind != "uint" else place
    assert 0 <= found < n, "an index is outside of the axis"
    return found


@func
def _all_inside(indices: Any, n: Int) -> Any:
    """Places of several lanes, counted from the front."""
    places = indices.cast(Int)
    found = (places < 0).select(places + n, places) if indices.dtype.kind != "uint" else places
    assert ((found >= 0) & (found < n)).all(), "an index is outside of the axis"
    return found


@kernel
def taken_by_parts(
    x: Pointer[Any],
    indices: Pointer[Any],
    out: Pointer[Any],
    rows: Int,
    inner: Int,
    each: Int,
    parts: Int,
    n: Int,
    steps: Any,
    *,
    bits: Comptime[Any],
    width: Comptime[int],
):
    """``each`` so many places a thread, of whose inner part the last vector may begin in the one before."""
    before, first, itemsize = block_idx.x // parts, block_idx.x % parts * each, bits.dtype.itemsize
    for row in range(first, least(first + each, rows)):
        source = x.bitcast(bits) + (before * steps[0] + inside(indices[row], n) * steps[1])
        target = out.bitcast(bits) + (before * rows + row) * inner
        if width == 1:
            for part in range(inner):
                target[part] = source[part * steps[2]]
        else:
            for part in range(0, inner - width, width):
                target.store(part, source.load(part, width=width, alignment=itemsize), alignment=itemsize)
            last = source.load(inner - width, width=width, alignment=itemsize)
            target.store(inner - width, last, alignment=itemsize)


@kernel
def taken_in_rows(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Any,
    indices: Pointer[Any],
    steps: Any,
    step: Any,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Any,
    rows: Int,
    number: Int,
    each: Int,
    groups: Int,
    chunks: Int,
    n: Int,
    along: Int,
    extents: Any,
    *,
    bits: Comptime[Any],
    lanes: Comptime[int],
):
    """An element for each place of some rows, or of a part of a long one: ``lanes`` at a time."""
    part, first = block_idx.x // chunks, block_idx.x % chunks * TAKEN
    batch, top, end = part // groups, part % groups * each, least(number, first + TAKEN)
    sources, places = begin(x.bitcast(bits), x_steps, batch, extents), begin(indices, steps, batch, extents)
    targets = begin(out.bitcast(bits), out_steps, batch, extents)
    for row in range(top, least(rows, top + each)):
        source, place, target = sources + row * x_step[0], places + row * step[0], targets + row * out_step[0]
        whole = first
        if lanes > 1:
            whole = first + (end - first) // lanes * lanes
            for at in range(first, whole, lanes):
                found = place.load(at, width=lanes, alignment=place.dtype.itemsize)
                offsets = _all_inside(found, n) * along + (iota(Int, lanes) + at) * x_step[1]
                target.store(at, source.gather(offsets), alignment=bits.dtype.itemsize)
        for at in range(whole, end):
            found = inside(place[at * step[1]], n)
            target[at * out_step[1]] = source[found * along + at * x_step[1]]


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
    kind: Comptime[Any],
    add: Comptime[bool],
):
    """A row a thread."""
    row, places = (begin(p, steps[i], block_idx.x, extents) for i, p in enumerate((x.bitcast(kind), indices)))
    given = begin(values.bitcast(kind), steps[2], block_idx.x, extents)
    for k in range(number):
        at = inside(places[k * each[1]], n) * each[0]
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
    kind: Comptime[Any],
    add: Comptime[bool],
):
    """A part of all places a thread."""
    before, first = block_idx.x // parts, block_idx.x % parts * WIDE
    end = least(first + WIDE, inner)
    for row in range(rows):
        to = x.bitcast(kind) + (before * steps[0] + inside(indices[row], n) * steps[1])
        given = values.bitcast(kind) + (before * rows + row) * inner
        for part in range(first, end):
            if add:
                to[part * steps[2]] += given[part]
            else:
                to[part * steps[2]] = given[part]
