"""A program of two hundred kernels that share helpers: products, attention, reductions, pictures.

Each is there over tiles and types. ``kernels()`` names them; ``peers/program.cu`` has them in CUDA C++.
"""

from __future__ import annotations

from typing import Any, TypeVar

from weft import BFloat16, Comptime, Float16, Float32, Float64, Int, Kernel, Pointer, func, kernel, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.math import exp, sqrt
from weft.memory import AddressSpace, stack_allocation

T = TypeVar("T", Float16, BFloat16, Float32, Float64)
SHARED = AddressSpace.SHARED
WARPS = 32


# -- what the kernels share -------------------------------------------------------------------------
@func
def gelu(x: Float32) -> Float32:
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    e = exp(-2.0 * abs(inner))
    t = (1.0 - e) / (1.0 + e)
    return 0.5 * x * (1.0 + (t if inner >= 0.0 else -t))


@func
def silu(x: Float32) -> Float32:
    return x / (1.0 + exp(-x))


@func
def relu(x: Float32) -> Float32:
    return Float32(max(x, 0.0))


@func
def same(x: Float32) -> Float32:
    return x


@func
def read_or(x: Pointer[T], row: Int, col: Int, rows: Int, cols: Int, other: Float32) -> Float32:
    """An element of a matrix, or something else beyond its edges."""
    value = Float32(other)
    if row < rows and col < cols:
        value = Float32(x[row * cols + col])
    return value


@func
def put(x: Pointer[T], at: Int, value: Float32):
    """Write an element, in the type that the memory has."""
    x[at] = T(value)  # pyright: ignore[reportCallIssue]


@func
def clamped(x: Pointer[T], row: Int, col: Int, rows: Int, cols: Int) -> Float32:
    """An element of a picture, of its nearest edge beyond it."""
    r = min(max(row, 0), rows - 1)
    c = min(max(col, 0), cols - 1)
    return Float32(x[r * cols + c])


