"""Blocks that wait for each other: those of a cluster, and all of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from group_kernels import cluster_sums, diffuse, diffused, get, launch_diffuse, numbers, places, put
from weft import Float32, Int, Int32, Int64, Pointer, func, kernel
from weft.atomic import Atomic
from weft.diagnostics import LaunchError
from weft.gpu import (
    barrier,
    block_dim,
    block_idx,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_dim,
    cluster_sync,
    cluster_wait,
    global_idx,
    grid_dim,
    grid_sync,
    map_shared_rank,
    thread_idx,
)
from weft.gpu.host import DeviceContext, Dim
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

SHARED = AddressSpace.SHARED


# -- clusters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grid", "cluster"), [((6, 4, 2), (3, 2, 1)), ((8, 2, 4), (2, 1, 4)), ((5, 3, 2), None)], ids=str
)
def test_places(
    device: DeviceContext, grid: tuple[int, int, int], cluster: tuple[int, int, int] | None
) -> None:
    out = device.enqueue_create_buffer(Int32, 10 * int(np.prod(grid)))
    device.enqueue_function(places, out, grid_dim=grid, block_dim=1, cluster_dim=cluster)
    cx, cy, cz = cluster or (1, 1, 1)
    expected = [
        [x // cx, y // cy, z // cz, cx, cy, cz, x % cx, y % cy, z % cz]
        + [x % cx + cx * (y % cy + cy * (z % cz))]
        for z in range(grid[2])
        for y in range(grid[1])
        for x in range(grid[0])
    ]
    assert get(device, out).reshape(-1, 10).tolist() == expected


@pytest.mark.parametrize("cluster", [1, 2, 4, 7, 8, 16])
def test_shared_memory_of_a_cluster(device: DeviceContext, cluster: int) -> None:
    data = numbers(32 * 3 * cluster)
    out = device.enqueue_create_buffer(Float32, 3 * cluster)
    device.enqueue_function(
        cluster_sums,
        put(device, data),
        out,
        size=32,
        grid_dim=3 * cluster,
        block_dim=32,
        cluster_dim=Dim(cluster),
    )
    assert get(device, out).tolist() == np.repeat(data.reshape(3, -1).sum(axis=1), cluster).tolist()


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


def test_writes_into_a_neighbours_tile(device: DeviceContext) -> None:
    data = numbers(12 * 64).reshape(12, 8, 8)
    out = device.enqueue_create_buffer(Float32, data.size)
    layout = Layout.row_major(12, 8, 8)
    device.enqueue_function(
        pass_tiles,
        put(device, data).tensor(layout),
        out.tensor(layout),
        grid_dim=12,
        block_dim=(8, 8),
        cluster_dim=4,
    )
    expected = np.roll(data.reshape(3, 4, 8, 8), 1, axis=1).reshape(12, 8, 8).transpose(0, 2, 1)
    np.testing.assert_array_equal(get(device, out).reshape(12, 8, 8), expected)


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


def test_atomics_in_a_cluster(device: DeviceContext) -> None:
    data = np.random.default_rng(1).integers(0, 64, 5000).astype(np.int32)
    out = device.enqueue_create_buffer(Int32, 64)
    out.enqueue_fill(0)
    device.enqueue_function(
        cluster_histogram,
        put(device, data),
        out,
        5000,
        grid_dim=40,
        block_dim=128,
        cluster_dim=4,
        shared_mem_bytes=256,
    )
    assert get(device, out).tolist() == np.bincount(data, minlength=64).tolist()


def test_clusters_that_do_not_fit(device: DeviceContext) -> None:
    out = device.enqueue_create_buffer(Float32, 64)
    for cluster, message in [
        (3, r"grid_dim=\(32, 1, 1\) is 32 in x, which cluster_dim=\(3, 1, 1\) does not divide"),
        (32, "has 32 blocks; .* allows 16 per cluster at most"),
    ]:
        with pytest.raises(LaunchError, match=message):
            device.enqueue_function(places, out, grid_dim=32, block_dim=1, cluster_dim=cluster)  # pyright: ignore[reportArgumentType]


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


def test_cooperative_reduction(device: DeviceContext) -> None:
    data = numbers(100_003)
    blocks = device.info.multiprocessors
    out, partial = (
        device.enqueue_create_buffer(Float32, blocks * 256),
        device.enqueue_create_buffer(Float32, blocks),
    )
    device.enqueue_function(
        sum_all,
        put(device, data),
        partial,
        out,
        data.size,
        grid_dim=blocks,
        block_dim=256,
        cooperative=True,
    )
    assert set(get(device, out).tolist()) == {float(data.astype(np.int64).sum())}


@pytest.mark.parametrize("options", [{}, {"cluster_dim": 2}, {"grid_dim": (4, 8)}], ids=str)
def test_many_barriers_of_a_grid(device: DeviceContext, options: dict[str, Any]) -> None:
    data = numbers(2048 if "grid_dim" not in options else 256)
    x, y = put(device, data), device.enqueue_create_buffer(Float32, data.size)
    launch_diffuse(device, x, y, **options)
    np.testing.assert_allclose(get(device, x), diffused(data, 50), rtol=1e-4, atol=1e-2)


def test_cooperative_launches_beside_each_other(device: DeviceContext) -> None:
    """Two launches of one kernel at a time do not count each other's blocks."""
    datas = [numbers(2048), numbers(2047)]
    with device.create_stream() as one, device.create_stream() as two:
        buffers = [(put(device, d), device.enqueue_create_buffer(Float32, d.size)) for d in datas]
        device.synchronize()
        for _ in range(5):
            for stream, (x, y) in zip((one, two), buffers, strict=True):
                launch_diffuse(device, x, y, stream=stream)
        one.synchronize()
        two.synchronize()
    for data, (x, _) in zip(datas, buffers, strict=True):
        np.testing.assert_allclose(get(device, x), diffused(data, 250), rtol=1e-4, atol=1e-2)


