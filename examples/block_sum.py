"""The sum of many numbers: by threads, by warps, by blocks, and by the last block for all."""

from __future__ import annotations

import numpy as np

from weft import Comptime, Float32, Int, Pointer, UInt32, kernel, unroll
from weft.atomic import Atomic
from weft.gpu import block, block_dim, block_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceBuffer, DeviceContext

WIDTH = 4
"""Numbers of a load: 16 bytes."""
LOADS = 4
"""Loads of a thread that are under way together."""


@kernel
def add_all(
    x: Pointer[Float32],
    n: Int,
    parts: Pointer[Float32],
    done: Pointer[UInt32],
    total: Pointer[Float32],
    *,
    loads: Comptime[int],
):
    """Each block adds what it meets on its way through ``x``, and the last one what all blocks have found."""
    span = block_dim.x * WIDTH
    sums = Float32.splat(WIDTH, 0.0)
    whole = n // (span * loads)
    for piece in range(block_idx.x, whole, grid_dim.x):
        first = piece * (span * loads) + thread_idx.x * WIDTH
        held = [x.load(first + i * span, width=WIDTH, alignment=16) for i in unroll(range(loads))]
        for i in unroll(range(loads)):
            sums += held[i]
    own = sums.reduce_add()
    first = whole * (span * loads) + block_idx.x * block_dim.x + thread_idx.x
    for i in range(first, n, grid_dim.x * block_dim.x):
        own += x[i]
    found = block.sum(own)
    last = False
    if thread_idx.x == 0:
        parts[block_idx.x] = found
        last = Atomic.fetch_add(done, 1, ordering="acq_rel") == (grid_dim.x - 1).cast(UInt32)
    if block.any(last):
        rest = Float32(0.0)
        for i in range(thread_idx.x, grid_dim.x, block_dim.x):
            rest += parts[i]
        rest = block.sum(rest)
        if thread_idx.x == 0:
            total[0] = rest
            done[0] = 0  # for the next launch


class Sum:
    """Adds arrays on one device; what it keeps there is for one sum after the other."""

    def __init__(self, ctx: DeviceContext, blocks: int = 0, threads: int = 512, loads: int = LOADS) -> None:
        self.ctx, self.threads, self.loads = ctx, threads, loads
        self.blocks = blocks or 2 * ctx.info.multiprocessors
        self.parts = ctx.enqueue_create_buffer(Float32, self.blocks)
        self.done = ctx.enqueue_create_buffer(UInt32, 1)
        self.done.enqueue_fill(0)
        self.total = ctx.enqueue_create_buffer(Float32, 1)

    def __call__(self, x: object, n: int) -> DeviceBuffer[Float32]:
        """Queue the sum of ``x``: a buffer, or an array of another library."""
        self.ctx.enqueue_function(
            add_all,
            x,
            n,
            self.parts,
            self.done,
            self.total,
            grid_dim=self.blocks,
            block_dim=self.threads,
            loads=self.loads,
        )
        return self.total


def main() -> None:
    ctx = DeviceContext()
    numbers = np.arange(1_000_003, dtype=np.float32) % 16
    x = ctx.enqueue_create_buffer(Float32, numbers.size)
    ctx.enqueue_copy(dst=x, src=numbers)
    with Sum(ctx)(x, numbers.size).map_to_host() as total:
        print(f"{total[0]:.0f}, NumPy: {numbers.sum():.0f}")


if __name__ == "__main__":
    main()
