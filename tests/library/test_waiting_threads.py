"""Threads of a block that wait for what later ones do: at barriers in memory and named ones, or in loops."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    SIMD,
    CompileError,
    Comptime,
    DeviceError,
    Float16,
    Float32,
    InlineArray,
    Int,
    Int32,
    Pointer,
    UInt32,
    UInt64,
    func,
    kernel,
    struct,
)
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.cluster import block_rank_in_cluster, cluster_sync, map_shared_rank
from weft.gpu.cooperative import grid_sync
from weft.gpu.host import DeviceContext
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.mma import mma
from weft.gpu.sync import named_barrier, named_barrier_arrive
from weft.memory import AddressSpace, stack_allocation

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
FOUR: Any = SIMD[Float32, 4]


@pytest.fixture(scope="module", params=["cpu", "interpreter", pytest.param("cuda", marks=pytest.mark.gpu)])
def ctx(request: pytest.FixtureRequest) -> DeviceContext:
    return DeviceContext(api=request.param)


def ran(ctx: DeviceContext, function: Any, *arrays: Array, **options: Any) -> list[Array]:
    """What a kernel makes of arrays."""
    buffers: list[Any] = []
    for array in arrays:
        buffers.append(ctx.enqueue_create_buffer(str(array.dtype), array.size))
        ctx.enqueue_copy(dst=buffers[-1], src=array.reshape(-1))
    ctx.enqueue_function(function, *buffers, **options)
    out: list[Array] = []
    for buffer, array in zip(buffers, arrays, strict=True):
        with buffer.map_to_host() as host:
            out.append(np.array(host, array.dtype).reshape(array.shape))
    return out


@kernel
def from_behind(out: Pointer[Int32], *, volatile: Comptime[bool]):
    """Each thread waits for the next one; the last one begins."""
    flags = stack_allocation(Int32, 97, address_space=SHARED)
    t = Int(thread_idx.x)
    flags[t] = 0
    if t == 0:
        flags[block_dim.x] = 1
    barrier()
    if volatile:
        while flags.load(t + 1, volatile=True) == 0:
            pass
    else:
        while Atomic.load(flags + (t + 1), ordering="acquire", scope="block") == 0:
            pass
    out[block_idx.x * 96 + t] = flags[t + 1]
    Atomic.store(flags + t, flags[t + 1] + 1, ordering="release", scope="block")


@pytest.mark.parametrize("volatile", [False, True])
def test_the_first_thread_waits_for_the_last(ctx: DeviceContext, volatile: bool) -> None:
    (out,) = ran(ctx, from_behind, np.zeros((3, 96), np.int32), volatile=volatile, grid_dim=3, block_dim=96)
    np.testing.assert_array_equal(out, [np.arange(96, 0, -1)] * 3)


@kernel
def handed_over(x: Pointer[Float32], out: Pointer[Float32], *, rounds: Comptime[int]):
    """Two warps bring numbers and a third takes them; they meet where these are there, and are used."""
    place = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    if t < 64:
        for n in range(rounds):
            if n > 0:
                named_barrier(2, 96)
            place[t] = x[n * 64 + t]
            named_barrier_arrive(1, 96)
    else:
        for n in range(rounds):
            named_barrier(1, 96)
            out[n * 32 + t - 64] = place[t - 64] - place[t - 32]
            if n < rounds - 1:
                named_barrier_arrive(2, 96)


def test_warps_hand_over_at_named_barriers(ctx: DeviceContext) -> None:
    x = (np.arange(640) ** 2 % 1009).astype(np.float32).reshape(10, 2, 32)
    _, out = ran(ctx, handed_over, x, np.zeros((10, 32), np.float32), rounds=10, grid_dim=1, block_dim=96)
    np.testing.assert_array_equal(out, x[:, 0] - x[:, 1])


@kernel
def halves_meet(out: Pointer[Int32]):
    """Each half of the block adds up alone, by a helper that both use."""
    sums = stack_allocation(Int32, 128, address_space=SHARED)
    half = thread_idx.x // 64
    if half == 0:
        total = added(sums, 1, 1)
    else:
        total = added(sums, 2, 3)
    out[thread_idx.x] = total


@func
def added(sums: Pointer[Int32], number: Comptime[int], factor: Int32) -> Int32:
    sums[thread_idx.x] = factor * Int32(thread_idx.x)
    named_barrier(number, 64)
    return sums[thread_idx.x ^ 63]


def test_named_barriers_in_a_helper(ctx: DeviceContext) -> None:
    (out,) = ran(ctx, halves_meet, np.zeros(128, np.int32), grid_dim=1, block_dim=128)
    t = np.arange(128)
    np.testing.assert_array_equal(out, np.where(t < 64, 1, 3) * (t ^ 63))


@struct
class Stage:
    filled: SharedMemBarrier
    emptied: SharedMemBarrier
    part: InlineArray[Int32, 32]


@func
def fill(stage: Pointer[Stage], n: Int, value: Int32):
    if n >= 2:
        stage[0].emptied.wait(n // 2 - 1 & 1)
    stage[0].part[lane_id()] = value
    stage[0].filled.arrive()


@kernel
def ring(x: Pointer[Int32], out: Pointer[Int32]):
    """Barriers by themselves and in structs, used where they lie."""
    stages = stack_allocation(Stage, 2, address_space=SHARED)
    ends = stack_allocation(SharedMemBarrier, 2, address_space=SHARED)
    if thread_idx.x < 2:
        stages[thread_idx.x].filled.init(32)
        stages[thread_idx.x].emptied.init(32)
        ends[thread_idx.x].init(32)
    barrier()
    total = Int32(0)
    for n in range(5):
        stage = stages + n % 2
        if warp_id() == 0:
            fill(stage, n, x[32 * n + lane_id()])
        else:
            stage[0].filled.wait(n // 2 & 1)
            total += stage[0].part[31 - lane_id()]
            stage[0].emptied.arrive()
    end = ends + warp_id()
    end[0].arrive()
    end[0].wait(0)
    out[thread_idx.x] = total


def test_barriers_in_memory_of_their_own_type(ctx: DeviceContext) -> None:
    x = np.arange(160, dtype=np.int32) ** 2
    _, out = ran(ctx, ring, x, np.zeros(64, np.int32), grid_dim=1, block_dim=64)
    np.testing.assert_array_equal(out[:32], 0)
    np.testing.assert_array_equal(out[32:], x.reshape(5, 32).sum(0)[::-1])


@kernel
def lanes_meet(x: Pointer[Float32], out: Pointer[Float32], votes: Pointer[UInt32]):
    """Warps exchange while one of them waits for another: shuffles, sums, votes, branches of their own."""
    ready = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    box = stack_allocation(Float32, 32, address_space=SHARED)
    if thread_idx.x == 0:
        ready.init(32)
    barrier()
    mine = x[thread_idx.x]
    if warp_id() == 1:
        for n in range(3):
            mine = warp.shuffle_xor(mine, 1) + warp.shuffle_down(mine, 2) * Float32(n)
        box[lane_id()] = mine
        ready.arrive()
    else:
        if lane_id() == 5:
            ready.wait(0)
        warp.syncwarp()
        mine = warp.sum(mine) + box[31 - lane_id()]
    found = warp.ballot(mine > 100.0)
    if lane_id() == 0:
        votes[warp_id()] = found
    out[thread_idx.x] = mine


def test_lanes_exchange_beside_threads_that_wait(ctx: DeviceContext) -> None:
    x = np.random.default_rng(1).integers(0, 9, 64).astype(np.float32)
    _, out, votes = ran(
        ctx, lanes_meet, x, np.zeros(64, np.float32), np.zeros(2, np.uint32), grid_dim=1, block_dim=64
    )
    mine: npt.NDArray[np.float32] = x[32:]
    lane = np.arange(32)
    for n in range(3):
        down = np.where(lane + 2 < 32, lane + 2, lane)
        mine = mine[lane ^ 1] + mine[down] * n
    expected = np.concatenate([x[:32].sum() + mine[::-1], mine])
    np.testing.assert_array_equal(out, expected)
    bits = [sum(1 << i for i in range(32) if expected[32 * w + i] > 100) for w in range(2)]
    assert votes.tolist() == bits


@kernel
def multiplied(a: Pointer[Float16], b: Pointer[Float16], out: Pointer[Float32]):
    """Warp 1 brings two matrices, warp 0 multiplies them."""
    tile = stack_allocation(Float16, 16 * 16 + 16 * 8, address_space=SHARED)
    lane = lane_id()
    if warp_id() == 1:
        for i in range(8):
            tile[lane + 32 * i] = a[lane + 32 * i]
        for i in range(4):
            tile[256 + lane + 32 * i] = b[lane + 32 * i]
        named_barrier_arrive(7, 64)
    else:
        named_barrier(7, 64)
        g, t = lane // 4, lane % 4
        left = [tile.load((g + 8 * (r % 2)) * 16 + 2 * t + 8 * (r // 2), width=2) for r in range(4)]
        right = [tile.load(256 + g * 16 + 2 * t + 8 * r, width=2) for r in range(2)]
        made = mma(joined(left), joined(right), FOUR(0.0, 0.0, 0.0, 0.0))
        for r in range(4):
            out[(g + 8 * (r // 2)) * 8 + 2 * t + r % 2] = made[r]


def joined(parts: list[Any]) -> Any:
    """Pairs, as one vector."""
    vector: Any = SIMD[Float16, 2 * len(parts)]
    return vector(*[part[i] for part in parts for i in range(2)])


def test_products_of_matrices_that_another_warp_brings(ctx: DeviceContext) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 16), (8, 16)))
    _, _, out = ran(ctx, multiplied, a, b, np.zeros((16, 8), np.float32), grid_dim=1, block_dim=64)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.T.astype(np.float32))


@kernel
def some_leave(x: Pointer[Int32], out: Pointer[Int32]):
    """Blocks of three dimensions whose threads return early, some after others have waited."""
    flag = stack_allocation(Int32, 1, address_space=SHARED)
    t = thread_idx.x + 5 * (thread_idx.y + 3 * thread_idx.z)
    if t == 0:
        flag[0] = 0
    barrier()
    if t == 29:
        Atomic.store(flag, x[block_idx.x], ordering="release", scope="block")
        return
    if t % 3 == 1:
        return
    while Atomic.load(flag, ordering="acquire", scope="block") == 0:
        pass
    out[block_idx.x * 30 + t] = flag[0] + Int32(t)


def test_threads_that_return_are_not_waited_for(ctx: DeviceContext) -> None:
    x = np.arange(7, 11, dtype=np.int32)
    _, out = ran(ctx, some_leave, x, np.zeros((4, 30), np.int32), grid_dim=4, block_dim=(5, 3, 2))
    t = np.arange(30)
    np.testing.assert_array_equal(out, np.where((t == 29) | (t % 3 == 1), 0, x[:, None] + t))


@kernel
def round_the_grid(out: Pointer[Int32]):
    """Blocks meet, and within each a thread waits for a later one."""
    flag = stack_allocation(Int32, 1, address_space=SHARED)
    if thread_idx.x == 0:
        flag[0] = 0
    barrier()
    for n in range(3):
        if thread_idx.x == 0:
            while Atomic.load(flag, ordering="acquire", scope="block") < n + 1:
                pass
            Atomic.fetch_add(out, flag[0], ordering="relaxed", scope="device")
        elif thread_idx.x == 1:
            Atomic.store(flag, Int32(n + 1), ordering="release", scope="block")
        grid_sync()
        if thread_idx.x == 2:
            out[1 + 4 * n + block_idx.x] = out[0]
        grid_sync()


def test_threads_wait_within_blocks_that_meet(ctx: DeviceContext) -> None:
    (out,) = ran(ctx, round_the_grid, np.zeros(13, np.int32), grid_dim=4, block_dim=32, cooperative=True)
    assert out.tolist() == [24, *[4] * 4, *[12] * 4, *[24] * 4]


@kernel
def stuck(out: Pointer[Int32]):
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    if thread_idx.x == 0:
        arrived.init(33)
    barrier()
    if thread_idx.x < 32:
        arrived.arrive()
        arrived.wait(0)
    else:
        barrier()
    out[thread_idx.x] = 1


@kernel
def parted(out: Pointer[Int32]):
    if thread_idx.x < 32:
        named_barrier(1, 64)
    else:
        named_barrier(2, 64)
    out[thread_idx.x] = 1


def told(function: Any) -> str:
    ctx = DeviceContext(api="cpu")
    out = ctx.enqueue_create_buffer(Int32, 64)
    ctx.enqueue_function(function, out, grid_dim=2, block_dim=64)
    with pytest.raises(DeviceError) as caught:
        ctx.synchronize()
    return str(caught.value)


def test_a_cpu_says_who_waits_for_ever() -> None:
    text = told(stuck)
    first, _, *_ = text.splitlines()
    assert "kernel 'stuck' never ends: 32 threads go round a loop, and nothing changes any more" in first
    assert "arrived.wait(0)" in text
    assert re.search(r"others wait for their block at line \d+", text)


def test_a_cpu_says_at_which_barriers_threads_wait_for_ever() -> None:
    text = told(parted)
    assert "kernel 'parted' never ends: 64 threads wait at a named barrier" in text
    assert "named_barrier(1, 64)" in text
    assert re.search(r"others do so at line \d+", text)


@kernel
def guarded(values: Pointer[Int32], out: Pointer[Int32]):
    """A thread whose assertion fails is not waited for."""
    flag = stack_allocation(Int32, 1, address_space=SHARED)
    if thread_idx.x == 0:
        flag[0] = 0
    barrier()
    if thread_idx.x == 0:
        while Atomic.load(flag, ordering="acquire", scope="block") == 0:
            pass
    if thread_idx.x == 40:
        Atomic.store(flag, Int32(1), ordering="release", scope="block")
    assert values[thread_idx.x] >= 0, "negative"
    barrier()
    out[thread_idx.x] = flag[0]


def test_a_thread_whose_assertion_fails_ends() -> None:
    ctx = DeviceContext(api="cpu")
    values = np.arange(64, dtype=np.int32)
    values[50] = -1
    given, out = (ctx.enqueue_create_buffer(Int32, 64) for _ in range(2))
    ctx.enqueue_copy(dst=given, src=values)
    out.enqueue_fill(7)
    ctx.enqueue_function(guarded, given, out, grid_dim=1, block_dim=64)
    with pytest.raises(DeviceError, match="negative"):
        ctx.synchronize()
    with out.map_to_host() as host:
        np.testing.assert_array_equal(host, np.where(values < 0, 7, 1))


@pytest.mark.parametrize("seed", [1, 2])
def test_in_whichever_order(seed: int) -> None:
    ctx = DeviceContext(api="cpu", schedule=seed)
    (out,) = ran(ctx, from_behind, np.zeros((3, 96), np.int32), volatile=False, grid_dim=3, block_dim=96)
    np.testing.assert_array_equal(out, [np.arange(96, 0, -1)] * 3)


@kernel
def across(out: Pointer[Int32]):
    """Blocks of a cluster wait for each other's threads, and use each other's memory."""
    ready = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    box = stack_allocation(Int32, 32, address_space=SHARED)
    rank = block_rank_in_cluster()
    if thread_idx.x == 0:
        ready.init(1)
    cluster_sync()
    if warp_id() == 0:
        ready.wait(0)
        out[block_idx.x * 32 + thread_idx.x] = box[lane_id()]
    else:
        there = map_shared_rank(box, (rank + 1) % 2)
        there[lane_id()] = Int32(100 * block_idx.x + lane_id())
        warp.syncwarp()
        if lane_id() == 0:
            ready.arrive_cluster((rank + 1) % 2)
    cluster_sync()


@pytest.mark.parametrize("api", ["cpu", "interpreter"])
def test_threads_wait_for_those_of_another_block(api: str) -> None:
    ctx = DeviceContext(api=api)
    (out,) = ran(ctx, across, np.zeros((4, 32), np.int32), grid_dim=4, block_dim=64, cluster_dim=2)
    np.testing.assert_array_equal(out, 100 * np.array([[1], [0], [3], [2]]) + np.arange(32))


def test_races_are_not_looked_for_where_blocks_meet_too() -> None:
    ctx = DeviceContext(api="cpu", checked=True)
    with pytest.raises(CompileError, match="blocks meet, threads wait for later ones"):
        ran(ctx, round_the_grid, np.zeros(13, np.int32), grid_dim=4, block_dim=32, cooperative=True)


def test_a_barrier_that_only_some_come_to_is_refused() -> None:
    @kernel
    def k(out: Pointer[Int32]):
        if thread_idx.x < 32:
            named_barrier(1, 32)
        if thread_idx.x < 16:
            barrier()
        out[thread_idx.x] = 1

    ctx = DeviceContext(api="cpu")
    with pytest.raises(CompileError, match="not all threads of a block come to this barrier"):
        ran(ctx, k, np.zeros(64, np.int32), grid_dim=1, block_dim=64)
