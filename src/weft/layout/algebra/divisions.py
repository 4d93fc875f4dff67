"""The algebra of layouts: coalesce, compose, complement, invert.

A layout of any nesting is a function of one number (its coordinate, leftmost mode fastest). The
operations here are defined on that function; given a tuple instead of a layout they apply mode by
mode. Where the result depends on how numbers divide, the numbers must be static; what may be a
run-time value is said with each operation.

Source: CuTe's layout algebra (NVIDIA CUTLASS, ``media/docs/cpp/cute/02_layout_algebra.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from weft.layout.algebra.int_tuple import IntTuple, flatten, is_tuple, product
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.modes import merge_modes
from weft.layout.algebra.values import RunTimeInt, Scalar, ceildiv, is_static, mul, wrong

Tiler: TypeAlias = "Layout | int | RunTimeInt | tuple[Tiler | None, ...]"
"""A layout (a number ``n`` means ``n:1``), or one for each mode (None leaves the mode alone)."""


def coalesce(layout: Layout, profile: IntTuple | None = None) -> Layout:
    """The same function of one number with as few modes as can be proven, without nesting.

    Args:
        layout: Any layout. Modes with run-time values are kept apart.
        profile: A tuple coalesces mode by mode and so keeps the rank; its numbers mean nothing.

    >>> layout = Layout((2, (1, 6)), (1, (6, 2)))
    >>> coalesce(layout), coalesce(layout, (1, 1))
    ((12:1), ((2, 6):(1, 2)))
    """
    if profile is not None and is_tuple(profile):
        parts = first_modes(layout, len(profile))
        return make_layout(*map(coalesce, parts, profile), *list(layout)[len(profile) :])
    return Layout(*merge_modes(flatten(layout.shape), flatten(layout.stride)))


def is_contiguous(layout: Layout) -> bool:
    """Whether coordinate ``i`` lies at offset ``i``, as far as is known now.

    >>> is_contiguous(Layout((2, 4))), is_contiguous(Layout.row_major(2, 4))
    (True, False)
    """
    shape, stride = merge_modes(flatten(layout.shape), flatten(layout.stride))
    return is_static(stride) and (stride == 1 or shape == 1)


def sublayout(layout: Layout, *modes: int) -> Layout:
    """The layout of some modes, in the order given.

    >>> sublayout(Layout.row_major(2, 3, 4), 2, 0)
    ((4, 2):(1, 12))
    """
    return make_layout(*(layout[mode] for mode in modes))


def composition(layout: Layout, tiler: Tiler) -> Layout:
    """The layout ``R`` with ``R(c) == layout(tiler(c))``, nested like ``tiler`` or finer.

    ``tiler`` selects elements of ``layout`` by their number and brings them into its own order. Given
    a tuple, it selects within each mode. It may reach past the end, where the last mode goes on.

    Args:
        layout: Its strides, and the extent of its last mode, may be run-time values; if it is one mode
            after coalescing, everything may be.
        tiler: Of static strides, at least 0.

    Raises:
        CompileError: The selected elements are not evenly spaced in ``layout`` (no strides could
            describe them), or a number that decides it is known at run time only.

    >>> composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))
    (((2, 2), 3):((24, 2), 8))
    >>> composition(Layout((12, (4, 8)), (59, (13, 1))), (3, 8))
    ((3, (4, 2)):(59, (13, 1)))
    """
    if isinstance(tiler, tuple):
        return by_mode(composition, layout, tiler)
    selector = as_layout(tiler)
    return _Composition(layout, selector).of(selector)


def by_mode(
    function: Callable[[Layout, Tiler], Layout], layout: Layout, tiler: tuple[Tiler | None, ...]
) -> Layout:
    """What a function gives for each mode and its tiler; modes without one stay as they are."""
    modes = first_modes(layout, len(tiler))
    made = (m if part is None else function(m, part) for m, part in zip(modes, tiler, strict=True))
    return make_layout(*made, *list(layout)[len(tiler) :])


class _Composition:
    """One composition under way: the modes of ``layout`` after coalescing, and how far each is in use."""

    def __init__(self, layout: Layout, selector: Layout) -> None:
        shape, stride = merge_modes(flatten(layout.shape), flatten(layout.stride))
        self.what = f"{layout} cannot be composed with {selector}"
        self.extents, self.strides = flatten(shape), flatten(stride)
        self.reached = [0] * len(self.extents)
        """For each mode the largest coordinate that the selected elements have in it so far."""

    def of(self, mode: Layout) -> Layout:
        if is_tuple(mode.shape):
            return make_layout(*map(self.of, mode))
        ((count,), (step,)) = flatten(mode.shape), flatten(mode.stride)
        if is_static(count) and count == 1:
            return Layout(1, 0)
        if len(self.extents) == 1:
            return Layout(count, mul(step, self.strides[0]))
        if not is_static(step) or step < 0:
            wrong(self.what, "the strides of what selects must be static and at least 0")
        return Layout(count, 0) if step == 0 else self._leaf(count, step)

    def _leaf(self, count: Scalar, step: int) -> Layout:
        """``count`` elements in steps of ``step``, spread over the modes from the left."""
        shape: list[Scalar] = []
        stride: list[Scalar] = []
        for place, (extent, here) in enumerate(zip(self.extents[:-1], self.strides[:-1], strict=True)):
            if not (is_static(extent) and is_static(count)):
                wrong(
                    f"{self.what}: an extent that decides the result is known at run time only",
                    "compose mode by mode with a tuple, or make the extents static",
                )
            if count == 1:
                break
            if (count - 1) * step < extent:  # all that is left lies in this mode
                taken, rest = count, step
            elif step % extent == 0:  # every step passes this mode as a whole
                step //= extent
                continue
            elif extent % step == 0 and count % (extent // step) == 0:
                taken, rest = extent // step, 1
            else:
                wrong(
                    f"{self.what}: {count} elements in steps of {step} do not divide a mode of {extent}",
                    f"choose a step that divides {extent} or is a multiple of it, and whole modes",
                )
            self.reached[place] += (taken - 1) * step
            if self.reached[place] >= extent:
                wrong(
                    f"{self.what}: its modes together step over the end of a mode of {extent}",
                    "no strides describe the result; select with modes that stay within",
                )
            if taken > 1:
                shape.append(taken)
                stride.append(mul(step, here))
            count, step = count // taken, rest
        if not (is_static(count) and count == 1):
            shape.append(count)
            stride.append(mul(step, self.strides[-1]))
        return Layout(tuple(shape), tuple(stride)) if len(shape) > 1 else Layout(shape[0], stride[0])


def complement(layout: Layout, size: Scalar = 1) -> Layout:
    """The layout of the repetition: where copies of ``layout`` go to fill ``size`` elements.

    Its offsets increase, and no copy meets another: ``(layout, complement)`` has no offset twice and
    spans at least ``size`` elements.

    Args:
        layout: Static, its strides at least 0.
        size: In elements; may be a run-time value.

    Raises:
        CompileError: ``layout`` has run-time values, or offsets that overlap or interleave.

    >>> complement(Layout(4, 2), 24), complement(Layout((2, 2), (1, 6)), 24)
    (((2, 3):(1, 8)), ((3, 2):(2, 12)))
    """
    shape: list[Scalar] = []
    stride: list[Scalar] = []
    current = 1
    for step, extent, _ in sorted(_static_modes(layout, "complement")):
        if step < current:
            wrong(
                f"{layout} has no complement: its modes overlap or interleave",
                "use a layout with distinct offsets",
            )
        shape.append(step // current)
        stride.append(current)
        current = extent * step
    shape.append(ceildiv(size, current))
    stride.append(current)
    return Layout(*merge_modes(shape, stride))


def right_inverse(layout: Layout) -> Layout:
    """A layout ``R`` with ``layout(R(i)) == i``, as large as there are offsets from 0 without a gap.

    Raises:
        CompileError: ``layout`` has run-time values, or a stride below 0.

    >>> right_inverse(Layout.row_major(4, 8))
    ((8, 4):(4, 1))
    """
    shape: list[Scalar] = []
    stride: list[Scalar] = []
    current = 1
    for step, extent, number in sorted(_static_modes(layout, "right_inverse")):
        if step > current:
            break
        if step == current:
            shape.append(extent)
            stride.append(number)
            current = extent * step
    return Layout(*merge_modes(shape, stride))


def left_inverse(layout: Layout) -> Layout:
    """A layout ``L`` with ``L(layout(i)) == i``.

    Raises:
        CompileError: ``layout`` has run-time values, or offsets that overlap or interleave.

    >>> left_inverse(Layout(4, 2))
    ((2, 4):(4, 1))
    """
    filled = make_layout(layout, complement(layout))
    inverse = right_inverse(filled)
    if inverse.size() != filled.size():
        wrong(f"{layout} has no left inverse: its strides do not divide each other", "use strides that nest")
    return inverse


def with_shape(layout: Layout, *shape: IntTuple) -> Layout:
    """The same elements in the same order (leftmost mode fastest) under another shape.

    Raises:
        CompileError: The sizes differ, or no strides describe the result.

    >>> with_shape(Layout(12, 2), 3, 4)
    ((3, 4):(2, 6))
    """
    target = Layout(shape[0] if len(shape) == 1 else shape)
    old, new = product(layout.shape), product(target.shape)
    if is_static(old) and is_static(new) and old != new:
        wrong(f"{layout} has {old} elements; the new shape has {new}", "keep the number of elements")
    return composition(layout, target)


def as_layout(tiler: Layout | Scalar) -> Layout:
    """A tiler that is one number ``n`` as the layout ``n:1``."""
    return tiler if isinstance(tiler, Layout) else Layout(tiler)


def first_modes(layout: Layout, count: int) -> list[Layout]:
    """The first ``count`` modes of ``layout``, which must have that many."""
    if count > layout.rank:
        wrong(f"{layout} has {layout.rank} modes; {count} were named", "name at most as many as there are")
    return list(layout)[:count]


def _static_modes(layout: Layout, operation: str) -> list[tuple[int, int, int]]:
    """(stride, extent, number of its second element) of each leaf that moves, all static."""
    modes: list[tuple[int, int, int]] = []
    number = 1
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if not (is_static(extent) and is_static(stride)):
            wrong(f"{operation} of {layout} needs extents and strides known now", "make them static")
        if stride < 0 or extent < 1:
            wrong(f"{operation} of {layout} needs extents from 1 and strides from 0", "use such a layout")
        if extent > 1 and stride > 0:
            modes.append((stride, extent, number))
        number *= extent
    return modes
