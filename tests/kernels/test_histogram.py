"""weft.kernels.histogram against NumPy's."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import histogram


@settings(max_examples=7)
@given(x=arrays(types="Bdl"), bins=st.sampled_from([1, 8, 64]))
def test_any_array(device: DeviceContext, x: Array, bins: int) -> None:
    low, high = (-4.0, 4.0) if x.dtype.kind == "f" else (0, 64)
    right, _ = np.histogram(x[np.isfinite(x)], bins, (low, high))
    np.testing.assert_array_equal(found(histogram(placed(device, x), bins, (low, high))), right)


@pytest.mark.parametrize("bins", [256, 20_000])
def test_many_elements_and_many_bins(device: DeviceContext, bins: int) -> None:
    x = np.random.default_rng(1).integers(-10, bins + 10, 200_003).astype(np.int32)
    right = np.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
    right[-1] += (x == bins).sum()
    np.testing.assert_array_equal(found(histogram(placed(device, x), bins, (0, bins))), right)


@pytest.mark.parametrize("kind", "efdi")
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.3, 0.7), (1.1, 700.3)])
@pytest.mark.parametrize("bins", [3, 10, 31])
def test_elements_on_the_ends_of_parts(
    device: DeviceContext, kind: str, ends: tuple[float, float], bins: int
) -> None:
    low, high = ends
    x = (low + (high - low) * np.arange(-1, bins + 2) / bins).astype(kind)
    x = np.concatenate([x, np.linspace(low, high, bins + 1, dtype=kind), np.round(x, 1)])
    right, _ = np.histogram(x, bins, ends)
    np.testing.assert_array_equal(found(histogram(placed(device, x), bins, ends)), right)


def test_a_range_of_equals_is_numpys() -> None:
    x = np.array([0.4, 0.5, 1.0, 1.2, 1.5, 1.6])
    np.testing.assert_array_equal(histogram(x, 3, (1, 1)), np.histogram(x, 3, (1, 1))[0])


def test_ranges_without_extent_are_refused() -> None:
    with pytest.raises(LaunchError, match="range is from 3\\.0 to 1\\.0"):
        histogram(np.zeros(3), 3, (3, 1))
    with pytest.raises(LaunchError, match="range is from -1e\\+308 to 1e\\+308"):
        histogram(np.zeros(3), 3, (-1e308, 1e308))
    for ends in (3, (0, 1, 2), (0.0, np.inf), (np.nan, 1.0)):  # NumPy refuses the last three, too
        with pytest.raises(LaunchError, match="range= takes two finite numbers"):
            histogram(np.zeros(3), 3, cast("Any", ends))


@pytest.mark.parametrize("kind", "efdilB")
@pytest.mark.parametrize("n", [0, 1, 100, 5000])
@pytest.mark.parametrize("bins", [1, 3, 10, 64])
def test_without_a_range_it_is_that_of_the_elements(
    device: DeviceContext, kind: str, n: int, bins: int
) -> None:
    generator = np.random.default_rng(n + bins)
    given = generator.normal(scale=20, size=n) if kind in "efd" else generator.integers(0, 200, n)
    for x in (given.astype(kind), given.round(1).astype(kind), np.full((2, n), 7, kind)[:, ::2]):
        right, _ = np.histogram(x, bins)
        np.testing.assert_array_equal(found(histogram(placed(device, x), bins)), right)


def test_elements_that_have_no_range_are_refused() -> None:
    for wrong, told in ((np.nan, "nan to nan"), (np.inf, "1\\.0 to inf"), (-np.inf, "-inf to 1\\.0")):
        x = np.array([1.0, wrong])
        with pytest.raises(ValueError, match="autodetected range"):
            np.histogram(x)
        with pytest.raises(LaunchError, match=f"x is from {told}, which is no range") as error:
            histogram(x)
        assert error.value.diagnostics[0].hints == (
            "write range=(low, high): what is outside is not counted",
        )
    x = np.array([1.0, 1.0000001], np.float32)
    with pytest.raises(ValueError, match="Too many bins"):
        np.histogram(x)
    with pytest.raises(LaunchError, match="from 1\\.0 to 1\\.0000001192092896 Float32 has no 10 parts"):
        histogram(x)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "int64"])
def test_integers_of_few_values(device: DeviceContext, dtype: str) -> None:
    least = -7 if dtype[0] == "i" else 9
    x = np.random.default_rng(2).integers(least, least + 100, 20_000).astype(dtype)
    ranges: list[Any] = [None, (0, 50), (-3.5, 60.25), (9, 10), (-200, 1000), (90.5, 91.5)]
    for bins in (1, 7, 64, 500):
        for ends in ranges:
            for part in (x, x[::3]):
                counts = found(histogram(placed(device, part), bins, ends))
                np.testing.assert_array_equal(counts, np.histogram(part, bins, ends)[0])
