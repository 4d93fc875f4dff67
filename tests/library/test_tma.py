"""Barriers that count, bulk copies and tiles by the hardware, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    BFloat16,
    CompileError,
    Comptime,
    DeviceError,
    Float16,
    Float32,
    Float64,
    Int,
    Int32,
    LaunchError,
    Pointer,
    UInt8,
    UInt32,
    UInt64,
    kernel,
)
from weft.compile import compile_info
from weft.gpu import (
    barrier,
    block_idx,
    block_rank_in_cluster,
    cluster_sync,
    elect_one_sync,
    launch_bounds,
    thread_idx,
    warp_id,
)
from weft.gpu.bulk import (
    async_bulk_commit_group,
    async_bulk_copy,
    async_bulk_reduce,
    async_bulk_wait_group,
)
from weft.gpu.host import DeviceContext
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.memory import CacheEviction
from weft.gpu.pipeline import Pipeline
from weft.gpu.wgmma import async_proxy_fence
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
NONE, S32, S64, S128 = TensorMapSwizzle


@pytest.fixture(scope="module", params=["cpu", "interpreter", pytest.param("cuda", marks=pytest.mark.gpu)])
def anywhere(request: pytest.FixtureRequest) -> DeviceContext:
    return DeviceContext(api=request.param)


def memory(ctx: DeviceContext, kind: Any, numbers: Array) -> Any:
    buffer = ctx.enqueue_create_buffer(kind, numbers.size)
    with buffer.map_to_host() as host:
        host[:] = numbers.reshape(-1).tolist()
    return buffer


def found(buffer: Any, *shape: int) -> Array:
    with buffer.map_to_host() as host:
        return np.array([float(x) for x in host]).reshape(shape)


# -- barriers ---------------------------------------------------------------------------------------
@kernel
def phases(out: Pointer[Int32]):
    word = stack_allocation(UInt64, 1, address_space=SHARED)
    here = SharedMemBarrier(word)
    if thread_idx.x == 0:
        here.init(2)
        out[0] = Int32(here.try_wait(1))  # none has ended: what is before the first has
        out[1] = Int32(here.try_wait(0))
        here.arrive()
        here.arrive()
        out[2] = Int32(here.try_wait(0))
        out[3] = Int32(here.try_wait(1))
        here.arrive()
        out[4] = Int32(here.try_wait(1))
        here.expect_bytes(0)
        out[5] = Int32(here.try_wait(1))
        here.arrive()
        out[6] = Int32(here.try_wait(0))
        here.arrive()
        out[7] = Int32(here.try_wait(0))


def test_phases_end_when_all_have_arrived(anywhere: DeviceContext) -> None:
    out = memory(anywhere, Int32, np.full(8, -1))
    anywhere.enqueue_function(phases, out, grid_dim=1, block_dim=1)
    assert found(out, 8).tolist() == [1, 0, 1, 0, 0, 1, 0, 1]


@kernel
def handed_on(out: Pointer[Int32], rounds: Int):
    """Warp 1 makes numbers, warp 0 takes them."""
    box = stack_allocation(Int32, 2 * 32, address_space=SHARED)
    pipe = Pipeline[2](stack_allocation(UInt64, 4, address_space=SHARED))
    pipe.init(producers=32, consumers=32)
    lane = thread_idx.x % 32
    if warp_id() == 1:
        for n in range(rounds):
            stage = pipe.producer_acquire(n)
            box[stage * 32 + lane] = Int32(100 * n + lane)
            pipe.full(n).arrive()
    else:
        total = Int32(0)
        for n in range(rounds):
            stage = pipe.consumer_wait(n)
            total = 3 * total + box[stage * 32 + 31 - lane]
            pipe.consumer_release(n)
        out[lane] = total


def test_warps_of_different_tasks(anywhere: DeviceContext) -> None:
    out = memory(anywhere, Int32, np.zeros(32))
    anywhere.enqueue_function(handed_on, out, 7, grid_dim=1, block_dim=64)
    total = np.zeros(32, np.int64)
    for n in range(7):
        total = 3 * total + 100 * n + 31 - np.arange(32)
    np.testing.assert_array_equal(found(out, 32), total)


@kernel
def in_stages(x: Pointer[Float32], out: Pointer[Float32], rounds: Int):
    """All threads use what the first one has copied while they used what came before."""
    tiles = stack_allocation(Float32, 3 * 64, address_space=SHARED)
    pipe = Pipeline[3](stack_allocation(UInt64, 6, address_space=SHARED))
    pipe.init(consumers=64)
    total = Float32(0.0)
    for n in range(rounds + 2):
        if thread_idx.x == 0 and n < rounds:
            stage = pipe.producer_acquire(n)
            pipe.full(n).expect_bytes(64 * 4)
            async_bulk_copy(x + 64 * (block_idx.x * rounds + n), tiles + 64 * stage, 64, pipe.full(n))
        if n >= 2:
            stage = pipe.consumer_wait(n - 2)
            total = 2.0 * total + tiles[64 * stage + 63 - thread_idx.x]
            pipe.consumer_release(n - 2)
        barrier()
    out[block_idx.x * 64 + thread_idx.x] = total


@pytest.mark.parametrize("rounds", [1, 3, 8])
def test_stages_for_all_threads(anywhere: DeviceContext, rounds: int) -> None:
    numbers = np.random.default_rng(2).integers(0, 9, (3, rounds, 64))
    x, out = memory(anywhere, Float32, numbers), memory(anywhere, Float32, np.zeros(192))
    anywhere.enqueue_function(in_stages, x, out, rounds, grid_dim=3, block_dim=64)
    total = np.zeros((3, 64))
    for n in range(rounds):
        total = 2 * total + numbers[:, n, ::-1]
    np.testing.assert_array_equal(found(out, 3, 64), total)


def test_a_schedule_keeps_the_order_of_threads_that_wait() -> None:
    @kernel
    def brought(x: Pointer[Float32], out: Pointer[Float32]):
        tile = stack_allocation(Float32, 32, address_space=SHARED)
        arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
        if thread_idx.x == 0:
            arrived.init(1)
        barrier()
        if thread_idx.x == 0:
            arrived.expect_bytes(32 * 4)
            async_bulk_copy(x, tile, 32, arrived)
        arrived.wait(0)
        out[thread_idx.x] = tile[31 - thread_idx.x]

    for schedule in (1, 2):
        ctx = DeviceContext(api="cpu", schedule=schedule)
        x, out = memory(ctx, Float32, np.arange(32)), memory(ctx, Float32, np.zeros(32))
        ctx.enqueue_function(brought, x, out, grid_dim=1, block_dim=32)
        np.testing.assert_array_equal(found(out, 32), np.arange(32)[::-1])


# -- bulk copies ------------------------------------------------------------------------------------
@kernel
def through_shared(x: Pointer[Any], out: Pointer[Any], *, n: Comptime[int], op: Comptime[str]):
    tile = stack_allocation(x.element_type, n, address_space=SHARED)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    if thread_idx.x == 0:
        arrived.init(1)
    barrier()
    if warp_id() == 0 and elect_one_sync():
        arrived.expect_bytes(n * x.dtype.itemsize)
        async_bulk_copy(x + n * block_idx.x, tile, n, arrived, eviction_policy=CacheEviction.EVICT_FIRST)
        arrived.wait(0)
    barrier()
    if thread_idx.x < n:
        tile[thread_idx.x] = tile[thread_idx.x] + tile[thread_idx.x]
    async_proxy_fence()
    barrier()
    if thread_idx.x == 0:
        if op == "":
            async_bulk_copy(tile, out + n * block_idx.x, n, eviction_policy=CacheEviction.EVICT_LAST)
        else:
            async_bulk_reduce(tile, out, n, op)
        async_bulk_commit_group()
        async_bulk_wait_group(0)


@pytest.mark.parametrize("kind", [Float32, BFloat16, UInt8, Float64])
def test_bulk_copies(anywhere: DeviceContext, kind: Any) -> None:
    numbers = np.random.default_rng(3).integers(0, 100, (3, 48))
    x, out = memory(anywhere, kind, numbers), memory(anywhere, kind, np.zeros(144))
    anywhere.enqueue_function(through_shared, x, out, grid_dim=3, block_dim=64, n=48, op="")
    np.testing.assert_array_equal(found(out, 3, 48), 2 * numbers)


@pytest.mark.parametrize(
    ("kind", "op"),
    [
        *((k, "add") for k in (Float32, Float16, Float64, Int32, UInt64)),
        *((Int32, o) for o in ("min", "max")),
        *((UInt32, o) for o in ("and", "or", "xor")),
    ],
)
def test_bulk_reductions(anywhere: DeviceContext, kind: Any, op: str) -> None:
    rng = np.random.default_rng(4)
    numbers, start = rng.integers(0, 60, (3, 16)), rng.integers(0, 200, 16)
    x, out = memory(anywhere, kind, numbers), memory(anywhere, kind, start)
    anywhere.enqueue_function(through_shared, x, out, grid_dim=3, block_dim=32, n=16, op=op)
    by = {"add": np.add, "min": np.minimum, "max": np.maximum}
    by |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    expected: Any = by[op].reduce([start, *(2 * numbers)])
    np.testing.assert_array_equal(found(out, 16), expected)


# -- tiles ------------------------------------------------------------------------------------------
def tile_of(x: Array, box: tuple[int, ...], at: tuple[int, ...]) -> Array:
    """A tile, zero where the array has nothing."""
    out = np.zeros(box, x.dtype)
    for place in np.ndindex(*box):
        index = tuple(a + p for a, p in zip(at, place, strict=True))
        if all(0 <= i < n for i, n in zip(index, x.shape, strict=True)):
            out[place] = x[index]
    return out


def in_shared(tile: Array, itemsize: int, swizzle: int) -> Array:
    """The elements in the order in which they lie in shared memory: by the bits of addresses."""
    flat = tile.reshape(-1)
    out = np.zeros_like(flat)
    for n, value in enumerate(flat):
        address = n * itemsize
        if swizzle:
            address ^= (address >> 7 & swizzle // 16 - 1) << 4
        out[address // itemsize] = value
    return out


@kernel
def as_it_lies(x: TMATensorTile[Any], out: Pointer[Any], at: Any, *, n: Comptime[int]):
    tile = stack_allocation(out.element_type, n, address_space=SHARED, alignment=1024)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    if thread_idx.x == 0:
        arrived.init(1)
        x.prefetch_descriptor()
        arrived.expect_bytes(x.nbytes)
        x.async_copy(tile, arrived, at)
    barrier()
    arrived.wait(0)
    for i in range(thread_idx.x, n, 32):
        out[i] = tile[i]


SHAPES = [
    (Float32, (40, 36), (5, 8), (3, 4), NONE),
    (Float32, (40, 36), (16, 32), (30, 20), S128),
    (BFloat16, (64, 72), (24, 64), (8, -8), S128),
    (BFloat16, (64, 72), (24, 32), (-3, 8), S64),
    (UInt8, (30, 64), (20, 32), (2, 16), S32),
    (Float64, (10,), (6,), (6,), NONE),
    (Float16, (4, 9, 16), (2, 5, 8), (3, -1, 8), NONE),
    (Int32, (2, 3, 2, 5, 8), (2, 2, 1, 3, 4), (0, 1, 1, 3, 4), NONE),
]


@pytest.mark.parametrize(("kind", "shape", "box", "at", "swizzle"), SHAPES)
def test_a_tile_in_shared_memory(
    anywhere: DeviceContext,
    kind: Any,
    shape: tuple[int, ...],
    box: tuple[int, ...],
    at: tuple[int, ...],
    swizzle: TensorMapSwizzle,
) -> None:
    x = np.random.default_rng(5).integers(1, 100, shape)
    n = int(np.prod(box))
    out = memory(anywhere, kind, np.full(n, 7))
    tile = anywhere.create_tma_tile(
        memory(anywhere, kind, x).tensor(Layout.row_major(*shape)), box, swizzle=swizzle
    )
    anywhere.enqueue_function(as_it_lies, tile, out, at, grid_dim=1, block_dim=32, n=n)
    expected = in_shared(tile_of(x, box, at), kind.dtype.itemsize, int(swizzle))
    np.testing.assert_array_equal(found(out, n), expected)


@kernel
def moved(x: TMATensorTile[Any], y: TMATensorTile[Any], to: Any, *, op: Comptime[str]):
    n = x.nbytes // x.dtype.itemsize
    tile = stack_allocation(x.tensor.element_type, n, address_space=SHARED, alignment=1024)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    if thread_idx.x == 0:
        x.prefetch_descriptor()
        y.prefetch_descriptor()
        arrived.init(1)
        arrived.expect_bytes(x.nbytes)
        x.async_copy(tile, arrived, (0, 0), eviction_policy=CacheEviction.EVICT_FIRST)
        arrived.wait(0)
        if op == "":
            y.async_store(tile, to, eviction_policy=CacheEviction.EVICT_UNCHANGED)
        else:
            y.async_reduce(tile, to, op)
        y.commit_group()
        y.wait_group()


@pytest.mark.parametrize("to", [(0, 0), (3, 8), (6, 24)])
@pytest.mark.parametrize(("op", "swizzle"), [("", NONE), ("", S128), ("add", S128), ("max", NONE)])
def test_tiles_are_stored_and_combined(
    anywhere: DeviceContext, op: str, swizzle: TensorMapSwizzle, to: tuple[int, int]
) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(0, 50, (8, 32)), rng.integers(0, 50, (9, 44))
    one, other = memory(anywhere, Int32, x), memory(anywhere, Int32, y)
    tiles = [
        anywhere.create_tma_tile(b.tensor(Layout.row_major(*n)), (8, 32), swizzle=swizzle)
        for b, n in ((one, (8, 32)), (other, (9, 44)))
    ]
    anywhere.enqueue_function(moved, *tiles, to, grid_dim=1, block_dim=32, op=op)  # pyright: ignore[reportCallIssue]
    for i, j in np.ndindex(8, 32):
        r, c = i + to[0], j + to[1]
        if 0 <= r < 9 and 0 <= c < 44:
            y[r, c] = {"": x[i, j], "add": y[r, c] + x[i, j], "max": max(y[r, c], x[i, j])}[op]
    np.testing.assert_array_equal(found(other, 9, 44), y)


@kernel
def to_all(x: TMATensorTile[Float32], out: LayoutTensor[Float32]):
    tile = stack_allocation(Float32, 32, address_space=SHARED, alignment=128)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    if thread_idx.x == 0:
        arrived.init(2)
        arrived.expect_bytes(x.nbytes)
    cluster_sync()
    rank = block_rank_in_cluster()
    if rank == 1 and thread_idx.x == 0:
        x.prefetch_descriptor()
        x.async_multicast_load(tile, arrived, (4,), 0b11)
        arrived.arrive_cluster(0)
        arrived.arrive_cluster(1)
    cluster_sync()
    arrived.wait(0)
    out[rank, thread_idx.x] = tile[thread_idx.x]
    cluster_sync()


def test_multicast(anywhere: DeviceContext) -> None:
    x = np.arange(40.0)
    out = memory(anywhere, Float32, np.zeros(64))
    tile = anywhere.create_tma_tile(memory(anywhere, Float32, x), (32,))
    rows = out.tensor(Layout.row_major(2, 32))
    anywhere.enqueue_function(to_all, tile, rows, grid_dim=2, block_dim=32, cluster_dim=2)
    np.testing.assert_array_equal(found(out, 2, 32), [x[4:36]] * 2)


def test_memory_behind_another_is_aligned_as_it_asks(anywhere: DeviceContext) -> None:
    @kernel
    def addresses(out: Pointer[Int32]):
        here = stack_allocation(Int32, 3, address_space=SHARED)
        behind = dynamic_shared_memory(Int32, 32, alignment=1024)
        if thread_idx.x < 3:
            here[thread_idx.x] = 1
        barrier()
        behind[thread_idx.x] = here[0]
        out[thread_idx.x] = Int32(Int(behind) % 1024)

    out = memory(anywhere, Int32, np.full(32, -1))
    anywhere.enqueue_function(addresses, out, grid_dim=1, block_dim=32, shared_mem_bytes=128)
    if anywhere.api == "cuda":
        assert not found(out, 32).any()
    assert ".b8 global$shared_1[1024]" in str(compile_info(addresses, target="sm_90"))


# -- what is refused --------------------------------------------------------------------------------
def test_launch_bounds() -> None:
    @kernel
    def few(out: Pointer[Float32]):
        launch_bounds(64)
        out[thread_idx.x] = 1.0

    @kernel
    def many(out: Pointer[Float32]):
        launch_bounds(64, 8)
        out[thread_idx.x] = 1.0

    assert ".maxntid 64\n" in str(compile_info(few, target="sm_90"))
    assert ".minnctapersm 8\n" in str(compile_info(many, target="sm_90"))
    ctx = DeviceContext(api="cpu")
    out = memory(ctx, Float32, np.zeros(96))
    ctx.enqueue_function(few, out, grid_dim=1, block_dim=64)
    ctx.enqueue_function(few, out, over=64)
    with pytest.raises(LaunchError, match=r"96 threads; launch_bounds\(64\) of few allows no more"):
        ctx.enqueue_function(few, out, grid_dim=1, block_dim=96)


def test_older_gpus_copy_by_their_threads() -> None:
    @kernel
    def first(x: TMATensorTile[Float32]):
        tile = stack_allocation(Float32, 32, address_space=SHARED, alignment=128)
        arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
        x.async_copy(tile, arrived, (0, 0))

    ctx = DeviceContext(api="cpu")
    x = memory(ctx, Float32, np.zeros(64))
    tile = ctx.create_tma_tile(x.tensor(Layout.row_major(8, 8)), (4, 8))
    for target in ("sm_75", "sm_89"):
        info = str(compile_info(first, target=target, x=tile))
        assert "mbarrier.arrive" not in info
        assert "cp.async" not in info
    info = str(compile_info(first, target="sm_90", x=tile))
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes" in info


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "said"),
    [
        ((8, 6), (4, 4), NONE, "strides of .* are 24, 4 bytes"),
        ((8, 8), (4,), NONE, "a tensor of 2 axes has 2 extents"),
        ((8, 8), (4, 257), NONE, r"extents are \(4, 257\)"),
        ((8, 8), (4, 2), NONE, "has 8 bytes, no multiple of 16"),
        ((8, 8), (4, 8), S128, "SWIZZLE_128B is for rows of 128 bytes"),
    ],
)
def test_tiles_that_there_are_none_of(
    shape: tuple[int, ...], box: tuple[int, ...], swizzle: TensorMapSwizzle, said: str
) -> None:
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 64).tensor(Layout.row_major(*shape))
    with pytest.raises(LaunchError, match=said):
        ctx.create_tma_tile(x, box, swizzle=swizzle)


def test_tiles_begin_where_the_hardware_takes_them(anywhere: DeviceContext) -> None:
    if anywhere.api == "cuda":
        pytest.skip("a GPU stops at these")
    x = memory(anywhere, Float32, np.zeros(64))
    tile = anywhere.create_tma_tile(x.tensor(Layout.row_major(8, 8)), (4, 8))
    anywhere.enqueue_function(as_it_lies, tile, x, (0, 2), grid_dim=1, block_dim=32, n=32)
    with pytest.raises(DeviceError, match="last coordinate is at a multiple of 16 bytes"):
        anywhere.synchronize()


def test_tiles_are_looked_up_first() -> None:
    @kernel
    def forgotten(x: TMATensorTile[Float32]):
        tile = stack_allocation(Float32, 32, address_space=SHARED, alignment=128)
        x.async_store(tile, (0, 0))

    ctx = DeviceContext(api="cpu")
    x = memory(ctx, Float32, np.zeros(64))
    tile = ctx.create_tma_tile(x.tensor(Layout.row_major(8, 8)), (4, 8))
    with pytest.raises(LaunchError, match="forgotten copies tiles that the hardware has not looked up"):
        ctx.enqueue_function(forgotten, tile, grid_dim=1, block_dim=32)


def test_tiles_of_arrays() -> None:
    ctx = DeviceContext(api="cpu")
    x, out = np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros(32, np.float32)
    tile = ctx.create_tma_tile(x, (4, 8))
    for _ in range(2):
        x += 1
        ctx.enqueue_function(as_it_lies, tile, out, (4, 0), grid_dim=1, block_dim=32, n=32)
        ctx.synchronize()
        np.testing.assert_array_equal(out.reshape(4, 8), x[4:])


@kernel
def to_all_at_once(x: TMATensorTile[Float32], out: LayoutTensor[Float32]):
    tile = stack_allocation(Float32, 32, address_space=SHARED, alignment=128)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    x.async_multicast_load(tile, arrived, (0,), 3)


def test_clusters_are_of_hopper() -> None:
    ctx = DeviceContext(api="cpu")
    x = memory(ctx, Float32, np.zeros(64))
    tile = ctx.create_tma_tile(x, (32,))
    rows = x.tensor(Layout.row_major(2, 32))
    with pytest.raises(CompileError, match=r"async_multicast_load\(\) is not known on sm_89"):
        compile_info(to_all_at_once, target="sm_89", x=tile, out=rows)


def test_copies_of_the_wrong_memory() -> None:
    @kernel
    def wrong(x: Pointer[Float32]):
        async_bulk_copy(x, x + 4, 4)

    with pytest.raises(CompileError, match="not from GLOBAL to GLOBAL"):
        compile_info(wrong, target="sm_90")


def test_a_policy_that_is_none() -> None:
    @kernel
    def wrong(x: Pointer[Float32]):
        tile = stack_allocation(Float32, 4, address_space=SHARED)
        async_bulk_copy(tile, x, 4, eviction_policy="first")  # pyright: ignore[reportArgumentType]

    for target in ("sm_90", "native"):
        with pytest.raises(CompileError, match="eviction_policy is a str, not a CacheEviction"):
            compile_info(wrong, target=target)
