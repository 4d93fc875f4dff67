"""sin, cos, tan: an angle reduced to ``[-pi/4, pi/4]``, a polynomial, a sign."""

from __future__ import annotations

from typing import Any

from weft.math.formats import Format, format_of
from weft.math.ops import Real, absolute, bits_of, fma, from_bits, polynomial
from weft.math.reduction import reduce_angle


def _sin_kernel(r: Real, low: Real, z: Real, f: Format) -> Real:
    return r + fma(r * z, polynomial(z, f.sin), fma(z, low * -0.5, low))


def _cos_kernel(r: Real, low: Real, z: Real, f: Format) -> Real:
    half = z * 0.5
    one = 1.0 - half
    return one + (((1.0 - one) - half) + fma(z * z, polynomial(z, f.cos), -(r * low)))


def _flip(x: Real, bit: Any, f: Format) -> Real:
    """``x`` negated where the lowest bit of ``bit`` is set."""
    return from_bits(bits_of(x) ^ (bit << (f.bits - 1)))


def _sign_of(x: Real, f: Format) -> Any:
    return (bits_of(x) >> (f.bits - 1)) & 1


def sincos(x: Real) -> tuple[Real, Real]:
    """Sine and cosine of an angle in radians."""
    f = format_of(x)
    q, r, low = reduce_angle(absolute(x))
    z = r * r
    s, c = _sin_kernel(r, low, z, f), _cos_kernel(r, low, z, f)
    odd = (q & 1) != 0
    negative = q >> 1
    return (
        _flip(odd.select(c, s), negative ^ _sign_of(x, f), f),
        _flip(odd.select(s, c), negative ^ q, f),
    )


def sin(x: Real) -> Real:
    """The sine of an angle in radians."""
    return sincos(x)[0]


def cos(x: Real) -> Real:
    """The cosine of an angle in radians."""
    return sincos(x)[1]


def tan(x: Real) -> Real:
    """The tangent of an angle in radians."""
    f = format_of(x)
    q, r, low = reduce_angle(absolute(x))
    z = r * r
    rest = fma(r * z, polynomial(z, f.tan), fma(z, low, low))
    t = r + rest
    lost = (r - t) + rest
    inverse = -1.0 / t
    inverse = fma(inverse, fma(inverse, t, 1.0) + inverse * lost, inverse)
    return _flip(((q & 1) != 0).select(inverse, t), _sign_of(x, f), f)
