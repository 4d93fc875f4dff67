"""pow: the logarithm in two parts, times the exponent, raised."""

from __future__ import annotations

import math

from weft.math.exponential import clamped, exp2_of_sum
from weft.math.formats import Format, format_of
from weft.math.logarithm import split
from weft.math.ops import Real, absolute, bits_of, floor, fma, from_bits, like, polynomial


def log2_in_two(a: Real, f: Format) -> tuple[Real, Real]:
    """``log2(a)`` of a positive number as a sum, some 15 bits more exact than the format."""
    m, k, _ = split(a, f)
    d = m - 1.0
    bottom = m + 1.0
    bottom_low = m - (bottom - 1.0)
    inverse = 1.0 / bottom
    s = d * inverse
    s_low = fma(-s, bottom_low, fma(-s, bottom, d)) * inverse  # s + s_low = (m - 1) / (m + 1)
    z = s * s
    z_low = fma(s * 2.0, s_low, fma(s, s, -z))
    w = z * polynomial(z, f.log_s5)
    c = w + f.two_thirds[0]
    c_low = ((f.two_thirds[0] - c) + w) + f.two_thirds[1]
    cube = s * z
    cube_low = fma(s_low, z, fma(s, z_low, fma(s, z, -cube)))
    t = cube * c
    t_low = fma(cube_low, c, fma(cube, c_low, fma(cube, c, -t)))
    first = s * 2.0
    h = first + t
    low = ((first - h) + t) + fma(s_low, 2.0, t_low)
    p = h * f.log2e[0]
    p_low = fma(low, f.log2e[0], fma(h, f.log2e[1], fma(h, f.log2e[0], -p)))
    total = k + p
    return total, ((k - total) + p) + p_low


def pow(x: Real, y: Real) -> Real:
    """``x**y`` with the special cases of IEEE 754 and C."""
    f = format_of(x)
    a = absolute(x)
    high, low = log2_in_two(a, f)
    exponent = clamped(y, -f.power_limit, f.power_limit)
    e = exponent * high
    e_low = fma(exponent, high, -e) + exponent * low
    e_low = (absolute(e) < 2.0 * f.bias).select(e_low, 0.0)
    result = exp2_of_sum(e, e_low)
    edge = (a == 0.0) | (a == math.inf)
    upward = (a == math.inf) ^ (y < 0.0)
    result = edge.select(upward.select(like(x, math.inf), like(x, 0.0)), result)
    half = y * 0.5
    whole = floor(y) == y
    odd = whole & (floor(half) != half)
    negative = bits_of(x) < 0
    result = (negative & odd).select(from_bits(bits_of(result) ^ f.sign_bit), result)
    result = (negative & ~whole & ~edge).select(like(x, math.nan), result)
    result = ((x == x) & (y == y)).select(result, x + y)
    return ((x == 1.0) | (y == 0.0)).select(1.0, result)
