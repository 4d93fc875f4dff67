"""Particles, cloth and grids as programs of Warp and Taichi have them, ported line by line."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.linalg import distance, dot, length, mat22, vec2, vec3, vec3i
from weft.math import floor

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(5)


# Springs of a cloth
@kernel
def eval_springs(
    x: Pointer[vec3],
    v: Pointer[vec3],
    idx: Pointer[Int32],
    rest: Pointer[Float32],
    ke: Float32,
    kd: Float32,
    f: Pointer[vec3],
):
    tid = global_idx.x
    i = idx[tid * 2 + 0]
    j = idx[tid * 2 + 1]
    xi = x[i]
    xj = x[j]
    vi = v[i]
    vj = v[j]
    xij = xi - xj
    vij = vi - vj
    dist = length(xij)
    l_inv = 1.0 / dist
    dir = xij * l_inv
    c = dist - rest[tid]
    dcdt = dot(dir, vij)
    fs = dir * (ke * c + kd * dcdt)
    Atomic.fetch_sub(f + i, fs)
    Atomic.fetch_add(f + j, fs)


def test_springs(device: DeviceContext) -> None:
    x, v = rng.random((2, 20, 3), np.float32)
    f = np.zeros((20, 3), np.float32)
    idx = rng.permutation(20)[:20].astype(np.int32)
    idx = np.concatenate([idx, np.roll(idx, 3)]).astype(np.int32)
    r = rng.random(20).astype(np.float32)
    device.enqueue_function(eval_springs, x, v, idx, r, 100.0, 1.0, f, over=(20,))
    device.synchronize()
    e = np.zeros((20, 3))
    for t in range(20):
        i, j = (idx[2 * t], idx[2 * t + 1])
        d = x[i] - x[j]
        far = np.linalg.norm(d)
        d = d / far
        s = d * (100 * (far - r[t]) + d @ (v[i] - v[j]))
        e[i] -= s
        e[j] += s
    assert np.allclose(f, e, atol=0.001)


# Neighbours by a grid of hashes
@func
def cell_of(p: vec3, inv: Float32) -> vec3i:
    return vec3i(Int32(floor(p.x * inv)), Int32(floor(p.y * inv)), Int32(floor(p.z * inv)))


@func
def hash_cell(c: vec3i, n: Int32) -> Int32:
    h = c.x * 73856093 ^ c.y * 19349663 ^ c.z * 83492791
    return h % n


@kernel
def count_cells(x: Pointer[vec3], counts: Pointer[Int32], n_cells: Int32, inv: Float32):
    i = global_idx.x
    Atomic.fetch_add(counts + hash_cell(cell_of(x[i], inv), n_cells), 1)


@kernel
def fill_cells(
    x: Pointer[vec3],
    starts: Pointer[Int32],
    fill: Pointer[Int32],
    ids: Pointer[Int32],
    n_cells: Int32,
    inv: Float32,
):
    i = global_idx.x
    h = hash_cell(cell_of(x[i], inv), n_cells)
    ids[starts[h] + Atomic.fetch_add(fill + h, 1)] = Int32(i)


@kernel
def density(
    x: Pointer[vec3],
    starts: Pointer[Int32],
    ids: Pointer[Int32],
    rho: Pointer[Float32],
    n_cells: Int32,
    r: Float32,
):
    i = global_idx.x
    xi = x[i]
    c = cell_of(xi, 1.0 / r)
    total = Float32(0.0)
    for dx in range(-1, 2):
        for dy in range(-1, 2):
            for dz in range(-1, 2):
                cc = c + vec3i(Int32(dx), Int32(dy), Int32(dz))
                h = hash_cell(cc, n_cells)
                for k in range(starts[h], starts[h + 1]):
                    j = ids[k]
                    if cell_of(x[j], 1.0 / r) == cc:
                        d = distance(xi, x[j])
                        if d < r:
                            total += (r * r - d * d) ** 3
    rho[i] = total


def test_hashgrid(device: DeviceContext) -> None:
    n, cells, r = (60, 17, 0.3)
    x = (rng.random((n, 3)) * 2 - 1).astype(np.float32)
    c = np.zeros(cells, np.int32)
    device.enqueue_function(count_cells, x, c, cells, 1 / r, over=(n,))
    device.synchronize()
    st = np.concatenate([[0], np.cumsum(c)]).astype(np.int32)
    ids = np.zeros(n, np.int32)
    fill = np.zeros(cells, np.int32)
    rho = np.zeros(n, np.float32)
    device.enqueue_function(fill_cells, x, st, fill, ids, cells, 1 / r, over=(n,))
    device.enqueue_function(density, x, st, ids, rho, cells, r, over=(n,))
    device.synchronize()
    d = np.linalg.norm(x[:, None] - x[None], axis=-1)
    e = np.where(d < r, (r * r - d * d) ** 3, 0).sum(1)
    assert np.allclose(rho, e, rtol=0.001)


# Material points to a grid
n_grid = 16

dx_ = 1 / n_grid

dt_ = 0.0002

p_rho = 1

E_ = 400

p_vol = (dx_ * 0.5) ** 2

p_mass = p_vol * p_rho


@kernel
def mpm_p2g(
    x: Pointer[vec2],
    v: Pointer[vec2],
    C: Pointer[mat22],
    J: Pointer[Float32],
    grid_v: LayoutTensor[vec2],
    grid_m: LayoutTensor[Float32],
):
    p = global_idx.x
    Xp = x[p] / dx_
    base = vec2i_(Xp.x - 0.5, Xp.y - 0.5)
    fx = Xp - vec2(base[0], base[1])
    w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    stress = -dt_ * 4 * E_ * p_vol * (J[p] - 1) / dx_**2
    affine = mat22(stress, 0.0, 0.0, stress) + p_mass * C[p]
    for i, j in ndrange(3, 3):
        dpos = (vec2(i, j) - fx) * dx_
        weight = w[i].x * w[j].y
        Atomic.fetch_add(grid_v.address(base[0] + i, base[1] + j), weight * (p_mass * v[p] + affine @ dpos))
        Atomic.fetch_add(grid_m.address(base[0] + i, base[1] + j), weight * p_mass)


def ndrange(a: int, b: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(a) for j in range(b)]


def vec2i_(x: Float32, y: Float32) -> tuple[Int, Int]:
    return (Int(x), Int(y))


def test_mpm(device: DeviceContext) -> None:
    n = 30
    x = (0.3 + 0.4 * rng.random((n, 2))).astype(np.float32)
    v = rng.random((n, 2), np.float32)
    C = rng.random((n, 2, 2), np.float32)
    J = rng.random(n).astype(np.float32)
    gv = np.zeros((16, 16, 2), np.float32)
    gm = np.zeros((16, 16), np.float32)
    G = device.enqueue_create_buffer(vec2, 256)
    device.enqueue_copy(dst=G, src=gv)
    device.enqueue_function(mpm_p2g, x, v, C, J, G.tensor(Layout.row_major(16, 16)), gm, over=(n,))
    device.synchronize()
    e = np.zeros((16, 16, 2))
    em = np.zeros((16, 16))
    for p in range(n):
        X = x[p] / dx_
        b = (X - 0.5).astype(int)
        f = X - b
        w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        A = np.eye(2) * (-dt_ * 4 * E_ * p_vol * (J[p] - 1) / dx_**2) + p_mass * C[p]
        for i in range(3):
            for j in range(3):
                W = w[i][0] * w[j][1]
                e[b[0] + i, b[1] + j] += W * (p_mass * v[p] + A @ ((np.array([i, j]) - f) * dx_))
                em[b[0] + i, b[1] + j] += W * p_mass
    with G.map_to_host() as h:
        g = np.array(h.numpy().tolist())
    assert np.allclose(gm, em, rtol=0.001)
    assert np.allclose(g.reshape(16, 16, 2), e, atol=1e-06)
