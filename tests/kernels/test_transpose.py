"""weft.kernels.transpose against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placed_arrays import Array, arrays, found, placed
from weft import Float64, Int, LaunchError, struct
from weft.gpu.host import DeviceContext
from weft.kernels import transpose
from weft.kernels.operands import Operands
from weft.layout import Layout


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
@pytest.mark.parametrize("kind", ["c8", "c16", "f4, i4", "i2, i2", "f8, i4, i4"])
def test_numpys_complex_numbers_and_records(kind: str, shape: tuple[int, ...]) -> None:
    count = math.prod(shape) * np.dtype(kind).itemsize // 2
    x: Array = np.arange(count, dtype=np.uint16).view(kind).reshape(shape)
    assert transpose(x).tobytes() == np.transpose(x).tobytes()


@struct
class Pair:
    a: Float64
    b: Int


def test_structs_of_16_bytes(device: DeviceContext) -> None:
    x = np.arange(2 * 35 * 40).view("f8, i8").reshape(35, 40)
    buffer = device.enqueue_create_buffer(Pair, x.size)
    with buffer.map_to_host() as host:
        host.numpy()[:] = x.reshape(-1)
    result = transpose(buffer.tensor(Layout.row_major(35, 40)))
    with result.storage.map_to_host() as host:
        assert host.numpy().tobytes() == x.T.tobytes()


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((8, 33, 5, 64), (0, 2, 1, 3)),
        ((70, 6, 7), (1, 0, 2)),
        ((3, 5000, 9), (1, 0, 2)),
        ((2, 40_000), (0, 1)),
        ((40_000, 2), (1, 0)),
        ((130, 250), (1, 0)),
        ((3, 17, 40, 2), (3, 0, 2, 1)),
    ],
)
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.complex128])
def test_rows_of_any_length_and_number(shape: tuple[int, ...], axes: tuple[int, ...], kind: Any) -> None:
    """Of which a CPU's task copies several, or a part of one."""
    wide = np.random.default_rng(len(shape)).integers(0, 250, (*shape[:-1], shape[-1] + 1)).astype(kind)
    for x in (wide[..., 1:], wide[..., 1:].copy()):
        np.testing.assert_array_equal(transpose(x, axes), x.transpose(axes))
        out = np.zeros(x.transpose(axes).shape[::-1], kind).T
        np.testing.assert_array_equal(transpose(x, axes, out=out), x.transpose(axes))
