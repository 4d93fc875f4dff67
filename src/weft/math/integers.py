"""The public functions that count: quotients rounded up, multiples, common divisors, sequences."""

from __future__ import annotations

import math
from typing import Any, TypeVar, overload

from weft.diagnostics import refuse
from weft.lang import func
from weft.lang import iota as lane_numbers
from weft.lang.number import Number, NumberLike
from weft.math.dispatch import is_plain, meet
from weft.math.typing import NumberT, PlainT

T = TypeVar("T", bound=Number)


@overload
def ceildiv(a: NumberT, b: NumberLike) -> NumberT: ...


@overload
def ceildiv(a: float, b: NumberT) -> NumberT: ...


@overload
def ceildiv(a: PlainT, b: PlainT) -> PlainT: ...


def ceildiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, as blocks are counted: ``-(-a // b)``, of floats too.

    Division of an integer by 0 gives 0, as ``//`` does.

    Example:
        >>> ceildiv(1000, 256), ceildiv(-7, 2), ceildiv(7.5, 2.0)
        (4, -3, 4.0)
    """
    if is_plain(a, b):
        return -(-a // b)
    x, y = meet("ceildiv", a, b)
    if x.dtype.is_float:
        return -(-x // y)
    return x // y + (x % y != 0).select(type(x)(1), type(x)(0))


@overload
def align_up(x: NumberT, alignment: NumberLike) -> NumberT: ...


@overload
def align_up(x: int, alignment: int) -> int: ...


def align_up(x: Any, alignment: Any) -> Any:
    """The least multiple of ``alignment`` that is not less than ``x``.

    Example:
        >>> align_up(1000, 256)
        1024
    """
    return ceildiv(x, alignment) * alignment


@overload
def align_down(x: NumberT, alignment: NumberLike) -> NumberT: ...


@overload
def align_down(x: int, alignment: int) -> int: ...


def align_down(x: Any, alignment: Any) -> Any:
    """The greatest multiple of ``alignment`` that is not greater than ``x``.

    Example:
        >>> align_down(1000, 256)
        768
    """
    return x // alignment * alignment


@func
def _euclid(a: Any, b: Any) -> Any:
    while b != 0:
        a, b = b, a % b
    return a


@overload
def gcd(a: NumberT, b: NumberLike) -> NumberT: ...


@overload
def gcd(a: int, b: int) -> int: ...


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor of two integers, never negative; 0 of 0 and 0.

    Example:
        >>> gcd(12, -18)
        6
    """
    if is_plain(a, b):
        return math.gcd(a, b)
    x, y = meet("gcd", a, b)
    if not x.dtype.is_integer or x.lanes != 1:
        hint = "write gcd(Int(a), Int(b))" if x.lanes == 1 else "take lane by lane"
        refuse("argument-type", f"gcd takes two integers of one lane, not {type(x).__name__}", hint=hint)
    return abs(type(x)(_euclid(x, y)))  # of constants, on the host, it gives Python's int


@overload
def lcm(a: NumberT, b: NumberLike) -> NumberT: ...


@overload
def lcm(a: int, b: int) -> int: ...


def lcm(a: Any, b: Any) -> Any:
    """The least common multiple of two integers, never negative; 0 where one is 0.

    Example:
        >>> lcm(4, 6)
        12
    """
    if is_plain(a, b):
        return math.lcm(a, b)
    x, y = meet("lcm", a, b)
    return abs(x) // gcd(x, y) * abs(y)


def iota(kind: type[T], lanes: int, start: NumberLike = 0, step: NumberLike = 1) -> T:
    """``start, start + step, ...`` in the lanes of a SIMD value.

    In a kernel, ``iota(Int32, 4, 10)`` is a ``SIMD[Int32, 4]`` that holds 10, 11, 12, 13.
    """
    counted: Any = lane_numbers(kind, lanes)
    return counted * step + start
