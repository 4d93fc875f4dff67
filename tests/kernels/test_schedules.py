"""What GPUs launch, on every device: lanes, warps and blocks for rows, parts of long ones, tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from placed_arrays import Array, found, placed
from weft.gpu.host import DeviceContext
from weft.kernels import argmax, histogram, layer_norm, rope, softmax, sum, take, transpose
from weft.kernels.operands import Operands


@pytest.fixture(autouse=True)
def blocks_have_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", False)


def normal(*shape: int) -> Array:
    return np.random.default_rng(shape[0]).normal(size=shape).astype(np.float32)


def powers(x: Array, axis: int) -> Array:
    result = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return result / result.sum(axis, keepdims=True)


def centred(x: Array, axis: int) -> Array:
    less = x.astype(np.float64) - x.mean(axis, keepdims=True, dtype=np.float64)
    return less / np.sqrt((less * less).mean(axis, keepdims=True) + 1e-5)


ROWS = [(5, 3), (2, 257), (1, 2050), (1, 17_000), (70, 6, 5)]
WIDE = [(1, 20_001), (1, 300_003), (70_001, 2)]
"""Rows of a cluster that begin between vectors; those of several blocks; and columns of several."""


@pytest.mark.parametrize("shape", ROWS)
def test_rows(device: DeviceContext, shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    for ours, right in ((softmax, powers), (layer_norm, centred)):
        result = ours(placed(device, x), axis=1)
        np.testing.assert_allclose(found(result), right(x, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", WIDE)
def test_rows_of_several_blocks(device: DeviceContext, shape: tuple[int, int]) -> None:
    axis = int(shape[1] > shape[0])
    x, more, weight = normal(*shape), normal(*shape)[::-1].copy(), normal(shape[axis])
    total = placed(device, np.zeros_like(x))
    arrays = placed(device, x), placed(device, weight)
    result = layer_norm(*arrays, axis=axis, residual=placed(device, more), total=total)
    np.testing.assert_array_equal(found(total), x + more)
    right = centred(x + more, axis) * (weight if axis else weight[:, None])
    np.testing.assert_allclose(found(result), right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found(softmax(arrays[0], axis, out=arrays[0])), powers(x, axis), rtol=1e-4)


@pytest.mark.parametrize("shape", [(5, 3), (1, 70_000), (4000, 8), (3, 60, 4)])
def test_reductions(device: DeviceContext, shape: tuple[int, ...]) -> None:
    x = (100 * normal(*shape)).astype(np.int32)
    for axis in (0, 1, None):
        np.testing.assert_array_equal(found(sum(placed(device, x), axis)), x.sum(axis, dtype=np.int64))
    np.testing.assert_array_equal(found(argmax(placed(device, x), 1)), x.argmax(1))


@pytest.mark.parametrize("name", ["uint8", "float16"])
def test_transposes(device: DeviceContext, name: str) -> None:
    for shape in ((2, 144, 80), (1, 70, 33)):
        x = (100 * normal(*shape)).astype(np.float32).astype(name, casting="unsafe")
        for axes in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
            np.testing.assert_array_equal(found(transpose(placed(device, x), axes)), x.transpose(axes))


def test_elements(device: DeviceContext) -> None:
    x, places = normal(30, 8), np.arange(40, dtype=np.int32) % 7
    np.testing.assert_array_equal(found(take(placed(device, x), placed(device, places), 0)), x[places])
    angles = normal(30, 4)
    turned = rope(placed(device, x), placed(device, np.cos(angles)), placed(device, np.sin(angles)))
    pairs: Any = (x[:, :4] + 1j * x[:, 4:]) * np.exp(1j * angles)
    np.testing.assert_allclose(found(turned), np.hstack([pairs.real, pairs.imag]), rtol=1e-4, atol=1e-5)
    counts = found(histogram(placed(device, x), 16, (-2, 2)))
    np.testing.assert_array_equal(counts, np.histogram(x, 16, (-2, 2))[0])
