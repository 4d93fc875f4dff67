"""Kernels written for a tile, what a block does: softmax, layer norm, a product of matrices, attention.

``python -m benchmarks tiles`` measures them beside the ready ones of ``weft.kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import Comptime, Float32, Int32, tile
from weft.gpu import block_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.math import ceildiv, max, rsqrt

LOG2E = 1.4426950408889634


def softmax(x: LayoutTensor[Any], out: LayoutTensor[Any]):
    """A row a block, read and written once."""
    shape = 1, tile.power_of_two(x.dim(1))
    row = tile.load(x, (block_idx.x, 0), shape, other=float("-inf"))
    powers = tile.exp(row - row.max(axis=1))
    tile.store(out, (block_idx.x, 0), powers * (1.0 / powers.sum(axis=1)))


def layer_norm(
    x: LayoutTensor[Any], weight: LayoutTensor[Any], bias: LayoutTensor[Any], out: LayoutTensor[Any]
):
    """Likewise, with a weight and a bias for each column."""
    columns, i = x.dim(1), block_idx.x
    width = tile.power_of_two(columns)
    row = tile.load(x, (i, 0), (1, width))
    centred = row - row.sum(axis=1) * (1.0 / columns)
    if width != columns:  # what is beyond the edge does not count
        centred = tile.where(tile.arange(width, axis=1, rank=2, like=row) < columns, centred, 0.0)
    scale = rsqrt((centred * centred).sum(axis=1) * (1.0 / columns) + 1e-5)
    weights, biases = tile.load(weight, 0, width), tile.load(bias, 0, width)
    tile.store(out, (i, 0), centred * scale * weights + biases)


def matmul(
    a: LayoutTensor[Any],
    b: LayoutTensor[Any],
    out: LayoutTensor[Any],
    *,
    shape: Comptime[tuple[int, int, int]],
    stages: Comptime[int],
):
    """A tile of the result a block; the tiles of ``a`` and ``b`` are copied some rounds ahead."""
    (m, n, k), (i, j) = shape, (block_idx.y, block_idx.x)
    left, right = a.tiled_iterator[m, k](i, 0, axis=1), b.tiled_iterator[k, n](0, j)
    tile.store(out, (i, j), tile.matmul(left, right, stages=stages))


def attention(
    q: LayoutTensor[Any],
    k: LayoutTensor[Any],
    v: LayoutTensor[Any],
    out: LayoutTensor[Any],
    scale: Float32,
    *,
    rows: Comptime[int],
    keys: Comptime[int],
    stages: Comptime[int],
):
    """``softmax(q @ k.T * scale) @ v`` of each head, without the matrix in between (FlashAttention-3).

    A round's scores and the product of the weights before with their values are multiplied while the
    exponentials are computed: who reads a product waits for it.
    """
    i, head, width, by = block_idx.x, block_idx.y, q.dim(2), scale * LOG2E
    some = k[head].tiled_iterator[keys, width](0, 0), v[head].tiled_iterator[keys, width](0, 0)
    before, after = tile.streams(*some, stages=stages)
    queries = tile.staged(tile.load(q[head], (i, 0), (rows, width)))
    scores = masked(tile.dot(queries, before[0].T), k.dim(1), 0)
    top = scores.max(axis=1) * by
    powers = tile.exp2(scores * by - top)
    total, weights, acc = powers.sum(axis=1), powers.cast(v.dtype), tile.zeros((rows, width))
    for n in range(1, before.rounds):
        scores = tile.dot(queries, before[n].T)
        more = tile.dot(weights, after[n - 1], acc)
        scores = masked(scores, k.dim(1), n * keys)
        now = max(top, scores.max(axis=1) * by)
        powers, fade = tile.exp2(scores * by - now), tile.exp2(top - now)
        total, weights, top = total * fade + powers.sum(axis=1), powers.cast(v.dtype), now
        acc = more * fade
    acc = tile.dot(weights, after[before.rounds - 1], acc)
    tile.store(out[head], (i, 0), acc * (1.0 / total))


def masked(scores: Any, count: int, first: Any) -> Any:
    """Scores of keys, of which those beyond the last count for nothing."""
    keys = scores.shape[1]
    if count % keys == 0:
        return scores
    column = tile.arange(keys, axis=1, rank=2, like=scores) + Int32(first)
    return tile.where(column < count, scores, float("-inf"))


def main() -> None:
    ctx = DeviceContext()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 100), np.float32)
    out = np.zeros_like(x)
    ctx.enqueue_function(tile.tile_kernel(threads=64)(softmax), x, out, grid_dim=6)
    ctx.synchronize()
    expected: Any = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    print("softmax", np.allclose(out, expected, atol=1e-6))
    weight, bias = rng.standard_normal((2, 100), np.float32)
    ctx.enqueue_function(tile.tile_kernel(threads=64)(layer_norm), x, weight, bias, out, grid_dim=6)
    ctx.synchronize()
    expected = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    print("layer norm", np.allclose(out, expected * weight + bias, atol=1e-5))
    a, b = (rng.standard_normal((n, m)).astype(np.float16) for n, m in ((90, 70), (70, 50)))
    c = np.zeros((90, 50), np.float32)
    grid = ceildiv(50, 32), ceildiv(90, 64)
    ctx.enqueue_function(
        tile.tile_kernel(threads=128)(matmul), a, b, c, shape=(64, 32, 32), stages=3, grid_dim=grid
    )
    ctx.synchronize()
    print("matmul", np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-3))
    q, k, v = (rng.standard_normal((2, n, 64)).astype(np.float16) for n in (70, 100, 100))
    mixed = np.zeros_like(q)
    kernel = tile.tile_kernel(threads=128)(attention)
    ctx.enqueue_function(kernel, q, k, v, mixed, 0.125, rows=64, keys=32, stages=2, grid_dim=(2, 2))
    ctx.synchronize()
    scores: Any = 0.125 * np.einsum("hid,hjd->hij", q.astype(np.float32), k.astype(np.float32))
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = np.einsum("hij,hjd->hid", scores / scores.sum(axis=2, keepdims=True), v.astype(np.float32))
    print("attention", np.allclose(mixed, expected, atol=2e-3))


if __name__ == "__main__":
    main()