@pytest.mark.gpu
def test_blocks_that_do_not_fit() -> None:
    ctx = DeviceContext(api="cuda")
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


# -- what lives over a meeting --------------------------------------------------------------------


@func
def shared_by_all(x: Pointer[Int32], value: Int32) -> Int32:
    """A helper that meets: the value of the next block's first thread."""
    if thread_idx.x == 0:
        x[block_idx.x] = value
    grid_sync()
    return x[(block_idx.x + 1) % grid_dim.x]


@kernel
def lives(x: Pointer[Int32], out: Pointer[Int32], rounds: Int):
    """Variables, local arrays, shared memory and loop indices that go over meetings, some under branches."""
    mine = stack_allocation(Int32, 3)
    tile = stack_allocation(Int32, 8, address_space=SHARED)
    i = thread_idx.x
    total = Int32(global_idx.x)
    for k in range(3):
        mine[k] = Int32(k) * total
    tile[i] = total * 2
    odd = rounds % 2 == 1
    step = 0
    while step < rounds:
        total += shared_by_all(x, total) + Int32(step)
        step += 1
        if step == 5:
            break
        if odd:
            grid_sync()
            mine[step % 3] += tile[(i + 1) % block_dim.x]
        else:
            for k in range(2):
                grid_sync()
                total += Int32(k * step)
            continue
        grid_sync()
    grid_sync()
    out[global_idx.x] = total + mine[0] + 10 * mine[1] + 100 * mine[2] + tile[i]


def lived(blocks: int, threads: int, rounds: int) -> list[int]:
    total = np.arange(blocks * threads, dtype=np.int32)
    mine = [k * total for k in range(3)]
    tile = 2 * total
    step = 0
    while step < rounds:
        firsts = total[::threads]
        total = total + np.roll(np.repeat(firsts, threads), -threads) + np.int32(step)
        step += 1
        if step == 5:
            break
        if rounds % 2 == 1:
            mine[step % 3] = mine[step % 3] + np.roll(tile.reshape(blocks, threads), -1, axis=1).reshape(-1)
        else:
            total = total + np.int32(step)
    return (total + mine[0] + 10 * mine[1] + 100 * mine[2] + tile).astype(np.int32).tolist()


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4, 7, 8])
def test_what_lives_over_a_meeting(device: DeviceContext, rounds: int) -> None:
    out = device.enqueue_create_buffer(Int32, 40)
    x = put(device, np.zeros(5, np.int32))
    device.enqueue_function(lives, x, out, rounds, grid_dim=5, block_dim=8, cooperative=True)
    assert get(device, out).tolist() == lived(5, 8, rounds)


@kernel
def meets_at_two_levels(out: Pointer[Int32], sums: Pointer[Int32], rounds: Int):
    """A grid of clusters: sums of clusters by their shared memory, then of the grid, over and over."""
    mine = stack_allocation(Int32, 4, address_space=SHARED)
    value = Int32(global_idx.x % 5)
    for _ in range(rounds):
        mine[thread_idx.x] = value
        cluster_sync()
        if thread_idx.x == 0:
            total = Int32(0)
            for rank in range(cluster_dim.x):
                theirs = map_shared_rank(mine, rank)
                for i in range(4):
                    total += theirs[i]
            sums[block_idx.x] = total
        grid_sync()
        value = (value + sums[(block_idx.x + cluster_dim.x) % grid_dim.x]) % 7
        grid_sync()
    mine[thread_idx.x] += value
    cluster_sync()
    out[global_idx.x] = map_shared_rank(mine, cluster_dim.x - 1 - block_rank_in_cluster())[thread_idx.x]
    cluster_sync()  # no block ends while another reads its memory


