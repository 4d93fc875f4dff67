"""Functions of ``weft.math`` on arrays, by a kernel; their errors in units of the last place."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from weft import Comptime, Float16, Float32, Float64, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
DTYPES = {"float16": Float16, "float32": Float32, "float64": Float64}


@kernel
def one32(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        out[i] = f(x[i])


@kernel
def one64(x: Pointer[Float64], out: Pointer[Float64], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        out[i] = f(x[i])


@kernel
def two32(
    x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32], n: Int, *, f: Comptime[Any]
) -> None:
    i = global_idx.x
    if i < n:
        out[i] = f(x[i], y[i])


@kernel
def two64(
    x: Pointer[Float64], y: Pointer[Float64], out: Pointer[Float64], n: Int, *, f: Comptime[Any]
) -> None:
    i = global_idx.x
    if i < n:
        out[i] = f(x[i], y[i])


@functools.cache
def context() -> DeviceContext:
    return DeviceContext(api="cpu")


def run(k: Any, f: Any, *arrays: Array, ctx: DeviceContext | None = None) -> Array:
    """``f`` of the arrays' elements, by a kernel on the CPU or on another device."""
    ctx = context() if ctx is None else ctx
    dtype = DTYPES[str(arrays[0].dtype)]
    n = arrays[0].size
    buffers = [ctx.enqueue_create_buffer(dtype, n) for _ in range(len(arrays) + 1)]
    for buffer, array in zip(buffers, arrays, strict=False):
        ctx.enqueue_copy(dst=buffer, src=np.ascontiguousarray(array))
    ctx.enqueue_function(k, *buffers, n, f=f, grid_dim=(n + 255) // 256, block_dim=256)
    out = np.empty_like(arrays[0])
    ctx.enqueue_copy(dst=out, src=buffers[-1])
    ctx.synchronize()
    return out


def errors(got: Array, exact: Array) -> Array:
    """The error of each result in units of the last place; infinite for a wrong special value or sign."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        nearest = exact.astype(got.dtype)
        exponent = np.maximum(np.frexp(exact)[1] - 1, int(info.minexp))
        error = np.abs(got.astype(exact.dtype) - exact) / np.ldexp(
            exact.dtype.type(1), exponent - int(info.nmant)
        )
    special = ~np.isfinite(nearest) | ~np.isfinite(got)
    same = (nearest == got) | (np.isnan(nearest) & np.isnan(got))
    error = np.where(special, np.where(same, 0.0, np.inf), error)
    return np.where((nearest == 0) & (got == 0) & (np.signbit(nearest) != np.signbit(got)), np.inf, error)
