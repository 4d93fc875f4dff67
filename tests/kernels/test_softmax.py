"""weft.kernels.softmax and log_softmax against what their definition gives in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import BFloat16
from weft.gpu.host import DeviceContext
from weft.kernels import log_softmax, softmax
from weft.layout import Layout

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
@pytest.mark.parametrize("columns", [1, 2, 31, 64, 100, 257, 1000, 1024, 4097, 16384, 50257, 300_001])
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


@pytest.mark.parametrize(("rows", "columns"), [(5, 7), (21, 333), (40, 15)])
def test_odd_rows_in_place_are_read_before_they_are_written(rows: int, columns: int) -> None:
    """Vectors of a CPU that begin among others' elements do not read what other threads have written."""
    x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
    with DeviceContext(api="cpu", checked=True) as ctx:
        for axis in (0, 1):
            tensor = placed(ctx, x)
            softmax(tensor, axis, out=tensor)
            np.testing.assert_allclose(found(tensor), expected(x, axis, log=False), rtol=1e-5)


@pytest.mark.parametrize("low", [-100.0, -1e6, -1e30, -3e38])
def test_elements_beside_nothing_are_far_below_zero(device: DeviceContext, low: float) -> None:
    row = np.full(600, -np.inf, np.float32)
    row[[1, 2, 300]] = low
    for x, axis in ((row[None], 1), (np.stack([row] * 40, 1), 0), (row[None, :3], 1)):
        right = np.where(x == np.float32(low), 1.0 / (x == np.float32(low)).sum(axis, keepdims=True), 0.0)
        np.testing.assert_allclose(found(softmax(placed(device, x), axis)), right, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_great_numbers_of_16_bits(device: DeviceContext, axis: int) -> None:
    greatest = 3.3895313892515355e38
    for row in (
        [-greatest] * 4,
        [greatest, 1, greatest, -greatest],
        [-1e10, -2e10, -1e10, -np.inf],
        [1e38, 2, 3, 4],
    ):
        buffer = device.enqueue_create_buffer(BFloat16, 4)
        with buffer.map_to_host() as host:
            host[:] = row
        layout = Layout.row_major(*((4, 1) if axis == 0 else (1, 4)))
        result = softmax(buffer.tensor(layout), axis)
        with result.storage.map_to_host() as host:
            most = max(row)
            assert [float(x) for x in host] == [(x == most) / row.count(most) for x in row]