@pytest.mark.parametrize(("grid", "cluster"), [(6, 2), (8, 4), (3, 1)])
def test_a_grid_of_clusters(device: DeviceContext, grid: int, cluster: int) -> None:
    out, sums = device.enqueue_create_buffer(Int32, 4 * grid), device.enqueue_create_buffer(Int32, grid)
    device.enqueue_function(
        meets_at_two_levels, out, sums, 4, grid_dim=grid, block_dim=4, cluster_dim=cluster, cooperative=True
    )
    value = before = np.arange(4 * grid) % 5
    for _ in range(4):
        before = value
        totals = np.repeat(value.reshape(-1, 4 * cluster).sum(axis=1), cluster)
        value = (value + np.repeat(np.roll(totals, -cluster), 4)) % 7
    last = (before + value).reshape(-1, cluster, 4)[:, ::-1].reshape(-1)
    assert get(device, out).tolist() == last.tolist()


@kernel
def many_threads(x: Pointer[Int64], size: Int):
    """Each thread of a large grid adds what its mirror image has."""
    i = global_idx.x
    other = x[size - 1 - i]
    grid_sync()
    x[i] += other
    grid_sync()
    other = x[(i + 1) % size]
    grid_sync()
    x[i] -= other


def test_more_blocks_than_a_gpu_runs_at_once(cpu: DeviceContext) -> None:
    """A CPU takes any number; its workers share the blocks of each piece."""
    size = 4096 * 256
    data = np.random.default_rng(3).integers(-99, 99, size)
    for _ in range(3):
        x = put(cpu, data)
        cpu.enqueue_function(many_threads, x, size, grid_dim=4096, block_dim=256, cooperative=True)
        expected = data + data[::-1]
        np.testing.assert_array_equal(get(cpu, x), expected - np.roll(expected, -1))


# -- threads that leave, and that part ------------------------------------------------------------


@kernel
def some_return(x: Pointer[Int32], rounds: Int):
    """Threads that have returned are not waited for."""
    i = global_idx.x
    mine = stack_allocation(Int32, 8, address_space=SHARED)
    mine[thread_idx.x] = x[i]
    for k in range(rounds):
        if thread_idx.x == k + 2:
            return
        cluster_sync()
        x[i] += map_shared_rank(mine, 1 - block_rank_in_cluster())[thread_idx.x]
    cluster_sync()


def test_threads_that_return(cpu: DeviceContext) -> None:
    """On a GPU that is left open, where lanes of a warp part."""
    data = np.arange(32, dtype=np.int32)
    x = put(cpu, data)
    cpu.enqueue_function(some_return, x, 3, grid_dim=4, block_dim=8, cluster_dim=2)
    swapped = data.reshape(2, 2, 8)[:, ::-1].reshape(-1)
    rounds = np.array([3, 3, 0, 1, 2, 3, 3, 3])
    assert get(cpu, x).tolist() == (data + np.tile(rounds, 4) * swapped).tolist()


@kernel
def all_return(x: Pointer[Int32]):
    n = 0  # weft: ignore[unused-variable]
    while True:
        grid_sync()
        n += 1
        x[global_idx.x] += 1
        if x[global_idx.x] > 3:
            return
        grid_sync()


def test_a_loop_that_all_leave(cpu: DeviceContext) -> None:
    x = put(cpu, np.zeros(6, np.int32))
    cpu.enqueue_function(all_return, x, grid_dim=3, block_dim=2, cooperative=True)
    assert get(cpu, x).tolist() == [4] * 6


@kernel
def asserts(x: Pointer[Int32]):
    i = global_idx.x
    assert x[i] != 5, f"{i} has it"
    grid_sync()
    x[i] += 1


def test_an_assertion_ends_its_thread(cpu: DeviceContext) -> None:
    x = put(cpu, np.arange(8, dtype=np.int32))
    cpu.enqueue_function(asserts, x, grid_dim=2, block_dim=4, cooperative=True)
    with pytest.raises(Exception, match="5 has it"):
        cpu.synchronize()
    assert get(cpu, x).tolist() == [1, 2, 3, 4, 5, 5, 7, 8]


