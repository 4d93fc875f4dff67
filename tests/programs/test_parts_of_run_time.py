"""Parts of tensors whose ends only run time knows, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import weft
from weft import Float32, Int, kernel
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

X = np.arange(24, dtype=np.float32).reshape(4, 6)


@kernel
def part_by_part(x: LayoutTensor[Float32], out: LayoutTensor[Float32], n: Int):
    out[:] = x[:, n : n + 1]  # one column, broadcast
    out[n, 3 * n - 3 : 3 * n] = x[0, 2 * n - 2 : 2 * n + 1]
    four = x[1 + n * 2 - 4 : 3 + n * 2 - 4, 1:3].local()  # of static shape, so a thread keeps it
    four[0, 0] = 50.0
    out[0:2, 4:6] = four * 2.0
    out[n + 1, : n + 1] += x[n - 1, 1 : n + 2]


def _launch(ctx: DeviceContext, fn: Any, n: int) -> npt.NDArray[np.float32]:
    x, out = ctx.enqueue_create_buffer(Float32, 24), ctx.enqueue_create_buffer(Float32, 24)
    ctx.enqueue_copy(dst=x, src=X.reshape(-1))
    out.enqueue_fill(0.0)
    tensors = [buffer.tensor(Layout.row_major(4, 6)) for buffer in (x, out)]
    ctx.enqueue_function(fn, *tensors, n, grid_dim=1, block_dim=1)
    found = np.empty(24, np.float32)
    ctx.enqueue_copy(dst=found, src=out)
    ctx.synchronize()
    return found.reshape(4, 6)


def test_parts_are_numpys(device: DeviceContext) -> None:
    wanted = np.zeros_like(X)
    wanted[:] = X[:, 2:3]
    wanted[2, 3:6] = X[0, 2:5]
    four = X[1:3, 1:3].copy()
    four[0, 0] = 50.0
    wanted[0:2, 4:6] = four * 2.0
    wanted[3, :3] += X[1, 1:4]
    assert np.array_equal(_launch(device, part_by_part, 2), wanted)


@kernel
def unlike(x: LayoutTensor[Float32], out: LayoutTensor[Float32], n: Int):
    out[:, 0:n] = x[:, 1:4]


@kernel
def shorter(x: LayoutTensor[Float32], out: LayoutTensor[Float32], n: Int):
    out[0] += x[1, 0:n]


@pytest.mark.parametrize(
    ("fn", "fits", "message"),
    [
        (unlike, 3, "mode 1 has 2 places, and 3 are copied there"),
        (shorter, 6, "mode 0 has 6 places, and 2 are"),
    ],
)
def test_extents_that_run_time_finds_unlike(fn: Any, fits: int, message: str) -> None:
    with DeviceContext(api="cpu") as ctx:
        wanted = np.zeros_like(X)
        if fn is unlike:
            wanted[:, 0:3] = X[:, 1:4]
        else:
            wanted[0] = X[1]
        assert np.array_equal(_launch(ctx, fn, fits), wanted)
        with pytest.raises(weft.DeviceError, match=message):
            _launch(ctx, fn, 2)
