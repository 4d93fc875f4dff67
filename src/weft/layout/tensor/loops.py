"""Loops over all elements of tensors in kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

from weft.diagnostics import refuse
from weft.lang.decorators import func
from weft.lang.elaboration import current
from weft.lang.number import Number
from weft.lang.python_number import python_number
from weft.lang.scalars import Int
from weft.layout.algebra.int_tuple import is_tuple, product
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import is_static, least, most, sub
from weft.layout.tensor.access import modes
from weft.layout.tensor.fragment import fragment
from weft.layout.tensor.overlap import (
    alike,
    apart,
    both,
    by_stride,
    distance,
    either,
    is_behind,
    may_overlap,
    same_origin,
)

UNROLLED = 64
"""Up to how many elements of static shape are written out one by one, so that they stay in registers."""
KEPT = 1024
"""Of how many elements a thread keeps a copy where they are written to their own memory."""


def _coordinates(tensor: Any) -> list[tuple[int, ...]] | None:
    layout = tensor.layout
    if tensor.masked or not layout.is_static_shape or layout.size() > UNROLLED:
        return None
    return list(itertools.product(*(range(n) for n in layout.static_shape)))


def _whole(tensor: Any) -> list[Any]:
    """The extents, of a masked tensor those of the whole."""
    return [product(extent) for extent, _ in modes(tensor.layout)]


def fill_all(tensor: Any, value: Any) -> None:
    """Write ``value`` to every element."""
    update_all(tensor, None, value)


def check_alike(to: Any, source: Any) -> None:
    """Refuse to copy between tensors of which it is known that their shapes differ.

    Raises:
        CompileError: they do.
    """
    differ = to.rank != source.rank or any(
        is_static(a) and is_static(c) and a != c for a, c in zip(_whole(to), _whole(source), strict=True)
    )
    if differ:
        message = f"a tensor {to.layout} cannot be copied from one {source.layout}: the shapes differ"
        refuse("shape", message, "copy a part of the same shape: a slice, or t.tile[...](i, j)")
    if to.lanes != source.lanes:
        message = f"elements of {to.lanes} lanes are not copied from elements of {source.lanes}"
        refuse("lanes", message, "vectorize both alike")


def _assert_alike(to: Any, source: Any) -> None:
    """Assert it of the extents that are known at run time only, where no mask ends both."""
    b: Any = current()
    for mode, (a, c) in enumerate(zip(_whole(to), _whole(source), strict=True)):
        if to.masked or source.masked or (is_static(a) and is_static(c)):
            continue
        message = f"mode {mode} has {a} places, and {c} are copied there"
        b.assert_(a == c, lambda message=message: message)  # noqa: PT009


def copy_all(to: Any, source: Any) -> None:
    """Write every element of ``source`` to its place in ``to``.

    Raises:
        CompileError: the shapes differ.
    """
    check_alike(to, source)
    update_all(to, None, source)


def update_all(to: Any, function: Callable[[Any, Any], Any] | None, operand: Any) -> None:
    """Write ``function(element, operand)`` to every element of ``to``; of a tensor the element at its place.

    Without a function the operand itself.

    As if the operand were copied before, as NumPy has it, wherever both lie (see ``_in_order``). Modes that
    it lacks, or has but one place along, go over the same elements again, as NumPy's broadcast.

    Raises:
        CompileError: the operand is a tensor of a shape that does not go with that of ``to``.
    """
    to.note_use()
    if not hasattr(operand, "layout"):
        if depth := depth_for(to, operand):
            _update_items(to, function, operand, depth)
            return
        known = _coordinates(to)
        if known is None:
            _update_by(to, operand, function)
        for at in known or ():
            _put(to, at, function, operand)
        return
    operand.note_use()
    operand = _broadcast(to, operand)
    check_alike(to, operand)
    _assert_alike(to, operand)
    known = None if operand.masked else _coordinates(to)
    if known is None:
        _in_order(to, operand, function)
        return
    values = [operand[at] for at in known]
    for at, value in zip(known, values, strict=True):
        _put(to, at, function, value)


def _items(value: Any) -> list[Any] | None:
    """What a list, tuple, vector or array holds, of a matrix its rows; None of what is none."""
    if isinstance(value, Number):
        return [value[k] for k in range(value.lanes)] if value.lanes > 1 else None
    kind = cast("type[Any]", type(value))
    if hasattr(kind, "__weft_rows__"):
        return value.__weft_rows__()
    if (
        not hasattr(kind, "__len__")
        or not hasattr(kind, "__iter__")
        or isinstance(value, (str, bytes, dict, set))
    ):
        return None
    return None if hasattr(value, "layout") or getattr(value, "shape", None) == () else list(value)


def depth_for(to: Any, value: Any) -> int:
    """How many axes the numbers have that a value holds for elements of a tensor; 0 if it is an element."""
    return _depth(value) if to.dtype.is_number and to.lanes == 1 else 0


def nested(value: Any) -> Any:
    """The numbers of a vector, a matrix or the like as NumPy takes them."""
    items = _items(value)
    return value if items is None else [nested(item) for item in items]


def _depth(value: Any) -> int:
    items = _items(value)
    if not items:
        return 0
    depths = set(map(_depth, items))
    plain = depths == {0} and all(
        isinstance(python_number(item), (Number, bool, int, float)) for item in items
    )
    return 1 + depths.pop() if plain or (len(depths) == 1 and 0 not in depths) else 0


def _update_items(to: Any, function: Callable[[Any, Any], Any] | None, operand: Any, depth: int) -> None:
    """Write the numbers of a vector, or of what has more axes, along the last modes, as NumPy's broadcast."""
    items = _items(operand) or []
    extent = _whole(to)[to.rank - depth] if depth <= to.rank else 0
    message = f"{len(items)} numbers side by side are not written to {extent} of {to.layout}"
    if depth > to.rank or (is_static(extent) and extent != len(items)):
        refuse("shape", message, "give as many as there are, or name a part: t[i, 0:2]")
    if not is_static(extent):
        b: Any = current()
        b.assert_(extent == len(items), lambda: message)  # noqa: PT009
    for k, item in enumerate(items):
        if to.rank == 1:
            _put(to, k, function, item)
        else:
            update_all(to[(..., k, *[slice(None)] * (depth - 1))], function, item)


