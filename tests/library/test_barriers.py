"""Kernels whose threads wait for each other, against NumPy on the CPU, and compiled for NVIDIA."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Comptime, Float32, Int, Int32, Pointer, UInt32, func, kernel, unroll
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.math import exp
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]
SHARED = AddressSpace.SHARED
RNG = np.random.default_rng(7)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


# -- a tiled matrix product -----------------------------------------------------------------------


@kernel
def matmul(
    a: LayoutTensor[Float32], b: LayoutTensor[Float32], c: LayoutTensor[Float32], *, size: Comptime[int]
):
    left = stack_allocation(Float32, Layout.row_major(size, size), address_space=SHARED)
    right = stack_allocation(Float32, Layout.row_major(size, size), address_space=SHARED)
    row, col = thread_idx.y, thread_idx.x
    total = 0.0
    for step in range(a.dim(1) // size):
        left[row, col] = a.tile[size, size](block_idx.y, step)[row, col]
        right[row, col] = b.tile[size, size](step, block_idx.x)[row, col]
        barrier()
        for k in range(size):
            total += left[row, k] * right[k, col]
        barrier()
    c[block_idx.y * size + row, block_idx.x * size + col] = total


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("size", [4, 8])
def test_matmul(launch: Launch, ptx: Ptx, size: int, dynamic: bool) -> None:
    a, b, c = floats(16, 24), floats(24, 32), floats(16, 32)
    options: dict[str, Any] = {"size": size, "dynamic": dynamic}
    grid = (32 // size, 16 // size)
    found = launch(matmul, a, b, c, grid_dim=grid, block_dim=(size, size), **options)[2]
    np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-5)
    code = ptx(matmul, a, b, c, **options)
    assert code.count("bar.sync") + code.count("barrier") >= 2
    assert ".shared" in code


# -- reductions -----------------------------------------------------------------------------------


@kernel
def sum_blocks(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, threads: Comptime[int]):
    part = stack_allocation(Float32, threads, address_space=SHARED)
    t = thread_idx.x
    i = block_idx.x * threads + t
    part[t] = x[i] if i < n else 0.0
    barrier()
    width = threads // 2
    while width > 0:
        if t < width:
            part[t] += part[t + width]
        barrier()
        width //= 2
    if t == 0:
        out[block_idx.x] = part[0]


@pytest.fixture(scope="module")
def sums(cpu: Any) -> Callable[..., npt.NDArray[np.float32]]:
    def run(x: npt.NDArray[np.float32], blocks: int, threads: int) -> Any:
        data, out = cpu.enqueue_create_buffer(Float32, x.size), cpu.enqueue_create_buffer(Float32, blocks)
        cpu.enqueue_copy(dst=data, src=x)
        cpu.enqueue_function(
            sum_blocks, data, out, x.size, threads=threads, grid_dim=blocks, block_dim=threads
        )
        with out.map_to_host() as host:
            return host.numpy().copy()

    return run


@given(n=st.integers(1, 300), threads=st.sampled_from([1, 2, 32, 64]))
@settings(max_examples=30)
def test_block_sums(sums: Any, n: int, threads: int) -> None:
    blocks = -(-n // threads)
    x = floats(n)
    padded = np.pad(x, (0, blocks * threads - n)).reshape(blocks, threads)
    np.testing.assert_allclose(sums(x, blocks, threads), padded.sum(1), rtol=1e-4, atol=1e-5)


@func
def reduce_in_shared(part: LayoutTensor[Float32], t: Int, *, threads: Comptime[int]) -> Float32:
    """Waits at barriers in a helper, inside a loop that is unrolled."""
    width = threads // 2
    for _ in unroll(range(threads.bit_length() - 1)):
        barrier()
        if t < width:
            part[t] += part[t + width]
        width //= 2
    barrier()
    return part[0]


@kernel
def softmax(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, threads: Comptime[int]):
    row, t, columns = block_idx.x, thread_idx.x, x.dim(1)
    part = stack_allocation(Float32, Layout.row_major(threads), address_space=SHARED)
    largest = Float32(-3e38)
    for column in range(t, columns, threads):
        largest = max(largest, x[row, column])
    part[t] = largest
    width = threads // 2
    while width > 0:
        barrier()
        if t < width:
            part[t] = max(part[t], part[t + width])
        width = width // 2
    barrier()
    largest = part[0]
    barrier()
    total = Float32(0.0)
    for column in range(t, columns, threads):
        total += exp(x[row, column] - largest)
    part[t] = total
    total = reduce_in_shared(part, t, threads=threads)
    for column in range(t, columns, threads):
        out[row, column] = exp(x[row, column] - largest) / total


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(3, 50), (5, 16), (2, 7)])
def test_softmax(launch: Launch, ptx: Ptx, shape: tuple[int, int], dynamic: bool) -> None:
    x, out = floats(*shape), floats(*shape)
    found = launch(softmax, x, out, threads=16, dynamic=dynamic, grid_dim=shape[0], block_dim=16)[1]
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=1e-5)
    text = ptx(softmax, x, out, threads=16, dynamic=dynamic)
    assert ".shared" in text
    # one for each of the program: threads of a warp that part must not wait at copies of one
    assert len(re.findall(r"bar(?:rier)?(?:\.cta)?\.sync", text)) == 11


# -- control flow around barriers -------------------------------------------------------------------


@kernel
def leave_early(x: LayoutTensor[Float32], out: LayoutTensor[Float32], live: Int):
    """Threads that have returned are not waited for, and do nothing more."""
    part = stack_allocation(Float32, Layout.row_major(64), address_space=SHARED)
    t = thread_idx.x
    if t >= live:
        return
    kept = x[t] * 2.0
    part[t] = kept
    barrier()
    out[t] = part[live - 1 - t] + kept


@pytest.mark.parametrize("live", [0, 1, 5, 16])
def test_early_return(launch: Launch, ptx: Ptx, live: int) -> None:
    x, out = floats(16), floats(16)
    found = launch(leave_early, x, out, live, grid_dim=2, block_dim=16)[1]
    expected = out.copy()
    expected[:live] = 2 * x[:live][::-1] + 2 * x[:live]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    ptx(leave_early, x, out, live)


@kernel
def leave_in_loop(out: LayoutTensor[Int32]):
    """A loop with a barrier that threads leave one by one."""
    t = Int32(thread_idx.x)
    rounds = 0
    while True:
        barrier()
        rounds += 1
        out[thread_idx.x] = rounds
        if rounds > t:
            return


def test_return_from_a_loop(launch: Launch) -> None:
    out = np.zeros(13, np.int32)
    assert launch(leave_in_loop, out, grid_dim=1, block_dim=13)[0].tolist() == list(range(1, 14))


@kernel
def uniform_if(x: LayoutTensor[Int32], out: LayoutTensor[Int32], turn: Int):
    part = stack_allocation(Int32, Layout.row_major(32), address_space=SHARED)
    t = thread_idx.x
    value = x[t]
    part[t] = value
    if turn > 0 and x[0] >= 0:
        barrier()
        value = part[(t + turn) % block_dim.x]
        if turn > 5:
            value = -value
    else:
        value += 100
    out[t] = value


@pytest.mark.parametrize("turn", [-1, 3, 7])
def test_barrier_in_an_if(launch: Launch, ptx: Ptx, turn: int) -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    found = launch(uniform_if, x, out, turn, grid_dim=1, block_dim=32)[1]
    expected = np.roll(x, -turn) * (-1 if turn > 5 else 1) if turn > 0 else x + 100
    assert found.tolist() == expected.tolist()
    ptx(uniform_if, x, out, turn)


@kernel
def scan(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Inclusive prefix sums: values live across barriers in a loop, and the loop ends by `break`."""
    part = stack_allocation(Int32, Layout.row_major(2, 64), address_space=SHARED)
    t = thread_idx.x
    part[0, t] = x[t]
    source, distance = 0, 1
    while True:
        barrier()
        if distance >= block_dim.x:
            break
        mine = part[source, t]
        if t >= distance:
            mine += part[source, t - distance]
        source = 1 - source
        part[source, t] = mine
        distance *= 2
    out[t] = part[source, t]


