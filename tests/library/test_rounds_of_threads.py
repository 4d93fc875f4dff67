"""Loops that the threads of a block run together where they are loops: the same as each thread for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int32, Int64, Pointer, kernel
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, block, block_dim, block_idx, global_idx, grid_dim, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
BLOCK = 64


@kernel
def products(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    row, col = global_idx.y, global_idx.x
    if row < n and col < n:
        total = Float32(0.0)
        for k in range(n):
            total += a[row * n + k] * a[k * n + col]
        out[row * n + col] = total


@pytest.mark.parametrize("n", [1, 5, 16, 33])
def test_a_product_behind_a_guard(launch: Launch, n: int) -> None:
    a = np.random.default_rng(n).integers(-4, 5, (n, n)).astype(np.float32)
    grid = -(-n // 16), -(-n // 4)
    _, out = launch(products, a, np.zeros((n, n), np.float32), n, grid_dim=grid, block_dim=(16, 4))
    assert np.array_equal(out, a @ a)


@kernel
def jumps(a: Pointer[Int64], out: Pointer[Int64], n: Int, skipped: Int, last: Int):
    i = global_idx.x
    total, rounds = Int(0), Int(0)
    for k in range(n):
        if k == skipped:
            continue
        for j in range(3, n, 2):
            if j > last:
                break
            total += a[(k * n + j) * 8 + i % 8]
        if k == last:
            break
        rounds += 1
    if i % 3 == 0:
        return
    for k in range(n - 1, -1, -1):
        total = total * 3 + a[k * 8 + i % 8]
    out[i] = total * 100 + rounds


@pytest.mark.parametrize(("skipped", "last"), [(2, 9), (-1, 100), (40, 36)])
def test_jumps_that_all_take_and_a_return_that_some_do(launch: Launch, skipped: int, last: int) -> None:
    n, threads = 40, 50
    a = np.random.default_rng(3).integers(-9, 10, (n * n + n) * 8)
    expected = np.full(threads, -1)
    for i in range(threads):
        total = rounds = 0
        for k in range(n):
            if k == skipped:
                continue
            for j in range(3, n, 2):
                if j > last:
                    break
                total += int(a[(k * n + j) * 8 + i % 8])
            if k == last:
                break
            rounds += 1
        if i % 3 == 0:
            continue
        for k in range(n - 1, -1, -1):
            total = total * 3 + int(a[k * 8 + i % 8])
        expected[i] = (total * 100 + rounds + 2**63) % 2**64 - 2**63
    _, out = launch(jumps, a, np.full(threads, -1), n, skipped, last, grid_dim=2, block_dim=25)
    assert np.array_equal(out, expected)


@kernel
def strided(a: Pointer[Int32], out: Pointer[Int64], n: Int, from_: Int32):
    t = thread_idx.x
    seen, others = Int(0), Int(0)
    for i in range(from_ + t, n, block_dim.x):
        if a[i] % 5 == 0:
            continue
        seen = seen * 7 + a[i]
        for j in range(40):
            others += a[i] ^ j
    place = (thread_idx.y * block_dim.x + t) * 2
    out[place], out[place + 1] = seen, others


@pytest.mark.parametrize(("n", "start"), [(0, 0), (1, 0), (70, 0), (1000, 3), (64, 64), (200, -0), (10, 100)])
def test_threads_that_begin_behind_each_other(launch: Launch, n: int, start: int) -> None:
    a = np.random.default_rng(1).integers(-1000, 1000, max(n, 1)).astype(np.int32)
    expected = np.zeros((BLOCK, 2), np.int64)
    for t in range(BLOCK):
        seen = others = 0
        for i in range(start + t, n, BLOCK):
            if a[i] % 5 == 0:
                continue
            seen = (seen * 7 + int(a[i]) + 2**63) % 2**64 - 2**63
            others += sum(int(a[i]) ^ j for j in range(40))
        expected[t] = seen, others
    out = np.zeros((2, BLOCK, 2), np.int64)
    _, out = launch(strided, a, out, n, np.int32(start), grid_dim=1, block_dim=(BLOCK, 2))
    assert np.array_equal(out, np.stack([expected] * 2))


@kernel
def beside_warps(a: Pointer[Int64], out: Pointer[Int64], n: Int, rounds: Int):
    t = thread_idx.x
    seen = Int(0)
    for k in range(rounds):
        for i in range(t + k, n, block_dim.x):
            if a[i] % 5 == 0:
                continue
            seen = (seen * 7 + a[i]) % 10007
        seen = seen % 1009 + warp.shuffle_down(seen, 1)
    out[t] = seen + block.sum(seen)


@pytest.mark.parametrize(("n", "rounds"), [(0, 1), (1, 2), (70, 3), (1000, 2)])
def test_threads_whose_warps_meet_behind_such_a_loop(launch: Launch, n: int, rounds: int) -> None:
    a = np.random.default_rng(1).integers(-1000, 1000, max(n, 1))
    seen = np.zeros(BLOCK, np.int64)
    for k in range(rounds):
        for t in range(BLOCK):
            for i in range(t + k, n, BLOCK):
                if a[i] % 5 != 0:
                    seen[t] = (seen[t] * 7 + a[i]) % 10007
        lanes = seen.reshape(-1, 32)
        seen = (lanes % 1009 + np.concatenate([lanes[:, 1:], lanes[:, -1:]], 1)).ravel()
    _, out = launch(beside_warps, a, seen * 0, n, rounds, grid_dim=1, block_dim=BLOCK)
    assert np.array_equal(out, seen + seen.sum())


@kernel
def total(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    acc = 0.0
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        acc += a[i]
    acc = block.sum(acc)
    if thread_idx.x == 0:
        out[block_idx.x] = acc


def test_its_rounds_are_vectors_of_threads_there_too() -> None:
    text = str(compile_info(total, target="x86-64-v3", emission_kind="llvm-opt"))
    assert text.count("= load <") >= 4  # elements that lie side by side; else the warp's sum alone has one


@kernel
def counted(values: Pointer[Int32], counts: Pointer[Int32], n: Int):
    shared = stack_allocation(Int32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    shared[t] = 0
    barrier()
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        Atomic.fetch_add(shared.ptr + Int(values[i]), 1)
    barrier()
    Atomic.fetch_add(counts + t, shared[t])


@pytest.mark.parametrize("n", [0, 63, 100_003])
def test_counts_in_shared_memory(launch: Launch, n: int) -> None:
    values = np.random.default_rng(n).integers(0, BLOCK, max(n, 1)).astype(np.int32)
    expected = np.bincount(values[:n], minlength=BLOCK)
    _, counts = launch(counted, values, np.zeros(BLOCK, np.int32), n, grid_dim=5, block_dim=BLOCK)
    assert np.array_equal(counts, expected)


@kernel
def waves(out: Pointer[Int64], n: Int, step: Int):
    """A variable that all threads change alike, between others that each has for itself."""
    t = thread_idx.x
    phase, mine = Int(1), Int(t)
    while phase < n:
        if t % 2 == 0:
            mine += phase
        phase *= 3
        if t % 2 == 1:
            mine = mine * 2 + phase
        phase -= step
        for k in range(phase):
            mine ^= k * t
    out[block_idx.x * block_dim.x + t] = mine * 1000 + phase


def test_a_variable_that_all_change(launch: Launch) -> None:
    expected: list[int] = []
    for t in range(33):
        phase, mine = 1, t
        while phase < 100:
            if t % 2 == 0:
                mine += phase
            phase *= 3
            if t % 2 == 1:
                mine = mine * 2 + phase
            phase -= 1
            for k in range(phase):
                mine ^= k * t
        expected.append(mine * 1000 + phase)
    (out,) = launch(waves, np.zeros(66, np.int64), 100, 1, grid_dim=2, block_dim=33)
    assert out.tolist() == expected * 2


@kernel
def guarded_by_its_step(out: Pointer[Int64], n: Int, step: Int):
    i = global_idx.x
    if i < n:
        total, j = Int(0), Int(0)
        while j < 100:
            total += j * i
            j += step
        out[i] = total


def test_no_thread_is_left_to_end_the_loop(launch: Launch) -> None:
    (out,) = launch(guarded_by_its_step, np.zeros(4, np.int64), 0, 0, grid_dim=3, block_dim=8)
    assert not out.any()
    (out,) = launch(guarded_by_its_step, np.zeros(20, np.int64), 20, 7, grid_dim=3, block_dim=8)
    assert np.array_equal(out, np.arange(20) * sum(range(0, 100, 7)))


@kernel
def one_after_the_other(lock: Pointer[Int32], total: Pointer[Int64], n: Int):
    """A thread holds the lock while it loops, so the others cannot come to that loop with it."""
    while not Atomic.compare_exchange(lock, 0, 1, ordering="acquire")[1]:
        pass
    for k in range(n):
        total[0] += k
    Atomic.store(lock, 0, ordering="release")


def test_a_lock_around_a_loop(cpu: DeviceContext) -> None:
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    cpu.enqueue_function(one_after_the_other, lock, total, 100, grid_dim=4, block_dim=8)
    cpu.synchronize()
    assert total[0] == 4 * 8 * sum(range(100))


def test_nobody_comes_between_in_shared_memory() -> None:
    text = str(compile_info(counted, target="native", emission_kind="llvm"))
    updates = [line for line in text.splitlines() if "atomicrmw" in line]
    assert len(updates) == 2  # of the counts in global memory, and for the next blocks
