"""Numbers in the small formats by exact integer arithmetic, for tests: independent of weft and of NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

FLOATS = {"float16": (11, -24, 16), "bfloat16": (8, -133, 128), "float32": (24, -149, 128)}
"""Digits, the exponent of the least subnormal, and the exponent from which on numbers are infinite."""
FLOATS["float64"] = (53, -1074, 1024)


def nearest(name: str, value: float | Fraction) -> float:
    """A number in a format, rounded to the nearest, ties to even."""
    if isinstance(value, float) and not (math.isfinite(value) and value):
        return value
    exact = Fraction(value)
    digits, least, infinite = FLOATS[name]
    size = abs(exact)
    top = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** top > size:
        top -= 1
    unit = Fraction(2) ** max(top - digits + 1, least)
    whole, rest = divmod(size, unit)
    whole += rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1)
    found = whole * unit
    number = math.inf if found >= Fraction(2) ** infinite else float(found)
    return -number if exact < 0 else number


def whole(bits: int, signed: bool, value: int) -> int:
    """An integer wrapped around."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def cut(bits: int, signed: bool, value: float) -> int:
    """A float as an integer: cut toward zero, the nearest that there is, nan as 0."""
    if math.isnan(value):
        return 0
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, math.trunc(value)))
