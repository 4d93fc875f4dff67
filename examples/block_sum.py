"""The sum of many numbers in two ways: what warps find is added by atomics, or by blocks in a fixed order."""

from __future__ import annotations

import numpy as np

from weft import Comptime, Float32, Int, Kernel, Pointer, UInt32, func, kernel, unroll
from weft.atomic import Atomic
from weft.gpu import block, block_dim, block_idx, grid_dim, lane_id, thread_idx, warp
from weft.gpu.host import DeviceBuffer, DeviceContext

WIDTH = 4
"""Numbers of a load: 16 bytes."""
LOADS = 4
"""Loads of a thread that are under way together."""


@func
def share(x: Pointer[Float32], n: Int, *, loads: Comptime[int]) -> Float32:
    """The sum of what a thread meets on the grid's way through ``x``."""
    span = block_dim.x * WIDTH
    sums = Float32.splat(WIDTH, 0.0)
    whole = n // (span * loads)
    for piece in range(block_idx.x, whole, grid_dim.x):
        first = piece * (span * loads) + thread_idx.x * WIDTH
        held = [x.load(first + i * span, width=WIDTH, alignment=16) for i in unroll(range(loads))]
        for i in unroll(range(loads)):
            sums += held[i]
    total = sums.reduce_add()
    first = whole * (span * loads) + block_idx.x * block_dim.x + thread_idx.x
    for i in range(first, n, grid_dim.x * block_dim.x):
        total += x[i]
    return total


@kernel
def by_warps(x: Pointer[Float32], n: Int, total: Pointer[Float32], *, loads: Comptime[int]):
    """``total`` is 0 before; sums are rounded in another order each time."""
    found = warp.sum(share(x, n, loads=loads))
    if lane_id() == 0:
        Atomic.fetch_add(total, found)


@kernel
def by_blocks(
    x: Pointer[Float32],
    n: Int,
    parts: Pointer[Float32],
    done: Pointer[UInt32],
    total: Pointer[Float32],
    *,
    loads: Comptime[int],
):
    """The block that comes last adds what all blocks have found."""
    found = block.sum(share(x, n, loads=loads))
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

    def __init__(self, ctx: DeviceContext, threads: int = 512, loads: int = LOADS) -> None:
        self.ctx, self.threads, self.loads = ctx, threads, loads
        self.blocks = 1024 // threads * ctx.info.multiprocessors
        self.parts = ctx.enqueue_create_buffer(Float32, self.blocks)
        self.done = ctx.enqueue_create_buffer(UInt32, 1)
        self.done.enqueue_fill(0)
        self.total = ctx.enqueue_create_buffer(Float32, 1)

    def by_blocks(self, x: object, n: int) -> DeviceBuffer[Float32]:
        """Queue the sum of ``x``: a buffer, or an array of another library."""
        self._launch(by_blocks, x, n, self.parts, self.done, self.total)
        return self.total

    def by_warps(self, x: object, n: int) -> DeviceBuffer[Float32]:
        """Likewise."""
        self.total.enqueue_fill(0.0)
        self._launch(by_warps, x, n, self.total)
        return self.total

    def _launch(self, kernel: Kernel[...], *arguments: object) -> None:
        self.ctx.enqueue_function(
            kernel, *arguments, grid_dim=self.blocks, block_dim=self.threads, loads=self.loads
        )


def main() -> None:
    ctx = DeviceContext()
    numbers = np.arange(1_000_003, dtype=np.float32) % 16
    x = ctx.enqueue_create_buffer(Float32, numbers.size)
    ctx.enqueue_copy(dst=x, src=numbers)
    add = Sum(ctx)
    for name, way in (("blocks", add.by_blocks), ("warps", add.by_warps)):
        with way(x, numbers.size).map_to_host() as total:
            print(f"by {name}: {total[0]:.0f}, NumPy: {numbers.sum():.0f}")


if __name__ == "__main__":
    main()
