"""A ``for`` of which threads make the same rounds until they ``break``: a CPU does it by lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int32, Pointer, kernel
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")


@kernel
def escapes(x: Pointer[Int32], out: Pointer[Int], n: Int, most: Int):
    i = global_idx.x
    if i < n:
        v, found = x[i], Int32(-1)
        for k in range(most):
            if v > 500:
                found = Int32(k)
                break
            v = v * 2 + 1
        out[2 * i], out[2 * i + 1] = Int(found), Int(v)


@kernel
def otherwise(x: Pointer[Int32], out: Pointer[Int], n: Int, most: Int):
    """Down by threes, with rounds left out, two ways to leave and something else for who never does."""
    i = global_idx.x
    if i >= n:
        return
    v, total = Int(x[i]), Int(0)
    last = Int(77)
    for k in range(most, -9, -3):
        last = k
        if (k + v) % 4 == 0:
            continue
        if total > 40:
            break
        total += k % 7
        if v * k % 11 == 5:
            total += 1000
            break
    else:
        total = -total
    out[2 * i], out[2 * i + 1] = total, last


@kernel
def between_barriers(x: Pointer[Int32], out: Pointer[Int], n: Int, most: Int):
    shared = stack_allocation(Float32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = Float32(x[i]) if i < n else Float32(0.0)
    barrier()
    v, rounds = shared[63 - t], Int32(0)
    for _ in range(min(most, 30)):
        rounds += 1
        if v * v > 1e6:
            break
        v = v * 1.5 + 1.0
    barrier()
    shared[t] = v
    barrier()
    if i < n:
        out[2 * i], out[2 * i + 1] = Int(rounds), Int(shared[63 - t])


def of_escapes(xs: list[int], most: int) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for v in xs:
        found = -1
        for k in range(most):
            if v > 500:
                found = k
                break
            v = v * 2 + 1
        made.append((found, v))
    return made


def of_otherwise(xs: list[int], most: int) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for v in xs:
        total, last = 0, 77
        for k in range(most, -9, -3):
            last = k
            if (k + v) % 4 == 0:
                continue
            if total > 40:
                break
            total += k % 7
            if v * k % 11 == 5:
                total += 1000
                break
        else:
            total = -total
        made.append((total, last))
    return made


def of_between(xs: list[int], most: int) -> list[tuple[int, int]]:
    rows = [*xs, *[0] * (-len(xs) % 64)]
    made = [grown(v, most) for v in rows]
    return [(made[i - i % 64 + 63 - i % 64][0], int(made[i][1])) for i in range(len(xs))]


def grown(x: int, most: int) -> tuple[int, np.float32]:
    v, rounds = np.float32(x), 0
    for _ in range(min(most, 30)):
        rounds += 1
        if v * v > np.float32(1e6):
            break
        v = v * np.float32(1.5) + np.float32(1)
    return rounds, v


CASES: list[tuple[Any, Callable[[list[int], int], list[tuple[int, int]]]]] = [
    (escapes, of_escapes),
    (otherwise, of_otherwise),
    (between_barriers, of_between),
]


@pytest.mark.parametrize(("program", "expected"), CASES)
@pytest.mark.parametrize("most", [-3, 0, 1, 2, 5, 20, 100])
@pytest.mark.parametrize("n", [192, 150])
def test_who_leaves_and_when(
    any_context: DeviceContext, program: Any, expected: Any, most: int, n: int
) -> None:
    most = min(most, 15) if program is escapes else most
    x = np.random.default_rng(7).integers(-3, 600, n).astype(np.int32)
    out = np.zeros((n, 2), np.int64)
    any_context.enqueue_function(program, x, out, n, most, grid_dim=3, block_dim=64)
    any_context.synchronize()
    np.testing.assert_array_equal(out, expected(x.tolist(), most))
