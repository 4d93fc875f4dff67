"""How a tensor's layout splits: into tiles, into vectors, over threads.

These compute what ``LayoutTensor.tile``, ``.vectorize`` and ``.distribute`` need: layouts, and
offsets in elements. Extents may be run-time values where a mode is one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.layout.algebra.coordinates import idx2crd
from weft.layout.algebra.divide import logical_divide
from weft.layout.algebra.divisions import coalesce
from weft.layout.algebra.int_tuple import flatten, is_tuple, prefix_product, product
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.values import Scalar, add, ceildiv, is_static, mul, wrong
from weft.record import record


@record(eq=False)
class Tiles:
    """A layout split into tiles of a static size."""

    layout: Layout
    """What was split."""
    sizes: tuple[int, ...]
    """Extent of a tile along each mode, in elements."""
    tile: Layout
    """The elements of one tile, from its first element."""
    steps: tuple[Layout | Scalar, ...]
    """For each mode the distance from tile to tile, or the layout of the tiles of a nested mode."""

    def offset(self, *coordinate: Any) -> Any:
        """Where the tile of a coordinate starts, in elements: one number for each mode.

        Raises:
            CompileError: Not one number for each mode.
        """
        if len(coordinate) != len(self.steps):
            wrong(
                f"{len(coordinate)} numbers name a tile of {self.layout}; it has {len(self.steps)} modes",
                "give the tile's place along each mode",
            )
        result: Scalar = 0
        for place, step in zip(coordinate, self.steps, strict=True):
            result = add(result, step(place) if isinstance(step, Layout) else mul(place, step))
        return result

    @property
    def grid(self) -> Layout:
        """The layout of the tiles: from a tile's coordinate to its offset. Tiles at the edge count whole."""
        modes = (
            step if isinstance(step, Layout) else Layout(ceildiv(product(mode.shape), size), step)
            for mode, size, step in zip(self.layout, self.sizes, self.steps, strict=True)
        )
        return make_layout(*modes)

    @property
    def exact(self) -> bool:
        """Whether it is known that no tile reaches past the layout's end."""
        extents = (product(mode.shape) for mode in self.layout)
        return all(fit(n, size) for n, size in zip(extents, self.sizes, strict=True))


def fit(extent: Scalar, size: int) -> bool:
    """Whether it is known that all tiles of a size are whole, and that there is one."""
    return is_static(extent) and extent > 0 and extent % size == 0


def tile(layout: Layout, *sizes: int) -> Tiles:
    """Splits ``layout`` into tiles of ``sizes`` elements, one size for each mode.

    Where the sizes do not divide the extents, the tiles at the edge reach past the end
    (``Tiles.exact`` is False), and whoever accesses them must guard.

    Raises:
        CompileError: Not one size for each mode, a size below 1 or not static, or a nested mode with
            run-time extents.

    >>> tiling = tile(Layout.row_major(16, 32), 4, 8)
    >>> tiling.tile, tiling.grid, tiling.offset(1, 2), tiling.exact
    (((4, 8):(32, 1)), ((4, 4):(128, 8)), 144, True)
    """
    if len(sizes) != layout.rank:
        wrong(
            f"{layout} has {layout.rank} modes; {len(sizes)} sizes were given", "give one size for each mode"
        )
    tiles: list[Layout] = []
    steps: list[Layout | Scalar] = []
    for mode, size in zip(layout, sizes, strict=True):
        if not is_static(size) or size < 1:
            wrong(
                f"{size if is_static(size) else 'a run-time value'} is no tile size", "sizes are ints from 1"
            )
        if is_tuple(mode.shape) or is_tuple(mode.stride):
            split = logical_divide(mode, size)
            tiles.append(split[0])
            steps.append(split[1])
        else:
            tiles.append(Layout(size, mode.stride))
            steps.append(mul(size, mode.stride))
    return Tiles(layout, sizes, make_layout(*tiles), tuple(steps))


@record
class Vectorized:
    """A layout whose elements are vectors."""

    layout: Layout
    """From a vector's coordinate to the offset of its first element, in elements."""
    element: Layout
    """The elements of one vector, from its first."""


