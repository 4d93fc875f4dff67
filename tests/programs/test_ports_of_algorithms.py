"""Algorithms as CUDA programs have them, ported line by line: hashes, sorting, graphs, trees, solvers."""

from __future__ import annotations

import hashlib
import random
import zlib
from typing import Any

import numpy as np
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
    UInt8,
    UInt32,
    UInt64,
    func,
    kernel,
    struct,
)
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, grid_sync, lane_id, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.math import max, min
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(5)


# SHA-256 of messages of one block
PRIMES = [p for p in range(2, 312) if all(p % d for d in range(2, p))]

K = [int(p ** (1 / 3) % 1 * 2**32) for p in PRIMES]

H0 = [int(p**0.5 % 1 * 2**32) for p in PRIMES[:8]]


@func
def rotr(x: UInt32, n: UInt32) -> UInt32:
    return x >> n | x << 32 - n


@kernel
def sha256(msg: Pointer[UInt32], out: Pointer[UInt32], count: Int):
    tid = global_idx.x
    if tid >= count:
        return
    w = stack_allocation(UInt32, 64)
    for i in range(16):
        w[i] = msg[tid * 16 + i]
    for i in range(16, 64):
        s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3
        s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10
        w[i] = w[i - 16] + s0 + w[i - 7] + s1
    a, b, c, d, e, f, g, h = H0
    for i in range(64):
        S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)
        ch = e & f ^ ~e & g
        temp1 = h + S1 + ch + K[i] + w[i]
        S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)
        maj = a & b ^ a & c ^ b & c
        temp2 = S0 + maj
        h, g, f, e, d, c, b, a = (g, f, e, d + temp1, c, b, a, temp1 + temp2)
    for i, v in enumerate((a, b, c, d, e, f, g, h)):
        out[tid * 8 + i] = H0[i] + v


def test_sha(device: DeviceContext) -> None:
    msgs = [b"hello %d" % i for i in range(5)]
    blocks: list[Any] = []
    for m in msgs:
        p = m + b"\x80"
        p += b"\x00" * (56 - len(p)) + (8 * len(m)).to_bytes(8, "big")
        blocks.append(np.frombuffer(p, ">u4").astype(np.uint32))
    out = np.zeros((5, 8), np.uint32)
    words: Any = np.concatenate(blocks)
    device.enqueue_function(sha256, words, out, 5, grid_dim=1, block_dim=32)
    device.synchronize()
    for m, o in zip(msgs, out, strict=False):
        assert o.astype(">u4").tobytes() == hashlib.sha256(m).digest()


# CRC-32 by a table that Python computes
def crc_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0xEDB88320 if byte & 1 else 0)
    return byte


TABLE = np.array([crc_of(byte) for byte in range(256)], np.uint32)


@kernel
def crc32(data: Pointer[UInt8], starts: Pointer[Int32], out: Pointer[UInt32], n: Int):
    i = global_idx.x
    if i < n:
        crc = UInt32(4294967295)
        for k in range(starts[i], starts[i + 1]):
            crc = TABLE[(crc ^ data[k]) & 255] ^ crc >> 8
        out[i] = ~crc


def test_crc(device: DeviceContext) -> None:
    w = [b"abc", b"", b"hello world", bytes(range(200))]
    st = np.cumsum([0] + [len(x) for x in w]).astype(np.int32)
    out = np.zeros(4, np.uint32)
    device.enqueue_function(
        crc32, np.frombuffer(b"".join(w), np.uint8).copy(), st, out, 4, grid_dim=1, block_dim=32
    )
    device.synchronize()
    assert out.tolist() == [zlib.crc32(x) for x in w]


# Tridiagonal systems by cyclic reduction
@kernel
def pcr(
    a: LayoutTensor[Float32],
    b: LayoutTensor[Float32],
    c: LayoutTensor[Float32],
    d: LayoutTensor[Float32],
    x: LayoutTensor[Float32],
    *,
    n: Comptime[int],
):
    A = stack_allocation(Float32, Layout.row_major(4, n), address_space=AddressSpace.SHARED)
    i = thread_idx.x
    A[0, i], A[1, i], A[2, i], A[3, i] = (a[i], b[i], c[i], d[i])
    barrier()
    delta = 1
    while delta < n:
        aa, bb, cc, dd = (A[0, i], A[1, i], A[2, i], A[3, i])
        if i - delta >= 0:
            k = aa / A[1, i - delta]
            aa = -A[0, i - delta] * k
            bb -= A[2, i - delta] * k
            dd -= A[3, i - delta] * k
        else:
            aa = 0.0
        if i + delta < n:
            k = cc / A[1, i + delta]
            cc = -A[2, i + delta] * k
            bb -= A[0, i + delta] * k
            dd -= A[3, i + delta] * k
        else:
            cc = 0.0
        barrier()
        A[0, i], A[1, i], A[2, i], A[3, i] = (aa, bb, cc, dd)
        barrier()
        delta *= 2
    x[i] = A[3, i] / A[1, i]