@kernel
def meets_by_hand(x: Pointer[Int32], here: Pointer[Int32], out: Pointer[Int32]):
    x[global_idx.x] = Int32(global_idx.x)
    barrier()
    if thread_idx.x == 0:
        Atomic.fetch_add(here, Int32(1), ordering="release")
        rounds = 0
        while Atomic.load(here, ordering="acquire") < Int32(grid_dim.x) and rounds < 300_000_000:
            rounds += 1
    barrier()
    out[global_idx.x] = x[grid_dim.x * block_dim.x - 1 - global_idx.x]


@pytest.mark.parametrize("checked", [False, {"bounds"}])
def test_blocks_that_wait_for_later_ones_by_a_loop(checked: Any) -> None:
    with DeviceContext(api="cpu", checked=checked) as ctx:
        x, here, out = (put(ctx, np.zeros(n, np.int32)) for n in (20, 1, 20))
        for turn in range(1, 3):
            ctx.enqueue_function(meets_by_hand, x, here, out, grid_dim=5, block_dim=4, cooperative=True)
            assert get(ctx, out).tolist() == list(range(20))[::-1], turn
            here.enqueue_fill(0)
            out.enqueue_fill(0)


@kernel
def parts_in_a_grid(x: Pointer[Int32], n: Int):
    if x[block_idx.x] > 0:
        grid_sync()
    x[n + global_idx.x] = 1


@kernel
def parts_in_a_cluster(x: Pointer[Int32], n: Int):
    for _ in range(Int(x[block_idx.x])):
        cluster_sync()
    x[n + global_idx.x] = 1


@kernel
def parts_behind_a_barrier(x: Pointer[Int32], n: Int):
    if x[block_idx.x] > 0:
        barrier()
        x[n + global_idx.x] = 0
        grid_sync()
    x[n + global_idx.x] = 1


@kernel
def leaves_what_meets(x: Pointer[Int32], n: Int):
    for _ in range(n):
        barrier()
        if x[block_idx.x] == 0:
            break
        grid_sync()
    x[n + global_idx.x] = 1


@pytest.mark.parametrize("api", ["cpu", "interpreter"])
@pytest.mark.parametrize(
    ("kernel", "options", "message", "where"),
    [
        (
            parts_behind_a_barrier,
            {"cooperative": True},
            "threads of the grid part before a barrier of kernel 'parts_behind_a_barrier'",
            "for thread (0, 0, 0) of block (0, 0, 0) and not for thread (0, 0, 0) of block (2, 0, 0)",
        ),
        (
            leaves_what_meets,
            {"cooperative": True},
            "threads of the grid part before a barrier of kernel 'leaves_what_meets'",
            "for thread (0, 0, 0) of block (2, 0, 0) and not for thread (0, 0, 0) of block (0, 0, 0)",
        ),
        (
            parts_in_a_grid,
            {"cooperative": True},
            "threads of the grid part before a barrier of kernel 'parts_in_a_grid'",
            "for thread (0, 0, 0) of block (0, 0, 0) and not for thread (0, 0, 0) of block (2, 0, 0)",
        ),
        (
            parts_in_a_cluster,
            {"cluster_dim": 2},
            "threads of a cluster part before a barrier of kernel 'parts_in_a_cluster'",
            "it is 0 for thread (0, 0, 0) of block (2, 0, 0) and 1 for thread (0, 0, 0) of block (3, 0, 0)",
        ),
    ],
)
def test_threads_that_part(kernel: Any, options: dict[str, Any], message: str, where: str, api: str) -> None:
    """They are told of on a CPU; a GPU would wait for ever. What follows does not run."""
    cpu = DeviceContext(api=api)
    x = put(cpu, np.array([1, 1, 0, 1] + [0] * 8, np.int32))
    cpu.enqueue_function(kernel, x, 4, grid_dim=4, block_dim=2, **options)
    with pytest.raises(Exception, match=message) as raised:
        cpu.synchronize()
    assert where in str(raised.value)
    ran = [0] * 8 if "cooperative" in options else [1] * 4 + [0] * 4
    assert get(cpu, x).tolist()[4:] == ran


def test_checked() -> None:
    """Checks find what is wrong before and after a meeting, and nothing in what is right."""
    with DeviceContext(api="cpu", checked=True) as ctx:
        test_what_lives_over_a_meeting(ctx, 4)
        test_shared_memory_of_a_cluster(ctx, 4)
        test_a_grid_of_clusters(ctx, 6, 2)
        x = put(ctx, np.zeros(16, np.int64))
        ctx.enqueue_function(many_threads, x, 17, grid_dim=4, block_dim=4, cooperative=True)
        with pytest.raises(Exception, match=r"element 16 of(?s:.*)element 16 of"):
            ctx.synchronize()
