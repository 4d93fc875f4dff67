"""Divisions, products and partitions of layouts, against enumeration."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from layout_samples import compact, coordinates, few, offsets, sides
from run_time_value import Value, plain
from weft.diagnostics import CompileError
from weft.layout import (
    Layout,
    blocked_product,
    composition,
    idx2crd,
    is_contiguous,
    logical_divide,
    logical_product,
    raked_product,
    tiled_divide,
    zipped_divide,
)
from weft.layout.tensor.partition import distribute, tile, vectorize

# Division and product


@given(compact(), st.data())
@settings(few, max_examples=120)
def test_logical_divide_permutes_into_tiles(layout: Layout, data: st.DataObject) -> None:
    size: int = layout.size()
    count = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    step = data.draw(st.sampled_from([n for n in range(1, size // count + 1) if size // count % n == 0]))
    tiler = Layout(count, step)
    try:
        result = logical_divide(layout, tiler)
    except CompileError:
        return
    assert result.rank == 2
    assert offsets(result[0]) == [layout(tiler(i)) for i in range(count)]
    assert sorted(offsets(result)) == sorted(offsets(layout))


@given(sides, st.booleans())
@few
def test_divides_by_mode(sides: list[tuple[int, int]], row_major: bool) -> None:
    order = Layout.row_major if row_major else Layout.col_major
    layout = order(*(tile * grid for tile, grid in sides))
    sizes = tuple(tile for tile, _ in sides)
    logical, zipped, tiled = (f(layout, sizes) for f in (logical_divide, zipped_divide, tiled_divide))
    assert zipped[0] == composition(layout, sizes)
    tiling = tile(layout, *sizes)
    assert (offsets(tiling.tile), offsets(tiling.grid)) == (offsets(zipped[0]), offsets(zipped[1]))
    assert tiling.exact
    for grid in itertools.product(*(range(grid) for _, grid in sides)):
        for inner in itertools.product(*(range(size) for size in sizes)):
            whole = tuple(g * size + t for g, size, t in zip(grid, sizes, inner, strict=True))
            expected = layout(whole)
            assert logical(tuple(zip(inner, grid, strict=True))) == expected
            assert zipped(inner, grid) == expected
            assert tiled(inner, *grid) == expected
            assert tiling.offset(*grid) + tiling.tile(inner) == expected


@given(compact(3), compact(3))
@settings(few, max_examples=150)
def test_logical_product_repeats(layout: Layout, copies: Layout) -> None:
    try:
        result = logical_product(layout, copies)
    except CompileError:
        return
    assert result[0] == layout
    assert result[1].size() == copies.size()
    both = offsets(result)
    assert len(set(both)) == len(both)
    starts = offsets(result[1])  # the copies lie in the order of the tiler
    assert sorted(range(len(starts)), key=starts.__getitem__) == sorted(
        range(copies.size()), key=offsets(copies).__getitem__
    )


@given(sides, st.booleans(), st.booleans())
@few
def test_blocked_and_raked_products(sides: list[tuple[int, int]], tile_rows: bool, grid_rows: bool) -> None:
    block = (Layout.row_major if tile_rows else Layout.col_major)(*(tile for tile, _ in sides))
    grid = (Layout.row_major if grid_rows else Layout.col_major)(*(grid for _, grid in sides))
    blocked, raked = blocked_product(block, grid), raked_product(block, grid)
    assert blocked.rank == raked.rank == len(sides)
    for g in coordinates(grid.shape):
        for t in coordinates(block.shape):
            expected = block(t) + block.size() * grid(g)
            in_blocks = tuple(y * n + x for (n, _), x, y in zip(sides, t, g, strict=True))
            in_rakes = tuple(x * n + y for (_, n), x, y in zip(sides, t, g, strict=True))
            assert blocked(in_blocks) == raked(in_rakes) == expected


# Partitions


@given(sides, st.data())
@few
def test_distribute_deals_every_element_once(sides: list[tuple[int, int]], data: st.DataObject) -> None:
    """Threads of any compact layout, over rows or columns, in a padded tensor."""
    shape = tuple(n * rest for n, rest in sides)
    layout = data.draw(st.sampled_from([Layout.row_major(shape), Layout.col_major(shape)]))
    order = data.draw(st.permutations(range(len(sides))))
    strides, step = [0] * len(sides), 1
    for mode in order:
        strides[mode], step = step, step * sides[mode][0]
    threads = Layout(tuple(n for n, _ in sides), tuple(strides))
    seen: list[int] = []
    for thread in range(threads.size()):
        part = distribute(layout, threads, thread)
        assert part.fragment.static_shape == tuple(rest for _, rest in sides)
        place = idx2crd(thread, threads.shape, threads.stride)
        assert part.offset == layout(place)
        seen += [part.offset + offset for offset in offsets(part.fragment)]
    assert sorted(seen) == sorted(offsets(layout))


def test_distribute_over_nested_threads() -> None:
    """A warp as 8 quads by 4, as the accumulator of a tensor core lies."""
    threads = Layout(((2, 4), 4), ((16, 4), 1))
    layout = Layout.row_major(16, 8)
    seen: list[int] = []
    for thread in range(32):
        part = distribute(layout, threads, thread)
        seen += [part.offset + offset for offset in offsets(part.fragment)]
    assert sorted(seen) == list(range(128))


def test_distribute_where_one_thread_covers_a_mode() -> None:
    part = distribute(Layout.row_major(4, 8), Layout((1, 8), (0, 1)), Value(5))
    assert plain(part.offset) == 5
    assert part.fragment == Layout((4, 1), (8, 0))


def test_vectorize() -> None:
    vectors = vectorize(Layout.row_major(8, 16), 1, 4)
    assert vectors.layout == Layout((8, 4), (16, 4))
    assert vectors.element == Layout((1, 4), (16, 1))
    assert is_contiguous(vectors.element)
    assert not is_contiguous(vectorize(Layout.row_major(8, 16), 4, 1).element)


def test_tile_of_nested_modes() -> None:
    layout = Layout((9, (4, 8)), (59, (13, 1)))
    tiling = tile(layout, 3, 8)
    for i, j in itertools.product(range(3), range(4)):
        for x, y in itertools.product(range(3), range(8)):
            assert tiling.offset(i, j) + tiling.tile(x, y) == layout(3 * i + x, 8 * j + y)


def test_tiles_at_the_edge_reach_past() -> None:
    tiling = tile(Layout.row_major(10, 8), 4, 4)
    assert tiling.grid == Layout((3, 2), (32, 4))
    assert not tiling.exact
