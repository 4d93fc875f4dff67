"""The layout algebra against enumeration, and against the examples that CuTe's documentation prints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from weft.diagnostics import CompileError
from weft.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    coalesce,
    complement,
    composition,
    crd2idx,
    idx2crd,
    is_contiguous,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    make_swizzle,
    raked_product,
    right_inverse,
    sublayout,
    tiled_divide,
    with_shape,
    zipped_divide,
)
from weft.layout.int_tuple import congruent, flatten, is_tuple, unflatten
from weft.layout.partition import distribute, tile, vectorize

few = settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])


# Layouts by chance


@st.composite
def shapes(draw: st.DrawFn, most: int = 4) -> Any:
    """A shape of a few small leaves, nested by chance."""
    leaves = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most))
    return nest(draw, leaves)


def nest(draw: st.DrawFn, leaves: list[int]) -> Any:
    if len(leaves) == 1:
        return draw(st.sampled_from([leaves[0], (leaves[0],)]))
    cuts = draw(st.lists(st.integers(1, len(leaves) - 1), min_size=1, max_size=2, unique=True))
    edges = [0, *sorted(cuts), len(leaves)]
    parts = (leaves[a:b] for a, b in itertools.pairwise(edges))
    return tuple(part[0] if len(part) == 1 else nest(draw, part) for part in parts)


@st.composite
def layouts(draw: st.DrawFn, most: int = 4) -> Layout:
    """Any layout: offsets may repeat and leave gaps."""
    shape = draw(shapes(most))
    strides = draw(st.lists(st.integers(0, 12), min_size=len(flatten(shape)), max_size=len(flatten(shape))))
    return Layout(shape, unflatten(strides, shape))


@st.composite
def compact(draw: st.DrawFn, most: int = 4) -> Layout:
    """A layout whose offsets are 0 to size - 1, in any order of its leaves."""
    shape = draw(shapes(most))
    leaves = cast("tuple[int, ...]", flatten(shape))
    strides = [0] * len(leaves)
    step = 1
    for leaf in draw(st.permutations(range(len(leaves)))):
        strides[leaf], step = step, step * leaves[leaf]
    return Layout(shape, unflatten(strides, shape))


def offsets(layout: Layout) -> list[int]:
    """The layout as a function of one number."""
    return [layout(i) for i in range(layout.size())]


def coordinates(shape: Any) -> Iterator[Any]:
    """All coordinates nested like ``shape``, leftmost leaf fastest."""
    leaves = cast("tuple[int, ...]", flatten(shape))
    for backwards in itertools.product(*(range(n) for n in reversed(leaves))):
        yield unflatten(tuple(reversed(backwards)), shape)


def dot(a: Any, b: Any) -> int:
    return sum(x * y for x, y in zip(flatten(a), flatten(b), strict=True))


# Coordinates


@given(layouts())
@few
def test_number_and_nested_coordinate_name_the_same_place(layout: Layout) -> None:
    for i, crd in enumerate(coordinates(layout.shape)):
        expected = dot(crd, layout.stride)
        assert layout(crd) == layout(i) == crd2idx(i, layout.shape, layout.stride) == expected
        assert idx2crd(i, layout.shape) == crd
        if layout.rank > 1:
            numbers = [crd2idx(part, mode.shape) for part, mode in zip(crd, layout, strict=True)]
            assert layout(*numbers) == layout(*crd) == expected


@given(compact())
@few
def test_idx2crd_inverts_a_compact_layout(layout: Layout) -> None:
    for crd in coordinates(layout.shape):
        assert idx2crd(layout(crd), layout.shape, layout.stride) == crd


@given(layouts())
@few
def test_sizes(layout: Layout) -> None:
    assert layout.size() == len(list(coordinates(layout.shape)))
    assert layout.cosize() == 1 + max(offsets(layout))
    assert offsets(layout.flatten()) == offsets(layout)
    assert offsets(make_layout(*layout)) == offsets(layout)


# The algebra


@given(layouts())
@few
def test_coalesce_keeps_the_function(layout: Layout) -> None:
    result = coalesce(layout)
    assert offsets(result) == offsets(layout)
    assert not any(is_tuple(mode.shape) for mode in result)
    assert is_contiguous(layout) == (offsets(layout) == list(range(layout.size())))
    by_mode = coalesce(layout, (1,) * layout.rank)
    assert by_mode.rank == layout.rank
    assert offsets(by_mode) == offsets(layout)


@given(layouts(), layouts(3))
@settings(few, max_examples=300)
def test_composition_is_composition_of_functions(layout: Layout, selector: Layout) -> None:
    assume(selector.cosize() <= layout.size())
    try:
        result = composition(layout, selector)
    except CompileError:
        return  # that refusals are due is tested below
    assert result.size() == selector.size()
    assert result.rank == selector.rank or not is_tuple(selector.shape)
    for crd in coordinates(selector.shape):  # also: every coordinate of the selector is one of the result
        assert result(crd) == layout(selector(crd))


@given(compact(), st.data())
@settings(few, max_examples=150)
def test_composition_takes_what_divides(layout: Layout, data: st.DataObject) -> None:
    """CuTe's two divisibility conditions suffice: steps by whole modes and a divisor, then whole modes."""
    extents = cast("tuple[int, ...]", flatten(coalesce(layout).shape))

    def divisor(n: int) -> int:
        return data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))

    first = data.draw(st.integers(0, len(extents) - 1))
    last = data.draw(st.integers(first, len(extents) - 1))
    part = divisor(extents[first])
    step = math.prod(extents[:first]) * part
    count = extents[first] // part
    count = (
        divisor(count)
        if last == first
        else count * math.prod(extents[first + 1 : last]) * divisor(extents[last])
    )
    result = composition(layout, Layout(count, step))
    assert offsets(result) == [layout(i * step) for i in range(count)]


