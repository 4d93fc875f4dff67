"""The seven kernels whose compile time is measured, as a user would write them, and one to warm up with.

The benchmark executes this file anew for each measurement, so that no function was compiled before.
"""

from __future__ import annotations

from weft import Comptime, Float32, Int, Pointer, kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.layout import Layout, LayoutTensor
from weft.math import exp
from weft.memory import AddressSpace, stack_allocation

TILE = 16
BLOCK = 256


@kernel
def scale(a: Pointer[Float32], factor: Float32, n: Int):
    i = global_idx.x
    if i < n:
        a[i] *= factor


@kernel
def vadd(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]


@kernel
def gray(image: LayoutTensor[Float32], out: LayoutTensor[Float32], height: Int, width: Int):
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    if col < width and row < height:
        red, green, blue = image[row, col, 0], image[row, col, 1], image[row, col, 2]
        out[row, col] = 0.299 * red + 0.587 * green + 0.114 * blue


@kernel
def box(
    picture: LayoutTensor[Float32],
    small: LayoutTensor[Float32],
    height: Int,
    width: Int,
    *,
    factor: Comptime[int],
):
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    if col < width and row < height:
        total = Float32(0.0)
        for j in range(factor):
            for i in range(factor):
                total += picture[row * factor + j, col * factor + i]
        small[row, col] = total * (1.0 / (factor * factor))


@kernel
def mm_naive(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], m: Int, n: Int, k: Int):
    row, col = global_idx.y, global_idx.x
    if row < m and col < n:
        total = Float32(0.0)
        for i in range(k):
            total += a[row * k + i] * b[i * n + col]
        c[row * n + col] = total


@kernel
def mm_tiled(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], m: Int, n: Int, k: Int):
    a_tile = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    b_tile = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    row, col = block_idx.y * TILE + y, block_idx.x * TILE + x
    total = Float32(0.0)
    for t in range(0, k, TILE):
        a_tile[y, x] = a[row * k + t + x] if row < m and t + x < k else 0.0
        b_tile[y, x] = b[(t + y) * n + col] if t + y < k and col < n else 0.0
        barrier()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        barrier()
    if row < m and col < n:
        c[row * n + col] = total


@kernel
def bsum(values: Pointer[Float32], sums: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, block_idx.x * BLOCK + thread_idx.x
    shared[t] = values[i] if i < n else 0.0
    barrier()
    stride = BLOCK // 2
    while stride > 0:
        if t < stride:
            shared[t] += shared[t + stride]
        barrier()
        stride >>= 1
    if t == 0:
        sums[block_idx.x] = shared[0]


@kernel
def softmax(values: Pointer[Float32], out: Pointer[Float32], columns: Int):
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, base = thread_idx.x, block_idx.x * columns

    largest = Float32(-3.402823466e38)
    for i in range(t, columns, BLOCK):
        largest = max(largest, values[base + i])
    shared[t] = largest
    barrier()
    stride = BLOCK // 2
    while stride > 0:
        if t < stride:
            shared[t] = max(shared[t], shared[t + stride])
        barrier()
        stride >>= 1
    largest = shared[0]
    barrier()

    total = Float32(0.0)
    for i in range(t, columns, BLOCK):
        e = exp(values[base + i] - largest)
        out[base + i] = e
        total += e
    shared[t] = total
    barrier()
    stride = BLOCK // 2
    while stride > 0:
        if t < stride:
            shared[t] += shared[t + stride]
        barrier()
        stride >>= 1
    total = shared[0]
    for i in range(t, columns, BLOCK):
        out[base + i] = out[base + i] / total
