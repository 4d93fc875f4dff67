"""Looking at what is compiled, and measuring it."""

from weft import Comptime, Float32, Int, Pointer, kernel
from weft.benchmark import keep
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.sys import size_of
from weft.testing import assert_almost_equal, assert_equal


@kernel
def axpy(a: Float32, x: Pointer[Float32], y: Pointer[Float32], n: Int, *, unrolled: Comptime[bool] = False):
    """y += a x"""
    i = global_idx.x
    if i < n:
        if unrolled:
            print("thread", i, f"{x[i]:.2f}")
        assert n >= 0, "no elements"
        y[i] += a * x[i]


info = compile_info(axpy, emission_kind="asm", target="sm_90")
assert ".entry axpy" in str(info)
ctx = DeviceContext(api="cpu")
ready = ctx.compile_function(axpy)
x, y = ctx.enqueue_create_buffer(Float32, 16), ctx.enqueue_create_buffer(Float32, 16)
x.enqueue_fill(1.0)
y.enqueue_fill(0.0)
ctx.enqueue_function(ready, 2.0, x, y, 16, grid_dim=1, block_dim=16)
with y.map_to_host() as host:
    assert_equal(host[0], 2.0)
    assert_almost_equal(host.numpy(), [2.0] * 16)
keep(size_of(Float32))
assert axpy.__doc__ == "y += a x"
