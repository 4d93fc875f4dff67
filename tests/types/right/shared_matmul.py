import numpy as np

from weft import Float32, kernel, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

BM = BN = BK = 16


@kernel
def matmul(a: LayoutTensor[Float32], b: LayoutTensor[Float32], c: LayoutTensor[Float32]):
    a_shared = stack_allocation(Float32, Layout.row_major(BM, BK), address_space=AddressSpace.SHARED)
    b_shared = stack_allocation(Float32, Layout.row_major(BK, BN), address_space=AddressSpace.SHARED)
    y, x = thread_idx.y, thread_idx.x
    acc = Float32(0)
    for k in range(a.dim(1) // BK):
        a_tile, b_tile = a.tile[BM, BK](block_idx.y, k), b.tile[BK, BN](k, block_idx.x)
        a_shared[y, x] = a_tile[y, x]
        b_shared[y, x] = b_tile[y, x]
        barrier()
        for i in unroll(range(BK)):
            acc += a_shared[y, i] * b_shared[i, x]
        barrier()
    c.tile[BM, BN](block_idx.y, block_idx.x)[y, x] = acc


ctx = DeviceContext(api="cpu")
rng = np.random.default_rng(0)
a, b, c = rng.random((32, 48), np.float32), rng.random((48, 32), np.float32), np.zeros((32, 32), np.float32)
ctx.enqueue_function(matmul, a, b, c, grid_dim=(2, 2), block_dim=(BM, BN))
ctx.synchronize()
assert np.allclose(c, a @ b)
