"""Threads read of their neighbours before a barrier and write behind it: a CPU does both strip by strip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int32, Pointer, kernel
from weft.gpu import barrier, block_dim, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
MOST = 256


@kernel
def shifted(x: Pointer[Float32], y: Pointer[Float32], offset: Int, times: Int):
    """Each adds to its own what lies so far before it, or behind it, so many times."""
    shared = stack_allocation(Float32, Layout.row_major(MOST), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = x[i]
    barrier()
    for _ in range(times):
        before = shared[t - offset] if t >= offset and t - offset < block_dim.x else 0.0
        barrier()
        shared[t] += before
        barrier()
    y[i] = shared[t]


@kernel
def ahead(x: Pointer[Int32], y: Pointer[Int32], far: Int32, low: Int, high: Int):
    """What lies so far ahead, if that is within limits that are no strips' ends."""
    offset = Int(far)  # which a compiler knows to be small
    shared = stack_allocation(Int32, Layout.row_major(MOST), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = x[i]
    barrier()
    other = shared[t + offset] if t + offset >= low and t + offset < high else 1000
    barrier()
    shared[t] += other
    barrier()
    y[i] = shared[t]


@kernel
def both_ways(x: Pointer[Int32], y: Pointer[Int32], offset: Int):
    """What two neighbours have, one before and one behind: no order of strips is right."""
    shared = stack_allocation(Int32, Layout.row_major(MOST), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = x[i]
    barrier()
    before = shared[t - offset] if t >= offset else 0
    behind = shared[t + offset] if t + offset < block_dim.x else 0
    barrier()
    shared[t] += 3 * before + 5 * behind
    barrier()
    y[i] = shared[t]


@kernel
def turned(x: Pointer[Int32], y: Pointer[Int32]):
    """What lies as far from the end as a thread from the begin."""
    shared = stack_allocation(Int32, Layout.row_major(MOST), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = x[i]
    barrier()
    other = shared[block_dim.x - 1 - t]
    barrier()
    shared[t] += 2 * other
    barrier()
    y[i] = shared[t]


@kernel
def own_way(x: Pointer[Int32], y: Pointer[Int32], ways: Pointer[Int32]):
    """How far before it a thread reads is its own."""
    shared = stack_allocation(Int32, Layout.row_major(MOST), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = x[i]
    barrier()
    other = shared[Int(ways[i])]
    barrier()
    shared[t] += 2 * other
    barrier()
    y[i] = shared[t]


def launch(ctx: DeviceContext, program: Any, block: int, *given: Any, dtype: Any = np.int32) -> Any:
    x = np.arange(2 * block).astype(dtype) * 7 % 31
    y = np.zeros_like(x)
    ctx.enqueue_function(program, x, y, *given, grid_dim=2, block_dim=block)
    ctx.synchronize()
    return x.reshape(2, block), y.reshape(2, block)


@pytest.mark.parametrize("offset", [-300, -33, -16, -5, -1, 0, 1, 7, 16, 17, 100, 300])
@pytest.mark.parametrize("block", [16, 48, 50, 256])
def test_what_lies_before_or_behind(any_context: DeviceContext, offset: int, block: int) -> None:
    x, y = launch(any_context, shifted, block, offset, 3, dtype=np.float32)
    for _ in range(3):
        before = np.zeros_like(x)
        if 0 <= offset < block:
            before[:, offset:] = x[:, : block - offset]
        elif -block < offset < 0:
            before[:, :offset] = x[:, -offset:]
        x = x + before
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("offset", [-32, -16, -3, 0, 1, 15, 16, 18, (1 << 31) - 1])
@pytest.mark.parametrize(("low", "high"), [(0, 64), (5, 64), (0, 50), (16, 48), (17, 47), (40, 20)])
def test_within_limits(any_context: DeviceContext, offset: int, low: int, high: int) -> None:
    x, y = launch(any_context, ahead, 64, offset, low, high)
    at = np.arange(64) + offset
    there = np.take_along_axis(x, np.clip(at, 0, 63)[None, :], 1)
    np.testing.assert_array_equal(y, x + np.where((low <= at) & (at < high), there, 1000))


@pytest.mark.parametrize("offset", [1, 8, 16, 40])
def test_both_sides(any_context: DeviceContext, offset: int) -> None:
    x, y = launch(any_context, both_ways, 64, offset)
    expected = x.copy()
    expected[:, offset:] += 3 * x[:, :-offset]
    expected[:, :-offset] += 5 * x[:, offset:]
    np.testing.assert_array_equal(y, expected)


def test_from_the_other_end(any_context: DeviceContext) -> None:
    x, y = launch(any_context, turned, 64)
    np.testing.assert_array_equal(y, x + 2 * x[:, ::-1])


def test_each_its_own_way(any_context: DeviceContext) -> None:
    ways = np.random.default_rng(3).integers(0, 64, 128).astype(np.int32)
    x, y = launch(any_context, own_way, 64, ways)
    np.testing.assert_array_equal(y, x + 2 * np.take_along_axis(x, ways.reshape(2, 64), 1))
