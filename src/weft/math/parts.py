"""The public functions of a float's parts: remainders, exponents, fractions, neighbours; units of angles."""

from __future__ import annotations

import math
import operator
from typing import Any, overload

from weft.diagnostics import refuse
from weft.dtype import DType
from weft.lang import Int32
from weft.lang.number import Number, NumberLike
from weft.math import ops
from weft.math.dispatch import floating, is_plain
from weft.math.exponential import scale
from weft.math.formats import format_of
from weft.math.typing import FloatT, NumberT


def _fmod(x: ops.Real, y: ops.Real) -> ops.Real:
    return ops.copysign(ops.absolute(x) % ops.absolute(y), x)


def _remainder(x: ops.Real, y: ops.Real) -> ops.Real:
    by = ops.absolute(y)
    rest = ops.absolute(x) % (by + by)
    less = rest - by
    less = (less >= by - less).select(less - by, less)
    rest = (rest > by - rest).select(less, rest)  # halves of by may not be numbers, but these differences are
    return rest * ops.copysign(ops.like(x, 1.0), x)


def _frexp(x: ops.Real) -> tuple[ops.Real, Any]:
    f = format_of(x)
    a = ops.absolute(x)
    small = a < f.tiny
    lift = f.mantissa + 1
    i = ops.bits_of(small.select(a * 2.0**lift, a))
    exponent = (i >> f.mantissa) - (f.bias - 1)
    exponent = small.select(exponent - lift, exponent)
    mantissa = ops.from_bits(i - ((i >> f.mantissa) - (f.bias - 1) << f.mantissa))
    none = (a == 0.0) | ~(a < math.inf)
    return none.select(x, ops.copysign(mantissa, x)), none.select(0, exponent)


def _modf(x: ops.Real) -> tuple[ops.Real, ops.Real]:
    whole = ops.trunc(x)
    return ops.copysign(ops.is_infinite(x).select(0.0, x - whole), x), whole


def _degrees(x: ops.Real) -> ops.Real:
    return x * (180.0 / math.pi)


def _radians(x: ops.Real) -> ops.Real:
    return x * (math.pi / 180.0)


def _nextafter(x: ops.Real, y: ops.Real) -> ops.Real:
    bits = {16: DType.int16, 32: DType.int32, 64: DType.int64}[x.dtype.bits]
    i = x.bitcast(bits)
    outward = (x < y) == (x > 0.0)
    found = (i + outward.select(1, type(i)(-1))).bitcast(x.dtype)
    least = ops.copysign((i * 0 + 1).bitcast(x.dtype), y)
    found = (x == 0.0).select(least, found)
    found = (x == y).select(y, found)
    return ((x == x) & (y == y)).select(found, x + y)


@overload
def fmod(x: NumberT, y: NumberLike) -> NumberT: ...


@overload
def fmod(x: float, y: NumberT) -> NumberT: ...


@overload
def fmod(x: float, y: float) -> float: ...


def fmod(x: Any, y: Any) -> Any:
    """``x - n * y`` for the quotient ``n`` rounded toward zero, exact; ``x % y`` rounds it down.

    The sign is that of ``x``. It is nan where ``x`` is infinite or ``y`` is 0.

    Example:
        >>> fmod(-7.0, 3.0), -7.0 % 3.0
        (-1.0, 2.0)
    """
    return floating("fmod", _fmod, math.fmod, x, y)


@overload
def remainder(x: NumberT, y: NumberLike) -> NumberT: ...


@overload
def remainder(x: float, y: NumberT) -> NumberT: ...


@overload
def remainder(x: float, y: float) -> float: ...


def remainder(x: Any, y: Any) -> Any:
    """``x - n * y`` for the integer ``n`` nearest to the quotient, ties to even, exact; as IEEE 754 has it.

    It is nan where ``x`` is infinite or ``y`` is 0.

    Example:
        >>> remainder(7.0, 4.0), remainder(6.0, 4.0)
        (-1.0, -2.0)
    """
    return floating("remainder", _remainder, math.remainder, x, y)


@overload
def frexp(x: NumberT) -> tuple[NumberT, Int32]: ...


@overload
def frexp(x: float) -> tuple[float, int]: ...


