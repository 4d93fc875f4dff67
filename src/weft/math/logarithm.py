"""log and its kin: the exponent times log(2), and a polynomial on half a binade around 1."""

from __future__ import annotations

import math
from typing import Any

from weft.math.exponential import power_of_two
from weft.math.formats import Format, format_of
from weft.math.ops import Real, absolute, bits_of, fma, from_bits, like, polynomial


def split(x: Real, f: Format) -> tuple[Real, Real, Any]:
    """``m`` and ``k`` with ``x = m * 2**k`` and ``m`` in ``[sqrt(1/2), sqrt(2))``; ``k`` also as an integer.

    Meant for positive numbers; for others, ``m`` is some number in that range.
    """
    small = x < f.tiny
    lift = f.mantissa + 1
    i = bits_of(small.select(x * 2.0**lift, x))
    k = (i - f.root_bits) >> f.mantissa
    m = from_bits(i - (k << f.mantissa))
    k = small.select(k - lift, k)
    return m, from_bits(k + f.magic_bits) - f.magic, k


def log_parts(m: Real, f: Format, low: Real | None = None) -> tuple[Real, Real]:
    """``log(m + low)`` as ``m - 1`` and the rest, a fifth of that at most."""
    d = m - 1.0
    if low is not None:  # d + low, rounded, and what that loses
        whole = d + low
        low = (d - whole) + low
        d = whole
    if f.bits == 32:
        rest = d * d * polynomial(d, f.log)
    else:
        s = d / (d + 2.0)
        z = s * s
        half = d * d * 0.5
        rest = fma(s, fma(z, polynomial(z, f.log_s), half), -half)
    if low is not None:
        rest = rest + fma(-d, low, low)
    return d, rest


def combine(k: Real, unit: tuple[float, ...], d: Real, rest: Real) -> Real:
    """``k * unit + d + rest``, where ``k`` is 0 or the first term outweighs the others."""
    c = k * unit[0]
    total = c + d
    return total + (((c - total) + d) + fma(k, unit[1], rest))


def log_of_sum(u: Real, low: Real, f: Format, twos: Real | None = None) -> Real:
    """``log((u + low) * 2**twos)`` for a ``low`` below the last bits of ``u``; 0 where ``u`` is huge."""
    m, k, i = split(u, f)
    far = u > 2.0 ** (f.mantissa + 5)
    low = low * power_of_two(far.select(0, -i), f)
    return combine(k if twos is None else k + twos, f.ln2, *log_parts(m, f, low))


def combine_scaled(k: Real, unit: tuple[float, ...], d: Real, rest: Real, factor: tuple[float, ...]) -> Real:
    """``k * unit + (d + rest) * factor``."""
    p = d * factor[0]
    low = fma(rest, factor[0], fma(d, factor[1], fma(d, factor[0], -p)))
    return combine(k, unit, p, low)


def finish(x: Real, result: Real, origin: float = 0.0) -> Real:
    """The logarithms at the ends: -inf at ``origin``, nan below it, inf and nan as they are."""
    result = (x == math.inf).select(x, result)
    result = (x == origin).select(-math.inf, result)
    return (x >= origin).select(result, like(x, math.nan))


def log(x: Real) -> Real:
    """The natural logarithm."""
    f = format_of(x)
    m, k, _ = split(x, f)
    return finish(x, combine(k, f.ln2, *log_parts(m, f)))


def log2(x: Real) -> Real:
    """The logarithm to base 2."""
    f = format_of(x)
    m, k, _ = split(x, f)
    return finish(x, combine_scaled(k, (1.0, 0.0), *log_parts(m, f), f.log2e))


def log10(x: Real) -> Real:
    """The logarithm to base 10."""
    f = format_of(x)
    m, k, _ = split(x, f)
    return finish(x, combine_scaled(k, f.log10_2, *log_parts(m, f), f.log10e))


def log1p(x: Real) -> Real:
    """``log(1 + x)`` without cancellation near 0."""
    f = format_of(x)
    u = x + 1.0
    large = absolute(x) > 1.0
    low = large.select(1.0 - (u - x), x - (u - 1.0))  # u + low is 1 + x exactly
    far = x > 2.0 ** (f.mantissa + 3)
    result = finish(x, log_of_sum(u, far.select(0.0, low), f), -1.0)
    return (absolute(x) < 2.0 ** -(f.mantissa + 3)).select(x, result)
