"""asin, acos, atan, atan2: an argument reduced to where the series is short."""

from __future__ import annotations

import math

from weft.math.formats import Format, format_of
from weft.math.ops import Real, absolute, bits_of, copysign, fma, from_bits, like, polynomial, sqrt


def _halved(a: Real, f: Format) -> tuple[Real, Real, Real]:
    """For ``a`` up to 1: ``s + low = sqrt((1 - a) / 2)`` and the part of its arc sine beyond ``s``."""
    z = fma(a, -0.5, 0.5)
    s = sqrt(z)
    rest = fma(s * z, polynomial(z, f.asin), 0.0)
    safe = (s == 0.0).select(1.0, s)
    low = fma(-s, s, z) / (safe * 2.0)
    return s, low, rest


def asin(x: Real) -> Real:
    """The arc sine, in ``[-pi/2, pi/2]``; nan outside of ``[-1, 1]``."""
    f = format_of(x)
    a = absolute(x)
    z = a * a
    small = fma(a * z, polynomial(z, f.asin), a)
    s, low, rest = _halved(a, f)
    half = f.pi_2[0]
    # pi/2 - 2 (s + low + rest), the large terms first and exactly
    first = half - s * 2.0
    error = (half - first) - s * 2.0
    large = first + (error + (f.pi_2[1] - 2.0 * (low + rest)))
    return copysign((a < 0.5).select(small, large), x)


def acos(x: Real) -> Real:
    """The arc cosine, in ``[0, pi]``; nan outside of ``[-1, 1]``."""
    f = format_of(x)
    a = absolute(x)
    z = a * a
    rest = fma(a * z, polynomial(z, f.asin), 0.0)
    # |x| < 1/2: pi/2 - x - rest
    signed = copysign(rest, x)
    first = f.pi_2[0] - x
    error = (f.pi_2[0] - first) - x
    middle = first + (error + (f.pi_2[1] - signed))
    s, low, more = _halved(a, f)
    positive = (s + (low + more)) * 2.0
    whole = 2.0 * f.pi_2[0]
    start = whole - s * 2.0
    error = (whole - start) - s * 2.0
    negative = start + (error + (2.0 * f.pi_2[1] - 2.0 * (low + more)))
    return (a < 0.5).select(middle, (x < 0.0).select(negative, positive))


def _arc(y: Real, x: Real, f: Format) -> Real:
    """The angle of the point ``(x, y)`` in the first quadrant, in ``[0, pi/2]``."""
    steep = y > x
    low, high = steep.select(x, y), steep.select(y, x)
    turned = low > high * math.tan(math.pi / 8)  # turn by pi/4: the tangent is (low - high) / (low + high)
    top, bottom = turned.select(low - high, low), turned.select(low + high, high)
    top_low = turned.select(low - (top + high), 0.0)
    bottom_low = turned.select(low - (bottom - high), 0.0)
    inverse = 1.0 / bottom
    t = top * inverse
    t_low = (fma(-t, bottom, top) + fma(-t, bottom_low, top_low)) * inverse
    z = t * t
    rest = fma(t * z, polynomial(z, f.atan), t_low)
    # added to 0 or pi/4; for the steep ones, that is taken from pi/2
    base = turned.select(like(t, f.pi_2[0] * 0.5), like(t, 0.0))
    base_low = turned.select(like(t, f.pi_2[1] * 0.5), like(t, 0.0))
    base, base_low = steep.select(f.pi_2[0] - base, base), steep.select(f.pi_2[1] - base_low, base_low)
    t, rest = steep.select(-t, t), steep.select(-rest, rest)
    first = base + t
    return first + (((base - first) + t) + (base_low + rest))


def atan(x: Real) -> Real:
    """The arc tangent, in ``[-pi/2, pi/2]``."""
    f = format_of(x)
    a = absolute(x)
    far = 2.0 ** (f.mantissa + 4)  # the angle does not change any more
    return copysign(_arc((a > far).select(far, a), like(x, 1.0), f), x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point ``(x, y)``, in ``[-pi, pi]``."""
    f = format_of(x)
    a, c = _scaled(absolute(y), absolute(x), f)
    angle = _arc(a, c, f)
    back = 2.0 * f.pi_2[0]
    first = back - angle
    behind = first + (((back - first) - angle) + 2.0 * f.pi_2[1])
    angle = (bits_of(x) < 0).select(behind, angle)
    angle = ((x == x) & (y == y)).select(angle, x + y)
    return copysign(angle, y)


def _scaled(y: Real, x: Real, f: Format) -> tuple[Real, Real]:
    """Two magnitudes of the same ratio near 1, where 0 and inf have become numbers that can be divided."""
    y_inf, x_inf = y == math.inf, x == math.inf
    both = y_inf & x_inf
    y, x = (
        both.select(1.0, y_inf.select(1.0, x_inf.select(0.0, y))),
        both.select(1.0, x_inf.select(1.0, y_inf.select(0.0, x))),
    )
    x = ((y == 0.0) & (x == 0.0)).select(1.0, x)
    exponent = bits_of((y > x).select(y, x)) >> f.mantissa
    scale = 2 * f.bias - exponent
    factor = from_bits((scale < 1).select(1, scale) << f.mantissa)
    return y * factor, x * factor