@given(compact(3), st.integers(1, 30))
@few
def test_complement_fills_without_meeting(layout: Layout, factor: int) -> None:
    scaled = Layout(
        layout.shape, unflatten([cast("int", d) * 2 for d in flatten(layout.stride)], layout.shape)
    )
    for tiled in (layout, scaled):
        size = factor * 4
        rest = complement(tiled, size)
        both = offsets(make_layout(tiled, rest))
        assert len(set(both)) == len(both)
        assert max(both) + 1 >= size
        assert offsets(rest) == sorted(set(offsets(rest)))
        assert rest.cosize() <= -(-size // tiled.cosize()) * tiled.cosize()


@given(layouts())
@settings(few, max_examples=200)
def test_complement_is_disjoint_or_refused(layout: Layout) -> None:
    try:
        rest = complement(layout, 40)
    except CompileError:
        return
    firsts = set(offsets(layout))
    assert all(offset not in firsts for offset in offsets(rest) if offset)


@given(layouts())
@few
def test_right_inverse(layout: Layout) -> None:
    inverse = right_inverse(layout)
    assert all(layout(inverse(i)) == i for i in range(inverse.size()))


@given(compact())
@few
def test_a_compact_layout_is_inverted_whole(layout: Layout) -> None:
    assert right_inverse(layout).size() == layout.size()
    inverse = left_inverse(layout)
    assert [inverse(offset) for offset in offsets(layout)] == list(range(layout.size()))


@given(layouts())
@settings(few, max_examples=150)
def test_left_inverse_inverts_or_refuses(layout: Layout) -> None:
    assume(0 not in flatten(layout.stride) or layout.size() == 1)
    try:
        inverse = left_inverse(layout)
    except CompileError:
        return
    assert [inverse(offset) for offset in offsets(layout)] == list(range(layout.size()))


@given(compact(), st.data())
@few
def test_with_shape_keeps_the_order(layout: Layout, data: st.DataObject) -> None:
    size: int = layout.size()
    first = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    try:
        result = with_shape(layout, first, size // first)
    except CompileError:
        return
    assert result.static_shape == (first, size // first)
    assert offsets(result) == offsets(layout)


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


sides = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3)


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
    assert tiling.full_grid == Layout((2, 2), (32, 4))
    assert not tiling.exact


# Swizzles


@given(st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4))
@few
def test_swizzle_is_a_permutation_of_its_blocks(bits: int, base: int, shift: int) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    size = swizzle.size()
    image = [swizzle(i) for i in range(2 * size)]
    assert sorted(image) == list(range(2 * size))
    assert [swizzle(i) for i in image] == list(range(2 * size))
    assert all(i // swizzle.block == image[i] // swizzle.block for i in range(2 * size))
    assert all(image[i + k] == image[i] + k for i in range(0, size, 1 << base) for k in range(1 << base))


@given(layouts(), st.integers(0, 3), st.integers(0, 2), st.integers(-3, 3), st.integers(0, 5))
@few
def test_composed_layout_fits_its_cosize(
    layout: Layout, bits: int, base: int, shift: int, start: int
) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    composed = ComposedLayout(layout, swizzle, start)
    for i in range(layout.size()):
        assert composed(i) == swizzle(start + layout(i)) < composed.cosize()


def test_swizzle_128b() -> None:
    """64 half-precision numbers a row, 8 at once: no two of 8 rows meet in a bank group."""
    tile = ComposedLayout(Layout.row_major(8, 64), make_swizzle(num_rows=8, row_size=64, access_size=8))
    assert tile.swizzle == Swizzle(3, 3, 3)
    for column in range(0, 64, 8):
        assert len({tile(row, column) // 8 % 8 for row in range(8)}) == 8


# CuTe's documentation, worked examples


def L(shape: Any, stride: Any = None) -> Layout:
    return Layout(shape, stride)


CUTE: list[tuple[str, Layout, str]] = [
    ("coalesce", coalesce(L((2, (1, 6)), (1, (6, 2)))), "(12:1)"),
    ("coalesce by mode", coalesce(L((2, (1, 6)), (1, (6, 2))), (1, 1)), "((2, 6):(1, 2))"),
    ("composition 1", composition(L((6, 2), (8, 2)), L((4, 3), (3, 1))), "(((2, 2), 3):((24, 2), 8))"),
    ("composition 2", composition(L(20, 2), L((5, 4), (4, 1))), "((5, 4):(8, 2))"),
    ("composition 3", composition(L((10, 2), (16, 4)), L((5, 4), (1, 5))), "((5, (2, 2)):(16, (80, 4)))"),
    (
        "composition by mode",
        composition(L((12, (4, 8)), (59, (13, 1))), (L(3, 4), L(8, 2))),
        "((3, (2, 4)):(236, (26, 1)))",
    ),
    (
        "composition by shape",
        composition(L((12, (4, 8)), (59, (13, 1))), (3, 8)),
        "((3, (4, 2)):(59, (13, 1)))",
    ),
    ("complement 1", complement(L(4, 1), 24), "(6:4)"),
    ("complement 2", complement(L(6, 4), 24), "(4:1)"),
    ("complement 3", complement(L((4, 6), (1, 4)), 24), "(1:0)"),
    ("complement 4", complement(L(4, 2), 24), "((2, 3):(1, 8))"),
    ("complement 5", complement(L((2, 4), (1, 6)), 24), "(3:2)"),
    ("complement 6", complement(L((2, 2), (1, 6)), 24), "((3, 2):(2, 12))"),
    (
        "divide 1",
        logical_divide(L((4, 2, 3), (2, 1, 8)), L(4, 2)),
        "(((2, 2), (2, 3)):((4, 1), (2, 8)))",
    ),
    (
        "divide 2, the tile",
        zipped_divide(L((9, (4, 8)), (59, (13, 1))), (L(3, 3), L((2, 4), (1, 8))))[0],
        "((3, (2, 4)):(177, (13, 2)))",
    ),
    ("product 1", logical_product(L((2, 2), (4, 1)), L(6, 1)), "(((2, 2), (2, 3)):((4, 1), (2, 8)))"),
    (
        "blocked product",
        blocked_product(L((2, 5), (5, 1)), L((3, 4), (1, 3))),
        "((6, (5, 4)):(5, (1, 30)))",
    ),
    (
        "raked product",
        raked_product(L((2, 5), (5, 1)), L((3, 4), (1, 3))),
        "(((3, 2), (4, 5)):((10, 5), (30, 1)))",
    ),
]


@pytest.mark.parametrize(("result", "expected"), [row[1:] for row in CUTE], ids=[row[0] for row in CUTE])
def test_worked_examples(result: Layout, expected: str) -> None:
    assert repr(result) == expected


def test_coordinates_as_documented() -> None:
    shape = (3, (2, 3))
    assert idx2crd(16, shape) == idx2crd((1, 5), shape) == idx2crd((1, (1, 2)), shape) == (1, (1, 2))
    layout = L(shape, (3, (12, 1)))
    assert layout(16) == layout(1, 5) == layout(1, (1, 2)) == 17
    assert offsets(L((2, (2, 2)), (4, (2, 1)))) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert congruent(shape, layout.stride)


# The class


def test_orders_and_modes() -> None:
    image = Layout.row_major(480, 640, 3)
    assert (image.shape, image.stride) == ((480, 640, 3), (1920, 3, 1))
    assert image(1, 2, 0) == 1926
    assert Layout.col_major((2, (3, 4))).stride == (1, (2, 6))
    assert Layout.row_major(8).shape == (8,)
    assert Layout.row_major([2, 3]) == Layout.row_major(2, 3)
    assert image[-1] == Layout(3, 1)
    assert sublayout(image, 2, 0) == Layout((3, 480), (1, 1920))
    assert image.group(1, 3).shape == (480, (640, 3))
    assert image.group(1, 3).static_shape == (480, 1920)
    assert image.append(Layout(2, 5)).rank == 4
    assert len({image, Layout.row_major(480, 640, 3), image.dynamic()}) == 2
    with pytest.raises(AttributeError):
        image.shape = (1,)  # pyright: ignore[reportAttributeAccessIssue]


def test_empty_and_negative() -> None:
    assert Layout.row_major(0, 3).cosize() == 0
    assert Layout(4, -1).cosize() == 4
    assert [Layout(4, -1)(i) for i in range(4)] == [0, -1, -2, -3]


def test_dynamic_marks_what_follows() -> None:
    assert repr(Layout.row_major(4, 5, 3).dynamic()) == "((4?, 5?, 3?):(15?, 3?, 1))"
    assert repr(Layout.row_major(4, 5, 3).dynamic(0)) == "((4?, 5, 3):(15, 3, 1))"
    assert repr(Layout.row_major(4, 5, 3).dynamic(0, 1)) == "((4?, 5?, 3):(15?, 3, 1))"
    assert repr(Layout.row_major(4, 5, 3).dynamic(0).dynamic(-1)) == "((4?, 5, 3?):(15?, 3?, 1))"
    assert repr(Layout.col_major(4, 5).dynamic(0)) == "((4?, 5):(1, 4?))"
    assert repr(Layout((4, 5), (8, 1)).dynamic(0)) == "((4?, 5):(8, 1))"
    assert repr(Layout((4, 5), (0, 1)).dynamic()) == "((4?, 5?):(0, 1))"
    # an extent of 1 makes strides equal; which of them is the fast one does not depend on that
    assert repr(Layout.row_major(5, 1).dynamic(0)) == "((5?, 1):(1, 1))"
    assert repr(Layout.row_major(1, 1).dynamic()) == "((1?, 1?):(1?, 1))"
    assert repr(Layout.col_major(1, 5).dynamic()) == "((1?, 5?):(1, 1?))"


def test_arguments_round_trip() -> None:
    layout = Layout.row_major(4, (5, 3)).dynamic()
    assert layout.arguments() == (4, 5, 3, 15, 3)
    assert layout.with_arguments(layout.arguments()) == Layout.row_major(4, (5, 3))
    inside = layout.with_arguments([Value(n) for n in layout.arguments()])
    assert not inside.is_static
    assert repr(inside) == "((?, (?, ?)):(?, (?, 1)))"
    assert inside.key() == layout.key()
    with pytest.raises(CompileError, match="5 run-time values, not 1"):
        layout.with_arguments([1])


# Run-time values


class Value:
    """A number that only arithmetic may look at; counts the operations on it."""

    count = 0
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a run-time value was compared")

    def __bool__(self) -> bool:
        raise AssertionError("a run-time value was tested")

    def __index__(self) -> int:
        raise AssertionError("a run-time value was used as an int")

    @staticmethod
    def make(number: int) -> Value:
        Value.count += 1
        return Value(number)

    def __add__(self, other: Any) -> Value:
        return Value.make(self.number + plain(other))

    def __sub__(self, other: Any) -> Value:
        return Value.make(self.number - plain(other))

    def __rsub__(self, other: Any) -> Value:
        return Value.make(plain(other) - self.number)

    def __mul__(self, other: Any) -> Value:
        return Value.make(self.number * plain(other))

    def __floordiv__(self, other: Any) -> Value:
        return Value.make(self.number // plain(other))

    def __rfloordiv__(self, other: Any) -> Value:
        return Value.make(plain(other) // self.number)

    def __mod__(self, other: Any) -> Value:
        return Value.make(self.number % plain(other))

    def __rmod__(self, other: Any) -> Value:
        return Value.make(plain(other) % self.number)

    def __and__(self, other: Any) -> Value:
        return Value.make(self.number & plain(other))

    def __xor__(self, other: Any) -> Value:
        return Value.make(self.number ^ plain(other))

    def __rshift__(self, other: Any) -> Value:
        return Value.make(self.number >> plain(other))

    def __lshift__(self, other: Any) -> Value:
        return Value.make(self.number << plain(other))

    __radd__ = __add__
    __rmul__ = __mul__


def plain(value: Any) -> Any:
    """A result with its run-time values read."""
    if isinstance(value, tuple):
        return tuple(plain(part) for part in cast("tuple[Any, ...]", value))
    return value.number if isinstance(value, Value) else value


def operations(function: Any, *arguments: Any) -> int:
    Value.count = 0
    function(*arguments)
    return Value.count


@given(layouts(), st.data())
@few
def test_run_time_values_give_the_same_offsets(layout: Layout, data: st.DataObject) -> None:
    def veil(side: Any) -> Any:
        return unflatten(
            [Value(n) if data.draw(st.booleans()) else n for n in cast("Any", flatten(side))], side
        )

    veiled = Layout(veil(layout.shape), veil(layout.stride))
    assert plain(veiled.size()) == layout.size()
    assert plain(veiled.cosize()) == layout.cosize()
    for i, crd in enumerate(coordinates(layout.shape)):
        assert plain(veiled(i)) == plain(veiled(Value(i))) == plain(veiled(crd)) == layout(i)
    again = coalesce(veiled)
    assert [plain(again(i)) for i in range(layout.size())] == offsets(layout)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
@few
def test_tiles_of_run_time_extents(rows: int, columns: int, m: int, n: int) -> None:
    known = tile(Layout.row_major(rows, columns), m, n)
    height, width = Value(rows), Value(columns)
    tiling = tile(Layout((height, width), (width, 1)), m, n)
    assert plain(tiling.grid.shape) == known.grid.shape
    assert plain(tiling.full_grid.shape) == known.full_grid.shape
    assert plain(tiling.offset(Value(1), 2)) == known.offset(1, 2)
    assert tiling.tile.static_shape == (m, n)
    divided = zipped_divide(Layout((height, width), (width, 1)), (m, n))
    assert plain(divided.shape) == zipped_divide(Layout.row_major(rows, columns), (m, n)).shape
    assert not tiling.exact or m == n == 1


def test_no_operation_is_emitted_in_vain() -> None:
    i, j, k = Value(1), Value(2), Value(3)
    image = Layout.row_major(480, 640, 3)
    assert operations(image, i, j, k) == 4  # two products, two sums
    assert operations(image, i, 0, 0) == 1
    assert operations(image, 0, 0, k) == 0
    assert operations(Layout.col_major(4, 8), i) == 0  # one number through a compact layout
    assert operations(Layout.row_major(Value(480), Value(640), 3), i, j, k) == 4  # strides were made before
    assert operations(tile, Layout.row_major(Value(8), 8), 4, 4) == 0
    assert operations(tile(Layout.row_major(Value(8), 8), 4, 4).offset, i, j) == 3
    assert operations(distribute, Layout.row_major(8, 8), Layout.row_major(1, 8), i) == 1  # i % 8
    assert operations(Swizzle(0, 4, 3), i) == 0
    assert operations(Swizzle(3, 4, 3), i) == 3


# Refusals


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (lambda: Layout((2, 3), (1,)), "nest differently"),
        (lambda: Layout((2, -3)), "negative extent"),
        (lambda: Layout((2, 3.0)), "no integer extent"),
        (lambda: Layout((2, True)), "truth value"),
        (lambda: Layout((2, "x")), "no integer extent"),
        (lambda: Layout((2, None)), "no integer extent"),
        (lambda: Layout.row_major(2, 3)(1, 2, 3), "has 3 parts"),
        (lambda: Layout.row_major(2, 3)((1, 1), 2), "has parts where"),
        (lambda: Layout.row_major(2, 3)[2], "no mode 2"),
        (lambda: Layout.row_major(2, 3).dynamic(5), "no mode 5"),
        (lambda: Layout((Value(2), 3)).dynamic(), "already holds"),
        (lambda: hash(Layout((Value(2), 3))), "cannot be hashed"),
        (lambda: Layout((Value(2), 3)).static_shape, "run-time extents"),
        (lambda: composition(Layout((6, 2), (8, 2)), Layout(3, 4)), "do not divide a mode of 6"),
        (lambda: composition(Layout((6, 2), (8, 2)), Layout((2, 2), (5, 1))), "step over the end"),
        (lambda: composition(Layout((Value(6), 2), (8, 2)), 3), "known at run time only"),
        (lambda: composition(Layout(6), (2, 3)), "1 modes; 2 were named"),
        (lambda: complement(Layout((2, 2), (1, 1)), 8), "overlap"),
        (lambda: complement(Layout(Value(4), 1), 8), "known now"),
        (lambda: left_inverse(Layout((2, 2), (1, 5))), "do not divide each other"),
        (lambda: with_shape(Layout(12), 5, 2), "12 elements; the new shape has 10"),
        (lambda: tile(Layout.row_major(4, 4), 2), "1 sizes for the 2 modes"),
        (lambda: tile(Layout(4), 0), "no tile size"),
        (lambda: tile(Layout(4), cast("Any", Value(2))), "no tile size"),
        (lambda: tile(Layout.row_major(4, 4), 2, 2).offset(1), "1 numbers name a tile"),
        (lambda: vectorize(Layout.row_major(4, 6), 1, 4), "pad the mode to 8"),
        (lambda: distribute(Layout(10), Layout(4), 0), "pad the mode to 12"),
        (lambda: distribute(Layout((4, 4)), Layout(4), 0), "2 modes"),
        (lambda: distribute(Layout(Value(4)), Layout(4), 0), "run time only"),
        (lambda: distribute(Layout(4), Layout(4, 2), 0), "without gaps"),
        (lambda: Swizzle(3, 0, 2), "overlap"),
        (lambda: make_swizzle(num_rows=6, row_size=8, access_size=1), "no power of two"),
    ],
)
def test_refusals_say_what_and_where(request_: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        request_()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.hints
    assert diagnostic.location is not None
    assert diagnostic.location.file.endswith("test_layout_algebra.py")
