"""Programs of CUDA's samples and courses, ported line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import (
    Comptime,
    Float32,
    Float64,
    Int,
    Int32,
    Pointer,
    UInt8,
    func,
    kernel,
    struct,
)
from weft.atomic import Atomic, fence
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.math import sqrt
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(7)
SHARED = AddressSpace.SHARED


def same(got: Any, want: Any, tol: float = 1e-5) -> bool:
    return bool(np.allclose(got, want, rtol=tol, atol=tol))


@kernel
def transpose(idata: Pointer[Float32], odata: Pointer[Float32], width: Int, height: Int):
    tile = stack_allocation(Float32, Layout.row_major(32, 33), address_space=SHARED)
    x = block_idx.x * 32 + thread_idx.x
    y = block_idx.y * 32 + thread_idx.y
    for j in range(0, 32, 8):
        if x < width and y + j < height:
            tile[thread_idx.y + j, thread_idx.x] = idata[(y + j) * width + x]
    barrier()
    x = block_idx.y * 32 + thread_idx.x
    y = block_idx.x * 32 + thread_idx.y
    for j in range(0, 32, 8):
        if x < height and y + j < width:
            odata[(y + j) * height + x] = tile[thread_idx.x, thread_idx.y + j]


def test_transpose(device: DeviceContext) -> None:
    a = rng.random((50, 70), np.float32)
    o = np.zeros((70, 50), "f4")
    device.enqueue_function(transpose, a, o, 70, 50, grid_dim=(3, 2), block_dim=(32, 8))
    device.synchronize()
    assert same(o, a.T)


@kernel
def bitonic(d: Pointer[Int32]):
    s = stack_allocation(Int32, 256, address_space=SHARED)
    t = thread_idx.x
    s[t] = d[t]
    barrier()
    k = 2
    while k <= 256:
        j = k >> 1
        while j > 0:
            ixj = t ^ j
            if ixj > t:
                if (t & k) == 0:
                    if s[t] > s[ixj]:
                        s[t], s[ixj] = s[ixj], s[t]
                else:
                    if s[t] < s[ixj]:
                        s[t], s[ixj] = s[ixj], s[t]
            barrier()
            j >>= 1
        k <<= 1
    d[t] = s[t]


def test_bitonic(device: DeviceContext) -> None:
    d = rng.integers(0, 1000, 256).astype("i4")
    w = np.sort(d)
    device.enqueue_function(bitonic, d, grid_dim=1, block_dim=256)
    device.synchronize()
    assert same(d, w)


@struct
class float4:
    x: Float32
    y: Float32
    z: Float32
    w: Float32


@func
def interact(a: float4, b: float4, ai: float4) -> float4:
    dx = b.x - a.x
    dy = b.y - a.y
    dz = b.z - a.z
    d2 = dx * dx + dy * dy + dz * dz + 0.01
    inv = 1.0 / sqrt(d2)
    s = b.w * inv * inv * inv
    ai.x += dx * s
    ai.y += dy * s
    ai.z += dz * s
    return ai


@kernel
def forces(pos: Pointer[float4], acc: Pointer[float4], n: Int):
    sh = stack_allocation(float4, 32, address_space=SHARED)
    i = global_idx.x
    mine = pos[i]
    a = float4(0.0, 0.0, 0.0, 0.0)
    for t in range(n // 32):
        sh[thread_idx.x] = pos[t * 32 + thread_idx.x]
        barrier()
        for j in range(32):
            a = interact(mine, sh[j], a)
        barrier()
    acc[i] = a


def test_nbody(device: DeviceContext) -> None:
    pos = rng.random((64, 4), np.float32)
    acc = np.zeros((64, 4), "f4")
    device.enqueue_function(
        forces,
        pos.view(np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])).ravel(),
        acc.view(np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])).ravel(),
        64,
        grid_dim=2,
        block_dim=32,
    )
    d = pos[None, :, :3] - pos[:, None, :3]
    r2 = (d**2).sum(-1) + 0.01
    device.synchronize()
    assert same(acc[:, :3], (d * (pos[None, :, 3] / r2**1.5)[..., None]).sum(1), 1e-3)


@kernel
def life(inp: Pointer[UInt8], out: Pointer[UInt8], w: Int, h: Int):
    x, y = global_idx.x, global_idx.y
    if x >= w or y >= h:
        return
    n = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dx == 0 and dy == 0:
                continue
            n += inp[((y + dy + h) % h) * w + (x + dx + w) % w]
    alive = inp[y * w + x]
    out[y * w + x] = 1 if n == 3 or (alive and n == 2) else 0


def test_life(device: DeviceContext) -> None:
    g = (rng.random((30, 40)) > 0.6).astype("u1")
    o = np.zeros_like(g)
    device.enqueue_function(life, g, o, 40, 30, grid_dim=(3, 2), block_dim=(16, 16))
    n = sum(np.roll(g, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    device.synchronize()
    assert same(o, ((n == 3) | ((g == 1) & (n == 2))).astype("u1"))


@kernel
def spmv(
    rows: Pointer[Int32],
    cols: Pointer[Int32],
    vals: Pointer[Float32],
    x: Pointer[Float32],
    y: Pointer[Float32],
    n: Int32,
):
    tid = block_dim.x * block_idx.x + thread_idx.x
    wid = tid // 32
    lane = tid & 31
    if wid < n:
        s = 0.0
        j = rows[wid] + lane
        while j < rows[wid + 1]:
            s += vals[j] * x[cols[j]]
            j += 32
        offset = 16
        while offset > 0:
            s += warp.shuffle_down(s, offset)
            offset //= 2
        if lane == 0:
            y[wid] = s


def test_spmv(device: DeviceContext) -> None:
    m = np.where(rng.random((20, 100)) < 0.4, rng.random((20, 100)), 0).astype("f4")
    rows = np.r_[0, np.cumsum((m != 0).sum(1))].astype("i4")
    cols = np.nonzero(m)[1].astype("i4")
    vals = m[m != 0]
    x = rng.random(100, np.float32)
    y = np.zeros(20, "f4")
    device.enqueue_function(spmv, rows, cols, vals, x, y, 20, grid_dim=5, block_dim=128)
    device.synchronize()
    assert same(y, m @ x)


@kernel
def fw(dist: Pointer[Int32], n: Int, k: Int):
    i, j = global_idx.y, global_idx.x
    if i < n and j < n:
        d = dist[i * n + k] + dist[k * n + j]
        if d < dist[i * n + j]:
            dist[i * n + j] = d


def test_floyd(device: DeviceContext) -> None:
    d = rng.integers(1, 100, (20, 20)).astype("i4")
    np.fill_diagonal(d, 0)
    w = d.copy()
    for k in range(20):
        device.enqueue_function(fw, d, 20, k, grid_dim=(2, 2), block_dim=(16, 16))
        w = np.minimum(w, w[:, k : k + 1] + w[k : k + 1])
    device.synchronize()
    assert same(d, w)


@kernel
def scan(out: Pointer[Float32], inp: Pointer[Float32], n: Int):
    temp = dynamic_shared_memory(Float32)
    thid = thread_idx.x
    pout = 0
    pin = 1
    temp[thid] = inp[thid - 1] if thid > 0 else 0
    barrier()
    offset = 1
    while offset < n:
        pout = 1 - pout
        pin = 1 - pout
        if thid >= offset:
            temp[pout * n + thid] = temp[pin * n + thid] + temp[pin * n + thid - offset]
        else:
            temp[pout * n + thid] = temp[pin * n + thid]
        barrier()
        offset *= 2
    out[thid] = temp[pout * n + thid]


def test_scan_double(device: DeviceContext) -> None:
    x = rng.random(64, np.float32)
    o = np.zeros_like(x)
    device.enqueue_function(scan, o, x, 64, grid_dim=1, block_dim=64, shared_mem_bytes=2 * 64 * 4)
    device.synchronize()
    assert same(o, np.r_[0, np.cumsum(x)[:-1]])


N = 5


@kernel
def det(mats: Pointer[Float64], dets: Pointer[Float64], count: Int):
    id = global_idx.x
    if id >= count:
        return
    a = stack_allocation(Float64, Layout.row_major(N, N))
    for i in range(N):
        for j in range(N):
            a[i, j] = mats[id * N * N + i * N + j]
    d = 1.0
    for k in range(N):
        piv = k
        for i in range(k + 1, N):
            if abs(a[i, k]) > abs(a[piv, k]):
                piv = i
        if piv != k:
            for j in range(N):
                tmp = a[k, j]
                a[k, j] = a[piv, j]
                a[piv, j] = tmp
            d = -d
        d *= a[k, k]
        for i in range(k + 1, N):
            f = a[i, k] / a[k, k]
            for j in range(k, N):
                a[i, j] -= f * a[k, j]
    dets[id] = d


def test_lu(device: DeviceContext) -> None:
    m = rng.random((30, N, N))
    o = np.zeros(30)
    device.enqueue_function(det, m, o, 30, grid_dim=1, block_dim=32)
    device.synchronize()
    assert same(o, np.linalg.det(m))


@kernel
def locked(lock: Pointer[Int32], sum: Pointer[Float32]):
    if thread_idx.x == 0:
        while Atomic.compare_exchange(lock, 0, 1)[0] != 0:
            pass
        sum[0] += block_idx.x
        fence("seq_cst")
        Atomic.exchange(lock, 0)


def test_lock(device: DeviceContext) -> None:
    lock, s = np.zeros(1, "i4"), np.zeros(1, "f4")
    device.enqueue_function(locked, lock, s, grid_dim=20, block_dim=32)
    device.synchronize()
    assert same(s, [190.0])


@kernel
def sobel(src: Pointer[UInt8], dst: Pointer[UInt8], w: Int32, h: Int32):
    x = Int32(block_idx.x * block_dim.x + thread_idx.x)
    y = Int32(block_idx.y * block_dim.y + thread_idx.y)
    if x < 1 or y < 1 or x >= w - 1 or y >= h - 1:
        return
    at = src + y * w + x
    gx = Int32(0)
    gy = Int32(0)
    for i in range(-1, 2):
        weight = Int32(2 - abs(i))
        gx += weight * (Int32(at[i * w + 1]) - Int32(at[i * w - 1]))
        gy += weight * (Int32(at[w + i]) - Int32(at[i - w]))
    m = abs(gx) + abs(gy)
    dst[y * w + x] = UInt8(255 if m > 255 else m)


def test_sobel(device: DeviceContext) -> None:
    s = rng.integers(0, 256, (20, 24)).astype("u1")
    d = np.zeros_like(s)
    device.enqueue_function(sobel, s, d, 24, 20, grid_dim=(2, 2), block_dim=(16, 16))
    a = s.astype(int)
    gx = (a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[1:-1, :-2] + a[2:, :-2])
    gy = (a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:]) - (a[:-2, :-2] + 2 * a[:-2, 1:-1] + a[:-2, 2:])
    device.synchronize()
    assert same(d[1:-1, 1:-1], np.minimum(abs(gx) + abs(gy), 255).astype("u1"))


@struct
class Pair:
    value: Float32
    index: Int32


@kernel
def argmax(x: Pointer[Float32], out: Pointer[Pair], n: Int):
    s = stack_allocation(Pair, 128, address_space=SHARED)
    t = thread_idx.x
    best = Pair(-1e30, -1)
    i = global_idx.x
    while i < n:
        if x[i] > best.value:
            best.value = x[i]
            best.index = Int32(i)
        i += block_dim.x * grid_dim.x
    s[t] = best
    barrier()
    h = block_dim.x // 2
    while h > 0:
        if t < h and s[t + h].value > s[t].value:
            s[t] = s[t + h]
        barrier()
        h //= 2
    if t == 0:
        out[block_idx.x] = s[0]


def test_argmax(device: DeviceContext) -> None:
    x = rng.random(1000, np.float32)
    o = np.zeros(2, np.dtype([("value", "f4"), ("index", "i4")]))
    device.enqueue_function(argmax, x, o, 1000, grid_dim=2, block_dim=128)
    device.synchronize()
    device.synchronize()
    assert same(o["index"][o["value"].argmax()], x.argmax())


@func
def op_sq(a: Float32) -> Float32:
    return a * a


@func
def op_inc(a: Float32) -> Float32:
    return a + 1


@kernel
def apply(x: Pointer[Float32], n: Int, *, op: Comptime[Any]):
    i = global_idx.x
    if i < n:
        x[i] = op(x[i])


def test_functor(device: DeviceContext) -> None:
    x = rng.random(10, np.float32)
    w = x * x
    device.enqueue_function(apply, x, 10, op=op_sq, grid_dim=1, block_dim=32)
    device.synchronize()
    assert same(x, w)
    x = rng.random(10, np.float32)
    w = x + 1
    device.enqueue_function(apply, x, 10, op=op_inc, grid_dim=1, block_dim=32)
    device.synchronize()
    assert same(x, w)


@kernel
def edit(a: Pointer[UInt8], b: Pointer[UInt8], d: Pointer[Int32], n: Int, m: Int):
    j = thread_idx.x
    for k in range(2, n + m + 1):
        i = k - j - 1
        if 1 <= i <= n and j + 1 <= m:
            c = 0 if a[i - 1] == b[j] else 1
            d[i * (m + 1) + j + 1] = min(
                d[(i - 1) * (m + 1) + j + 1] + 1, d[i * (m + 1) + j] + 1, d[(i - 1) * (m + 1) + j] + c
            )
        barrier()


def test_edit(device: DeviceContext) -> None:
    s, t = b"kitten on a mat", b"sitting at it"
    n, m = len(s), len(t)
    d = np.zeros((n + 1, m + 1), "i4")
    d[0] = range(m + 1)
    d[:, 0] = range(n + 1)
    w = d.copy()
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            w[i, j] = min(w[i - 1, j] + 1, w[i, j - 1] + 1, w[i - 1, j - 1] + (s[i - 1] != t[j - 1]))
    device.enqueue_function(
        edit, np.frombuffer(s, "u1").copy(), np.frombuffer(t, "u1").copy(), d, n, m, grid_dim=1, block_dim=32
    )
    device.synchronize()
    assert same(d, w)


@kernel
def hist(x: Pointer[UInt8], h: Pointer[Int32], n: Int):
    s = stack_allocation(Int32, Layout.row_major(4, 16), address_space=SHARED)
    w, lane = thread_idx.x // 32, thread_idx.x % 32
    if lane < 16:
        s[w, lane] = 0
    barrier()
    for i in range(thread_idx.x, n, block_dim.x):
        Atomic.fetch_add(s.address(w, x[i] >> 4), 1)
    barrier()
    if thread_idx.x < 16:
        t = 0
        for k in range(4):
            t += s[k, thread_idx.x]
        h[thread_idx.x] = t


def test_hist_warp(device: DeviceContext) -> None:
    x = rng.integers(0, 256, 999).astype("u1")
    h = np.zeros(16, "i4")
    device.enqueue_function(hist, x, h, 999, grid_dim=1, block_dim=128)
    device.synchronize()
    assert same(h, np.bincount(x >> 4, minlength=16).astype("i4"))
