"""Layouts: functions from coordinates to offsets, given by a shape and a stride.

Names are those of Mojo's ``layout`` package, semantics those of CuTe
(NVIDIA CUTLASS, ``media/docs/cpp/cute/01_layout.md``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from weft.diagnostics import a_
from weft.diagnostics.unfit import tell_of_methods
from weft.layout.algebra.coordinates import crd2idx
from weft.layout.algebra.int_tuple import (
    IntTuple,
    all_static,
    canonical,
    congruent,
    flatten,
    format_tuple,
    is_tuple,
    map_leaves,
    prefix_product,
    product,
    rank,
    suffix_product,
    unflatten,
)
from weft.layout.algebra.modes import derived_strides, merge_modes, same
from weft.layout.algebra.values import Scalar, add, is_static, mul, sub, wrong
from weft.record import record

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor


@record(eq=False)
class Layout:
    """A shape and a stride: where each coordinate lies, in elements from the start.

    Extents and strides are ints, or run-time values inside a kernel. Without a stride the leftmost
    mode runs fastest (column-major), as in CuTe; ``row_major`` is the order of NumPy and C.

    Args:
        shape: Extents in elements, nested as deep as wished.
        stride: Steps in elements, nested like ``shape``.

    Raises:
        CompileError: An extent is negative or no integer, or shape and stride nest differently.

    >>> layout = Layout((2, (2, 2)), (4, (2, 1)))
    >>> layout
    ((2, (2, 2)):(4, (2, 1)))
    >>> layout(1, 3), layout(1, (1, 1)), layout(7)   # one place, three coordinates
    (7, 7, 7)
    >>> layout[1], layout.rank, layout.size()
    (((2, 2):(2, 1)), 2, 8)
    """

    shape: IntTuple
    stride: IntTuple
    runtime_shape: frozenset[int]  # leaves whose extents a kernel receives at run time: see dynamic()
    runtime_stride: frozenset[int]  # leaves whose strides it receives

    def __init__(self, shape: object, stride: object = None) -> None:
        extents = canonical(shape)
        steps = prefix_product(extents) if stride is None else canonical(stride, "stride")
        for extent in flatten(extents):
            if is_static(extent) and extent < 0:
                wrong(f"the shape {format_tuple(extents)} has a negative extent", "extents are at least 0")
        if not congruent(extents, steps):
            wrong(
                f"shape {format_tuple(extents)} and stride {format_tuple(steps)} nest differently",
                "give one stride for each extent",
            )
        unmarked: frozenset[int] = frozenset()
        _set(self, shape=extents, stride=steps, runtime_shape=unmarked, runtime_stride=unmarked)

    @staticmethod
    def row_major(*shape: object) -> Layout:
        """The compact layout whose last mode runs fastest; one tuple, or extents one by one.

        >>> Layout.row_major(4, 5, 3), Layout.row_major((2, 3), 4), Layout.row_major((4, 5))
        (((4, 5, 3):(15, 3, 1)), (((2, 3), 4):((12, 4), 1)), ((4, 5):(5, 1)))
        """
        extents = _extents(shape)
        known = all(type(extent) is int for extent in flatten(extents))
        return _row_major(extents) if known else Layout(extents, suffix_product(extents))

    @staticmethod
    def col_major(*shape: object) -> Layout:
        """The compact layout whose first mode runs fastest; one tuple, or extents one by one.

        >>> Layout.col_major(4, 5, 3)
        ((4, 5, 3):(1, 4, 20))
        """
        return Layout(_extents(shape))

    @property
    def rank(self) -> int:
        """The number of modes."""
        return rank(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every extent and stride is known now."""
        return all_static(self.shape) and all_static(self.stride)

    @property
    def is_static_shape(self) -> bool:
        """Whether every extent is known now."""
        return all_static(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The number of elements of each mode, as ints.

        Raises:
            CompileError: An extent is known at run time only.

        >>> Layout(((2, 3), 4)).static_shape
        (6, 4)
        """
        sizes = tuple(product(mode.shape) for mode in self)
        ints = tuple(size for size in sizes if is_static(size))
        if len(ints) != len(sizes):
            wrong(
                f"the shape of {self} is known at run time only", "use .shape, or take a tile of static size"
            )
        return ints

    def size(self) -> Any:
        """The number of elements (a run-time value where an extent is)."""
        return product(self.shape)

    def cosize(self) -> Any:
        """How many elements of memory the layout spans: one past its largest offset.

        For strides below zero, the length of the span that it touches.

        >>> Layout((4, 5), (8, 1)).cosize()
        29
        """
        extents, strides = flatten(self.shape), flatten(self.stride)
        if any(is_static(extent) and extent == 0 for extent in extents):
            return 0
        last: Scalar = 0
        for extent, stride in zip(extents, strides, strict=True):
            last = add(last, mul(sub(extent, 1), abs(stride) if is_static(stride) else stride))
        return add(last, 1)

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, in elements: ``layout(i, j)``, nested, or one number for all.

        No bound is checked.

        Raises:
            CompileError: The coordinate has more parts than the layout has modes, or fewer.
        """
        crd = canonical(coordinate[0] if len(coordinate) == 1 else coordinate, "coordinate")
        if is_tuple(crd) or not is_tuple(self.shape):
            return crd2idx(crd, self.shape, self.stride)
        shape, stride = merge_modes(flatten(self.shape), flatten(self.stride))  # fewer modes, fewer divisions
        return crd2idx(crd, shape, stride)

    def tensor(self, storage: Any) -> LayoutTensor[Any]:
        """A buffer (in a kernel: a pointer) seen through this layout; ``buffer.tensor(layout)`` is the same.

        Raises:
            CompileError: The layout reaches outside of the buffer.
        """
        from weft.layout.tensor.tensor import LayoutTensor

        return LayoutTensor(storage, self)

    def __len__(self) -> int:
        return self.rank

    def __iter__(self) -> Iterator[Layout]:
        return (self[mode] for mode in range(self.rank))

    def __getitem__(self, mode: int) -> Layout:
        """The layout of one mode."""
        if not hasattr(mode, "__index__"):
            wrong(f"a mode is an integer, not {a_(type(mode).__name__)}", f"modes are 0 to {self.rank - 1}")
        if not -self.rank <= mode < self.rank:
            wrong(f"{self} has no mode {mode}", f"its modes are 0 to {self.rank - 1}")
        if not (is_tuple(self.shape) and is_tuple(self.stride)):
            return self
        return Layout(self.shape[mode], self.stride[mode])

    def flatten(self) -> Layout:
        """The same modes without nesting.

        >>> Layout((2, (3, 4))).flatten()
        ((2, 3, 4):(1, 2, 6))
        """
        return Layout(flatten(self.shape), flatten(self.stride))

    def group(self, begin: int, end: int) -> Layout:
        """The modes from ``begin`` up to ``end`` nested into one.

        >>> Layout.row_major(2, 3, 4).group(0, 2)
        (((2, 3), 4):((12, 4), 1))
        """
        modes = list(self)
        if not 0 <= begin < end <= len(modes):
            wrong(f"modes {begin} to {end} of {self} do not exist", f"take 0 <= begin < end <= {len(modes)}")
        return make_layout(*modes[:begin], make_layout(*modes[begin:end]), *modes[end:])

    def append(self, *modes: Layout) -> Layout:
        """This layout with further modes behind its own.

        >>> Layout.row_major(2, 3).append(Layout(4, 6))
        ((2, 3, 4):(3, 1, 6))
        """
        return make_layout(*self, *modes)

    def dynamic(self, *modes: int) -> Layout:
        """The same layout, marked: a kernel receives these modes' extents at run time (all by default).

        The strides that follow from those extents come at run time too, so that one compiled kernel
        serves all sizes. A leaf whose stride follows from unmarked extents alone keeps it static. The
        marks last until the next operation; results of the algebra carry none.

        Raises:
            CompileError: No such mode, or the layout already holds run-time values.

        >>> Layout.row_major(480, 640, 3).dynamic(0, 1)
        ((480?, 640?, 3):(1920?, 3, 1))
        """
        if not self.is_static:
            wrong(f"{self} already holds run-time values", "mark layouts before they are passed to a kernel")
        owners = [mode for mode, part in enumerate(self) for _ in flatten(part.shape)]
        for mode in modes:
            self[mode]  # refuses what is out of range
        chosen = {mode % self.rank for mode in modes} if modes else set(owners)
        shape = self.runtime_shape | {leaf for leaf, owner in enumerate(owners) if owner in chosen}
        stride = self.runtime_stride | derived_strides(self.shape, self.stride, shape)
        return marked(self.shape, self.stride, shape, stride)

    def key(self) -> tuple[object, ...]:
        """What a kernel specialised on this layout knows: nesting, extents and strides, None where run-time.

        Hashable, and equal for all layouts that one compiled kernel serves.

        >>> small, large = Layout.row_major(4, 5), Layout.row_major(40, 50)
        >>> small.dynamic().key() == large.dynamic().key(), small.key() == large.key()
        (True, False)
        """
        known = [
            tuple(x if is_static(x) and leaf not in marks else None for leaf, x in enumerate(flatten(side)))
            for side, marks in ((self.shape, self.runtime_shape), (self.stride, self.runtime_stride))
        ]
        return (map_leaves(lambda _: 0, self.shape), *known)

    def arguments(self) -> tuple[int, ...]:
        """The marked extents, then the marked strides: what a launch passes to the kernel.

        >>> Layout.row_major(480, 640, 3).dynamic(0, 1).arguments()
        (480, 640, 1920)
        """
        leaves = (*flatten(self.shape), *flatten(self.stride))
        return tuple(leaf for leaf in (leaves[place] for place in self._places()) if is_static(leaf))

    def with_arguments(self, values: Sequence[Any]) -> Layout:
        """The layout that a kernel sees: ``values`` in the places of ``arguments``, no marks.

        Raises:
            CompileError: Not one value for each marked leaf.
        """
        places = self._places()
        if len(values) != len(places):
            wrong(f"{self} takes {len(places)} run-time values, not {len(values)}", "see .arguments()")
        leaves = [*flatten(self.shape), *flatten(self.stride)]
        for place, value in zip(places, values, strict=True):
            leaves[place] = value
        half = len(leaves) // 2
        return Layout(unflatten(leaves[:half], self.shape), unflatten(leaves[half:], self.stride))

    def _places(self) -> list[int]:
        """The marked leaves, counting extents, then strides."""
        count = len(flatten(self.shape))
        return [*sorted(self.runtime_shape), *(count + leaf for leaf in sorted(self.runtime_stride))]

    def __eq__(self, other: object) -> bool:
        """Same nesting, equal ints, the same (identical) run-time values, and the same marks."""
        if not isinstance(other, Layout):
            return NotImplemented
        return (
            (self.runtime_shape, self.runtime_stride) == (other.runtime_shape, other.runtime_stride)
            and same(self.shape, other.shape)
            and same(self.stride, other.stride)
        )

    def __hash__(self) -> int:
        if not self.is_static:
            wrong(f"{self} holds run-time values and cannot be hashed", "use .key(), which leaves them out")
        return hash((self.shape, self.stride, self.runtime_shape, self.runtime_stride))

    def __repr__(self) -> str:
        shape = format_tuple(self.shape, self.runtime_shape)
        return f"({shape}:{format_tuple(self.stride, self.runtime_stride)})"


def make_layout(*layouts: Layout) -> Layout:
    """The layout whose modes are the given ones.

    >>> make_layout(Layout(2, 5), Layout((3, 4)))
    ((2, (3, 4)):(5, (1, 3)))
    """
    return Layout(tuple(part.shape for part in layouts), tuple(part.stride for part in layouts))


@functools.lru_cache(maxsize=4096)
def _row_major(extents: IntTuple) -> Layout:
    """The same layout for the same extents, which launches that were made before are recognised by."""
    return Layout(extents, suffix_product(extents))


@functools.lru_cache(maxsize=4096)
def marked(shape: IntTuple, stride: IntTuple, in_shape: frozenset[int], in_stride: frozenset[int]) -> Layout:
    """The same layout for the same marks, as with ``_row_major``."""
    layout = Layout(shape, stride)
    _set(layout, runtime_shape=in_shape, runtime_stride=in_stride)
    return layout


def _extents(shape: tuple[object, ...]) -> IntTuple:
    """The shape that ``row_major(*shape)`` means: one tuple, or the extents one by one."""
    extents = canonical(shape)
    return extents[0] if is_tuple(extents) and len(extents) == 1 and is_tuple(extents[0]) else extents


def _set(layout: Layout, **fields: object) -> None:
    """Fills fields of a frozen layout that is being made."""
    for name, value in fields.items():
        object.__setattr__(layout, name, value)


tell_of_methods(Layout)
