"""How often each byte stands in memory: counted in the shared memory of each block, then added up."""

from __future__ import annotations

import numpy as np

from weft import Comptime, Int, Pointer, UInt8, UInt32, kernel, unroll
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, block_idx, grid_dim, thread_idx, warp_id
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

BINS = 256
WIDTH = 16
"""Bytes of a load."""


@kernel
def count_bytes(x: Pointer[UInt8], n: Int, counts: Pointer[UInt32], *, copies: Comptime[int]):
    """Warps count in ``copies`` of the bins, so that fewer meet at one."""
    held = stack_allocation(UInt32, copies * BINS, address_space=AddressSpace.SHARED)
    for i in range(thread_idx.x, copies * BINS, block_dim.x):
        held[i] = 0
    barrier()
    own = held + warp_id() % copies * BINS
    thread, threads = block_idx.x * block_dim.x + thread_idx.x, grid_dim.x * block_dim.x
    for i in range(thread * WIDTH, n - WIDTH + 1, threads * WIDTH):
        some = x.load(i, width=WIDTH, alignment=WIDTH)
        for k in unroll(range(WIDTH)):
            Atomic.fetch_add(own + Int(some[k]), 1, ordering="relaxed", scope="block")
    for i in range(n // WIDTH * WIDTH + thread, n, threads):
        Atomic.fetch_add(own + Int(x[i]), 1, ordering="relaxed", scope="block")
    barrier()
    for bin in range(thread_idx.x, BINS, block_dim.x):
        total = held[bin]
        for k in unroll(range(1, copies)):
            total += held[k * BINS + bin]
        Atomic.fetch_add(counts + bin, total, ordering="relaxed")


def histogram(
    ctx: DeviceContext,
    x: Pointer[UInt8],
    n: int,
    counts: Pointer[UInt32],
    *,
    threads: int = 1024,
    copies: int = 8,
) -> None:
    """Queue it; ``counts`` are 256 numbers, to which is added."""
    blocks = 2048 // threads * ctx.info.multiprocessors
    ctx.enqueue_function(count_bytes, x, n, counts, grid_dim=blocks, block_dim=threads, copies=copies)


def main() -> None:
    ctx = DeviceContext()
    numbers = np.random.default_rng(1).integers(0, BINS, 1_000_003, np.uint8)
    x, counts = ctx.enqueue_create_buffer(UInt8, numbers.size), ctx.enqueue_create_buffer(UInt32, BINS)
    ctx.enqueue_copy(dst=x, src=numbers)
    counts.enqueue_fill(0)
    histogram(ctx, x, numbers.size, counts)
    with counts.map_to_host() as host:
        same = np.array_equal(host.numpy(), np.bincount(numbers, minlength=BINS))
    print("as NumPy" if same else "not as NumPy")


if __name__ == "__main__":
    main()
