"""Compile-time parameters and loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from weft.compiler.ir.core import Value
from weft.diagnostics import refuse
from weft.lang.number import Number

T = TypeVar("T")


class _ComptimeMarker:
    def __reduce__(self) -> str:
        return "_MARKER"

    def __repr__(self) -> str:
        return "Comptime"


_MARKER = _ComptimeMarker()


class _AnyComptime:
    """The word alone: an alias would bring its own type variable into the function."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return Annotated[kind, _MARKER]


Comptime = Annotated[T, _MARKER]
"""``Comptime[int]`` annotates a keyword-only parameter whose value is known at compile time.

The value is given by name, at the launch or before by ``kernel.bind(...)``: any Python object, which
``Comptime`` alone says too. Each value is compiled for once; containers and arrays count by what is in them,
other objects by identity.

Example:
    >>> from weft import Float32, func
    >>> @func
    ... def power(x: Float32, *, n: Comptime[int]) -> Float32:
    ...     return x**n
    >>> power(3.0, n=2)
    9.0
"""
if not TYPE_CHECKING:
    Comptime = _AnyComptime


def comptime_type(annotation: Any) -> Any | None:
    """``int`` for ``Comptime[int]``, ``Any`` for the word alone, None for any other annotation."""
    if annotation is _AnyComptime:
        return Any
    if get_origin(annotation) is Annotated:
        args = get_args(annotation)
        if _MARKER in args[1:]:
            return args[0]
    return None


def constrained(condition: object, message: str = "") -> None:
    """Refuse to compile where a condition does not hold, which is known at compile time.

    Args:
        condition: what has to hold.
        message: what the error says.

    Raises:
        CompileError: it does not hold; at the line of the call, with the calls that led there.

    Example:
        >>> from weft import Float32, Pointer, constrained, func
        >>> @func
        ... def sum_of_pairs(x: Pointer[Float32], *, width: Comptime[int]) -> Float32:
        ...     constrained(width % 2 == 0, f"width is {width}, and has to be even")
        ...     return x.load(width=width).reduce_add()
    """
    if isinstance(condition, Number) and isinstance(condition.value, Value):
        message = "`constrained` asks at compile time, but this condition is known only at run time"
        refuse("not-compile-time", message, hint="write assert, which asks at run time")
    if not condition:
        refuse("constrained", message or "this does not hold", hint="give it other types or values")


class unroll(Iterable[T]):
    """``for i in unroll(range(4))`` repeats the body for each item; ``i`` is a Python value.

    Args:
        items: what is known at compile time; a ``range`` mostly, as a ``for`` over anything else is
            unrolled in any case.

    Example:
        >>> from weft import Float32, func
        >>> @func
        ... def polynomial(x: Float32) -> Float32:
        ...     total = 0.0
        ...     for i in unroll(range(3)):
        ...         total += x**i  # 1, x and x * x: no loop, no power
        ...     return total
        >>> polynomial(2.0)
        7.0
    """

    def __init__(self, items: Iterable[T]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)
