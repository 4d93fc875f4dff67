"""The layout algebra against enumeration, and against the examples that CuTe's documentation prints."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layout_samples import compact, coordinates, dot, few, layouts, offsets
from weft.diagnostics import CompileError
from weft.layout import (
    Layout,
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
    raked_product,
    right_inverse,
    with_shape,
    zipped_divide,
)
from weft.layout.algebra.int_tuple import congruent, flatten, is_tuple, unflatten

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
