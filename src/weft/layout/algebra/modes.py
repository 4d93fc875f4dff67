"""Facts about lists of modes: which merge, which runs fastest, what follows from what."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from weft.layout.algebra.int_tuple import IntTuple, flatten, is_tuple, prefix_product, suffix_product
from weft.layout.algebra.values import Scalar, is_static, mul


def merge_modes(extents: Sequence[Scalar], strides: Sequence[Scalar]) -> tuple[IntTuple, IntTuple]:
    """Shape and stride of the same function of one number, with as few modes as can be proven.

    Static extents of 1 vanish; a mode that continues the one before it joins it. Modes with run-time
    values are kept, for what they would merge with is not known.

    >>> merge_modes((2, 1, 6), (1, 6, 2))
    (12, 1)
    """
    shape: list[Scalar] = []
    stride: list[Scalar] = []
    for extent, step in zip(extents, strides, strict=True):
        if is_static(extent) and extent == 1:
            continue
        if shape and _continues(shape[-1], stride[-1], step):
            shape[-1] = mul(shape[-1], extent)
            continue
        shape.append(extent)
        stride.append(step)
    if len(shape) < 2:
        return (shape[0], stride[0]) if shape else (1, 0)
    return tuple(shape), tuple(stride)


def _continues(extent: Scalar, stride: Scalar, next_stride: Scalar) -> bool:
    """Whether a mode of ``next_stride`` is known to carry on where the mode before it ends."""
    if not (is_static(stride) and is_static(next_stride)):
        return False
    return stride * extent == next_stride if is_static(extent) else stride == next_stride == 0


def derived_strides(shape: IntTuple, stride: IntTuple, marked: AbstractSet[int]) -> frozenset[int]:
    """The leaves whose strides follow from the extents of the marked leaves.

    A stride follows from the extents of all leaves that run faster. Leaves of equal stride (one of
    them has extent 1) are ordered as the compact layout orders them that has these very strides.

    >>> sorted(derived_strides((480, 640, 3), (1920, 3, 1), {1}))
    [0]
    """
    steps = tuple(abs(step) for step in flatten(stride) if is_static(step))
    row_major = flatten(suffix_product(shape)) == steps
    col_major = flatten(prefix_product(shape)) == steps
    sign = 1 if col_major and not row_major else -1
    moving = [leaf for leaf, step in enumerate(steps) if step]
    order = sorted(moving, key=lambda leaf: (steps[leaf], sign * leaf))
    return frozenset(leaf for place, leaf in enumerate(order) if marked & set(order[:place]))


def same(a: IntTuple, b: IntTuple) -> bool:
    """Whether nesting and ints are equal and run-time leaves identical, without comparing any of these."""
    if is_tuple(a):
        return is_tuple(b) and len(a) == len(b) and all(map(same, a, b))
    return a is b or (is_static(a) and is_static(b) and a == b)
