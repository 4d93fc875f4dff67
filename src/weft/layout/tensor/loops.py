"""Loops over all elements of tensors in kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from weft.diagnostics import refuse
from weft.lang.decorators import func
from weft.lang.places import first_of
from weft.lang.pointer import Pointer
from weft.layout.algebra.int_tuple import product
from weft.layout.algebra.values import is_static, least
from weft.layout.tensor.access import modes

UNROLLED = 64
"""Up to how many elements of static shape are written out one by one, so that they stay in registers."""


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


def copy_all(to: Any, source: Any) -> None:
    """Write every element of ``source`` to its place in ``to``.

    Raises:
        CompileError: the shapes differ.
    """
    update_all(to, None, source)


def update_all(to: Any, function: Callable[[Any, Any], Any] | None, operand: Any) -> None:
    """Write ``function(element, operand)`` to every element of ``to``; of a tensor the element at its place.

    Without a function the operand itself.

    As if the operand were copied before, as NumPy has it: where it may lie in the same memory, elements are
    taken from that end at which none has been written yet.

    Raises:
        CompileError: the operand is a tensor of another shape.
    """
    if not hasattr(operand, "layout"):
        known = _coordinates(to)
        if known is None:
            _update_by(to, operand, function)
        for at in known or ():
            _put(to, at, function, operand)
        return
    check_alike(to, operand)
    known = None if operand.masked else _coordinates(to)
    if known is None:
        _update(to, operand, function, _is_behind(to, operand))
        return
    values = [operand[at] for at in known]
    for at, value in zip(known, values, strict=True):
        _put(to, at, function, value)


def _put(to: Any, at: Any, function: Callable[[Any, Any], Any] | None, value: Any) -> None:
    to[at] = value if function is None else function(to[at], value)


def _is_behind(to: Any, source: Any) -> Any:
    """Whether ``to`` lies behind ``source``, a part of the same memory that steps alike; None of another."""
    target, other = to.storage, source.storage
    if not isinstance(target, Pointer) or not isinstance(other, Pointer) or target.space != other.space:
        return None
    if target.dtype is not other.dtype or first_of(target.value) is not first_of(other.value):
        return None
    return target > other


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
def _update(to: Any, source: Any, function: Any, backward: Any):
    count = _shared(to, source)
    for n in range(count):
        i = n if backward is None else count - 1 - n if backward else n
        if to.rank == 1:
            _put(to, i, function, source[i])
        else:
            _update(to[i, ...], source[i, ...], function, backward)
