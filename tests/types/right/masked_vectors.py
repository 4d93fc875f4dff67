import numpy as np

from weft import SIMD, Float16, Float32, Int, Pointer, iota, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@kernel
def scale(x: Pointer[Float32], h: Pointer[Float16], n: Int, weights: SIMD[Float32, 4]):
    i = 4 * global_idx.x
    mask = iota(Int, 4, i) < n
    v = x.load(i, width=4, mask=mask) * weights
    v = (v > 1.0).select(v, Float32.splat(4, 1.0))
    x.store(i, v, mask=mask)
    h.store(i, v.cast(Float16), mask=mask)
    low, high = v.split()
    x[0] = low[0] + high.reduce_max() + v.shuffle(3, 2, 1, 0)[0] * 0.0


@kernel
def vectors(t: LayoutTensor[Float32]):
    v = t.vectorize[1, 4]()
    row, col = global_idx.y, global_idx.x
    v[row, col] = v[row, col] * 2.0 + Float32.simd(0.0, 1.0, 2.0, 3.0)


ctx = DeviceContext(api="cpu")
x, h = np.ones(16, np.float32), np.ones(16, np.float16)
ctx.enqueue_function(scale, x, h, 16, Float32.simd(1.0, 2.0, 3.0, 4.0), over=4)
ctx.enqueue_function(scale, x, h, 16, 1.0, over=4)
t = np.ones((4, 8), np.float32)
ctx.enqueue_function(vectors, t, over=(4, 2))
ctx.synchronize()
assert t[0].tolist() == [2.0, 3.0, 4.0, 5.0] * 2
