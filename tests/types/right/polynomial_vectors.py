import numpy as np

from weft import SIMD, Float32, Int, Pointer, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.math import fma


@func
def horner(x: SIMD[Float32, 4]) -> SIMD[Float32, 4]:
    result = Float32.splat(4, 0.0)
    for c in (1.0, 2.0, 3.0):
        result = fma(result, x, Float32.splat(4, c))
    return result


@kernel
def polynomial(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = 4 * global_idx.x
    if i + 4 <= n:
        v = x.load(i, width=4)
        out.store(i, horner(v))
    else:
        for j in range(i, n):
            out[j] = horner(Float32.splat(4, x[j]))[0]


basis = Float32.simd(1.0, 2.0, 3.0, 4.0)
mask = basis > 2.0
assert (mask.select(basis, 0.0).reduce_add(), basis[2], basis.reduce_max()) == (7.0, 3.0, 4.0)
ctx = DeviceContext(api="cpu")
x = np.arange(10, dtype=np.float32)
out = np.zeros_like(x)
ctx.enqueue_function(polynomial, x, out, x.size, over=3)
ctx.synchronize()
assert (out == x * x + 2 * x + 3).all()
