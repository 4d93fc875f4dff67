"""Ports that live by tables, bits and structs in memory: ciphers, hash tables, graphs, a machine, rays."""

from __future__ import annotations

import hashlib
import heapq
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    Bool,
    Float32,
    InlineArray,
    Int,
    Int32,
    Int64,
    Pointer,
    UInt32,
    UInt64,
    func,
    kernel,
    struct,
    unroll,
)
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.linalg import dot, normalize, vec3
from weft.math import max, sqrt
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
rng = np.random.default_rng(7)


def run(device: DeviceContext, kernel_: Any, *arguments: Any, **how: Any) -> None:
    device.enqueue_function(kernel_, *arguments, **how)
    device.synchronize()


# AES-128 by tables, as CUDA's ports of it
def times(a: int, b: int) -> int:
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = (a << 1) ^ (0x11B if a & 0x80 else 0), b >> 1
    return product


def substituted(x: int) -> int:
    inverse = next((y for y in range(256) if times(x, y) == 1), 0)
    turns = [(inverse << k | inverse >> (8 - k)) & 255 for k in range(5)]
    return turns[0] ^ turns[1] ^ turns[2] ^ turns[3] ^ turns[4] ^ 0x63


SBOX = bytes(map(substituted, range(256)))
T0 = np.array([times(s, 2) | s << 8 | s << 16 | times(s, 3) << 24 for s in SBOX], np.uint32)


@func
def rotl(x: UInt32, n: UInt32) -> UInt32:
    return (x << n) | (x >> (32 - n))


@kernel
def aes(keys: Pointer[UInt32], text: Pointer[UInt32], out: Pointer[UInt32], n: Int):
    i = global_idx.x
    if i >= n:
        return
    s = [text[4 * i + c] ^ keys[c] for c in range(4)]
    for r in unroll(range(1, 10)):
        t: list[Any] = []
        for c in unroll(range(4)):
            word = T0[s[c] & 0xFF] ^ rotl(T0[(s[(c + 1) % 4] >> 8) & 0xFF], 8)
            word ^= rotl(T0[(s[(c + 2) % 4] >> 16) & 0xFF], 16) ^ rotl(T0[s[(c + 3) % 4] >> 24], 24)
            t.append(word ^ keys[4 * r + c])
        s = t
    for c in unroll(range(4)):
        last = UInt32(0)
        for k in unroll(range(4)):
            last |= UInt32(SBOX[(s[(c + k) % 4] >> (8 * k)) & 0xFF]) << (8 * k)
        out[4 * i + c] = last ^ keys[40 + c]


def expanded(key: bytes) -> Array:
    words, constant = [list(key[4 * i : 4 * i + 4]) for i in range(4)], 1
    for i in range(4, 44):
        word = list(words[i - 1])
        if i % 4 == 0:
            word = [SBOX[x] for x in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times(constant, 2)
        words.append([a ^ b for a, b in zip(words[i - 4], word, strict=True)])
    return np.array(words, np.uint8).view(np.uint32).reshape(-1)


def test_aes(device: DeviceContext) -> None:
    """The first two blocks of the examples of NIST SP 800-38A, F.1.1."""
    keys = expanded(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
    text = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    out = np.zeros(8, np.uint32)
    run(device, aes, keys, np.frombuffer(text, np.uint32).copy(), out, 2, grid_dim=1, block_dim=32)
    assert out.tobytes().hex() == "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"


# SHA-3 of messages of one block
def round_constants() -> list[int]:
    constants, state = list[int](), 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (state & 1) << ((1 << j) - 1)
            state = state << 1 ^ (0x171 if state & 0x80 else 0)
        constants.append(constant)
    return constants


RC = round_constants()
ROT = [[0, 36, 3, 41, 18], [1, 44, 10, 45, 2], [62, 6, 43, 15, 61], [28, 55, 25, 21, 56], [27, 20, 39, 8, 14]]


def rol(x: Any, n: int) -> Any:
    return x if n == 0 else x << n | x >> (64 - n)


@kernel
def keccak(states: Pointer[UInt64]):
    state = states + 25 * global_idx.x
    a = InlineArray[UInt64, 25](fill=0)
    for k in range(25):
        a[k] = state[k]
    for r in range(24):
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[(x + 4) % 5] ^ rol(c[(x + 1) % 5], 1) for x in range(5)]
        b: Any = [[None] * 5 for _ in range(5)]
        for x in unroll(range(5)):
            for y in unroll(range(5)):
                b[y][(2 * x + 3 * y) % 5] = rol(a[x + 5 * y] ^ d[x], ROT[x][y])
        for x in unroll(range(5)):
            for y in unroll(range(5)):
                a[x + 5 * y] = b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y])
        a[0] ^= RC[r]
    for k in range(25):
        state[k] = a[k]