def frexp(x: Any) -> Any:
    """``m`` and ``n`` with ``x = m * 2**n`` and ``m`` from 0.5 to 1 in size, exact; ``n`` is an ``Int32``.

    Of 0, the infinities and nan, they are ``x`` and 0.

    Example:
        >>> frexp(12.0)
        (0.75, 4)
    """

    def emit(x: ops.Real) -> tuple[ops.Real, Any]:
        mantissa, exponent = _frexp(x)
        return mantissa, exponent.cast(DType.int32)

    return floating("frexp", emit, math.frexp, x)


@overload
def ldexp(x: NumberT, n: NumberLike) -> NumberT: ...


@overload
def ldexp(x: float, n: int) -> float: ...


def ldexp(x: Any, n: Any) -> Any:
    """``x * 2**n`` of an integer ``n``, rounded once; infinite above the range, also of a Python number.

    Example:
        >>> ldexp(0.75, 4)
        12.0
    """
    if is_plain(x, n):
        try:
            return math.ldexp(x, operator.index(n))
        except OverflowError:
            return math.copysign(math.inf, x)
    if not isinstance(x, Number):
        refuse(
            "argument-type",
            f"ldexp takes a number of weft's with {type(n).__name__}, not {x!r}",
            hint=f"write ldexp(Float32({x!r}), n)",
        )
    if not (n.dtype.is_integer if isinstance(n, Number) else isinstance(n, int)):
        refuse(
            "argument-type",
            f"ldexp takes an integer for the power of 2, not {type(n).__name__}",
            hint="write ldexp(x, Int32(n))",
        )

    def emit(x: ops.Real) -> ops.Real:
        f = format_of(x)
        mantissa, exponent = _frexp(x)
        most = 3 * (f.bias + f.mantissa)  # from any number to 0 or infinity
        power: Any = n
        if isinstance(power, Number):
            if power.dtype.bits < 32:
                power = power.cast(DType.int32)
            power = (power > most).select(most, power)
            if power.dtype.is_signed:
                power = (power < -most).select(-most, power)
            power = power.cast(exponent.dtype)
        else:
            power = max(-most, min(power, most))
        power = exponent + power
        end = f.bias + f.mantissa + 2
        power = (power > end).select(end, power)
        power = (power < -end).select(-end, power)
        return scale(mantissa, power, f)

    return floating("ldexp", emit, math.ldexp, x)


@overload
def modf(x: NumberT) -> tuple[NumberT, NumberT]: ...


@overload
def modf(x: float) -> tuple[float, float]: ...


def modf(x: Any) -> Any:
    """What stands behind the point and what before it, both with the sign of ``x``, exact.

    Example:
        >>> modf(-2.75)
        (-0.75, -2.0)
    """
    return floating("modf", _modf, math.modf, x)


@overload
def nextafter(x: NumberT, y: NumberLike) -> NumberT: ...


@overload
def nextafter(x: float, y: NumberT) -> NumberT: ...


@overload
def nextafter(x: float, y: float) -> float: ...


def nextafter(x: Any, y: Any) -> Any:
    """The number of the format that follows ``x`` toward ``y``; ``y`` where they are equal.

    Example:
        >>> nextafter(1.0, 2.0) - 1.0
        2.220446049250313e-16
    """
    return floating("nextafter", _nextafter, math.nextafter, x, y, wide=False)


def _ulp(x: ops.Real) -> ops.Real:
    a = ops.absolute(x)
    above = _nextafter(a, ops.like(a, math.inf))
    return ops.is_infinite(above).select(a - _nextafter(a, ops.like(a, 0.0)), above - a)


def ulp(x: FloatT) -> FloatT:
    """The value of the last bit of a number in its format; of 0 the smallest number there is.

    Example:
        >>> ulp(1.0), ulp(-4.0)
        (2.220446049250313e-16, 8.881784197001252e-16)
    """
    return floating("ulp", _ulp, math.ulp, x, wide=False)


def degrees(x: FloatT) -> FloatT:
    """An angle in degrees of one in radians, within 1 ulp.

    Example:
        >>> from math import pi
        >>> degrees(pi)
        180.0
    """
    return floating("degrees", _degrees, math.degrees, x)


def radians(x: FloatT) -> FloatT:
    """An angle in radians of one in degrees, within 1 ulp.

    Example:
        >>> from math import pi
        >>> radians(180.0) == pi
        True
    """
    return floating("radians", _radians, math.radians, x)
