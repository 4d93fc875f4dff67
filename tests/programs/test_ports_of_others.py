"""Programs of Triton, CuPy and Mojo, ported line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, Int, Pointer, kernel
from weft.gpu import (
    barrier,
    block,
    block_dim,
    block_idx,
    global_idx,
    grid_dim,
    grid_sync,
    lane_id,
    thread_idx,
    warp,
)
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.math import ceildiv, exp, sqrt
from weft.memory import AddressSpace, stack_allocation
from weft.random import rand

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")  # of NumPy's arrays, on purpose

rng = np.random.default_rng(6)


# Triton add (per thread)
@kernel
def add_kernel(
    x_ptr: Pointer[Float32],
    y_ptr: Pointer[Float32],
    output_ptr: Pointer[Float32],
    n_elements: Int,
    *,
    BLOCK_SIZE: Comptime[int],
):
    pid = block_idx.x
    offsets = pid * BLOCK_SIZE + thread_idx.x
    mask = offsets < n_elements
    x = x_ptr.load(offsets, mask=mask)
    y = y_ptr.load(offsets, mask=mask)
    output_ptr.store(offsets, x + y, mask=mask)


def test_triton_add(device: DeviceContext) -> None:
    n = 1000
    x, y = rng.random(n, np.float32), rng.random(n, np.float32)
    out = np.empty_like(x)
    device.enqueue_function(add_kernel, x, y, out, n, BLOCK_SIZE=256, grid_dim=ceildiv(n, 256), block_dim=256)
    device.synchronize()
    assert np.array_equal(out, x + y)


# Triton softmax: one row per block
@kernel
def softmax_kernel(
    output_ptr: Pointer[Float32],
    input_ptr: Pointer[Float32],
    input_row_stride: Int,
    output_row_stride: Int,
    n_cols: Int,
    *,
    BLOCK_SIZE: Comptime[int],
):
    row_idx = block_idx.x
    row_start_ptr = input_ptr + row_idx * input_row_stride
    col_offsets = thread_idx.x
    mask = col_offsets < n_cols
    row: Float32 = row_start_ptr[col_offsets] if mask else Float32(-float("inf"))
    row_minus_max = row - block.max(row)
    numerator = exp(row_minus_max)
    denominator = block.sum(numerator)
    if mask:
        (output_ptr + row_idx * output_row_stride)[col_offsets] = numerator / denominator


def test_triton_softmax(device: DeviceContext) -> None:
    x = rng.random((10, 100), np.float32)
    y = np.empty_like(x)
    device.enqueue_function(
        softmax_kernel, y, x, x.shape[1], y.shape[1], x.shape[1], BLOCK_SIZE=128, grid_dim=10, block_dim=128
    )
    device.synchronize()
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)


# Triton dropout (seeded)
@kernel
def seeded_dropout(
    x_ptr: Pointer[Float32], output_ptr: Pointer[Float32], n_elements: Int, p: Float32, seed: Int
):
    offsets = global_idx.x
    if offsets < n_elements:
        x = x_ptr[offsets]
        random = rand(seed, offsets)
        x_keep = random > p
        output_ptr[offsets] = x / (1 - p) if x_keep else 0.0


def test_triton_dropout(device: DeviceContext) -> None:
    x = np.ones(4096, np.float32)
    out = np.zeros_like(x)
    device.enqueue_function(seeded_dropout, x, out, x.size, 0.5, 123, grid_dim=16, block_dim=256)
    device.synchronize()
    assert set(np.unique(out)) == {0.0, 2.0}
    assert 0.45 < (out > 0).mean() < 0.55


# Layer norm forward
@kernel
def layer_norm_fwd(
    X: LayoutTensor[Float32], Y: LayoutTensor[Float32], W: Pointer[Float32], B: Pointer[Float32], eps: Float32
):
    row = block_idx.x
    N = X.dim(1)
    acc = 0.0
    for off in range(thread_idx.x, N, block_dim.x):
        acc += X[row, off]
    mean = block.sum(acc) / N
    acc = 0.0
    for off in range(thread_idx.x, N, block_dim.x):
        acc += (X[row, off] - mean) ** 2
    rstd = 1 / sqrt(block.sum(acc) / N + eps)
    for off in range(thread_idx.x, N, block_dim.x):
        Y[row, off] = (X[row, off] - mean) * rstd * W[off] + B[off]


def test_triton_layer_norm(device: DeviceContext) -> None:
    x = rng.random((6, 300), np.float32)
    w, b = rng.random(300, np.float32), rng.random(300, np.float32)
    y = np.zeros_like(x)
    device.enqueue_function(layer_norm_fwd, x, y, w, b, 1e-5, grid_dim=6, block_dim=128)
    device.synchronize()
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    assert np.allclose(y, want, atol=1e-4)


# CuPy elementwise with generic type
@kernel
def squared_diff(x: LayoutTensor[Any], y: LayoutTensor[Any], z: LayoutTensor[Any]):
    i = global_idx.x
    z[i] = (x[i] - y[i]) * (x[i] - y[i])


def test_cupy_elementwise(device: DeviceContext) -> None:
    for t in (np.float32, np.float64, np.int32):
        x, y = np.arange(10, dtype=t), np.full(10, 3, t)
        z = np.zeros(10, t)
        device.enqueue_function(squared_diff, x, y, z, over=10)
        device.synchronize()
        assert np.array_equal(z, (x - y) ** 2)


# Mojo: vector addition, LayoutTensor aliases
vector_size = 1000
layout = Layout.row_major(vector_size)


@kernel
def vector_addition(
    lhs_tensor: LayoutTensor[Float32],
    rhs_tensor: LayoutTensor[Float32],
    out_tensor: LayoutTensor[Float32],
):
    tid = block_idx.x * block_dim.x + thread_idx.x
    if tid < vector_size:
        out_tensor[tid] = lhs_tensor[tid] + rhs_tensor[tid]


def test_mojo_vector_addition(device: DeviceContext) -> None:
    a, b = np.arange(1000, dtype=np.float32), np.arange(1000, dtype=np.float32) * 0.5
    out = np.zeros(1000, np.float32)
    device.enqueue_function(vector_addition, a, b, out, grid_dim=4, block_dim=256)
    device.synchronize()
    assert np.array_equal(out, a + b)


# Mojo puzzle: pooling in shared memory
SIZE = 8
TPB = 8


@kernel
def pooling(out: LayoutTensor[Float32], a: LayoutTensor[Float32], size: Int):
    shared = stack_allocation(Float32, Layout.row_major(TPB), address_space=AddressSpace.SHARED)
    global_i = block_dim.x * block_idx.x + thread_idx.x
    local_i = thread_idx.x
    if global_i < size:
        shared[local_i] = a[global_i]
    barrier()
    if global_i == 0:
        out[0] = shared[0]
    elif global_i == 1:
        out[1] = shared[0] + shared[1]
    elif 1 < global_i < size:
        out[global_i] = shared[local_i - 2] + shared[local_i - 1] + shared[local_i]


def test_mojo_pooling(device: DeviceContext) -> None:
    a, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    device.enqueue_function(pooling, out, a, SIZE, grid_dim=1, block_dim=TPB)
    device.synchronize()
    assert out.tolist() == [0, 1, 3, 6, 9, 12, 15, 18]


# Mojo puzzle: tiled matmul with tile[]
@kernel
def matmul_idiomatic_tiled(
    output: LayoutTensor[Float32],
    a: LayoutTensor[Float32],
    b: LayoutTensor[Float32],
    *,
    size: Comptime[int],
    TILE: Comptime[int],
):
    local_row, local_col = thread_idx.y, thread_idx.x
    tiled_row = block_idx.y * TILE + local_row
    tiled_col = block_idx.x * TILE + local_col
    out_tile = output.tile[TILE, TILE](block_idx.y, block_idx.x)
    a_shared = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    b_shared = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    acc = 0
    for idx in range(size // TILE):
        a_tile = a.tile[TILE, TILE](block_idx.y, idx)
        b_tile = b.tile[TILE, TILE](idx, block_idx.x)
        a_shared[local_row, local_col] = a_tile[local_row, local_col]
        b_shared[local_row, local_col] = b_tile[local_row, local_col]
        barrier()
        for k in range(TILE):
            acc += a_shared[local_row, k] * b_shared[k, local_col]
        barrier()
    if tiled_row < size and tiled_col < size:
        out_tile[local_row, local_col] = acc


def test_mojo_tiled(device: DeviceContext) -> None:
    a, b = rng.random((12, 12), np.float32), rng.random((12, 12), np.float32)
    out = np.zeros((12, 12), np.float32)
    device.enqueue_function(
        matmul_idiomatic_tiled, out, a, b, size=12, TILE=4, grid_dim=(3, 3), block_dim=(4, 4)
    )
    device.synchronize()
    assert np.allclose(out, a @ b, rtol=1e-5)


# Mojo puzzle: warp sum, vectorised loads
@kernel
def simple_warp_dot(
    output: LayoutTensor[Float32], a: LayoutTensor[Float32], b: LayoutTensor[Float32], *, size: Comptime[int]
):
    i = block_dim.x * block_idx.x + thread_idx.x
    partial = Float32(0)
    if i < size:
        partial = (a[i] * b[i]).reduce_add()
    total = warp.sum(partial)
    if lane_id() == 0:
        output[block_idx.x] = total


def test_mojo_warp(device: DeviceContext) -> None:
    a, b = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    out = np.zeros(2, np.float32)
    device.enqueue_function(simple_warp_dot, out, a, b, size=64, grid_dim=2, block_dim=32)
    device.synchronize()
    assert out.tolist() == [sum(range(32)), sum(range(32, 64))]


# Mojo grayscale of the blog, tensors
@kernel
def color_to_grayscale_conversion(
    width: Int, height: Int, image: LayoutTensor[Float32], out: LayoutTensor[Float32]
):
    row = global_idx.y
    col = global_idx.x
    if col < width and row < height:
        red = image[row, col, 0]
        green = image[row, col, 1]
        blue = image[row, col, 2]
        out[row, col] = 0.21 * red + 0.71 * green + 0.07 * blue


def test_mojo_grayscale(device: DeviceContext) -> None:
    img = rng.random((30, 40, 3), np.float32)
    out = np.zeros((30, 40), np.float32)
    device.enqueue_function(
        color_to_grayscale_conversion,
        40,
        30,
        img,
        out,
        grid_dim=(ceildiv(40, 16), ceildiv(30, 16)),
        block_dim=(16, 16),
    )
    device.synchronize()
    assert np.allclose(out, img @ np.array([0.21, 0.71, 0.07], np.float32), atol=1e-5)


# Grid sync, cooperative groups
@kernel
def norm_all(x: Pointer[Float32], partial: Pointer[Float32], n: Int):
    i = global_idx.x
    s = block.sum(x[i] if i < n else 0.0)
    if thread_idx.x == 0:
        partial[block_idx.x] = s
    grid_sync()
    total = 0.0
    for b in range(grid_dim.x):
        total += partial[b]
    if i < n:
        x[i] /= total


def test_grid_wide(device: DeviceContext) -> None:
    x, p = np.ones(200, np.float32), np.zeros(4, np.float32)
    device.enqueue_function(norm_all, x, p, 200, grid_dim=4, block_dim=64, cooperative=True)
    device.synchronize()
    assert np.allclose(x, 1 / 200)
