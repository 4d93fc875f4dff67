import numpy as np

from weft import Int, Int32, UInt8, UInt32, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, Pointer, stack_allocation


@kernel
def histogram(data: Pointer[UInt8], bins: Pointer[UInt32], n: Int):
    local = stack_allocation(UInt32, 256, address_space=AddressSpace.SHARED)
    for i in range(thread_idx.x, 256, block_dim.x):
        local[i] = 0
    barrier()
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        Atomic.fetch_add(local + data[i], UInt32(1))
    barrier()
    for i in range(thread_idx.x, 256, block_dim.x):
        if local[i] != 0:
            Atomic.fetch_add(bins + i, local[i])


@kernel
def bits(x: Pointer[Int32], out: Pointer[UInt32]):
    i = global_idx.x
    v = UInt32(x[i])
    v ^= v << 13
    v ^= v >> 17
    out[i] = (v & 0xFF) | (v << 8) if x[i] % 2 == 0 and not x[i] > 5 else ~v


ctx = DeviceContext(api="cpu")
data = np.random.default_rng(0).integers(0, 256, 5000, np.uint8)
bins = np.zeros(256, np.uint32)
ctx.enqueue_function(histogram, data, bins, data.size, grid_dim=4, block_dim=128)
ctx.synchronize()
assert np.array_equal(bins, np.bincount(data, minlength=256))
