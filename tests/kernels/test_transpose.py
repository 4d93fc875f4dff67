"""weft.kernels.transpose against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import transpose
from weft.kernels.operands import Operands


@settings(max_examples=7)
@given(x=arrays(types="bfd", axes=4, most=70), data=st.data())
def test_any_order_of_any_array(device: DeviceContext, x: Array, data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(x.ndim)))
    result = found(transpose(placed(device, x), axes))
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, np.transpose(x, axes))


@pytest.mark.parametrize("name", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(256, 192), (130, 72), (33, 100)])
def test_tiles_of_every_width(device: DeviceContext, shape: tuple[int, int], name: str) -> None:
    x = np.random.default_rng(4).integers(0, 200, (2, *shape)).astype(name)
    np.testing.assert_array_equal(found(transpose(placed(device, x), (0, 2, 1))), x.transpose(0, 2, 1))


@pytest.mark.parametrize("name", ["uint8", "float16", "float64"])
@pytest.mark.parametrize("shape", [(3, 96), (2, 35), (8, 600), (7, 3)])
def test_planes(device: DeviceContext, shape: tuple[int, int], name: str) -> None:
    x = np.random.default_rng(7).integers(0, 200, (2, *shape)).astype(name)
    for planes in (x, x[..., 1:]):
        beside = np.ascontiguousarray(planes.transpose(0, 2, 1))
        np.testing.assert_array_equal(found(transpose(placed(device, planes), (0, 2, 1))), beside)
        np.testing.assert_array_equal(found(transpose(placed(device, beside), (0, 2, 1))), planes)


def test_planes_as_gpus_move_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _: False))
    x = np.random.default_rng(7).integers(0, 200, (3, 2, 48)).astype(np.float32)
    beside = transpose(x, (0, 2, 1))
    np.testing.assert_array_equal(beside, x.transpose(0, 2, 1))
    np.testing.assert_array_equal(transpose(beside, (0, 2, 1)), x)


@pytest.mark.parametrize("axes", [(4, 2, 0, 3, 1), (4, 3, 2, 1, 0), (0, 4, 3, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 5, 2, 37, 9), (2, 16, 3, 8, 16), (1, 31, 1, 600, 2)])
def test_short_axes_as_gpus_move_them(
    shape: tuple[int, ...], axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Operands, "threads_are_loops", property(lambda _: False))
    for name in ("uint8", "float16", "float64"):
        x = np.random.default_rng(8).integers(0, 200, shape).astype(name)
        np.testing.assert_array_equal(transpose(x, axes), x.transpose(axes))
        gaps = np.repeat(x, 2, 3)[:, :, :, ::2]
        np.testing.assert_array_equal(transpose(gaps, axes), x.transpose(axes))


def test_orders_that_name_no_axes_are_refused() -> None:
    for axes, message in (((0,), "axes are \\(0,\\), and x has 2"), ((0, 0), "names an axis twice")):
        with pytest.raises(LaunchError, match=message):
            transpose(np.zeros((2, 3)), axes)


@pytest.mark.parametrize("shape", [(2, 4), (33, 70), (3, 2, 5)])
@pytest.mark.parametrize("kind", ["c8", "f4, i4", "i2, i2"])
def test_numpys_complex_numbers_and_records(kind: str, shape: tuple[int, ...]) -> None:
    count = math.prod(shape) * np.dtype(kind).itemsize // 2
    x: Array = np.arange(count, dtype=np.uint16).view(kind).reshape(shape)
    assert transpose(x).tobytes() == np.transpose(x).tobytes()
