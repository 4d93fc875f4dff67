"""Variables and flags that threads keep where they meet, given something by some of them; beside NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int32, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

BLOCK = 64


@kernel
def greatest(a: Pointer[Int32], out: Pointer[Int32], rounds: Int, limit: Int32):
    """What the thread opposite has, the greatest of all rounds: how often it grew, and whether by much."""
    shared = stack_allocation(Int32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    best, times, far, even = Int32(0), Int(0), False, True
    for r in range(rounds):
        shared[t] = a[i * rounds + r]
        barrier()
        other = shared[BLOCK - 1 - t]
        if other > best:
            far = far or other - best > limit
            best = other
            if t % 3 != 0:
                times += 1
                even = not even
        barrier()
    out[i] = (
        best * 1000 + Int32(times * 10) + (Int32(4) if far else Int32(0)) + (Int32(2) if even else Int32(1))
    )


@pytest.mark.parametrize(("n", "rounds", "limit"), [(64, 1, 0), (192, 7, 20), (64, 40, 5)])
def test_the_greatest(n: int, rounds: int, limit: int) -> None:
    a = np.random.default_rng(n).integers(-50, 100, (n, rounds), np.int32)
    out = np.zeros(n, np.int32)
    run(greatest, a, out, rounds, np.int32(limit), grid=n // BLOCK, block=BLOCK)
    wanted: list[int] = []
    for i in range(n):
        t = i % BLOCK
        best, times, far, even = 0, 0, False, True
        for other in a[i - t + BLOCK - 1 - t].tolist():
            if other > best:
                far, best = far or other - best > limit, other
                times, even = (times + 1, not even) if t % 3 else (times, even)
        wanted.append(best * 1000 + times * 10 + 4 * far + (2 if even else 1))
    assert out.tolist() == wanted


@kernel
def some_leave(a: Pointer[Float32], out: Pointer[Float32], rounds: Int):
    """Threads that go on to the next round of a loop, or return, behind what they have given."""
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    total, negative = Float32(0.0), False
    for k in range(t, rounds * block_dim.x, block_dim.x):
        if a[k] < 0.0:
            negative = True
            continue
        total += a[k]
    out[i] = total
    if negative and t % 2 == 0:
        total = -total
        if t % 4 == 0:
            return
    shared[t] = total
    barrier()
    if not negative:
        total += shared[t ^ 1]
    barrier()
    out[i] = total


@pytest.mark.parametrize("rounds", [0, 1, 2, 9])
def test_who_leaves(rounds: int) -> None:
    a = np.random.default_rng(rounds).integers(-2, 12, (max(rounds, 1), BLOCK)).astype(np.float32)
    out = np.zeros(BLOCK, np.float32)
    run(some_leave, a, out, rounds, grid=1, block=BLOCK)
    t, rows = np.arange(BLOCK), a[:rounds]
    total: npt.NDArray[np.float32] = np.maximum(rows, 0).sum(0)
    negative = np.any(rows < 0, axis=0)
    left = negative & (t % 4 == 0)
    given: npt.NDArray[np.float32] = np.where(negative & (t % 2 == 0), -total, total)
    wanted = np.where(negative, given, given + np.where(left[t ^ 1], 0, given[t ^ 1]))
    kept = ~left & ~(~negative & left[t ^ 1])  # who reads what nobody wrote is not compared
    assert np.array_equal(out[left], total[left])
    assert np.array_equal(out[kept], wanted[kept])


@kernel
def flag_between(a: Pointer[Int32], out: Pointer[Int32]):
    """A flag from before a barrier to behind it, strip by strip."""
    shared = stack_allocation(Int32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = a[i]
    barrier()
    offset = 1
    while offset < BLOCK:
        odd = (shared[t - offset] if t >= offset else Int32(0)) % 2 == 1
        more = (shared[t - offset] if t >= offset else Int32(1)) > 3
        barrier()
        shared[t] += Int32(odd) * 2 - Int32(more)
        barrier()
        offset *= 2
    out[i] = shared[t]


def test_a_flag_between_strips() -> None:
    a = np.random.default_rng(0).integers(0, 9, 4 * BLOCK, np.int32)
    out = np.zeros_like(a)
    run(flag_between, a, out, grid=4, block=BLOCK)
    rows, offset = a.reshape(4, BLOCK).copy(), 1
    while offset < BLOCK:
        odd, more = np.zeros_like(rows), np.zeros_like(rows)
        odd[:, offset:] = rows[:, :-offset] % 2 == 1
        more[:, offset:] = rows[:, :-offset] > 3
        rows += 2 * odd - more
        offset *= 2
    assert np.array_equal(out.reshape(4, BLOCK), rows)


def test_flags_are_stored_as_vectors() -> None:
    text = str(compile_info(greatest, target="x86-64-v3", emission_kind="llvm-opt"))
    assert "store i1 " not in text
    assert re.search(r"store <\d+ x i8>", text)
    assert "llvm.masked.store" not in text


def run(kernel: Any, *args: Any, grid: int, block: int) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()
