"""One thread's elements of a tile: numbers and vectors, taken apart and put together at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.lang.number import Number, number_class

__all__ = ["each_lane", "flipped", "halves", "joined", "lane", "picked", "pieces"]


def lane(values: Any, number: int) -> Any:
    """One element."""
    return values if values.lanes == 1 else values[number]


def picked(values: Any, lanes: Sequence[int]) -> Any:
    """Elements by their numbers, as a vector, or a number if it is one."""
    if list(lanes) == list(range(values.lanes)):
        return values
    if len(lanes) == 1:
        return lane(values, lanes[0])
    if values.lanes == 1:
        return number_class(values.dtype, len(lanes))(values)
    return values.shuffle(*lanes)


def halves(values: Any, bit: int) -> tuple[Any, Any]:
    """The elements whose number has a bit clear, and those that have it set."""
    numbers = range(values.lanes)
    clear = [n for n in numbers if not n >> bit & 1]
    return picked(values, clear), picked(values, [n | 1 << bit for n in clear])


def flipped(values: Any, bit: int) -> Any:
    """Each element in the place of that whose number differs in a bit."""
    return picked(values, [n ^ 1 << bit for n in range(values.lanes)])


def joined(parts: Sequence[Any]) -> Any:
    """Vectors of one length, a power of two of them, as one."""
    every = list(parts)
    if every[0].lanes == 1:
        return every[0] if len(every) == 1 else number_class(every[0].dtype, len(every))(*every)
    while len(every) > 1:
        every = [a.join(b) for a, b in zip(every[::2], every[1::2], strict=True)]
    return every[0]


def pieces(values: Any, width: int) -> list[Any]:
    """A vector as vectors of ``width`` elements."""
    return [picked(values, range(n, n + width)) for n in range(0, values.lanes, width)]


def each_lane(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """A function of numbers, for each lane of vectors."""
    lanes = max([operand.lanes for operand in operands if isinstance(operand, Number)])
    results = [
        function(*[lane(x, n) if isinstance(x, Number) else x for x in operands]) for n in range(lanes)
    ]
    return joined(results)
