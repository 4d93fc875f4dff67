"""Kernels bound, compiled and tuned before they are launched, and partials of them."""

import functools

import numpy as np

from weft import Comptime, Config, Float32, Int, Pointer, autotune, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def smooth(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, radius: Comptime[int]):
    i = global_idx.x
    if i >= n:
        return
    total = 0.0
    for j in range(max(i - radius, 0), min(i + radius + 1, n)):
        total += x[j]
    out[i] = total / (2 * radius + 1)


@autotune({"EACH": [1, 4]}, key=["n"])
@kernel
def scale(x: Pointer[Float32], n: Int, by: Float32, *, EACH: Comptime[int]):
    first = global_idx.x * EACH
    for i in range(first, min(first + EACH, n)):
        x[i] *= by


def blocks(config: Config) -> int:
    return -(-1000 // (128 * config["EACH"]))


ctx = DeviceContext(api="cpu")
x = ctx.enqueue_create_buffer(Float32, 1000)
out = ctx.enqueue_create_buffer(Float32, 1000)
ctx.enqueue_copy(dst=x, src=np.ones(1000, np.float32))
wide = smooth.bind(radius=8)
ctx.enqueue_function(wide, x, out, 1000, over=1000)
narrow = ctx.compile_function(smooth, radius=1)
ctx.enqueue_function(narrow, x, out, 1000, over=1000)
ctx.enqueue_function(smooth[3], x, out, 1000, over=1000)
ctx.enqueue_function(smooth.bind(n=1000, out=out), x, radius=1, over=1000)  # bound by place
partly = functools.partial(smooth, radius=8)
ctx.enqueue_function(partly, x, out, 1000, over=1000)
ctx.enqueue_function(functools.partial(smooth, out=out, radius=1), x, n=1000, over=1000)
ctx.enqueue_function(ctx.compile_function(partly), x, out, 1000, radius=2, over=1000)
ctx.enqueue_function(scale, x, 1000, 2.0, grid_dim=blocks, block_dim=128)
ctx.enqueue_function(functools.partial(scale, EACH=2), x, 1000, 0.5, grid_dim=4, block_dim=128)
with out.map_to_host() as host:
    assert host[500] == 1.0
