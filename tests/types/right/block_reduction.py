"""A sum in shared memory, finished by an atomic add."""

import numpy as np

from weft import Float32, Int, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_dim, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

BLOCK = 128


@kernel
def total(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    shared = stack_allocation(Float32, Layout.row_major(BLOCK), address_space=AddressSpace.SHARED)
    tid = thread_idx.x
    shared[tid] = x[global_idx.x] if global_idx.x < n else 0.0
    barrier()
    stride = block_dim.x // 2
    while stride > 0:
        if tid < stride:
            shared[tid] += shared[tid + stride]
        barrier()
        stride //= 2
    if tid == 0:
        Atomic.fetch_add(out, shared[0])


ctx = DeviceContext(api="cpu")
x = np.arange(300, dtype=np.float32)
out = np.zeros(1, np.float32)
ctx.enqueue_function(total, x, out, len(x), grid_dim=3, block_dim=BLOCK)
ctx.synchronize()
assert out[0] == x.sum()
