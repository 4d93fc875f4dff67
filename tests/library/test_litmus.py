"""What the memory model forbids is never seen: litmus tests at many places, by blocks that run at once.

Their names and outcomes are those of Alglave et al., "GPU Concurrency: Weak Behaviours and Programming
Assumptions" (2015), under the orderings of C++, which PTX's memory model has as well.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Comptime, Float32, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic, Ordering, Scope, fence
from weft.gpu import block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.gpu.semaphore import Semaphore

PLACES = 1 << 13
ROUNDS = 4
THREADS = 1024
"""Of a block: so many that a CPU takes several threads of its own for two blocks."""
SPINS = 500


def seen(
    device: DeviceContext, test: Any, blocks: int, results: int, **orderings: Any
) -> set[tuple[int, ...]]:
    """What was read at all places: each block is one thread of the test, at all of them in turn."""
    x, y, out, arrived = (device.enqueue_create_buffer(Int32, PLACES * n) for n in (1, 1, results, 1))
    found: set[tuple[int, ...]] = set()
    for _ in range(ROUNDS):
        for one in (x, y, out, arrived):
            one.enqueue_fill(0)
        device.enqueue_function(
            test, x, y, out, arrived, PLACES, grid_dim=blocks, block_dim=THREADS, **orderings
        )
        with out.map_to_host() as host:
            rows: npt.NDArray[np.int32] = np.asarray(host).reshape(results, PLACES)
            found |= {tuple(column) for column in np.unique(rows, axis=1).T.tolist()}
    return found


@func
def meet(arrived: Pointer[Int32]):
    """Wait for the others at a place, if they run at the same time, so that they come there together."""
    Atomic.fetch_add(arrived, 1)
    spins = 0
    while spins < SPINS and Atomic.load(arrived) < Int32(grid_dim.x):
        spins += 1


@kernel
def message(
    x: Pointer[Int32],
    y: Pointer[Int32],
    out: Pointer[Int32],
    arrived: Pointer[Int32],
    places: Int,
    *,
    give: Comptime[Ordering],
    take: Comptime[Ordering],
    fenced: Comptime[bool] = False,
    scope: Comptime[Scope] = "device",
):
    """One writes what is sent, and then that it is there; the other reads that, and then what was sent."""
    for i in range(thread_idx.x, places, block_dim.x):
        meet(arrived + i)
        if block_idx.x == 0:
            Atomic.store(x + i, 1)
            if fenced:
                fence("release", scope=scope)
            Atomic.store(y + i, 1, ordering=give, scope=scope)
        else:
            there = Atomic.load(y + i, ordering=take, scope=scope)
            if fenced:
                fence("acquire", scope=scope)
            out[i] = there
            out[places + i] = Atomic.load(x + i)


@func
def crossed(out: Pointer[Int32], mine: Pointer[Int32], theirs: Pointer[Int32], how: Comptime[str]):
    """Writes at one place and reads at the other, or the other way round."""
    if how == "store, then load":
        Atomic.store(mine, 1, ordering="seq_cst")
        out[0] = Atomic.load(theirs, ordering="seq_cst")
    elif how == "relaxed":
        Atomic.store(mine, 1)
        out[0] = Atomic.load(theirs)
    elif how == "store, fence, load":
        Atomic.store(mine, 1)
        fence("seq_cst")
        out[0] = Atomic.load(theirs)
    else:
        out[0] = Atomic.load(theirs, ordering="acquire")
        Atomic.store(mine, 1, ordering="release")


@kernel
def buffering(
    x: Pointer[Int32],
    y: Pointer[Int32],
    out: Pointer[Int32],
    arrived: Pointer[Int32],
    places: Int,
    *,
    how: Comptime[str],
):
    for i in range(thread_idx.x, places, block_dim.x):
        meet(arrived + i)
        if block_idx.x == 0:
            crossed(out + i, x + i, y + i, how)
        else:
            crossed(out + (places + i), y + i, x + i, how)


@kernel
def readers(x: Pointer[Int32], y: Pointer[Int32], out: Pointer[Int32], arrived: Pointer[Int32], places: Int):
    """Two write at two places, two others read both: they must agree on what was written first."""
    for i in range(thread_idx.x, places, block_dim.x):
        meet(arrived + i)
        if block_idx.x == 0:
            Atomic.store(x + i, 1, ordering="seq_cst")
        elif block_idx.x == 1:
            Atomic.store(y + i, 1, ordering="seq_cst")
        elif block_idx.x == 2:
            out[i] = Atomic.load(x + i, ordering="seq_cst")
            out[places + i] = Atomic.load(y + i, ordering="seq_cst")
        else:
            out[2 * places + i] = Atomic.load(y + i, ordering="seq_cst")
            out[3 * places + i] = Atomic.load(x + i, ordering="seq_cst")


ORDERS: list[dict[str, Any]] = [
    {"give": "release", "take": "acquire"},
    {"give": "seq_cst", "take": "seq_cst"},
    {"give": "release", "take": "acquire", "scope": "system"},
    {"give": "relaxed", "take": "relaxed", "fenced": True},
]


@pytest.mark.parametrize("orders", ORDERS, ids=lambda one: "-".join(map(str, one.values())))
def test_message_passing(device: DeviceContext, orders: dict[str, Any]) -> None:
    assert (1, 0) not in seen(device, message, 2, 2, **orders)


@pytest.mark.parametrize("how", ["store, then load", "store, fence, load"])
def test_store_buffering(device: DeviceContext, how: str) -> None:
    """One of them must see what the other wrote."""
    assert (0, 0) not in seen(device, buffering, 2, 2, how=how)


def test_load_buffering(device: DeviceContext) -> None:
    """They cannot both read what is written later."""
    assert (1, 1) not in seen(device, buffering, 2, 2, how="load, then store")


def test_independent_readers_of_independent_writes(device: DeviceContext) -> None:
    assert (1, 0, 1, 0) not in seen(device, readers, 4, 4)


@kernel
def in_turn(x: Pointer[Float32], total: Pointer[Float32], turns: Pointer[Int32]):
    turn = Semaphore(turns)
    turn.wait(block_idx.x)
    total[thread_idx.x] += x[global_idx.x]
    turn.release(block_idx.x + 1)


def test_blocks_take_turns(device: DeviceContext) -> None:
    """Sums of floats come out as in one loop, since a semaphore says whose turn it is."""
    x = np.random.default_rng(3).standard_normal((40, 64)).astype(np.float32)
    given, total = device.enqueue_create_buffer(Float32, x.size), device.enqueue_create_buffer(Float32, 64)
    turns = device.enqueue_create_buffer(Int32, 1)
    with given.map_to_host() as host:
        host[:] = x.reshape(-1).tolist()
    total.enqueue_fill(0.0)
    turns.enqueue_fill(0)
    device.enqueue_function(in_turn, given, total, turns, grid_dim=40, block_dim=64)
    with total.map_to_host() as host:
        np.testing.assert_array_equal(np.asarray(host), functools.reduce(np.add, x, np.zeros(64, np.float32)))