@pytest.mark.parametrize("n", [1, 2, 37, 64])
def test_scan(launch: Launch, ptx: Ptx, n: int) -> None:
    x, out = RNG.integers(-9, 9, n).astype(np.int32), np.zeros(n, np.int32)
    assert launch(scan, x, out, grid_dim=1, block_dim=n)[1].tolist() == np.cumsum(x).tolist()
    ptx(scan, x, out)


@kernel
def continue_in_loop(out: LayoutTensor[Int32], n: Int):
    part = stack_allocation(Int32, Layout.row_major(8), address_space=SHARED)
    t = thread_idx.x
    mine = Int32(t)
    for i in range(n):
        if i % 2 == 1:
            continue
        part[t] = mine
        barrier()
        mine += part[(t + 1) % 8]
        barrier()
        if i == 6:
            break
    out[t] = mine


def test_continue_and_break(launch: Launch, ptx: Ptx) -> None:
    out = np.zeros(8, np.int32)
    expected = np.arange(8)
    for _ in range(4):
        expected += np.roll(expected, -1)
    assert launch(continue_in_loop, out, 100, grid_dim=3, block_dim=8)[0].tolist() == expected.tolist()
    ptx(continue_in_loop, out, 100)


@func
def exchange(part: LayoutTensor[Int32], value: Int32, t: Int, by: Int) -> Int32:
    part[t] = value
    barrier()
    other = part[(t + by) % block_dim.x]
    barrier()
    return other