def test_pcr(device: DeviceContext) -> None:
    n = 32
    a, c, d = rng.random((3, n), np.float32)
    b = 3 + rng.random(n).astype(np.float32)
    a[0] = c[-1] = 0
    x = np.zeros(n, np.float32)
    device.enqueue_function(pcr, a, b, c, d, x, n=n, grid_dim=1, block_dim=n)
    device.synchronize()
    M = np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1)
    assert np.allclose(M @ x, d, atol=1e-05)


# Conjugate gradients over the whole grid
@kernel
def gpuConjugateGradient(
    rows: Pointer[Int32],
    J: Pointer[Int32],
    val: Pointer[Float32],
    x: Pointer[Float32],
    Ax: Pointer[Float32],
    p: Pointer[Float32],
    r: Pointer[Float32],
    dot_result: Pointer[Float64],
    N: Int,
    tol: Float32,
):
    rank = global_idx.x
    size = grid_dim.x * block_dim.x
    max_iter = 200
    for i in range(rank, N, size):
        r[i] -= Ax[i]
    grid_sync()
    local = Float64(0)
    for i in range(rank, N, size):
        local += Float64(r[i] * r[i])
    Atomic.fetch_add(dot_result, local)
    grid_sync()
    r1 = Float32(dot_result[0])
    r0 = Float32(0.0)
    k = 1
    while r1 > tol * tol and k <= max_iter:
        if k > 1:
            beta = r1 / r0
            for i in range(rank, N, size):
                p[i] = r[i] + beta * p[i]
        else:
            for i in range(rank, N, size):
                p[i] = r[i]
        grid_sync()
        if rank == 0:
            dot_result[0] = 0.0
        for i in range(rank, N, size):
            output = Float32(0.0)
            for j in range(rows[i], rows[i + 1]):
                output += val[j] * p[J[j]]
            Ax[i] = output
        grid_sync()
        local = 0.0
        for i in range(rank, N, size):
            local += Float64(p[i]) * Ax[i]
        Atomic.fetch_add(dot_result, local)
        grid_sync()
        alpha = r1 / Float32(dot_result[0])
        for i in range(rank, N, size):
            x[i] += alpha * p[i]
            r[i] += -alpha * Ax[i]
        r0 = r1
        grid_sync()
        if rank == 0:
            dot_result[0] = 0.0
        grid_sync()
        local = 0.0
        for i in range(rank, N, size):
            local += Float64(r[i] * r[i])
        Atomic.fetch_add(dot_result, local)
        grid_sync()
        r1 = Float32(dot_result[0])
        k += 1


def test_cg(device: DeviceContext) -> None:
    N = 100
    A = np.diag(np.full(N, 2.5)) - np.diag(np.ones(N - 1), 1) - np.diag(np.ones(N - 1), -1)
    rows = np.concatenate([[0], np.cumsum((A != 0).sum(1))]).astype(np.int32)
    J = np.nonzero(A)[1].astype(np.int32)
    v = A[A != 0].astype(np.float32)
    x, Ax, p = np.zeros((3, N), np.float32)
    b = rng.random(N, np.float32)
    r = b.copy()
    dr = np.zeros(1)
    device.enqueue_function(
        gpuConjugateGradient,
        rows,
        J,
        v,
        x,
        Ax,
        p,
        r,
        dr,
        N,
        1e-05,
        grid_dim=2,
        block_dim=32,
        cooperative=True,
    )
    device.synchronize()
    assert np.allclose(A @ x, b, atol=0.001)


# Numbers of 1024 bits added by a warp, carries looked ahead by votes
@kernel
def bigadd(a: Pointer[UInt32], b: Pointer[UInt32], out: Pointer[UInt32]):
    lane = lane_id()
    s = a[lane] + b[lane]
    g = warp.ballot(s < a[lane])
    p = warp.ballot(s == 4294967295)
    carry = (UInt64(g) << 1) + UInt64(p) ^ UInt64(p)
    out[lane] = s + UInt32(carry >> UInt64(lane) & 1)


