"""A transpose through swizzled shared memory: rows are read and rows are written, 16 bytes at once.

A tile comes to shared memory as it is and leaves by its transposed view: a thread reads four elements of a
column and writes them as four of a row. The swizzle lays rows so that neither side asks a bank twice.
"""

from __future__ import annotations

import numpy as np

from weft import Float32, kernel
from weft.gpu import barrier, block_idx
from weft.gpu.host import DeviceContext
from weft.gpu.memory import async_copy_wait_all
from weft.layout import (
    ComposedLayout,
    Layout,
    LayoutTensor,
    Swizzle,
    conflicts,
    copy_dram_to_sram_async,
    copy_sram_to_dram,
)
from weft.memory import AddressSpace, stack_allocation

TILE, THREADS, WIDTH = 64, 512, 4
HERE = ComposedLayout(Layout.row_major(TILE, TILE), Swizzle(3, 2, 6))
"""Groups of four elements change places by bits 2 to 4 of the row."""
READERS = Layout.row_major(TILE, TILE // WIDTH)
WRITERS = Layout(((4, TILE // 4), (8, TILE // 4 // 8)), ((8, TILE), (1, 32)))
"""Each warp writes 4 rows of 128 bytes."""


@kernel
def transpose_tiles(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, column = block_idx.x, block_idx.y  # blocks that run together write beside each other
    here = stack_allocation(Float32, HERE, address_space=AddressSpace.SHARED)
    tile = x.tile[TILE, TILE](row, column).vectorize[1, WIDTH]()
    copy_dram_to_sram_async(here.vectorize[1, WIDTH](), tile, thread_layout=READERS, num_threads=THREADS)
    async_copy_wait_all()
    barrier()
    turned = out.tile[TILE, TILE](column, row).vectorize[1, WIDTH]()
    copy_sram_to_dram(
        turned, here.transpose().vectorize[1, WIDTH](), thread_layout=WRITERS, num_threads=THREADS
    )


def transpose(
    ctx: DeviceContext, x: LayoutTensor[Float32], out: LayoutTensor[Float32], rows: int, columns: int
) -> None:
    """Queue it, for tensors or arrays of two axes; extents need not be multiples of the tile's."""
    grid = -(-rows // TILE), -(-columns // TILE)
    ctx.enqueue_function(transpose_tiles, x, out, grid_dim=grid, block_dim=THREADS)


def main() -> None:
    print("rows in: ", conflicts(HERE, READERS, Float32, vector=(1, WIDTH)))
    turned = ComposedLayout(Layout.col_major(TILE, TILE), HERE.swizzle)
    print("rows out:", conflicts(turned, WRITERS, Float32, vector=(1, WIDTH)))
    ctx = DeviceContext()
    numbers = np.arange(1000 * 200, dtype=np.float32).reshape(1000, 200)
    x, out = (ctx.enqueue_create_buffer(Float32, numbers.size) for _ in range(2))
    ctx.enqueue_copy(dst=x, src=numbers.reshape(-1))
    tensors = x.tensor(Layout.row_major(1000, 200)), out.tensor(Layout.row_major(200, 1000))
    transpose(ctx, *tensors, *numbers.shape)
    with out.map_to_host() as host:
        print("as NumPy" if (host.numpy().reshape(200, 1000) == numbers.T).all() else "not as NumPy")


if __name__ == "__main__":
    main()
