"""Loops that lanes begin one behind the other, which a CPU goes through warp by warp; beside NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Int32, Int64, Pointer, UInt8, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_idx, global_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Floats = npt.NDArray[np.float32]


@kernel
def product(a: Pointer[Float32], x: Pointer[Float32], y: Pointer[Float32], rows: Int, columns: Int):
    """A row for each warp of the grid, by its index there."""
    row, lane = global_idx.x // 32, thread_idx.x % 32
    if row < rows:
        total = Float32(0.0)
        for c in range(lane, columns, 32):
            total += a[row * columns + c] * x[c]
        total = warp.sum(total)
        if lane == 0:
            y[row] = total


@kernel
def within(a: Pointer[Float32], x: Pointer[Float32], y: Pointer[Float32], rows: Int, columns: Int):
    """The same by places in the matrix, whose ends nobody knows, and warps that take further rows."""
    for row in range(warp_id(), rows, 2):
        total = Float32(0.0)
        for k in range(row * columns + lane_id(), (row + 1) * columns, 32):
            total += a[k] * x[k - row * columns]
        total = warp.sum(total)
        y[row] = total


@kernel
def by_while(a: Pointer[Float32], x: Pointer[Float32], y: Pointer[Float32], rows: Int, columns: Int):
    row, c = global_idx.x >> 5, global_idx.x & 31
    total = Float32(0.0)
    while row < rows and c < columns:
        total += a[row * columns + c] * x[c]
        c += 32
    total = warp.sum(total)
    if row < rows and lane_id() == 0:
        y[row] = total


@pytest.mark.parametrize(("rows", "columns"), [(1, 0), (2, 1), (3, 31), (4, 32), (7, 33), (9, 200), (6, 129)])
@pytest.mark.parametrize(("kernel", "block"), [(product, 64), (product, 96), (within, 64), (by_while, 64)])
def test_products(kernel: Any, block: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    a, x = rng.integers(-9, 9, (rows, columns)).astype(np.float32), np.arange(columns, dtype=np.float32)
    y, grid = np.zeros(rows, np.float32), 1 if kernel is within else -(-rows * 32 // block)
    run(
        kernel,
        a.ravel() if a.size else np.zeros(1, np.float32),
        padded(x),
        y,
        rows,
        columns,
        grid=grid,
        block=block,
    )
    assert np.array_equal(y, a @ x)


@kernel
def sparse(
    starts: Pointer[Int32], column: Pointer[Int32], value: Pointer[Float32], x: Pointer[Float32],
    y: Pointer[Float32], rows: Int,
):  # fmt: skip
    row = global_idx.x // 32
    if row < rows:
        total = Float32(0.0)
        for k in range(Int(starts[row]) + lane_id(), Int(starts[row + 1]), 32):
            if column[k] < 0:
                continue
            total += value[k] * x[column[k]]
        y[row] = warp.sum(total)


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_sparse_rows(rows: int) -> None:
    rng = np.random.default_rng(rows)
    lengths = rng.integers(0, 100, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    many = max(int(starts[-1]), 1)
    column = rng.integers(-3, 10, many, np.int32)
    value, x = rng.integers(-9, 9, many).astype(np.float32), np.arange(10, dtype=np.float32)
    y = np.zeros(rows, np.float32)
    run(sparse, starts, column, value, x, y, rows, grid=-(-rows // 2), block=64)
    each = np.where(column < 0, 0, value * x[np.maximum(column, 0)])
    assert y.tolist() == [each[a:b].sum() for a, b in pairwise(starts.tolist())]


@kernel
def steps(a: Pointer[Int64], out: Pointer[Int64], n: Int, first: Int, marks: Pointer[UInt8]):
    """Other steps, loops within, branches, what lanes leave early, shared memory, and blocks of two axes."""
    shared = stack_allocation(Int64, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t = thread_idx.x + 16 * thread_idx.y
    lane = lane_id()
    seen, last = Int(lane), Int(-1)
    for i in range(lane + first, n, 7):
        seen = (seen * 5 + Int(a[i])) % 100_003
        if marks[i] > 2:
            last = i
            for k in range(2):
                seen += k + i
    for i in range(first + lane, n, 64):
        if i % 11 == 5:
            break
        seen += 3 * i
    shared[t] = seen
    warp.syncwarp()
    for i in range(lane, 32, 32):
        seen += shared[(t & -32) + (i ^ 3)]
    barrier()
    seen += 2 * warp.shuffle_xor(seen, 1)
    out[2 * (64 * block_idx.x + t)] = seen
    out[2 * (64 * block_idx.x + t) + 1] = last


@pytest.mark.parametrize(("n", "first"), [(0, 0), (5, 0), (40, 6), (150, 3), (150, 149), (64, 0)])
def test_steps_and_what_is_within(n: int, first: int) -> None:
    rng = np.random.default_rng(n)
    a, marks = rng.integers(-100, 100, n + 1), rng.integers(0, 8, n + 1, np.uint8)
    out = np.zeros((128, 2), np.int64)
    run(steps, a, out, n, first, marks, grid=2, block=(16, 4))
    seen, last = [0] * 64, [-1] * 64
    for t in range(64):
        lane, one = t % 32, t % 32
        for i in range(lane + first, n, 7):
            one = (one * 5 + int(a[i])) % 100_003
            if marks[i] > 2:
                last[t] = i
                one += 1 + 2 * i
        for i in range(first + lane, n, 64):
            if i % 11 == 5:
                break
            one += 3 * i
        seen[t] = one
    seen = [one + seen[t ^ 3] for t, one in enumerate(seen)]
    seen = [one + 2 * seen[t ^ 1] for t, one in enumerate(seen)]
    assert out.tolist() == 2 * [list(pair) for pair in zip(seen, last, strict=True)]


@kernel
def some_are_gone(a: Pointer[Float32], out: Pointer[Float32], n: Int, rows: Int):
    """Warps that return, and lanes that have."""
    row = block_idx.x * 3 + warp_id()
    if row >= rows:
        return
    total = Float32(0.0)
    for c in range(lane_id(), n, 32):
        total += a[row * n + c]
    total = warp.sum(total)
    if lane_id() > 20:
        return
    for c in range(lane_id(), n, 32):
        out[row * n + c] = a[row * n + c] - total


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (30, 4), (100, 6), (257, 7)])
def test_some_are_gone(n: int, rows: int) -> None:
    a = np.random.default_rng(n).integers(-20, 20, (rows, n)).astype(np.float32)
    out = np.zeros_like(a)
    run(some_are_gone, a, out, n, rows, grid=-(-rows // 3), block=96)
    left = np.arange(n) % 32 <= 20
    assert np.array_equal(out, np.where(left, a - a.sum(1, keepdims=True), 0))


@pytest.mark.parametrize("kernel", [product, within])
def test_lanes_are_vectors(kernel: Any) -> None:
    text = str(compile_info(kernel, target="x86-64-v3", emission_kind="llvm-opt"))
    assert "fmul <8 x float>" in text
    assert "gather" not in text


def padded(x: Floats) -> Floats:
    return x if x.size else np.zeros(1, np.float32)


def run(kernel: Any, *args: Any, grid: int, block: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()
