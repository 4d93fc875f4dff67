"""The functions of ``weft.math`` on Python numbers, where Python's own ``math`` has another idea of them."""

from __future__ import annotations

import math

from weft.dtype import DType
from weft.lang.fold import exact_function, fold_function

floor, ceil, trunc = (exact_function(f"math.{name}") for name in ("floor", "ceil", "trunc"))
rint = exact_function("math.roundeven")
minimum, maximum = exact_function("arith.minnumf"), exact_function("arith.maxnumf")


def sincos(x: float) -> tuple[float, float]:
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


def exp10(x: float) -> float:
    """``10**x``."""
    return math.pow(10.0, x)


def fma(a: float, b: float, c: float) -> float:
    """``a * b + c``, rounded once."""
    return fold_function("math.fma", DType.float64, a, b, c)


def rsqrt(x: float) -> float:
    """The reciprocal of the square root."""
    return math.copysign(math.inf, x) if x == 0 else 1.0 / math.sqrt(x)


def isclose(x: float, y: float, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether two numbers differ by little."""
    return math.isclose(x, y, rel_tol=rtol, abs_tol=atol) or (equal_nan and x != x and y != y)
