import numpy as np

from weft import Float32, Int, algorithm
from weft.algorithm import elementwise, map_reduce, reduce, scan, sort
from weft.gpu.host import DeviceContext

ctx = DeviceContext(api="cpu")
values = np.random.default_rng(0).random(1000, np.float32)
doubled = np.zeros_like(values)
buffer = ctx.enqueue_create_buffer(Float32, 1000)
ctx.enqueue_copy(dst=buffer, src=values)


def body(i: Int) -> None:
    doubled[i] = 2.0 * values[i]


elementwise(body, 1000)
elementwise(lambda i: None, 1000)
square = map_reduce(lambda i: values[i] * values[i], lambda a, b: a + b, 1000, 0.0)
assert abs(square - (values.astype(float) ** 2).sum()) < 1e-3
assert reduce(lambda a, b: a if a > b else b, values, 0.0) == values.max()
assert algorithm.max(buffer) == values.max()
running = np.zeros_like(values)
scan(lambda a, b: a + b, values, running)
sort(values)
order = np.arange(1000)
sort(order, lambda i, j: values[i] > values[j])
