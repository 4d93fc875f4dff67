"""Programs of Numba, ported line by line, with NumPy's arrays as their authors hand them."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, Float64, Int, Pointer, UInt8, UInt64, func, kernel, math, struct
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation
from weft.random import rand

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(3)


# 2-D increment
@kernel
def increment_a_2D_array(an_array: LayoutTensor[Float32]):
    x, y = global_idx.x, global_idx.y
    if x < an_array.shape[0] and y < an_array.shape[1]:
        an_array[x, y] += 1


def test_increment2d(device: DeviceContext) -> None:
    a = np.zeros((20, 30), np.float32)
    device.enqueue_function(increment_a_2D_array, a, grid_dim=(2, 2), block_dim=(16, 16))
    device.synchronize()
    assert (a == 1).all()


# Fast_matmul
TPB = 16


@kernel
def fast_matmul(A: LayoutTensor[Float32], B: LayoutTensor[Float32], C: LayoutTensor[Float32]):
    sA = stack_allocation(Float32, Layout.row_major(TPB, TPB), address_space=AddressSpace.SHARED)
    sB = stack_allocation(Float32, Layout.row_major(TPB, TPB), address_space=AddressSpace.SHARED)
    x, y, _ = global_idx
    tx = thread_idx.x
    ty = thread_idx.y
    bpg = grid_dim.x
    tmp = Float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        barrier()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        barrier()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


def test_fast_matmul(device: DeviceContext) -> None:
    x_h = np.arange(115, dtype=np.float32).reshape([5, 23])
    y_h = np.ones([23, 7], np.float32)
    z_h = np.zeros([5, 7], np.float32)
    threadsperblock = (TPB, TPB)
    grid_y_max = max(x_h.shape[0], y_h.shape[0])
    grid_x_max = max(x_h.shape[1], y_h.shape[1])
    blockspergrid_x = math.ceildiv(grid_x_max, threadsperblock[0])
    blockspergrid_y = math.ceildiv(grid_y_max, threadsperblock[1])
    device.enqueue_function(
        fast_matmul, x_h, y_h, z_h, grid_dim=(blockspergrid_x, blockspergrid_y), block_dim=threadsperblock
    )
    device.synchronize()
    assert np.array_equal(z_h, x_h @ y_h)


# Mandelbrot with complex
@func
def mandel(x: Float32, y: Float32, max_iters: Int) -> Int:
    cr, ci = x, y
    zr, zi = 0.0, 0.0
    for i in range(max_iters):
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        if (zr * zr + zi * zi) >= 4:
            return Int(i)
    return max_iters


@kernel
def mandel_kernel(
    min_x: Float32, max_x: Float32, min_y: Float32, max_y: Float32, image: LayoutTensor[UInt8], iters: Int
):
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    startX, startY = global_idx.x, global_idx.y
    gridX = grid_dim.x * block_dim.x
    gridY = grid_dim.y * block_dim.y
    for x in range(startX, width, gridX):
        real = min_x + x * pixel_size_x
        for y in range(startY, height, gridY):
            imag = min_y + y * pixel_size_y
            image[y, x] = UInt8(mandel(real, imag, iters))


def test_mandelbrot(device: DeviceContext) -> None:
    image = np.zeros((64, 96), np.uint8)
    device.enqueue_function(
        mandel_kernel, -2.0, 1.0, -1.0, 1.0, image, 20, grid_dim=(2, 2), block_dim=(32, 8)
    )
    device.synchronize()
    y, x = np.indices((64, 96))
    c = (np.float32(-2) + x.astype(np.float32) * np.float32(3 / 96)) + 1j * (
        np.float32(-1) + y.astype(np.float32) * np.float32(2 / 64)
    )
    z = np.zeros_like(c)
    n = np.full(c.shape, 20)
    for i in range(20):
        z[:] = np.where(n == 20, z * z + c, z)
        n[(np.abs(z) >= 2) & (n == 20)] = i
    assert (image != n).mean() < 0.01


# Laplace, max error by atomic
@kernel
def jacobi_relax_core(A: LayoutTensor[Float64], Anew: LayoutTensor[Float64], error: Pointer[Float64]):
    err_sm = stack_allocation(Float64, 64, address_space=AddressSpace.SHARED)
    ty = thread_idx.x
    tx = thread_idx.y
    n, m = A.shape
    i, j = global_idx.y, global_idx.x
    err_sm[ty * 8 + tx] = 0
    if j >= 1 and j < n - 1 and i >= 1 and i < m - 1:
        Anew[j, i] = 0.25 * (A[j, i + 1] + A[j, i - 1] + A[j - 1, i] + A[j + 1, i])
        err_sm[ty * 8 + tx] = Anew[j, i] - A[j, i]
    barrier()
    t = 64 // 2
    while t > 0:
        if ty * 8 + tx < t:
            err_sm[ty * 8 + tx] = max(err_sm[ty * 8 + tx], err_sm[ty * 8 + tx + t])
        t //= 2
        barrier()
    if ty == 0 and tx == 0:
        Atomic.fetch_max(error, err_sm[0])


def test_laplace(device: DeviceContext) -> None:
    A = rng.random((32, 24))
    Anew, error = np.zeros_like(A), np.zeros(1)
    device.enqueue_function(jacobi_relax_core, A, Anew, error, grid_dim=(4, 3), block_dim=(8, 8))
    device.synchronize()
    want = 0.25 * (A[1:-1, 2:] + A[1:-1, :-2] + A[:-2, 1:-1] + A[2:, 1:-1])
    assert np.allclose(Anew[1:-1, 1:-1], want)
    assert np.isclose(error[0], (want - A[1:-1, 1:-1]).max())


# Session clicks: structured arrays
event = np.dtype([("user", np.int64), ("time", np.int64), ("session", np.int64)], align=True)


@struct
class Event:
    user: Int
    time: Int
    session: Int


@kernel
def sessionize(events: Pointer[Event], n: Int, timeout: Int):
    gid = global_idx.x
    if gid >= n:
        return
    is_first = (
        gid == 0
        or events[gid].user != events[gid - 1].user
        or events[gid].time - events[gid - 1].time > timeout
    )
    if is_first:
        events[gid].session = gid
        look_ahead = gid + 1
        while (
            look_ahead < n
            and events[look_ahead].user == events[gid].user
            and events[look_ahead].time - events[look_ahead - 1].time <= timeout
        ):
            events[look_ahead].session = gid
            look_ahead += 1


def test_sessions(device: DeviceContext) -> None:
    e = np.zeros(8, event)
    e["user"] = [1, 1, 1, 2, 3, 3, 4, 4]
    e["time"] = [1, 2, 9, 1, 1, 4, 5, 6]
    device.enqueue_function(sessionize, e, 8, 3, grid_dim=1, block_dim=32)
    device.synchronize()
    assert e["session"].tolist() == [0, 0, 2, 3, 4, 4, 6, 6]


# Random numbers pi
@kernel
def compute_pi(seed: UInt64, iterations: Int, out: Pointer[Float32]):
    thread_id = global_idx.x
    inside = 0
    for i in range(iterations):
        x = rand(Int(seed), thread_id * 200 + 2 * i)
        y = rand(Int(seed), thread_id * 200 + 2 * i + 1)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


def test_numba_pi(device: DeviceContext) -> None:
    out = np.zeros(24 * 64, dtype=np.float32)
    device.enqueue_function(compute_pi, 1, 100, out, grid_dim=24, block_dim=64)
    device.synchronize()
    assert abs(out.mean() - np.pi) < 0.05


# Vectorize / guvectorize: polynomial
coeffs = (1.0, -0.5, 0.25, 3.0)


@kernel
def poly(x: Pointer[Float64], out: Pointer[Float64]):
    acc = 0.0
    for c in reversed(coeffs):
        acc = acc * x[global_idx.x] + c
    out[global_idx.x] = acc


def test_polynomial(device: DeviceContext) -> None:
    x = np.linspace(-1, 1, 77)
    out = np.empty_like(x)
    device.enqueue_function(poly, x, out, over=len(x))
    device.synchronize()
    assert np.allclose(out, np.polynomial.polynomial.polyval(x, coeffs))


# Heat with local array and math functions, negative indices avoided
@kernel
def median3(src: LayoutTensor[Float32], dst: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    h, w = src.shape
    if i >= h or j >= w:
        return
    vals = stack_allocation(Float32, 9)
    n = 0
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            ii = min(max(i + di, 0), h - 1)
            jj = min(max(j + dj, 0), w - 1)
            vals[n] = src[ii, jj]
            n += 1
    for a in range(9):
        for b in range(8 - a):
            if vals[b] > vals[b + 1]:
                vals[b], vals[b + 1] = vals[b + 1], vals[b]
    dst[i, j] = vals[4]


def test_median(device: DeviceContext) -> None:
    a = rng.random((17, 23), np.float32)
    out = np.zeros_like(a)
    device.enqueue_function(median3, a, out, grid_dim=(3, 3), block_dim=(8, 8))
    device.synchronize()
    p = np.pad(a, 1, mode="edge")
    want = np.median(np.stack([p[i : i + 17, j : j + 23] for i in range(3) for j in range(3)]), 0)
    assert np.array_equal(out, want)
