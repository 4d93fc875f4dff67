import numpy as np

from weft import Float32, Int32, func, tile, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation


@func
def collatz(n: Int32) -> Int32:
    steps = Int32(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@tile.tile_kernel(threads=64)
def backwards(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    t = tile.load(x, 0, 256).map(collatz)
    here = stack_allocation(Int32, Layout.row_major(256), address_space=AddressSpace.SHARED)
    for n in unroll(range(len(t))):
        here[255 - t.indices()[n][0]] = t[n]
    barrier()
    tile.store(out, 0, tile.load(here))


@tile.tile_kernel(threads=128)
def variance(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, columns = block_idx.x, x.dim(1)
    row = tile.load(x, (i, 0), (1, tile.power_of_two(columns)))
    there = tile.arange(tile.power_of_two(columns), axis=1, rank=2, like=row) < columns
    mean = row.sum(axis=1) / columns
    centred = tile.where(there, row - mean, 0.0)
    total = (centred * centred).sum()
    if thread_idx.x == 0:
        out[i] = total / columns
    best = row.argmax(axis=1)
    tile.atomic_add(out, tile.arange(1), tile.zeros(1))
    assert len(best) >= 1


ctx = DeviceContext(api="cpu")
x, out = np.random.default_rng(0).random((4, 100), np.float32), np.zeros(4, np.float32)
ctx.enqueue_function(variance, x, out, grid_dim=4)
ctx.synchronize()
assert np.allclose(out, x.var(axis=1))
