"""Products of integers whose result is wider than they are: beside NumPy's of Int64 and Float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from placed_arrays import found, placed
from weft import Float32, Float64, Int32, LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import grouped_matmul, matmul


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.uint32])
@pytest.mark.parametrize("result", [np.int64, np.float32, np.float64])
def test_sums_beyond_the_elements_type(device: DeviceContext, kind: Any, result: Any) -> None:
    some = np.random.default_rng(1).integers(0, np.iinfo(kind).max >> 2, (2, 5, 40)).astype(kind)
    if kind().itemsize == 4:
        some >>= 6  # products of 48 bits, whose sums are exact as Float64
    a, b = some[0], some[1].T
    right = (a.astype(np.int64) @ b.astype(np.int64)).astype(result)
    np.testing.assert_array_equal(found(matmul(placed(device, a), placed(device, b), dtype=result)), right)
    ends = placed(device, np.array([2, 5], np.int32))
    grouped = grouped_matmul(placed(device, a), placed(device, np.stack([b, b])), ends, dtype=result)
    np.testing.assert_array_equal(found(grouped), right)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("result", [np.int64, np.float64])
def test_many_bytes(device: DeviceContext, kind: Any, result: Any) -> None:
    """Of more than Int32 has, where the result has them."""
    a = np.full((2, 140_000), np.iinfo(kind).min or 255, kind)
    right = (a.astype(np.int64) @ a.T.astype(np.int64)).astype(result)
    assert right[0, 0] >= 2**31
    np.testing.assert_array_equal(found(matmul(placed(device, a), placed(device, a.T), dtype=result)), right)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64])
def test_a_bias_of_another_type(device: DeviceContext, kind: Any) -> None:
    a, b = (np.random.default_rng(i).integers(0, 100, (40, 40)).astype(kind) for i in range(2))
    right = a.astype(np.float64) @ b.astype(np.float64)
    fractions = np.arange(40) / 8 - 2
    for dtype in (Float32, Float64):
        bias = placed(device, fractions.astype(np.float32))
        made = matmul(placed(device, a), placed(device, b), bias=bias, dtype=dtype)
        np.testing.assert_array_equal(found(made), right + fractions)
    far = np.arange(40) - (1 << 40)
    made = matmul(placed(device, a), placed(device, b), bias=placed(device, far), dtype=np.int64)
    np.testing.assert_array_equal(found(made), right.astype(np.int64) + far)
    # sums of 25 bits, which Float32 has not, but their difference
    large = np.full((40, 40), 4097, np.int32), np.diag(np.full(40, 4097, np.int32))
    near = np.full(40, 1 - 4097**2, np.int32)
    made = matmul(*(placed(device, x) for x in large), bias=placed(device, near), dtype=Float32)
    np.testing.assert_array_equal(found(made), np.ones((40, 40)))


def test_factors_of_wide_integers(device: DeviceContext) -> None:
    a, b = np.full((3, 2), (1 << 20) + 1), np.full((2, 3), (1 << 20) + 1)
    made = matmul(placed(device, a), placed(device, b), alpha=0.5, dtype=Float64)
    np.testing.assert_array_equal(found(made), np.float64(a @ b) / 2)


def test_a_bias_that_the_result_has_not(device: DeviceContext) -> None:
    a = np.ones((2, 2), np.int8)
    bias = np.array([0.5, 0.75], np.float32)
    with pytest.raises(LaunchError, match="bias is of Float32, and the result is of Int32") as told:
        matmul(placed(device, a), placed(device, a), bias=placed(device, bias))
    assert "pass dtype=Float32, or a bias of integers" in str(told.value)
    with pytest.raises(LaunchError, match="bias is of Float32, and the result is of Int32"):
        matmul(placed(device, a), placed(device, a), bias=placed(device, bias), dtype=Int32)
