"""sinh, cosh, tanh: from exp, and near 0 as polynomials."""

from __future__ import annotations

from weft.math.exponential import exp_of_sum
from weft.math.formats import format_of
from weft.math.ops import Real, absolute, copysign, fma, polynomial


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
