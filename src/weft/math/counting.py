"""The public functions of Python's ``math`` that count choices, and the whole part of a square root."""

from __future__ import annotations

import math
from typing import Any, overload

from weft.bit import count_trailing_zeros
from weft.diagnostics import VALUE, refuse
from weft.lang import Float64, Int, UInt64, func
from weft.lang.number import Number, NumberLike
from weft.math.basic import sqrt
from weft.math.dispatch import is_plain, meet
from weft.math.typing import NumberT


@func
def _isqrt(n: UInt64) -> UInt64:
    """A root in Float64, which is at most one off, put right."""
    root = UInt64(sqrt(Float64(n)))
    root = root if root < 4294967295 else UInt64(4294967295)  # whose square still fits
    root = root - 1 if root * root > n else root
    return root + 1 if root < 4294967295 and (root + 1) * (root + 1) <= n else root


@func
def _perm(n: UInt64, k: UInt64) -> UInt64:
    """The product, which wraps around: of 130 factors it is a multiple of 2**64, and stays one."""
    if k > n:
        return UInt64(0)
    product = UInt64(1)
    for i in range(k):
        product *= n - i
        if product == 0:
            break
    return product


@func
def _inverse(odd: UInt64) -> UInt64:
    """What makes 1 of an odd number, modulo 2**64: each step doubles the bits that are right."""
    found = odd  # 3 bits
    for _ in range(5):
        found *= 2 - odd * found
    return found


@func
def _comb(n: UInt64, k: UInt64) -> UInt64:
    """The quotient of two products, exactly modulo 2**64: odd factors have inverses, twos are counted."""
    if k > n:
        return UInt64(0)
    k = k if k <= n - k else n - k
    odd, twos = UInt64(1), 0
    for i in range(1, k + 1):
        above, below = n - k + i, i
        up, down = count_trailing_zeros(above), count_trailing_zeros(below)
        odd *= (above >> up) * _inverse(below >> down)
        twos += Int(up) - Int(down)
    return odd << UInt64(twos) if twos < 64 else UInt64(0)


def _whole(name: str, function: Any, *args: Any) -> Any:
    """The result of integers, in the type in which they meet."""
    numbers = meet(name, *args)
    cls = type(numbers[0])
    if not cls.dtype.is_integer or cls.lanes != 1:
        hint = f"write {name}(Int({VALUE}))" if cls.lanes == 1 else "take lane by lane"
        refuse("argument-type", f"{name} takes integers of one lane, not {cls.__name__}", hint=hint)
    found = function(*[(n < 0).select(0, n).cast(UInt64.dtype) for n in numbers])
    found = (found if isinstance(found, Number) else UInt64(found)).cast(cls.dtype)
    for n in numbers:
        found = (n < 0).select(0, found)
    return found


@overload
def isqrt(n: NumberT) -> NumberT: ...


@overload
def isqrt(n: int) -> int: ...


def isqrt(n: Any) -> Any:
    """The whole part of the square root of an integer; in a kernel 0 of one below 0, which Python refuses.

    Example:
        >>> isqrt(10**18 - 1)
        999999999
    """
    return math.isqrt(n) if is_plain(n) else _whole("isqrt", _isqrt, n)


@overload
def factorial(n: NumberT) -> NumberT: ...


@overload
def factorial(n: int) -> int: ...


def factorial(n: Any) -> Any:
    """``n!``; in a kernel it wraps around as products do, and is 0 below 0, where Python refuses.

    Example:
        >>> factorial(20)
        2432902008176640000
    """
    return math.factorial(n) if is_plain(n) else _whole("factorial", _perm, n, n)


@overload
def comb(n: NumberT, k: NumberLike) -> NumberT: ...


@overload
def comb(n: int, k: NumberT) -> NumberT: ...


@overload
def comb(n: int, k: int) -> int: ...


def comb(n: Any, k: Any) -> Any:
    """In how many ways ``k`` of ``n`` things are chosen; 0 where ``k > n``.

    In a kernel it wraps around as products do, and is 0 of numbers below 0, which Python refuses.

    Example:
        >>> comb(49, 6)
        13983816
    """
    return math.comb(n, k) if is_plain(n, k) else _whole("comb", _comb, n, k)


@overload
def perm(n: NumberT, k: NumberLike | None = None) -> NumberT: ...


@overload
def perm(n: int, k: NumberT) -> NumberT: ...


@overload
def perm(n: int, k: int | None = None) -> int: ...


def perm(n: Any, k: Any = None) -> Any:
    """In how many ways ``k`` of ``n`` things are put in order, all of them without ``k``; 0 where ``k > n``.

    In a kernel it wraps around as products do, and is 0 of numbers below 0, which Python refuses.

    Example:
        >>> perm(5, 2), perm(5)
        (20, 120)
    """
    k = n if k is None else k
    return math.perm(n, k) if is_plain(n, k) else _whole("perm", _perm, n, k)
