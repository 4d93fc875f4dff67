"""What may be None, walrus, loops with else, comprehensions over what is known."""

import numpy as np

from weft import Float64, Int, Pointer, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@func
def first_above(x: Pointer[Float64], n: Int, limit: Float64) -> Int:
    for i in range(n):
        if x[i] > limit:
            found = i
            break
    else:
        found = Int(-1)
    return found


@func
def largest(x: Pointer[Float64], n: Int) -> Float64 | None:
    best = None
    for i in range(n):
        if best is None or x[i] > best:
            best = x[i]
    return best


@func
def row_sums(t: LayoutTensor[Float64]) -> Float64:
    total = 0.0
    for number, row in enumerate(t):
        for value in row:
            total += value * number
        total += sum(row[j] for j in range(row.dim(0)))
    while (half := total / 2) > 10.0:
        total = half
    return total + max(*[0.25 * k for k in range(4)], total)


@func
def sum_of(x: Pointer[Float64] | None, n: Int | None = 2) -> Float64:
    if x is None:
        return -1.0
    return sum(x[i] for i in range(n if n is not None else 3))


@kernel
def shifted(
    out: Pointer[Float64], bias: Pointer[Float64] | None, rows: LayoutTensor[Float64] | None = None
) -> None:
    i = global_idx.x
    out[i] = bias[i] if bias is not None else 1.0
    if rows is not None:
        out[i] += rows[1, i]


values = np.array([3.0, 7.0, 2.0])
assert (first_above(values, 3, 5.0), largest(values, 3)) == (1, 7.0)
assert row_sums(np.ones((2, 3))) == 9.0 + 9.0
assert (sum_of(values), sum_of(values, None), sum_of(None)) == (10.0, 12.0, -1.0)
ctx = DeviceContext(api="cpu")
out, buffer = np.zeros(3), ctx.enqueue_create_buffer(Float64, 3)
buffer.enqueue_fill(4.0)
for bias, first in ((values, 3.0), (None, 1.0), (buffer, 4.0), (None, 1.0)):
    for rows, more in ((None, 0.0), (np.ones((2, 3)), 1.0)):
        ctx.enqueue_function(shifted, out, bias, rows, over=3)
        ctx.synchronize()
        assert out[0] == first + more
