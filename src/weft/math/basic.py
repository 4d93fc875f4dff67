"""The public functions that compare, round and count."""

from __future__ import annotations

import builtins
import functools
import math
from typing import TYPE_CHECKING, Any, overload

from weft.diagnostics import VALUE, refuse
from weft.lang import Bool
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike
from weft.lang.python_number import python_number
from weft.math import ops, plain
from weft.math.dispatch import by_elements, floating, is_plain, meet
from weft.math.typing import FloatT, NumberT, PlainT, TensorT

if TYPE_CHECKING:
    from weft.math.typing import Elements


@overload
def abs(x: NumberT) -> NumberT: ...


@overload
def abs(x: PlainT) -> PlainT: ...


def abs(x: Any) -> Any:
    """The magnitude of a number; exact. The most negative integer stays as it is.

    Example:
        >>> abs(-2.5)
        2.5
    """
    return builtins.abs(x)


def _check_two(name: str, x: object, more: tuple[Any, ...]) -> None:
    """Refuse one thing alone, of which Python's function takes the least or greatest item."""
    if not more:
        hint = "add the other"
        if not isinstance(x, (Number, int, float)) and hasattr(x, "__iter__"):
            hint = f"Python's own {name} takes it: import builtins, and write builtins.{name}(...)"
            hint = f"write {name}(*{VALUE})" if hasattr(x, "__len__") else hint
        alone = "a generator" if "Generat" in type(x).__name__ else kind_of(x)
        refuse("call", f"weft.math.{name} takes two numbers or more, not {alone} alone", hint=hint)


def _extreme(name: str, x: Any, y: Any) -> Any:
    least = name == "min"
    made = by_elements(functools.partial(_extreme, name), (x, y))
    if made is not None:
        return made
    if is_plain(x, y):
        x, y = python_number(x), python_number(y)
        return plain.minimum(x, y) if least else plain.maximum(x, y)
    a, c = meet(name, x, y)
    if a.dtype.is_float:
        if least:
            return floating(name, ops.minimum, plain.minimum, a, c, wide=False)
        return floating(name, ops.maximum, plain.maximum, a, c, wide=False)
    return ((a < c) if least else (a > c)).select(a, c)


@overload
def min(x: NumberT, y: NumberT | float, /, *more: NumberT | float) -> NumberT: ...


@overload
def min(x: float, y: NumberT, /, *more: NumberT | float) -> NumberT: ...


@overload
def min(x: PlainT, y: PlainT, /, *more: PlainT) -> PlainT: ...


@overload
def min(x: TensorT, y: Any, /, *more: Any) -> TensorT: ...


@overload
def min(x: NumberLike, y: TensorT, /, *more: Any) -> TensorT: ...


def min(x: Any, *more: Any) -> Any:
    """The least of two or more numbers, lane by lane; of tensors element by element.

    Where one of two floats is nan the result is the other, as with C's ``fmin`` and in CUDA; -0 is less
    than 0. Python's builtin ``min``, which kernels may use as well, compares with ``<``.

    Example:
        >>> min(3, 2), min(float("nan"), 1.0)
        (2, 1.0)
    """
    _check_two("min", x, more)
    least = x
    for z in more:
        least = _extreme("min", least, z)
    return least


@overload
def max(x: NumberT, y: NumberT | float, /, *more: NumberT | float) -> NumberT: ...


@overload
def max(x: float, y: NumberT, /, *more: NumberT | float) -> NumberT: ...


@overload
def max(x: PlainT, y: PlainT, /, *more: PlainT) -> PlainT: ...


@overload
def max(x: TensorT, y: Any, /, *more: Any) -> TensorT: ...


@overload
def max(x: NumberLike, y: TensorT, /, *more: Any) -> TensorT: ...


def max(x: Any, *more: Any) -> Any:
    """The greatest of two or more numbers, lane by lane, of tensors element by element; nan as in ``min``.

    Example:
        >>> max(3, 2), max(1.0, 2.5, 2.0)
        (3, 2.5)
    """
    _check_two("max", x, more)
    greatest = x
    for z in more:
        greatest = _extreme("max", greatest, z)
    return greatest


@overload
def clamp(x: NumberT, low: NumberT | float, high: NumberT | float) -> NumberT: ...


@overload
def clamp(x: PlainT, low: PlainT, high: PlainT) -> PlainT: ...


@overload
def clamp(x: TensorT, low: Any, high: Any) -> TensorT: ...


def clamp(x: Any, low: Any, high: Any) -> Any:
    """``x``, but not less than ``low`` and not greater than ``high``; nan becomes ``low``.

    Example:
        >>> clamp(7, 0, 5), clamp(-0.5, 0.0, 1.0)
        (5, 0.0)
    """
    return min(max(x, low), high)


@overload
def fma(a: NumberT, b: NumberT | float, c: NumberT | float) -> NumberT: ...


@overload
def fma(a: float, b: NumberT, c: NumberT | float) -> NumberT: ...


@overload
def fma(a: float, b: float, c: NumberT) -> NumberT: ...


@overload
def fma(a: float, b: float, c: float) -> float: ...


