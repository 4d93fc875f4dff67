"""Programs of Triton, Numba, Warp, Taichi and Mojo, ported line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import (
    Comptime,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    Int64,
    Pointer,
    kernel,
    struct,
    tile,
    unroll,
)
from weft.atomic import Atomic
from weft.complex import ComplexFloat64
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.linalg import vec3
from weft.math import ceildiv, sqrt
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(7)
SHARED = AddressSpace.SHARED


def same(got: Any, want: Any, tol: float = 1e-5) -> bool:
    return bool(np.allclose(got, want, rtol=tol, atol=tol))


@tile.tile_kernel(threads=64)
def ln(
    X: LayoutTensor[Float32],
    W: LayoutTensor[Float32],
    B: LayoutTensor[Float32],
    Y: LayoutTensor[Float32],
    eps: Float32,
):
    row = block_idx.x
    N = X.dim(1)
    BLOCK = tile.power_of_two(N)
    x = tile.load(X, (row, 0), (1, BLOCK))
    mean = x.sum(axis=1) / N
    cols = tile.arange(BLOCK)
    xc = tile.where(cols < N, x - mean, 0.0)
    var = (xc * xc).sum(axis=1) / N
    rstd = 1 / sqrt(var + eps)
    w = tile.load(W, (0,), (BLOCK,))
    b = tile.load(B, (0,), (BLOCK,))
    tile.store(Y, (row, 0), xc * rstd * w + b)


def test_layernorm(device: DeviceContext) -> None:
    X = rng.random((5, 50), np.float32)
    W, B = rng.random((2, 50), np.float32)
    Y = np.zeros_like(X)
    device.enqueue_function(ln, X, W, B, Y, 1e-5, grid_dim=5)
    device.synchronize()
    assert same(Y, (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5) * W + B, 1e-4)


@tile.tile_kernel(threads=128)
def mm(
    a: LayoutTensor[Float32],
    b: LayoutTensor[Float32],
    c: LayoutTensor[Float32],
    *,
    BM: Comptime[int],
    BN: Comptime[int],
    BK: Comptime[int],
):
    pid_m = block_idx.x
    pid_n = block_idx.y
    K = a.dim(1)
    acc = tile.zeros((BM, BN), Float32)
    for k in range(ceildiv(K, BK)):
        x = tile.load(a, (pid_m, k), (BM, BK))
        y = tile.load(b, (k, pid_n), (BK, BN))
        acc = tile.dot(x, y, acc)
    acc = tile.where(acc >= 0, acc, 0.01 * acc)
    tile.store(c, (pid_m, pid_n), acc)


def test_matmul(device: DeviceContext) -> None:
    a, b = rng.random((40, 50), np.float32) - 0.5, rng.random((50, 36), np.float32) - 0.5
    c = np.zeros((40, 36), "f4")
    device.enqueue_function(mm, a, b, c, BM=16, BN=16, BK=16, grid_dim=(3, 3))
    w = a @ b
    device.synchronize()
    assert same(c, np.where(w >= 0, w, 0.01 * w), 1e-4)


@tile.tile_kernel(threads=64)
def add(
    x_ptr: LayoutTensor[Float32],
    y_ptr: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    n: Int,
    *,
    BLOCK: Comptime[int],
):
    pid = block_idx.x
    offsets = pid * BLOCK + tile.arange(BLOCK)
    mask = offsets < n
    x = tile.gather(x_ptr, offsets, mask=mask)
    y = tile.gather(y_ptr, offsets, mask=mask)
    tile.scatter(out, offsets, x + y, mask=mask)


def test_add_mask(device: DeviceContext) -> None:
    x, y = rng.random((2, 100), np.float32)
    o = np.zeros(100, "f4")
    device.enqueue_function(add, x, y, o, 100, BLOCK=64, grid_dim=2)
    device.synchronize()
    assert same(o, x + y)


@kernel
def mandel(out: LayoutTensor[Int32], iters: Int):
    x, y = global_idx.x, global_idx.y
    h, w = out.shape
    if x < w and y < h:
        c = ComplexFloat64(x * 3.0 / w - 2.0, y * 2.0 / h - 1.0)
        z = ComplexFloat64(0.0, 0.0)
        n = iters
        for i in range(iters):
            z = z * z + c
            if z.re * z.re + z.im * z.im >= 4:
                n = i
                break
        out[y, x] = Int32(n)


def test_mandel_complex(device: DeviceContext) -> None:
    o = np.zeros((20, 30), "i4")
    device.enqueue_function(mandel, o, 50, grid_dim=(2, 2), block_dim=(16, 16))
    device.synchronize()
    for y, x in np.ndindex(20, 30):
        c, z, n = complex(x * 3.0 / 30 - 2, y * 2.0 / 20 - 1), 0j, 0
        while n < 50:
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                break
            n += 1
        assert o[y, x] == n


rec = np.dtype([("id", "i4"), ("pos", "f4", (3,)), ("mass", "f8")], align=True)


@struct
class Rec:
    id: Int32
    pos: InlineArray[Float32, 3]
    mass: Float64


@kernel
def touch(r: Pointer[Rec], n: Int):
    i = global_idx.x
    if i < n:
        r[i].mass = r[i].pos[0] * 2 + r[i].id
        r[i].pos[2] = 7


def test_records(device: DeviceContext) -> None:
    a = np.zeros(10, rec)
    a["id"] = range(10)
    a["pos"] = rng.random((10, 3))
    device.enqueue_function(touch, a, 10, grid_dim=1, block_dim=32)
    device.synchronize()
    assert same(a["mass"], a["pos"][:, 0].astype("f8") * 2 + a["id"])
    device.synchronize()
    assert same(a["pos"][:, 2], np.full(10, 7.0))


@kernel
def ss(a: LayoutTensor[Float32], v: LayoutTensor[Float32], out: LayoutTensor[Int64]):
    i = global_idx.x
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < v[i]:
            lo = mid + 1
        else:
            hi = mid
    out[i] = lo


def test_searchsorted(device: DeviceContext) -> None:
    a = np.sort(rng.random(37, np.float32))
    v = rng.random(50, np.float32)
    o = np.zeros(50, "i8")
    device.enqueue_function(ss, a, v, o, over=len(v))
    device.synchronize()
    assert same(o, np.searchsorted(a, v))


n_grid = 16
dx = 1 / n_grid


@kernel
def p2g(x: LayoutTensor[Float32], grid: LayoutTensor[Float32]):
    p = global_idx.x
    bx, by = int(x[p, 0] / dx - 0.5), int(x[p, 1] / dx - 0.5)
    fx, fy = x[p, 0] / dx - bx, x[p, 1] / dx - by
    wx = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    wy = [0.5 * (1.5 - fy) ** 2, 0.75 - (fy - 1) ** 2, 0.5 * (fy - 0.5) ** 2]
    for i in unroll(range(3)):
        for j in unroll(range(3)):
            Atomic.fetch_add(grid.address(bx + i, by + j), wx[i] * wy[j])


def test_p2g(device: DeviceContext) -> None:
    x = rng.random((50, 2), np.float32) * 0.7 + 0.15
    g = np.zeros((16, 16), "f4")
    device.enqueue_function(p2g, x, g, over=50)
    w = np.zeros((16, 16))
    for p in x:
        b = (p * 16 - 0.5).astype(int)
        f = p * 16 - b
        W = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        for i in range(3):
            for j in range(3):
                w[b[0] + i, b[1] + j] += W[i][0] * W[j][1]
    device.synchronize()
    assert same(g, w, 1e-4)


@kernel
def integrate(x: Pointer[vec3], v: Pointer[vec3], dt: Float32):
    tid = global_idx.x
    g = vec3(0.0, -9.81, 0.0)
    v0 = v[tid]
    x0 = x[tid]
    v1 = v0 + g * dt
    x1 = x0 + v1 * dt
    if x1[1] < 0.0:
        x1 = vec3(x1.x, 0.0, x1.z)
        v1 = v1 * -0.5
    x[tid] = x1
    v[tid] = v1


def test_particles(device: DeviceContext) -> None:
    x, v = rng.random((2, 20, 3), np.float32)
    x0, v0 = x.copy(), v.copy()
    device.enqueue_function(integrate, x, v, 0.1, over=20)
    v1 = v0 + np.array([0, -9.81, 0], np.float32) * np.float32(0.1)
    x1 = x0 + v1 * np.float32(0.1)
    hit = x1[:, 1] < 0
    x1[hit, 1] = 0
    v1[hit] *= -0.5
    device.synchronize()
    assert same(x, x1)
    device.synchronize()
    assert same(v, v1)


@kernel
def axis_sum(output: LayoutTensor[Float32], a: LayoutTensor[Float32], size: Int):
    local_i = thread_idx.x
    batch = block_idx.y
    cache = stack_allocation(Float32, Layout.row_major(8), address_space=SHARED)
    if local_i < size:
        cache[local_i] = a[batch, local_i]
    else:
        cache[local_i] = 0
    barrier()
    stride = 8 // 2
    while stride > 0:
        temp_val: output.element_type = 0
        if local_i < stride:
            temp_val = cache[local_i + stride]
        barrier()
        if local_i < stride:
            cache[local_i] += temp_val
        barrier()
        stride //= 2
    if local_i == 0:
        output[batch, 0] = cache[0]


def test_axis_sum(device: DeviceContext) -> None:
    a = rng.random((4, 6), np.float32)
    o = np.zeros((4, 1), "f4")
    device.enqueue_function(axis_sum, o, a, 6, grid_dim=(1, 4), block_dim=8)
    device.synchronize()
    assert same(o, a.sum(1, keepdims=True))
