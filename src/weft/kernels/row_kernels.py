"""The kernels behind ``weft.kernels.rows``."""

from __future__ import annotations

from typing import Any, cast

from weft.gpu import barrier, block, block_idx, thread_idx, warp
from weft.lang import Comptime, Int, Pointer, func, iota, kernel, struct, unroll
from weft.lang.machine import threads_are_loops
from weft.lang.number import Number
from weft.lang.structs import struct_fields
from weft.layout import LayoutTensor
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

ACROSS = 32
"""Threads side by side where neighbours in memory are of different rows."""


@struct
class Line:
    """Rows in memory: the first element, how far rows lie apart along each axis, and neighbours in a row.

    Kernels take what they may be launched without as a ``Line``, and other memory as pointers, whose launches
    cost less.
    """

    start: Pointer[Any]
    steps: Any
    step: Int


def begin(start: Any, steps: Any, row: Any, extents: Any) -> Any:
    """Where the row of a number begins, of rows that lie so far apart along the axes that count them."""
    if len(extents) == 1:
        return start + row * steps[0]
    offset = Int(0)
    for extent, step in zip(reversed(extents), reversed(steps), strict=True):
        offset += row % extent * step
        row = row // extent
    return start + offset


def load(start: Any, at: Any, step: Any, width: int, kind: Any) -> Any:
    """``width`` elements from number ``at`` on, as those of the type in which is computed."""
    if width == 1:
        return start.load(at * step, width=1).cast(kind)
    return start.load(at, width=width, alignment=_alignment(start, width)).cast(kind)


def store(start: Any, at: Any, step: Any, value: Any) -> None:
    """Write elements from number ``at`` on."""
    value = value.cast(start.element_type)
    if value.lanes == 1:
        start[at * step] = value
    else:
        start.store(at, value, alignment=_alignment(start, value.lanes))


def _alignment(start: Any, width: int) -> int:
    return start.dtype.itemsize * (1 if threads_are_loops() else width)


def places_of(at: Any, lanes: int) -> Any:
    """The places of a vector's elements in their row: one after the other, or as ``down`` has them."""
    return at if lanes == 1 or getattr(at, "lanes", 1) == lanes else iota(Int, lanes) + at


def masked(values: Any, there: Any, fill: Any) -> Any:
    """Vectors, with a number in place of those that are not there."""
    return [v if t is True else t.select(v, type(v)(fill)) for v, t in zip(values, there, strict=True)]


