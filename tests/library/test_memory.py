"""Local, shared and dynamic shared memory on the CPU; what is refused; and PTX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import CompileError, Float32, Float64, Int, Int32, Pointer, func, kernel, unroll
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]
SHARED = AddressSpace.SHARED


@kernel
def own_array(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Run-time indices into memory that every thread has for itself."""
    mine = stack_allocation(Int32, Layout.row_major(8))
    i = global_idx.x
    for n in range(8):
        mine[n] = x[i] * Int32(n)
    mine[Int(x[i]) % 8] += 1
    out[i] = mine[Int(x[i]) % 8]


def test_each_thread_has_its_own_array(launch: Launch, ptx: Ptx) -> None:
    x = np.random.default_rng(1).integers(0, 100, 256).astype(np.int32)
    found = launch(own_array, x, np.zeros_like(x), grid_dim=4, block_dim=64)[1]
    assert found.tolist() == (x * (x % 8) + 1).tolist()
    assert ".local" in ptx(own_array, x, x)


@kernel
def own_pointer(x: Pointer[Float64], n: Int):
    i = global_idx.x
    if i < n:
        mine = stack_allocation(Float64, 3)
        mine[0] = x[i]
        mine[1] = mine[0] * 2.0
        mine[2] = mine[0] + mine[1]
        x[i] = mine[2]


def test_pointer_to_local_memory(cpu: Any) -> None:
    buffer = cpu.enqueue_create_buffer(Float64, 10)
    buffer.enqueue_fill(2.0)
    cpu.enqueue_function(own_pointer, buffer, 9, grid_dim=2, block_dim=8)
    with buffer.map_to_host() as host:
        assert host.numpy().tolist() == [6.0] * 9 + [2.0]


