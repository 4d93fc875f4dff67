"""Grayscale and downsampling, per element for ``over=`` and with a grid and an edge to guard; the rest."""

from __future__ import annotations

from weft import Comptime, Float32, Int, Pointer, kernel
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.layout import LayoutTensor


@kernel
def grayscale_over(image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, col = global_idx.y, global_idx.x
    red, green, blue = image[row, col, 0], image[row, col, 1], image[row, col, 2]
    out[row, col] = 0.299 * red + 0.587 * green + 0.114 * blue


@kernel
def grayscale(width: Int, height: Int, image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    if col < width and row < height:
        red = image[row, col, 0]
        green = image[row, col, 1]
        blue = image[row, col, 2]
        out[row, col] = 0.299 * red + 0.587 * green + 0.114 * blue


@kernel
def downsample_over(image: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int]):
    row, col, channel = global_idx.z, global_idx.y, global_idx.x
    total = Float32(0.0)
    for f1 in range(factor):
        for f2 in range(factor):
            total += image[row * factor + f1, col * factor + f2, channel]
    out[row, col, channel] = total / (factor * factor)


@kernel
def downsample(
    width: Int,
    height: Int,
    channels: Int,
    image: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    *,
    factor: Comptime[int],
):
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    channel = block_dim.z * block_idx.z + thread_idx.z
    if col < width and row < height and channel < channels:
        out[row, col, channel] = 0.0
        for f1 in range(factor):
            for f2 in range(factor):
                out[row, col, channel] += image[row * factor + f1, col * factor + f2, channel]
        out[row, col, channel] /= factor * factor


@kernel
def vector_addition(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < size:
        vector[i] += scalar


@kernel
def add_over(a: LayoutTensor[Float32], b: LayoutTensor[Float32], c: LayoutTensor[Float32]):
    c[global_idx.x] = a[global_idx.x] + b[global_idx.x]


@kernel
def matmul_over(a: LayoutTensor[Float32], b: LayoutTensor[Float32], c: LayoutTensor[Float32], k: Int):
    row, col = global_idx.y, global_idx.x
    total = Float32(0.0)
    for i in range(k):
        total += a[row, i] * b[i, col]
    c[row, col] = total
