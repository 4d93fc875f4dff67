"""The kernel for rows that lie side by side, along an axis that is not the last in memory."""

from __future__ import annotations

from typing import Any

from weft.gpu import barrier, block_idx, thread_idx
from weft.kernels.row_kernels import line_of, of_chunks, stretch
from weft.kernels.row_memory import as_lanes, begin, behind, lane, load, store, type_of
from weft.lang import Comptime, Int, Pointer, func, iota, kernel, unroll
from weft.lang.machine import threads_are_loops
from weft.math import ceildiv
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

ACROSS = 32
"""Threads side by side."""


@kernel
def down(
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
    across: Comptime[int],
    deep: Comptime[int],
    each: Comptime[int],
    overlap: Comptime[bool],
    way: Comptime[str],
):
    """Rows that lie side by side: ``across`` threads have ``width`` of them each, ``deep`` go along them.

    Then the threads of a row join what they know, as a tree in shared memory. ``way`` says what becomes of
    that: ``"part"`` of the rows' chunks, ``"result"``, or what ``"rows"`` are made of it. Where ``states``
    say what is known of the chunks, they join these. Where strips ``overlap``, the last of a line in memory
    begins earlier, and leaves out those that it has ``met`` in the one before.
    """
    chunk, strip = block_idx.x % chunks, block_idx.x // chunks
    row = (strip * across + thread_idx.x) * width
    mine, level, met = least(row, rows - width), thread_idx.y, 0
    if overlap:
        line, beside = extents[-1], ceildiv(extents[-1], width)
        met = max(0, strip % beside * width + width - line)
        row = mine = strip // beside * line + strip % beside * width - met
    lines = line_of(x, x_steps, x_step, more, mine, extents)
    shape, size = {"kind": kind, "width": width}, {"across": across, "deep": deep}
    if states is None:
        own = _met(operation, lines, level, n, chunk, chunks, deep=deep, each=each, **shape)
    else:
        parts = [
            of_chunks(operation, states.start, mine + i, rows, level, deep, chunks, kind=kind)
            for i in unroll(range(width))
        ]
        own = as_lanes(operation, parts)
    own = _joined(operation, own, **size)
    if way == "rows":
        places = begin(out, out_steps, mine, extents), out_step, None, None
        if total is not None:
            places = (*places[:2], begin(total.start, total.steps, mine, extents), total.step)
        start, stop, pace = stretch(chunk, chunks, n, deep)
        for at in range(start + level, stop, pace):
            _written(operation, own, lines, places, (weight, bias), given, n, at, row < rows, met, **shape)
    elif level == 0 and row < rows:
        for i in unroll(range(width)):
            known = lane(operation, own, i)
            if i >= met:
                if way == "part":
                    out.bitcast(type_of(known))[chunk * rows + row + i] = known
                else:
                    store(begin(out, out_steps, row + i, extents), 0, 1, operation.result(known, n, given))


@func
def _met(
    operation: Any,
    lines: Any,
    level: Any,
    n: Any,
    chunk: Any,
    chunks: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
    deep: Comptime[int],
    each: Comptime[int],
) -> Any:
    """What a thread knows of its elements, lane by lane."""
    own = operation.empty(kind, width)
    start, stop, pace = stretch(chunk, chunks, n, deep * each)
    for first in range(start + level * each, stop, pace):
        ats = [first + i for i in unroll(range(each))]
        values = [_value(lines, least(at, n - 1), width, kind) for at in ats]
        met = operation.of(values, [at < n for at in ats], [_same(at, width) for at in ats])[0]
        own = behind(operation, own, met)
    return own


@func
def _joined(operation: Any, own: Any, *, across: Comptime[int], deep: Comptime[int]) -> Any:
    """What the threads behind each other know together, in all of them the same."""
    if deep > 1:
        level = thread_idx.y
        parts = stack_allocation(type_of(own), across * deep, address_space=AddressSpace.SHARED)
        here = level * across + thread_idx.x
        parts[here] = own
        for k in unroll(range(deep.bit_length() - 1)):
            barrier()
            far = deep >> (k + 1)
            if level < far:
                parts[here] = operation.merge(parts[here], parts[here + far * across])
        barrier()
        own = parts[thread_idx.x]
    return own


@func
def _written(
    operation: Any,
    own: Any,
    lines: Any,
    places: Any,
    vectors: Any,
    given: Any,
    n: Any,
    at: Any,
    there: Any,
    met: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
):
    """The results of an element of each row, but for the first that are ``met``."""
    value = _value(lines, at, width, kind)
    one, kept = None, value
    if not threads_are_loops():
        one, (kept,) = operation.of([value], [True], [at])
    by, plus = [None if vector is None else vector.start[at].cast(kind) for vector in vectors]
    if there:
        result, mask = operation.writer(own, one, n, given)(kept, by, plus), iota(Int, width) >= met
        for start, step, made in ((places[2], places[3], value), (places[0], places[1], result)):
            if start is not None:
                if width == 1 or met == 0:
                    store(start + at * step, 0, 1, made)
                else:
                    store(start + at * step, 0, 1, made, mask)


def _value(lines: Any, at: Any, width: int, kind: Any) -> Any:
    """Element ``at`` of rows side by side, and what is added to it, if anything."""
    start, more, (step, pace) = lines
    value = load(start + at * step, 0, 1, width, kind)
    return value if more is None else value + load(more + at * pace, 0, 1, width, kind)


def _same(at: Any, width: int) -> Any:
    return Int(at) if width == 1 else Int.splat(width, at)