def _broadcast(to: Any, source: Any) -> Any:
    """The source with the extents of ``to`` where it has none or 1, over the same elements."""
    missing = to.rank - source.rank
    if missing < 0 or source.masked or source.element is not None:
        return source
    own = [(1, 0)] * missing + list(modes(source.layout))
    again = [is_static(extent) and extent == 1 for extent, _ in own]
    if not any(again):
        return source
    every = [(extent, 0) if once else mode for extent, once, mode in zip(_whole(to), again, own, strict=True)]
    layout = Layout(tuple(extent for extent, _ in every), tuple(stride for _, stride in every))
    return source.moved(0, source.alignment, layout)


def _put(to: Any, at: Any, function: Callable[[Any, Any], Any] | None, value: Any) -> None:
    to[at] = value if function is None else function(to[at], value)


def _in_order(to: Any, source: Any, function: Callable[[Any, Any], Any] | None) -> None:
    """Take the elements in an order that reads each one before it is written, where both share memory.

    Parts that step alike have one, forward or backward; so have lines, with a turn in between. Others of
    up to ``KEPT`` elements are copied before, to memory of the thread; of what is left it is asserted that
    it lies apart.
    """
    if not may_overlap(to, source):
        _update(to, source, function, False)
        return
    to, source = by_stride(to, source)
    ends, steps = apart(to, source), alike(to, source)
    if ends is True:
        _update(to, source, function, False)
    elif steps is True:
        _either_way(to, source, function, is_behind(to, source))
    elif to.rank == 1 and _is_plain(to) and _is_plain(source):
        _check(either(ends, _same_way(to, source)), to.layout)
        _update_line(to, source, function, *_turn(to, source))
    elif same_origin(to, source) and (room := _room_for(source)) is not None:
        _update_kept(to, source, function, room, ends)
    else:
        _check(either(ends, steps), to.layout)
        _either_way(to, source, function, both(steps, is_behind(to, source)))


