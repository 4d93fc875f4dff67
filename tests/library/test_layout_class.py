"""``Layout`` as a class: makers, modes, what is dynamic; and what it refuses."""

from __future__ import annotations

from typing import Any, cast

import pytest

from run_time_value import Value
from weft.diagnostics import CompileError
from weft.layout import (
    Layout,
    Swizzle,
    complement,
    composition,
    left_inverse,
    make_swizzle,
    sublayout,
    with_shape,
)
from weft.layout.tensor.partition import distribute, tile, vectorize


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
        (lambda: vectorize(Layout.row_major(4, 6), 1, 4), r"past the end: t\.tile\[4, 8\]\(0, 0\)"),
        (lambda: distribute(Layout(10), Layout(4), 0), r"past the end: t\.tile\[12\]\(0\)"),
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
    assert diagnostic.location.file.endswith("test_layout_class.py")