@kernel
def wide_local(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Vectors in each thread's memory that lives across a barrier: every thread's part is aligned."""
    mine = stack_allocation(Float32, Layout.row_major(5, 4))
    small = stack_allocation(Float32, 3)
    t = thread_idx.x
    for n in range(5):
        mine.store(n, 0, value=x.load(t, 0, width=4))
    small[Int(x[t, 0]) % 3] = 1.0
    barrier()
    out.store(t, 0, value=mine.load(Int(x[t, 1]) % 5, 0, width=4) + small[Int(x[t, 0]) % 3])


def test_alignment_of_local_memory(launch: Launch, ptx: Ptx) -> None:
    x = np.random.default_rng(1).integers(0, 100, (33, 4)).astype(np.float32)
    found = launch(wide_local, x, np.zeros_like(x), grid_dim=1, block_dim=33)[1]
    assert found.tolist() == (x + 1).tolist()
    ptx(wide_local, x, x)


@func
def reversed_in_block(value: Float32, t: Int) -> Float32:
    part = stack_allocation(Float32, Layout.row_major(64), address_space=SHARED)
    part[t] = value
    barrier()
    return part[block_dim.x - 1 - t]


@kernel
def shared_in_helper(x: LayoutTensor[Float32]):
    i = block_idx.x * block_dim.x + thread_idx.x
    x[i] = reversed_in_block(x[i], thread_idx.x)


def test_shared_memory_in_a_helper(launch: Launch, ptx: Ptx) -> None:
    x = np.arange(96, dtype=np.float32)
    found = launch(shared_in_helper, x, grid_dim=3, block_dim=32)[0]
    assert found.tolist() == x.reshape(3, 32)[:, ::-1].reshape(-1).tolist()
    assert ".shared .align 16" in ptx(shared_in_helper, x)


@kernel
def dynamic(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    first = dynamic_shared_memory(Int32, 32)
    second = (first + 32).bitcast(Float64)
    grid = dynamic_shared_memory(Int32, Layout.row_major(8, 4), alignment=128)
    t = thread_idx.x
    grid[t // 4, t % 4] = x[t]
    second[t] = Float64(x[t]) * 0.5
    barrier()
    out[t] = first[31 - t] + Int32(second[t])


def test_dynamic_shared_memory(launch: Launch, ptx: Ptx) -> None:
    x = np.arange(0, 64, 2, dtype=np.int32)
    found = launch(dynamic, x, x, grid_dim=2, block_dim=32, shared_mem_bytes=32 * 12)[1]
    assert found.tolist() == (x[::-1] + x // 2).tolist()
    code = ptx(dynamic, x, x)
    assert ".extern .shared .align 128" in code


@kernel
def two_arrays(x: LayoutTensor[Float64]):
    a = stack_allocation(Float64, Layout.row_major(32, 100), address_space=SHARED)
    b = stack_allocation(Float64, Layout.row_major(64, 48), address_space=SHARED)
    a[0, 0] = x[0]
    b[0, 0] = x[0]


def test_limit_of_shared_memory(ptx: Ptx) -> None:
    x = np.zeros(1)
    with pytest.raises(
        CompileError, match=r"24576 bytes.*25600 bytes taken before.*sm_90 allows 49152"
    ) as info:
        ptx(two_arrays, x)
    text = str(info.value)
    assert "dynamic_shared_memory" in text
    assert "232448" in text
    ptx(two_arrays, x, target="x86-64")


@kernel
def much_dynamic(x: LayoutTensor[Float32]):
    a = dynamic_shared_memory(Float32, Layout.row_major(200, 128))
    a[0, 0] = x[0]


def test_limit_of_dynamic_shared_memory(ptx: Ptx) -> None:
    x = np.zeros(1, np.float32)
    with pytest.raises(CompileError, match=r"102400 bytes.*sm_86 allows 101376"):
        ptx(much_dynamic, x, target="sm_86")
    ptx(much_dynamic, x, target="sm_90")


@kernel
def run_time_size(x: LayoutTensor[Float32], n: Int):
    a = stack_allocation(Float32, Layout.row_major(n, 4))
    a[0, 0] = x[0]


@kernel
def in_global(x: LayoutTensor[Float32]):
    a = stack_allocation(Float32, 4, address_space=AddressSpace.GLOBAL)
    a[0] = x[0]


@kernel
def badly_aligned(x: LayoutTensor[Float32]):
    a = stack_allocation(Float32, 4, alignment=12)
    a[0] = x[0]


def test_what_cannot_be_allocated(ptx: Ptx) -> None:
    x = np.zeros(1, np.float32)
    with pytest.raises(CompileError, match="run-time extents"):
        ptx(run_time_size, x, 3)
    with pytest.raises(CompileError, match=r"SHARED or LOCAL"):
        ptx(in_global, x)
    with pytest.raises(CompileError, match="12 bytes are no alignment of float32"):
        ptx(badly_aligned, x)


# -- more than a stack holds ------------------------------------------------------------------------


@kernel
def large_across_barriers(out: LayoutTensor[Int], n: Int):
    """16 KiB for each of 1024 threads live across a barrier: twice what a thread's stack has on Linux."""
    mine = stack_allocation(Int, Layout.row_major(2048))
    t = thread_idx.x
    for i in range(2048):
        mine[i] = i * t
    barrier()
    total = Int(0)
    for i in range(n):
        total += mine[(i * 7) % 2048]
    out[global_idx.x] = total


def test_arrays_of_all_threads_that_no_stack_holds(launch: Launch) -> None:
    n = 50
    found = launch(large_across_barriers, np.zeros(4096, np.int64), n, grid_dim=4, block_dim=1024)[0]
    picked = (np.arange(n) * 7 % 2048).sum()
    assert found.tolist() == (np.arange(4096) % 1024 * picked).tolist()


@func
def permuted(n: Int, k: Int) -> Any:
    """A helper with as much as a thread may have, and an early return."""
    mine = stack_allocation(Int32, Layout.row_major(131072))
    if n < 0:
        return Int32(-1)
    for i in range(n):
        mine[(i * k) % 131072] = Int32(i)
    return mine[(k * 3) % 131072]


@kernel
def large_in_helpers(out: LayoutTensor[Int32], n: Int):
    """A dozen of them come into one kernel."""
    i = global_idx.x
    total = Int32(0)
    for k in unroll(range(1, 25, 2)):
        total += permuted(n - i % 2 * 1000, k)
    out[i] = total


def test_arrays_of_helpers_that_no_stack_holds(cpu: Any) -> None:
    """For the CPU only: a GPU counts the helpers' memory together, and has too little."""
    out = cpu.enqueue_create_buffer(Int32, 8)
    cpu.enqueue_function(large_in_helpers, out.tensor(Layout(8)), 10, grid_dim=2, block_dim=4)
    with out.map_to_host() as host:
        assert list(host) == [3 * 12, -12] * 4


@kernel
def too_large(out: LayoutTensor[Int32]):
    first = stack_allocation(Int32, 100_000)
    second = stack_allocation(Int32, 40_000)
    first[0] = second[0] = 1
    out[0] = first[0]


def test_limit_of_local_memory(ptx: Ptx, cpu: Any) -> None:
    message = "160000 bytes for each thread, beside 400000 bytes taken before; one may have 524288"
    out = np.zeros(1, np.int32)
    with pytest.raises(CompileError, match=message):
        ptx(too_large, out)
    with pytest.raises(CompileError, match=message):
        cpu.enqueue_function(too_large, cpu.enqueue_create_buffer(Int32, 1).tensor(Layout(1)), over=1)
