"""Angles reduced by multiples of pi/2: three-part subtraction, and Payne and Hanek's method beyond it.

M. H. Payne, R. N. Hanek: Radian reduction for trigonometric functions. SIGNUM Newsletter 18, 1983.
W. J. Cody, W. Waite: Software manual for the elementary functions. 1980.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from weft.dtype import DType
from weft.lang import func, no_contraction
from weft.math.exponential import nearest
from weft.math.formats import Format, format_of
from weft.math.ops import Real, bits_of, fma, from_bits, like

_LOW32 = 0xFFFFFFFF


@func
def _reduced(a: Any) -> Any:
    q, r, low = _by_subtraction(a)
    if _any_beyond(a):
        q, r, low = _by_fraction(a, q, r, low)
    return q, r, low


def reduce_angle(a: Real) -> tuple[Any, Real, Real]:
    """``q, r, low`` with ``a = q * pi/2 + r + low``, for a non-negative ``a``.

    ``q`` is right in its two lowest bits; ``|r|`` is at most ``pi/4``, barely more; ``low`` is below the
    last bits of ``r``. For inf and nan, ``r`` is nan.
    """
    if isinstance(a.value, (float, tuple)):  # a constant, also one of lanes
        return cast("tuple[Any, Real, Real]", _reduced.function(a))
    return _reduced(a)


def _beyond(a: Real) -> Any:
    return (a > format_of(a).trig_limit) & (a < math.inf)


def _any_beyond(a: Real) -> Any:
    large = _beyond(a)
    return large if large.lanes == 1 else large.reduce_or()


def _by_subtraction(a: Real) -> tuple[Any, Real, Real]:
    """Of three parts of pi/2, in three steps; the first is exact, the second kept in two numbers."""
    with no_contraction():
        return _three_steps(a, format_of(a))


def _three_steps(a: Real, f: Format) -> tuple[Any, Real, Real]:
    n, q = nearest(a, f.inv_pi_2[0], f)
    p1, p2, p3 = f.pi_2
    first = fma(n, -p1, a)  # exact
    product = n * p2
    product_low = fma(n, p2, -product)
    total = first - product
    back = total - first
    error = (first - (total - back)) - (product + back)
    r = total - product_low
    low = ((total - r) - product_low) + error
    return q, r, fma(n, -p3, low)


def _by_fraction(a: Real, *otherwise: Any) -> tuple[Any, ...]:
    """By Payne and Hanek's method in the lanes that need it, else what is known already."""
    with no_contraction():
        large = _beyond(a)
        found = _fraction_of(a, format_of(a))
        if a.lanes == 1:
            return found
        return tuple(large.select(x, y) for x, y in zip(found, otherwise, strict=True))


def _fraction_of(a: Real, f: Format) -> tuple[Any, Real, Real]:
    """The integer ``m`` of ``a = m * 2**e`` times those bits of ``2**e * 2/pi`` that matter."""
    i = bits_of(a)
    position = ((i >> f.mantissa) - (f.bias + round(math.log2(f.trig_limit)))).cast(DType.uint64)
    m = ((i & ((1 << f.mantissa) - 1)) | (1 << f.mantissa)).cast(DType.uint64)
    words = _bits_from(f.inv_pi_2_words, position, 2 if f.bits == 32 else 3)
    return _quarter32(m, words, f) if f.bits == 32 else _quarter64(m, words, f)


def _bits_from(table: Sequence[int], position: Any, count: int) -> list[Any]:
    """``count`` words of 64 bits from a position in the table, chosen by selects."""
    index = position >> 6
    found: list[Any] = [like(position, w) for w in table]
    step = 1 << (len(table) - count - 1).bit_length() - 1
    while step:
        high = (index & step) != 0
        needed = step + count
        found = [high.select(found[min(j + step, len(found) - 1)], found[j]) for j in range(needed)]
        step >>= 1
    left = position & 63
    right = 63 - left
    return [(found[j] << left) | ((found[j + 1] >> 1) >> right) for j in range(count)]


def _rounded(whole: Any) -> tuple[Any, Any]:
    """Of a number of quarter turns with 62 bits behind the point: the nearest integer, and what is left.

    The rest stands in all 64 bits, as a signed number of ``2**-64`` quarters.
    """
    return (whole + (1 << 61)) >> 62, whole << 2


def _quarter32(m: Any, words: list[Any], f: Format) -> tuple[Any, Real, Real]:
    high = (m * (words[0] >> 32)) << 32
    whole = high + m * (words[0] & _LOW32) + ((m * (words[1] >> 32)) >> 32)
    q, part = _rounded(whole)
    top = (part >> 32).cast(DType.int32)
    a = (top >> 8).cast(DType.float32) * 256.0  # 24 bits, 8 bits, 24 bits: each exact
    b = (top & 255).cast(DType.float32)
    c = ((part >> 8) & 0xFFFFFF).cast(DType.int32).cast(DType.float32) * 2.0**-24
    low = b + c
    x = a + low
    y = ((a - x) + low) + ((b - low) + c)
    return (q.cast(DType.int32), *_times_quarter(x, y, 2.0**-32, f))


def _quarter64(m: Any, words: list[Any], f: Format) -> tuple[Any, Real, Real]:
    m0, m1 = m & _LOW32, m >> 32
    g = [half for w in words for half in (w >> 32, w & _LOW32)]  # 32-bit digits, high to low
    low = [m0 * d for d in g]
    high = [m1 * d for d in g]
    columns: list[Any] = []
    carry = (low[4] >> 32) + (high[5] >> 32)
    for j in (3, 2, 1, 0):  # the digit of weight g[j], from low to high
        column = carry + (low[j] & _LOW32) + (high[j + 1] & _LOW32)
        columns.append(column & _LOW32)
        carry = (column >> 32) + (low[j] >> 32) + (high[j + 1] >> 32)
    q, part = _rounded((columns[3] << 32) | columns[2])
    rest = (columns[1] << 32) | columns[0]
    part = part | (rest >> 62)
    a = (_digit((part >> 32) ^ (1 << 31)) - 2.0**31) * 2.0**32
    b = _digit(part & _LOW32)
    c = _digit((rest >> 30) & _LOW32) * 2.0**-32 + _digit((rest << 2) & _LOW32) * 2.0**-64
    first = a + b
    below = ((a - first) + b) + c
    x = first + below
    return (q.bitcast(DType.int64), *_times_quarter(x, (first - x) + below, 2.0**-64, f))


def _digit(d: Any) -> Real:
    """32 bits as a Float64: put under the exponent of ``2**52``, which is taken off again."""
    return from_bits(d | 0x4330000000000000) - 2.0**52


def _times_quarter(x: Real, y: Real, unit: float, f: Format) -> tuple[Real, Real]:
    """``(x + y) * unit * pi/2`` in two parts."""
    p = [c * unit for c in f.pi_2]
    r = x * p[0]
    return r, fma(y, p[0], fma(x, p[1], fma(x, p[0], -r)))
