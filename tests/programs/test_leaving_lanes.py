"""A ``while`` whose condition assigns: a thread that has left does not ask again, whatever the others do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from weft import Float16, Int, Int16, Pointer, UInt16, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")


def halved(a: int, b: int, c: int) -> int:
    total = 0
    while (a := a // 2) > 1 and (d := a - b) != c:
        total += d
    return total


@kernel
def rows(n: Int, x: Pointer[Int], y: Pointer[Int], z: Pointer[Int], out: Pointer[Int]):
    i = global_idx.x
    if i < n:
        a, b, c = x[i], y[i], z[i]
        total = 0
        while (a := a // 2) > 1 and (d := a - b) != c:
            total += d
        out[i] = total


def test_a_condition_that_assigns(device: DeviceContext) -> None:
    triples = [*product((-1, 0, 1, 2, 3, 9, 40, 41), repeat=3)]
    grid = np.array(triples, np.int64)
    x, y, z = (np.ascontiguousarray(grid[:, n]) for n in range(3))
    out = np.zeros(len(grid), np.int64)
    device.enqueue_function(rows, len(grid), x, y, z, out, grid_dim=8, block_dim=64)
    device.synchronize()
    assert out.tolist() == [halved(*map(int, row)) for row in grid]


@kernel
def second_loop(x: Pointer[Int16], out: Pointer[Int16], c: UInt16):
    i = global_idx.x
    v = x[i]
    held = Int16(4)
    count = Int(0)
    while v < 1 and count < 10:
        held = Int16(4) - v
        count += 1
    while count < (count & 15) and c < 2:  # never
        held = Int16(4)
        if Float16(held) != 1.0:
            continue
    out[i] = held


def test_what_a_loop_gives_that_runs_no_time(device: DeviceContext) -> None:
    x = np.random.default_rng(0).integers(-9000, 9000, 32).astype(np.int16)
    out = np.zeros(32, np.int16)
    device.enqueue_function(second_loop, x, out, 1, grid_dim=1, block_dim=32)
    device.synchronize()
    np.testing.assert_array_equal(out, np.where(x < 1, 4 - x, 4))