def vectorize(layout: Layout, *sizes: int) -> Vectorized:
    """``layout`` as a layout of vectors of ``sizes`` elements along each mode.

    Along run-time extents the last vector may reach past the end.

    Raises:
        CompileError: As ``tile``, or a size does not divide a static extent.

    >>> vectors = vectorize(Layout.row_major(16, 32), 1, 4)
    >>> vectors.layout, vectors.element
    (((16, 8):(32, 4)), ((1, 4):(32, 1)))
    """
    tiling = tile(layout, *sizes)
    _divides(layout, sizes, "vectors of")
    return Vectorized(tiling.grid, tiling.tile)


@record(eq=False)
class Distributed:
    """The part of a layout that one thread works on."""

    fragment: Layout
    """The thread's elements, from its first."""
    offset: Any
    """Where its first element lies, in elements."""
    places: tuple[Any, ...] = ()
    """The thread's place along each mode."""


def distribute(layout: Layout, threads: Layout, thread: Any) -> Distributed:
    """Deals the elements of ``layout`` to threads, neighbours to neighbours, round after round.

    Thread ``t`` stands at the coordinate of ``threads`` whose offset is ``t``, takes the element at
    that coordinate, and then those at distances of ``threads``' extents along each mode. Numbers from
    ``threads.size()`` on start over from 0.

    Args:
        layout: Extents static, strides as you like.
        threads: As many modes as ``layout``, static, numbering its threads 0 to size - 1 without gaps.
        thread: The thread's number; an int or a run-time value.

    Raises:
        CompileError: Ranks differ, extents do not divide, or ``threads`` leaves gaps.

    >>> part = distribute(Layout.row_major(8, 16), Layout.row_major(2, 4), thread=5)
    >>> part.fragment, part.offset
    (((4, 4):(32, 4)), 17)
    """
    if layout.rank != threads.rank:
        wrong(
            f"{layout} has {layout.rank} modes, the threads {threads} have {threads.rank}",
            "lay out the threads along as many modes, with extent 1 where one thread covers a mode",
        )
    if not layout.is_static_shape:
        wrong(f"the extents of {layout} are known at run time only", "distribute a tile of static size")
    sizes = threads.static_shape
    tiling = tile(layout, *sizes)
    _divides(layout, sizes, "threads:")
    _numbers_all(threads)
    offset: Scalar = 0
    places: list[Scalar] = []
    for mode, lanes in zip(tiling.tile, threads, strict=True):
        place: Scalar = 0
        digits = flatten(idx2crd(thread, lanes.shape, lanes.stride))
        for digit, weight in zip(digits, flatten(prefix_product(lanes.shape)), strict=True):
            place = add(place, mul(digit, weight))
        offset = add(offset, mode(place))
        places.append(place)
    return Distributed(coalesce(tiling.grid, (1,) * layout.rank), offset, tuple(places))


def _divides(layout: Layout, sizes: tuple[int, ...], what: str) -> None:
    for mode, (part, size) in enumerate(zip(layout, sizes, strict=True)):
        extent = product(part.shape)
        if is_static(extent) and extent % size:
            wrong(
                f"mode {mode} of {layout} has {extent} elements, which {what} {size} do not divide",
                f"use a divisor of {extent}, or take a tile that reaches past the end: "
                f"t.tile[{', '.join(map(str, _rounded(layout, sizes)))}]({', '.join('0' * len(sizes))})",
            )


def _rounded(layout: Layout, sizes: tuple[int, ...]) -> Iterator[Any]:
    """The extents of a tile that holds all of a layout, and of which each is a multiple of a size."""
    for part, size in zip(layout, sizes, strict=True):
        extent = product(part.shape)
        yield -(-extent // size) * size if is_static(extent) else "n"


def _numbers_all(threads: Layout) -> None:
    if not threads.is_static:
        wrong(f"the threads {threads} are laid out by run-time values", "use a static layout of threads")
    leaves = zip(flatten(threads.stride), flatten(threads.shape), strict=True)
    expected = 1
    for stride, extent in sorted((s, n) for s, n in leaves if is_static(s) and is_static(n) and n != 1):
        if stride != expected:
            wrong(
                f"the threads {threads} are not numbered 0 to {threads.size() - 1} without gaps",
                "use Layout.row_major(...) or Layout.col_major(...)",
            )
        expected *= extent
