"""Mojo's GPU puzzles on warps, stages and clusters, and Triton's products in groups, as they are ported."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Comptime, Float32, Int, Int32, Pointer, UInt32, UInt64, kernel, tile, unroll
from weft.gpu import (
    barrier,
    block,
    block_idx,
    block_rank_in_cluster,
    cluster_sync,
    elect_one_sync,
    global_idx,
    grid_dim,
    lane_id,
    thread_idx,
    warp,
)
from weft.gpu.host import DeviceContext
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.warp import WARP_SIZE
from weft.layout import Layout, LayoutTensor
from weft.math import ceildiv, floor
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

Array = npt.NDArray[Any]
SHARED = AddressSpace.SHARED
rng = np.random.default_rng(26)


def run(device: DeviceContext, kernel_: Any, *arguments: Any, **how: Any) -> None:
    device.enqueue_function(kernel_, *arguments, **how)
    device.synchronize()


# puzzle 25
@kernel
def moving_average_3(output: LayoutTensor[Float32], inp: LayoutTensor[Float32], *, size: Comptime[int]):
    i = global_idx.x
    lane = lane_id()
    if i < size:
        current = inp[i]
        following = warp.shuffle_down(current, 1)
        after = warp.shuffle_down(current, 2)
        if lane < WARP_SIZE - 2 and i < size - 2:
            output[i] = (current + following + after) / 3.0
        elif lane < WARP_SIZE - 1 and i < size - 1:
            output[i] = (current + following) / 2.0
        else:
            output[i] = current


def test_moving_average(device: DeviceContext) -> None:
    x, out = rng.random(64, np.float32), np.zeros(64, np.float32)
    run(device, moving_average_3, out, x, size=64, grid_dim=2, block_dim=32)
    wanted = [x[i : min(i + 3, 32 * (i // 32 + 1))].astype(np.float64).mean() for i in range(64)]
    assert np.allclose(out, wanted)


# puzzle 26
@kernel
def warp_partition(
    output: LayoutTensor[Float32], inp: LayoutTensor[Float32], pivot: Float32, *, size: Comptime[int]
):
    i = global_idx.x
    if i < size:
        value = inp[i]
        left = Float32(1.0) if value < pivot else Float32(0.0)
        right = Float32(1.0) if value >= pivot else Float32(0.0)
        left_pos = warp.prefix_sum(left, exclusive=True)
        right_pos = warp.prefix_sum(right, exclusive=True)
        left_total = left
        offset = WARP_SIZE // 2
        while offset > 0:
            left_total += warp.shuffle_xor(left_total, UInt32(offset))
            offset //= 2
        if value < pivot:
            output[Int(left_pos)] = value
        else:
            output[Int(left_total + right_pos)] = value


def test_partition(device: DeviceContext) -> None:
    x, out = rng.random(32, np.float32), np.zeros(32, np.float32)
    run(device, warp_partition, out, x, 0.5, size=32, grid_dim=1, block_dim=32)
    assert out.tolist() == [*x[x < 0.5].tolist(), *x[x >= 0.5].tolist()]


# puzzle 27
@kernel
def block_histogram_bin_extract(
    values: LayoutTensor[Float32],
    found: LayoutTensor[Float32],
    count: LayoutTensor[Int32],
    size: Int,
    target: Int,
    bins: Int,
    *,
    tpb: Comptime[int],
):
    i = global_idx.x
    mine = Float32(0.0)
    my_bin = Int(-1)
    if i < size:
        mine = values[i]
        my_bin = Int(floor(mine * Float32(bins)))
        if my_bin >= bins:
            my_bin = bins - 1
    belongs = 0
    if i < size and my_bin == target:
        belongs = 1
    place = block.prefix_sum(Int32(belongs), exclusive=True)
    if belongs == 1:
        found[place] = mine
    if thread_idx.x == tpb - 1:
        count[0] = place + Int32(belongs)


def test_bin_extraction(device: DeviceContext) -> None:
    x, found, count = rng.random(120, np.float32), np.zeros(128, np.float32), np.zeros(1, np.int32)
    run(device, block_histogram_bin_extract, x, found, count, 120, 3, 8, tpb=128, grid_dim=1, block_dim=128)
    wanted = x[np.floor(x * 8) == 3]
    assert count[0] == len(wanted)
    assert found[: len(wanted)].tolist() == wanted.tolist()


# puzzle 29
@kernel
def double_buffered_stencil(output: LayoutTensor[Float32], inp: LayoutTensor[Float32], *, tpb: Comptime[int]):
    a = stack_allocation(Float32, Layout.row_major(tpb), address_space=SHARED)
    b = stack_allocation(Float32, Layout.row_major(tpb), address_space=SHARED)
    filled = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    turned = SharedMemBarrier(stack_allocation(UInt64, 1, address_space=SHARED))
    i = thread_idx.x
    if i == 0:
        filled.init(tpb)
        turned.init(tpb)
    barrier()
    a[i] = inp[global_idx.x]
    filled.arrive()
    filled.wait(0)
    for iteration in unroll(range(3)):
        source, target = (a, b) if iteration % 2 == 0 else (b, a)
        total = 0.0
        count = 0
        for offset in range(-1, 2):
            sample = i + offset
            if sample >= 0 and sample < tpb:
                total += source[sample]
                count += 1
        target[i] = total / count
        turned.arrive()
        turned.wait(iteration % 2)
    output[global_idx.x] = b[i]


def test_stencil_by_mbarriers(device: DeviceContext) -> None:
    x, out = rng.random((4, 64), np.float32), np.zeros((4, 64), np.float32)
    run(device, double_buffered_stencil, out.ravel(), x.ravel(), tpb=64, grid_dim=4, block_dim=64)
    wanted = x.astype(np.float64)
    for _ in range(3):
        wanted = np.array([[row[max(0, i - 1) : i + 2].mean() for i in range(64)] for row in wanted])
    assert np.allclose(out, wanted)


# puzzle 34
@kernel
def cluster_collective(
    output: LayoutTensor[Float32],
    inp: LayoutTensor[Float32],
    temp: LayoutTensor[Float32],
    *,
    tpb: Comptime[int],
):
    i = thread_idx.x
    shared = stack_allocation(Float32, Layout.row_major(tpb), address_space=SHARED)
    shared[i] = inp[global_idx.x] if global_idx.x < inp.dim(0) else 0.0
    barrier()
    stride = tpb // 2
    while stride > 0:
        if i < stride and i + stride < tpb:
            shared[i] += shared[i + stride]
        barrier()
        stride = stride // 2
    if i == 0:
        temp[block_idx.x] = shared[0]
    cluster_sync()
    if elect_one_sync() and block_rank_in_cluster() == 0:
        total: Float32 = 0.0
        for k in range(4):
            total += temp[k]
        output[0] = total


def test_sum_of_a_cluster(device: DeviceContext) -> None:
    x, out, temp = np.float32(rng.integers(0, 99, 1000)), np.zeros(1, np.float32), np.zeros(4, np.float32)
    run(device, cluster_collective, out, x, temp, tpb=256, grid_dim=4, block_dim=256, cluster_dim=4)
    assert out[0] == x.sum()


# Triton's tutorial 8
@tile.tile_kernel(threads=128)
def grouped_gemm(
    a: LayoutTensor[Float32],
    b: LayoutTensor[Float32],
    c: LayoutTensor[Float32],
    ends: Pointer[Int32],
    groups: Int,
    *,
    BM: Comptime[int],
    BN: Comptime[int],
    BK: Comptime[int],
):
    number = block_idx.x
    last = Int(0)
    for g in range(groups):
        start = Int(ends[g - 1]) if g > 0 else 0
        end = Int(ends[g])
        columns = ceildiv(c.dim(1), BN)
        count = ceildiv(end - start, BM) * columns
        while number >= last and number < last + count:
            i, j = (number - last) // columns, (number - last) % columns
            acc = tile.zeros((BM, BN))
            left, right = a[start:end], b[g]
            for k in range(ceildiv(a.dim(1), BK)):
                acc = tile.dot(tile.load(left, (i, k), (BM, BK)), tile.load(right, (k, j), (BK, BN)), acc)
            tile.store(c[start:end], (i, j), acc)
            number += grid_dim.x
        last += count


def test_grouped_gemm(device: DeviceContext) -> None:
    ends = np.array([20, 20, 53, 60], np.int32)
    a, b, c = (
        rng.random((60, 24), np.float32),
        rng.random((4, 24, 40), np.float32),
        np.zeros((60, 40), np.float32),
    )
    run(device, grouped_gemm, a, b, c, ends, 4, BM=16, BN=16, BK=16, grid_dim=3)
    parts = zip([0, *ends[:-1]], ends, b, strict=True)
    assert np.allclose(c, np.concatenate([a[start:end] @ right for start, end, right in parts]))
