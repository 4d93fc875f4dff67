"""A program for ``weft profile``: plain launches, declared work, and a graph."""

from __future__ import annotations

import sys
from typing import Any

from weft import Float32, Int, Pointer, kernel, unroll
from weft.benchmark import declare_work
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def fill(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] = 2.0


@kernel
def add(x: Pointer[Float32], y: Pointer[Float32]):
    y[global_idx.x] += x[global_idx.x]


@kernel
def polynomial(x: Pointer[Float32], y: Pointer[Float32]):
    value, x0 = x[global_idx.x], x[global_idx.x]
    for _ in unroll(range(64)):
        value = value * x0 + 1.0
    y[global_idx.x] = value


def elements(x: Any, y: Any) -> int:
    """How many elements a launch computes."""
    return y.nbytes // 4


declare_work(add, flops=elements)
declare_work(polynomial, flops=lambda x, y: 128 * elements(x, y))


def main() -> None:
    """Launch each kernel, and a graph of two."""
    api, n = sys.argv[1], 1 << int(sys.argv[2])
    ctx = DeviceContext(api=api)
    x, y = ctx.enqueue_create_buffer("float32", n), ctx.enqueue_create_buffer("float32", n)
    y.enqueue_fill(0)
    for _ in range(12):
        ctx.enqueue_function(fill, x, n, grid_dim=n // 256, block_dim=256)
        ctx.enqueue_function(add, x, y, grid_dim=n // 256, block_dim=256)
        ctx.enqueue_function(polynomial, x, y, grid_dim=n // 256, block_dim=256)
    with ctx.capture() as graph:
        ctx.enqueue_function(fill, x, n, grid_dim=n // 256, block_dim=256)
        ctx.enqueue_function(add, x, y, grid_dim=n // 256, block_dim=256)
    for _ in range(5):
        graph.replay()
    ctx.synchronize()


if __name__ == "__main__":
    main()