@func
def twice(part: LayoutTensor[Int32], value: Int32, t: Int) -> tuple[Int32, Int32]:
    first = exchange(part, value, t, Int(1))
    return first, exchange(part, first, t, Int(1))


@func
def same(value: Int32) -> Int32:
    barrier()
    return value


@kernel
def helpers(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    part = stack_allocation(Int32, Layout.row_major(32), address_space=SHARED)
    t = thread_idx.x
    a, b = twice(part, x[t], t)
    for i in range(2):
        b = exchange(part, b, t, Int(i))
    c = same(same(a))
    out[t] = a * 1000 + b + same(c) * 1000000


def test_barriers_in_helpers(launch: Launch, ptx: Ptx) -> None:
    x, out = np.arange(20, dtype=np.int32), np.zeros(20, np.int32)
    found = launch(helpers, x, out, grid_dim=1, block_dim=20)[1]
    a, b = np.roll(x, -1), np.roll(x, -3)
    assert found.tolist() == (a * 1000 + b + a * 1000000).tolist()
    ptx(helpers, x, out)


@kernel
def local_arrays(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Each thread's own array lives across a barrier; three dimensions of threads."""
    part = stack_allocation(Int32, Layout.row_major(4, 3, 2), address_space=SHARED)
    mine = stack_allocation(Int32, Layout.row_major(5))
    i, j, k = thread_idx.z, thread_idx.y, thread_idx.x
    for n in range(5):
        mine[n] = x[i, j, k] * Int32(n)
    part[i, j, k] = mine[Int(x[i, j, k]) % 5]
    barrier()
    total = Int32(0)
    for n in range(5):
        total += mine[n]
    out[i, j, k] = total + part[3 - i, 2 - j, 1 - k]


def test_local_arrays_across_barriers(launch: Launch, ptx: Ptx) -> None:
    x = RNG.integers(0, 50, (4, 3, 2)).astype(np.int32)
    found = launch(local_arrays, x, np.zeros_like(x), grid_dim=3, block_dim=(2, 3, 4))[1]
    expected = x * 10 + (x * (x % 5))[::-1, ::-1, ::-1]
    assert found.tolist() == expected.tolist()
    ptx(local_arrays, x, np.zeros_like(x))


@kernel
def vectors_across(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """SIMD values and Bools that live across a barrier."""
    t = thread_idx.x
    four = x.load(t, 0, width=4)
    large = four > 0.0
    any_large = x[t, 0] > 0.5
    barrier()
    picked = large.select(four, -four)
    if any_large:
        picked += 1.0
    out.store(t, 0, value=picked)


def test_vectors_across_barriers(launch: Launch, ptx: Ptx) -> None:
    x = floats(17, 4)
    found = launch(vectors_across, x, np.zeros_like(x), grid_dim=1, block_dim=17)[1]
    np.testing.assert_allclose(found, np.abs(x) + (x[:, :1] > 0.5), rtol=1e-6)
    code = ptx(vectors_across, x, np.zeros_like(x))
    assert "v4.f32" in code or "v4.b32" in code


@kernel
def grid_histogram(x: LayoutTensor[Int32], counts: LayoutTensor[Int32], *, bins: Comptime[int]):
    """A histogram in shared memory, then added to the whole."""
    part = stack_allocation(Int32, Layout.row_major(bins), address_space=SHARED)
    t = thread_idx.x
    for i in range(t, bins, block_dim.x):
        part[i] = 0
    barrier()
    for i in range(block_idx.x * block_dim.x + t, x.dim(0), block_dim.x * grid_dim.x):
        Atomic.fetch_add(part.address(x[i] % bins), 1)
    barrier()
    for i in range(t, bins, block_dim.x):
        Atomic.fetch_add(counts.address(i), part[i])


@pytest.mark.parametrize("dynamic", [False, True])
def test_histogram(launch: Launch, ptx: Ptx, dynamic: bool) -> None:
    x, counts = RNG.integers(0, 1000, 5000).astype(np.int32), np.zeros(40, np.int32)
    options: dict[str, Any] = {"bins": 40, "dynamic": dynamic}
    found = launch(grid_histogram, x, counts, grid_dim=7, block_dim=32, **options)[1]
    assert found.tolist() == np.bincount(x % 40, minlength=40).tolist()
    code = ptx(grid_histogram, x, counts, **options)
    assert "atom.shared.add" in code or "red.shared.add" in code


@kernel
def over_the_edge(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    t = block_idx.x * block_dim.x + thread_idx.x
    mine = x[t]
    barrier()
    out[t] = mine + 1


def test_over(launch: Launch) -> None:
    x = np.arange(1001, dtype=np.int32)
    assert launch(over_the_edge, x, np.zeros_like(x), over=1001)[1].tolist() == (x + 1).tolist()


# -- random control flow ------------------------------------------------------------------------------


@given(
    n=st.integers(1, 40),
    rounds=st.integers(0, 6),
    stop=st.integers(0, 40),
    skip=st.integers(1, 4),
)
@settings(max_examples=40)
def test_rounds(launch: Launch, n: int, rounds: int, stop: int, skip: int) -> None:
    x = RNG.integers(-50, 50, n).astype(np.int32)
    found = launch(play, x, np.zeros_like(x), rounds, stop, skip, grid_dim=1, block_dim=n)[1]
    assert found.tolist() == played(x, rounds, stop, skip).tolist()


@kernel
def play(x: LayoutTensor[Int32], out: LayoutTensor[Int32], rounds: Int, stop: Int, skip: Int):
    part = stack_allocation(Int32, Layout.row_major(64), address_space=SHARED)
    t, n = thread_idx.x, block_dim.x
    part[t] = x[t]
    total, last = Int32(0), x[t]
    for i in range(rounds):
        barrier()
        left = part[(t + 1) % n]
        barrier()
        if i % skip == 0:
            part[t] = left + Int32(i)
            if left > 0:
                total += left
            elif t >= stop:
                total -= 1
        else:
            for j in range(2):
                barrier()
                last = part[(t + j) % n]  # weft: ignore[index-division]
                barrier()
                part[t] = last - total if t < stop else last
                barrier()
    out[t] = total * 7 + last + part[t]


def played(x: npt.NDArray[np.int32], rounds: int, stop: int, skip: int) -> npt.NDArray[np.int32]:
    t = np.arange(x.size)
    part: npt.NDArray[np.int32] = x.copy()
    total: npt.NDArray[np.int32] = np.zeros_like(x)
    last: npt.NDArray[np.int32] = x.copy()
    for i in range(rounds):
        left = np.roll(part, -1)
        if i % skip == 0:
            part = left + np.int32(i)
            total = np.where(left > 0, total + left, np.where(t >= stop, total - 1, total))
        else:
            for j in range(2):
                last = np.roll(part, -j)
                part = np.where(t < stop, last - total, last)
    return total * 7 + last + part


@kernel
def squares(x: Pointer[UInt32]):
    value = x[thread_idx.x]
    tile = stack_allocation(UInt32, 32, address_space=AddressSpace.SHARED)
    power = UInt32(thread_idx.x)
    for _ in unroll(range(60)):
        power = power * power + power
    tile[thread_idx.x] = value
    barrier()
    x[thread_idx.x] = tile[31 - thread_idx.x] + power


def test_what_would_be_computed_anew_ever_more_often_is_kept(device: DeviceContext) -> None:
    """Squares of squares: 2^60 operations, were each made again for each that uses it."""
    buffer: Any = device.enqueue_create_buffer(UInt32, 32)
    given = np.arange(32, dtype=np.uint32) + 7
    device.enqueue_copy(dst=buffer, src=given)
    device.enqueue_function(squares, buffer, grid_dim=1, block_dim=32)
    found = np.empty(32, np.uint32)
    device.enqueue_copy(dst=found, src=buffer)
    device.synchronize()
    power = np.arange(32, dtype=np.uint32)
    for _ in range(60):
        power += power * power
    assert np.array_equal(found, given[::-1] + power)