def test_bigadd(device: DeviceContext) -> None:
    x, y = (random.Random(1).getrandbits(1024), 1 << 1023 | random.Random(2).getrandbits(600))
    y = (1 << 1024) - 1 - x + 5
    A = np.frombuffer(x.to_bytes(128, "little"), np.uint32).copy()
    B = np.frombuffer((y % (1 << 1024)).to_bytes(128, "little"), np.uint32).copy()
    C_ = np.zeros(32, np.uint32)
    device.enqueue_function(bigadd, A, B, C_, grid_dim=1, block_dim=32)
    device.synchronize()
    assert int.from_bytes(C_.tobytes(), "little") == (x + y) % (1 << 1024)


# Rays through a tree of boxes, with a stack of each thread's
@struct
class Box:
    lo: SIMD[Float32, 4]
    hi: SIMD[Float32, 4]


@struct
class Node:
    box: Box
    left: Int32
    right: Int32


@struct
class Tree:
    nodes: Pointer[Node]
    count: Int32


@func
def hit(b: Box, o: SIMD[Float32, 4], inv: SIMD[Float32, 4]) -> Bool:
    t0 = (b.lo - o) * inv
    t1 = (b.hi - o) * inv
    near = min(t0, t1).reduce_max()
    far = max(t0, t1).reduce_min()
    return near <= far and far >= 0.0


@kernel
def trace(tree: Tree, rays: Pointer[Float32], hits: Pointer[Int32], n: Int):
    i = global_idx.x
    if i >= n:
        return
    o = rays.load(8 * i, width=4)
    inv = 1.0 / rays.load(8 * i + 4, width=4)
    stack = InlineArray[Int32, 32](fill=0)
    sp = 1
    count = Int32(0)
    while sp > 0:
        sp -= 1
        node = tree.nodes[stack[sp]]
        if not hit(node.box, o, inv):
            continue
        if node.left < 0:
            count += 1
        else:
            stack[sp] = node.left
            stack[sp + 1] = node.right
            sp += 2
    hits[i] = count


def test_bvh(device: DeviceContext) -> None:
    L = 8
    lo = rng.random((L, 3))
    hi = lo + 0.2
    nodes: list[Any] = []

    def build(idx: list[Any]) -> int:
        me = len(nodes)
        nodes.append(None)
        b = (lo[idx].min(0), hi[idx].max(0))
        if len(idx) == 1:
            left = right = -1
        else:
            m = len(idx) // 2
            left = build(idx[:m])
            right = build(idx[m:])
        nodes[me] = (((*b[0], -1000000000.0), (*b[1], 1000000000.0)), left, right)
        return me

    build(list(np.argsort(lo[:, 0])))
    buf = device.enqueue_create_buffer(Node, len(nodes))
    with buf.map_to_host() as h:
        h[:] = nodes
    rays = rng.random((20, 8)).astype(np.float32)
    rays[:, 3] = 0
    rays[:, 7] = 1
    rays[:, 0:3] -= 1
    out = np.zeros(20, np.int32)
    device.enqueue_function(trace, Tree(buf, len(nodes)), rays, out, 20, grid_dim=1, block_dim=32)
    device.synchronize()
    o, dr = (rays[:, None, :3], rays[:, None, 4:7])
    t0 = (lo.astype(np.float32) - o) / dr
    t1 = (hi.astype(np.float32) - o) / dr
    e = (np.minimum(t0, t1).max(-1) <= np.maximum(t0, t1).min(-1)).sum(1)
    assert np.array_equal(out, e), (out, e)


# Components of a graph by union and find (ECL-CC)
@func
def find(parent: Pointer[Int32], i: Int32) -> Int32:
    curr = parent[i]
    if curr != i:
        prev = i
        while curr > (next := parent[curr]):
            parent[prev] = next
            prev = curr
            curr = next
    return curr


@kernel
def unite(u: Pointer[Int32], v: Pointer[Int32], m: Int, parent: Pointer[Int32]):
    e = global_idx.x
    if e < m:
        a = find(parent, u[e])
        b = find(parent, v[e])
        repeat = True
        while repeat:
            repeat = False
            if a != b:
                if a < b:
                    ret, _ = Atomic.compare_exchange(parent + b, b, a)
                    if ret != b:
                        b = ret
                        repeat = True
                else:
                    ret, _ = Atomic.compare_exchange(parent + a, a, b)
                    if ret != a:
                        a = ret
                        repeat = True


@kernel
def flatten(parent: Pointer[Int32], n: Int):
    # Not `find`: its shortcuts, stored late, would undo what others have flattened
    i = global_idx.x
    if i < n:
        root = parent[i]
        while root > (next := parent[root]):
            root = next
        parent[i] = root


