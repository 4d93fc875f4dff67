"""The error function and its complement."""

from __future__ import annotations

from weft.math.exponential import exp_of_sum
from weft.math.formats import format_of
from weft.math.ops import Real, absolute, copysign, fma, polynomial


def erf(x: Real) -> Real:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to ``x``."""
    f = format_of(x)
    a = absolute(x)
    small = fma(a, polynomial(a * a, f.erf), a)
    b = (a > f.erf_high).select(f.erf_high, a)
    large = 1.0 - exp_of_sum(-polynomial(b - 1.0, f.erf_tail))
    return copysign((a < 1.0).select(small, large), x)


def erfc(x: Real) -> Real:
    """``1 - erf(x)`` without cancellation."""
    f = format_of(x)
    a = absolute(x)
    a = (a > f.erfc_high).select(f.erfc_high, a)
    inverse = 1.0 / (a + f.erfc_centre)
    t = (a - f.erfc_centre) * inverse
    t = fma(fma(-t, a, fma(t + 1.0, -f.erfc_centre, a)), inverse, t)
    p = polynomial(t, f.erfc)
    square = a * a
    e = exp_of_sum(-square, fma(-a, a, square))
    bottom = fma(a, 2.0, 1.0)
    inverse = 1.0 / bottom
    ratio = e * inverse
    lost = fma(-ratio, bottom, e) - ratio * fma(a, 2.0, 1.0 - bottom)
    tail = ratio + fma(ratio, p, lost * inverse)
    small = fma(x, polynomial(x * x, f.erf), x)
    return (a < 0.47).select(1.0 - small, (x < 0.0).select(2.0 - tail, tail))
