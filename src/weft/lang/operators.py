"""Python's binary operators and comparisons as methods; what they do says ``weft.lang.number``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from weft.lang.number import NumberLike
    from weft.lang.scalars import Bool, Int, Int8, Int16, Int32, UInt, UInt8, UInt16, UInt32

    # What a number combines with and stays of its type, on its right; another float says itself.
    Integers = Bool | Int8 | Int16 | Int32 | Int | UInt8 | UInt16 | UInt32 | UInt


class Operators:
    """A value whose operators are two functions, of the operator and the operands."""

    __slots__ = ()

    def _binary(self, op: str, a: object, c: object) -> Any: ...

    def _compare(self, op: str, other: object) -> Any: ...

    # -- arithmetic -------------------------------------------------------------------------
    def __add__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("+", self, other)

    def __radd__(self, other: NumberLike) -> Self:
        return self._binary("+", other, self)

    def __sub__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("-", self, other)

    def __rsub__(self, other: NumberLike) -> Self:
        return self._binary("-", other, self)

    def __mul__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("*", self, other)

    def __rmul__(self, other: NumberLike) -> Self:
        return self._binary("*", other, self)

    def __truediv__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("/", self, other)

    def __rtruediv__(self, other: NumberLike) -> Self:
        return self._binary("/", other, self)

    def __floordiv__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("//", self, other)

    def __rfloordiv__(self, other: NumberLike) -> Self:
        return self._binary("//", other, self)

    def __mod__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("%", self, other)

    def __rmod__(self, other: NumberLike) -> Self:
        return self._binary("%", other, self)

    def __divmod__(self, other: Self | Integers | int | float) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: NumberLike) -> tuple[Self, Self]:
        return other // self, other % self

    def __and__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("&", self, other)

    def __rand__(self, other: NumberLike) -> Self:
        return self._binary("&", other, self)

    def __or__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("|", self, other)

    def __ror__(self, other: NumberLike) -> Self:
        return self._binary("|", other, self)

    def __xor__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("^", self, other)

    def __rxor__(self, other: NumberLike) -> Self:
        return self._binary("^", other, self)

    def __lshift__(self, other: Self | Integers | int | float) -> Self:
        return self._binary("<<", self, other)

    def __rlshift__(self, other: NumberLike) -> Self:
        return self._binary("<<", other, self)

    def __rshift__(self, other: Self | Integers | int | float) -> Self:
        return self._binary(">>", self, other)

    def __rrshift__(self, other: NumberLike) -> Self:
        return self._binary(">>", other, self)

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