@overload
def fma(a: TensorT, b: Any, c: Any) -> TensorT: ...


@overload
def fma(a: NumberLike, b: TensorT, c: Any) -> TensorT: ...


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once. On integers, ``a * b + c`` with wrap-around.

    Example:
        >>> fma(0.1, 10.0, -1.0)
        5.551115123125783e-17
    """
    if not all(isinstance(x, Number) for x in (a, b, c)):
        made = by_elements(fma, (a, b, c))
        if made is not None:
            return made
        if is_plain(a, b, c):
            return plain.fma(*map(python_number, (a, b, c)))
    a, b, c = meet("fma", a, b, c)
    if a.dtype.is_integer:
        return a * b + c
    return floating("fma", ops.fma, plain.fma, a, b, c, wide=False)


def sqrt(x: FloatT) -> FloatT:
    """The square root, correctly rounded; nan for negative numbers, and -0 for -0.

    Example:
        >>> sqrt(2.25)
        1.5
    """
    return floating("sqrt", ops.sqrt, math.sqrt, x)


def rsqrt(x: FloatT) -> FloatT:
    """``1 / sqrt(x)``, within 1.5 ulp; inf for 0, and nan for negative numbers.

    Example:
        >>> rsqrt(4.0)
        0.5
    """
    return floating("rsqrt", ops.rsqrt, plain.rsqrt, x)


def floor(x: FloatT) -> FloatT:
    """The greatest integer that is not greater, as a float; exact.

    Example:
        >>> floor(-1.5)
        -2.0
    """
    return floating("floor", ops.floor, plain.floor, x)


def ceil(x: FloatT) -> FloatT:
    """The least integer that is not less, as a float; exact.

    Example:
        >>> ceil(1.2)
        2.0
    """
    return floating("ceil", ops.ceil, plain.ceil, x)


def trunc(x: FloatT) -> FloatT:
    """The nearest integer toward zero, as a float; exact.

    Example:
        >>> trunc(-1.5)
        -1.0
    """
    return floating("trunc", ops.trunc, plain.trunc, x)


def round(x: FloatT) -> FloatT:
    """The nearest integer, ties to even as in Python, as a float; exact.

    Example:
        >>> round(2.5), round(3.5)
        (2.0, 4.0)
    """
    return floating("round", ops.rint, plain.rint, x)


@overload
def copysign(x: NumberT, sign: NumberLike) -> NumberT: ...


@overload
def copysign(x: float, sign: NumberT) -> NumberT: ...


@overload
def copysign(x: float, sign: float) -> float: ...


@overload
def copysign(x: TensorT, sign: Any) -> TensorT: ...


@overload
def copysign(x: NumberLike, sign: TensorT) -> TensorT: ...


def copysign(x: Any, sign: Any) -> Any:
    """The magnitude of ``x`` with the sign of ``sign``, which may be that of a zero or nan; exact.

    Example:
        >>> copysign(3.0, -0.0)
        -3.0
    """
    return floating("copysign", ops.copysign, math.copysign, x, sign, wide=False)


@overload
def isnan(x: Number) -> Bool: ...


@overload
def isnan(x: float) -> bool: ...


@overload
def isnan(x: Elements) -> Any: ...


def isnan(x: Any) -> Any:
    """Whether ``x`` is not a number.

    Example:
        >>> isnan(float("nan"))
        True
    """
    return floating("isnan", ops.is_nan, math.isnan, x)


@overload
def isinf(x: Number) -> Bool: ...


@overload
def isinf(x: float) -> bool: ...


@overload
def isinf(x: Elements) -> Any: ...


def isinf(x: Any) -> Any:
    """Whether ``x`` is plus or minus infinity.

    Example:
        >>> isinf(float("-inf"))
        True
    """
    return floating("isinf", ops.is_infinite, math.isinf, x)


@overload
def isfinite(x: Number) -> Bool: ...


@overload
def isfinite(x: float) -> bool: ...


@overload
def isfinite(x: Elements) -> Any: ...


def isfinite(x: Any) -> Any:
    """Whether ``x`` is neither infinite nor nan.

    Example:
        >>> isfinite(1.0)
        True
    """
    return floating("isfinite", ops.is_finite, math.isfinite, x)


@overload
def isclose(
    x: Number, y: NumberLike, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Bool: ...


@overload
def isclose(
    x: float, y: float, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool: ...


def isclose(x: Any, y: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether ``|x - y| <= max(atol, rtol * max(|x|, |y|))``; infinities are close to themselves only.

    Example:
        >>> isclose(1.0, 1.000001), isclose(1.0, 1.1)
        (True, False)
    """

    def emit(a: ops.Real, c: ops.Real) -> Any:
        size = ops.maximum(ops.absolute(a), ops.absolute(c))
        near = (ops.absolute(a - c) <= ops.maximum(size * rtol, atol)) & (size < math.inf)
        close = near | (a == c)
        return close | ((a != a) & (c != c)) if equal_nan else close

    def constant(a: float, c: float) -> bool:
        return plain.isclose(a, c, rtol, atol, equal_nan)

    return floating("isclose", emit, constant, x, y)
