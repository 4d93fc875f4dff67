"""Loops that threads begin one behind the other, by steps that are arguments: beside Python's ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Int, Int32, Pointer, kernel
from weft.gpu import barrier, block_dim, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
BLOCK, N = 48, 500
STEPS = [1, 2, 7, 48, 96, 499, 500, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -1, -5, -200, -(2**63)]


@kernel
def plain(values: Pointer[Int32], out: Pointer[Int], n: Int, step: Int):
    total = Int(0)
    for i in range(global_idx.x, n, step):
        total = total * 3 + Int(values[i])
    out[global_idx.x] = total


@kernel
def meeting(values: Pointer[Int32], out: Pointer[Int], n: Int, step: Int):
    """From a place in the block, twice as far each, between barriers; the last leaves early."""
    shared = stack_allocation(Int, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    total = Int(0)
    for i in range(t + 3, n, 2 * step):
        if i == 450:
            continue
        total = total * 3 + Int(values[i])
    shared[t] = total
    barrier()
    out[global_idx.x] = shared[block_dim.x - 1 - t]


@kernel
def nested(values: Pointer[Int32], out: Pointer[Int], n: Int, step: Int):
    total = Int(0)
    for i in range(global_idx.x, n, step):
        for j in range(thread_idx.x, 60, step):
            total += Int(values[i]) * j
    out[global_idx.x] = total


def over(first: int, n: int, step: int) -> range:
    step = (step + 2**63) % 2**64 - 2**63
    return range(first, n, step) if step else range(0)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("n", [N, 0, -1, 60])
def test_as_python_counts(any_context: DeviceContext, step: int, n: int) -> None:
    values = np.random.default_rng(2).integers(-9, 9, N).astype(np.int32)
    given = values.tolist()

    def run(program: Any) -> list[int]:
        out = np.zeros(2 * BLOCK, np.int64)
        any_context.enqueue_function(program, values, out, n, step, grid_dim=2, block_dim=BLOCK)
        any_context.synchronize()
        return out.tolist()

    def horner(found: list[int]) -> int:
        total = 0
        for v in found:
            total = (total * 3 + v + 2**63) % 2**64 - 2**63
        return total

    assert run(plain) == [horner([given[i] for i in over(g, n, step)]) for g in range(2 * BLOCK)]
    threads = [horner([given[i] for i in over(t + 3, n, 2 * step) if i != 450]) for t in range(BLOCK)]
    assert run(meeting) == [*threads[::-1], *threads[::-1]]
    sums = [sum(over(t, 60, step)) for t in range(BLOCK)]
    assert run(nested) == [
        sum(given[i] for i in over(g, n, step)) * sums[g % BLOCK] for g in range(2 * BLOCK)
    ]
