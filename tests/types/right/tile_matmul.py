import numpy as np

from weft import Comptime, Float16, Float32, tile
from weft.gpu import block_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@tile.tile_kernel(threads=128)
def matmul(
    a: LayoutTensor[Float16], b: LayoutTensor[Float16], out: LayoutTensor[Float32], *, size: Comptime[int]
):
    i, j = block_idx.y, block_idx.x
    acc = tile.zeros((size, size))
    for x, y in tile.pipeline(
        a.tiled_iterator[size, 32](i, 0, axis=1), b.tiled_iterator[32, size](0, j), stages=3
    ):
        acc = tile.dot(x, y, acc)
    bias = tile.full((1, size), 1.0)
    tile.store(out, (i, j), tile.where(acc > 0.0, acc, 0.0) + bias)


ctx = DeviceContext(api="cpu")
rng = np.random.default_rng(0)
a, b = rng.random((64, 64)).astype(np.float16), rng.random((64, 64)).astype(np.float16)
out = np.zeros((64, 64), np.float32)
ctx.enqueue_function(matmul, a, b, out, size=32, grid_dim=(2, 2))
ctx.synchronize()
assert np.allclose(out, a.astype(np.float32) @ b.astype(np.float32) + 1, rtol=1e-3)
