"""More programs of CUDA, ported line by line."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Bool, Float32, Float64, Int, Int32, Pointer, UInt8, UInt32, UInt64, func, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.linalg import vec3, vec4
from weft.math import abs, exp, log, rsqrt
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(2)


# Black-Scholes
@func
def cndGPU(d: Float32) -> Float32:
    A1 = 0.31938153
    A2 = -0.356563782
    A3 = 1.781477937
    A4 = -1.821255978
    A5 = 1.330274429
    RSQRT2PI = 0.39894228040143267793994605993438
    K = 1.0 / (1.0 + 0.2316419 * abs(d))
    cnd = RSQRT2PI * exp(-0.5 * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))))
    if d > 0:
        cnd = 1.0 - cnd
    return cnd


@kernel
def BlackScholesGPU(
    d_Call: Pointer[Float32],
    d_Put: Pointer[Float32],
    S: Pointer[Float32],
    X: Pointer[Float32],
    T: Pointer[Float32],
    Riskfree: Float32,
    Volatility: Float32,
    optN: Int,
):
    opt = block_dim.x * block_idx.x + thread_idx.x
    if opt < optN:
        sqrtT = 1.0 / rsqrt(T[opt])
        d1 = (log(S[opt] / X[opt]) + (Riskfree + 0.5 * Volatility * Volatility) * T[opt]) / (
            Volatility * sqrtT
        )
        d2 = d1 - Volatility * sqrtT
        CNDD1 = cndGPU(d1)
        CNDD2 = cndGPU(d2)
        expRT = exp(-Riskfree * T[opt])
        d_Call[opt] = S[opt] * CNDD1 - X[opt] * expRT * CNDD2
        d_Put[opt] = X[opt] * expRT * (1.0 - CNDD2) - S[opt] * (1.0 - CNDD1)


def test_black_scholes(device: DeviceContext) -> None:
    n = 1000
    S, X, T = (rng.uniform(a, b, n).astype(np.float32) for a, b in ((5, 30), (1, 100), (0.25, 10)))
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    device.enqueue_function(
        BlackScholesGPU, call, put, S, X, T, 0.02, 0.30, n, grid_dim=(n + 127) // 128, block_dim=128
    )
    device.synchronize()
    assert np.allclose(call - put, S - X * np.exp(-0.02 * T), atol=1e-3)


# N-body with float4
softening2 = 0.01


@func
def bodyBodyInteraction(ai: vec3, bi: vec4, bj: vec4) -> vec3:
    r = vec3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z)
    distSqr = r.x * r.x + r.y * r.y + r.z * r.z + softening2
    invDist = rsqrt(distSqr)
    s = bj.w * invDist * invDist * invDist
    return ai + r * s


@kernel
def integrateBodies(acc: Pointer[vec3], pos: Pointer[vec4], n: Int):
    sharedPos = stack_allocation(vec4, 64, address_space=AddressSpace.SHARED)
    i = global_idx.x
    a = vec3(0.0, 0.0, 0.0)
    for tile in range(n // 64):
        sharedPos[thread_idx.x] = pos[tile * 64 + thread_idx.x]
        barrier()
        for j in range(64):
            a = bodyBodyInteraction(a, pos[i], sharedPos[j])
        barrier()
    acc[i] = a


def test_nbody(device: DeviceContext) -> None:
    n = 128
    pos = rng.random((n, 4), np.float32)
    acc = np.zeros((n, 3), np.float32)
    device.enqueue_function(integrateBodies, acc, pos, n, grid_dim=2, block_dim=64)
    device.synchronize()
    r = pos[None, :, :3] - pos[:, None, :3]
    d = ((r**2).sum(-1) + softening2) ** -1.5
    want = (r * (pos[None, :, 3] * d)[..., None]).sum(1)
    assert np.allclose(acc, want, rtol=1e-3, atol=1e-3)


# Bitonic sort
@kernel
def bitonicSort(d: Pointer[UInt32], n: Int, dir: Bool):
    s = stack_allocation(UInt32, 512, address_space=AddressSpace.SHARED)
    t = thread_idx.x
    s[t] = d[t]
    s[t + 256] = d[t + 256]
    size = 2
    while size < n:
        ddd = dir ^ ((t & (size // 2)) != 0)
        stride = size // 2
        while stride > 0:
            barrier()
            pos = 2 * t - (t & (stride - 1))
            if (s[pos] > s[pos + stride]) == ddd:
                s[pos], s[pos + stride] = s[pos + stride], s[pos]
            stride >>= 1
        size <<= 1
    stride = n // 2
    while stride > 0:
        barrier()
        pos = 2 * t - (t & (stride - 1))
        if (s[pos] > s[pos + stride]) == dir:
            s[pos], s[pos + stride] = s[pos + stride], s[pos]
        stride >>= 1
    barrier()
    d[t] = s[t]
    d[t + 256] = s[t + 256]


def test_bitonic(device: DeviceContext) -> None:
    x = rng.integers(0, 1 << 32, 512, dtype=np.uint32)
    want = np.sort(x)
    device.enqueue_function(bitonicSort, x, 512, True, grid_dim=1, block_dim=256)
    device.synchronize()
    assert np.array_equal(x, want)


# Sobel on uchar
@kernel
def sobel(src: Pointer[UInt8], dst: Pointer[UInt8], w: Int, h: Int, fScale: Float32):
    x = block_idx.x * block_dim.x + thread_idx.x
    y = block_idx.y * block_dim.y + thread_idx.y
    if x < 1 or y < 1 or x >= w - 1 or y >= h - 1:
        return
    ul = src[(y - 1) * w + x - 1]
    um = src[(y - 1) * w + x]
    ur = src[(y - 1) * w + x + 1]
    ml = src[y * w + x - 1]
    mr = src[y * w + x + 1]
    ll = src[(y + 1) * w + x - 1]
    lm = src[(y + 1) * w + x]
    lr = src[(y + 1) * w + x + 1]
    Horz = Int32(ur) + 2 * Int32(mr) + Int32(lr) - Int32(ul) - 2 * Int32(ml) - Int32(ll)
    Vert = Int32(ul) + 2 * Int32(um) + Int32(ur) - Int32(ll) - 2 * Int32(lm) - Int32(lr)
    Sum = Int32(fScale * (abs(Horz) + abs(Vert)))
    dst[y * w + x] = UInt8(min(max(Sum, 0), 255))


def test_sobel(device: DeviceContext) -> None:
    img = rng.integers(0, 256, (40, 50)).astype(np.uint8)
    out = np.zeros_like(img)
    device.enqueue_function(sobel, img, out, 50, 40, 0.5, grid_dim=(4, 5), block_dim=(16, 8))
    device.synchronize()
    i = img.astype(np.int32)
    H = i[:-2, 2:] + 2 * i[1:-1, 2:] + i[2:, 2:] - i[:-2, :-2] - 2 * i[1:-1, :-2] - i[2:, :-2]
    V = i[:-2, :-2] + 2 * i[:-2, 1:-1] + i[:-2, 2:] - i[2:, :-2] - 2 * i[2:, 1:-1] - i[2:, 2:]
    assert np.array_equal(out[1:-1, 1:-1], np.clip((0.5 * (np.abs(H) + np.abs(V))).astype(int), 0, 255))


# Dot product with one atomic per block
@kernel
def dot(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], N: Int):
    cache = stack_allocation(Float32, 256, address_space=AddressSpace.SHARED)
    tid = thread_idx.x + block_idx.x * block_dim.x
    cacheIndex = thread_idx.x
    temp = 0
    while tid < N:
        temp += a[tid] * b[tid]
        tid += block_dim.x * grid_dim.x
    cache[cacheIndex] = temp
    barrier()
    i = block_dim.x // 2
    while i != 0:
        if cacheIndex < i:
            cache[cacheIndex] += cache[cacheIndex + i]
        barrier()
        i //= 2
    if cacheIndex == 0:
        Atomic.fetch_add(c, cache[0])


def test_dot_int_division(device: DeviceContext) -> None:
    n = 3000
    a, b = rng.integers(0, 8, n).astype(np.float32), rng.integers(0, 8, n).astype(np.float32)
    c = np.zeros(1, np.float32)
    device.enqueue_function(dot, a, b, c, n, grid_dim=4, block_dim=256)
    device.synchronize()
    assert c[0] == a @ b


# SpMV, CSR, a warp per row
@kernel
def spmv_csr_vector(
    num_rows: Int,
    ptr: Pointer[Int32],
    indices: Pointer[Int32],
    data: Pointer[Float32],
    x: Pointer[Float32],
    y: Pointer[Float32],
):
    thread_id = block_dim.x * block_idx.x + thread_idx.x
    warp_id = thread_id // 32
    lane = thread_id & (32 - 1)
    row = warp_id
    dot = 0.0
    if row < num_rows:
        row_start = ptr[row]
        row_end = ptr[row + 1]
        for jj in range(row_start + lane, row_end, 32):
            dot += data[jj] * x[indices[jj]]
    dot = warp.sum(dot)
    if lane == 0 and row < num_rows:
        y[row] += dot


def test_spmv(device: DeviceContext) -> None:
    rows = 37
    dense = rng.random((rows, 50), np.float32) * (rng.random((rows, 50)) < 0.2)
    ptr = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    idx = np.nonzero(dense)[1].astype(np.int32)
    data = dense[dense != 0].astype(np.float32)
    x, y = rng.random(50, np.float32), np.zeros(rows, np.float32)
    device.enqueue_function(spmv_csr_vector, rows, ptr, idx, data, x, y, grid_dim=5, block_dim=256)
    device.synchronize()
    assert np.allclose(y, dense @ x, rtol=1e-4)


# CAS double add, lock free
@func
def atomicAddDouble(address: Pointer[Float64], val: Float64) -> Float64:
    address_as_ull = address.bitcast(UInt64)
    old = address_as_ull[0]
    assumed = old
    while True:
        assumed = old
        old, _ = Atomic.compare_exchange(
            address_as_ull, assumed, (val + assumed.bitcast(Float64)).bitcast(UInt64)
        )
        if assumed == old:
            break
    return old.bitcast(Float64)


@kernel
def sums(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    i = global_idx.x
    if i < n:
        atomicAddDouble(out, x[i])


def test_cas(device: DeviceContext) -> None:
    x = np.arange(100.0)
    out = np.zeros(1)
    device.enqueue_function(sums, x, out, 100, grid_dim=4, block_dim=32)
    device.synchronize()
    assert out[0] == 4950


# Monte carlo pi, LCG, double
@kernel
def pi_kernel(counts: Pointer[Int32], seed: UInt32, iters: Int):
    tid = global_idx.x
    state = seed ^ UInt32(tid * 747796405 + 2891336453)
    count = 0
    for _ in range(iters):
        state = state * 1664525 + 1013904223
        x = (state >> 8) * (1.0 / 16777216.0)
        state = state * 1664525 + 1013904223
        y = Float32(state >> 8) / 16777216.0
        if x * x + y * y <= 1.0:
            count += 1
    counts[tid] = count


def test_monte_carlo(device: DeviceContext) -> None:
    counts = np.zeros(256, np.int32)
    device.enqueue_function(pi_kernel, counts, 7, 1000, grid_dim=2, block_dim=128)
    device.synchronize()
    assert 3.1 < 4 * counts.sum() / 256000 < 3.2


# Game of life, torus, bool
@kernel
def life(current: Pointer[Bool], next: Pointer[Bool], w: Int, h: Int):
    x, y = global_idx.x, global_idx.y
    if x < w and y < h:
        alive = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dx == 0 and dy == 0:
                    continue
                alive += current[((y + dy + h) % h) * w + (x + dx + w) % w]
        next[y * w + x] = alive == 3 or (alive == 2 and current[y * w + x])


def test_life(device: DeviceContext) -> None:
    a = rng.random((30, 40)) < 0.4
    b = np.zeros_like(a)
    device.enqueue_function(life, a, b, 40, 30, grid_dim=(3, 4), block_dim=(16, 8))
    device.synchronize()
    s = sum(np.roll(np.roll(a, i, 0), j, 1).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a
    assert np.array_equal(b, (s == 3) | ((s == 2) & a))
