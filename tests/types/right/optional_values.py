"""What may be None, walrus, loops with else, comprehensions over what is known."""

import numpy as np

from weft import Float64, Int, Pointer, func
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


values = np.array([3.0, 7.0, 2.0])
assert (first_above(values, 3, 5.0), largest(values, 3)) == (1, 7.0)
assert row_sums(np.ones((2, 3))) == 9.0 + 9.0
