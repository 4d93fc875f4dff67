import numpy as np

from weft import Comptime, Float64, Int, Int32, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@func
def escapes(cx: Float64, cy: Float64, limit: Int) -> Int:
    x = y = 0.0
    for n in range(limit):
        if x * x + y * y > 4.0:
            return n
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
    return limit


@kernel
def mandelbrot(
    image: LayoutTensor[Int32], left: Float64, top: Float64, scale: Float64, *, limit: Comptime[int]
):
    row, col = global_idx.y, global_idx.x
    image[row, col] = Int32(escapes(left + scale * col, top + scale * row, limit))


ctx = DeviceContext(api="cpu")
image = np.zeros((20, 30), np.int32)
ctx.enqueue_function(mandelbrot, image, -2.0, -1.0, 0.1, limit=100, over=image.shape)
ctx.synchronize()
assert image.max() == 100
assert escapes(0.0, 0.0, 10) == 10
