"""weft.kernels.layer_norm and rms_norm against their definitions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import gemv_int8, layer_norm, rms_norm

CLOSE = {"e": 2e-3, "f": 5e-6}


def expected(
    x: Array, axis: int, centred: bool, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5
) -> Array:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        less = wide - wide.mean(axis, keepdims=True) if centred and wide.size else wide
        square = (less * less).mean(axis, keepdims=True) if wide.size else wide
        result = less / np.sqrt(square + eps) if wide.size else wide
    shape = [-1 if n == axis else 1 for n in range(x.ndim)]
    return result * np.reshape(weight, shape) + np.reshape(bias, shape)


@settings(max_examples=7)
@given(x=arrays(types="ef", special=False), axis=st.integers(0, 2), centred=st.booleans())
def test_any_axis_of_any_array(device: DeviceContext, x: Array, axis: int, centred: bool) -> None:
    axis %= x.ndim
    weight = np.linspace(0.5, 1.5, x.shape[axis]).astype(np.float32)
    weight = np.repeat(weight, 1 + len(weight) % 2)[:: 1 + len(weight) % 2]
    norm = layer_norm if centred else rms_norm
    result = norm(placed(device, x), placed(device, weight), axis=axis, eps=1e-5)
    close = CLOSE[x.dtype.char]
    np.testing.assert_allclose(found(result), expected(x, axis, centred, weight), rtol=close, atol=3 * close)


@pytest.mark.parametrize("columns", [1, 3, 96, 1000, 4097, 20_000, 300_001])
def test_rows_far_from_zero_with_a_residual(device: DeviceContext, columns: int) -> None:
    generator = np.random.default_rng(columns)
    x = (generator.normal(size=(3, columns)) + 1000.0).astype(np.float32)
    residual = generator.normal(size=(3, columns)).astype(np.float32)
    weight, bias = generator.normal(size=(2, columns)).astype(np.float32)
    stream = placed(device, residual)
    places = placed(device, weight), placed(device, bias)
    result = layer_norm(placed(device, x), *places, residual=stream, total=stream)
    np.testing.assert_array_equal(found(stream), x + residual)
    right = expected(x.astype(np.float64) + residual, 1, True, weight, bias)
    np.testing.assert_allclose(found(result), right, rtol=1e-3, atol=1e-3)


def test_arguments_that_do_not_fit_are_refused() -> None:
    x = np.zeros((4, 6), np.float32)
    with pytest.raises(LaunchError, match="weight is of shape \\(4,\\), and along the axis x has \\(6,\\)"):
        layer_norm(x, np.zeros(4, np.float32))
    with pytest.raises(LaunchError, match="x is of Int, which is no float"):
        rms_norm(np.arange(4))
    with pytest.raises(LaunchError, match="total is memory that weight has too"):
        layer_norm(x, x[0], total=x)


def test_weights_of_any_length_are_one_code(recwarn: pytest.WarningsRecorder) -> None:
    for n in range(100, 140):  # a warning comes with the 32nd variant
        x, one = np.ones((2, n), np.float32), np.ones(n, np.float32)
        np.testing.assert_allclose(rms_norm(x, one), x, rtol=1e-5)
        np.testing.assert_array_equal(gemv_int8(x.astype(np.int8), one[:2], one), [n, n])
    assert not recwarn.list
