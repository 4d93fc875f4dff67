import numpy as np

import weft
from weft import Float32, Int, Pointer


@weft.kernel
def k(x: Pointer[Float32], n: Int):
    i = weft.gpu.global_idx.x
    if i < n:
        x[i] = weft.math.sqrt(x[i])


ctx = weft.gpu.host.DeviceContext(api="cpu")
x = np.ones(10, np.float32)
ctx.enqueue_function(k, x, 10, over=10)
ctx.synchronize()
