"""Coordinates and offsets: the two directions of a layout's mapping.

Coordinates are colexicographic as in CuTe: the leftmost mode runs fastest. A single number stands
for a whole nested mode wherever a coordinate is asked for.

Source: CuTe's layout concepts (NVIDIA CUTLASS, ``media/docs/cpp/cute/01_layout.md``).
"""

from __future__ import annotations

from functools import partial

from weft.layout.algebra.int_tuple import (
    IntTuple,
    flatten,
    format_tuple,
    is_tuple,
    prefix_product,
    product,
    unflatten,
)
from weft.layout.algebra.values import Scalar, add, floordiv, is_static, mod, mul, wrong


def crd2idx(crd: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> Scalar:
    """The offset, in elements, of a coordinate: each leaf times its stride, summed.

    A number where the shape has modes is taken apart first, leftmost mode fastest; the last mode
    takes what is left, without a remainder. No bound is checked. ``stride`` is column-major if left out.

    Raises:
        CompileError: The coordinate has more parts than the shape, or fewer, in some mode.

    >>> crd2idx((1, (1, 2)), (3, (2, 3)), (3, (12, 1)))
    17
    >>> crd2idx(16, (3, (2, 3)), (3, (12, 1)))
    17
    """
    if stride is None:
        stride = prefix_product(shape)
    if not is_tuple(shape):
        if is_tuple(crd) or is_tuple(stride):
            wrong(
                f"the coordinate {format_tuple(crd)} has parts where the shape is {format_tuple(shape)}",
                "give this mode one number",
            )
        return mul(crd, stride)
    strides = stride if is_tuple(stride) else (stride,)
    if is_tuple(crd):
        if len(crd) != len(shape):
            wrong(
                f"the coordinate {format_tuple(crd)} has {len(crd)} parts; "
                f"the shape {format_tuple(shape)} has {len(shape)}",
                "give one part for each mode, or one number for all",
            )
        parts = crd
    else:
        parts = _split(crd, shape)
    offset: Scalar = 0
    for part, extents, steps in zip(parts, shape, strides, strict=True):
        offset = add(offset, crd2idx(part, extents, steps))
    return offset


def _split(idx: Scalar, shape: tuple[IntTuple, ...]) -> tuple[Scalar, ...]:
    """One number for each mode of ``shape``, leftmost fastest; the last takes what is left."""
    parts: list[Scalar] = []
    for extents in shape[:-1]:
        extent = product(extents)
        parts.append(mod(idx, extent))
        idx = floordiv(idx, extent)
    return (*parts, idx) if shape else ()


def idx2crd(idx: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> IntTuple:
    """The coordinate, nested like ``shape``, that ``idx`` stands for.

    ``idx`` may be a number or any coarser coordinate. With ``stride``, ``idx`` is an offset of a
    compact layout instead: each leaf is ``idx // stride % extent``.

    Raises:
        CompileError: ``idx`` has more parts than the shape, or fewer, in some mode.

    >>> idx2crd(16, (3, (2, 3))), idx2crd((1, 5), (3, (2, 3)))
    ((1, (1, 2)), (1, (1, 2)))
    >>> idx2crd(17, (4, 8), (8, 1))
    (2, 1)
    """
    if is_tuple(idx):
        if not is_tuple(shape) or len(idx) != len(shape):
            wrong(
                f"the coordinate {format_tuple(idx)} does not fit the shape {format_tuple(shape)}",
                "give one part for each mode, or one number for all",
            )
        steps = (None,) * len(shape) if stride is None or not is_tuple(stride) else stride
        return tuple(map(idx2crd, idx, shape, steps))
    if stride is not None:
        return unflatten(map(partial(_digit, idx), flatten(shape), flatten(stride)), shape)
    if is_tuple(shape):
        return tuple(map(idx2crd, _split(idx, shape), shape))
    return idx


def _digit(idx: Scalar, extent: Scalar, stride: Scalar) -> Scalar:
    """``idx // stride % extent``; where there is only 0 to count, nothing is emitted."""
    return 0 if is_static(extent) and extent == 1 else mod(floordiv(idx, stride), extent)
