"""What functions of floats give for constants: exactly, before it is rounded to a format."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def sqrt(x: float) -> float:
    """The square root; nan for negative numbers."""
    return math.nan if x < 0 or x != x else math.sqrt(x)


def floor(x: float) -> float:
    """The greatest integer that is not greater; infinities, nan and -0 stay."""
    return math.copysign(math.floor(x), x) if math.isfinite(x) else x


def ceil(x: float) -> float:
    """The least integer that is not less; infinities, nan and -0 stay."""
    return math.copysign(math.ceil(x), x) if math.isfinite(x) else x


def trunc(x: float) -> float:
    """The integer toward zero; infinities, nan and -0 stay."""
    return math.copysign(math.trunc(x), x) if math.isfinite(x) else x


def roundeven(x: float) -> float:
    """The nearest integer, ties to even; infinities, nan and -0 stay."""
    return math.copysign(round(x), x) if math.isfinite(x) else x


def minimum(x: float, y: float) -> float:
    """The smaller; where one is nan, the other; -0 is less than 0."""
    if x == y == 0:
        return y if math.copysign(1.0, y) < 0 else x
    return y if x != x or y < x else x


def maximum(x: float, y: float) -> float:
    """The larger; where one is nan, the other; 0 is greater than -0."""
    if x == y == 0:
        return y if math.copysign(1.0, x) < 0 else x
    return y if x != x or y > x else x


def fma(a: float, b: float, c: float) -> float | Fraction:
    """``a * b + c``; a fraction where that is a number other than 0."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    from fractions import Fraction  # it takes milliseconds to load

    return Fraction(a) * Fraction(b) + Fraction(c) or a * b + c
