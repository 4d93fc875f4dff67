"""What NumPy's arrays do, done by tiles: ``in``, assertions, and sums into integers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from weft import CompileError, DeviceError, Float32, Int32, LaunchError, kernel, struct, tile
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@pytest.fixture
def cpu() -> DeviceContext:
    return DeviceContext(api="cpu")


@tile.tile_kernel(threads=64)
def _searched(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    t = tile.load(x, 0, 256)
    out[0] = Int32(3 if 7.0 in t else 4)
    out[1] = Int32(3 if 300.0 in t else 4)
    out[2] = Int32(3 if 300.0 not in t else 4)


def test_in(cpu: DeviceContext) -> None:
    x, out = np.arange(256, dtype=np.float32), np.zeros(3, np.int32)
    cpu.enqueue_function(_searched, x, out, grid_dim=1)
    cpu.synchronize()
    assert out.tolist() == [3 if found else 4 for found in (7.0 in x, 300.0 in x, 300.0 not in x)]


@tile.tile_kernel(threads=32)
def _fractions(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    tile.atomic_add(out, tile.arange(32), tile.load(x, 0, 32))


@tile.tile_kernel(threads=32)
def _a_fraction(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    tile.atomic_add(out, tile.arange(32), 0.5)


@tile.tile_kernel(threads=32)
def _of_a_matrix(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    tile.store(out, 0, tile.gather(x, tile.arange(32)))


@tile.tile_kernel(threads=32)
def _to_a_matrix(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    tile.scatter(x, tile.arange(32), 1.0)


@pytest.mark.parametrize("made", [_of_a_matrix, _to_a_matrix])
def test_one_index_says_no_element_of_a_matrix(cpu: DeviceContext, made: Any) -> None:
    with pytest.raises(CompileError, match="one index for each element, and the tensor has 2 axes") as told:
        cpu.enqueue_function(made, np.zeros((8, 8), np.float32), np.zeros(32, np.int32), grid_dim=1)
    assert "x[n] is a row of a matrix" in str(told.value)


@tile.tile_kernel(threads=32)
def _whole(x: LayoutTensor[Float32], out: LayoutTensor[Int32]):
    tile.atomic_add(out, tile.arange(32) // 2, tile.load(x, 0, 32).cast(Int32))


def test_fractions_are_not_added_to_integers(cpu: DeviceContext) -> None:
    x, out = np.full(32, 1.5, np.float32), np.zeros(32, np.int32)
    for made in (_fractions, _a_fraction):
        with pytest.raises(CompileError, match=re.escape("would add a fraction to elements of Int32")):
            cpu.enqueue_function(made, x, out, grid_dim=1)
    cpu.enqueue_function(_whole, x, out, grid_dim=1)
    cpu.synchronize()
    expected = np.zeros(32, np.int32)
    np.add.at(expected, np.arange(32) // 2, x.astype(np.int32))
    np.testing.assert_array_equal(out, expected)


def test_a_launch_without_a_grid(cpu: DeviceContext) -> None:
    x, out = np.zeros(256, np.float32), np.zeros(3, np.int32)
    with pytest.raises(LaunchError, match="_searched does not say grid_dim") as told:
        cpu.enqueue_function(_searched, x, out)
    assert "how many tiles there are" in str(told.value)
    assert "over=" not in str(told.value)  # which tile kernels do not take


@tile.tile_kernel(threads=32)
def _running(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    t = tile.load(x, (0, 0, 0), (8, 16, 1))
    tile.store(out, (0, 0, 0), t.cumsum(axis=1))


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_a_last_axis_of_one_element(cpu: DeviceContext, axes: tuple[int, ...]) -> None:
    """Along which there are no vectors, though its stride is 1 as that of the axis before."""
    x = np.arange(40, dtype=np.float32).reshape([(5, 8, 1)[axis] for axis in axes])
    x = x.transpose(np.argsort(axes))
    out = np.zeros((5, 8, 1), np.float32)
    cpu.enqueue_function(_running, x, out, grid_dim=1)
    cpu.synchronize()
    np.testing.assert_array_equal(out, np.cumsum(x, axis=1))


@struct
class _Level:
    held: Int32

    def __bool__(self) -> bool:
        return bool(self.held > 2)


@kernel
def _asserted(x: LayoutTensor[Int32]):
    assert _Level(x[0]), "low"
    x[1] = 1 if _Level(x[0]) else 2


def test_an_assertion_asks_a_structs_own_truth(cpu: DeviceContext) -> None:
    x = np.array([3, 0], np.int32)
    cpu.enqueue_function(_asserted, x, grid_dim=1, block_dim=1)
    cpu.synchronize()
    assert x[1] == 1
    cpu.enqueue_function(_asserted, np.array([2, 0], np.int32), grid_dim=1, block_dim=1)
    with pytest.raises(DeviceError, match="low"):
        cpu.synchronize()
