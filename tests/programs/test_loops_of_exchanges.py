"""Loops in which lanes of a warp hand each other values: a CPU writes out those whose rounds are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, global_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext
from weft.lang.number import number_class
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
WARPS = 6


@func
def over_a_warp(x: Int) -> Int:
    offset = 16
    while offset:
        x += warp.shuffle_down(x, offset)
        offset >>= 1
    return x


@kernel
def sums(x: Pointer[Int], warps: Pointer[Int], total: Pointer[Int], behind: Pointer[Int]):
    """The sums of warps, and from these of the block; what is left in the variable."""
    shared = stack_allocation(Int, 32, address_space=AddressSpace.SHARED)
    mine = over_a_warp(x[global_idx.x])
    if lane_id() == 0:
        shared[warp_id()] = mine
        warps[global_idx.x // 32] = mine
    barrier()
    offset = 16
    if warp_id() == 0:
        mine = shared[lane_id()] if thread_idx.x < block_dim.x // 32 else 0
        while offset >= 1:
            mine += warp.shuffle_xor(mine, offset)
            offset //= 2
            behind[thread_idx.x] = offset
        total[thread_idx.x] = mine
    behind[block_dim.x + thread_idx.x] = offset


@kernel
def scans(x: Pointer[Int], out: Pointer[Int], powers: Pointer[Int], n: Int, small: Pointer[Int32]):
    """Each lane's with those of the lanes before it; by ranges, in other orders, an open number of times."""
    held = x[global_idx.x]
    offset = 1
    while offset < 32:
        before = warp.shuffle_up(held, offset)
        if lane_id() >= offset:
            held += before
        offset *= 2
    out[global_idx.x] = held
    held = x[global_idx.x]
    for bit in range(5):
        held = held * 3 + warp.shuffle_xor(held, 1 << bit, width=16)
    for back in range(3, -1, -2):
        held += warp.shuffle_idx(held, back + offset - 30)
    offset = 16
    while offset > 1:
        offset //= 2
        held += warp.shuffle_down(held, offset)
    for times in range(n):
        held += warp.shuffle_down(held, times)
    narrow = Int32(8)
    while narrow > 0:
        held += warp.shuffle_down(held, Int(narrow))
        narrow -= 3
    powers[global_idx.x] = held
    small[global_idx.x] = narrow


def test_sums() -> None:
    x = np.random.default_rng(1).integers(0, 1000, WARPS * 32)
    warps, total = np.zeros(WARPS, np.int64), np.zeros(32, np.int64)
    behind = np.full(2 * x.size, -1)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(sums, x, warps, total, behind, grid_dim=1, block_dim=x.size)
        ctx.synchronize()
    np.testing.assert_array_equal(warps, x.reshape(WARPS, 32).sum(axis=1))
    np.testing.assert_array_equal(total, x.sum())
    np.testing.assert_array_equal(behind[:32], 0)
    np.testing.assert_array_equal(behind[x.size :], np.where(np.arange(x.size) < 32, 0, 16))


def shuffled(held: Any, lanes: Any) -> Any:
    return held[:, np.where((lanes >= 0) & (lanes < 32), lanes, np.arange(32))]


def test_scans() -> None:
    x, lane, n = np.random.default_rng(2).integers(0, 1000, (WARPS, 32)), np.arange(32), 3
    out, powers, small = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape, np.int32)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(scans, x, out, powers, n, small, grid_dim=2, block_dim=x.size // 2)
        ctx.synchronize()
    np.testing.assert_array_equal(out, np.cumsum(x, axis=1))
    held = x
    for bit in range(5):
        other = lane ^ (1 << bit)
        held = held * 3 + shuffled(held, np.where(other > (lane | 15), lane, other))  # not in a later group
    for back in (3, 1):
        held = held + shuffled(held, 0 * lane + (back + 2) % 32)
    for times in (8, 4, 2, 1, *range(n), 8, 5, 2):
        held = held + shuffled(held, lane + times)
    np.testing.assert_array_equal(powers, held)
    np.testing.assert_array_equal(small, -1)


@kernel
def by_index(out: Pointer[Int], *, rows: Comptime[bool]):
    """Lanes and warps by the index along x, which they are where blocks have one row."""
    lane, w, base = thread_idx.x % 32, thread_idx.x // 32, 0
    if rows:
        base = thread_idx.y * block_dim.x
    held = 1000 * lane + w
    if w < 2:
        held += 1000000 * warp.shuffle_xor(lane, 1)
    Atomic.fetch_add(out + base + thread_idx.x, held)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("dims", [(96, 1), (16, 4)])
def test_lanes_by_index(dims: tuple[int, int], rows: bool) -> None:
    out = np.zeros((4, 96), np.int64)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(by_index, out, grid_dim=1, block_dim=dims, rows=rows)
        ctx.synchronize()
    wanted = np.zeros(out.size, np.int64)
    for y in range(dims[1]):
        for x in range(dims[0]):
            there = 1000000 * ((x ^ 1) % 32) if x < 64 else 0
            wanted[rows * y * dims[0] + x] += 1000 * (x % 32) + x // 32 + there
    np.testing.assert_array_equal(out.reshape(-1), wanted)


@kernel
def pairs(out: Pointer[Float32]):
    held = number_class(Float32.dtype, 4)(Float32(thread_idx.x), 1, 2, 3)
    offset = 16
    while offset > 0:
        held += warp.shuffle_xor(held, offset)
        offset //= 2
    out.store(4 * thread_idx.x, held)


def test_vectors_of_lanes() -> None:
    """A warp has no vector of vectors."""
    out = np.zeros((64, 4), np.float32)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(pairs, out, grid_dim=1, block_dim=64)
        ctx.synchronize()
    firsts = [np.arange(32).sum()] * 32 + [np.arange(32, 64).sum()] * 32
    np.testing.assert_array_equal(out, [[first, 32, 64, 96] for first in firsts])