def test_sha3(device: DeviceContext) -> None:
    messages, states = [b"", b"abc", b"a warp needs a weft"], np.zeros((3, 25), np.uint64)
    for message, state in zip(messages, states, strict=True):
        padded = bytearray(message.ljust(200, b"\0"))
        padded[len(message)] ^= 6
        padded[135] ^= 0x80
        state[:] = np.frombuffer(bytes(padded), np.uint64)
    flat = states.reshape(-1)
    run(device, keccak, flat, grid_dim=1, block_dim=3)
    assert [row[:4].tobytes() for row in flat.reshape(3, 25)] == [
        hashlib.sha3_256(m).digest() for m in messages
    ]


# a hash table of structs by atomicCAS
EMPTY = 0xFFFFFFFF


@struct
class KeyValue:
    key: UInt32
    value: UInt32


@func
def murmur(k: UInt32) -> UInt32:
    k ^= k >> 16
    k *= 0x85EBCA6B
    k ^= k >> 13
    k *= 0xC2B2AE35
    return k ^ (k >> 16)


@kernel
def insert(table: Pointer[KeyValue], capacity: Int, pairs: Pointer[KeyValue], n: Int):
    i = global_idx.x
    if i < n:
        key = pairs[i].key
        slot = murmur(key) & UInt32(capacity - 1)
        while True:
            before, won = Atomic.compare_exchange(Pointer(to=table[slot].key), UInt32(EMPTY), key)
            if won or before == key:
                Atomic.fetch_add(Pointer(to=table[slot].value), pairs[i].value)
                return
            slot = (slot + 1) & UInt32(capacity - 1)


def test_hash_table(device: DeviceContext) -> None:
    pairs: Any = np.zeros(1000, np.dtype(KeyValue))
    table: Any = np.zeros(512, np.dtype(KeyValue))
    pairs["key"], pairs["value"] = rng.integers(0, 300, 1000) * 7919, rng.integers(0, 9, 1000)
    table["key"] = EMPTY
    run(device, insert, table, 512, pairs, 1000, grid_dim=8, block_dim=128)
    wanted = dict[int, int]()
    for key, value in pairs.tolist():
        wanted[key] = wanted.get(key, 0) + value
    assert sorted(pair for pair in table.tolist() if pair[0] != EMPTY) == sorted(wanted.items())


# shortest paths, each round all edges of what is reached
@kernel
def relax(
    rows: Pointer[Int32],
    columns: Pointer[Int32],
    weights: Pointer[Int32],
    distance: Pointer[Int32],
    changed: Pointer[Int32],
    n: Int,
):
    u = global_idx.x
    if u < n and distance[u] < 2**30:
        for e in range(rows[u], rows[u + 1]):
            found = distance[u] + weights[e]
            if found < Atomic.fetch_min(distance + columns[e], found):
                changed[0] = 1


