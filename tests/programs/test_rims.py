"""Tiles with rims: one thread of a row, or a row, does more than others between two barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Int, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
WIDTH, HEIGHT = 16, 4


@kernel
def neighbours(a: Pointer[Int], b: Pointer[Int], h: Int, w: Int):
    """The sum around each element, through a tile with a rim."""
    tile = stack_allocation(Int, Layout.row_major(HEIGHT + 2, WIDTH + 2), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    col, row = block_idx.x * block_dim.x + x, block_idx.y * block_dim.y + y
    if row < h and col < w:
        tile[y + 1, x + 1] = a[row * w + col]
        if x == 0 and col > 0:
            tile[y + 1, 0] = a[row * w + col - 1]
        if x == WIDTH - 1 and col + 1 < w:
            tile[y + 1, WIDTH + 1] = a[row * w + col + 1]
        if y == 0 and row > 0:
            tile[0, x + 1] = a[(row - 1) * w + col]
        if y == HEIGHT - 1 and row + 1 < h:
            tile[HEIGHT + 1, x + 1] = a[(row + 1) * w + col]
    barrier()
    if row > 0 and row < h - 1 and col > 0 and col < w - 1:
        b[row * w + col] = tile[y, x + 1] + tile[y + 2, x + 1] + tile[y + 1, x] + tile[y + 1, x + 2]


@pytest.mark.parametrize("shape", [(4, 16), (5, 17), (30, 50), (1, 1)])
def test_rims(shape: tuple[int, int]) -> None:
    a = np.random.default_rng(1).integers(0, 1000, shape)
    b, wanted, (h, w) = np.zeros_like(a), np.zeros_like(a), shape
    grid = -(-w // WIDTH), -(-h // HEIGHT)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(neighbours, a, b, h, w, grid_dim=grid, block_dim=(WIDTH, HEIGHT))
        ctx.synchronize()
    wanted[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    np.testing.assert_array_equal(b, wanted)


@kernel
def in_order(x: Pointer[Int], out: Pointer[Int], n: Int, count: Pointer[Int]):
    """What one thread does lies between what it does with all, and goes by what it has read and counted."""
    shared = stack_allocation(Int, 128, address_space=AddressSpace.SHARED)
    t, y = thread_idx.x, thread_idx.y
    i = y * block_dim.x + t
    own = x[i]
    shared[i] = 0
    if i < n:
        shared[i] = own + 1
        if t == 3:
            shared[i] = shared[i] * 2
        shared[i] += 5
        if t == own % 7 and y >= 0:
            shared[i] += 1000
        if t + 2 == block_dim.x:
            shared[i] = 7 * shared[i] + i
        if t == n % 4:
            shared[i] += 3
            if i % 2 == 0:
                shared[i] *= 3
        if t == 6:
            shared[i] += 20
        else:
            shared[i] += 40
        if t != 4:
            shared[i] += 100000
    if i < n:
        own = shared[i]
    if t + 2 == block_dim.x and i < n:
        Atomic.fetch_add(count, 1)
    if t == 5:
        out[i + 128] = i - 1
    barrier()
    last = shared[(i + 1) % n] if i < n else -own
    if t == 1:
        out[i + 256] = last * 2
    if i >= n and t == 2:
        return
    barrier()
    if t == 2:
        out[i + 128] = 50 + i
    barrier()
    out[i] = own + last + shared[min(i + 1, block_dim.x * block_dim.y - 1)] * (i + 1 >= n)


def one_by_one(x: Any, n: int, dims: tuple[int, int]) -> Any:
    """The same by lists."""
    out, held = np.zeros(384, np.int64), 0 * x
    own = x.copy()
    for i in range(x.size):
        t = i % dims[0]
        if i < n:
            v = x[i] + 1
            v = (v * 2 if t == 3 else v) + 5
            v += 1000 * (t == x[i] % 7)
            v = 7 * v + i if t + 2 == dims[0] else v
            if t == n % 4:
                v = (v + 3) * (3 if i % 2 == 0 else 1)
            own[i] = held[i] = v + (20 if t == 6 else 40) + 100000 * (t != 4)
        if t == 5:
            out[i + 128] = i - 1
    for i in range(x.size):
        t = i % dims[0]
        last = held[(i + 1) % n] if i < n else -own[i]
        if t == 1:
            out[i + 256] = last * 2
        if i >= n and t == 2:
            continue
        if t == 2:
            out[i + 128] = 50 + i
        out[i] = own[i] + last + held[min(i + 1, x.size - 1)] * (i + 1 >= n)
    return out


@pytest.mark.parametrize("dims", [(64, 1), (16, 4), (7, 9)])
@pytest.mark.parametrize("n", [1, 40, 64])
def test_in_order(dims: tuple[int, int], n: int) -> None:
    size = dims[0] * dims[1]
    n = min(n, size)
    x = np.random.default_rng(n).integers(0, 100, size)
    out, count = np.zeros(384, np.int64), np.zeros(1, np.int64)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(in_order, x, out, n, count, grid_dim=1, block_dim=dims)
        ctx.synchronize()
    np.testing.assert_array_equal(out, one_by_one(x, n, dims))
    assert count[0] == sum(i % dims[0] + 2 == dims[0] for i in range(n))
