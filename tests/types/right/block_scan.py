import numpy as np

from weft import Float32, Int, Pointer, UInt32, kernel
from weft.gpu import block, global_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext, Dim


@kernel
def sums(x: Pointer[Float32], out: Pointer[Float32], ends: Pointer[Float32], n: Int):
    value = x[global_idx.x] if global_idx.x < n else Float32(0)
    total = block.sum(value)
    before = block.prefix_sum(value, exclusive=True)
    if global_idx.x < n:
        out[global_idx.x] = before + value
    if thread_idx.x == 0:
        ends[0] = total
    top = warp.max(value)
    mask: UInt32 = warp.ballot(value == top)
    first = warp.broadcast(top)
    if lane_id() == 0 and warp_id() == 0 and mask != 0:
        ends[1] = first


ctx = DeviceContext(api="cpu")
x, out, ends = np.arange(128, dtype=np.float32), np.zeros(128, np.float32), np.zeros(2, np.float32)
ctx.enqueue_function(sums, x, out, ends, 128, grid_dim=Dim(1), block_dim=Dim(128))
ctx.synchronize()
assert np.array_equal(out, np.cumsum(x))
