"""Rows that loops run over by functions of Python, and lanes of complex numbers."""

import numpy as np

from weft import Float32, Int, func
from weft.complex import ComplexSIMD
from weft.layout import LayoutTensor


@func
def folded(t: LayoutTensor[Float32]) -> Float32:
    total = Float32(0)
    for k, x in enumerate(t[0]):
        total += k * x
    for x, y in zip(t[0], reversed(t[1]), strict=False):
        total += x * y
    return total + sum(t[1]) + max(t[0])


@func
def squared(re: Float32, n: Int) -> Float32:
    z = ComplexSIMD(Float32.splat(4, re), Float32.splat(4, 1.0))
    for _ in range(n):
        z = z * z
    return z.re[2]


grid = np.arange(6, dtype=np.float32).reshape(2, 3)
assert folded(grid) == grid[0] @ [0, 1, 2] + grid[0] @ grid[1, ::-1] + grid[1].sum() + grid[0].max()
assert squared(2.0, 2) == ((2 + 1j) ** 4).real
