"""Division and product of layouts: splitting a layout into tiles, repeating a layout as a tile.

Source: CuTe's layout algebra (NVIDIA CUTLASS, ``media/docs/cpp/cute/02_layout_algebra.md``).
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.layout.algebra.divisions import (
    Tiler,
    as_layout,
    by_mode,
    coalesce,
    complement,
    composition,
    first_modes,
)
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.values import mul


def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """``layout`` as tiles: mode 0 runs within a tile, mode 1 over the tiles; by mode if ``tiler`` is a tuple.

    Where tiles do not divide the layout, the last ones reach past its end.

    Args:
        layout: What ``composition`` takes: run-time extents where a mode is one number.
        tiler: Static; a number ``n`` tiles ``n`` neighbours.

    Raises:
        CompileError: No strides describe the tiles, or the numbers that decide it are not static.

    >>> logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2))
    (((2, 2), (2, 3)):((4, 1), (2, 8)))
    >>> logical_divide(Layout.row_major(16, 32), (4, 8))
    (((4, 4), (8, 4)):((32, 128), (1, 8)))
    """
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, layout, tiler)
    tile = as_layout(tiler)
    return composition(layout, make_layout(tile, complement(tile, layout.size())))


def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Like ``logical_divide``, with all tile modes in mode 0 and all others in mode 1.

    Mode 0 is ``composition(layout, tiler)``.

    >>> zipped_divide(Layout.row_major(16, 32), (4, 8))
    (((4, 8), (4, 4)):((32, 1), (128, 8)))
    """
    if not isinstance(tiler, tuple):
        return logical_divide(layout, tiler)
    modes = first_modes(layout, len(tiler))
    halves = [
        make_layout(Layout(1, 0), mode) if part is None else zipped_divide(mode, part)
        for mode, part in zip(modes, tiler, strict=True)
    ]
    rest = (*(half[1] for half in halves), *list(layout)[len(tiler) :])
    return make_layout(make_layout(*(half[0] for half in halves)), make_layout(*rest))


def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """Like ``zipped_divide``, with the modes over the tiles side by side.

    >>> tiled_divide(Layout.row_major(16, 32), (4, 8))
    (((4, 8), 4, 4):((32, 1), 128, 8))
    """
    zipped = zipped_divide(layout, tiler)
    return make_layout(zipped[0], *zipped[1])


def logical_product(layout: Layout, tiler: Tiler) -> Layout:
    """``layout`` repeated: mode 0 is ``layout``, mode 1 runs over its copies in the order of ``tiler``.

    Args:
        layout: Static, with distinct offsets.
        tiler: How many copies, and in which order they lie; by mode if a tuple.

    Raises:
        CompileError: As ``complement`` and ``composition``.

    >>> logical_product(Layout((2, 2), (4, 1)), 6)
    (((2, 2), (2, 3)):((4, 1), (2, 8)))
    """
    if isinstance(tiler, tuple):
        return by_mode(logical_product, layout, tiler)
    copies = as_layout(tiler)
    room = complement(layout, mul(layout.size(), copies.cosize()))
    return make_layout(layout, composition(room, copies))


def blocked_product(tile: Layout, grid: Layout) -> Layout:
    """``tile`` as a block, blocks laid out as ``grid``; mode by mode, so a matrix of tiles is a matrix.

    >>> blocked_product(Layout.row_major(2, 5), Layout.col_major(3, 4))
    ((6, (5, 4)):(5, (1, 30)))
    """
    return make_layout(*(coalesce(make_layout(a, b)) for a, b in _product_modes(tile, grid)))


def raked_product(tile: Layout, grid: Layout) -> Layout:
    """Like ``blocked_product``, with the copies of ``tile`` interleaved (a cyclic distribution).

    >>> raked_product(Layout.row_major(2, 5), Layout.col_major(3, 4))
    (((3, 2), (4, 5)):((10, 5), (30, 1)))
    """
    return make_layout(*(coalesce(make_layout(b, a)) for a, b in _product_modes(tile, grid)))


def _product_modes(tile: Layout, grid: Layout) -> Iterable[tuple[Layout, Layout]]:
    """The modes of the tile and of the grid in ``tile * grid``, as many as the wider one had."""
    count = max(tile.rank, grid.rank)
    unit = Layout(1, 0)
    tile, grid = (make_layout(*part, *[unit] * (count - part.rank)) for part in (tile, grid))
    return zip(*logical_product(tile, grid), strict=True)
