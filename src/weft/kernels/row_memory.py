"""Rows in memory, and what is known of their elements, lane by lane of vectors."""

from __future__ import annotations

from typing import Any, cast

from weft.lang import Int, Pointer, iota, struct
from weft.lang.machine import threads_are_loops
from weft.lang.number import Number
from weft.lang.structs import struct_fields


def type_of(value: Any) -> Any:
    """The class of a value."""
    return cast("Any", type(value))


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


def load(start: Any, at: Any, step: Any, width: int, kind: Any, aligned: bool = True) -> Any:
    """``width`` elements from number ``at`` on, as those of the type in which is computed."""
    if width == 1:
        return start.load(at * step, width=1).cast(kind)
    return start.load(at, width=width, alignment=_alignment(start, width if aligned else 1)).cast(kind)


def store(start: Any, at: Any, step: Any, value: Any, mask: Any = None) -> None:
    """Write elements from number ``at`` on."""
    value = value.cast(start.element_type)
    if value.lanes == 1:
        start[at * step] = value
    else:
        start.store(at, value, alignment=_alignment(start, value.lanes), mask=mask)


def _alignment(start: Any, width: int) -> int:
    return start.dtype.itemsize * (1 if threads_are_loops() else width)


def places_of(at: Any, lanes: int) -> Any:
    """The places of a vector's elements in their row: one after the other, or as ``down`` has them."""
    return at if lanes == 1 or getattr(at, "lanes", 1) == lanes else iota(Int, lanes) + at


def masked(values: Any, there: Any, fill: Any) -> Any:
    """Vectors, with a number in place of those that are not there."""
    return [v if t is True else t.select(v, type(v)(fill)) for v, t in zip(values, there, strict=True)]


def added(a: Any, b: Any) -> Any:
    """The sum, for ``by_pairs``."""
    return a + b


def by_pairs(merge: Any, values: Any) -> Any:
    """All joined, as a tree."""
    while len(values) > 1:
        pairs = [merge(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def behind(operation: Any, own: Any, met: Any) -> Any:
    """What is known with what was met behind all of it, which an operation may join more cheaply."""
    return getattr(operation, "later", operation.merge)(own, met)


def apart(vectors: Any) -> Any:
    """The lanes of vectors, one after the other."""
    return [vector[i] for vector in vectors for i in range(vector.lanes)] if vectors[0].lanes > 1 else vectors


def together(lanes: Any, width: int) -> Any:
    """Vectors of so many lanes, of what ``apart`` has made of them."""
    pieces = [lanes[i : i + width] for i in range(0, len(lanes), width)]
    return [by_pairs(_beside, piece) for piece in pieces]


def _beside(a: Any, b: Any) -> Any:
    return a.join(b)


def joined(operation: Any, state: Any) -> Any:
    """What the lanes of a state say, as one."""
    if threads_are_loops() and hasattr(operation, "of_lanes"):
        return operation.of_lanes(state)
    while _lanes(state) > 1:
        state = operation.merge(*_parts(operation, state, _halves))
    return state


def as_lanes(operation: Any, states: Any) -> Any:
    """States of one lane each, as those of one."""
    if len(states) == 1 or isinstance(states[0], Number):
        return by_pairs(_beside, states)
    fields = [by_pairs(_beside, [getattr(one, name) for one in states]) for name in _fields(states[0])]
    return operation.state(*fields)


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
