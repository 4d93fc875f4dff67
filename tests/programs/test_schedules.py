"""Orders of blocks and threads by seeds: right programs give the same, others show that they depend on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, Int, Int32, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, cluster_sync, global_idx, grid_sync, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.CompileWarning")


@kernel
def turns(order: Pointer[Int32], count: Pointer[Int32]):
    order[Int(Atomic.fetch_add(count, 1))] = Int32(global_idx.x)


def order_of(seed: int | None, blocks: int, threads: int) -> list[int]:
    """The threads of a launch in the order in which they came."""
    order, count = np.full(blocks * threads, -1, np.int32), np.zeros(1, np.int32)
    with DeviceContext(api="cpu", schedule=seed, threads=1) as ctx:
        for _ in range(12):  # so often that native code would launch it
            count[0] = 0
            ctx.enqueue_function(turns, order, count, grid_dim=blocks, block_dim=threads)
            ctx.synchronize()
    return order.tolist()


def test_blocks_and_threads_are_shuffled() -> None:
    every = list(range(50))
    assert order_of(None, 10, 5) == every
    blocks: set[tuple[int, ...]] = set()
    threads: set[tuple[int, ...]] = set()
    for seed in range(8):
        order = order_of(seed, 10, 5)
        assert sorted(order) == every
        assert order == order_of(seed, 10, 5)
        groups = [order[n : n + 5] for n in range(0, 50, 5)]
        (places,) = {tuple([number % 5 for number in group]) for group in groups}
        if seed < 2:
            assert places == tuple(sorted(places, reverse=seed == 1))
        blocks.add(tuple(group[0] // 5 for group in groups))
        threads.add(places)
    assert len(blocks) == len(threads) == 8


def test_warps_are_shuffled_as_wholes() -> None:
    seen: set[tuple[int, ...]] = set()
    for seed in range(8):
        order = order_of(seed, 1, 5 * 32 + 7)
        assert sorted(order) == list(range(167))
        lanes = list(range(32))[:: -1 if seed % 2 else 1]
        whole = [n for n in order if n < 160]
        warps = [whole[n : n + 32] for n in range(0, 160, 32)]
        if seed % 2 == 0:  # else what is more than whole warps comes first, and shifts them
            assert all([n % 32 for n in warp] == lanes for warp in warps)
        seen.add(tuple(order))
    assert len(seen) == 8


@kernel
def met(order: Pointer[Int32], count: Pointer[Int32], *, by: Comptime[str]):
    for _ in range(2):
        order[Int(Atomic.fetch_add(count, 1))] = Int32(block_idx.x)
        if by == "grid":
            grid_sync()
        else:
            cluster_sync()


@pytest.mark.parametrize(("by", "more"), [("grid", {"cooperative": True}), ("cluster", {"cluster_dim": 4})])
def test_blocks_that_meet_go_both_ways(by: str, more: dict[str, Any]) -> None:
    seen, size = set[tuple[int, ...]](), 8 if by == "grid" else 4
    for seed in range(8):
        order, count = np.full(16, -1, np.int32), np.zeros(1, np.int32)
        with DeviceContext(api="cpu", schedule=seed, threads=1) as ctx:
            ctx.enqueue_function(met, order, count, grid_dim=8, block_dim=1, by=by, **more)
            ctx.synchronize()
        rounds = [order[n : n + size].tolist() for n in range(0, 16, size)]
        assert all(sorted(each) == list(range(min(each), min(each) + size)) for each in rounds)
        seen.update(map(tuple, rounds))
    assert len(seen) == 16 // size


@kernel
def reversed_blocks(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    ours = stack_allocation(Float32, 32, address_space=AddressSpace.SHARED)
    i = global_idx.x
    ours[thread_idx.x] = x[i] if i < n else 0.0
    barrier()
    total = 0.0
    for k in range(32):
        total += ours[31 - k] * Float32(k)
    barrier()
    ours[31 - thread_idx.x] = total + Float32(block_idx.x)
    barrier()
    if i < n:
        out[i] = ours[thread_idx.x] * Float32(block_dim.x)


@pytest.mark.parametrize("checked", [False, True])
def test_right_programs_do_not_depend_on_it(checked: bool) -> None:
    x = np.random.default_rng(5).random(1000, np.float32)
    results: list[Any] = []
    for seed in (None, *range(8)):
        out = np.zeros_like(x)
        with DeviceContext(api="cpu", schedule=seed, checked=checked) as ctx:
            ctx.enqueue_function(reversed_blocks, x, out, 1000, grid_dim=32, block_dim=32)
            ctx.synchronize()
        results.append(out.tolist())
    assert all(found == results[0] for found in results)
    parts = np.zeros(1024, np.float32)
    parts[:1000] = x
    weights = np.arange(32, dtype=np.float64)[::-1]
    sums = (parts.reshape(32, 32) * weights).sum(1) + np.arange(32)
    assert np.allclose(results[0], (sums.repeat(32) * 32)[:1000], rtol=1e-5)


PROGRAM = """
import numpy as np
from weft import Int32, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

@kernel
def last(x: Pointer[Int32]):
    x[0] = Int32(global_idx.x)

@kernel
def each(x: Pointer[Int32]):
    x[global_idx.x] = Int32(global_idx.x)

ctx = DeviceContext(api="cpu")
x = np.zeros(8, np.int32)
print("begin")
ctx.enqueue_function({kernel}, x, grid_dim=4, block_dim=2)
ctx.synchronize()
print(x)
"""


def explored(tmp_path: Path, name: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(PROGRAM.format(kernel=name))
    command = [sys.executable, "-W", "ignore", "-m", "weft", "run", "--explore", "3", "program.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_programs_that_depend_on_it_are_found(tmp_path: Path) -> None:
    done = explored(tmp_path, "last")
    assert (done.returncode, done.stdout) == (1, "begin\n[7 0 0 0 0 0 0 0]\n")
    said = done.stderr.splitlines()[-3:]
    assert said[0] == "weft: with --schedule-seed 1 line 2 of the output is another:"
    assert said[1] == "  usually '[7 0 0 0 0 0 0 0]'"
    done = explored(tmp_path, "each")
    assert (done.returncode, done.stdout) == (0, "begin\n[0 1 2 3 4 5 6 7]\n")
    assert done.stderr.splitlines()[-1] == "weft: the same output in 4 orders"
