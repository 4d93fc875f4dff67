"""Programs of Taichi, ported line by line."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic
from weft.gpu import block_dim, global_idx, grid_dim
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.linalg import dot, mat22, norm, vec2
from weft.math import cos, sqrt

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(5)


# Fractal: julia set
@func
def complex_sqr(z: vec2) -> vec2:
    return vec2(z[0] * z[0] - z[1] * z[1], 2 * z[0] * z[1])


@kernel
def paint(pixels: LayoutTensor[Float32], t: Float32):
    j, i = global_idx.x, global_idx.y
    n = pixels.shape[1]
    c = vec2(-0.8, cos(t) * 0.2)
    z = vec2(Float32(i) / Float32(n) - 1, Float32(j) / Float32(n) - 0.5) * 2
    iterations = 0
    while norm(z) < 20 and iterations < 50:
        z = complex_sqr(z) + c
        iterations += 1
    pixels[i, j] = 1 - iterations * 0.02


def test_julia(device: DeviceContext) -> None:
    n = 64
    px = np.zeros((n * 2, n), np.float32)
    device.enqueue_function(paint, px, 0.3, over=px.shape)
    device.synchronize()
    assert 0 <= px.min() + 1e-6
    assert px.max() < 1
    assert px.std() > 0.05


# Primes
@func
def is_prime(n: int) -> bool:
    result = True
    for k in range(2, int(n**0.5) + 1):
        if n % k == 0:
            result = False
            break
    return result


@kernel
def count_primes(n: Int, count: Pointer[Int32]):
    k = global_idx.x + 2
    if k < n:
        if is_prime(k):  # pyright: ignore[reportArgumentType]
            Atomic.fetch_add(count, 1)


def test_primes(device: DeviceContext) -> None:
    count = np.zeros(1, np.int32)
    device.enqueue_function(count_primes, 1000, count, over=998)
    device.synchronize()
    assert count[0] == 168


# N-body with Vector fields
N = 32


@kernel
def compute_force(pos: Pointer[vec2], vel: Pointer[vec2], force: Pointer[vec2]):
    i = global_idx.x
    force[i] = vec2(0.0, 0.0)
    p = pos[i]
    for j in range(N):
        if i != j:
            diff = p - pos[j]
            r = sqrt(dot(diff, diff) + 1e-5)
            f = -1.0 * (1.0 / r) ** 3 * diff
            force[i] += f
    vel[i] += 0.01 * force[i]


def test_taichi_nbody(device: DeviceContext) -> None:
    pos, vel, force = (
        rng.random((N, 2), np.float32),
        np.zeros((N, 2), np.float32),
        np.zeros((N, 2), np.float32),
    )
    device.enqueue_function(compute_force, pos, vel, force, over=N)
    device.synchronize()
    d = pos[:, None] - pos[None]
    r = np.sqrt((d**2).sum(-1) + 1e-5)
    assert np.allclose(force, (-((1 / r)[..., None] ** 3) * d).sum(1), rtol=1e-2, atol=1e-2)


# Mpm88 P2G: mat22, outer_product, 3x3 loop by ti.static
n_grid, dx, dt = 16, 1 / 16, 2e-4


@kernel
def p2g(
    x: Pointer[vec2],
    v: Pointer[vec2],
    C: Pointer[mat22],
    J: Pointer[Float32],
    grid_v: Pointer[Float32],
    grid_m: Pointer[Float32],
):
    p = global_idx.x
    Xp = x[p] / dx
    base = int(Xp.x - 0.5), int(Xp.y - 0.5)
    fx = Xp - vec2(base[0], base[1])
    w = [0.5 * (1.5 - fx) * (1.5 - fx), 0.75 - (fx - 1) * (fx - 1), 0.5 * (fx - 0.5) * (fx - 0.5)]
    stress = -dt * 4 * 400.0 * 1.0 * (J[p] - 1) / dx**2
    affine = mat22(stress, 0.0, 0.0, stress) + 1.0 * C[p]
    for i, j in ((i, j) for i in range(3) for j in range(3)):
        offset = vec2(i, j)
        dpos = (offset - fx) * dx
        weight = w[i].x * w[j].y
        at = (base[0] + i) * n_grid + base[1] + j
        momentum = weight * (1.0 * v[p] + affine @ dpos)
        Atomic.fetch_add(grid_v + 2 * at, momentum.x)
        Atomic.fetch_add(grid_v + 2 * at + 1, momentum.y)
        Atomic.fetch_add(grid_m + at, weight * 1.0)


def test_mpm(device: DeviceContext) -> None:
    n = 200
    x, v = (0.3 + 0.4 * rng.random((n, 2))).astype(np.float32), rng.random((n, 2), np.float32)
    C, J = np.zeros((n, 2, 2), np.float32), np.ones(n, np.float32)
    gv, gm = np.zeros((n_grid, n_grid, 2), np.float32), np.zeros((n_grid, n_grid), np.float32)
    device.enqueue_function(p2g, x, v, C, J, gv, gm, over=n)
    device.synchronize()
    assert np.isclose(gm.sum(), n, rtol=1e-4)
    assert np.allclose(gv.sum((0, 1)), v.sum(0), rtol=1e-3)


# Laplace over fields, ti.ndrange
@kernel
def laplacian(u: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    h, w = u.shape[0], u.shape[1]
    if 0 < i < h - 1 and 0 < j < w - 1:
        out[i, j] = (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j]) / dx**2


def test_taichi_laplace(device: DeviceContext) -> None:
    u = rng.random((20, 30), np.float32)
    out = np.zeros_like(u)
    device.enqueue_function(laplacian, u, out, over=u.shape)
    device.synchronize()
    want = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) * 256
    assert np.allclose(out[1:-1, 1:-1], want, atol=1e-3)


# Reduction: atomic sum of loop
@kernel
def total(x: LayoutTensor[Float32], out: Pointer[Float32]):
    for at in range(global_idx.x, x.shape[0], grid_dim.x * block_dim.x):
        Atomic.fetch_add(out, x[at])


def test_taichi_sum(device: DeviceContext) -> None:
    x = np.ones(5000, np.float32)
    out = np.zeros(1, np.float32)
    device.enqueue_function(total, x, out, grid_dim=4, block_dim=64)
    device.synchronize()
    assert out[0] == 5000
