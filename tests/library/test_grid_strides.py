"""Loops with the grid's stride, of which a CPU does several blocks and several rounds at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int32, Pointer, UInt8, UInt32, kernel
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.lang import no_contraction
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]


@kernel
def parts(a: Pointer[Float32], sums: Pointer[Float32], places: Pointer[Int32], n: Int, scale: Float32):
    """What each thread adds up is rounded in its own order; what follows knows thread and block."""
    shared = stack_allocation(Float32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    mine, first = Float32(0.0), scale * Float32(i)
    with no_contraction():
        for k in range(i, n, block_dim.x * grid_dim.x):
            mine = mine * scale + a[k]
    shared[t] = mine
    barrier()
    with no_contraction():
        sums[i] = shared[block_dim.x - 1 - t] + first
    places[i] = Int32(1000 * block_idx.x + t)


@pytest.mark.parametrize(("n", "grid", "block"), [(0, 3, 32), (70, 2, 64), (9000, 7, 48), (70000, 150, 64)])
def test_what_threads_keep_of_a_loop(launch: Launch, n: int, grid: int, block: int) -> None:
    scale, a = np.float32(0.75), np.random.default_rng(n).uniform(-1, 1, n).astype(np.float32)
    threads = grid * block
    mine = np.zeros(threads, np.float32)
    for start in range(0, n, threads):
        row = a[start : start + threads]
        mine[: row.size] = mine[: row.size] * scale + row
    index = np.arange(threads)
    expected = mine.reshape(grid, block)[:, ::-1].reshape(-1) + scale * index.astype(np.float32)
    given = a, np.zeros(threads, np.float32), np.zeros(threads, np.int32)
    _, sums, places = launch(parts, *given, n, 0.75, grid_dim=grid, block_dim=block)
    assert np.array_equal(sums, expected)
    assert np.array_equal(places, 1000 * (index // block) + index % block)


@kernel
def doubled(a: Pointer[Int32], out: Pointer[Int32], n: Int):
    for i in range(global_idx.x, n, grid_dim.x * block_dim.x):
        out[i] = 2 * a[i] + Int32(grid_dim.x)


@pytest.mark.parametrize(("n", "grid", "block"), [(1, 4, 16), (5000, 4, 32), (5001, 99, 25), (8192, 3, 1024)])
def test_a_loop_that_is_all(launch: Launch, n: int, grid: int, block: int) -> None:
    a = np.arange(n, dtype=np.int32)
    _, out = launch(doubled, a, np.zeros(n + 8, np.int32), n, grid_dim=grid, block_dim=block)
    assert np.array_equal(out, np.concatenate([2 * a + grid, np.zeros(8, np.int32)]))


@kernel
def by_block(a: Pointer[Int32], out: Pointer[Int32], n: Int):
    """The rounds ask for the block, so each block goes alone."""
    total = Int32(0)
    for i in range(global_idx.x, n, grid_dim.x * block_dim.x):
        total += a[i] * Int32(block_idx.x + 1)
    out[global_idx.x] = total


def test_rounds_that_know_their_block(launch: Launch) -> None:
    n, grid, block = 3001, 5, 16
    a, threads = np.arange(n, dtype=np.int32) % 7, grid * block
    rows = np.concatenate([a, np.zeros(-n % threads, np.int32)]).reshape(-1, threads)
    expected = rows.sum(0, dtype=np.int32) * (np.arange(threads, dtype=np.int32) // block + 1)
    _, out = launch(by_block, a, np.zeros(threads, np.int32), n, grid_dim=grid, block_dim=block)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(("fn", "side_by_side"), [(parts, True), (doubled, True), (by_block, False)])
def test_neighbouring_blocks_go_side_by_side(fn: Any, side_by_side: bool) -> None:
    text = str(compile_info(fn, target="x86-64", emission_kind="llvm"))
    assert ("udiv i64 16384" in text) is side_by_side


@kernel
def counted(values: Pointer[UInt8], counts: Pointer[UInt32], n: Int):
    """Each block has its own counters, so blocks go one behind the other."""
    shared = stack_allocation(UInt32, Layout.row_major(256), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    for k in range(t, 256, block_dim.x):
        shared[k] = 0
    barrier()
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        Atomic.fetch_add(shared.ptr + Int(values[i]), 1)
    barrier()
    for k in range(t, 256, block_dim.x):
        Atomic.fetch_add(counts + k, shared[k])


@pytest.mark.parametrize(("n", "grid", "block"), [(0, 3, 32), (100, 4, 64), (70001, 5, 48), (123456, 9, 256)])
def test_blocks_with_shared_memory_of_their_own(launch: Launch, n: int, grid: int, block: int) -> None:
    values = np.random.default_rng(n).integers(0, 256, n, np.uint8)
    _, counts = launch(counted, values, np.zeros(256, np.uint32), n, grid_dim=grid, block_dim=block)
    assert np.array_equal(counts, np.bincount(values, minlength=256))


@pytest.mark.parametrize(("fn", "asks"), [(counted, True), (parts, False), (doubled, False)])
def test_memory_of_later_rounds_is_asked_for_where_blocks_go_alone(fn: Any, asks: bool) -> None:
    text = str(compile_info(fn, target="x86-64", emission_kind="llvm"))
    assert ("call void @llvm.prefetch" in text) is asks


@kernel
def turned(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, Layout.row_major(256), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    if i < n:
        shared[t] = a[i]
    barrier()
    if i < n:
        out[i] = shared[min(block_dim.x, n - block_idx.x * block_dim.x) - 1 - t]


@kernel
def turned_of_a_quotient(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    """No other block may divide by what this one has found not to be zero."""
    shared = stack_allocation(Float32, Layout.row_major(256), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    if n != 0:
        shared[t] = a[block_idx.x * (1024 // n) + t]
    barrier()
    if n != 0:
        out[block_idx.x * (1024 // n) + t] = shared[block_dim.x - 1 - t]


@kernel
def turned_in_place(a: Pointer[Float32]):
    """Every block has the same memory."""
    shared = stack_allocation(Float32, Layout.row_major(256), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    shared[t] = a[t]
    barrier()
    a[t] = shared[block_dim.x - 1 - t]


@pytest.mark.parametrize(
    ("fn", "requests"), [(turned, 2), (turned_of_a_quotient, 0), (turned_in_place, 0), (doubled, 0)]
)
def test_memory_of_the_next_block_is_asked_for_where_threads_meet(fn: Any, requests: int) -> None:
    text = str(compile_info(fn, target="x86-64", emission_kind="llvm"))
    assert text.count("call void @llvm.prefetch") == requests


@pytest.mark.parametrize(("n", "grid", "block"), [(1, 1, 32), (100, 4, 32), (4096, 16, 256), (5003, 51, 100)])
def test_the_last_block_has_no_next(launch: Launch, n: int, grid: int, block: int) -> None:
    a = np.arange(n, dtype=np.float32)
    _, out = launch(turned, a, np.zeros(n + 8, np.float32), n, grid_dim=grid, block_dim=block)
    expected = [a[k : k + block][::-1] for k in range(0, n, block)]
    assert np.array_equal(out, np.concatenate([*expected, np.zeros(8, np.float32)]))
