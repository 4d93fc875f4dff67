from typing import TypeVar

import numpy as np

from weft import Comptime, Float32, Float64, Floating, Int, Int32, Number, Pointer, func, iota, kernel
from weft.bit import count_leading_zeros, pop_count
from weft.gpu import global_idx
from weft.math import ceildiv, exp, isnan, log, pi, sin
from weft.numerics import inf, max_finite, max_or_inf, min_finite, nan
from weft.random import Random

T = TypeVar("T", bound=Floating)
N = TypeVar("N", bound=Number)


@func
def logsumexp(x: Pointer[T], n: Int) -> T:
    top = min_finite(x.element_type)
    for i in range(n):
        top = max(top, x[i])
    total = x.element_type(0)
    for i in range(n):
        total += exp(x[i] - top)
    return log(total) + top


@func
def least(x: Pointer[N], n: Int) -> N:
    found = max_or_inf(x.dtype)
    for i in range(n):
        found = min(found, x[i])
    return found


@kernel
def monte_carlo(hits: Pointer[Int32], n: Int, seed: Int):
    i = global_idx.x
    if i < n:
        rng = Random(seed, i)
        v = rng.step_uniform()
        x, y = v[0], v[1]
        if x * x + y * y <= 1.0:
            hits[i] = 1
        if isnan(sin(x) * pi):
            hits[i] = pop_count(Int32(7)) + count_leading_zeros(Int32(1))


@kernel
def filled(x: Pointer[T], n: Int, *, kind: Comptime[type[Float64]]):
    i = global_idx.x
    if i < n:
        x[i] = x.element_type(kind(2) ** 3)


assert max_finite(Float32) == np.finfo(np.float32).max
assert (inf(Float64), isnan(nan(Float32))) == (np.inf, True)
lanes = iota(Int32, 4, 1)
assert (lanes.reduce_add(), (lanes > 2).any(), ceildiv(10, 3)) == (10, True, 4)
assert least(np.array([3.0, 1.0]), 2) == 1.0
assert abs(logsumexp(np.array([3.0, 1.0]), 2) - np.logaddexp(3.0, 1.0)) < 1e-12
