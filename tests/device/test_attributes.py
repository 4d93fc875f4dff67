"""Clusters, cooperative launches and programmatic dependent launches, on a real GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, Int, Int32, Int64, Pointer, kernel
from weft.atomic import Atomic
from weft.diagnostics import LaunchError
from weft.gpu import (
    barrier,
    block_dim,
    block_id_in_cluster,
    block_idx,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_dim,
    cluster_idx,
    cluster_sync,
    cluster_wait,
    global_idx,
    grid_dim,
    grid_sync,
    launch_dependent_grids,
    map_shared_rank,
    thread_idx,
    wait_on_dependent_grids,
)
from weft.gpu.host import DeviceContext, Dim
from weft.lang.intrinsics import llvm_intrinsic
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

pytestmark = pytest.mark.gpu
SHARED = AddressSpace.SHARED


@pytest.fixture(scope="module")
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cuda") as context:
        yield context


def put(ctx: DeviceContext, array: Any) -> Any:
    buffer = ctx.enqueue_create_buffer(str(array.dtype), array.size)
    ctx.enqueue_copy(dst=buffer, src=np.ascontiguousarray(array).reshape(-1))
    return buffer


def get(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out


def numbers(size: int) -> Any:
    return np.random.default_rng(size).integers(-1000, 1000, size).astype(np.float32)


# -- clusters -------------------------------------------------------------------------------------


@kernel
def places(out: Pointer[Int32]):
    """Where each block finds itself, nine numbers and its rank."""
    block = (block_idx.z * grid_dim.y + block_idx.y) * grid_dim.x + block_idx.x
    at = out + 10 * block
    at[0], at[1], at[2] = Int32(cluster_idx.x), Int32(cluster_idx.y), Int32(cluster_idx.z)
    at[3], at[4], at[5] = Int32(cluster_dim.x), Int32(cluster_dim.y), Int32(cluster_dim.z)
    at[6], at[7] = Int32(block_id_in_cluster.x), Int32(block_id_in_cluster.y)
    at[8], at[9] = Int32(block_id_in_cluster.z), Int32(block_rank_in_cluster())


@pytest.mark.parametrize(
    ("grid", "cluster"), [((6, 4, 2), (3, 2, 1)), ((8, 2, 4), (2, 1, 4)), ((5, 3, 2), None)], ids=str
)
def test_places(ctx: DeviceContext, grid: tuple[int, int, int], cluster: tuple[int, int, int] | None) -> None:
    out = ctx.enqueue_create_buffer(Int32, 10 * int(np.prod(grid)))
    ctx.enqueue_function(places, out, grid_dim=grid, block_dim=1, cluster_dim=cluster)
    cx, cy, cz = cluster or (1, 1, 1)
    expected = [
        [x // cx, y // cy, z // cz, cx, cy, cz, x % cx, y % cy, z % cz]
        + [x % cx + cx * (y % cy + cy * (z % cz))]
        for z in range(grid[2])
        for y in range(grid[1])
        for x in range(grid[0])
    ]
    assert get(ctx, out).reshape(-1, 10).tolist() == expected


@kernel
def cluster_sums(x: Pointer[Float32], out: Pointer[Float32], *, size: Comptime[int]):
    """The sum of each cluster's elements, read out of all its blocks' shared memory by each block."""
    mine = stack_allocation(Float32, size, address_space=SHARED)
    mine[thread_idx.x] = x[global_idx.x]
    cluster_sync()
    total = 0.0
    for rank in range(cluster_dim.x):
        theirs = map_shared_rank(mine, rank)
        for i in range(size):
            total += theirs[i]
    cluster_sync()
    if thread_idx.x == 0:
        out[block_idx.x] = total


@pytest.mark.parametrize("cluster", [1, 2, 4, 7, 8, 16])
def test_shared_memory_of_a_cluster(ctx: DeviceContext, cluster: int) -> None:
    data = numbers(32 * 3 * cluster)
    out = ctx.enqueue_create_buffer(Float32, 3 * cluster)
    ctx.enqueue_function(
        cluster_sums,
        put(ctx, data),
        out,
        size=32,
        grid_dim=3 * cluster,
        block_dim=32,
        cluster_dim=Dim(cluster),
    )
    assert get(ctx, out).tolist() == np.repeat(data.reshape(3, -1).sum(axis=1), cluster).tolist()


@kernel
def pass_tiles(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Each block writes its tile, transposed, into its neighbour's shared memory."""
    tile = stack_allocation(Float32, Layout.row_major(8, 8), address_space=SHARED)
    cluster_arrive()  # the neighbour runs before anything is written there
    value = x[block_idx.x, thread_idx.y, thread_idx.x]
    cluster_wait()
    neighbour = (block_rank_in_cluster() + 1) % cluster_dim.x
    map_shared_rank(tile, neighbour)[thread_idx.x, thread_idx.y] = value
    cluster_sync()
    out[block_idx.x, thread_idx.y, thread_idx.x] = tile[thread_idx.y, thread_idx.x]


