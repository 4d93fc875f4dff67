"""The model's SIMD values: lanes of numbers, each operation lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.kinds import Kind
from tests.fuzz.scalars import Number, as_kind

__all__ = ["SIMD", "Vector", "VectorType"]


class Vector:
    """Lanes of one format."""

    __slots__ = ("kind", "lanes")

    def __init__(self, kind: Kind, lanes: list[Number]) -> None:
        self.kind = kind
        self.lanes = lanes

    def __len__(self) -> int:
        return len(self.lanes)

    def __getitem__(self, lane: Any) -> Number:
        return self.lanes[int(lane)]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.lanes))}]"

    __format__ = None  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def each(self, f: Callable[..., Any], *others: Any) -> Any:
        """``f`` of the lanes of all; a scalar is every lane's."""
        columns = [o.lanes if isinstance(o, Vector) else [o] * len(self.lanes) for o in others]
        found = [f(*row) for row in zip(self.lanes, *columns, strict=True)]
        return Vector(found[0].kind, found)

    def cast(self, to: Any) -> Vector:
        return self.each(Number.cast, to)

    def bitcast(self, to: Any) -> Vector:
        return self.each(Number.bitcast, to)

    def insert(self, lane: Any, value: Any) -> Vector:
        lanes = list(self.lanes)
        lanes[int(lane)] = as_kind(value, self.kind)
        return Vector(self.kind, lanes)

    def shuffle(self, *picked: int, other: Any = None) -> Vector:
        lanes = self.lanes + (other.lanes if isinstance(other, Vector) else [])
        return Vector(self.kind, [lanes[n] for n in picked])

    def select(self, true: Any, false: Any) -> Any:
        return self.each(Number.select, true, false)

    def _reduced(self, f: Callable[[Number, Number], Number]) -> Number:
        """Halves first, as documented."""
        lanes = self.lanes
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [f(x, y) for x, y in zip(lanes[:half], lanes[half:], strict=True)]
        return lanes[0]

    def reduce_add(self) -> Number:
        return self._reduced(lambda x, y: x + y)

    def reduce_mul(self) -> Number:
        return self._reduced(lambda x, y: x * y)

    def reduce_min(self) -> Number:
        return self._reduced(lambda x, y: x if x < y else y)

    def reduce_max(self) -> Number:
        return self._reduced(lambda x, y: x if x > y else y)

    def reduce_or(self) -> Number:
        return self._reduced(lambda x, y: x | y)

    def reduce_and(self) -> Number:
        return self._reduced(lambda x, y: x & y)


def _install() -> None:
    def method(name: str) -> Callable[..., Any]:
        rule: Any = getattr(Number, name)

        def apply(self: Vector, *others: Any) -> Any:
            return self.each(rule, *others)

        return apply

    names = "add sub mul truediv floordiv mod and or xor lshift rshift".split()
    for name in [*names, *("r" + n for n in names), *"lt le gt ge eq ne neg abs invert pow".split()]:
        setattr(Vector, f"__{name}__", method(f"__{name}__"))


_install()


class VectorType:
    """``SIMD[Float32, 4]``: a value in every lane, or lanes converted."""

    def __init__(self, kind: Kind, count: int) -> None:
        self.kind = kind
        self.count = count

    def __call__(self, value: Any = 0) -> Vector:
        if isinstance(value, Vector):
            return (
                value
                if value.kind is self.kind
                else Vector(self.kind, [as_kind(x, self.kind) for x in value.lanes])
            )
        return Vector(self.kind, [as_kind(value, self.kind)] * self.count)


class SIMD:
    """``SIMD[T, n]``."""

    def __class_getitem__(cls, item: Any) -> VectorType:
        return VectorType(item[0].kind, item[1])