def _check(holds: Any, layout: Layout) -> None:
    message = "a tensor is copied onto its own memory, the elements in another order"
    hint = "copy a tile at a time through memory of its own, or take another buffer"
    if holds is False:
        size = f"up to {KEPT} elements of static shape are kept meanwhile, not {layout}"
        refuse("tensor-size", f"{message}: {size}", hint)
    b: Any = current()
    b.assert_(holds, lambda: f"{message}: {hint}")  # noqa: PT009


def _is_plain(tensor: Any) -> bool:
    strides = [stride for _, stride in modes(tensor.layout)]
    return tensor.element is None and tensor.swizzled is None and not any(map(is_tuple, strides))


def _line(tensor: Any) -> Any:
    return next(iter(modes(tensor.layout)))[1]


def _same_way(to: Any, source: Any) -> Any:
    """Whether two lines both go up in memory, or both down."""
    if to.dtype is not source.dtype:
        return False
    one, other = _line(to), _line(source)
    return either(both(one > 0, other > 0), both(one < 0, other < 0))


def _turn(to: Any, source: Any) -> tuple[Any, Any]:
    """Where the order of two lines turns, and whether it is backward before that place, and not behind it.

    Element ``n`` is written where element ``n + (n * (s - q) + d) / q`` is read, for steps ``s`` and ``q``
    and a distance ``d``: further on before one place, further back behind it, or the other way round. Neither
    side reads what the other writes.
    """
    step, other, between = _line(to), _line(source), distance(to, source)
    down = other < 0
    if isinstance(down, bool):
        step, other, between = (-step, -other, -between) if down else (step, other, between)
    else:
        step, other, between = (most(step, -step), most(other, -other), down.select(-between, Int(between)))
    gap: Any = sub(other, step)
    if is_static(gap) and gap == 0:
        return most(between, 0) * to.dim(0), True
    if is_static(gap):
        return -(-between // gap), gap > 0
    level = (Int(between) > 0).select(to.dim(0), 0)
    return (gap == 0).select(level, -(-Int(between) // gap)), gap >= 0


def _room_for(source: Any) -> Any:
    """Memory of this thread for all that a tensor has; None where that is too much or not known."""
    layout = source.layout
    if not layout.is_static_shape or layout.size() * source.lanes > KEPT:
        return None
    return fragment(layout.static_shape, source.dtype, source.lanes, source)


def _shared(to: Any, source: Any) -> Any:
    """How much of the first mode exists in both."""
    return least(to.dim(0), source.dim(0)) if to.masked or source.masked else to.dim(0)


@func
def _update_by(to: Any, value: Any, function: Any):
    for i in range(to.dim(0)):
        if to.rank == 1:
            _put(to, i, function, value)
        else:
            _update_by(to[i, ...], value, function)


@func
def _update_kept(to: Any, source: Any, function: Any, room: Any, ends: Any):
    if ends:
        _update(to, source, function, False)
    else:
        _update(room, source, None, False)
        _update(to, room, function, False)


@func
def _either_way(to: Any, source: Any, function: Any, backward: Any):
    if backward:
        _update(to, source, function, True)
    else:
        _update(to, source, function, False)


@func
def _update(to: Any, source: Any, function: Any, backward: Any):
    count = _shared(to, source)
    for n in range(count):
        i = count - 1 - n if backward else n
        if to.rank == 1:
            _put(to, i, function, source[i])
        else:
            _update(to[i, ...], source[i, ...], function, backward)


@func
def _update_line(to: Any, source: Any, function: Any, turn: Any, backward: Any):
    count = _shared(to, source)
    turn = least(most(turn, 0), count)
    for n in range(turn):
        i = turn - 1 - n if backward else n
        _put(to, i, function, source[i])
    for n in range(turn, count):
        i = n if backward else turn + count - 1 - n
        _put(to, i, function, source[i])
