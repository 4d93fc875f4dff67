"""The few operations under ``weft.math``: intrinsics that every target lowers without a library, and bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft.dtype import DType
from weft.lang.fold import fold_intrinsic
from weft.lang.intrinsics import llvm_intrinsic
from weft.lang.number import Number, number_class

__all__ = [
    "Real",
    "absolute",
    "bits_of",
    "ceil",
    "ceil_of_ratio",
    "copysign",
    "floor",
    "fma",
    "from_bits",
    "is_finite",
    "is_infinite",
    "is_nan",
    "like",
    "maximum",
    "minimum",
    "polynomial",
    "rint",
    "rsqrt",
    "sqrt",
    "trunc",
]

Real = Any
"""A Float32 or Float64, or a SIMD of them; its operators emit code."""

_SUFFIX = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def like(x: Number, value: Any) -> Real:
    """``value`` as a number of the type of ``x``."""
    return value if isinstance(value, Number) else number_class(x.dtype, x.lanes)(value)


def _intrinsic(name: str, x: Number, *others: Any) -> Real:
    args = (x, *(like(x, o) for o in others))
    if all(isinstance(a.value, (int, float, tuple)) for a in args):
        return type(x)(fold_intrinsic(name, x.dtype, *(a.value for a in args)))
    suffix = _SUFFIX[x.dtype.name] if x.lanes == 1 else f"v{x.lanes}{_SUFFIX[x.dtype.name]}"
    return llvm_intrinsic(f"llvm.{name}.{suffix}", type(x), *args, effects="none")


def fma(a: Real, b: Any, c: Any) -> Real:
    """``a * b + c``, rounded once; ``b`` and ``c`` may be Python numbers."""
    return a.fma(like(a, b), like(a, c))


def sqrt(x: Real) -> Real:
    """The square root, correctly rounded."""
    return _intrinsic("sqrt", x)


def floor(x: Real) -> Real:
    """The greatest integer that is not greater."""
    return _intrinsic("floor", x)


def ceil(x: Real) -> Real:
    """The least integer that is not less."""
    return _intrinsic("ceil", x)


def trunc(x: Real) -> Real:
    """The integer toward zero."""
    return _intrinsic("trunc", x)


def rint(x: Real) -> Real:
    """The nearest integer, ties to even."""
    return _intrinsic("roundeven", x)


def absolute(x: Real) -> Real:
    """The magnitude."""
    return _intrinsic("fabs", x)


def copysign(x: Real, sign: Any) -> Real:
    """The magnitude of ``x`` with the sign of ``sign``."""
    return _intrinsic("copysign", x, sign)


def minimum(x: Real, y: Any) -> Real:
    """The smaller; where one is nan, the other; -0 is less than 0."""
    return _intrinsic("minimumnum", x, y)


def maximum(x: Real, y: Any) -> Real:
    """The larger; where one is nan, the other; 0 is greater than -0."""
    return _intrinsic("maximumnum", x, y)


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