@func
def block_sum(value: Float32, *, threads: Comptime[int]) -> Float32:
    """The sum over a block's threads, for all of them."""
    part = stack_allocation(Float32, threads, address_space=SHARED)
    t = thread_idx.x
    part[t] = value
    barrier()
    stride = Int(threads // 2)
    while stride > 0:
        if t < stride:
            part[t] += part[t + stride]
        barrier()
        stride >>= 1
    total = part[0]
    barrier()
    return total


@func
def block_max(value: Float32, *, threads: Comptime[int]) -> Float32:
    """The largest over a block's threads, for all of them."""
    part = stack_allocation(Float32, threads, address_space=SHARED)
    t = thread_idx.x
    part[t] = value
    barrier()
    stride = Int(threads // 2)
    while stride > 0:
        if t < stride:
            part[t] = max(part[t], part[t + stride])
        barrier()
        stride >>= 1
    largest = part[0]
    barrier()
    return largest


# -- products -----------------------------------------------------------------------------------------
@kernel
def matmul(
    a: Pointer[T],
    b: Pointer[T],
    c: Pointer[T],
    m: Int,
    n: Int,
    k: Int,
    *,
    tile: Comptime[int],
    each: Comptime[int],
    after: Comptime[Any],
):
    """Blocks of tile x tile threads, each of which makes ``each`` rows."""
    a_tile = stack_allocation(Float32, tile * each * tile, address_space=SHARED)
    b_tile = stack_allocation(Float32, tile * tile, address_space=SHARED)
    x, y = thread_idx.x, thread_idx.y
    row, col = block_idx.y * (tile * each) + y, block_idx.x * tile + x
    sums = stack_allocation(Float32, each)
    for e in unroll(range(each)):
        sums[e] = 0.0
    for t in range(0, k, tile):
        for e in unroll(range(each)):
            a_tile[(e * tile + y) * tile + x] = read_or(a, row + e * tile, t + x, m, k, 0.0)
        b_tile[y * tile + x] = read_or(b, t + y, col, k, n, 0.0)
        barrier()
        for i in range(tile):
            for e in unroll(range(each)):
                sums[e] += a_tile[(e * tile + y) * tile + i] * b_tile[i * tile + x]
        barrier()
    for e in unroll(range(each)):
        if row + e * tile < m and col < n:
            put(c, (row + e * tile) * n + col, after(sums[e]))


# -- attention ----------------------------------------------------------------------------------------
@kernel
def attention(
    q: Pointer[T],
    k: Pointer[T],
    v: Pointer[T],
    out: Pointer[T],
    keys: Int,
    *,
    features: Comptime[int],
    threads: Comptime[int],
    causal: Comptime[bool],
):
    """One query a block; the scores of the keys go round the threads, the softmax as it goes."""
    t, query = thread_idx.x, block_idx.x
    end = query + 1 if causal else keys
    largest = Float32(-1.0e30)
    total = Float32(0.0)
    row = stack_allocation(Float32, features, address_space=SHARED)
    for i in range(t, features, threads):
        row[i] = Float32(q[query * features + i])
    barrier()
    shares = max(1, features // threads)
    kept = stack_allocation(Float32, shares)
    for e in unroll(range(shares)):
        kept[e] = 0.0
    for first in range(0, end, threads):
        key = first + t
        score = Float32(-1.0e30)
        if key < end:
            score = 0.0
            for i in range(features):
                score += row[i] * Float32(k[key * features + i])
            score *= 1.0 / features**0.5
        top = max(largest, block_max(score, threads=threads))
        scale = exp(largest - top)
        weight = exp(score - top) if key < end else Float32(0.0)
        total = total * scale + block_sum(weight, threads=threads)
        largest = top
        weights = stack_allocation(Float32, threads, address_space=SHARED)
        weights[t] = weight
        barrier()
        for e in unroll(range(shares)):
            kept[e] *= scale
            for j in range(threads):
                kept[e] += weights[j] * read_or(v, first + j, t + e * threads, end, features, 0.0)
        barrier()
    for e in unroll(range(shares)):
        if t + e * threads < features:
            put(out, query * features + t + e * threads, kept[e] / total)


# -- reductions ---------------------------------------------------------------------------------------
@kernel
def reduce_rows(
    x: Pointer[T], out: Pointer[T], rows: Int, cols: Int, *, threads: Comptime[int], what: Comptime[str]
):
    """One block a row: its sum, largest, mean or norm."""
    t, row = thread_idx.x, block_idx.x
    value = Float32(-1.0e30 if what == "max" else 0.0)
    for c in range(t, cols, threads):
        found = read_or(x, row, c, rows, cols, 0.0)
        if what == "max":
            value = max(value, found)
        elif what == "norm":
            value += found * found
        else:
            value += found
    if what == "max":
        made = block_max(value, threads=threads)
    else:
        made = block_sum(value, threads=threads)
    if what == "mean":
        made = made / Float32(cols)
    if what == "norm":
        made = sqrt(made)
    if t == 0:
        put(out, row, made)


@kernel
def softmax(
    x: Pointer[T], out: Pointer[T], rows: Int, cols: Int, *, threads: Comptime[int], each: Comptime[int]
):
    """One block a row, ``each`` elements of it in a thread's registers."""
    t, row = thread_idx.x, block_idx.x
    values = [Float32(-1.0e30) for _ in range(each)]
    largest = Float32(-1.0e30)
    for e in unroll(range(each)):
        values[e] = read_or(x, row, t + e * threads, rows, cols, -1.0e30)
        largest = max(largest, values[e])
    largest = block_max(largest, threads=threads)
    total = Float32(0.0)
    for e in unroll(range(each)):
        values[e] = exp(values[e] - largest)
        total += values[e]
    total = block_sum(total, threads=threads)
    for e in unroll(range(each)):
        if t + e * threads < cols:
            put(out, row * cols + t + e * threads, values[e] / total)


# -- pictures -----------------------------------------------------------------------------------------
@kernel
def blur(
    image: Pointer[T], out: Pointer[T], rows: Int, cols: Int, *, radius: Comptime[int], after: Comptime[Any]
):
    row, col = block_idx.y * 16 + thread_idx.y, block_idx.x * 16 + thread_idx.x
    if row < rows and col < cols:
        total = Float32(0.0)
        for j in unroll(range(-radius, radius + 1)):
            for i in unroll(range(-radius, radius + 1)):
                weight = 1.0 / ((1 + abs(i)) * (1 + abs(j)))
                total += weight * clamped(image, row + j, col + i, rows, cols)
        put(out, row * cols + col, after(total))


@kernel
def edges(image: Pointer[T], out: Pointer[T], rows: Int, cols: Int, *, step: Comptime[int]):
    row, col = block_idx.y * 16 + thread_idx.y, block_idx.x * 16 + thread_idx.x
    if row < rows and col < cols:
        across = Float32(0.0)
        down = Float32(0.0)
        for j in unroll(range(-1, 2)):
            weight = 2.0 if j == 0 else 1.0
            across += weight * clamped(image, row + j * step, col + step, rows, cols)
            across -= weight * clamped(image, row + j * step, col - step, rows, cols)
            down += weight * clamped(image, row + step, col + j * step, rows, cols)
            down -= weight * clamped(image, row - step, col + j * step, rows, cols)
        put(out, row * cols + col, sqrt(across * across + down * down))


TYPES = (Float16, BFloat16, Float32, Float64)


def kernels(types: tuple[Any, ...] = TYPES) -> list[Kernel[...]]:
    """Every kernel with every choice: 200 of them with all four types."""
    found: list[Kernel[...]] = []
    for t in types:
        for tile in (8, 16, 32):
            for each in (1, 2, 4):
                found += [matmul.bind(T=t, tile=tile, each=each, after=f) for f in (same, relu)]
        for features in (32, 64, 128):
            found += [
                attention.bind(T=t, features=features, threads=n, causal=c)
                for n in (32, 64)
                for c in (False, True)
            ]
        found += [
            reduce_rows.bind(T=t, threads=n, what=w) for n in (128, 256) for w in ("sum", "max", "mean")
        ]
        found += [softmax.bind(T=t, threads=n, each=e) for n in (128, 256) for e in (2, 8)]
        found += [blur.bind(T=t, radius=r, after=f) for r in (1, 2) for f in (same, gelu, silu)]
        found += [edges.bind(T=t, step=s) for s in (1, 2, 3, 4)]
    return found
