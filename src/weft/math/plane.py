"""exp, log and sqrt of complex numbers by their parts, at the ends of the range as C's Annex G has them."""

from __future__ import annotations

import math

from weft.math.exponential import exp as real_exp
from weft.math.formats import format_of
from weft.math.logarithm import log_of_sum
from weft.math.ops import Real, absolute, copysign, is_finite, like, maximum
from weft.math.ops import sqrt as real_sqrt
from weft.math.roots import hypot, squares_in_two
from weft.math.trigonometric import sincos


def exp(x: Real, y: Real) -> tuple[Real, Real]:
    """The parts of ``exp(x + y i)``, also where ``exp(x)`` is too large and they are not."""
    f = format_of(x)
    far = x > f.exp_range[1] - 1.0
    size = real_exp(far.select(x + f.exp_range[0], x))  # the difference is exact as far as it matters
    lift = far.select(math.exp(-0.5 * f.exp_range[0]), like(x, 1.0))
    sine, cosine = sincos(y)
    wild, none = ~is_finite(y), x == -math.inf  # an angle that says nothing does not matter to 0
    cosine = (wild & (absolute(x) == math.inf)).select(1.0, cosine)
    sine = (wild & none).select(copysign(like(y, 1.0), y), sine)
    return cosine * lift * size * lift, (y == 0.0).select(y, sine * lift * size * lift)


def log_size(x: Real, y: Real) -> Real:
    """``log(sqrt(x * x + y * y))``, also near 1, where the root knows too little of the squares."""
    f = format_of(x)
    total, low, far, near = squares_in_two(x, y)
    low = (total > 2.0 ** (f.mantissa + 5)).select(0.0, low)  # there it does not matter any more
    twos = 2.0 * (f.bias * 3 // 4)
    result = log_of_sum(total, low, f, far.select(twos, near.select(-twos, like(x, 0.0)))) * 0.5
    result = (total == 0.0).select(-math.inf, result)
    result = ((x == x) & (y == y)).select(result, x + y)
    return ((absolute(x) == math.inf) | (absolute(y) == math.inf)).select(math.inf, result)


def sqrt(x: Real, y: Real) -> tuple[Real, Real]:
    """The parts of the root of ``x + y i`` that lies right of the imaginary axis."""
    f = format_of(x)
    a, b = absolute(x), absolute(y)
    most, lift = maximum(a, b), f.mantissa + 1
    far, near = most > 2.0 ** (f.bias - 2), most < f.tiny * 2.0**lift
    factor = far.select(2.0**-4, near.select(2.0 ** (2 * lift), like(a, 1.0)))
    back = far.select(4.0, near.select(2.0**-lift, like(a, 1.0)))
    a, b = a * factor, b * factor
    large = real_sqrt(a * 0.5 + hypot(a, b) * 0.5)
    small = (large == 0.0).select(large, b / (large * 2.0)) * back
    large, endless = large * back, b == math.inf
    large, small = endless.select(math.inf, large), endless.select(math.inf, small)
    right = x >= 0.0
    return right.select(large, small), copysign(right.select(small, large), y)
