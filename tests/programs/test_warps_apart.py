"""Warps that go ways of their own, decided before the loops and barriers around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Int, Int32, Kernel, Pointer, kernel
from weft.gpu import barrier, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

THREADS, ROUNDS = 128, 3


@kernel
def by_flag(out: Pointer[Int32], n: Int):
    """What is known before the loop tells the warps apart in it."""
    works = warp_id() != 1
    for i in range(n):
        if works:
            out[thread_idx.x] += warp.sum(Int32(i + 1))
        barrier()


@kernel
def otherwise(out: Pointer[Int32], n: Int):
    """The other way of a branch meets within warps."""
    leads = warp_id() == 1
    i = Int(0)
    while i < n:
        runs = i < n
        if leads:
            out[thread_idx.x] -= 1
        elif runs:
            out[thread_idx.x] += warp.prefix_sum(Int32(1))
        barrier()
        i += 1


@kernel
def rounds_of_their_own(out: Pointer[Int32], n: Int):
    """Each warp has a number of rounds of its own."""
    most = warp_id() + 1
    for i in range(n):
        barrier()
        for j in range(most):
            out[thread_idx.x] += warp.sum(Int32(j + i))
        barrier()


@kernel
def some_left(out: Pointer[Int32], n: Int):
    """The first lanes of a warp have ended."""
    if thread_idx.x % 64 >= 32 and lane_id() < 8 and n > 100:
        return
    works, twice = warp_id() % 2 == 0, warp_id() >= 2
    held = stack_allocation(Int32, THREADS, address_space=AddressSpace.SHARED)
    for i in range(n):
        held[thread_idx.x] = Int32(i)
        barrier()
        if works:
            found = warp.max(held[THREADS - 1 - thread_idx.x] + lane_id().cast(Int32))
            if twice:
                out[thread_idx.x] += 2 * warp.shuffle_idx(found, 5)
            else:
                out[thread_idx.x] += found
        barrier()


@kernel
def leaves_early(out: Pointer[Int32], n: Int):
    """What decided about a loop ends it, too."""
    works, most = warp_id() % 2 == 1, warp_id() + n
    if works:
        i = Int(0)
        while i < most:
            i += 1
            out[thread_idx.x] += warp.sum(Int32(i))
            if works:
                break
            out[thread_idx.x] += warp.sum(Int32(100))
    barrier()
    out[thread_idx.x] += 1


def expected(name: str) -> Any:
    warps, lanes = np.divmod(np.arange(THREADS), 32)
    if name == "by_flag":
        return np.where(warps != 1, 32 * sum(i + 1 for i in range(ROUNDS)), 0)
    if name == "otherwise":
        return np.where(warps == 1, -ROUNDS, ROUNDS * (lanes + 1))
    if name == "rounds_of_their_own":
        return np.array([sum(32 * (j + i) for i in range(ROUNDS) for j in range(w + 1)) for w in warps])
    if name == "leaves_early":
        return np.where(warps % 2 == 1, 33, 1)
    once = sum(i + 31 for i in range(ROUNDS))
    return np.where(warps % 2 == 0, np.where(warps >= 2, 2 * once, once), 0)


@pytest.mark.parametrize(
    "made", [by_flag, otherwise, rounds_of_their_own, some_left, leaves_early], ids=lambda k: k.__name__
)
def test_what_was_decided_before(device: DeviceContext, made: Kernel[...]) -> None:
    out = device.enqueue_create_buffer(Int32, THREADS)
    out.enqueue_fill(0)
    device.enqueue_function(made, out, ROUNDS, grid_dim=1, block_dim=THREADS)
    with out.map_to_host() as host:
        np.testing.assert_array_equal(host.numpy(), expected(made.__name__))
