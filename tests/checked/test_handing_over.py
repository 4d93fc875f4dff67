"""Checked contexts on a CPU: what is handed over by atomics and fences is in order, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planted import found, marked
from weft import Float32, Int32, Pointer, func, kernel
from weft.atomic import Atomic, fence
from weft.gpu import barrier, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

SHARED = AddressSpace.SHARED


@func
def total_of(p: Pointer[Float32], n: Any) -> Float32:
    total = Float32(0)
    for i in range(n):
        total += p[i]
    return total


# Launched with 4 blocks of 64 threads; out[0] is the sum of x.


@kernel
def last_block(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    last = stack_allocation(Int32, 1, address_space=SHARED)
    t = thread_idx.x
    part[global_idx.x] = x[global_idx.x]
    fence()
    barrier()
    if t == 0:
        last[0] = Atomic.fetch_add(count, 1)
    barrier()
    if last[0] == grid_dim.x - 1 and t == 0:
        fence()
        x[0] = total_of(part, 256)


@kernel
def released_and_acquired(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        part[block_idx.x] = total_of(x + 64 * block_idx.x, 64)
        if Atomic.fetch_add(count, 1, ordering="acq_rel") == grid_dim.x - 1:
            x[0] = total_of(part, 4)


@kernel
def one_after_the_other(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        mine = total_of(x + 64 * block_idx.x, 64)
        while Atomic.load(count, ordering="acquire") != block_idx.x:
            pass
        part[0] = part[0] + mine
        if block_idx.x == 3:
            x[0] = part[0]
        Atomic.store(count, Int32(block_idx.x + 1), ordering="release")


@kernel
def locked(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    taken = False
    while not taken:
        taken = Atomic.compare_exchange(count, 0, 1)[1]
    fence()
    part[0] = part[0] + x[global_idx.x]
    if global_idx.x == 255:
        x[0] = part[0]
    fence()
    Atomic.exchange(count, 0)


@kernel
def locked_in_the_block(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    lock = stack_allocation(Int32, 1, address_space=SHARED)
    mine = stack_allocation(Float32, 1, address_space=SHARED)
    if thread_idx.x == 0:
        lock[0] = 0
        mine[0] = 0.0
    barrier()
    while Atomic.exchange(lock, 1, ordering="acquire") != 0:
        pass
    mine[0] = mine[0] + x[global_idx.x]
    Atomic.store(lock, 0, ordering="release")
    barrier()
    if thread_idx.x == 0:
        Atomic.fetch_add(part, mine[0])
        fence()
        if Atomic.fetch_add(count, 1) == 3:
            fence()
            x[0] = Atomic.load(part)


RIGHT = [last_block, released_and_acquired, one_after_the_other, locked, locked_in_the_block]


# The same, with one fault each.


@kernel
def no_fence(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    last = stack_allocation(Int32, 1, address_space=SHARED)
    t = thread_idx.x
    part[global_idx.x] = x[global_idx.x]  #!
    barrier()
    if t == 0:
        last[0] = Atomic.fetch_add(count, 1)
    barrier()
    if last[0] == grid_dim.x - 1:
        fence()
        x[t] = part[t]  #!


@kernel
def no_barrier_before_release(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    last = stack_allocation(Int32, 1, address_space=SHARED)
    t = thread_idx.x
    part[global_idx.x] = x[global_idx.x]  #!
    if t == 0:
        last[0] = Atomic.fetch_add(count, 1, ordering="acq_rel")
    barrier()
    if last[0] == grid_dim.x - 1:
        x[global_idx.x] = part[t]  #!


@kernel
def no_barrier_after_acquire(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    t = thread_idx.x
    if t == 0:
        part[block_idx.x] = 1.0  #!
        Atomic.fetch_add(count, 1, ordering="acq_rel")
    if block_idx.x == 3 and t > 0:
        x[global_idx.x] = part[0]  #!


@kernel
def relaxed(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        part[block_idx.x] = total_of(x + 64 * block_idx.x, 64)  #!
        if Atomic.fetch_add(count, 1) == grid_dim.x - 1:
            x[255] = part[0]  #!


@kernel
def fence_too_late(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        part[block_idx.x] = 1.0  #!
        ready = Atomic.fetch_add(count, 1)
        fence()
        if ready == grid_dim.x - 1:
            x[255] = part[0]  #!


@kernel
def flag_is_not_atomic(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        if block_idx.x == 0:
            fence()
            count[0] = 1  #!
        elif block_idx.x == 1:
            if count[0] == 1:  #!
                x[64] = 0.0


@kernel
def lock_left_too_early(x: Pointer[Float32], part: Pointer[Float32], count: Pointer[Int32]):
    if thread_idx.x == 0:
        while Atomic.exchange(count, 1) != 0:
            pass
        Atomic.exchange(count, 0)
        part[0] = part[0] + x[global_idx.x]  #!


WRONG = [
    no_fence,
    no_barrier_before_release,
    no_barrier_after_acquire,
    relaxed,
    fence_too_late,
    flag_is_not_atomic,
    lock_left_too_early,
]


@pytest.fixture(scope="module")
def ctx() -> DeviceContext:
    return DeviceContext(api="cpu", checked=True)


def arguments() -> tuple[Any, Any, Any]:
    return np.arange(256, dtype=np.float32), np.zeros(256, np.float32), np.zeros(1, np.int32)


@pytest.mark.parametrize("program", RIGHT, ids=lambda k: k.__name__)
def test_what_is_handed_over_is_in_order(ctx: DeviceContext, program: Any) -> None:
    x, part, count = arguments()
    assert found(ctx, program, x, part, count, grid=4) == []
    assert x[0] == 255 * 128


@pytest.mark.parametrize("program", WRONG, ids=lambda k: k.__name__)
def test_what_is_not_is_a_race(ctx: DeviceContext, program: Any) -> None:
    reports = found(ctx, program, *arguments(), grid=4)
    assert [report.code for report in reports] == ["data-race"] * len(reports)
    assert marked(program) in [report.lines for report in reports], reports
