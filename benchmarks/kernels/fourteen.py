"""Fourteen kernels as users write them for GPUs; a CPU is to run them as fast as loops written for it."""

from __future__ import annotations

from benchmarks.kernels.seven import softmax as softmax
from weft import Float32, Int, Int32, Pointer, UInt8, UInt32, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.layout import Layout
from weft.math import erf, exp, log, sqrt
from weft.memory import AddressSpace, stack_allocation

BLOCK = 256
TILE = 16
BINS = 256
SOFTENING = 0.01
TRANSPOSE = 32
ROWS = 8


@kernel
def vadd(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        c[i] = a[i] + b[i]


@kernel
def grayscale(image: Pointer[Float32], out: Pointer[Float32], height: Int, width: Int):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        i = row * width + col
        out[i] = 0.299 * image[3 * i] + 0.587 * image[3 * i + 1] + 0.114 * image[3 * i + 2]


@kernel
def stencil(a: Pointer[Float32], b: Pointer[Float32], height: Int, width: Int):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        i = row * width + col
        if row > 0 and row < height - 1 and col > 0 and col < width - 1:
            b[i] = 0.2 * (a[i] + a[i - 1] + a[i + 1] + a[i - width] + a[i + width])
        else:
            b[i] = a[i]


@kernel
def mandelbrot(out: Pointer[Int32], height: Int, width: Int, most: Int32):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        cx = -2.0 + Float32(col) * (3.0 / Float32(width))
        cy = -1.5 + Float32(row) * (3.0 / Float32(height))
        x, y = Float32(0.0), Float32(0.0)
        n = Int32(0)
        while n < most and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        out[row * width + col] = n


@kernel
def nbody(bodies: Pointer[Float32], forces: Pointer[Float32], n: Int):
    tile = stack_allocation(Float32, Layout.row_major(4, BLOCK), address_space=AddressSpace.SHARED)
    i, t = global_idx.x, thread_idx.x
    x, y, z = bodies[i], bodies[n + i], bodies[2 * n + i]
    fx, fy, fz = Float32(0.0), Float32(0.0), Float32(0.0)
    for start in range(0, n, BLOCK):
        for k in range(4):
            tile[k, t] = bodies[k * n + start + t]
        barrier()
        for j in range(BLOCK):
            dx, dy, dz = tile[0, j] - x, tile[1, j] - y, tile[2, j] - z
            d = dx * dx + dy * dy + dz * dz + SOFTENING
            w = tile[3, j] / (d * sqrt(d))
            fx += w * dx
            fy += w * dy
            fz += w * dz
        barrier()
    forces[i], forces[n + i], forces[2 * n + i] = fx, fy, fz


@kernel
def black_scholes(
    price: Pointer[Float32],
    strike: Pointer[Float32],
    years: Pointer[Float32],
    call: Pointer[Float32],
    put: Pointer[Float32],
    n: Int,
    rate: Float32,
    volatility: Float32,
):
    i = global_idx.x
    if i < n:
        root = sqrt(years[i])
        d1 = (log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (
            volatility * root
        )
        d2 = d1 - volatility * root
        n1 = 0.5 + 0.5 * erf(d1 * 0.70710678)
        n2 = 0.5 + 0.5 * erf(d2 * 0.70710678)
        later = strike[i] * exp(-rate * years[i])
        call[i] = price[i] * n1 - later * n2
        put[i] = later * (1.0 - n2) - price[i] * (1.0 - n1)


@kernel
def matmul(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    row, col = global_idx.y, global_idx.x
    if row < n and col < n:
        total = Float32(0.0)
        for k in range(n):
            total += a[row * n + k] * b[k * n + col]
        c[row * n + col] = total


@kernel
def matmul_tiled(a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], n: Int):
    a_tile = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    b_tile = stack_allocation(Float32, Layout.row_major(TILE, TILE), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    row, col = block_idx.y * TILE + y, block_idx.x * TILE + x
    total = Float32(0.0)
    for start in range(0, n, TILE):
        a_tile[y, x] = a[row * n + start + x]
        b_tile[y, x] = b[(start + y) * n + col]
        barrier()
        for k in range(TILE):
            total += a_tile[y, k] * b_tile[k, x]
        barrier()
    c[row * n + col] = total


@kernel
def total(values: Pointer[Float32], sums: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    mine = Float32(0.0)
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        mine += values[i]
    shared[t] = mine
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
def histogram(values: Pointer[UInt8], counts: Pointer[UInt32], n: Int):
    shared = stack_allocation(UInt32, Layout.row_major(BINS), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    shared[t] = 0
    barrier()
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        Atomic.fetch_add(shared.ptr + Int(values[i]), 1)
    barrier()
    Atomic.fetch_add(counts + t, shared[t])


@kernel
def scan(values: Pointer[Float32], out: Pointer[Float32]):
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    t, i = thread_idx.x, global_idx.x
    shared[t] = values[i]
    barrier()
    offset = 1
    while offset < BLOCK:
        before = shared[t - offset] if t >= offset else 0.0
        barrier()
        shared[t] += before
        barrier()
        offset *= 2
    out[i] = shared[t]


@kernel
def layer_norm(values: Pointer[Float32], out: Pointer[Float32], columns: Int, epsilon: Float32):
    shared = stack_allocation(Float32, Layout.row_major(2, BLOCK), address_space=AddressSpace.SHARED)
    t, base = thread_idx.x, block_idx.x * columns
    mine, squares = Float32(0.0), Float32(0.0)
    for i in range(t, columns, BLOCK):
        v = values[base + i]
        mine += v
        squares += v * v
    shared[0, t], shared[1, t] = mine, squares
    barrier()
    stride = BLOCK // 2
    while stride > 0:
        if t < stride:
            shared[0, t] += shared[0, t + stride]
            shared[1, t] += shared[1, t + stride]
        barrier()
        stride >>= 1
    mean = shared[0, 0] / Float32(columns)
    factor = 1.0 / sqrt(shared[1, 0] / Float32(columns) - mean * mean + epsilon)
    for i in range(t, columns, BLOCK):
        out[base + i] = (values[base + i] - mean) * factor


@kernel
def transpose(a: Pointer[Float32], b: Pointer[Float32], n: Int):
    tile = stack_allocation(
        Float32, Layout.row_major(TRANSPOSE, TRANSPOSE + 1), address_space=AddressSpace.SHARED
    )
    x, y = thread_idx.x, thread_idx.y
    col, row = block_idx.x * TRANSPOSE + x, block_idx.y * TRANSPOSE + y
    for k in range(0, TRANSPOSE, ROWS):
        tile[y + k, x] = a[(row + k) * n + col]
    barrier()
    col, row = block_idx.y * TRANSPOSE + x, block_idx.x * TRANSPOSE + y
    for k in range(0, TRANSPOSE, ROWS):
        b[(row + k) * n + col] = tile[x, y + k]
