"""What a branch chooses from memory, of which a CPU loads both sides under masks; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Float64, Int, Int32, Pointer, UInt8, UInt32, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

SIDE = 16


@kernel
def either(m: Pointer[UInt8], a: Pointer[Float32], b: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        out[i] = a[i] if m[i] > 3 else b[i]


@kernel
def of_many(m: Pointer[UInt8], a: Pointer[Float64], b: Pointer[Float64], out: Pointer[Float64], n: Int):
    """Branches in branches; an address on both sides, and one that is read before and after."""
    i = global_idx.x
    if i < n:
        if m[i] < 2:
            x = a[i] + 1.0 if i > 0 and a[i - 1] > 0.0 else a[i] * b[i]
        elif m[i] < 4:
            x = b[n - 1 - i]
        else:
            x = b[i + 1] if i + 1 < n else (a[i - 2] if m[i] < 6 and i > 1 else b[0])
        out[i] = x
        out[i] = a[i] - x if m[i] % 2 == 0 else b[i] + x


@kernel
def written_between(m: Pointer[UInt8], a: Pointer[Int32], b: Pointer[Int32], out: Pointer[Int32], n: Int):
    """Each side also writes what it has read, and what is read again after that."""
    i = global_idx.x
    if i < n:
        if m[i] > 4:
            out[i] = a[i] * 3
            a[i] = b[i] + 1
        else:
            out[i] = b[i] - 7
            b[i] = a[i] * 2
        out[i] += a[i] if m[i] % 3 == 0 else b[i]
        for k in range(3):
            out[i] ^= a[i] + Int32(k) if m[i] % (k + 2) == 0 else b[i] * Int32(k)


@kernel
def tiled(a: Pointer[UInt32], out: Pointer[UInt32], height: Int, width: Int):
    """The neighbours' elements, in the tile or beyond it."""
    tile = stack_allocation(UInt32, Layout.row_major(SIDE, SIDE), address_space=AddressSpace.SHARED)
    tx, ty = thread_idx.x, thread_idx.y
    x, y = block_idx.x * SIDE + tx, block_idx.y * SIDE + ty
    i = y * width + x
    tile[ty, tx] = a[i]
    barrier()
    here = tile[ty, tx]
    up = tile[ty - 1, tx] if ty > 0 else (a[i - width] if y > 0 else here)
    down = tile[ty + 1, tx] if ty < SIDE - 1 else (a[i + width] if y < height - 1 else here)
    left = tile[ty, tx - 1] if tx > 0 else (a[i - 1] if x > 0 else here)
    right = tile[ty, tx + 1] if tx < SIDE - 1 else (a[i + 1] if x < width - 1 else here)
    out[i] = here + 3 * up + 5 * down + 7 * left + 11 * right


def run(kernel: Any, *args: Any, grid: Any, block: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()


def masks(n: int) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(n).integers(0, 8, n, np.uint8)


@pytest.mark.parametrize("n", [1, 7, 64, 1001])
def test_one_of_two(n: int) -> None:
    rng, m = np.random.default_rng(1), masks(n)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    out = np.zeros(n, np.float32)
    run(either, m, a, b, out, n, grid=-(-n // 64), block=64)
    assert np.array_equal(out, np.where(m > 3, a, b))


@pytest.mark.parametrize("n", [1, 2, 3, 63, 1000])
def test_one_of_many(n: int) -> None:
    rng, m = np.random.default_rng(2), masks(n)
    a, b = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    out = np.zeros(n)
    run(of_many, m, a, b, out, n, grid=-(-n // 96), block=96)
    before, after = np.roll(a, 1), np.append(b[1:], 0)
    before[0] = 0
    first = np.where(before > 0, a + 1, a * b)
    twice = (m < 6) & (np.arange(n) > 1)
    last = np.where(np.arange(n) + 1 < n, after, np.where(twice, np.roll(a, 2), b[0]))
    x = np.where(m < 2, first, np.where(m < 4, b[::-1], last))
    assert np.array_equal(out, np.where(m % 2 == 0, a - x, b + x))


@pytest.mark.parametrize("n", [1, 40, 999])
def test_what_is_written_between(n: int) -> None:
    rng, m = np.random.default_rng(3), masks(n)
    a, b = rng.integers(-1000, 1000, n, np.int32), rng.integers(-1000, 1000, n, np.int32)
    mine, theirs, out = a.copy(), b.copy(), np.zeros(n, np.int32)
    run(written_between, m, mine, theirs, out, n, grid=-(-n // 64), block=64)
    wanted = np.where(m > 4, a * 3, b - 7)
    a, b = np.where(m > 4, b + 1, a), np.where(m > 4, b, a * 2)
    wanted += np.where(m % 3 == 0, a, b)
    for k in range(3):
        wanted ^= np.where(m % (k + 2) == 0, a + k, b * k)
    assert np.array_equal(mine, a)
    assert np.array_equal(theirs, b)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("height", "width"), [(16, 16), (32, 48), (80, 16)])
def test_tiles_and_what_is_around(height: int, width: int) -> None:
    a = np.random.default_rng(4).integers(0, 1 << 20, (height, width), np.uint32)
    out = np.zeros_like(a)
    run(tiled, a, out, height, width, grid=(width // SIDE, height // SIDE), block=(SIDE, SIDE))
    wide = np.pad(a, 1, mode="edge")
    rows, columns = slice(1, -1), slice(1, -1)
    wanted = a + 3 * wide[:-2, columns] + 5 * wide[2:, columns] + 7 * wide[rows, :-2] + 11 * wide[rows, 2:]
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("kernel", [either, tiled])
def test_they_are_vectors(kernel: Any) -> None:
    text = str(compile_info(kernel, target="x86-64-v3", emission_kind="llvm-opt"))
    assert "@llvm.masked.load" in text
    assert "@llvm.masked.gather" not in text
    assert "select i1" not in "".join(line for line in text.splitlines() if ", ptr %" in line)
