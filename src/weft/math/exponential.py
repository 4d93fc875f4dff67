"""exp and its kin: ``2^n`` times a polynomial on half a binade around 1."""

from __future__ import annotations

from typing import Any

from weft.math.formats import Format, format_of
from weft.math.ops import Real, absolute, bits_of, fma, from_bits, polynomial


def nearest(x: Real, factor: float, f: Format) -> tuple[Real, Any]:
    """The integer nearest to ``x * factor``, as a float and as an integer (nonsense for nan)."""
    shifted = fma(x, factor, f.magic)
    return shifted - f.magic, bits_of(shifted) - f.magic_bits


def power_of_two(i: Any, f: Format) -> Real:
    """``2.0**i`` for an integer in the range of normal numbers."""
    return from_bits((i + f.bias) << f.mantissa)


def scale(x: Real, i: Any, f: Format) -> Real:
    """``x * 2.0**i`` in two steps, each of them normal, so that it is rounded once."""
    half = i >> 1
    return x * power_of_two(half, f) * power_of_two(i - half, f)


def clamped(x: Real, low: float, high: float) -> Real:
    """``x`` within the bounds; nan stays."""
    x = (x < low).select(low, x)
    return (x > high).select(high, x)


def exp_of_sum(x: Real, low: Real | None = None, halvings: int = 0) -> Real:
    """``exp(x + low) / 2**halvings`` for a ``low`` below the last bits of ``x``."""
    f = format_of(x)
    x = clamped(x, f.exp_range[0], f.exp_range[1] + halvings)
    n, i = nearest(x, f.log2e[0], f)
    high = fma(n, -f.ln2[0], x)  # exact
    r = fma(n, -f.ln2[1], high)
    if low is None:
        p = fma(r * r, polynomial(r, f.exp), r) + 1.0
    else:
        low = low + fma(n, -f.ln2[1], high - r)
        high, r = r, r + low
        p = (fma(r * r, polynomial(r, f.exp), (high - r) + low) + r) + 1.0
    return scale(p, i - halvings if halvings else i, f)


def exp(x: Real) -> Real:
    """``e**x``."""
    return exp_of_sum(x)


def exp2_of_sum(x: Real, low: Real | None = None) -> Real:
    """``2**(x + low)`` for a ``low`` below the last bits of ``x``."""
    f = format_of(x)
    x = clamped(x, *f.exp2_range)
    n, i = nearest(x, 1.0, f)
    r = x - n
    if low is not None:
        r = r + low
    return scale(fma(r, polynomial(r, f.exp2), 1.0), i, f)


def exp2(x: Real) -> Real:
    """``2**x``."""
    return exp2_of_sum(x)


def exp10(x: Real) -> Real:
    """``10**x``."""
    f = format_of(x)
    e = x * f.log2_10[0]
    low = fma(x, f.log2_10[1], fma(x, f.log2_10[0], -e))
    return exp2_of_sum(e, (absolute(e) < 2.0 * f.bias).select(low, 0.0))


def expm1(x: Real) -> Real:
    """``e**x - 1`` without cancellation near 0."""
    f = format_of(x)
    inside = clamped(x, f.expm1_low, f.exp_range[1])
    n, i = nearest(inside, f.log2e[0], f)
    high = fma(n, -f.ln2[0], inside)
    r = fma(n, -f.ln2[1], high)
    low = fma(n, -f.ln2[1], high - r)
    s = power_of_two(i - 1, f)  # half of 2**n: 2**n itself may overflow
    rest = fma(r * r, polynomial(r, f.exp), low)
    u = s - 0.5
    total = fma(s, r, u)
    error = fma(s, r, u - total) + ((s - u) - 0.5)
    result = (total + fma(s, rest, error)) * 2.0
    return (absolute(x) < f.tiny * 2.0 ** (f.mantissa + 2)).select(x, result)
