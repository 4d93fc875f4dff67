"""Loops that never find what they look for outside of memory: their threads are ended, and both are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planted import found, marked
from weft import Int, Int32, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation


@kernel
def in_the_condition(x: Pointer[Int32], out: Pointer[Int32]):
    i = 0
    while x[i] != 7:  #!
        i += 1
    out[0] = Int32(i)


@kernel
def in_a_loop_that_only_breaks(x: Pointer[Int32], out: Pointer[Int32]):
    i = global_idx.x % 64
    while True:  #!
        if x[i] == 7:  #!
            break
        i += 1
    out[global_idx.x] = Int32(i)


@kernel
def before_the_loop(x: Pointer[Int32], out: Pointer[Int32]):
    last, k = x[100 + thread_idx.x], Int32(1)  #!
    while k != last:  #!
        k += 2
    out[thread_idx.x] = k


@kernel
def later_in_a_loop_around(x: Pointer[Int32], out: Pointer[Int32]):
    step = Int32(2)
    for i in range(63, 66):
        k = Int32(0)
        while k < 6:  #!
            k += step
        step = x[i] * 2  #!
        out[0] = step


@kernel
def between_barriers(x: Pointer[Int32], out: Pointer[Int32]):
    ours = stack_allocation(Int32, 32, address_space=AddressSpace.SHARED)
    n, going = 0, Int32(1)
    while going == 1:  #!
        ours[thread_idx.x] = Int32(n)
        barrier()
        going = 1 - x[n] // 7  #!
        n += 1
        barrier()
    out[thread_idx.x] = ours[31 - thread_idx.x]


@pytest.mark.parametrize(
    ("program", "grid", "block"),
    [
        (in_the_condition, 1, 1),
        (in_a_loop_that_only_breaks, 512, 64),
        (before_the_loop, 3, 32),
        (later_in_a_loop_around, 1, 1),
        (between_barriers, 2, 32),
    ],
)
@pytest.mark.parametrize("checks", [True, {"bounds"}])
def test_the_thread_is_ended(device: DeviceContext, program: Any, grid: int, block: int, checks: Any) -> None:
    if program is between_barriers and device.api != "cpu":
        pytest.skip("takes a GPU seconds")
    with DeviceContext(api=device.api, checked=checks) as ctx:
        x = ctx.enqueue_create_buffer(Int32, 64)
        x.enqueue_fill(1)
        out = ctx.enqueue_create_buffer(Int32, grid * block)
        out.enqueue_fill(0)
        each = found(ctx, program, x, out, grid=grid, block=block)
        assert {one.code for one in each} - {"data-race"} == {"endless-loop", "out-of-bounds"}
        told = [one for one in each if one.code != "data-race"]
        assert frozenset().union(*(one.lines for one in told)) == marked(program)


@kernel
def sums(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    i, total = 0, Int32(0)
    while i < n:
        total += x[i - 1]
        i += 1
    out[0] = total


def test_a_long_loop_goes_on(device: DeviceContext) -> None:
    """Its first access is outside, and it ends by itself."""
    n = 3_000_000
    with DeviceContext(api=device.api, checked={"bounds"}) as ctx:
        x = ctx.enqueue_create_buffer(Int32, n)
        x.enqueue_fill(1)
        out = ctx.enqueue_create_buffer(Int32, 1)
        each = found(ctx, sums, x, out, n, grid=1, block=1)
        assert [one.code for one in each] == ["out-of-bounds"]
        with out.map_to_host() as host:
            assert np.array(host)[0] == n - 1


@kernel
def hands_over(x: Pointer[Int32], flag: Pointer[Int32], out: Pointer[Int32], n: Int):
    if block_idx.x == 1:
        out[1] = x[64]
        while Atomic.load(flag, ordering="acquire") == 0:
            pass
        out[1] = 7
    else:
        value = Int32(1)
        for i in range(n):
            value = value * 1664525 + x[i % 64]
        out[0] = value
        Atomic.store(flag, 1, ordering="release")


def test_a_thread_may_wait_for_long() -> None:
    """One that has made an access outside goes on when what it waits for has come."""
    with DeviceContext(api="cpu", checked={"bounds"}, threads=2) as ctx:
        x, flag, out = (ctx.enqueue_create_buffer(Int32, size) for size in (64, 1, 2))
        for each in (x, flag, out):
            each.enqueue_fill(0)
        each = found(ctx, hands_over, x, flag, out, 200_000_000, grid=2, block=1)
        assert [one.code for one in each] == ["out-of-bounds"]
        with out.map_to_host() as host:
            assert np.array(host)[1] == 7
