import numpy as np

from weft import Int, Int32, Pointer, UInt32, kernel
from weft.gpu import global_idx, lane_id, warp
from weft.gpu.host import DeviceContext
from weft.gpu.warp import WARP_SIZE


@kernel
def scan(x: Pointer[Int32], out: Pointer[Int32], votes: Pointer[UInt32], n: Int):
    i = global_idx.x
    value = x[i]
    offset = 1
    while offset < WARP_SIZE:
        other = warp.shuffle_up(value, offset)
        if lane_id() >= offset:
            value += other
        offset *= 2
    out[i] = value
    ballot = warp.ballot(x[i] > 3)
    if lane_id() == 0:
        votes[i // WARP_SIZE] = ballot
    assert warp.sum(x[i]) >= n - 64


ctx = DeviceContext(api="cpu")
x = np.arange(64, dtype=np.int32) % 7
out = np.zeros_like(x)
votes = np.zeros(2, np.uint32)
ctx.enqueue_function(scan, x, out, votes, 64, grid_dim=2, block_dim=32)
ctx.synchronize()
assert (out.reshape(2, 32) == np.cumsum(x.reshape(2, 32), axis=1)).all()
