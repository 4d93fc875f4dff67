import numpy as np

from weft import Bool, Comptime, Float32, Int, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor


@func
def inside(t: LayoutTensor[Float32], i: Int, j: Int) -> Bool:
    return 0 <= i < t.dim(0) and 0 <= j < t.dim(1)


@kernel
def blur(
    image: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    *,
    radius: Comptime[int],
    weights: Comptime[list[float]],
):
    row, col = global_idx.y, global_idx.x
    total, norm = 0.0, 0.0
    for dy in range(-radius, radius + 1):
        for dx, weight in enumerate(weights):
            if inside(image, row + dy, col + dx - radius):
                total += weight * image[row + dy, col + dx - radius]
                norm += weight
    out[row, col] = total / norm


ctx = DeviceContext(api="cpu")
height, width = 16, 20
image = ctx.enqueue_create_buffer(Float32, height * width)
out = ctx.enqueue_create_buffer(Float32, height * width)
with image.map_to_host() as host:
    host[:] = np.arange(height * width)
layout = Layout.row_major(height, width)
ctx.enqueue_function(
    blur, image.tensor(layout), out.tensor(layout), radius=1, weights=[0.25, 0.5, 0.25], over=(height, width)
)
with out.map_to_host() as host:
    assert abs(host.numpy()[width * 8 + 9] - (width * 8 + 9)) < 1e-3
