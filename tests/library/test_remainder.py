"""Float ``//`` and ``%`` are Python's on every device, however large the quotient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from weft import Float16, Float32, Float64, Int, Kernel, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def single(x: Pointer[Float32], y: Pointer[Float32], q: Pointer[Float32], r: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]


@kernel
def half(x: Pointer[Float16], y: Pointer[Float16], q: Pointer[Float16], r: Pointer[Float16], n: Int):
    i = global_idx.x
    if i < n:
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]


@kernel
def double(x: Pointer[Float64], y: Pointer[Float64], q: Pointer[Float64], r: Pointer[Float64], n: Int):
    i = global_idx.x
    if i < n:
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]


def operands(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    big = rng.uniform(-1, 1, 3000) * 10.0 ** rng.uniform(-30, 30, 3000)
    by = rng.uniform(-1, 1, 3000) * 10.0 ** rng.uniform(-30, 30, 3000)
    near = rng.integers(-(10**6), 10**6, 3000) / 8
    odd = np.array(
        [
            0.0,
            -0.0,
            0.5,
            1e-3,
            7.0,
            -7.0,
            info.max,
            info.tiny,
            info.smallest_subnormal,
            np.inf,
            -np.inf,
            np.nan,
        ]
    )
    xs, ys = (a.ravel() for a in np.meshgrid(odd, odd))
    x = np.concatenate([big, near, [0.5], xs]).astype(dtype)
    y = np.concatenate([by, rng.integers(1, 999, 3000) / 4, [0.001], ys]).astype(dtype)
    return x, y


@pytest.mark.parametrize(
    ("kernel", "cls", "dtype"), [(single, Float32, np.float32), (double, Float64, np.float64)]
)
def test_as_python(kernel: Kernel[...], cls: type[Any], dtype: Any, any_context: DeviceContext) -> None:
    ctx = any_context
    x, y = operands(dtype)
    n = len(x)
    buffers = [ctx.enqueue_create_buffer(cls, n) for _ in range(4)]
    ctx.enqueue_copy(dst=buffers[0], src=x)
    ctx.enqueue_copy(dst=buffers[1], src=y)
    ctx.enqueue_function(kernel, *buffers, n, grid_dim=-(-n // 256), block_dim=256)
    q, r = np.empty(n, dtype), np.empty(n, dtype)
    ctx.enqueue_copy(dst=q, src=buffers[2])
    ctx.enqueue_copy(dst=r, src=buffers[3])
    ctx.synchronize()
    for k in range(n):
        a, c = float(x[k]), float(y[k])
        defined = c != 0 and math.isfinite(a) and not math.isnan(c)
        wanted = a % c if defined else math.nan  # of two Float32 it is a Float32, save for the sign's sum
        got = float(r[k])
        same = (math.isnan(wanted) and math.isnan(got)) or got == dtype(wanted)
        assert same, (a, c, wanted, got)
        if defined and dtype is np.float64:
            assert float(q[k]) == a // c, (a, c)


def test_halves_are_divided_in_single_precision(any_context: DeviceContext) -> None:
    """As NumPy does it, bit for bit; in half precision the quotient is rounded on the way."""
    ctx, rng = any_context, np.random.default_rng(3)
    bits = rng.integers(0, 1 << 16, (2, 20000)).astype(np.uint16)
    x, y = bits.view(np.float16)
    n = len(x)
    buffers = [ctx.enqueue_create_buffer(Float16, n) for _ in range(4)]
    ctx.enqueue_copy(dst=buffers[0], src=np.ascontiguousarray(x))
    ctx.enqueue_copy(dst=buffers[1], src=np.ascontiguousarray(y))
    ctx.enqueue_function(half, *buffers, n, grid_dim=-(-n // 256), block_dim=256)  # pyright: ignore[reportCallIssue]
    found = [np.empty(n, np.float16) for _ in range(2)]
    for array, buffer in zip(found, buffers[2:], strict=True):
        ctx.enqueue_copy(dst=array, src=buffer)
    ctx.synchronize()
    some = y != 0
    with np.errstate(all="ignore"):
        for array, rule in zip(found, (np.floor_divide, np.remainder), strict=True):
            np.testing.assert_array_equal(array[some], rule(x[some], y[some]))
