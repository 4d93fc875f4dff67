"""Programs of Warp, CuPy, Numba and CUDA C++, ported with NumPy arrays handed to the launch."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    Float32,
    InlineArray,
    Int,
    Int32,
    Pointer,
    UInt32,
    UInt64,
    kernel,
    struct,
)
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.complex import ComplexFloat32
from weft.gpu import global_idx, lane_id, warp
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.linalg import length, vec3
from weft.math import sqrt
from weft.memory import AddressSpace

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
rng = np.random.default_rng(3)


def run(device: DeviceContext, kernel_: Any, *arguments: Any, **how: Any) -> None:
    device.enqueue_function(kernel_, *arguments, **how)
    device.synchronize()


# springs of a cloth, by colours (XPBD)
@struct
class Spring:
    i: Int32
    j: Int32
    rest: Float32
    color: Int32


@kernel
def solve(x: Pointer[vec3], w: Pointer[Float32], s: Pointer[Spring], n: Int, color: Int32, k: Float32):
    t = global_idx.x
    if t >= n or s[t].color != color:
        return
    sp = s[t]
    d = x[sp.i] - x[sp.j]
    far = length(d)
    ws = w[sp.i] + w[sp.j]
    if far < 1e-9 or ws == 0.0:
        return
    c = d * (k * (far - sp.rest) / (far * ws))
    x[sp.i] -= c * w[sp.i]
    x[sp.j] += c * w[sp.j]


def test_springs_by_colours(device: DeviceContext) -> None:
    n = 10
    x, weights = rng.normal(size=(n, 3)).astype(np.float32), np.ones(n, np.float32)
    weights[0] = 0
    springs = np.zeros(n - 1, np.dtype([("i", "i4"), ("j", "i4"), ("rest", "f4"), ("color", "i4")]))
    springs["i"], springs["j"], springs["rest"] = np.arange(n - 1), np.arange(1, n), 0.5
    springs["color"] = np.arange(n - 1) % 2
    wanted = x.astype(np.float64)
    for _ in range(5):
        for color in (0, 1):
            run(device, solve, x, weights, springs, n - 1, color, 0.8, grid_dim=1, block_dim=32)
            for i, j, rest, _ in springs[springs["color"] == color].tolist():
                way = wanted[i] - wanted[j]
                far = np.linalg.norm(way)
                both = weights[i] + weights[j]
                step = way * (0.8 * (far - rest) / (far * both))
                wanted[i] -= step * weights[i]
                wanted[j] += step * weights[j]
    assert np.allclose(x, wanted, atol=1e-4)


# the least of each key: a float and its place in one word, by an atomic
@kernel
def argmin_packed(keys: Pointer[Int32], vals: Pointer[Float32], best: Pointer[UInt64], n: Int):
    i = global_idx.x
    if i < n:
        b = vals[i].bitcast(UInt32)
        b = ~b if b >> 31 else b | UInt32(0x80000000)
        Atomic.fetch_min(best + keys[i], UInt64(b) << 32 | UInt64(i))


def test_packed_argmin(device: DeviceContext) -> None:
    n = 500
    keys, values = rng.integers(0, 7, n).astype(np.int32), rng.normal(size=n).astype(np.float32)
    best = np.full(7, 2**64 - 1, np.uint64)
    run(device, argmin_packed, keys, values, best, n, grid_dim=4, block_dim=128)
    places = (best & np.uint64(0xFFFFFFFF)).astype(int)
    assert places.tolist() == [np.flatnonzero(keys == k)[values[keys == k].argmin()] for k in range(7)]


# a warp's bitonic sort of structs
@struct
class KV:
    k: Float32
    v: Int32


@kernel
def warpsort(k: Pointer[Float32], v: Pointer[Int32]):
    i = global_idx.x
    lane = Int(lane_id())
    me = KV(k[i], v[i])
    size = 2
    while size <= 32:
        stride = size // 2
        while stride > 0:
            other = warp.shuffle_xor(me, stride)
            up = (lane & size) == 0
            low = (lane & stride) == 0
            keep_min = up == low
            if keep_min:
                if other.k < me.k:
                    me = other
            else:
                if other.k > me.k:
                    me = other
            stride //= 2
        size *= 2
    k[i] = me.k
    v[i] = me.v


def test_a_warp_sorts_structs(device: DeviceContext) -> None:
    keys, values = rng.permutation(64).astype(np.float32), np.arange(64, dtype=np.int32)
    before = keys.copy()
    run(device, warpsort, keys, values, grid_dim=2, block_dim=32)
    assert np.array_equal(keys.reshape(2, 32), np.sort(before.reshape(2, 32), 1))
    assert np.array_equal(before[values], keys)


# a fractal of Newton's, with powers of complex numbers
ROOTS = 1 + 0j, -0.5 + 0.8660254j, -0.5 - 0.8660254j


@kernel
def newton(out: LayoutTensor[Int32], iters: Int):
    i, j = global_idx.y, global_idx.x
    h, w = out.shape
    z = ComplexFloat32(3.0 * (j + 0.5) / w - 1.5, 3.0 * (i + 0.5) / h - 1.5)
    n = 0
    while n < iters:
        f = z**3 - 1
        if abs(f) < 1e-4:
            break
        z -= f / (3 * z**2)
        n += 1
    best = 0
    for k, root in enumerate(ROOTS):
        if abs(z - root) < 1e-2:
            best = k + 1
    out[i, j] = Int32(best) if z != 0 else -1


def test_newton_fractal(device: DeviceContext) -> None:
    h, w = 16, 20
    out = np.zeros((h, w), np.int32)
    run(device, newton, out, 40, over=(h, w))
    x, y = np.meshgrid(np.arange(w) + 0.5, np.arange(h) + 0.5)
    z: npt.NDArray[np.complex64] = (3 * x / w - 1.5 + 1j * (3 * y / h - 1.5)).astype(np.complex64)
    for _ in range(40):
        f = z**3 - 1
        z = np.where(abs(f) < 1e-4, z, z - f / (3 * z**2))
    wanted = np.zeros((h, w), np.int32)
    for k, root in enumerate(ROOTS):
        wanted[abs(z - root) < 1e-2] = k + 1
    assert (out != wanted).mean() < 0.01


# a cellular automaton, 32 cells a word
RULE = np.array([(110 >> i) & 1 for i in range(8)], np.uint8)


@kernel
def ca(src: Pointer[UInt32], dst: Pointer[UInt32], words: Int):
    i = global_idx.x
    if i >= words:
        return
    left = src[(i - 1) % words]
    mid = src[i]
    right = src[(i + 1) % words]
    out = UInt32(0)
    for b in range(32):
        low = (mid >> UInt32(b - 1)) & 1 if b > 0 else left >> 31
        r = (mid >> UInt32(b + 1)) & 1 if b < 31 else right & 1
        c = (mid >> UInt32(b)) & 1
        code = low | (c << 1) | (r << 2)
        out |= UInt32(RULE[code]) << UInt32(b)
    dst[i] = out


def test_automaton(device: DeviceContext) -> None:
    cells = rng.integers(0, 2**32, 5, dtype=np.uint32)
    out = np.zeros_like(cells)
    run(device, ca, cells, out, 5, grid_dim=1, block_dim=8)
    bits = np.unpackbits(cells.view(np.uint8), bitorder="little")
    codes = np.roll(bits, 1) | bits << 1 | np.roll(bits, -1) << 2
    assert np.array_equal(np.packbits(RULE[codes], bitorder="little").view(np.uint32), out)


# a tagged union: a struct with a kind, and match
class Kind(enum.IntEnum):
    CIRCLE = 0
    RECT = 1
    TRI = 2


@struct
class Shape:
    kind: Int32
    data: InlineArray[Float32, 3]

    def area(self) -> Float32:
        match self.kind:
            case Kind.CIRCLE:
                return 3.14159265 * self.data[0] ** 2
            case Kind.RECT:
                return self.data[0] * self.data[1]
            case Kind.TRI:
                a, b, c = self.data
                s = (a + b + c) / 2
                return sqrt(max(s * (s - a) * (s - b) * (s - c), 0.0))
            case _:
                return -1.0


@kernel
def areas(s: Pointer[Shape], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        out[i] = s[i].area()


def test_areas_of_shapes(device: DeviceContext) -> None:
    shapes = np.zeros(5, np.dtype([("kind", "i4"), ("data", "f4", 3)]))
    shapes["kind"] = [0, 1, 2, 2, 7]
    shapes["data"] = [[2, 0, 0], [2, 3, 0], [3, 4, 5], [1, 1, 9], [1, 1, 1]]
    out = np.zeros(5, np.float32)
    run(device, areas, shapes, out, 5, grid_dim=1, block_dim=8)
    assert np.allclose(out, [np.pi * 4, 6, 6, 0, -1])


# printf in columns
@kernel
def table(x: Pointer[Float32], k: Pointer[Int32], n: Int):
    if global_idx.x == 0:
        for i in range(n):
            print(f"{i:>3}|{x[i]:8.3f}|{k[i]:#06x}|{k[i] > 0!s:>5}|{(k[i], x[i])!r:>16}|")


def test_columns(device: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    x, k = np.array([1.5, -2.25], np.float32), np.array([7, -3], np.int32)
    run(device, table, x, k, 2, grid_dim=1, block_dim=32)
    found = capsys.readouterr().out
    for i, (a, n) in enumerate(zip(x.tolist(), k.tolist(), strict=True)):
        print(f"{i:>3}|{a:8.3f}|{n:#06x}|{n > 0!s:>5}|{(n, a)!r:>16}|")
    assert found == capsys.readouterr().out


@pytest.mark.parametrize("program", [solve, argmin_packed, warpsort, ca, areas])
def test_the_kernels_become_ptx(program: Any) -> None:
    assert ".entry" in str(compile_info(program, target="sm_90"))
