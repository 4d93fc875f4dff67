"""Integers that are known now, integers that are known at run time, and arithmetic that folds.

An extent or a stride is a Python ``int`` (static) or any other object with integer arithmetic by
operator overloading (a run-time value of the kernel being compiled). Run-time values are opaque:
they are never tested in an ``if``, never hashed. The functions here compute with
both kinds and emit an operation only where one is needed: ``1 * x`` is ``x``, ``0 + x`` is ``x``,
``x * 0`` is ``0``.

    >>> mul(3, 4), add(0, 5), mod(7, 1), ceildiv(7, 2)
    (12, 5, 0, 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from weft.diagnostics import refuse

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class RunTimeInt(Protocol):
    """What the algebra asks of a run-time integer: Python's ``+ - * // %`` in both orders."""

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...


Scalar: TypeAlias = "int | RunTimeInt"


def is_static(x: object) -> TypeIs[int]:
    """Whether ``x`` is an integer that is known now.

    >>> is_static(4), is_static((4, 4))
    (True, False)
    """
    return isinstance(x, int)


def wrong(message: str, hint: str) -> NoReturn:
    """Refuse what layouts cannot be, or cannot do."""
    refuse("layout", message, hint)


def add(a: Scalar, b: Scalar) -> Scalar:
    """``a + b``, nothing emitted where one of them is a static 0."""
    if is_static(a) and a == 0:
        return b
    if is_static(b) and b == 0:
        return a
    return a + b


def sub(a: Scalar, b: Scalar) -> Scalar:
    """``a - b``, nothing emitted where ``b`` is a static 0."""
    if is_static(b) and b == 0:
        return a
    return a - b


def mul(a: Scalar, b: Scalar) -> Scalar:
    """``a * b``, nothing emitted where one of them is a static 0 or 1."""
    if is_static(a):
        if a == 0:
            return 0
        if a == 1:
            return b
    if is_static(b):
        if b == 0:
            return 0
        if b == 1:
            return a
    return a * b


def floordiv(a: Scalar, b: Scalar) -> Scalar:
    """``a // b``, nothing emitted where ``b`` is a static 1 or ``a`` a static 0."""
    return a if _is_one(b) else 0 if is_static(a) and a == 0 else a // b


def mod(a: Scalar, b: Scalar) -> Scalar:
    """``a % b``, nothing emitted where ``b`` is a static 1 or ``a`` a static 0."""
    return 0 if _is_one(b) or (is_static(a) and a == 0) else a % b


def _is_one(divisor: Scalar) -> bool:
    if is_static(divisor) and divisor == 0:
        wrong("a layout was divided by an extent of 0", "extents that divide must be at least 1")
    return is_static(divisor) and divisor == 1


def ceildiv(a: Scalar, b: Scalar) -> Scalar:
    """``a / b`` rounded up; both at least 0, ``b`` at least 1."""
    if is_static(b) and b == 1:
        return a
    return floordiv(add(a, sub(b, 1)), b)


def least(a: Any, b: Any) -> Any:
    """The smaller of two."""
    return min(a, b) if is_static(a) and is_static(b) else (a < b).select(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger of two."""
    return max(a, b) if is_static(a) and is_static(b) else (a > b).select(a, b)
