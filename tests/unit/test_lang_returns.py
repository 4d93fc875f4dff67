"""``-> T`` on a @func: what it returns becomes a T, as ``y: T = x`` makes it one."""

# What weft converts is of another type to pyright, which knows of no conversions.
# pyright: reportReturnType=false

from __future__ import annotations

from typing import Any

import numpy as np

from weft import SIMD, Bool, Float32, Float64, Int, Int32, Integer, Number, Pointer, func, struct


@func
def widened(x: Float32) -> Float64:
    return x


@func
def a_third(x: Float32):
    return widened(x) / 3.0


@func
def early(x: Float32) -> Float64:
    if x > 0.0:
        return 0.1
    return x


@func
def both(x: Float32) -> tuple[Float64, Int]:
    return x, 2


@func
def lanes(x: Float32) -> SIMD[Float32, 4]:
    return x


@func
def open_lanes(x: Float32) -> SIMD[Float64, ...]:
    return Float32.splat(2, x)


@func
def flag() -> Bool:
    return 1


@func
def nothing(p: Pointer[Float32]) -> None:
    p[0] = 1.0


@func
def anything(x: Float32) -> Any:
    return x, x


@func
def pythons(x: Float32) -> float:
    return x


def test_a_result_is_widened() -> None:
    assert a_third(1.0) == 1.0 / 3.0
    assert [early(1.0), early(-2.5)] == [0.1, -2.5]
    assert both(1.5) == (1.5, 2)
    assert lanes(2.0) == (2.0,) * 4
    assert open_lanes(0.5) == (0.5, 0.5)
    assert flag() is True
    assert anything(1.5) == (1.5, 1.5)
    assert pythons(1.5) == 1.5


@func
def three() -> Int:
    return 3


@func
def known(x: Int32):
    return [10, 20, 30, 40][three()] + three() + x


def test_a_literal_takes_the_annotated_type_and_stays_known() -> None:
    assert known(2**31 - 1) == 43 + 2**31 - 1  # an Int, which wraps later than Int32


def test_structs_of_a_function_are_found_by_their_names() -> None:
    @struct
    class Local:
        m: Float32

        def __add__(self, other: Local) -> Local:
            return Local(self.m + other.m)

        def halves(self) -> tuple[Local, "Local"]:  # noqa: UP037  (a string within)
            return Local(self.m * 0.5), Local(self.m * 0.5)

    @func
    def total(a: Any, c: Any) -> Any:
        first, second = a.halves()
        return first + second + c

    assert total(Local(Float32(1.0)), Local(Float32(2.5))).m == 3.5


def test_nothing_is_returned() -> None:
    held = np.zeros(1, np.float32)
    assert nothing(held) is None
    assert held[0] == 1.0


@func
def halved(x: Number) -> Number:
    if isinstance(x, Integer):
        whole: Integer = x
        return whole // 2
    return x / 2


@func
def floor_half(x: Integer) -> Integer:
    return halved(x)


def test_a_class_of_types_leaves_each_what_it_is() -> None:
    assert (floor_half(7), floor_half(np.uint8(255)), halved(3.0)) == (7 // 2, 255 // 2, 3.0 / 2)
