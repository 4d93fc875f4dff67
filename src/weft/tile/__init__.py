"""Tiles beside threads: kernels written for a whole tile, by values that the threads of a block hold.

A ``Tile`` is a rectangle of elements in the registers of a block's threads. Loading, arithmetic, reductions,
scans and storing say nothing of threads; and since a tile is an ordinary value of the library, code of
threads stands beside them.

Example:
    >>> import numpy as np
    >>> from weft import Float32, tile
    >>> from weft.gpu import block_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.layout import LayoutTensor
    >>> from weft.math import exp
    >>> @tile.tile_kernel(threads=128)
    ... def softmax(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    ...     shape = 1, tile.power_of_two(x.dim(1))
    ...     row = tile.load(x, (block_idx.x, 0), shape, other=float("-inf"))
    ...     powers = exp(row - row.max(axis=1))
    ...     tile.store(out, (block_idx.x, 0), powers / powers.sum(axis=1))
    >>> x, out = np.zeros((4, 50), np.float32), np.zeros((4, 50), np.float32)
    >>> ctx = DeviceContext(api="cpu")
    >>> ctx.enqueue_function(softmax, x, out, grid_dim=4)
    >>> ctx.synchronize()
    >>> print(out[3, 49])
    0.02
"""

from weft.diagnostics.modules import present
from weft.math.machine import exp, exp2
from weft.tile.distribution import Distribution
from weft.tile.instead import OF_ARGUMENTS, OF_MODULE
from weft.tile.kernels import TileKernel, tile_kernel
from weft.tile.loops import matmul
from weft.tile.making import arange, block_threads, full, where, zeros
from weft.tile.memory import atomic_add, gather, load, scatter, store
from weft.tile.pipeline import Stream, pipeline, streams
from weft.tile.products import dot
from weft.tile.shapes import power_of_two
from weft.tile.staged import Staged, staged
from weft.tile.tile import Tile

__all__ = [
    "Distribution",
    "Staged",
    "Stream",
    "Tile",
    "TileKernel",
    "arange",
    "atomic_add",
    "block_threads",
    "dot",
    "exp",
    "exp2",
    "full",
    "gather",
    "load",
    "matmul",
    "pipeline",
    "power_of_two",
    "scatter",
    "staged",
    "store",
    "streams",
    "tile_kernel",
    "where",
    "zeros",
]

__weft_instead__ = OF_ARGUMENTS
present(globals(), called=OF_MODULE)
