"""Softmax of each row of a matrix by a block that holds the row in registers: it is read and written once."""

from __future__ import annotations

import numpy as np

from weft import Comptime, Float32, Pointer, kernel, math, struct, unroll
from weft.gpu import block, block_idx, thread_idx
from weft.gpu.host import DeviceContext

WIDTH = 4
"""Numbers of a load: 16 bytes."""


@struct
class Running:
    """The greatest of some numbers, and the sum of e to the power of what each is less."""

    most: Float32
    total: Float32


def merged(a: Running, b: Running) -> Running:
    """The same of the numbers of both."""
    most = math.max(a.most, b.most)
    return Running(most, a.total * math.exp(a.most - most) + b.total * math.exp(b.most - most))


@kernel
def softmax_rows(
    x: Pointer[Float32], out: Pointer[Float32], *, columns: Comptime[int], threads: Comptime[int]
):
    row, first = block_idx.x * columns, thread_idx.x * WIDTH
    places = [row + first + i * (threads * WIDTH) for i in unroll(range(columns // (threads * WIDTH)))]
    held = [x.load(place, width=WIDTH, alignment=16) for place in places]
    most = held[0]
    for part in held[1:]:
        most = math.max(most, part)
    own = most.reduce_max()
    powers = [math.exp(part - own) for part in held]
    total = powers[0]
    for power in powers[1:]:
        total += power
    whole = block.reduce(Running(own, total.reduce_add()), merged)
    scale = math.exp(own - whole.most) / whole.total
    for place, power in zip(places, powers, strict=True):
        out.store(place, power * scale, alignment=16)


def softmax(
    ctx: DeviceContext, x: Pointer[Float32], out: Pointer[Float32], rows: int, columns: int, threads: int = 0
) -> None:
    """Queue it; ``columns`` are a multiple of 4 times the threads of a block."""
    threads = threads or max(32, min(1024, columns // (8 * WIDTH)))
    if columns % (threads * WIDTH):
        raise ValueError(f"{columns} columns are no multiple of {threads * WIDTH}")
    ctx.enqueue_function(
        softmax_rows, x, out, grid_dim=rows, block_dim=threads, columns=columns, threads=threads
    )


def main() -> None:
    ctx = DeviceContext()
    numbers = np.random.default_rng(1).normal(scale=8, size=(64, 1024)).astype(np.float32)
    x, out = (ctx.enqueue_create_buffer(Float32, numbers.size) for _ in range(2))
    ctx.enqueue_copy(dst=x, src=numbers.reshape(-1))
    softmax(ctx, x, out, *numbers.shape)
    powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    right = powers / powers.sum(axis=1, keepdims=True)
    with out.map_to_host() as host:
        close = np.allclose(host.numpy().reshape(numbers.shape), right, rtol=1e-5, atol=1e-9)
    print("as NumPy" if close else "not as NumPy")


if __name__ == "__main__":
    main()
