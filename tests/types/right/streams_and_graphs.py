import numpy as np

from weft import DType, Float32, Int, Pointer, Tensor, accelerator, cpu, has_accelerator, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def add_one(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] += 1.0


ctx = DeviceContext(api="cpu")
a, b = ctx.enqueue_create_buffer(Float32, 64), ctx.enqueue_create_buffer(Float32, 64)
a.enqueue_fill(0.0)
ctx.enqueue_fill(b, 2.0)
one, two = ctx.create_stream(), ctx.create_stream()
ctx.enqueue_function(add_one, a, 64, over=64, stream=one)
done = one.record_event()
two.enqueue_wait_for(done)
ctx.enqueue_function(add_one, a, 64, over=64, stream=two)
two.synchronize()
with ctx.capture() as graph:
    ctx.enqueue_function(add_one, b, 64, over=64)
    ctx.enqueue_function(add_one, b, 64, over=64)
for _ in range(3):
    graph.replay()
ctx.synchronize()
with b.map_to_host() as host:
    assert host[3] == 8.0
sub = a.create_sub_buffer(16, 32)
assert (len(sub), sub.nbytes, has_accelerator()) == (32, 128, accelerator().api != "cpu")
tensor = Tensor.from_numpy(np.ones((4, 5), np.float32)).to(cpu())
assert (tensor.shape, tensor.dtype) == ((4, 5), DType.float32)
assert ctx.execution_time(lambda ctx: ctx.enqueue_function(add_one, a, 64, over=64), 3) > 0
