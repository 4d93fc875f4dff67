"""The few operations under ``weft.math``: intrinsics that every target lowers without a library, and bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft.dtype import DType
from weft.lang.intrinsics import function
from weft.lang.number import Number, number_class

Real = Any
"""A Float32 or Float64, or a SIMD of them; its operators emit code."""


def like(x: Number, value: Any) -> Real:
    """``value`` as a number of the type of ``x``."""
    return value if isinstance(value, Number) else number_class(x.dtype, x.lanes)(value)


def _function(name: str, x: Number, *others: Any) -> Real:
    return function(name, x, *[like(x, o) for o in others])


def fma(a: Real, b: Any, c: Any) -> Real:
    """``a * b + c``, rounded once; ``b`` and ``c`` may be Python numbers."""
    return a.fma(like(a, b), like(a, c))


def sqrt(x: Real) -> Real:
    """The square root, correctly rounded."""
    return _function("math.sqrt", x)


def floor(x: Real) -> Real:
    """The greatest integer that is not greater."""
    return _function("math.floor", x)


def ceil(x: Real) -> Real:
    """The least integer that is not less."""
    return _function("math.ceil", x)


def trunc(x: Real) -> Real:
    """The integer toward zero."""
    return _function("math.trunc", x)


def rint(x: Real) -> Real:
    """The nearest integer, ties to even."""
    return _function("math.roundeven", x)


def absolute(x: Real) -> Real:
    """The magnitude."""
    return _function("math.absf", x)


def copysign(x: Real, sign: Any) -> Real:
    """The magnitude of ``x`` with the sign of ``sign``."""
    return _function("math.copysign", x, sign)


def minimum(x: Real, y: Any) -> Real:
    """The smaller; where one is nan, the other; -0 is less than 0."""
    return _function("arith.minnumf", x, y)


def maximum(x: Real, y: Any) -> Real:
    """The larger; where one is nan, the other; 0 is greater than -0."""
    return _function("arith.maxnumf", x, y)


def rsqrt(x: Real) -> Real:
    """``1 / sqrt(x)``, each step correctly rounded."""
    return 1.0 / sqrt(x)


def is_nan(x: Real) -> Any:
    """Whether ``x`` is nan."""
    return x != x


def is_infinite(x: Real) -> Any:
    """Whether ``x`` is an infinity."""
    return absolute(x) == math.inf


def is_finite(x: Real) -> Any:
    """Whether ``x`` is neither."""
    return absolute(x) < math.inf


def ceil_of_ratio(x: Real, y: Real) -> Real:
    """``x / y`` rounded up."""
    return ceil(x / y)


def bits_of(x: Real) -> Any:
    """The bits of a float as a signed integer of the same width."""
    return x.bitcast(DType.int32 if x.dtype.bits == 32 else DType.int64)


def from_bits(i: Any) -> Real:
    """The float of those bits."""
    return i.bitcast(DType.float32 if i.dtype.bits == 32 else DType.float64)


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """``coefficients[0] + coefficients[1] * x + ...``, by Horner's rule with fma."""
    total = like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total
