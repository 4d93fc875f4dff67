"""Compile-time parameters and loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, TypeVar, get_args, get_origin

__all__ = ["Comptime", "comptime_type", "unroll"]

T = TypeVar("T")


class _ComptimeMarker:
    def __repr__(self) -> str:
        return "Comptime"


_MARKER = _ComptimeMarker()
Comptime = Annotated[T, _MARKER]
"""``Comptime[int]`` annotates a keyword-only parameter whose value is known at compile time."""


def comptime_type(annotation: Any) -> Any | None:
    """``int`` for ``Comptime[int]``, None for any other annotation."""
    if get_origin(annotation) is Annotated:
        args = get_args(annotation)
        if _MARKER in args[1:]:
            return args[0]
    return None


class unroll(Iterable[T]):
    """``for i in unroll(range(4))`` repeats the body for each item; ``i`` is a Python value."""

    def __init__(self, items: Iterable[T]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)
