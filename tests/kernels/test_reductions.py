"""weft.kernels: sums, means, products, extremes and their places against NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import all, any, argmax, argmin, count_nonzero, max, mean, min, prod, sum

Reduction = Callable[..., Any]
PAIRS: list[tuple[Reduction, Reduction]] = [(sum, np.sum), (mean, np.mean), (max, np.max), (min, np.min)]
PLACES: list[tuple[Reduction, Reduction]] = [(argmax, np.argmax), (argmin, np.argmin)]
TRUTHS: list[tuple[Reduction, Reduction]] = [(any, np.any), (all, np.all), (count_nonzero, np.count_nonzero)]


@settings(max_examples=7)
@given(
    x=arrays(types="fl"),
    pair=st.sampled_from([*PAIRS, *PLACES, *TRUTHS]),
    axis=st.integers(-1, 2),
    keeps=st.booleans(),
)
def test_any_axis_of_any_array(
    device: DeviceContext, x: Array, pair: tuple[Reduction, Reduction], axis: int, keeps: bool
) -> None:
    ours, theirs = pair
    along = None if axis < 0 else axis % x.ndim
    empty = not x.size if along is None else not x.shape[along]
    if empty and ours in (max, min, argmax, argmin):
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wide = x.astype(np.float64) if x.dtype.kind == "f" and ours in (sum, mean) else x
        right = theirs(wide, axis=along, keepdims=keeps)
    result = ours(placed(device, x), along, keepdims=keeps)
    assert found(result).shape == np.shape(right)
    np.testing.assert_allclose(found(result), right, rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 100_003), (3, 9000), (9000, 3), (5000, 64), (4099, 33)])
def test_few_long_rows_are_cut_in_parts(device: DeviceContext, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).integers(-(2**20), 2**20, shape).astype(np.int32)
    tensor = placed(device, x)
    for axis in (0, 1):
        np.testing.assert_array_equal(found(sum(tensor, axis)), x.sum(axis, dtype=np.int64))
        np.testing.assert_array_equal(found(argmin(tensor, axis)), x.argmin(axis))


@pytest.mark.parametrize("columns", [2, 15, 31, 33, 64, 100])
@pytest.mark.parametrize("n", [5, 70_000])
def test_columns_of_any_number(device: DeviceContext, columns: int, n: int) -> None:
    """Whose strips overlap on a CPU, in each line of memory."""
    n //= columns if n > 5 else 1
    wide = np.random.default_rng(columns).integers(-100, 100, (3, n, columns + 2)).astype(np.int32)
    x = wide[:, :, 1:-1]
    for ours, theirs in ((sum, np.sum), (max, np.max), (argmin, np.argmin)):
        right = theirs(x, axis=1)
        result = placed(device, np.zeros((3, 2 * columns), right.dtype)[:, ::2])
        ours(placed(device, x), 1, out=result)
        np.testing.assert_array_equal(found(result), right)
        np.testing.assert_array_equal(found(ours(placed(device, x[1]), 0)), right[1])


def test_several_axes_also_where_they_are_apart_in_memory(device: DeviceContext) -> None:
    x = np.random.default_rng(2).integers(-100, 100, (3, 5, 4, 6)).astype(np.int32)
    for axes in ((0, 2), (-1, 0), (1, 2, 3), (3, 1)):
        np.testing.assert_array_equal(found(sum(placed(device, x), axes)), x.sum(axes))
        assert found(mean(placed(device, x), axes)).dtype == np.float64
        np.testing.assert_allclose(found(mean(placed(device, x), axes)), x.mean(axes), rtol=1e-14, atol=1e-14)
        y = placed(device, x - x.min())
        np.testing.assert_array_equal(found(count_nonzero(y, axes)), np.count_nonzero(x - x.min(), axis=axes))
        np.testing.assert_array_equal(found(all(y, axes)), (x - x.min()).all(axes))
        np.testing.assert_array_equal(found(any(y, axes)), (x - x.min()).any(axes))
        np.testing.assert_array_equal(found(min(placed(device, x), axes)), x.min(axes))
    turned = x.transpose(2, 0, 3, 1)
    assert found(argmax(placed(device, turned))) == turned.argmax()
    with pytest.raises(LaunchError, match="axis is \\(0, 1\\)"):
        argmax(x, cast("Any", (0, 1)))
    one = np.array([[np.nan, -0.0, np.inf, 3.5, -1e-45, 7.0]], np.float32)
    for many in (one, one.T, np.repeat(one.T, 2, 1)[:, ::2], one.astype(np.float64)):
        for ours, numpy in ((sum, np.sum), (mean, np.mean), (prod, np.prod), (max, np.max), (min, np.min)):
            for axis in (0, 1):
                result = found(ours(placed(device, many), axis))
                np.testing.assert_array_equal(result, numpy(many, axis))
    assert found(max(placed(device, one.T > 0), 1)).tolist() == [False, False, True, True, False, True]
    halves = np.full((3, 5, 4, 6), 200, np.float16)  # whose sums no Float16 holds
    np.testing.assert_array_equal(found(mean(placed(device, halves), (0, 2))), np.full((5, 6), 200))
    ones = found(sum(placed(device, np.ones((3, 5000, 4, 2), np.float16)), (1, 3)))
    np.testing.assert_array_equal(ones, np.full((3, 4), 10000, np.float16))


def test_types_of_results_are_numpys(device: DeviceContext) -> None:
    for name in ("uint16", "float16"):
        x = np.array([[1, 2], [3, 4]], name)
        for ours, theirs in (PAIRS[1], (prod, np.prod)):
            result = found(ours(placed(device, x), 0))
            assert result.dtype == theirs(x, axis=0).dtype
            np.testing.assert_array_equal(result, theirs(x, axis=0))


@pytest.mark.parametrize("shape", [(70, 33), (3, 9000), (1, 100_003)])
def test_bools_are_numbers_and_truths(device: DeviceContext, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(4)
    for part in (0.5, 1e-3, 1.0, 0.0):
        x = generator.random(shape) < part
        tensor = placed(device, x)
        for axis in (None, 0, 1):
            for ours, theirs in (*PAIRS, *PLACES, *TRUTHS, (prod, np.prod)):
                result, right = found(ours(tensor, axis)), theirs(x, axis=axis)
                assert result.dtype == np.asarray(right).dtype
                np.testing.assert_allclose(result, right, rtol=1e-12)


def test_what_is_not_0_counts(device: DeviceContext) -> None:
    x = np.zeros((5, 40), np.float16)
    x[0], x[1, 3], x[2, 4], x[3] = -0.0, np.nan, 6e-8, 0.3
    for ours, theirs in TRUTHS:
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(found(ours(placed(device, x), axis)), theirs(x, axis=axis))
        empty = placed(device, np.zeros((2, 0), np.float16))
        assert found(ours(empty, 1)).tolist() == theirs(np.zeros((2, 0)), axis=1).tolist()


def test_short_floats_are_added_in_float32(device: DeviceContext) -> None:
    x = np.full(4096, 0.1, np.float16)
    assert found(sum(placed(device, x))) == np.float16(x.astype(np.float64).sum())


def test_the_first_of_equal_elements_is_found_and_of_nans(device: DeviceContext) -> None:
    x = np.zeros(5000, np.float32)
    assert found(argmax(placed(device, x))) == 0
    x[[700, 4000]] = np.nan
    assert found(argmax(placed(device, x))) == found(argmin(placed(device, x))) == 700
    assert np.isnan(found(max(placed(device, x))))


@pytest.mark.parametrize("shape", [(3, 5), (3, 1000), (1, 300000), (1000, 3), (40, 70)])
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint8])
def test_places_where_no_element_is_further_than_nothing(
    device: DeviceContext, shape: Any, kind: Any
) -> None:
    """Rows of the least there is, whole or behind some, of which the first counts."""
    low, high = (-np.inf, np.inf) if kind is np.float32 else (np.iinfo(kind).min, np.iinfo(kind).max)
    for end, own, numpy in ((low, argmax, np.argmax), (high, argmin, np.argmin)):
        x = np.full(shape, end, kind)
        for axis in (0, 1):
            np.testing.assert_array_equal(found(own(placed(device, x), axis)), numpy(x, axis))
        x[-1, -1] = 7
        for axis in (0, 1):
            np.testing.assert_array_equal(found(own(placed(device, x), axis)), numpy(x, axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("n", [1, 7, 16, 33, 64, 4095, 12_300])
def test_places_are_numpys_whatever_row_it_is(device: DeviceContext, n: int, dtype: str) -> None:
    """Rising, falling, of equals, of the ends of the type, with nan: on a CPU in pieces of 4096."""
    rising = np.arange(n).clip(0, 120)
    x = np.stack([rising, rising[::-1], rising * 0 + 7, rising % 100, *[rising * 0] * 4]).astype(dtype)
    if x.dtype.kind == "f":
        x[4:6] = np.array([[-np.inf], [np.inf]])
        x[6, [n // 3, n - 1]] = x[7, n - 1] = np.nan
        x[7, 0] = np.inf
    else:
        x[4:6] = np.array([[np.iinfo(dtype).min], [np.iinfo(dtype).max]])
    apart = np.zeros((8, 2 * n), dtype)[:, ::2]
    apart[:] = x
    for ours, theirs in PLACES:
        for rows in (x, apart):
            np.testing.assert_array_equal(found(ours(placed(device, rows), 1)), theirs(x, axis=1))
            assert found(ours(placed(device, rows))) == theirs(x)


def test_results_are_the_same_each_time(device: DeviceContext) -> None:
    x = np.random.default_rng(3).normal(size=(2, 300_000)).astype(np.float32)
    tensor = placed(device, x)
    assert len({found(sum(tensor)).tobytes() for _ in range(5)}) == 1


def test_what_cannot_be_reduced_is_refused() -> None:
    with pytest.raises(LaunchError, match="x is of shape \\(3, 0\\): there is nothing to choose from"):
        max(np.zeros((3, 0)), 1)
    with pytest.raises(LaunchError, match="axis is 2, and x has 2 axes"):
        sum(np.zeros((3, 0)), 2)
    for shape, axis in [((0, 0), 0), ((0, 2, 0), -1), ((2, 0, 3), 1), ((0,), None)]:
        for own, numpy in ((max, np.max), (min, np.min), (argmax, np.argmax), (argmin, np.argmin)):
            with pytest.raises(ValueError, match=r"zero-size|empty sequence"):
                numpy(np.zeros(shape), axis)
            with pytest.raises(LaunchError, match="there is nothing to choose from"):
                own(np.zeros(shape), axis)
    assert max(np.zeros((0, 3)), 1).shape == np.max(np.zeros((0, 3)), 1).shape == (0,)
    with pytest.raises(LaunchError, match="names an axis twice"):
        sum(np.zeros((3, 1)), (1, -1))
    with pytest.raises(LaunchError, match="out is of shape \\(3,\\), and the result's is \\(4,\\)"):
        sum(np.zeros((3, 4)), 0, out=np.zeros(3))
    with pytest.raises(LaunchError, match="out is of Float32, not of Float64"):
        sum(np.zeros((3, 4)), 0, out=np.zeros(4, np.float32))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("pair", [(sum, np.sum), (mean, np.mean), (prod, np.prod)])
def test_nothing_is_reduced_in_every_type(
    device: DeviceContext, pair: tuple[Reduction, Reduction], dtype: str
) -> None:
    ours, theirs = pair
    x = np.zeros((3, 0), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = theirs(x, axis=1)
    result = found(ours(placed(device, x), 1))
    np.testing.assert_array_equal(result, right)
    assert result.dtype == right.dtype
