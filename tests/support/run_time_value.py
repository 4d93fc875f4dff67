"""A number that exists at run time only, as far as the layout algebra can tell."""

from __future__ import annotations

from typing import Any, cast


class Value:
    """A number that only arithmetic may look at; counts the operations on it."""

    count = 0
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a run-time value was compared")

    def __bool__(self) -> bool:
        raise AssertionError("a run-time value was tested")

    def __index__(self) -> int:
        raise AssertionError("a run-time value was used as an int")

    @staticmethod
    def make(number: int) -> Value:
        Value.count += 1
        return Value(number)

    def __add__(self, other: Any) -> Value:
        return Value.make(self.number + plain(other))

    def __sub__(self, other: Any) -> Value:
        return Value.make(self.number - plain(other))

    def __rsub__(self, other: Any) -> Value:
        return Value.make(plain(other) - self.number)

    def __mul__(self, other: Any) -> Value:
        return Value.make(self.number * plain(other))

    def __floordiv__(self, other: Any) -> Value:
        return Value.make(self.number // plain(other))

    def __rfloordiv__(self, other: Any) -> Value:
        return Value.make(plain(other) // self.number)

    def __mod__(self, other: Any) -> Value:
        return Value.make(self.number % plain(other))

    def __rmod__(self, other: Any) -> Value:
        return Value.make(plain(other) % self.number)

    def __and__(self, other: Any) -> Value:
        return Value.make(self.number & plain(other))

    def __xor__(self, other: Any) -> Value:
        return Value.make(self.number ^ plain(other))

    def __rshift__(self, other: Any) -> Value:
        return Value.make(self.number >> plain(other))

    def __lshift__(self, other: Any) -> Value:
        return Value.make(self.number << plain(other))

    __radd__ = __add__
    __rmul__ = __mul__


def plain(value: Any) -> Any:
    """A result with its run-time values read."""
    if isinstance(value, tuple):
        return tuple(plain(part) for part in cast("tuple[Any, ...]", value))
    return value.number if isinstance(value, Value) else value


def operations(function: Any, *arguments: Any) -> int:
    Value.count = 0
    function(*arguments)
    return Value.count
