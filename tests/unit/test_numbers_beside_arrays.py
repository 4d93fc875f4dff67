"""Numbers of weft's beside NumPy's arrays on the host: what NumPy has of a number of the same type."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np
import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    CompileError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    UInt8,
    UInt64,
    func,
)
from weft.complex import ComplexFloat32, ComplexFloat64

KINDS: list[tuple[Any, Any]] = [
    *((Float16, np.float16), (Float32, np.float32), (Float64, np.float64)),
    *((Int8, np.int8), (Int32, np.int32), (Int, np.int64), (UInt8, np.uint8), (UInt64, np.uint64)),
]
FLOATS, INTEGERS = np.array([1.5, -2.25, 7.0]), np.array([3, 5, 9], np.int16)
ARRAYS = [
    FLOATS,
    INTEGERS,
    np.array([1, 2, 250], np.uint8),
    FLOATS.astype(np.float32),
    INTEGERS.reshape(3, 1),
]
OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "ge", "eq"]


@pytest.mark.parametrize(("kind", "plain"), KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(kind: Any, plain: Any, name: str) -> None:
    operation = getattr(operator, name)
    with np.errstate(all="ignore"):
        for array in ARRAYS:
            for found, right in (
                (operation(array, kind(3)), operation(array, plain(3))),
                (operation(kind(3), array), operation(plain(3), array)),
            ):
                assert found.dtype == right.dtype
                np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("kind", "plain"), KINDS)
def test_made_into_arrays(kind: Any, plain: Any) -> None:
    for made, right in (
        (np.asarray(kind(3)), np.asarray(plain(3))),
        (np.array([kind(1), kind(2)]), np.array([1, 2], plain)),
        (np.full(2, kind(7)), np.full(2, plain(7))),
        (np.sqrt(kind(9)), np.sqrt(plain(9))),
    ):
        assert made.dtype == right.dtype
        np.testing.assert_array_equal(made, right)


def test_others() -> None:
    array, simd = np.array([1.0, 2.0], np.float32), cast("Any", SIMD)
    pairs: list[tuple[Any, Any]] = [
        (array * BFloat16(1.5), array * np.float32(1.5)),
        (array * simd[Float32, 2](3, 5), np.array([3, 10], np.float32)),
        (np.array([1, 2]) * Bool(True), np.array([1, 2])),
        (np.asarray(simd[Int32, 4](1, 2, 3, 4), np.float64), np.array([1.0, 2, 3, 4])),
    ]
    for found, right in pairs:
        assert found.dtype == right.dtype
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("kind", "plain"), [(ComplexFloat32, np.complex64), (ComplexFloat64, np.complex128)])
def test_complex_numbers(kind: Any, plain: Any) -> None:
    number, right = kind(1.5, -2), plain(1.5 - 2j)
    for array in (*ARRAYS, np.array([1j, np.inf + 0j])):
        for name in ("add", "sub", "mul", "truediv", "eq", "ne"):
            operation = getattr(operator, name)
            with np.errstate(all="ignore"):
                pairs = [(operation(array, number), operation(array, right))]
                pairs.append((operation(number, array), operation(right, array)))
            for found, wanted in pairs:
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)
    assert np.array([number, number]).dtype == plain
    assert complex(np.asarray(kind(1, np.inf))[()]).imag == np.inf


def test_numbers_of_numpy_beside_them_are_literals() -> None:
    numbers: list[Any] = [np.float32(3), np.float64(3), np.int64(3)]
    for found in [number * Float32(2) for number in numbers]:
        assert type(found) is Float32
        assert found == 6


def test_rounded_to_digits_and_powers_modulo() -> None:
    for x in (2.567, -0.15, 1e10, 3.0):
        number: Any = Float32(x)
        assert round(number, 1) == Float32(round(float(number), 1))
        assert type(round(number, 1)) is Float32
    whole: Any = Int(1234)
    small: Any = Int8(7)
    assert (round(whole, -2), pow(whole, 3, 17), pow(whole, -1, 17)) == (
        1200,
        1234**3 % 17,
        pow(1234, -1, 17),
    )
    with pytest.raises(CompileError, match=r"pow\(base, exponent, modulus\) takes integers"):
        pow(whole, Float32(2), 5)
    with pytest.raises(CompileError, match="takes integers"):
        pow(whole, 2.5, 5)
    with pytest.raises(CompileError, match="1000 does not fit Int8"):
        pow(small, 3, 1000)


TABLE = np.array([1.5, 2.5])


@func
def scaled(x: Float32) -> Float32:
    return (TABLE * x)[1] + np.float32(2) * x + (TABLE * Float32(2))[0]


def test_compiled_code_computes_with_objects() -> None:
    assert scaled(Float32(4)) == 2.5 * 4 + 8 + 3
