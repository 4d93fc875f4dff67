"""Tuned kernels: what is chosen, from which, and by what; the clock is a made-up one but for one test."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import (
    Comptime,
    Config,
    Float32,
    Int,
    LaunchError,
    PerformanceWarning,
    Pointer,
    UInt64,
    autotune,
    config,
    kernel,
    tile,
)
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.gpu.mbarrier import SharedMemBarrier
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.math import ceildiv
from weft.memory import AddressSpace, stack_allocation
from weft.tuning import Autotuner, PerConfig

N = 1000


@kernel
def scale(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
    for i in range(global_idx.x * EACH, min(n, (global_idx.x + 1) * EACH)):
        out[i] = x[i] * 2.0


@kernel
def add_up(x: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
    for i in range(global_idx.x * EACH, min(n, (global_idx.x + 1) * EACH)):
        x[i] += 1.0


@kernel
def bad(x: Pointer[Float32], n: Int, *, HOW: Comptime[str]):
    if HOW == "hang":
        while x[0] >= 0.0:
            x[0] += 0.0
    if HOW == "fault":
        x[global_idx.x + (1 << 40)] = 1.0
    x[0] += 1.0


def blocks(c: Config) -> int:
    return ceildiv(N, 64 * c["EACH"])


def times(table: dict[int, float], seen: list[Config] | None = None) -> Callable[[Config, Any], float]:
    """A clock by which a configuration takes what the table says of its EACH."""

    def measure(c: Config, launch: Callable[[], object]) -> float:
        if seen is not None:
            seen.append(c)
        return table[c["EACH"]]

    return measure


@pytest.fixture
def memory(device: DeviceContext) -> tuple[Any, Any]:
    x, out = (device.enqueue_create_buffer(Float32, N) for _ in range(2))
    device.enqueue_copy(dst=x, src=np.arange(N, dtype=np.float32))
    out.enqueue_fill(-1.0)
    return x, out


def test_a_launch_takes_the_fastest_and_gives_what_the_kernel_does(
    device: DeviceContext, memory: tuple[Any, Any]
) -> None:
    x, out = memory
    tuned = autotune({"EACH": [1, 2, 4]}, key=["n"], measure=times({1: 3.0, 2: 1.0, 4: 2.0}))(scale)
    device.enqueue_function(tuned, x, out, N, grid_dim=blocks, block_dim=64)
    assert tuned.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 2}
    with out.map_to_host() as host:
        np.testing.assert_array_equal(host, 2.0 * np.arange(N, dtype=np.float32))


def test_measuring_launches_on_copies(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, _ = memory

    def measure(c: Config, launch: Callable[[], object]) -> float:
        launch()
        launch()
        return 1.0 / c["EACH"]

    tuned = autotune({"EACH": [1, 2]}, measure=measure)(add_up)
    device.enqueue_function(tuned, x, N, grid_dim=blocks, block_dim=64)
    with x.map_to_host() as host:  # once
        np.testing.assert_array_equal(host, np.arange(N, dtype=np.float32) + 1.0)


def test_measured_for_each_class_once(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    seen: list[Config] = []
    tuned = autotune({"EACH": [1, 2]}, key=["n"], measure=times({1: 1.0, 2: 2.0}, seen))(scale)
    for n in (10, 10, 20, 10):
        device.enqueue_function(tuned, x, out, n, grid_dim=blocks, block_dim=64)
    assert len({id(c) for c in seen}) == 2
    once = len(seen)
    device.enqueue_function(tuned, x, out, 30, grid_dim=blocks, block_dim=64)
    assert len(seen) == once + once // 2


def test_what_of_the_key_counts(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    seen: list[Config] = []
    rounded = {"n": int.bit_length}
    tuned = autotune({"EACH": [1, 2]}, key=rounded, measure=times({1: 1.0, 2: 2.0}, seen))(scale)
    device.enqueue_function(tuned, x, out, 65, grid_dim=blocks, block_dim=64)
    once = len(seen)
    device.enqueue_function(tuned, x, out, 127, grid_dim=blocks, block_dim=64)
    assert len(seen) == once
    device.enqueue_function(tuned, x, out, 128, grid_dim=blocks, block_dim=64)
    assert len(seen) == 2 * once


def test_in_the_cache_for_other_processes(
    device: DeviceContext, memory: tuple[Any, Any], tmp_path: Path
) -> None:
    x, out = memory
    with config.scope(cache_dir=tmp_path):
        first = autotune({"EACH": [1, 2]}, key=["n"], measure=times({1: 2.0, 2: 1.0}))(scale)
        first.choice(device, x, out, N, grid_dim=blocks, block_dim=64)
        seen: list[Config] = []
        second = autotune({"EACH": [1, 2]}, key=["n"], measure=times({1: 1.0, 2: 2.0}, seen))(scale)
        assert second.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 2}
        assert not seen
        for file in (tmp_path / "weft-compiled").glob("*.weft"):
            file.write_bytes(file.read_bytes()[:-1])  # as if a disk had failed
        third = autotune({"EACH": [1, 2]}, key=["n"], measure=times({1: 1.0, 2: 2.0}, seen))(scale)
        assert third.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 1}


def test_an_edit_of_the_kernel_is_measured_anew(
    device: DeviceContext, memory: tuple[Any, Any], tmp_path: Path
) -> None:
    x, out = memory

    def made(factor: float) -> Any:
        @kernel
        def scale(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
            if global_idx.x < n:
                out[global_idx.x] = x[global_idx.x] * factor

        return scale

    seen: list[Config] = []
    with config.scope(cache_dir=tmp_path):
        for factor, measured in ((2.0, True), (2.0, False), (3.0, True)):
            seen.clear()
            tuned = autotune({"EACH": [1, 2]}, measure=times({1: 1.0, 2: 2.0}, seen))(made(factor))
            tuned.choice(device, x, out, N, grid_dim=blocks, block_dim=64)
            assert bool(seen) == measured


def test_launch_options_are_tuned_too(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, _ = memory

    @kernel
    def widths(x: Pointer[Float32]):
        if thread_idx.x == 0:
            x[block_idx.x] = block_dim.x

    tuned = autotune(
        [Config(block_dim=32), {"block_dim": 128}], measure=lambda c, launch: 1.0 / c["block_dim"]
    )(widths)
    device.enqueue_function(tuned, x, grid_dim=3)
    with x.map_to_host() as host:
        assert list(host)[:4] == [128, 128, 128, 3]


def test_what_cannot_be_launched_is_left_out(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    seen: list[Config] = []
    space = {"EACH": [1, 2], "block_dim": [64, 4096], "shared_mem_bytes": [0, 1 << 30]}
    tuned = autotune(space, measure=times({1: 2.0, 2: 1.0}, seen))(scale)
    found = tuned.choice(device, x, out, N, grid_dim=lambda c: ceildiv(N, c["block_dim"] * c["EACH"]))
    assert found == {"EACH": 2, "block_dim": 64, "shared_mem_bytes": 0}
    assert set(seen) == {Config(EACH=n, block_dim=64, shared_mem_bytes=0) for n in (1, 2)}


def test_when_leaves_out(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    clock = times({1: 3.0, 2: 2.0, 4: 1.0})

    def when(config: Config, n: int) -> bool:
        return config["EACH"] <= n

    tuned = autotune({"EACH": [1, 2, 4]}, when=when, key=["n"], measure=clock)(scale)
    for n, each in ((1, 1), (3, 2), (4, 4)):
        assert tuned.choice(device, x, out, n, grid_dim=blocks, block_dim=64) == {"EACH": each}


def test_what_is_remembered_of_a_class_is_not_taken_where_when_says_no(
    device: DeviceContext, memory: tuple[Any, Any], tmp_path: Path
) -> None:
    from weft.tuning import write_table

    x, out = memory
    seen: list[Config] = []

    def when(config: Config, n: int) -> bool:
        return n % config["EACH"] == 0

    def short(config: Config) -> bool:
        return config["EACH"] < 4

    def made(**more: Any) -> Any:
        clock = times({1: 3.0, 2: 2.0, 4: 1.0}, seen)
        options: dict[str, Any] = {"key": {"n": int.bit_length}, "measure": clock, **more}
        return autotune({"EACH": [1, 2, 4]}, **options)(scale)

    def choice(tuned: Any, n: int) -> int:
        return tuned.choice(device, x, out, n, grid_dim=blocks, block_dim=64)["EACH"]

    table = tmp_path / "scale.json"
    with config.scope(cache_dir=tmp_path / "cache"):
        first = made(when=when)
        assert [choice(first, n) for n in (12, 13, 14, 12, 13, 15)] == [4, 1, 2, 4, 1, 1]
        measured = len(seen)
        again = made(when=when)
        assert [choice(again, n) for n in (13, 12, 14)] == [1, 1, 1]  # which is right for all of them
        assert [choice(made(when=when), n) for n in (12, 14)] == [4, 2]
        assert len(seen) == measured  # all of it was remembered
        assert choice(made(when=short), 12) == 2
        write_table(table, [first.tune(device, x, out, 12, grid_dim=blocks, block_dim=64)])
        shipped = made(when=when, table=str(table))
        assert [choice(shipped, n) for n in (13, 12)] == [1, 1]
        assert choice(made(when=when, table=str(table)), 12) == 4


@pytest.mark.parametrize("given", ["x", None, float("nan"), -1.0])
def test_a_measure_that_gives_no_seconds_is_refused(
    device: DeviceContext, memory: tuple[Any, Any], given: Any, tmp_path: Path
) -> None:
    x, out = memory
    tuned = autotune({"EACH": [1, 2]}, measure=lambda config, launch: given)(scale)
    with config.scope(cache_dir=tmp_path), pytest.raises(LaunchError, match=r"gives .*EACH=1, where"):
        tuned.choice(device, x, out, N, grid_dim=blocks, block_dim=64)


def test_without_measuring(device: DeviceContext, memory: tuple[Any, Any], tmp_path: Path) -> None:
    x, out = memory
    seen: list[Config] = []
    space = {"EACH": [1, 2, 4]}
    clock = times({1: 3.0, 2: 2.0, 4: 1.0}, seen)
    first = autotune(space, measure=clock)(scale)
    kept = autotune(space, measure=clock, on_launch=False, default={"EACH": 2})(scale)

    def default(n: int) -> dict[str, int]:
        return {"EACH": 4 if n > 100 else 1}

    by_size = autotune(space, measure=clock, default=default)(scale)
    with config.scope(cache_dir=tmp_path):
        assert kept.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 2}
        with config.scope(tune=False):
            assert first.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 1}
            assert by_size.choice(device, x, out, N, grid_dim=blocks, block_dim=64) == {"EACH": 4}
            assert by_size.choice(device, x, out, 10, grid_dim=blocks, block_dim=64) == {"EACH": 1}
        assert not seen
        found = kept.tune(device, x, out, N, grid_dim=blocks, block_dim=64)
    assert (found.config, found.seconds, found.default) == ({"EACH": 4}, 1.0, 2.0)


def test_within_a_capture_the_default_told(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    tuned = autotune({"EACH": [1, 2]}, measure=times({1: 2.0, 2: 1.0}), table="none.json")(scale)
    with pytest.warns(PerformanceWarning, match=r"scale takes EACH=1, untuned: within a capture"):
        with device.capture() as graph:
            device.enqueue_function(tuned, x, out, 7, grid_dim=blocks, block_dim=64)
    graph.replay()
    with out.map_to_host() as host:
        assert list(host)[:3] == [0.0, 2.0, 4.0]
    assert tuned.choice(device, x, out, 7, grid_dim=blocks, block_dim=64) == {"EACH": 2}  # not remembered


def test_bound_values(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    tuned = autotune({"EACH": [1, 2]}, measure=times({1: 2.0, 2: 1.0}))(scale)
    assert isinstance(tuned.bind(), Autotuner)
    assert not isinstance(tuned.bind(EACH=3), Autotuner)
    device.enqueue_function(tuned, x, out, 6, EACH=3, grid_dim=1, block_dim=2)
    with out.map_to_host() as host:
        assert list(host)[:7] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, -1.0]


def test_what_hangs_or_faults_is_left_out(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, _ = memory
    ways = ["hang", "fault", "well"]
    tuned = autotune({"HOW": ways}, timeout=1.0, default={"HOW": "well"})(bad)
    with pytest.warns(PerformanceWarning, match="HOW=hang: it took longer than 1 s; HOW=fault: "):
        found = tuned.tune(device, x, N, grid_dim=1, block_dim=1)
    assert [c["HOW"] for c, _ in found.left_out] == ["hang", "fault"]
    assert found.config == {"HOW": "well"}
    assert 0.0 < found.seconds == found.default
    with x.map_to_host() as host:
        assert list(host)[:2] == [0.0, 1.0]


def test_over_a_range(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory

    @kernel
    def times_factor(x: Pointer[Float32], out: Pointer[Float32], *, FACTOR: Comptime[float]):
        out[global_idx.x] = x[global_idx.x] * FACTOR

    seen: list[Config] = []

    def measure(c: Config, launch: Callable[[], object]) -> float:
        launch()
        seen.append(c)
        return c["FACTOR"]

    tuned = autotune({"FACTOR": [3.0, 2.0]}, measure=measure)(times_factor)
    device.enqueue_function(tuned, x, out, over=0)
    assert not seen
    device.enqueue_function(tuned, x, out, over=3)
    with out.map_to_host() as host:
        assert list(host)[:4] == [0.0, 2.0, 4.0, -1.0]


@kernel
def tile_to(x: TMATensorTile[Float32], out: Pointer[Float32], *, SIZE: Comptime[int]):
    tile = stack_allocation(Float32, 16 * 16, address_space=AddressSpace.SHARED, alignment=128)
    arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=AddressSpace.SHARED))
    if thread_idx.x == 0:
        arrived.init(1)
        x.prefetch_descriptor()
        arrived.expect_bytes(x.nbytes)
        x.async_copy(tile, arrived, (0, 0))
    barrier()
    arrived.wait(0)
    for i in range(thread_idx.x, 256, SIZE):
        out[i] = tile[i]


@tile.tile_kernel(threads=64)
def row_sums(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, WIDTH: Comptime[int]):
    total = tile.zeros((1, 1))
    for j in range(ceildiv(x.dim(1), WIDTH)):
        total = total + tile.load(x, (block_idx.x, j), (1, WIDTH)).sum(axis=1)
    tile.store(out, block_idx.x, total[:, 0] + 100.0 * tile.block_threads())


def test_kernels_for_tiles_and_their_threads() -> None:
    ctx, x, out = DeviceContext(api="cpu"), np.ones((3, 100), np.float32), np.zeros(3, np.float32)
    widths = autotune({"WIDTH": [32, 128]}, measure=lambda c, launch: 1.0 / c["WIDTH"])(row_sums)
    assert widths.choice(ctx, x, out, grid_dim=3) == Config(WIDTH=128)
    given: list[dict[str, Any]] = [{}, {"block_dim": 64}]
    for block in given:
        ctx.enqueue_function(widths, x, out, grid_dim=3, **block)
        ctx.synchronize()
        assert out.tolist() == [6500.0] * 3
    with pytest.raises(LaunchError, match="is a tile kernel of 64 threads, not of block_dim=32"):
        ctx.enqueue_function(widths, x, out, grid_dim=3, block_dim=32)

    def clock(c: Config, launch: Callable[[], object]) -> float:
        launch()
        return 1.0 / c["block_dim"]

    threads = autotune({"WIDTH": [32], "block_dim": [32, 128, 48]}, measure=clock)(row_sums)
    found = threads.tune(ctx, x, out, grid_dim=3)
    assert found.config == Config(WIDTH=32, block_dim=128)
    assert [config["block_dim"] for config, reason in found.left_out if "48: a tile kernel" in reason] == [48]
    ctx.enqueue_function(threads, x, out, grid_dim=3)
    ctx.synchronize()
    assert out.tolist() == [12900.0] * 3
    ctx.enqueue_function(threads, x, out, grid_dim=3, WIDTH=64, block_dim=256)
    ctx.synchronize()
    assert out.tolist() == [25700.0] * 3


@pytest.mark.parametrize("isolated", [True, False])
def test_each_launch_that_is_measured_finds_memory_as_it_was(device: DeviceContext, isolated: bool) -> None:
    @kernel
    def once(x: Pointer[Float32], out: Pointer[Float32], *, HOW: Comptime[str]):
        assert x[0] == 5.0
        out[0] = 1.0
        if HOW == "in place":
            x[0] += 1.0

    x = device.enqueue_create_buffer(Float32, 8)
    x.enqueue_fill(5.0)
    tuned = autotune({"HOW": ["in place", "elsewhere"]}, isolated=isolated)(once)
    found = tuned.tune(device, x, x.sub_buffer(4, 4), grid_dim=1, block_dim=1)
    assert found.left_out == ()
    with x.map_to_host() as host:
        assert list(host) == [5.0] * 8


def test_tiles_that_the_hardware_copies(device: DeviceContext) -> None:
    x, out = (device.enqueue_create_buffer(Float32, 1024) for _ in range(2))
    device.enqueue_copy(dst=x, src=np.arange(1024, dtype=np.float32))
    out.enqueue_fill(0.0)
    tile = device.create_tma_tile(x.tensor(Layout.row_major(32, 32)), (16, 16))
    tuned = autotune([{"SIZE": 32, "block_dim": 32}, {"SIZE": 64, "block_dim": 64}])(tile_to)
    found = tuned.tune(device, tile, out, grid_dim=1)
    assert found.left_out == ()
    device.enqueue_function(tuned, tile, out, grid_dim=1)
    with out.map_to_host() as host:
        expected = np.arange(1024.0).reshape(32, 32)[:16, :16]
        np.testing.assert_array_equal(np.array(host)[:256].reshape(16, 16), expected)


def test_arguments_of_a_configuration(device: DeviceContext) -> None:
    x, out = (device.enqueue_create_buffer(Float32, 1024) for _ in range(2))
    device.enqueue_copy(dst=x, src=np.arange(1024, dtype=np.float32))
    out.enqueue_fill(0.0)
    tile = PerConfig(
        lambda c: device.create_tma_tile(x.tensor(Layout.row_major(32, 32)), (c["ROWS"], 256 // c["ROWS"]))
    )

    @kernel
    def taken(x: TMATensorTile[Float32], out: Pointer[Float32], *, ROWS: Comptime[int]):
        here = stack_allocation(Float32, 256, address_space=AddressSpace.SHARED, alignment=128)
        arrived = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=AddressSpace.SHARED))
        if thread_idx.x == 0:
            arrived.init(1)
            x.prefetch_descriptor()
            arrived.expect_bytes(x.nbytes)
            x.async_copy(here, arrived, (0, 0))
        barrier()
        arrived.wait(0)
        for i in range(thread_idx.x, 256, 32):
            out[i] = here[i]

    def measure(c: Config, launch: Callable[[], object]) -> float:
        launch()
        return 1.0 / c["ROWS"]

    tuned = autotune({"ROWS": [8, 16]}, measure=measure)(taken)
    device.enqueue_function(tuned, tile, out, grid_dim=1, block_dim=32)
    with out.map_to_host() as host:
        expected = np.arange(1024.0).reshape(32, 32)[:16, :16]
        np.testing.assert_array_equal(np.array(host)[:256].reshape(16, 16), expected)


def test_pickled() -> None:
    def when(config: Config) -> bool:
        return config["EACH"] > 1

    tuned = autotune({"EACH": [1, 2]}, key={"n": abs}, when=when)(scale)
    again = pickle.loads(pickle.dumps(tuned))
    assert (again.configs, again.definition) == (tuned.configs, tuned.definition)
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 4)
    with config.scope(tune=False):
        assert again.choice(ctx, x, x, 4, grid_dim=1, block_dim=4) == {"EACH": 2}


def test_tables(device: DeviceContext, memory: tuple[Any, Any], tmp_path: Path) -> None:
    from weft.tuning import write_table

    x, out = memory
    path = tmp_path / "scale.json"
    space = {"EACH": [1, 2]}
    with config.scope(cache_dir=tmp_path / "one"):
        tuned = autotune(space, key=["n"], measure=times({1: 2.0, 2: 1.0}))(scale)
        choices = [tuned.tune(device, x, out, n, grid_dim=blocks, block_dim=64) for n in (10, 20)]
    write_table(path, choices[:1])
    write_table(path, [*choices, choices[1]])  # the last of a class stays
    entries = json.loads(path.read_text())["choices"]
    assert [(e["key"], e["config"]) for e in entries] == [({"n": 10}, {"EACH": 2}), ({"n": 20}, {"EACH": 2})]
    with config.scope(cache_dir=tmp_path / "two", tune=False):
        shipped = autotune(space, key=["n"], table=path)(scale)
        assert shipped.choice(device, x, out, 10, grid_dim=blocks, block_dim=64) == {"EACH": 2}
        assert shipped.choice(device, x, out, 30, grid_dim=blocks, block_dim=64) == {"EACH": 1}
        with pytest.raises(LaunchError, match=r"has \{'EACH': 2\} for n=10"):
            autotune({"EACH": [1, 3]}, key=["n"], table=path)(scale).choice(
                device, x, out, 10, grid_dim=blocks, block_dim=64
            )
        path.write_text("{")
        with pytest.raises(LaunchError, match="cannot be read"):
            autotune(space, key=["n"], table=path)(scale).choice(
                device, x, out, 10, grid_dim=blocks, block_dim=64
            )


@pytest.mark.parametrize("timeout", ["10", 0, None])
def test_a_time_that_is_no_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(LaunchError, match=r"timeout= is (.|\n)*write seconds"):
        autotune({"EACH": [1]}, key=["n"], timeout=timeout)(scale)


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # on a GPU launches copy them
def test_arrays_and_memory_that_arguments_share(device: DeviceContext) -> None:
    whole = np.arange(2 * N, dtype=np.float32)

    def measure(c: Config, launch: Callable[[], object]) -> float:
        launch()
        return 1.0 / c["EACH"]

    tuned = autotune({"EACH": [1, 2]}, key=["x"], measure=measure)(scale)
    device.enqueue_function(tuned, whole[: N + 8], whole[N - 8 : -8], 8, grid_dim=1, block_dim=8)
    device.synchronize()
    expected = np.arange(2 * N, dtype=np.float32)
    expected[N - 8 : N] = 2.0 * np.arange(8)
    np.testing.assert_array_equal(whole, expected)


def test_little_occupancy_is_left_out(device: DeviceContext, memory: tuple[Any, Any]) -> None:
    x, out = memory
    space = {"EACH": [1], "shared_mem_bytes": [0, 40_000]}
    tuned = autotune(space, min_occupancy=0.9, measure=lambda c, launch: 1.0)(scale)
    found = tuned.tune(device, x, out, N, grid_dim=blocks, block_dim=256)
    if device.api != "cuda":
        assert found.left_out == ()
        return
    ((left_out, reason),) = found.left_out
    assert left_out["shared_mem_bytes"] == 40_000
    assert reason.startswith("an occupancy of ")
    assert "less than 90%" in reason


def test_by_the_clock(device: DeviceContext) -> None:
    """One does 64 times the work, so no noise makes it the faster."""

    @kernel
    def work(x: Pointer[Float32], n: Int, *, ROUNDS: Comptime[int]):
        if global_idx.x < n:
            value = x[global_idx.x]
            for _ in range(ROUNDS):
                value = value * 0.5 + 1.0
            x[global_idx.x] = value

    x = device.enqueue_create_buffer(Float32, 1 << 14)
    x.enqueue_fill(1.0)
    for isolated in (True, False):
        tuned = autotune({"ROUNDS": [6400, 100]}, isolated=isolated)(work)
        found = tuned.tune(device, x, 1 << 14, grid_dim=64, block_dim=256)
        assert found.config == {"ROUNDS": 100}
        assert found.default > found.seconds > 0.0
