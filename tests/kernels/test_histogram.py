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


def test_ranges_without_extent_are_refused() -> None:
    with pytest.raises(LaunchError, match="there are 3 bins from 1\\.0 to 1\\.0"):
        histogram(np.zeros(3), 3, (1, 1))
    for ends in (None, (0, 1, 2), (0.0, np.inf), (np.nan, 1.0)):  # NumPy refuses the last three, too
        with pytest.raises(LaunchError, match="range= takes two finite numbers"):
            histogram(np.zeros(3), 3, cast("Any", ends))