def test_cc(device: DeviceContext) -> None:
    n, m = (100, 80)
    u, v = rng.integers(0, n, (2, m)).astype(np.int32)
    p = np.arange(n, dtype=np.int32)
    device.enqueue_function(unite, u, v, m, p, grid_dim=3, block_dim=32)
    device.enqueue_function(flatten, p, n, grid_dim=4, block_dim=32)
    device.synchronize()
    par = list(range(n))

    def f(x: int) -> int:
        while par[x] != x:
            x = par[x]
        return x

    for i, j in zip(u, v, strict=False):
        low, high = sorted((f(i), f(j)))
        par[high] = low
    assert np.array_equal(p, [f(i) for i in range(n)])


# Sorting by merging, of shared memory
SHARED_SIZE_LIMIT = 64


@func
def binarySearchInclusive(val: UInt32, data: Pointer[UInt32], L: UInt32, stride: UInt32) -> UInt32:
    if L == 0:
        return 0
    pos = UInt32(0)
    while stride > 0:
        newPos = min(pos + stride, L)
        if data[newPos - 1] <= val:
            pos = newPos
        stride >>= 1
    return pos


@func
def binarySearchExclusive(val: UInt32, data: Pointer[UInt32], L: UInt32, stride: UInt32) -> UInt32:
    if L == 0:
        return 0
    pos = UInt32(0)
    while stride > 0:
        newPos = min(pos + stride, L)
        if data[newPos - 1] < val:
            pos = newPos
        stride >>= 1
    return pos


@kernel
def mergeSortSharedKernel(
    d_DstKey: Pointer[UInt32],
    d_DstVal: Pointer[UInt32],
    d_SrcKey: Pointer[UInt32],
    d_SrcVal: Pointer[UInt32],
    arrayLength: UInt32,
):
    s_key = stack_allocation(UInt32, SHARED_SIZE_LIMIT, address_space=AddressSpace.SHARED)
    s_val = stack_allocation(UInt32, SHARED_SIZE_LIMIT, address_space=AddressSpace.SHARED)
    d_SrcKey += block_idx.x * SHARED_SIZE_LIMIT + thread_idx.x
    d_SrcVal += block_idx.x * SHARED_SIZE_LIMIT + thread_idx.x
    d_DstKey += block_idx.x * SHARED_SIZE_LIMIT + thread_idx.x
    d_DstVal += block_idx.x * SHARED_SIZE_LIMIT + thread_idx.x
    s_key[thread_idx.x + 0] = d_SrcKey[0]
    s_val[thread_idx.x + 0] = d_SrcVal[0]
    s_key[thread_idx.x + SHARED_SIZE_LIMIT // 2] = d_SrcKey[SHARED_SIZE_LIMIT // 2]
    s_val[thread_idx.x + SHARED_SIZE_LIMIT // 2] = d_SrcVal[SHARED_SIZE_LIMIT // 2]
    stride = UInt32(1)
    while stride < arrayLength:
        lPos = UInt32(thread_idx.x) & stride - 1
        baseKey = s_key + 2 * (UInt32(thread_idx.x) - lPos)
        baseVal = s_val + 2 * (UInt32(thread_idx.x) - lPos)
        barrier()
        keyA = baseKey[lPos + 0]
        valA = baseVal[lPos + 0]
        keyB = baseKey[lPos + stride]
        valB = baseVal[lPos + stride]
        posA = binarySearchExclusive(keyA, baseKey + stride, stride, stride) + lPos
        posB = binarySearchInclusive(keyB, baseKey + 0, stride, stride) + lPos
        barrier()
        baseKey[posA] = keyA
        baseVal[posA] = valA
        baseKey[posB] = keyB
        baseVal[posB] = valB
        stride <<= 1
    barrier()
    d_DstKey[0] = s_key[thread_idx.x + 0]
    d_DstVal[0] = s_val[thread_idx.x + 0]
    d_DstKey[SHARED_SIZE_LIMIT // 2] = s_key[thread_idx.x + SHARED_SIZE_LIMIT // 2]
    d_DstVal[SHARED_SIZE_LIMIT // 2] = s_val[thread_idx.x + SHARED_SIZE_LIMIT // 2]


def test_mergesort(device: DeviceContext) -> None:
    k = rng.integers(0, 50, 128).astype(np.uint32)
    v = np.arange(128, dtype=np.uint32)
    K, V = np.zeros((2, 128), np.uint32)
    device.enqueue_function(mergeSortSharedKernel, K, V, k, v, 64, grid_dim=2, block_dim=32)
    device.synchronize()
    for b in range(2):
        s = slice(64 * b, 64 * b + 64)
        o = np.argsort(k[s], kind="stable")
        assert np.array_equal(K[s], k[s][o])
        assert np.array_equal(V[s], v[s][o])
