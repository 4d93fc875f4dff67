"""The public transcendental functions."""

from __future__ import annotations

import math
from typing import Any, overload

from weft.lang.number import NumberLike
from weft.math import (
    error,
    exponential,
    factorials,
    hyperbolic,
    inverse,
    logarithm,
    plain,
    power,
    roots,
    trigonometric,
)
from weft.math.dispatch import floating
from weft.math.typing import FloatT, NumberT, TensorT


def exp(x: FloatT) -> FloatT:
    """``e**x``, within 1 ulp; inf above the range, 0 below it.

    Method: ``x = n log(2) + r``, a polynomial for ``exp(r)``, and ``2**n`` in two steps, so that
    subnormal results are rounded once.

    Example:
        >>> exp(0.0)
        1.0
    """
    return floating("exp", exponential.exp, math.exp, x)


def exp2(x: FloatT) -> FloatT:
    """``2**x``, within 1 ulp; exact for integers.

    Example:
        >>> exp2(10.0)
        1024.0
    """
    return floating("exp2", exponential.exp2, math.exp2, x)


def exp10(x: FloatT) -> FloatT:
    """``10**x``, within 1 ulp.

    Example:
        >>> exp10(2.0)
        100.0
    """
    return floating("exp10", exponential.exp10, plain.exp10, x)


def expm1(x: FloatT) -> FloatT:
    """``e**x - 1`` without cancellation near 0, within 1.1 ulp.

    Example:
        >>> expm1(1e-20)
        1e-20
    """
    return floating("expm1", exponential.expm1, math.expm1, x)


def log(x: FloatT) -> FloatT:
    """The natural logarithm, within 1 ulp; -inf for 0, nan for negative numbers.

    Method: ``x = 2**k (1 + f)`` with ``1 + f`` in ``[sqrt(1/2), sqrt(2))``. Float32 takes a polynomial of
    ``f``; Float64 the series of ``log((1 + s) / (1 - s))``, ``s = f / (2 + f)``, as FreeBSD's msun does.

    Example:
        >>> log(1.0)
        0.0
    """
    return floating("log", logarithm.log, math.log, x)


def log2(x: FloatT) -> FloatT:
    """The logarithm to base 2, within 1.2 ulp; exact for powers of 2.

    Example:
        >>> log2(8.0)
        3.0
    """
    return floating("log2", logarithm.log2, math.log2, x)


def log10(x: FloatT) -> FloatT:
    """The logarithm to base 10, within 1 ulp.

    Example:
        >>> log10(100.0)
        2.0
    """
    return floating("log10", logarithm.log10, math.log10, x)


def log1p(x: FloatT) -> FloatT:
    """``log(1 + x)`` without cancellation near 0, within 1 ulp; -inf for -1, nan below it.

    Example:
        >>> log1p(1e-20)
        1e-20
    """
    return floating("log1p", logarithm.log1p, math.log1p, x)


@overload
def pow(x: NumberT, y: NumberLike) -> NumberT: ...


@overload
def pow(x: float, y: NumberT) -> NumberT: ...


@overload
def pow(x: float, y: float) -> float: ...


@overload
def pow(x: TensorT, y: Any) -> TensorT: ...


@overload
def pow(x: NumberLike, y: TensorT) -> TensorT: ...


def pow(x: Any, y: Any) -> Any:
    """``x**y``, within 1 ulp, with the special cases of IEEE 754 and C's ``pow``.

    ``pow(x, 0)`` and ``pow(1, y)`` are 1 even for nan; a negative ``x`` takes integers ``y`` and gives nan
    for others; zeros and infinities give zeros and infinities with the sign of an odd power.

    Method: ``log2(x)`` in two numbers by the series of ``log((1 + s) / (1 - s))``, times ``y``, and
    ``2**`` of that. ``x ** 3`` with a literal exponent multiplies instead.

    Example:
        >>> pow(2.0, 0.5) == 2.0**0.5
        True
    """
    return floating("pow", power.pow, math.pow, x, y)


def cbrt(x: FloatT) -> FloatT:
    """The cube root, within 1 ulp, of negative numbers too.

    Method: a guess for the number without its power of 8, two or three steps after Halley and Newton, the
    last of them with the residue in two numbers.

    Example:
        >>> round(cbrt(-27.0), 12)
        -3.0
    """
    return floating("cbrt", roots.cbrt, math.cbrt, x)


@overload
def hypot(x: NumberT, y: NumberLike) -> NumberT: ...


@overload
def hypot(x: float, y: NumberT) -> NumberT: ...


@overload
def hypot(x: float, y: float) -> float: ...


@overload
def hypot(x: TensorT, y: Any) -> TensorT: ...


@overload
def hypot(x: NumberLike, y: TensorT) -> TensorT: ...


def hypot(x: Any, y: Any) -> Any:
    """``sqrt(x * x + y * y)``, within 1 ulp, though the squares be too large or too small for the format.

    It is inf where one of the two is infinite, even if the other is nan.

    Example:
        >>> hypot(3.0, 4.0)
        5.0
    """
    return floating("hypot", roots.hypot, math.hypot, x, y)


def sin(x: FloatT) -> FloatT:
    """The sine of an angle in radians, within 1 ulp for every finite angle; nan for the infinite ones.

    Method: the nearest multiple of pi/2 is subtracted in three parts (Cody and Waite) up to 2**17 for
    Float32 and 2**30 for Float64; beyond, the angle is multiplied with those bits of 2/pi that matter
    (Payne and Hanek), which only code with such an angle pays for.

    Example:
        >>> sin(0.0)
        0.0
    """
    return floating("sin", trigonometric.sin, math.sin, x)