def test_shortest_paths(device: DeviceContext) -> None:
    n = 200
    near = [sorted({int(v) for v in rng.integers(0, n, 3)}) for _ in range(n)]
    rows = np.cumsum([0, *map(len, near)]).astype(np.int32)
    columns = np.array([v for each in near for v in each], np.int32)
    weights = rng.integers(1, 20, len(columns)).astype(np.int32)
    distance, changed = np.full(n, 2**30, np.int32), np.ones(1, np.int32)
    distance[0] = 0
    while changed[0]:
        changed[0] = 0
        run(device, relax, rows, columns, weights, distance, changed, n, grid_dim=2, block_dim=128)
    wanted, heap = [2**30] * n, [(0, 0)]
    while heap:
        so_far, u = heapq.heappop(heap)
        if so_far < wanted[u]:
            wanted[u] = so_far
            for e in range(rows[u], rows[u + 1]):
                heapq.heappush(heap, (so_far + int(weights[e]), int(columns[e])))
    assert distance.tolist() == wanted


# a product of 8 x 8 cosines, of a table with two indices
COSINES = np.array(
    [
        [(0.125**0.5 if k == 0 else 0.5) * np.cos((2 * n + 1) * k * np.pi / 16) for n in range(8)]
        for k in range(8)
    ],
    np.float32,
)


@kernel
def dct8x8(dst: LayoutTensor[Float32], src: LayoutTensor[Float32]):
    block = stack_allocation(Float32, Layout.row_major(8, 8), address_space=SHARED)
    half = stack_allocation(Float32, Layout.row_major(8, 8), address_space=SHARED)
    tx, ty = thread_idx.x, thread_idx.y
    y, x = block_idx.y * 8 + ty, block_idx.x * 8 + tx
    block[ty, tx] = src[y, x]
    barrier()
    acc = 0.0
    for i in range(8):
        acc += COSINES[ty, i] * block[i, tx]
    half[ty, tx] = acc
    barrier()
    acc = 0.0
    for i in range(8):
        acc += half[ty, i] * COSINES[tx][i]
    dst[y, x] = acc


def test_dct(device: DeviceContext) -> None:
    x, out = rng.random((24, 16), np.float32), np.zeros((24, 16), np.float32)
    run(device, dct8x8, out, x, grid_dim=(2, 3), block_dim=(8, 8))
    parts = x.reshape(3, 8, 2, 8).transpose(0, 2, 1, 3)
    assert np.allclose(out, (COSINES @ parts @ COSINES.T).transpose(0, 2, 1, 3).reshape(24, 16), atol=1e-6)


# an interpreter of byte code, a program for each thread's number
@kernel
def machine(code: Pointer[Int32], n: Int, inputs: Pointer[Int64], out: Pointer[Int64], count: Int):
    t = global_idx.x
    if t >= count:
        return
    stack = stack_allocation(Int64, 16)
    registers = stack_allocation(Int64, 4)
    for k in range(4):
        registers[k] = 0
    registers[0] = inputs[t]
    pc = sp = 0
    while pc < n:
        op, arg = code[2 * pc], code[2 * pc + 1]
        pc += 1
        match op:
            case 0 | 1:
                stack[sp] = Int64(arg) if op == 0 else registers[arg]
                sp += 1
            case 2:
                sp -= 1
                registers[arg] = stack[sp]
            case 3:
                sp -= 1
                stack[sp - 1] *= stack[sp]
            case 4:
                sp -= 1
                stack[sp - 1] -= stack[sp]
            case 5:
                sp -= 1
                stack[sp - 1] %= stack[sp]
            case 6:
                sp -= 1
                if stack[sp] != 0:
                    pc = Int(arg)
            case _:
                break
    out[t] = registers[1]


def test_machine(device: DeviceContext) -> None:
    """Factorials modulo 1000003: r1 = r1 * r0 % 1000003 and r0 -= 1 while r0."""
    code = [(0, 1), (2, 1), (1, 0), (6, 5), (9, 0), (1, 1), (1, 0), (3, 0), (0, 1000003), (5, 0)]
    code += [(2, 1), (1, 0), (0, 1), (4, 0), (2, 0), (1, 0), (6, 5)]
    inputs, out = np.arange(40), np.zeros(40, np.int64)
    words = np.array(code, np.int32).reshape(-1)
    run(device, machine, words, len(code), inputs, out, 40, grid_dim=2, block_dim=32)
    wanted = [1]
    for k in range(1, 40):
        wanted.append(wanted[-1] * k % 1000003)
    assert out.tolist() == wanted


