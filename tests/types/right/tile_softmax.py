import numpy as np

from weft import Float32, tile
from weft.gpu import block_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@tile.tile_kernel(threads=128)
def softmax(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    shape = 1, tile.power_of_two(x.dim(1))
    row = tile.load(x, (block_idx.x, 0), shape, other=float("-inf"))
    powers = tile.exp(row - row.max(axis=1))
    tile.store(out, (block_idx.x, 0), powers / powers.sum(axis=1))


ctx = DeviceContext(api="cpu")
x = np.random.default_rng(1).random((5, 100), np.float32)
out = np.zeros_like(x)
ctx.enqueue_function(softmax, x, out, grid_dim=5)
ctx.synchronize()
powers = np.exp(x)
assert np.allclose(out, powers / powers.sum(axis=1, keepdims=True))
