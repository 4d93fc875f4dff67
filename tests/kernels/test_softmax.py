"""weft.kernels.softmax and log_softmax against what their definition gives in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft.gpu.host import DeviceContext
from weft.kernels import log_softmax, softmax

CLOSE = {"e": 2e-3, "f": 2e-6}


def expected(x: Array, axis: int, log: bool) -> Array:
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        if not x.size:
            return wide
        less = wide - wide.max(axis=axis, keepdims=True)
        total = np.exp(less).sum(axis=axis, keepdims=True)
        return less - np.log(total) if log else np.exp(less) / total


@settings(max_examples=7)
@given(x=arrays(types="ef"), axis=st.integers(0, 2), log=st.booleans())
def test_any_axis_of_any_array(device: DeviceContext, x: Array, axis: int, log: bool) -> None:
    axis %= x.ndim
    result = (log_softmax if log else softmax)(placed(device, x), axis - x.ndim * (axis % 2))
    close = CLOSE[x.dtype.char]
    assert found(result).dtype == x.dtype
    np.testing.assert_allclose(found(result), expected(x, axis, log), rtol=close, atol=10 * close)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("columns", [1, 2, 31, 64, 100, 257, 1000, 1024, 4097, 16384, 40000])
def test_rows_of_any_length(device: DeviceContext, columns: int, dtype: str) -> None:
    x = np.random.default_rng(columns).normal(scale=4, size=(3, columns)).astype(dtype)
    close, least = (3e-6, 1e-12) if dtype == "float32" else (1e-3, 1e-7)
    for log, operation in enumerate((softmax, log_softmax)):
        np.testing.assert_allclose(
            found(operation(placed(device, x))),
            expected(x, 1, log > 0),
            rtol=close,
            atol=least if not log else 10 * close,
        )


def test_the_result_may_be_the_array_itself_or_another(device: DeviceContext) -> None:
    x = np.array([[0, 0], [1000, 0]], np.float32)
    tensor = placed(device, x)
    out = placed(device, np.zeros((2, 5), np.float32)[:, ::3])
    assert softmax(tensor, out=out) is out
    assert softmax(tensor, out=tensor) is tensor
    for result in (tensor, out):
        np.testing.assert_array_equal(found(result), [[0.5, 0.5], [1.0, 0.0]])
