"""The functions of ``weft.math`` on Python numbers, where Python's own ``math`` has another idea of them."""

from __future__ import annotations

import math

from weft.dtype import DType
from weft.lang.fold import fold_intrinsic

__all__ = [
    "ceil",
    "ceil_of_ratio",
    "exp2",
    "floor",
    "fma",
    "isclose",
    "maximum",
    "minimum",
    "rint",
    "rsqrt",
    "sincos",
    "trunc",
]


def floor(x: float) -> float:
    """Rounded down, as a float."""
    return float(math.floor(x)) if math.isfinite(x) else x


def ceil(x: float) -> float:
    """Rounded up, as a float."""
    return float(math.ceil(x)) if math.isfinite(x) else x


def trunc(x: float) -> float:
    """Rounded toward zero, as a float."""
    return float(math.trunc(x)) if math.isfinite(x) else x


def ceil_of_ratio(x: float, y: float) -> float:
    """``x / y`` rounded up, as a float."""
    return ceil(x / y)


def exp2(x: float) -> float:
    """``2**x``."""
    return math.pow(2.0, x)


def rint(x: float) -> float:
    """Rounded to nearest, ties to even, as a float."""
    return float(round(x)) if math.isfinite(x) else x


def fma(a: float, b: float, c: float) -> float:
    """``a * b + c``, rounded once."""
    return fold_intrinsic("fma", DType.float64, a, b, c)


def rsqrt(x: float) -> float:
    """The reciprocal of the square root."""
    return math.copysign(math.inf, x) if x == 0 else 1.0 / math.sqrt(x)


def sincos(x: float) -> tuple[float, float]:
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


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


def isclose(x: float, y: float, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether two numbers differ by little."""
    if x == y or (equal_nan and x != x and y != y):
        return True
    if math.isinf(x) or math.isinf(y):
        return False
    return abs(x - y) <= max(atol, rtol * max(abs(x), abs(y)))
