"""Branches that hold for a stretch of threads: what each of them does is as if it was tested in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int64, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
MOST = 2**63 - 1


@kernel
def stencil(a: Pointer[Float32], b: Pointer[Float32], height: Int, width: Int):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        i = row * width + col
        if row > 0 and row < height - 1 and col > 0 and col < width - 1:
            b[i] = a[i - 1] + a[i + 1] + a[i - width] + a[i + width]
        else:
            b[i] = -a[i]


@kernel
def other_way_round(a: Pointer[Float32], b: Pointer[Float32], height: Int, width: Int):
    row, col = global_idx.y, global_idx.x
    if row >= height or col >= width:
        return
    i = row * width + col
    middle = a[i]
    if row < 1 or row + 1 >= height or col <= 0 or col + 2 > width:
        b[i] = -middle
        return
    b[i] = a[i - 1] + a[i + 1] + a[i - width] + a[i + width]


@pytest.mark.parametrize("k", [stencil, other_way_round])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (3, 3), (5, 40), (17, 100), (9, 64)])
def test_a_stencil(launch: Launch, k: Any, height: int, width: int) -> None:
    a = np.random.default_rng(width).integers(-99, 99, (height, width)).astype(np.float32)
    expected = -a
    expected[1:-1, 1:-1] = a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
    grid = -(-width // 32), -(-height // 4)
    _, b = launch(k, a, np.zeros_like(a), height, width, grid_dim=grid, block_dim=(32, 4))
    assert np.array_equal(b, expected)


@kernel
def between(out: Pointer[Int64], low: Int, high: Int):
    i = global_idx.x
    if i >= low and i <= high:
        out[i] = 7
    else:
        out[i] = thread_idx.x


@kernel
def between_of_a_block(out: Pointer[Int64], low: Int, high: Int):
    """As a loop of its own for each block: the thread's own number counts."""
    i = block_idx.x * block_dim.x + thread_idx.x
    if thread_idx.x + 5 > low and thread_idx.x < high:
        out[i] = 7
    else:
        out[i] = thread_idx.x


LIMITS = [-MOST - 1, -MOST, -9, -1, 0, 1, 5, 20, 63, 64, 95, 96, 97, MOST - 5, MOST - 1, MOST]


@pytest.mark.parametrize("low", LIMITS)
def test_limits_of_all_kinds(launch: Launch, low: int) -> None:
    t = np.tile(np.arange(32), 3)
    i = np.arange(96)
    for high in LIMITS:
        (out,) = launch(between, np.zeros(96, np.int64), low, high, grid_dim=3, block_dim=32)
        assert np.array_equal(out, np.where((i >= low) & (i <= high), 7, t)), (low, high)
        (out,) = launch(between_of_a_block, np.zeros(96, np.int64), low, high, grid_dim=3, block_dim=32)
        assert np.array_equal(out, np.where((t + 5 > low) & (t < high), 7, t)), (low, high)


@kernel
def between_barriers(out: Pointer[Int64], limit: Int, other: Int):
    shared = stack_allocation(Int64, Layout.row_major(32), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    shared[t] = t
    barrier()
    if t + 3 <= limit and t < other:
        shared[t] += 31 - t if t < 16 else 100
    barrier()
    limit -= 4
    if limit > t:
        out[global_idx.x] = shared[t]
    limit -= 7


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_between_barriers(launch: Launch, limit: int) -> None:
    t = np.tile(np.arange(32), 3)
    for other in LIMITS:
        shared = t + np.where((t <= limit - 3) & (t < other), np.where(t < 16, 31 - t, 100), 0)
        expected = np.where(t < (limit - 4 + 2**63) % 2**64 - 2**63, shared, -1)
        (out,) = launch(between_barriers, np.full(96, -1), limit, other, grid_dim=3, block_dim=32)
        assert np.array_equal(out, expected), other


@kernel
def diagonal(out: Pointer[Int64], n: Int):
    """The limit is another thread's number, which is known where the loop along x begins, or not."""
    row, col = global_idx.y, global_idx.x
    if col > 3 and row % 3 != 1:
        out[row * n + col] = 1
    else:
        out[row * n + col] = 2 if col < row else 3


def test_rows_of_which_some_are_tested(launch: Launch) -> None:
    (out,) = launch(diagonal, np.zeros((24, 24), np.int64), 24, grid_dim=(3, 3), block_dim=(8, 8))
    row, col = np.indices((24, 24))
    expected = np.where((col > 3) & (row % 3 != 1), 1, np.where(col < row, 2, 3))
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("k", [stencil, other_way_round, between, between_of_a_block, diagonal])
def test_the_inside_is_not_tested(k: Any) -> None:
    text = str(compile_info(k, target="native", emission_kind="llvm"))
    assert text.count('"llvm.loop.vectorize.enable", i1 false') == 1  # of the edges
