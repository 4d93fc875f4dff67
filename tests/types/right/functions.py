"""Functions as values: closures, callables as parameters, overloads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import Comptime, Float32, Int, Integer, Pointer, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@func
def integrate(f: Callable[[Float32], Float32], low: Float32, high: Float32, steps: Int) -> Float32:
    total, dx = 0.0, (high - low) / Float32(steps)
    for i in range(steps):
        total += f(low + (i + 0.5) * dx)
    return total * dx


@func
def square(x: Float32) -> Float32:
    return x * x


@func
def moment(a: Float32, n: Int) -> Float32:
    def shifted(x: Float32) -> Float32:
        return square(x - a)

    return integrate(shifted, 0.0, 1.0, n) + integrate(lambda x: x * a, 0.0, 1.0, n)


@func
def half(x: Any) -> Any:
    return x / 2


@half.register
def _(x: Integer) -> Integer:
    return x // 2


@kernel
def apply(x: Pointer[Float32], n: Int, *, op: Comptime[Callable[[Float32], Float32]]):
    i = global_idx.x
    if i < n:
        x[i] = op(x[i])


@kernel
def mapped(x: Pointer[Float32], f: Callable[[Float32], Float32]):
    x[global_idx.x] = f(x[global_idx.x])


def scaled_by(factor: float) -> Callable[[Float32], Float32]:
    return lambda x: x * factor


ctx = DeviceContext(api="cpu")
x = np.ones(8, np.float32)
ctx.enqueue_function(apply, x, 8, op=square, over=8)
ctx.enqueue_function(mapped, x, scaled_by(2.0), over=8)
ctx.enqueue_function(mapped, x, lambda v: v + 1.0, over=8)
ctx.synchronize()
assert (half(3), half(3.0), x[0]) == (1, 1.5, 3.0)
assert abs(moment(0.5, 100) - (1 / 12 + 0.25)) < 1e-3
