"""hypot, cbrt: roots, and what the format cannot hold of them."""

from __future__ import annotations

import math
from typing import Any

from weft.math.exponential import power_of_two
from weft.math.formats import format_of
from weft.math.ops import (
    Real,
    absolute,
    bits_of,
    copysign,
    fma,
    from_bits,
    like,
    maximum,
    minimum,
    polynomial,
    sqrt,
)


def sum_in_two(a: Real, b: Real) -> tuple[Real, Real]:
    """``a + b``, rounded, and what that loses."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def root_in_two(x: Real, low: Real) -> tuple[Real, Real]:
    """``sqrt(x + low)`` as a sum, for a ``low`` below the last bits of ``x``."""
    root = sqrt(x)
    return root, (fma(-root, root, x) + low) / ((root == 0.0).select(1.0, root) * 2.0)


def squares_in_two(x: Real, y: Real) -> tuple[Real, Real, Any, Any]:
    """``x * x + y * y`` in two numbers, and whether they were made smaller before by ``2**e``, or greater.

    The exponent ``e`` is ``3 / 4`` of the format's bias, so that squares neither overflow nor vanish.
    """
    f = format_of(x)
    x, y = absolute(x), absolute(y)
    a, b = maximum(x, y), minimum(x, y)
    far, near = a > 2.0 ** (f.bias // 2), a < 2.0 ** (f.mantissa - f.bias // 2)
    scale = 2.0 ** (f.bias * 3 // 4)
    factor = far.select(1.0 / scale, near.select(scale, like(a, 1.0)))
    a, b = a * factor, b * factor
    square, other = a * a, b * b
    total = square + other
    return total, ((square - total) + other) + (fma(a, a, -square) + fma(b, b, -other)), far, near


def hypot(x: Real, y: Real) -> Real:
    """``sqrt(x * x + y * y)``, where the squares neither overflow nor vanish."""
    f = format_of(x)
    total, low, far, near = squares_in_two(x, y)
    scale = 2.0 ** (f.bias * 3 // 4)
    back = far.select(scale, near.select(1.0 / scale, like(x, 1.0)))
    root, rest = root_in_two(total, low)
    result = (root + rest) * back
    result = ((x == x) & (y == y)).select(result, x + y)
    return ((absolute(x) == math.inf) | (absolute(y) == math.inf)).select(math.inf, result)


def cbrt(x: Real) -> Real:
    """The cube root."""
    f = format_of(x)
    a = absolute(x)
    small = a < f.tiny
    lift = f.mantissa // 3 * 3 + 3
    i = bits_of(small.select(a * 2.0**lift, a))
    offset = -f.bias % 3
    third = (((i >> f.mantissa) + offset) * 43691 >> 17) - (f.bias + offset) // 3  # by 3, rounded down
    m = from_bits(i - (third * 3 << f.mantissa))  # from 1 to 8
    t = polynomial(m, f.cbrt)
    for _ in range(f.bits // 32):  # Halley's: three times as many digits
        cube = t * t * t
        t = t * (fma(m, 2.0, cube) / fma(cube, 2.0, m))
    square = t * t
    cube = square * t
    cube_low = fma(square, t, -cube) + fma(t, t, -square) * t
    t = t + ((m - cube) - cube_low) / (square * 3.0)
    result = t * power_of_two(small.select(third - lift // 3, third), f)
    return copysign(((a == 0.0) | ~(a < math.inf)).select(a, result), x)
