"""More samples of CUDA, ported line by line, with NumPy arrays handed to the launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    Bool,
    Comptime,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    Pointer,
    UInt32,
    UInt64,
    bit,
    func,
    kernel,
    math,
    unroll,
)
from weft.atomic import Atomic, fence
from weft.compile import compile_info
from weft.gpu import barrier, block, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.math import exp
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
rng = np.random.default_rng(3)


def run(device: DeviceContext, kernel_: Any, *arguments: Any, **how: Any) -> None:
    device.enqueue_function(kernel_, *arguments, **how)
    device.synchronize()


# fastWalshTransform
@kernel
def fwtBatch1Kernel(d_Output: Pointer[Float32], d_Input: Pointer[Float32], log2N: Int):
    N = 1 << log2N
    base = block_idx.x << log2N
    s_data = dynamic_shared_memory(Float32)
    pos = thread_idx.x
    while pos < N:
        s_data[pos] = d_Input[base + pos]
        pos += block_dim.x
    stride = N >> 2
    while stride > 0:
        barrier()
        p = thread_idx.x
        while p < N // 4:
            lo = p & (stride - 1)
            i0 = ((p - lo) << 2) + lo
            i1 = i0 + stride
            i2 = i1 + stride
            i3 = i2 + stride
            d0 = s_data[i0]
            d1 = s_data[i1]
            d2 = s_data[i2]
            d3 = s_data[i3]
            t = d0
            d0 = d0 + d2
            d2 = t - d2
            t = d1
            d1 = d1 + d3
            d3 = t - d3
            t = d0
            s_data[i0] = d0 + d1
            s_data[i1] = t - d1
            t = d2
            s_data[i2] = d2 + d3
            s_data[i3] = t - d3
            p += block_dim.x
        stride >>= 2
    if log2N & 1:
        barrier()
        pos = thread_idx.x
        while pos < N // 2:
            i0 = pos << 1
            i1 = i0 + 1
            d0 = s_data[i0]
            d1 = s_data[i1]
            s_data[i0] = d0 + d1
            s_data[i1] = d0 - d1
            pos += block_dim.x
    barrier()
    pos = thread_idx.x
    while pos < N:
        d_Output[base + pos] = s_data[pos]
        pos += block_dim.x


def test_walsh(device: DeviceContext) -> None:
    for bits in (6, 7):
        n = 1 << bits
        x = rng.random((3, n), np.float32)
        out = np.zeros_like(x)
        run(device, fwtBatch1Kernel, out, x, bits, grid_dim=3, block_dim=n // 4, shared_mem_bytes=4 * n)
        hadamard = np.ones((1, 1))
        for _ in range(bits):
            hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
        assert np.allclose(out, x @ hadamard, rtol=1e-3, atol=1e-3)


# SobolQRNG
@kernel
def sobolGPU(
    n_vectors: UInt32, n_dimensions: UInt32, d_directions: Pointer[UInt32], d_output: Pointer[Float32]
):
    v = stack_allocation(UInt32, 32, address_space=SHARED)
    dirs = d_directions + 32 * block_idx.y
    out = d_output + Int(n_vectors) * block_idx.y
    if thread_idx.x < 32:
        v[thread_idx.x] = dirs[thread_idx.x]
    barrier()
    i0 = UInt32(thread_idx.x + block_idx.x * block_dim.x)
    stride = UInt32(grid_dim.x * block_dim.x)
    g = i0 ^ (i0 >> 1)
    x = UInt32(0)
    for k in range(5 + 2):
        mask = -(g & 1)
        x ^= mask & v[k]
        g = g >> 1
    if i0 < n_vectors:
        out[i0] = Float32(x) * 2.3283064e-10
    v_log2stridem1 = v[5 + 2 - 1]
    v_stridemask = stride - 1
    i = i0 + stride
    while i < n_vectors:
        x ^= v_log2stridem1 ^ v[bit.count_trailing_zeros(~((i - stride) | v_stridemask))]
        out[i] = Float32(x) * 2.3283064e-10
        i += stride


def test_sobol(device: DeviceContext) -> None:
    directions = np.array([1 << 31 - k for k in range(32)], np.uint32)
    n = 1000
    out = np.zeros(n, np.float32)
    run(device, sobolGPU, n, 1, directions, out, grid_dim=(2, 1), block_dim=64)
    gray = [i ^ i >> 1 for i in range(n)]
    wanted = [sum(int(directions[k]) for k in range(32) if g >> k & 1) for g in gray]
    assert np.array_equal(out, np.array(wanted, np.float32) * np.float32(2.3283064e-10))


# binomialOptions
@func
def expiry(S: Float64, X: Float64, vDt: Float64, i: Int, *, n: Comptime[int]) -> Float64:
    d = S * exp(vDt * (2.0 * i - n)) - X
    return d if d > 0 else 0


@kernel
def binom(
    S: Pointer[Float64],
    X: Pointer[Float64],
    vDt: Float64,
    puByDf: Float64,
    pdByDf: Float64,
    out: Pointer[Float64],
    *,
    n: Comptime[int],
):
    call = stack_allocation(Float64, n + 1, address_space=SHARED)
    b = block_idx.x
    for i in range(thread_idx.x, n + 1, block_dim.x):
        call[i] = expiry(S[b], X[b], vDt, i, n=n)
    for i in range(n, 0, -1):
        barrier()
        t = thread_idx.x
        a = call[t + 1] if t < i else 0.0
        c = call[t] if t < i else 0.0
        barrier()
        if t < i:
            call[t] = puByDf * a + pdByDf * c
    if thread_idx.x == 0:
        out[b] = call[0]


def test_binomial_options(device: DeviceContext) -> None:
    n = 64
    S, X = rng.uniform(5, 30, 4), rng.uniform(1, 40, 4)
    dt = 1.0 / n
    vDt, growth = 0.1 * np.sqrt(dt), np.exp(0.06 * dt)
    up, down = np.exp(vDt), np.exp(-vDt)
    p = (growth - down) / (up - down)
    out = np.zeros(4)
    run(device, binom, S, X, vDt, p / growth, (1 - p) / growth, out, n=n, grid_dim=4, block_dim=n)
    for k in range(4):
        call = np.maximum(S[k] * np.exp(vDt * (2 * np.arange(n + 1) - n)) - X[k], 0)
        for i in range(n, 0, -1):
            call = p / growth * call[1 : i + 1] + (1 - p) / growth * call[:i]
        assert np.isclose(out[k], call[0], rtol=1e-9)


# FDTD3d, with a queue in registers
RADIUS = 2
COEF = [0.5, 0.2, 0.05]


@kernel
def fdtd(out: LayoutTensor[Float32], inp: LayoutTensor[Float32]):
    x, y = global_idx.x, global_idx.y
    dz, dy, dx = inp.shape
    tile = stack_allocation(Float32, Layout.row_major(8 + 2 * RADIUS, 8 + 2 * RADIUS), address_space=SHARED)
    tx, ty = thread_idx.x + RADIUS, thread_idx.y + RADIUS
    ok = x < dx and y < dy
    behind = InlineArray[Float32, 2](0.0, 0.0)
    front = InlineArray[Float32, 2](0.0, 0.0)
    cur = 0.0
    if ok:
        cur = inp[0, y, x]
        for i in unroll(range(RADIUS)):
            front[i] = inp[i + 1, y, x] if i + 1 < dz else 0.0
    for z in range(dz):
        if z > 0:
            behind[1] = behind[0]
            behind[0] = cur
            cur = front[0]
            front[0] = front[1]
            front[1] = inp[z + RADIUS, y, x] if ok and z + RADIUS < dz else 0.0
        barrier()
        for yy in range(thread_idx.y, 8 + 2 * RADIUS, 8):
            for xx in range(thread_idx.x, 8 + 2 * RADIUS, 8):
                gy, gx = block_idx.y * 8 + yy - RADIUS, block_idx.x * 8 + xx - RADIUS
                tile[yy, xx] = inp[z, gy, gx] if 0 <= gy < dy and 0 <= gx < dx else 0.0
        barrier()
        v = COEF[0] * cur
        for i in unroll(range(1, RADIUS + 1)):
            v += COEF[i] * (
                front[i - 1]
                + behind[i - 1]
                + tile[ty - i, tx]
                + tile[ty + i, tx]
                + tile[ty, tx - i]
                + tile[ty, tx + i]
            )
        if ok:
            out[z, y, x] = v


def test_fdtd3d(device: DeviceContext) -> None:
    x = rng.random((5, 11, 9), np.float32)
    out = np.zeros_like(x)
    run(device, fdtd, out, x, grid_dim=(2, 2), block_dim=(8, 8))
    padded = np.pad(x, RADIUS)

    def moved(axis: int, by: int) -> Array:
        starts = [RADIUS + by * (n == axis) for n in range(3)]
        return padded[tuple(slice(s, s + n) for s, n in zip(starts, x.shape, strict=True))]

    wanted = COEF[0] * x
    for i in range(1, RADIUS + 1):
        wanted = wanted + COEF[i] * sum(moved(axis, by) for axis in range(3) for by in (-i, i))
    assert np.allclose(out, wanted, rtol=1e-4)


# threadFenceReduction
@kernel
def fenceReduce(
    x: Pointer[Float32], part: Pointer[Float32], count: Pointer[UInt32], out: Pointer[Float32], n: Int
):
    am_last = stack_allocation(Bool, 1, address_space=SHARED)
    s = 0.0
    for i in range(global_idx.x, n, grid_dim.x * block_dim.x):
        s += x[i]
    s = block.sum(s)
    if thread_idx.x == 0:
        part[block_idx.x] = s
        fence("seq_cst")
        ticket = Atomic.fetch_add(count, 1)
        am_last[0] = ticket == UInt32(grid_dim.x) - 1
    barrier()
    if am_last[0]:
        t = 0.0
        for i in range(thread_idx.x, grid_dim.x, block_dim.x):
            t += part[i]
        t = block.sum(t)
        if thread_idx.x == 0:
            out[0] = t
            count[0] = 0


def test_the_last_block_adds_up(device: DeviceContext) -> None:
    n = 1000
    x, parts = rng.integers(0, 9, n).astype(np.float32), np.zeros(8, np.float32)
    count, out = np.zeros(1, np.uint32), np.zeros(1, np.float32)
    for _ in range(2):
        run(device, fenceReduce, x, parts, count, out, n, grid_dim=8, block_dim=64)
        assert (out[0], count[0]) == (x.sum(), 0)


# eigenvalues: bisection by Sturm counts
@func
def sturm(d: Pointer[Float64], e2: Pointer[Float64], n: Int, x: Float64) -> Int:
    count = 0
    q = d[0] - x
    if q < 0:
        count += 1
    for i in range(1, n):
        q = d[i] - x - e2[i - 1] / (q if q != 0 else 1e-300)
        count += q < 0
    return count


@kernel
def eigen(d: Pointer[Float64], e2: Pointer[Float64], n: Int, lo: Float64, hi: Float64, out: Pointer[Float64]):
    k = global_idx.x
    if k >= n:
        return
    a, b = lo, hi
    while b - a > 1e-12 * max(abs(a), abs(b)) and b - a > 1e-13:
        m = 0.5 * (a + b)
        if sturm(d, e2, n, m) <= k:
            a = m
        else:
            b = m
    out[k] = 0.5 * (a + b)


def test_eigenvalues(device: DeviceContext) -> None:
    n = 20
    d, e = rng.normal(size=n), rng.normal(size=n - 1)
    out = np.zeros(n)
    run(device, eigen, d, e**2, n, -10.0, 10.0, out, grid_dim=1, block_dim=32)
    wanted = np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))
    assert np.allclose(out, wanted, rtol=1e-8, atol=1e-9)


# recursiveGaussian: colours packed in words, rows forth and back
@kernel
def recursive(id: Pointer[UInt32], od: Pointer[UInt32], w: Int, h: Int, a: Float32):
    x = global_idx.x
    if x >= w:
        return
    src = id + x
    dst = od + x

    def unpack(c: UInt32) -> SIMD[Float32, 4]:
        low, high = (Float32(c & 0xFF), Float32(c >> 8 & 0xFF)), (Float32(c >> 16 & 0xFF), Float32(c >> 24))
        return Float32.simd(*low, *high) / 255.0

    def pack(c: SIMD[Float32, 4]) -> UInt32:
        b = (math.clamp(c, 0.0, 1.0) * 255.0).cast(UInt32)
        return (b[3] << 24) | (b[2] << 16) | (b[1] << 8) | b[0]

    yp = unpack(src[0])
    for _ in range(h):
        xc = unpack(src[0])
        yc = xc + (yp - xc) * a
        dst[0] = pack(yc)
        src += w
        dst += w
        yp = yc
    src -= w
    dst -= w
    yp = unpack(src[0])
    for _ in range(h - 1, -1, -1):
        yc = unpack(src[0]) * (1.0 - a) + yp * a
        dst[0] = pack(unpack(dst[0]) * 0.5 + yc * 0.5)
        yp = yc
        src -= w
        dst -= w


def _unpacked(words: Array) -> Array:
    return np.stack([words >> shift & 0xFF for shift in (0, 8, 16, 24)], -1).astype(np.float32) / np.float32(
        255
    )


def _packed(colours: Array) -> Array:
    red, green, blue, alpha = np.moveaxis((np.clip(colours, 0, 1) * np.float32(255)).astype(np.uint32), -1, 0)
    return alpha << 24 | blue << 16 | green << 8 | red


def test_recursive_gaussian(device: DeviceContext) -> None:
    h, w, a = 6, 5, np.float32(0.3)
    image = rng.integers(0, 2**32, (h, w), dtype=np.uint32)
    out = np.zeros_like(image)
    run(device, recursive, image.reshape(-1), out.reshape(-1), w, h, a, grid_dim=1, block_dim=8)
    before: Array = _unpacked(image[0])
    rows = list[Array]()
    for y in range(h):
        here = _unpacked(image[y])
        before = here + (before - here) * a
        rows.append(_packed(before))
    before = _unpacked(image[h - 1])
    for y in reversed(range(h)):
        before = _unpacked(image[y]) * (1 - a) + before * a
        rows[y] = _packed(_unpacked(rows[y]) * np.float32(0.5) + before * np.float32(0.5))
    assert np.abs(_unpacked(out) - _unpacked(np.stack(rows))).max() < 1.5 / 255  # a GPU rounds once less


# marchingCubes, in the plane: tables of the host
CORNERS = [(0, 0), (0, 1), (1, 1), (1, 0)]
EDGES: list[tuple[int, ...]] = [
    (),
    (3, 0),
    (0, 1),
    (3, 1),
    (1, 2),
    (3, 0, 1, 2),
    (0, 2),
    (3, 2),
    (2, 3),
    (2, 0),
    (0, 1, 2, 3),
    (2, 1),
    (1, 3),
    (1, 0),
    (0, 3),
    (),
]
COUNT = [len(e) // 2 for e in EDGES]
TABLE = [list(e) + [-1] * (4 - len(e)) for e in EDGES]


@kernel
def march(f: LayoutTensor[Float32], level: Float32, segs: Pointer[Int32], counter: Pointer[Int32]):
    i, j = global_idx.y, global_idx.x
    if i + 1 < f.dim(0) and j + 1 < f.dim(1):
        case = Int32(0)
        for k, (di, dj) in enumerate(CORNERS):
            case |= Int32(f[i + di, j + dj] > level) << k
        n = COUNT[case]
        at = Atomic.fetch_add(counter, Int32(n))
        for s in range(n):
            p = segs + 4 * (at + Int32(s))
            p[0] = Int32(i)
            p[1] = Int32(j)
            p[2] = Int32(TABLE[case][2 * s])
            p[3] = Int32(TABLE[case][2 * s + 1])


def test_marching_squares(device: DeviceContext) -> None:
    f, segments, count = rng.random((9, 7), np.float32), np.zeros((200, 4), np.int32), np.zeros(1, np.int32)
    run(device, march, f, 0.5, segments.reshape(-1), count, grid_dim=1, block_dim=(8, 8))
    wanted = set[tuple[int, ...]]()
    for i in range(8):
        for j in range(6):
            case = sum(int(f[i + a, j + b] > 0.5) << k for k, (a, b) in enumerate(CORNERS))
            wanted |= {(i, j, *EDGES[case][2 * s : 2 * s + 2]) for s in range(COUNT[case])}
    assert count[0] == len(wanted)
    assert {tuple(one) for one in segments[: count[0]].tolist()} == wanted


# primes by Miller and Rabin, in 64 bits
BASES = 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37


@func
def mulmod(a: UInt64, b: UInt64, m: UInt64) -> UInt64:
    r = UInt64(0)
    a %= m
    while b:
        if b & 1:
            r = (r + a) % m if r <= ~UInt64(0) - a else r - (m - a)
        a = (a + a) % m if a <= ~UInt64(0) - a else a - (m - a)
        b >>= 1
    return r


@func
def powmod(a: UInt64, e: UInt64, m: UInt64) -> UInt64:
    r = UInt64(1)
    while e > 0:
        if e & 1 == 1:
            r = mulmod(r, a, m)
        a = mulmod(a, a, m)
        e >>= 1
    return r


@kernel
def millerRabin(n: Pointer[UInt64], out: Pointer[Bool]):
    i = global_idx.x
    v = n[i]
    if v < 4:
        out[i] = v >= 2
        return
    if not v & 1:
        out[i] = False
        return
    s = bit.count_trailing_zeros(v - 1)
    d = (v - 1) >> s
    prime = True
    for a in BASES:
        if v % a == 0:
            prime = prime and v == a
            continue
        x = powmod(a, d, v)
        if x == 1 or x == v - 1:
            continue
        for _ in range(Int(s) - 1):
            x = mulmod(x, x, v)
            if x == v - 1:
                break
        else:
            prime = False
            break
    out[i] = prime


def test_primes(device: DeviceContext) -> None:
    numbers = [0, 1, 2, 3, 4, 9, 41, 561, 1009, 2**61 - 1, 2**61 - 3, 2**64 - 59, 2**64 - 57, 2**32 + 15]
    primes = {2, 3, 41, 1009, 2**61 - 1, 2**64 - 59, 2**32 + 15}
    out = np.zeros(len(numbers), np.bool_)
    run(device, millerRabin, np.array(numbers, np.uint64), out, grid_dim=1, block_dim=len(numbers))
    assert out.tolist() == [n in primes for n in numbers]


@pytest.mark.parametrize("program", [sobolGPU, fenceReduce, eigen, recursive, millerRabin])
def test_the_kernels_become_ptx(program: Any) -> None:
    assert ".entry" in str(compile_info(program, target="sm_90"))
