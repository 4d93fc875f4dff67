"""Indices that are held within an array, of which a CPU does edges and interior apart; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int32, Pointer, kernel
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")


@kernel
def neighbours(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int32):
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        left, right = max(x - Int(far), 0), min(x + Int(far), width - 1)
        up, down = max(y - 1, 0), min(y + 1, height - 1)
        out[y * width + x] = (
            2.0 * a[y * width + left] - a[y * width + right] + a[up * width + x] * a[down * width + x]
        )


@kernel
def windows(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int32):
    """In loops, up and down; held at the other end too."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        total = Float32(0.0)
        for k in range(-3, 4):
            total += Float32(k + 5) * a[y * width + min(max(x + k, 0), width - 1)]
        for k in range(5, 0, -2):
            total -= a[y * width + max(k + x - 5, 1)] + a[y * width + max(x - k, Int(far))]
        out[y * width + x] = total


@kernel
def held(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int32):
    """By numbers that are no edge of an array, and the other way round."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        small, large = min(x, Int(far)), max(x, Int(far))
        between = thread_idx.x if thread_idx.x < Int(far) else Int(far) - 1
        out[y * width + x] = Float32(small * 3 + large % 1000 - between)


@kernel
def taps(a: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int, far: Int32):
    """Of those within the array, and of those within other limits."""
    x, y = global_idx.x, global_idx.y
    if x < width and y < height:
        total = Float32(0.0)
        for dy in range(-1, 2):
            for dx in range(2, -3, -1):
                yy, xx = y + dy, x + dx
                if 0 <= xx < width and yy >= 0 and yy < height:
                    total += Float32(dx * 3 + dy) * a[yy * width + xx]
                if dy == 0 and x + dx > Int(far) and x - dx <= Int(far) + 20:
                    total += 100.0
        for k in range(0, 7, 3):
            if x + k >= 2 and (x + k < 9 or y > 2):
                total -= Float32(k)
        out[y * width + x] = total


def places(n: int) -> npt.NDArray[np.int64]:
    return np.arange(n)


def of_taps(a: npt.NDArray[np.float32], far: int) -> npt.NDArray[np.float32]:
    height, width = a.shape
    wide = np.zeros((height + 2, width + 4), np.float32)
    wide[1:-1, 2:-2] = a
    total = np.zeros_like(a)
    x, y = places(width)[None, :], places(height)[:, None]
    for dy in range(-1, 2):
        for dx in range(2, -3, -1):
            total += np.float32(dx * 3 + dy) * wide[1 + dy : 1 + dy + height, 2 + dx : 2 + dx + width]
            if dy == 0:
                total += np.where((x + dx > far) & (x - dx <= far + 20), np.float32(100), np.float32(0))
    for k in range(0, 7, 3):
        total -= np.where((x + k >= 2) & ((x + k < 9) | (y > 2)), np.float32(k), np.float32(0))
    return total


def of_neighbours(a: npt.NDArray[np.float32], far: int) -> npt.NDArray[np.float32]:
    height, width = a.shape
    x, y = places(width), places(height)
    left, right = np.clip(x - far, 0, None), np.clip(x + far, None, width - 1)
    up, down = np.clip(y - 1, 0, None), np.clip(y + 1, None, height - 1)
    return (np.float32(2) * a[:, left] - a[:, right] + a[up] * a[down]).astype(np.float32)


def of_windows(a: npt.NDArray[np.float32], far: int) -> npt.NDArray[np.float32]:
    width = a.shape[1]
    x = places(width)
    total = np.zeros_like(a)
    for k in range(-3, 4):
        total += np.float32(k + 5) * a[:, np.clip(x + k, 0, width - 1)]
    for k in range(5, 0, -2):
        total -= a[:, np.maximum(k + x - 5, 1)] + a[:, np.maximum(x - k, far)]
    return total


def of_held(a: npt.NDArray[np.float32], far: int) -> npt.NDArray[np.float32]:
    x = places(a.shape[1])
    t = x % 32
    row = np.minimum(x, far) * 3 + np.maximum(x, far) % 1000 - np.where(t < far, t, far - 1)
    return np.broadcast_to(row.astype(np.float32), a.shape)


@pytest.mark.parametrize("width", [7, 32, 100, 131])
@pytest.mark.parametrize("far", [0, 1, 5, 40])
@pytest.mark.parametrize(
    ("program", "expected"),
    [(neighbours, of_neighbours), (windows, of_windows), (held, of_held), (taps, of_taps)],
)
def test_beside_numpy(any_context: DeviceContext, program: Any, expected: Any, width: int, far: int) -> None:
    far = min(far, width - 1)
    a = np.random.default_rng(6).integers(-9, 9, (5, width + 8)).astype(np.float32)[:, :width].copy()
    out = np.zeros_like(a)
    grid = (-(-width // 32), 2)
    any_context.enqueue_function(program, a, out, 5, width, far, grid_dim=grid, block_dim=(32, 4))
    any_context.synchronize()
    np.testing.assert_array_equal(out, expected(a, far))


@pytest.mark.parametrize("far", [-(2**31), -5, 2**31 - 1])
def test_far_away(any_context: DeviceContext, far: int) -> None:
    a = np.zeros((5, 100), np.float32)
    out = np.zeros_like(a)
    any_context.enqueue_function(held, a, out, 5, 100, far, grid_dim=(4, 2), block_dim=(32, 4))
    any_context.synchronize()
    np.testing.assert_array_equal(out, of_held(a, far))
