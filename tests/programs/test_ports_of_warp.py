"""Programs of Warp, ported line by line."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, Int, Pointer, func, kernel, struct
from weft.atomic import Atomic
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.linalg import dot, length, mat33, normalize, outer, quat, vec3
from weft.random import Random

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(4)


# Particles, wp.array(dtype=wp.vec3)
@kernel
def integrate(
    x: Pointer[vec3], v: Pointer[vec3], f: Pointer[vec3], w: Pointer[Float32], gravity: vec3, dt: Float32
):
    tid = global_idx.x
    x0 = x[tid]
    v0 = v[tid]
    f0 = f[tid]
    inv_mass = w[tid]
    v1 = v0 + (f0 * inv_mass + gravity) * dt
    x1 = x0 + v1 * dt
    if x1.y < 0.0:
        x1 = vec3(x1.x, 0.0, x1.z)
        v1 = vec3(v1.x, -0.5 * v1.y, v1.z)
    x[tid] = x1
    v[tid] = v1


def test_particles(device: DeviceContext) -> None:
    n = 50
    x, v, f = (rng.random((n, 3), np.float32) for _ in range(3))
    w = np.ones(n, np.float32)
    g = np.array([0, -9.8, 0], np.float32)
    v1 = v + (f * w[:, None] + g) * np.float32(0.1)
    x1 = x + v1 * np.float32(0.1)
    hit = x1[:, 1] < 0
    x1[hit, 1], v1[hit, 1] = 0, -0.5 * v1[hit, 1]
    device.enqueue_function(integrate, x, v, f, w, vec3(0.0, -9.8, 0.0), 0.1, over=n)
    device.synchronize()
    assert np.allclose(x, x1, atol=1e-5)
    assert np.allclose(v, v1, atol=1e-5)


# Lengths
@kernel
def length_kernel(a: Pointer[vec3], out: Pointer[Float32]):
    tid = global_idx.x
    out[tid] = length(a[tid])


def test_lengths(device: DeviceContext) -> None:
    a = rng.random((100, 3), np.float32)
    out = np.zeros(100, np.float32)
    device.enqueue_function(length_kernel, a, out, over=100)
    device.synchronize()
    assert np.allclose(out, np.linalg.norm(a, axis=1))


# Struct parameter, rotation by quaternion
@struct
class Body:
    pos: vec3
    rot: quat
    mass: Float32


@kernel
def transform(body: Body, p: Pointer[vec3], out: Pointer[vec3]):
    tid = global_idx.x
    out[tid] = body.rot.rotate(p[tid]) + body.pos


def test_rotation(device: DeviceContext) -> None:
    p = rng.random((10, 3), np.float32)
    out = np.zeros_like(p)
    q = quat.from_axis_angle(vec3(0.0, 0.0, 1.0), np.pi / 2)
    device.enqueue_function(transform, Body(vec3(1.0, 2.0, 3.0), q, 1.0), p, out, over=10)
    device.synchronize()
    want = np.stack([-p[:, 1], p[:, 0], p[:, 2]], 1) + [1, 2, 3]
    assert np.allclose(out, want, atol=1e-6)


# Raymarch SDF: functions, loops
@func
def sdf(p: vec3) -> Float32:
    d = length(p - vec3(0.0, 0.0, 2.0)) - 1.0
    return min(d, p.y + 1.0)


@func
def normal(p: vec3) -> vec3:
    eps = 1e-3
    dx = sdf(p + vec3(eps, 0.0, 0.0)) - sdf(p - vec3(eps, 0.0, 0.0))
    dy = sdf(p + vec3(0.0, eps, 0.0)) - sdf(p - vec3(0.0, eps, 0.0))
    dz = sdf(p + vec3(0.0, 0.0, eps)) - sdf(p - vec3(0.0, 0.0, eps))
    return normalize(vec3(dx, dy, dz))


@kernel
def draw(pixels: Pointer[vec3], width: Int, height: Int):
    tid = global_idx.x
    x = tid % width
    y = tid // width
    sx = 2.0 * Float32(x) / width - 1.0
    sy = 2.0 * Float32(y) / height - 1.0
    ro = vec3(0.0, 0.0, -1.0)
    rd = normalize(vec3(sx, sy, 1.0))
    t = 0.0
    for _i in range(64):
        d = sdf(ro + rd * t)
        t += d
    p = ro + rd * t
    if t < 20.0:
        n = normal(p)
        c = dot(n, normalize(vec3(0.5, 1.0, -1.0)))
        pixels[tid] = vec3(max(c, 0.0)) * 0.8 + 0.1
    else:
        pixels[tid] = vec3(0.4, 0.45, 0.5)


def test_raymarch(device: DeviceContext) -> None:
    px = np.zeros((48 * 32, 3), np.float32)
    device.enqueue_function(draw, px, 48, 32, over=48 * 32)
    device.synchronize()
    assert np.isfinite(px).all()
    assert 0.09 < px.min()
    assert px.max() <= 0.91
    assert px.std() > 0.1


# Random: rand_init, randf, sample
@kernel
def monte(sums: Pointer[Float32], seed: Int):
    tid = global_idx.x
    state = Random(seed, tid)
    u = state.step_uniform()
    x, y = u[0], u[1]
    if x * x + y * y < 1.0:
        Atomic.fetch_add(sums, 1.0)


def test_warp_random(device: DeviceContext) -> None:
    s = np.zeros(1, np.float32)
    device.enqueue_function(monte, s, 42, over=10000)
    device.synchronize()
    assert abs(4 * s[0] / 10000 - np.pi) < 0.1


# Mass-spring with mat33, outer products
@kernel
def cov(p: Pointer[vec3], out: Pointer[mat33], n: Int):
    m = 0.0 * mat33.identity()
    for i in range(n):
        m += outer(p[i], p[i])
    out[0] = m


def test_covariance(device: DeviceContext) -> None:
    p = rng.random((20, 3), np.float32)
    out = np.zeros((1, 3, 3), np.float32)
    device.enqueue_function(cov, p, out, 20, over=1)
    device.synchronize()
    assert np.allclose(out[0], p.T @ p, rtol=1e-5)
