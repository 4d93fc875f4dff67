"""Tiles with rims that a few threads at the ends of a row fill; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int64, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

WIDE, RIM = 32, 4


@kernel
def smooth(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    """Both rims by the first threads, what lies beyond the ends chosen to be 0."""
    tile = stack_allocation(Float32, Layout.row_major(WIDE + 2 * RIM), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    tile[t + RIM] = a[i] if i < n else 0.0
    if t < RIM:
        tile[t] = a[i - RIM] if i >= RIM else 0.0
        tile[t + block_dim.x + RIM] = a[i + block_dim.x] if i + block_dim.x < n else 0.0
    barrier()
    total = Float32(0.0)
    for k in range(2 * RIM + 1):
        total += tile[t + k] * Float32(k + 1)
    if i < n:
        out[i] = total


@kernel
def by_each_end(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    """The same by those at either end, among the threads that are within the array."""
    tile = stack_allocation(Float32, Layout.row_major(WIDE + 2 * RIM), address_space=AddressSpace.SHARED)
    t, i, size = thread_idx.x, global_idx.x, block_dim.x
    tile[t + RIM] = 0.0
    if t < RIM:
        tile[t] = 0.0
        tile[t + size + RIM] = 0.0
    barrier()
    if i < n:
        tile[t + RIM] = a[i]
        if t < RIM and i >= RIM:
            tile[t] = a[i - RIM]
        if t >= size - RIM and i + RIM < n:
            tile[t + 2 * RIM] = a[i + RIM]
    barrier()
    total = Float32(0.0)
    for k in range(2 * RIM + 1):
        total += tile[t + k] * Float32(k + 1)
    if i < n:
        out[i] = total


@pytest.mark.parametrize("kernel", [smooth, by_each_end])
@pytest.mark.parametrize("size", [RIM, 7, 16, 32])
@pytest.mark.parametrize("blocks", [1, 3])
def test_rims(kernel: Any, size: int, blocks: int) -> None:
    n = size * blocks if kernel is by_each_end else size * blocks - 2
    a = np.random.default_rng(size).integers(-9, 9, n).astype(np.float32)
    out = np.zeros_like(a)
    run(kernel, a, out, n, grid=blocks, block=size)
    wide = np.pad(a, RIM)
    wanted = sum(wide[k : k + n] * np.float32(k + 1) for k in range(2 * RIM + 1))
    assert np.array_equal(out, wanted)


@kernel
def ends(a: Pointer[Int64], out: Pointer[Int64], low: Int, rounds: Int):
    """Pieces that are one branch of threads from some on, before others, every other one; in rows."""
    shared = stack_allocation(Int64, Layout.row_major(2, WIDE), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    i = (block_idx.x * 2 + y) * block_dim.x + x
    shared[y, x] = a[i]
    barrier()
    for r in range(rounds):
        if x >= 5 and x < 20 + r and x % 2 == 0:
            shared[y, x] = shared[y, x] * 3 + r
        barrier()
        if x > low:
            shared[y, x] -= x
        barrier()
        if low + 3 <= x and y == 0 and shared[0, x] > 0:
            shared[0, x] += 1
        barrier()
    out[i] = shared[y, x]


@pytest.mark.parametrize("low", [-(2**63), -4, 0, 9, 31, 40, 2**63 - 4])
@pytest.mark.parametrize("size", [1, 16, 27, 32])
def test_ends(low: int, size: int) -> None:
    a = np.random.default_rng(size).integers(-50, 50, (3, 2, size))
    out, x, rounds = np.zeros_like(a), np.arange(size), 3
    run(ends, a, out, low, rounds, grid=3, block=(size, 2))
    wanted = a.copy()
    for r in range(rounds):
        wanted = np.where((x >= 5) & (x < 20 + r) & (x % 2 == 0), wanted * 3 + r, wanted)
        wanted -= np.where(x > low, x, 0)
        wanted[:, 0] += (low + 3 <= x) & (wanted[:, 0] > 0)
    assert np.array_equal(out, wanted)


def test_nothing_is_stored_under_a_mask() -> None:
    text = str(compile_info(smooth, target="x86-64-v3", emission_kind="llvm-opt"))
    stores = [line for line in text.splitlines() if "call void @llvm.masked.store" in line]
    assert len(stores) <= 2  # of the result, two vectors at a time, where blocks go beyond the array


def run(kernel: Any, *args: Any, grid: Any, block: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()
