"""The few operations under ``weft.math``: intrinsics that every target lowers without a library, and bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from weft.dtype import DType
from weft.lang.intrinsics import function
from weft.lang.number import Number, number_class

Real = Any
"""A Float32 or Float64, or a SIMD of them; its operators emit code."""


def like(x: Number, value: Any) -> Real:
    """``value`` as a number of the type of ``x``."""
    return value if isinstance(value, Number) else number_class(x.dtype, x.lanes)(value)


def fma(a: Real, b: Any, c: Any) -> Real:
    """``a * b + c``, rounded once; ``b`` and ``c`` may be Python numbers."""
    return a.fma(like(a, b), like(a, c))


def _function(name: str) -> Callable[..., Real]:
    def emit(x: Real, *others: Any) -> Real:
        return function(name, x, *[like(x, o) for o in others])

    return emit


sqrt, floor, ceil, trunc = (_function(f"math.{name}") for name in ("sqrt", "floor", "ceil", "trunc"))
rint, absolute, copysign = (_function(f"math.{name}") for name in ("roundeven", "absf", "copysign"))
minimum, maximum = _function("arith.minnumf"), _function("arith.maxnumf")

"""Where one is nan, the other; -0 is less than 0."""


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