def test_writes_into_a_neighbours_tile(ctx: DeviceContext) -> None:
    data = numbers(12 * 64).reshape(12, 8, 8)
    out = ctx.enqueue_create_buffer(Float32, data.size)
    layout = Layout.row_major(12, 8, 8)
    ctx.enqueue_function(
        pass_tiles,
        put(ctx, data).tensor(layout),
        out.tensor(layout),
        grid_dim=12,
        block_dim=(8, 8),
        cluster_dim=4,
    )
    expected = np.roll(data.reshape(3, 4, 8, 8), 1, axis=1).reshape(12, 8, 8).transpose(0, 2, 1)
    np.testing.assert_array_equal(get(ctx, out).reshape(12, 8, 8), expected)


@kernel
def cluster_histogram(x: Pointer[Int32], out: Pointer[Int32], size: Int):
    """A histogram of 64 bins that lie spread over the shared memory of a cluster."""
    bins = dynamic_shared_memory(Int32, 64)
    each = 64 // cluster_dim.x
    if thread_idx.x < each:
        bins[thread_idx.x] = 0
    cluster_sync()
    i = global_idx.x
    if i < size:
        bin = Int(x[i])
        Atomic.fetch_add(map_shared_rank(bins, bin // each) + bin % each, 1)
    cluster_sync()
    if thread_idx.x < each:
        Atomic.fetch_add(out + (block_rank_in_cluster() * each + thread_idx.x), bins[thread_idx.x])


def test_atomics_in_a_cluster(ctx: DeviceContext) -> None:
    data = np.random.default_rng(1).integers(0, 64, 5000).astype(np.int32)
    out = ctx.enqueue_create_buffer(Int32, 64)
    out.enqueue_fill(0)
    ctx.enqueue_function(
        cluster_histogram,
        put(ctx, data),
        out,
        5000,
        grid_dim=40,
        block_dim=128,
        cluster_dim=4,
        shared_mem_bytes=256,
    )
    assert get(ctx, out).tolist() == np.bincount(data, minlength=64).tolist()


def test_clusters_that_do_not_fit(ctx: DeviceContext) -> None:
    out = ctx.enqueue_create_buffer(Float32, 64)
    for cluster, message in [
        (3, r"grid_dim=\(32, 1, 1\) is 32 in x, which cluster_dim=\(3, 1, 1\) does not divide"),
        (32, "has 32 blocks; .* allows 16 per cluster at most"),
    ]:
        with pytest.raises(LaunchError, match=message):
            ctx.enqueue_function(places, out, grid_dim=32, block_dim=1, cluster_dim=cluster)


# -- cooperative launches -------------------------------------------------------------------------


@kernel
def sum_all(x: Pointer[Float32], partial: Pointer[Float32], out: Pointer[Float32], size: Int):
    """Sums by blocks, then the sum of these, in one launch."""
    mine = stack_allocation(Float32, 1, address_space=SHARED)
    if thread_idx.x == 0:
        mine[0] = 0.0
    barrier()
    total = 0.0
    for i in range(global_idx.x, size, grid_dim.x * block_dim.x):
        total += x[i]
    Atomic.fetch_add(mine, total)
    barrier()
    if thread_idx.x == 0:
        partial[block_idx.x] = mine[0]
    grid_sync()
    total = 0.0
    for b in range(grid_dim.x):
        total += partial[b]
    out[global_idx.x] = total


def test_cooperative_reduction(ctx: DeviceContext) -> None:
    data = numbers(100_003)
    blocks = ctx.info.multiprocessors
    out, partial = (
        ctx.enqueue_create_buffer(Float32, blocks * 256),
        ctx.enqueue_create_buffer(Float32, blocks),
    )
    ctx.enqueue_function(
        sum_all,
        put(ctx, data),
        partial,
        out,
        data.size,
        grid_dim=blocks,
        block_dim=256,
        cooperative=True,
    )
    assert set(get(ctx, out).tolist()) == {float(data.astype(np.int64).sum())}


@kernel
def diffuse(x: Pointer[Float32], y: Pointer[Float32], size: Int, steps: Int):
    """Steps that each need what other blocks made in the step before."""
    i = global_idx.x
    for _ in range(steps):
        if 0 < i < size - 1:
            y[i] = x[i] + 0.25 * (x[i - 1] - 2.0 * x[i] + x[i + 1])
        grid_sync()
        if 0 < i < size - 1:
            x[i] = y[i]
        grid_sync()


def diffused(x: Any, steps: int) -> Any:
    x = x.copy()
    for _ in range(steps):
        x[1:-1] = x[1:-1] + np.float32(0.25) * (x[:-2] - np.float32(2) * x[1:-1] + x[2:])
    return x


def launch_diffuse(ctx: DeviceContext, x: Any, y: Any, **options: Any) -> None:
    grid = options.pop("grid_dim", 32)
    ctx.enqueue_function(diffuse, x, y, len(x), 50, grid_dim=grid, block_dim=64, cooperative=True, **options)


@pytest.mark.parametrize("options", [{}, {"cluster_dim": 2}, {"grid_dim": (4, 8)}], ids=str)
def test_many_barriers_of_a_grid(ctx: DeviceContext, options: dict[str, Any]) -> None:
    data = numbers(2048 if "grid_dim" not in options else 256)
    x, y = put(ctx, data), ctx.enqueue_create_buffer(Float32, data.size)
    launch_diffuse(ctx, x, y, **options)
    np.testing.assert_allclose(get(ctx, x), diffused(data, 50), rtol=1e-4, atol=1e-2)


def test_cooperative_launches_beside_each_other(ctx: DeviceContext) -> None:
    """Two launches of one kernel at a time do not count each other's blocks."""
    datas = [numbers(2048), numbers(2047)]
    with ctx.create_stream() as one, ctx.create_stream() as two:
        buffers = [(put(ctx, d), ctx.enqueue_create_buffer(Float32, d.size)) for d in datas]
        ctx.synchronize()
        for _ in range(5):
            for stream, (x, y) in zip((one, two), buffers, strict=True):
                launch_diffuse(ctx, x, y, stream=stream)
        one.synchronize()
        two.synchronize()
    for data, (x, _) in zip(datas, buffers, strict=True):
        np.testing.assert_allclose(get(ctx, x), diffused(data, 250), rtol=1e-4, atol=1e-2)


def test_blocks_that_do_not_fit(ctx: DeviceContext) -> None:
    x, y = ctx.enqueue_create_buffer(Float32, 2048), ctx.enqueue_create_buffer(Float32, 2048)
    x.enqueue_fill(0)
    with pytest.raises(
        LaunchError, match=r"has 1000000 blocks; .* runs \d+ of this kernel at once"
    ) as raised:
        launch_diffuse(ctx, x, y, grid_dim=1_000_000)
    fit = int(raised.value.diagnostics[0].hints[0].split("grid_dim=")[1].split()[0])
    assert fit % ctx.info.multiprocessors == 0
    launch_diffuse(ctx, x, y, grid_dim=fit)
    ctx.synchronize()
    with pytest.raises(LaunchError, match=f"runs {fit} of"):
        launch_diffuse(ctx, x, y, grid_dim=fit + 1)
    with pytest.raises(LaunchError, match="diffuse calls grid_sync"):
        ctx.enqueue_function(diffuse, x, y, 2048, 50, grid_dim=1, block_dim=64)


# -- programmatic dependent launches --------------------------------------------------------------


def _now() -> Int64:
    return llvm_intrinsic("llvm.nvvm.read.ptx.sreg.globaltimer", Int64)


@kernel
def produce(x: Pointer[Float32], times: Pointer[Int64], nanoseconds: Int, *, early: Comptime[bool]):
    if early:
        launch_dependent_grids()
    start = _now()
    while _now() - start < nanoseconds:
        pass
    x[global_idx.x] += 1.0
    times[0] = _now()


@kernel
def consume(x: Pointer[Float32], out: Pointer[Float32], times: Pointer[Int64]):
    times[1] = _now()
    wait_on_dependent_grids()
    out[global_idx.x] = x[global_idx.x] * 10.0
    x[global_idx.x] += 1.0
    times[2] = _now()


class Chain:
    """A kernel that takes its time, and one that uses what it makes."""

    one_by_one = False
    """Whether kernels run one after the other whatever they ask for."""

    def __init__(self, ctx: DeviceContext) -> None:
        self.ctx = ctx
        self.x = put(ctx, np.zeros(64, np.float32))
        self.out = put(ctx, np.zeros(64, np.float32))
        self.times = put(ctx, np.zeros(3, np.int64))

    def run(self, *, early: bool = True, pdl: bool = True, between: Any = None, **options: Any) -> None:
        at: dict[str, Any] = {"grid_dim": 2, "block_dim": 32, **options}
        first = {name: value for name, value in at.items() if name in ("grid_dim", "block_dim", "stream")}
        self.ctx.enqueue_function(produce, self.x, self.times, 2_000_000, early=early, **first)
        if between is not None:
            between()
        self.ctx.enqueue_function(consume, self.x, self.out, self.times, pdl=pdl, **at)

    def check(self, runs: int, *, overlapped: bool | None) -> None:
        made, began, ended = get(self.ctx, self.times).tolist()
        assert get(self.ctx, self.x).tolist() == [2.0 * runs] * 64
        assert get(self.ctx, self.out).tolist() == [10.0 * (2 * runs - 1)] * 64
        assert made <= ended
        if overlapped is not None and not (overlapped and Chain.one_by_one):
            assert (began < made) == overlapped


@pytest.fixture(autouse=True, scope="module")
def one_by_one(under_sanitizer: bool) -> None:
    Chain.one_by_one = under_sanitizer


def test_overlap(ctx: DeviceContext) -> None:
    Chain(ctx).run()
    Chain(ctx).run(early=False)  # both are compiled now, so the host is ahead of the GPU
    for early, pdl, overlapped in [(True, True, True), (True, False, False), (False, True, False)]:
        chain = Chain(ctx)
        chain.run(early=early, pdl=pdl)
        chain.check(1, overlapped=overlapped)


def test_overlap_on_a_stream(ctx: DeviceContext) -> None:
    with ctx.create_stream() as stream:
        Chain(ctx).run()
        chain = Chain(ctx)
        ctx.synchronize()
        for _ in range(3):
            chain.run(stream=stream)
        stream.synchronize()
        chain.check(3, overlapped=True)


def test_what_else_is_queued_is_waited_for(ctx: DeviceContext) -> None:
    chain = Chain(ctx)
    ctx.enqueue_fill(chain.x, 5.0)
    ctx.enqueue_function(consume, chain.x, chain.out, chain.times, grid_dim=2, block_dim=32, pdl=True)
    assert get(ctx, chain.out).tolist() == [50.0] * 64
    chain = Chain(ctx)
    chain.run(between=lambda: ctx.enqueue_fill(chain.out, -1.0))
    chain.check(1, overlapped=False)


def test_a_dependent_launch_of_clusters(ctx: DeviceContext) -> None:
    chain = Chain(ctx)
    chain.run(cluster_dim=2)
    chain.check(1, overlapped=None)


@kernel
def follow(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    wait_on_dependent_grids()
    out[global_idx.x] = x[global_idx.x] + 0.5


def test_over_a_range(ctx: DeviceContext) -> None:
    """What is only read still comes after the wait."""
    chain = Chain(ctx)
    for _ in range(3):
        ctx.enqueue_function(produce, chain.x, chain.times, 200_000, early=True, grid_dim=2, block_dim=32)
        a, b = chain.x.tensor(Layout.row_major(64)), chain.out.tensor(Layout.row_major(64))
        ctx.enqueue_function(follow, a, b, over=64, pdl=True)
    assert get(ctx, chain.out).tolist() == [3.5] * 64


# -- graphs, and launches by native code ----------------------------------------------------------


def test_captured(ctx: DeviceContext) -> None:
    chain, data = Chain(ctx), numbers(32 * 8)
    x, sums = put(ctx, data), ctx.enqueue_create_buffer(Float32, 8)
    u, v = put(ctx, numbers(2048)), ctx.enqueue_create_buffer(Float32, 2048)

    def work(cluster: int, pdl: bool) -> None:
        ctx.enqueue_function(cluster_sums, x, sums, size=32, grid_dim=8, block_dim=32, cluster_dim=cluster)
        launch_diffuse(ctx, u, v)
        chain.run(pdl=pdl)

    with ctx.capture() as graph:
        work(2, True)
    assert len(graph) == 4
    for _ in range(3):
        graph.replay()
    assert get(ctx, sums).tolist() == np.repeat(data.reshape(4, -1).sum(axis=1), 2).tolist()
    np.testing.assert_allclose(get(ctx, u), diffused(numbers(2048), 150), rtol=1e-4, atol=1e-2)
    chain.check(3, overlapped=True)
    with graph.update():
        work(4, False)
    graph.replay()
    assert get(ctx, sums).tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
    np.testing.assert_allclose(get(ctx, u), diffused(numbers(2048), 200), rtol=1e-4, atol=1e-2)
    chain.check(4, overlapped=False)


def test_native_launches_with_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was launched with attributes before is launched so again, without Python."""
    with DeviceContext(api="cuda") as ctx:
        chain, data = Chain(ctx), numbers(32 * 8)
        x, sums = put(ctx, data), ctx.enqueue_create_buffer(Float32, 8)
        ctx.compile_function(places)
        counted = [0]
        by_python = ctx.enqueue_by_python

        def counting(*args: Any, **named: Any) -> Any:
            counted[0] += 1
            return by_python(*args, **named)

        monkeypatch.setattr(ctx, "enqueue_by_python", counting)
        for _ in range(20):
            ctx.enqueue_function(cluster_sums, x, sums, size=32, grid_dim=8, block_dim=32, cluster_dim=4)
            assert get(ctx, sums).tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
            chain.run(pdl=True)
        ctx.synchronize()
        assert counted[0] <= 6
        chain.check(20, overlapped=True)


def test_native_launches_have_no_attributes() -> None:
    """What was launched plainly a hundred times is still launched with clusters when it says so."""
    with DeviceContext(api="cuda") as ctx:
        out = ctx.enqueue_create_buffer(Int32, 80)
        for n in range(40):
            cluster = (None, 2, 4)[n % 3]
            for _ in range(3):
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1)
            if cluster is not None:
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1, cluster_dim=cluster)
            assert set(get(ctx, out).reshape(-1, 10)[:, 3].tolist()) == {cluster or 1}
            with pytest.raises(LaunchError, match="does not divide"):
                ctx.enqueue_function(places, out, grid_dim=8, block_dim=1, cluster_dim=3)


def test_arrays_of_torch(ctx: DeviceContext) -> None:
    torch: Any = pytest.importorskip("torch")
    data = numbers(32 * 8)
    x, out = torch.from_numpy(data).cuda(), torch.zeros(8, device="cuda")
    for _ in range(12):
        ctx.enqueue_function(cluster_sums, x, out, size=32, grid_dim=8, block_dim=32, cluster_dim=4)
    assert out.cpu().tolist() == np.repeat(data.reshape(2, -1).sum(axis=1), 4).tolist()