def by_pairs(merge: Any, values: Any) -> Any:
    """All joined, as a tree."""
    while len(values) > 1:
        pairs = [merge(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def joined(operation: Any, state: Any) -> Any:
    """What the lanes of a state say, as one."""
    while _lanes(state) > 1:
        state = operation.merge(*_parts(operation, state, _halves))
    return state


def lane(operation: Any, state: Any, number: int) -> Any:
    """What one lane of a state says."""
    if _lanes(state) == 1:
        return state

    def only(vector: Any) -> Any:
        return (vector[number],)

    return _parts(operation, state, only)[0]


def _halves(vector: Any) -> Any:
    return vector.split()


def _fields(state: Any) -> list[str]:
    kind: Any = type_of(state)
    return list(struct_fields(kind))


def _lanes(state: Any) -> int:
    first: Any = state if isinstance(state, Number) else getattr(state, _fields(state)[0])
    return first.lanes


def _parts(operation: Any, state: Any, parts: Any) -> Any:
    if isinstance(state, Number):
        return parts(state)
    fields = [parts(getattr(state, name)) for name in _fields(state)]
    return [operation.state(*values) for values in zip(*fields, strict=True)]


def _added(start: Any, more: Any, at: Any, steps: Any, width: int, kind: Any) -> Any:
    """Elements of a row, and those of a row that is added to it, if any."""
    value = load(start, at, steps[0], width, kind)
    return value if more is None else value + load(more, at, steps[1], width, kind)


def _vector(memory: Any, at: Any, width: int, kind: Any) -> Any:
    """What the norms' elements are multiplied by, or what is added; None where there is none."""
    return None if memory is None else load(_start(memory), at, 1, width, kind)


def _start(memory: Any) -> Any:
    """Where memory begins: an array of another library is a tensor here."""
    return memory.storage if isinstance(memory, LayoutTensor) else memory


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
):
    """Rows whose elements ``lanes`` threads hold, ``each`` so many vectors."""
    row = block_idx.x * (threads // lanes) + thread_idx.x // lanes
    mine = least(row, rows - 1)
    source, target = begin(x, x_steps, mine, extents), begin(out, out_steps, mine, extents)
    added = None if more is None else begin(more.start, more.steps, mine, extents)
    steps = x_step, None if more is None else more.step
    ats = [(thread_idx.x % lanes + i * lanes) * width for i in unroll(range(each))]
    there = [True if whole else at < n for at in ats]
    values = [_added(source, added, least(at, n - width), steps, width, kind) for at in ats]
    own, kept = operation.of(values, there, ats)
    all = joined(operation, own)
    if lanes > 32:
        all = block.reduce(all, operation.merge)
    else:
        all = warp.reduce(all, operation.merge, width=lanes)
    write = operation.writer(all, own, n, given)
    for i in unroll(range(each)):
        if row < rows and (whole or ats[i] < n):
            if total is not None:
                store(begin(total.start, total.steps, mine, extents), ats[i], total.step, values[i])
            by, plus = _vector(weight, ats[i], width, kind), _vector(bias, ats[i], width, kind)
            store(target, ats[i], out_step, write(kept[i], values[i], by, plus))


@func
def _met(
    operation: Any,
    own: Any,
    source: Any,
    added: Any,
    steps: Any,
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
    ats = [first + i * step for i in unroll(range(each))]
    values = [
        _added(source, added, at if whole else least(at, end - width), steps, width, kind) for at in ats
    ]
    return operation.merge(own, operation.of(values, [True if whole else at < end for at in ats], ats)[0])


@func
def _along(
    operation: Any,
    source: Any,
    added: Any,
    steps: Any,
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
    """What a thread meets of a row whose pieces the chunks take in turns."""
    own = operation.empty(kind, width)
    step, piece, end = threads * width, threads * width * each, n // width * width
    whole = end // piece * piece
    place = thread * width
    for first in range(chunk * piece, whole, chunks * piece):
        own = _met(
            operation,
            own,
            source,
            added,
            steps,
            first + place,
            step,
            end,
            kind=kind,
            width=width,
            each=each,
            whole=True,
        )
    if whole < end and whole // piece % chunks == chunk:
        own = _met(
            operation,
            own,
            source,
            added,
            steps,
            whole + place,
            step,
            end,
            kind=kind,
            width=width,
            each=each,
            whole=False,
        )
    found = joined(operation, own)
    if threads_are_loops() and chunk == chunks - 1:
        for at in range(end, n):
            found = _met(
                operation, found, source, added, steps, Int(at), 1, n, kind=kind, width=1, each=1, whole=True
            )
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
    row = block_idx.x
    source, target = begin(x, x_steps, row, extents), begin(out, out_steps, row, extents)
    added = None if more is None else begin(more.start, more.steps, row, extents)
    steps = x_step, None if more is None else more.step
    all = _along(
        operation,
        source,
        added,
        steps,
        thread_idx.x,
        n,
        0,
        1,
        kind=kind,
        width=width,
        threads=threads,
        each=each,
    )
    if threads > 1:
        all = block.reduce(all, operation.merge)
    places = target, None if total is None else begin(total.start, total.steps, row, extents)
    end = n // width * width
    for at in range(thread_idx.x * width, end, threads * width):
        _written(
            operation,
            all,
            source,
            added,
            steps,
            places,
            (out_step, None if total is None else total.step),
            weight,
            bias,
            given,
            n,
            at,
            kind=kind,
            width=width,
        )
    if threads_are_loops():
        for at in range(end, n):
            _written(
                operation,
                all,
                source,
                added,
                steps,
                places,
                (out_step, None if total is None else total.step),
                weight,
                bias,
                given,
                n,
                at,
                kind=kind,
                width=1,
            )


@func
def _written(
    operation: Any,
    all: Any,
    source: Any,
    added: Any,
    steps: Any,
    places: Any,
    to: Any,
    weight: Any,
    bias: Any,
    given: Any,
    n: Any,
    at: Any,
    *,
    kind: Comptime[Any],
    width: Comptime[int],
):
    """The results of a vector's elements, when the row is known."""
    value = _added(source, added, at, steps, width, kind)
    if places[1] is not None:
        store(places[1], at, to[1], value)
    own, kept = operation.of([value], [True], [at])
    write = operation.writer(all, own, n, given)
    by, plus = _vector(weight, at, width, kind), _vector(bias, at, width, kind)
    store(places[0], at, to[0], write(kept[0], value, by, plus))


@kernel
def reduced(
    x: Pointer[Any],
    x_steps: Any,
    x_step: Int,
    out: Pointer[Any],
    out_steps: Any,
    out_step: Int,
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
    source = begin(x, x_steps, least(row, rows - 1), extents)
    all = _along(
        operation,
        source,
        None,
        (x_step, None),
        thread_idx.x % lanes,
        n,
        chunk,
        chunks,
        kind=kind,
        width=width,
        threads=lanes,
        each=each,
    )
    if lanes > 32:
        all = block.reduce(all, operation.merge)
    elif lanes > 1:
        all = warp.reduce(all, operation.merge, width=lanes)
    if thread_idx.x % lanes == 0 and row < rows:
        if partial:
            out.bitcast(type_of(all))[unit] = all
        else:
            store(begin(out, out_steps, row, extents), 0, 1, operation.result(all, n, given))


def type_of(value: Any) -> Any:
    """The class of a value."""
    return cast("Any", type(value))


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
    all = operation.empty(kind, 1)
    parts = states.bitcast(type_of(all)) + row * row_step
    for chunk in range(number, chunks, lanes):
        all = operation.merge(all, parts[chunk * chunk_step])
    if lanes > 1:
        all = warp.reduce(all, operation.merge, width=lanes)
    if number == 0:
        store(begin(out, out_steps, row, extents), 0, 1, operation.result(all, n, given))


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
    chunks: Int,
    *,
    operation: Comptime[Any],
    kind: Comptime[Any],
    width: Comptime[int],
    across: Comptime[int],
    deep: Comptime[int],
    each: Comptime[int],
    way: Comptime[str],
):
    """Rows that lie side by side: ``across`` threads have ``width`` of them each, ``deep`` go along them.

    Then the threads of a row join what they know, as a tree in shared memory. ``way`` says what becomes of
    that: ``"part"`` of the rows' chunks, ``"result"``, or what ``"rows"`` are made of it.
    """
    chunk, strip = block_idx.x % chunks, block_idx.x // chunks
    row = (strip * across + thread_idx.x) * width
    mine, level = least(row, rows - width), thread_idx.y
    source = begin(x, x_steps, mine, extents)
    added = None if more is None else begin(more.start, more.steps, mine, extents)
    own = operation.empty(kind, width)
    for first in range((chunk * deep + level) * each, n, chunks * deep * each):
        ats = [first + i for i in unroll(range(each))]
        values = [_beside(source, x_step, least(at, n - 1), width, kind) for at in ats]
        if more is not None:
            others = [_beside(added, more.step, least(at, n - 1), width, kind) for at in ats]
            values = [value + other for value, other in zip(values, others, strict=True)]
        own = operation.merge(
            own, operation.of(values, [at < n for at in ats], [_same(at, width) for at in ats])[0]
        )
    if deep > 1:
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
    if way == "rows":
        target = begin(out, out_steps, mine, extents)
        for at in range(level, n, deep):
            value = _beside(source, x_step, at, width, kind)
            if more is not None:
                value += _beside(added, more.step, at, width, kind)
            one, kept = operation.of([value], [True], [at])
            by = None if weight is None else _start(weight)[at].cast(kind)
            plus = None if bias is None else _start(bias)[at].cast(kind)
            if row < rows:
                if total is not None:
                    _put_beside(begin(total.start, total.steps, mine, extents), total.step, at, value)
                _put_beside(
                    target, out_step, at, operation.writer(own, one, n, given)(kept[0], value, by, plus)
                )
    elif level == 0 and row < rows:
        for i in unroll(range(width)):
            known = lane(operation, own, i)
            if way == "part":
                out.bitcast(type_of(known))[chunk * rows + row + i] = known
            else:
                store(begin(out, out_steps, row + i, extents), 0, 1, operation.result(known, n, given))


def _beside(start: Any, step: Any, at: Any, width: int, kind: Any) -> Any:
    """Element ``at`` of rows side by side."""
    return load(start + at * step, 0, 1, width, kind)


def _same(at: Any, width: int) -> Any:
    return Int(at) if width == 1 else Int.splat(width, at)


def _put_beside(start: Any, step: Any, at: Any, value: Any) -> None:
    store(start + at * step, 0, 1, value)


@kernel
def fill(out: Pointer[Any], out_steps: Any, out_step: Int, value: Any, extents: Any):
    """A result where there are no elements."""
    begin(out, out_steps, block_idx.x, extents)[0] = value
