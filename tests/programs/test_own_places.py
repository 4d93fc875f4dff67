"""Shared memory that some threads write at their own places, between barriers; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Float32, Float64, Int, Int32, Pointer, UInt8, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

FEW = 12


@kernel
def some_write(m: Pointer[UInt8], a: Pointer[Int32], out: Pointer[Int32], rounds: Int):
    """Own places in an array that has one for some threads alone, with others before and behind."""
    before = stack_allocation(Int32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    few = stack_allocation(Int32, Layout.row_major(FEW), address_space=AddressSpace.SHARED)
    behind = stack_allocation(Int32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t, size = thread_idx.x, block_dim.x
    base = block_idx.x * size
    before[t] = a[base + t]
    behind[t] = a[base + t] + 1
    barrier()
    if t < FEW:
        few[t] = 5
    barrier()
    total = Int32(0)
    for r in range(rounds):
        total += before[t + r - size] if t + r >= size else before[t + r]
        if m[base + t] > 3 and t < FEW:
            few[t] = few[t] * 3 + before[size - 1 - t]
            if few[t] % 2 == 0:
                few[t] += 1
        barrier()
        if m[base + t] == 2:
            before[t] = behind[t] - total
        elif t % 3 == 0:
            before[t] += 1
        total ^= behind[size - 1 - t]
        barrier()
        if total % 2 == 0:
            behind[t] = total + few[t % FEW]
        barrier()
    out[base + t] = total * 7 + before[t] - behind[t] + (few[t] if t < FEW else Int32(0))


def of_some(m: Any, a: Any, rounds: int) -> list[int]:
    """One block, thread by thread between barriers, as Python has integers."""

    def cut(n: int) -> int:
        return (n + 2**31) % 2**32 - 2**31

    size = len(a)
    before, behind, few, total = list(a), [n + 1 for n in a], [5] * FEW, [0] * size
    for r in range(rounds):
        for t in range(size):
            total[t] = cut(total[t] + before[(t + r) % size])
            if m[t] > 3 and t < FEW:
                few[t] = cut(few[t] * 3 + before[size - 1 - t])
                few[t] += few[t] % 2 == 0
        for t in range(size):
            if m[t] == 2:
                before[t] = cut(behind[t] - total[t])
            elif t % 3 == 0:
                before[t] = cut(before[t] + 1)
            total[t] ^= behind[size - 1 - t]
        for t in range(size):
            if total[t] % 2 == 0:
                behind[t] = cut(total[t] + few[t % FEW])
    ends = zip(total, before, behind, [*few, *[0] * (size - FEW)], strict=True)
    return [cut(one * 7 + first - last + some) for one, first, last, some in ends]


@pytest.mark.parametrize("size", [16, 20, 64])
@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_some_write(size: int, rounds: int) -> None:
    rng = np.random.default_rng(size + rounds)
    m, a = rng.integers(0, 6, 3 * size, np.uint8), rng.integers(-99, 99, 3 * size, np.int32)
    out = np.zeros(3 * size, np.int32)
    run(some_write, m, a, out, rounds, grid=3, block=size)
    rows = zip(m.reshape(3, size).tolist(), a.reshape(3, size).tolist(), strict=True)
    assert out.reshape(3, size).tolist() == [of_some(*row, rounds) for row in rows]


@kernel
def tile(a: Pointer[Float64], out: Pointer[Float64], height: Int, width: Int):
    """A tile at the edge of a matrix; of places in rows and columns, and turned round."""
    kept = stack_allocation(Float64, Layout.row_major(8, 16), address_space=AddressSpace.SHARED)
    turned = stack_allocation(Float64, Layout.row_major(16, 8), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    column, row = block_idx.x * 16 + x, block_idx.y * 8 + y
    kept[y, x] = -1.0
    barrier()
    if row < height and column < width:
        kept[y, x] = a[row * width + column]
    barrier()
    if kept[7 - y, x] >= 0.0 and x != 3:
        turned[x, y] = kept[y, 15 - x]
    else:
        turned[x, y] = 0.5
    barrier()
    if row < height and column < width:
        out[row * width + column] = turned[x, y] + kept[y, x]


@pytest.mark.parametrize(("height", "width"), [(8, 16), (5, 3), (17, 40)])
def test_tiles(height: int, width: int) -> None:
    a = np.random.default_rng(height).integers(0, 50, (height, width)).astype(np.float64)
    out, down, across = np.zeros_like(a), -(-height // 8), -(-width // 16)
    run(tile, a, out, height, width, grid=(across, down), block=(16, 8))
    wide = np.full((8 * down, 16 * across), -1.0)
    wide[:height, :width] = a
    kept = wide.reshape(down, 8, across, 16)
    turned = np.where(kept[:, ::-1] >= 0, kept[..., ::-1], 0.5)
    turned[..., 3] = 0.5
    assert np.array_equal(out, (turned + kept).reshape(wide.shape)[:height, :width])


@kernel
def given_and_gone(a: Pointer[Float32], out: Pointer[Float32], n: Int):
    """The block's memory that the launch gives, and threads that have returned."""
    more = stack_allocation(Float32, Layout.row_major(32), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    more[t] = 0.0
    barrier()
    if t >= n:
        return
    if a[t] > 0.0:
        more[t] = a[t]
    barrier()
    if a[t] < 0.0:
        more[t] -= 2.0
    barrier()
    out[t] = more[n - 1 - t]


@pytest.mark.parametrize("n", [1, 17, 32])
def test_who_is_gone(n: int) -> None:
    a, out = np.random.default_rng(n).integers(-3, 4, 32).astype(np.float32), np.zeros(32, np.float32)
    run(given_and_gone, a, out, n, grid=1, block=32)
    kept = np.maximum(a, 0) - 2 * (a < 0)
    assert np.array_equal(out[:n], kept[:n][::-1])
    assert not out[n:].any()


def test_no_store_is_under_a_mask() -> None:
    text = str(compile_info(some_write, target="x86-64-v3", emission_kind="llvm-opt"))
    assert "masked.load" in text
    assert "masked.store" not in text


def run(kernel: Any, *args: Any, grid: Any, block: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()
