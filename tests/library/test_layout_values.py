"""Layouts of run-time values: the same offsets, without an operation in vain."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from layout_samples import coordinates, few, layouts, offsets
from run_time_value import Value, operations, plain
from weft.layout import Layout, Swizzle, coalesce, zipped_divide
from weft.layout.algebra.int_tuple import flatten, unflatten
from weft.layout.tensor.partition import distribute, tile


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
