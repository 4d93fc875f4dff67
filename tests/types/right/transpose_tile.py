import numpy as np

from weft import Comptime, Float32, kernel
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation


@kernel
def transpose(src: LayoutTensor[Float32], dst: LayoutTensor[Float32], *, tile: Comptime[int] = 16):
    shared = stack_allocation(Float32, Layout.row_major(tile, tile + 1), address_space=AddressSpace.SHARED)
    row, col = block_idx.y * tile + thread_idx.y, block_idx.x * tile + thread_idx.x
    if row < src.dim(0) and col < src.dim(1):
        shared[thread_idx.y, thread_idx.x] = src[row, col]
    barrier()
    row, col = block_idx.x * tile + thread_idx.y, block_idx.y * tile + thread_idx.x
    if row < dst.dim(0) and col < dst.dim(1):
        dst[row, col] = shared[thread_idx.x, thread_idx.y]


ctx = DeviceContext(api="cpu")
src = np.random.default_rng(0).random((40, 50), np.float32)
dst = np.zeros((50, 40), np.float32)
ctx.enqueue_function(transpose, src, dst, tile=16, grid_dim=(4, 3), block_dim=(16, 16))
ctx.synchronize()
assert np.array_equal(dst, src.T)
