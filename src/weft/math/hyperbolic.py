"""sinh, cosh, tanh: from exp, and near 0 as polynomials; their inverses from log."""

from __future__ import annotations

import math

from weft.math.exponential import exp_of_sum
from weft.math.formats import Format, format_of
from weft.math.logarithm import log_of_sum
from weft.math.ops import Real, absolute, copysign, fma, like, polynomial
from weft.math.roots import root_in_two, sum_in_two


def cosh(x: Real) -> Real:
    """The hyperbolic cosine."""
    half = exp_of_sum(absolute(x), halvings=1)
    return half + 0.25 / half


def sinh(x: Real) -> Real:
    """The hyperbolic sine."""
    f = format_of(x)
    a = absolute(x)
    z = a * a
    small = fma(a * z, polynomial(z, f.sinh), a)
    half = exp_of_sum(a, halvings=1)
    return copysign((a < 1.0).select(small, half - 0.25 / half), x)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent."""
    f = format_of(x)
    a = absolute(x)
    z = a * a
    small = fma(a * z, polynomial(z, f.tanh), a)
    large = 1.0 - 2.0 / (exp_of_sum(a * 2.0) + 1.0)
    return copysign((a < 0.55).select(small, large), x)


def _log_with_root(a: Real, one: float, f: Format) -> Real:
    """``log(a + sqrt(a * a + one))``."""
    far = a > 2.0 ** (f.mantissa + 3)  # there the root is a
    inside = far.select(1.0, a)
    square = inside * inside
    total, low = sum_in_two(square, like(a, one))
    root, rest = root_in_two(total, low + fma(inside, inside, -square))
    u, lost = sum_in_two(inside, root)
    return log_of_sum(far.select(a, u), far.select(0.0, lost + rest), f, far.select(like(a, 1.0), 0.0))


def asinh(x: Real) -> Real:
    """The inverse hyperbolic sine."""
    f = format_of(x)
    a = absolute(x)
    same = (a < 2.0 ** -(f.mantissa // 2 + 3)) | ~(a < math.inf)
    return copysign(same.select(a, _log_with_root(a, 1.0, f)), x)


def acosh(x: Real) -> Real:
    """The inverse hyperbolic cosine; nan below 1."""
    result = _log_with_root(x, -1.0, format_of(x))
    result = (x == math.inf).select(x, result)
    return (x >= 1.0).select(result, like(x, math.nan))


def atanh(x: Real) -> Real:
    """The inverse hyperbolic tangent; nan outside of ``[-1, 1]``."""
    f = format_of(x)
    a = absolute(x)
    bottom, bottom_low = sum_in_two(like(a, 1.0), -a)
    top = a * 2.0
    t = top / bottom
    t_low = fma(-t, bottom_low, fma(-t, bottom, top)) / bottom
    u, lost = sum_in_two(like(a, 1.0), t)
    result = log_of_sum(u, lost + t_low, f) * 0.5  # (1 + a) / (1 - a) = 1 + t
    result = (a == 1.0).select(math.inf, result)
    result = (a <= 1.0).select(result, like(a, math.nan))
    return copysign((a < 2.0 ** -(f.mantissa // 2 + 3)).select(a, result), x)
