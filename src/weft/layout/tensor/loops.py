"""Loops over all elements of tensors in kernels."""

from __future__ import annotations

import itertools
from typing import Any

from weft.diagnostics import refuse
from weft.lang.decorators import func
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
    known = _coordinates(tensor)
    if known is None:
        _fill(tensor, value)
        return
    for at in known:
        tensor[at] = value


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
    check_alike(to, source)
    known = None if source.masked else _coordinates(to)
    if known is None:
        _copy(to, source)
        return
    values = [source[at] for at in known]
    for at, value in zip(known, values, strict=True):
        to[at] = value


def _shared(to: Any, source: Any) -> Any:
    """How much of the first mode exists in both."""
    return least(to.dim(0), source.dim(0)) if to.masked or source.masked else to.dim(0)


@func
def _fill(tensor: Any, value: Any):
    for i in range(tensor.dim(0)):
        if tensor.rank == 1:
            tensor[i] = value
        else:
            _fill(tensor[i, ...], value)


@func
def _copy(to: Any, source: Any):
    for i in range(_shared(to, source)):
        if to.rank == 1:
            to[i] = source[i]
        else:
            _copy(to[i, ...], source[i, ...])
