"""The model's SIMD values: lanes of numbers, each operation lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.kinds import BOOL, Kind
from tests.fuzz.scalars import Number, as_kind

__all__ = ["SIMD", "Vector", "VectorType", "iota", "lifted"]


class Vector:
    """Lanes of one format."""

    __slots__ = ("kind", "lanes")

    def __init__(self, kind: Kind, lanes: list[Number]) -> None:
        self.kind = kind
        self.lanes = lanes

    def __len__(self) -> int:
        return len(self.lanes)

    def __getitem__(self, lane: Any) -> Any:
        if isinstance(lane, slice):
            return Vector(self.kind, self.lanes[lane])
        return self.lanes[int(lane)]

    def __setitem__(self, lane: Any, value: Any) -> None:
        self.lanes[int(lane)] = as_kind(value, self.kind)

    def __copy__(self) -> Vector:
        return Vector(self.kind, list(self.lanes))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.lanes))}]"

    __format__ = None  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def each(self, f: Callable[..., Any], *others: Any) -> Any:
        """``f`` of the lanes of all; a scalar is every lane's."""
        return lifted(f)(self, *others)

    def cast(self, to: Any) -> Vector:
        return self.each(Number.cast, to)

    def saturating_cast(self, to: Any) -> Vector:
        return self.each(Number.saturating_cast, to)

    def bitcast(self, to: Any) -> Vector:
        return self.each(Number.bitcast, to)

    def insert(self, lane: Any, value: Any) -> Vector:
        lanes, new = (
            list(self.lanes),
            value.lanes if isinstance(value, Vector) else [as_kind(value, self.kind)],
        )
        lanes[int(lane) : int(lane) + len(new)] = new
        return Vector(self.kind, lanes)

    def slice(self, width: int, *, offset: int = 0) -> Vector:
        return self[offset : offset + width]

    def join(self, other: Vector) -> Vector:
        return Vector(self.kind, self.lanes + other.lanes)

    def split(self) -> tuple[Vector, Vector]:
        half = len(self) // 2
        return self[:half], self[half:]

    def interleave(self, other: Vector) -> Vector:
        return Vector(self.kind, [x for pair in zip(self.lanes, other.lanes, strict=True) for x in pair])

    def deinterleave(self) -> tuple[Vector, Vector]:
        return self[::2], self[1::2]

    def reversed(self) -> Vector:
        return self[::-1]

    def rotate_left(self, by: int) -> Vector:
        by %= len(self)
        return self[by:].join(self[:by])

    def rotate_right(self, by: int) -> Vector:
        return self.rotate_left(-by)

    def shift_left(self, by: int) -> Vector:
        return Vector(self.kind, self.lanes[by:] + [as_kind(0, self.kind)] * by)

    def shift_right(self, by: int) -> Vector:
        return Vector(self.kind, [as_kind(0, self.kind)] * by + self.lanes[: len(self) - by])

    def any(self) -> Number:
        return Number(BOOL, any(map(bool, self.lanes)))

    def all(self) -> Number:
        return Number(BOOL, all(map(bool, self.lanes)))

    def shuffle(self, *picked: int, other: Any = None) -> Vector:
        lanes = self.lanes + (other.lanes if isinstance(other, Vector) else [])
        return Vector(self.kind, [lanes[n] for n in picked])

    def select(self, true: Any, false: Any) -> Any:
        return self.each(Number.select, true, false)

    def reduce(self, f: Callable[[Any, Any], Any], width: int = 1) -> Any:
        """Halves first, as documented."""
        found: Any = self
        while len(found) > width:
            found = f(*found.split())
        return found if width > 1 else found[0]

    def _reduced(self, f: Callable[[Number, Number], Number]) -> Number:
        return self.reduce(lambda a, c: a.each(f, c))

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
    for name in [*names, *("r" + n for n in names), *"lt le gt ge eq ne neg pos abs invert pow".split()]:
        setattr(Vector, f"__{name}__", method(f"__{name}__"))


_install()


class VectorType:
    """``SIMD[Float32, 4]``: a value in every lane, or lanes converted."""

    def __init__(self, kind: Kind, count: int) -> None:
        self.kind = kind
        self.count = count

    def __call__(self, value: Any = 0, *more: Any) -> Vector:
        if more:
            return Vector(self.kind, [as_kind(x, self.kind) for x in (value, *more)])
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


def iota(kind: Any, lanes: int, start: Any = 0, step: Any = 1) -> Vector:
    """``iota(Int, 4, start)``."""
    first, by = as_kind(start, kind.kind), as_kind(step, kind.kind)
    return Vector(kind.kind, [as_kind(n, kind.kind) * by + first for n in range(lanes)])


def lifted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, for vectors too: of several results, a vector for each."""

    def apply(x: Any, *others: Any) -> Any:
        if not isinstance(x, Vector):
            return f(x, *others)
        columns = [o.lanes if isinstance(o, Vector) else [o] * len(x) for o in others]
        found = [f(*row) for row in zip(x.lanes, *columns, strict=True)]
        if isinstance(found[0], tuple):
            return tuple(Vector(part[0].kind, list(part)) for part in zip(*found, strict=True))
        return Vector(found[0].kind, found)

    return apply