def cos(x: FloatT) -> FloatT:
    """The cosine of an angle in radians, within 1 ulp for every finite angle; see ``sin``.

    Example:
        >>> cos(0.0)
        1.0
    """
    return floating("cos", trigonometric.cos, math.cos, x)


@overload
def sincos(x: NumberT) -> tuple[NumberT, NumberT]: ...


@overload
def sincos(x: float) -> tuple[float, float]: ...


@overload
def sincos(x: TensorT) -> tuple[TensorT, TensorT]: ...


def sincos(x: Any) -> Any:
    """Sine and cosine together, for little more than one of them; see ``sin``.

    Example:
        >>> sincos(0.0)
        (0.0, 1.0)
    """
    return floating("sincos", trigonometric.sincos, plain.sincos, x)


def tan(x: FloatT) -> FloatT:
    """The tangent of an angle in radians, within 1.5 ulp for every finite angle; see ``sin``.

    Example:
        >>> tan(0.0)
        0.0
    """
    return floating("tan", trigonometric.tan, math.tan, x)


def asin(x: FloatT) -> FloatT:
    """The arc sine in ``[-pi/2, pi/2]``, within 1 ulp; nan outside of ``[-1, 1]``.

    Example:
        >>> from math import pi
        >>> asin(1.0) == pi / 2
        True
    """
    return floating("asin", inverse.asin, math.asin, x)


def acos(x: FloatT) -> FloatT:
    """The arc cosine in ``[0, pi]``, within 1 ulp; nan outside of ``[-1, 1]``.

    Example:
        >>> from math import pi
        >>> acos(-1.0) == pi
        True
    """
    return floating("acos", inverse.acos, math.acos, x)


def atan(x: FloatT) -> FloatT:
    """The arc tangent in ``[-pi/2, pi/2]``, within 1 ulp.

    Example:
        >>> from math import pi
        >>> atan(1.0) == pi / 4
        True
    """
    return floating("atan", inverse.atan, math.atan, x)


@overload
def atan2(y: NumberT, x: NumberLike) -> NumberT: ...


@overload
def atan2(y: float, x: NumberT) -> NumberT: ...


@overload
def atan2(y: float, x: float) -> float: ...


@overload
def atan2(y: TensorT, x: Any) -> TensorT: ...


@overload
def atan2(y: NumberLike, x: TensorT) -> TensorT: ...


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point ``(x, y)`` in ``[-pi, pi]``, within 1.1 ulp; zeros and infinities as in C.

    Example:
        >>> from math import pi
        >>> atan2(0.0, -1.0) == pi
        True
    """
    return floating("atan2", inverse.atan2, math.atan2, y, x)


def sinh(x: FloatT) -> FloatT:
    """The hyperbolic sine, within 2 ulp.

    Example:
        >>> sinh(0.0)
        0.0
    """
    return floating("sinh", hyperbolic.sinh, math.sinh, x)


def cosh(x: FloatT) -> FloatT:
    """The hyperbolic cosine, within 2 ulp.

    Example:
        >>> cosh(0.0)
        1.0
    """
    return floating("cosh", hyperbolic.cosh, math.cosh, x)


def tanh(x: FloatT) -> FloatT:
    """The hyperbolic tangent, within 2 ulp.

    Example:
        >>> tanh(0.0)
        0.0
    """
    return floating("tanh", hyperbolic.tanh, math.tanh, x)


def asinh(x: FloatT) -> FloatT:
    """The inverse hyperbolic sine, within 1 ulp.

    Method: ``log(x + sqrt(x * x + 1))``, with the root and the sum in two numbers.

    Example:
        >>> asinh(0.0)
        0.0
    """
    return floating("asinh", hyperbolic.asinh, math.asinh, x)


def acosh(x: FloatT) -> FloatT:
    """The inverse hyperbolic cosine, within 1 ulp; nan below 1. See ``asinh``.

    Example:
        >>> acosh(1.0)
        0.0
    """
    return floating("acosh", hyperbolic.acosh, math.acosh, x)


def atanh(x: FloatT) -> FloatT:
    """The inverse hyperbolic tangent, within 1 ulp; infinite for 1 and -1, nan beyond them. See ``asinh``.

    Example:
        >>> atanh(0.0)
        0.0
    """
    return floating("atanh", hyperbolic.atanh, math.atanh, x)


def erf(x: FloatT) -> FloatT:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to ``x``; 1.2 ulp.

    Example:
        >>> erf(0.0)
        0.0
    """
    return floating("erf", error.erf, math.erf, x)


def erfc(x: FloatT) -> FloatT:
    """``1 - erf(x)`` without cancellation, within 2.5 ulp, down to subnormal results.

    Example:
        >>> erfc(0.0)
        1.0
    """
    return floating("erfc", error.erfc, math.erfc, x)


def gamma(x: FloatT) -> FloatT:
    """The gamma function, ``(x - 1)!`` of whole numbers, within 7 ulp; of Float32 within 0.51.

    Nan of negative whole numbers, an infinity of 0. Of Python's numbers ``math.gamma``, which raises there.

    Example:
        >>> gamma(5.0)
        24.0
    """
    return floating("gamma", factorials.gamma, math.gamma, x)


def lgamma(x: FloatT) -> FloatT:
    """The logarithm of ``abs(gamma(x))``, within 5.5 ulp where ``x > 0``.

    Inf of 0 and of negative whole numbers. Below 0 it has zeros, near which the absolute error counts.

    Example:
        >>> lgamma(1.0)
        0.0
    """
    return floating("lgamma", factorials.lgamma, math.lgamma, x)