# decomposition with pivots by one block
@kernel
def lu(a: LayoutTensor[Float32], pivots: Pointer[Int32], n: Int):
    t = thread_idx.x
    chosen = stack_allocation(Int32, 1, address_space=SHARED)
    for k in range(n):
        if t == 0:
            best = k
            for i in range(k + 1, n):
                if abs(a[i, k]) > abs(a[best, k]):
                    best = i
            chosen[0] = pivots[k] = Int32(best)
        barrier()
        p = chosen[0]
        if p != k:
            for j in range(t, n, block_dim.x):
                a[k, j], a[p, j] = a[p, j], a[k, j]
        barrier()
        for i in range(k + 1 + t, n, block_dim.x):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
        barrier()


def test_lu(device: DeviceContext) -> None:
    a, pivots = rng.random((15, 15), np.float32), np.zeros(15, np.int32)
    wanted, made = a.copy(), a.copy()
    run(device, lu, made, pivots, 15, grid_dim=1, block_dim=8)
    for k, p in enumerate(pivots.tolist()):
        wanted[[k, p]] = wanted[[p, k]]
    assert np.allclose((np.tril(made, -1) + np.eye(15)) @ np.triu(made), wanted, atol=1e-5)


# rays and spheres: a method that fills in what it is given
@struct
class Ray:
    origin: vec3
    direction: vec3

    def at(self, t: Float32) -> vec3:
        return self.origin + self.direction * t


@struct
class Hit:
    t: Float32
    normal: vec3


@struct
class Sphere:
    centre: vec3
    radius: Float32

    def hit(self, ray: Ray, best: Hit) -> Bool:
        away = ray.origin - self.centre
        b = dot(away, ray.direction)
        under = b * b - dot(away, away) + self.radius * self.radius
        if under < 0:
            return False
        t = -b - sqrt(under)
        if t < 0.001 or t >= best.t:
            return False
        best.t = t
        best.normal = (ray.at(t) - self.centre) / self.radius
        return True


@kernel
def traced(out: LayoutTensor[Float32], spheres: Pointer[Sphere], count: Int):
    i, j = global_idx.y, global_idx.x
    h, w = out.dim(0), out.dim(1)
    ray = Ray(vec3(0, 0, 0), normalize(vec3((j + 0.5) / w * 2 - 1, 1 - (i + 0.5) / h * 2, -1.0)))
    best, found = Hit(1e30, vec3(0, 0, 0)), False
    for k in range(count):
        if spheres[k].hit(ray, best):
            found = True
    out[i, j] = max(0.0, best.normal.y) if found else -1.0


def test_rays(device: DeviceContext) -> None:
    scene = [((0, 0, -3), 1.0), ((1.5, 0, -3), 0.75), ((-1.5, 0.25, -2.5), 0.5), ((0, -101, -3), 100.0)]
    out = np.zeros((12, 16), np.float32)
    run(device, traced, out, np.array(scene, np.dtype(Sphere)), 4, over=(12, 16))
    wanted = np.full((12, 16), -1.0)
    for (i, j), _ in np.ndenumerate(wanted):
        d = np.array([(j + 0.5) / 8 - 1, 1 - (i + 0.5) / 6, -1])
        d /= np.linalg.norm(d)
        hits = list[tuple[float, float]]()
        for centre, radius in scene:
            b, under = -(d @ centre), (d @ centre) ** 2 - np.dot(centre, centre) + radius**2
            if under >= 0 and (t := -b - under**0.5) >= 0.001:
                hits.append((t, max(0.0, (t * d[1] - centre[1]) / radius)))
        if hits:
            wanted[i, j] = min(hits)[1]
    assert np.allclose(out, wanted, atol=2e-3)
