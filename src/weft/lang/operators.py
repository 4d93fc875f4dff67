"""Python's binary operators and comparisons as methods; what they do says ``weft.lang.number``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from weft.lang.number import NumberLike
    from weft.lang.operator_types import (  # pyright: ignore[reportMissingModuleSource]
        Arithmetic,
        Bitwise,
        Division,
        Rounding,
    )
    from weft.lang.scalars import Bool


class Operators:
    """A value whose operators are two functions, of the operator and the operands."""

    __slots__ = ()

    def _binary(self, op: str, a: object, c: object) -> Any: ...

    def _compare(self, op: str, other: object) -> Any: ...

    # -- arithmetic -------------------------------------------------------------------------
    if TYPE_CHECKING:
        __add__: Arithmetic
        __sub__: Arithmetic
        __mul__: Arithmetic
        __floordiv__: Arithmetic
        __mod__: Arithmetic
        __pow__: Arithmetic
        __radd__: Arithmetic
        __rsub__: Arithmetic
        __rmul__: Arithmetic
        __rfloordiv__: Arithmetic
        __rmod__: Arithmetic
        __rpow__: Arithmetic
        __truediv__: Division
        __rtruediv__: Division
        __and__: Bitwise
        __or__: Bitwise
        __xor__: Bitwise
        __lshift__: Bitwise
        __rshift__: Bitwise
        __rand__: Bitwise
        __ror__: Bitwise
        __rxor__: Bitwise
        __rlshift__: Bitwise
        __rrshift__: Bitwise
        __round__: Rounding
    else:

        def __add__(self, other):
            return self._binary("+", self, other)

        def __radd__(self, other):
            return self._binary("+", other, self)

        def __sub__(self, other):
            return self._binary("-", self, other)

        def __rsub__(self, other):
            return self._binary("-", other, self)

        def __mul__(self, other):
            return self._binary("*", self, other)

        def __rmul__(self, other):
            return self._binary("*", other, self)

        def __truediv__(self, other):
            return self._binary("/", self, other)

        def __rtruediv__(self, other):
            return self._binary("/", other, self)

        def __floordiv__(self, other):
            return self._binary("//", self, other)

        def __rfloordiv__(self, other):
            return self._binary("//", other, self)

        def __mod__(self, other):
            return self._binary("%", self, other)

        def __rmod__(self, other):
            return self._binary("%", other, self)

        def __and__(self, other):
            return self._binary("&", self, other)

        def __rand__(self, other):
            return self._binary("&", other, self)

        def __or__(self, other):
            return self._binary("|", self, other)

        def __ror__(self, other):
            return self._binary("|", other, self)

        def __xor__(self, other):
            return self._binary("^", self, other)

        def __rxor__(self, other):
            return self._binary("^", other, self)

        def __lshift__(self, other):
            return self._binary("<<", self, other)

        def __rlshift__(self, other):
            return self._binary("<<", other, self)

        def __rshift__(self, other):
            return self._binary(">>", self, other)

        def __rrshift__(self, other):
            return self._binary(">>", other, self)

    def __divmod__(self, other: NumberLike) -> tuple[Self, Self]:
        number: Any = self
        return number // other, number % other

    def __rdivmod__(self, other: NumberLike) -> tuple[Self, Self]:
        number: Any = self
        return other // number, other % number

    # -- comparison -------------------------------------------------------------------------
    def __eq__(self, other: object) -> Bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compare("eq", other)

    def __ne__(self, other: object) -> Bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compare("ne", other)

    def __lt__(self, other: NumberLike) -> Bool:
        return self._compare("lt", other)

    def __le__(self, other: NumberLike) -> Bool:
        return self._compare("le", other)

    def __gt__(self, other: NumberLike) -> Bool:
        return self._compare("gt", other)

    def __ge__(self, other: NumberLike) -> Bool:
        return self._compare("ge", other)
