"""Helpers whose threads wait for each other and return early, against NumPy and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import CompileError, Int, Int32, func, kernel
from weft.gpu import barrier, block_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]
SHARED = AddressSpace.SHARED
RNG = np.random.default_rng(7)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


@func
def leaves_before_waiting(x: LayoutTensor[Int32], t: Int) -> Int32:
    if t > 3:
        return Int32(0)
    barrier()
    return x[t]


@kernel
def calls_it(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    out[thread_idx.x] = leaves_before_waiting(x, thread_idx.x)


def test_early_return_of_a_helper_with_a_barrier(cpu: DeviceContext, ptx: Ptx) -> None:
    x = np.arange(8, dtype=np.int32)
    tensor = cpu.enqueue_create_buffer(Int32, 8).tensor(Layout.row_major(8))
    with pytest.raises(CompileError, match="leaves_before_waiting returns here for some threads"):
        cpu.enqueue_function(calls_it, tensor, tensor, grid_dim=1, block_dim=8)
    ptx(calls_it, x, x)


@func
def sum_of_all(part: LayoutTensor[Int32], value: Int32, size: Int) -> Int32:
    """Nothing to add: all leave at once. The sum is the first thread's; others leave behind the barriers."""
    if size == 0:
        return Int32(-1)
    t = thread_idx.x
    part[t] = value
    barrier()
    step = size // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        barrier()
        step //= 2
    if t > 0:
        return Int32(t)
    return part[0]


@kernel
def three_sums(x: LayoutTensor[Int32], out: LayoutTensor[Int32], size: Int):
    part = stack_allocation(Int32, Layout.row_major(64), address_space=SHARED)
    t = thread_idx.x
    first = sum_of_all(part, x[t], size)
    barrier()
    for _ in range(2):
        first += sum_of_all(part, first, size) * 1000
        barrier()
    out[t] = first


@pytest.mark.parametrize("size", [0, 1, 2, 8, 32])
def test_a_helper_returns_before_and_behind_its_barriers(launch: Launch, ptx: Ptx, size: int) -> None:
    n = max(size, 1)
    x = RNG.integers(0, 9, n).astype(np.int32)
    value = x.astype(np.int64)

    def of(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if size == 0:
            return np.full(n, -1)
        return np.where(np.arange(n) > 0, np.arange(n), values.sum())

    value = of(value)
    for _ in range(2):
        value = value + of(value) * 1000
    assert (
        launch(three_sums, x, np.zeros_like(x), size, grid_dim=2, block_dim=n)[1].tolist()
        == value.astype(np.int32).tolist()
    )
    ptx(three_sums, x, x, size)


@func
def first_above(part: LayoutTensor[Int32], limit: Int, size: Int) -> Any:
    """Rounds of three; every round waits, and any of them may be the last for all."""
    for i in range(size):
        for j in range(3):
            barrier()
            seen = part[(i + j) % size]  # weft: ignore[index-division]
            if seen > limit:
                return i, seen
            if j == 2 and i == 5:
                break
        barrier()
        if thread_idx.x == 0:
            part[i] += 1
    return -1, Int32(0)


@kernel
def search(x: LayoutTensor[Int32], out: LayoutTensor[Int32], limit: Int):
    part = stack_allocation(Int32, Layout.row_major(64), address_space=SHARED)
    t = thread_idx.x
    part[t] = x[t]
    i, found = first_above(part, limit, block_dim.x)
    barrier()
    out[t] = Int32(i) * 1000 + found + part[t]


def searched(x: list[int], limit: int) -> list[int]:
    part, n = list(x), len(x)
    for i in range(n):
        for j in range(3):
            if part[(i + j) % n] > limit:
                return [i * 1000 + part[(i + j) % n] + p for p in part]
            if j == 2 and i == 5:
                break
        part[i] += 1
    return [-1000 + p for p in part]


@pytest.mark.parametrize("limit", [-1, 3, 6, 8, 9, 100])
@pytest.mark.parametrize("n", [3, 7, 12])
def test_a_helper_returns_from_loops_with_barriers(launch: Launch, ptx: Ptx, n: int, limit: int) -> None:
    x = RNG.integers(0, 10, n).astype(np.int32)
    found = launch(search, x, np.zeros_like(x), limit, grid_dim=1, block_dim=n)[1]
    assert found.tolist() == searched(x.tolist(), limit)
    ptx(search, x, x, limit)


@func
def forever(part: LayoutTensor[Int32], rounds: Int) -> Any:
    k = 0
    while True:
        barrier()
        part[thread_idx.x] += 1
        k += 1
        if k > rounds:
            return k


@func
def outer(part: LayoutTensor[Int32], rounds: Int) -> Any:
    """A helper that calls another, and both return early."""
    if rounds < 0:
        return rounds
    k = forever(part, rounds)
    barrier()
    if rounds == 1:
        return k * 10
    return k + forever(part, rounds * 0)


@kernel
def nested(out: LayoutTensor[Int32], rounds: Int):
    part = stack_allocation(Int32, Layout.row_major(64), address_space=SHARED)
    t = thread_idx.x
    part[t] = Int32(t)
    k = outer(part, rounds)
    out[t] = part[t] * 100 + Int32(k)


@pytest.mark.parametrize("rounds", [-2, 0, 1, 3])
def test_helpers_that_call_each_other_and_return_early(launch: Launch, ptx: Ptx, rounds: int) -> None:
    out = np.zeros(5, np.int32)
    times = 0 if rounds < 0 else rounds + 1 + (rounds != 1)
    k = rounds if rounds < 0 else (rounds + 1) * 10 if rounds == 1 else rounds + 2
    found = launch(nested, out, rounds, grid_dim=1, block_dim=5)[0]
    assert found.tolist() == [(t + times) * 100 + k for t in range(5)]
    ptx(nested, out, rounds)
