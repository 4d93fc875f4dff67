"""Python's binary operators as methods of a class, all made by one function of the operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from weft.diagnostics.arithmetic import SIGNS

if TYPE_CHECKING:
    from weft.lang.number import NumberLike
    from weft.lang.operator_types import (  # pyright: ignore[reportMissingModuleSource]
        Arithmetic,
        Bitwise,
        Division,
        Rounding,
    )
    from weft.lang.scalars import Bool

F = TypeVar("F", bound=Callable[..., Any])
_part_by_part: set[CodeType] = set()


def part_by_part(marked: F) -> F:
    """Mark a function, or the operators of a class, as ones that compute with parts of their operands.

    What they compute is told of where the user wrote the operator: an overflow in a vector's ``a + b``, say.

    Example:
        >>> @part_by_part
        ... def scaled(parts, factor):
        ...     return [part * factor for part in parts]
        >>> is_part_by_part(scaled.__code__)
        True
    """
    found: Any = marked
    own = vars(found).items() if isinstance(found, type) else [("__call__", found)]
    waiting = [f.__code__ for name, f in own if name[:2] == "__" and isinstance(f, FunctionType)]
    while waiting:
        code = waiting.pop()
        _part_by_part.add(code)
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return marked


def is_part_by_part(code: CodeType) -> bool:
    """Whether it is of a function that is marked so, or lies in one."""
    return code in _part_by_part


ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
BITWISE = ("and", "or", "xor", "lshift", "rshift")


def function_of(name: str) -> Callable[[Any, Any], Any]:
    """The function of Python's module ``operator`` that computes it."""
    return getattr(operator, f"{name}_" if name in ("and", "or") else name)


def define_operators(
    cls: type[Any], names: Iterable[str], make: Callable[[str, bool], Callable[[Any, Any], Any]]
) -> None:
    """Give a class the methods of binary operators.

    Args:
        cls: The class; a method that it defines itself stays.
        names: Which operators, as in ``SIGNS``.
        make: The method of a name; the flag says that the value stands on the right side.
    """
    for name in names:
        for swapped in (False, True):
            method = f"__{'r' * swapped}{name}__"
            if method not in vars(cls):
                setattr(cls, method, make(name, swapped))


class Operators:
    """A number, whose operators are ``_binary`` of a sign and both sides, and ``_compare``."""

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


def _of_numbers(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    sign = SIGNS[name]
    if swapped:
        return lambda self, other: self._binary(sign, other, self)
    return lambda self, other: self._binary(sign, self, other)


define_operators(Operators, set(ARITHMETIC + BITWISE) - {"pow"}, _of_numbers)  # which ``Number`` has itself
