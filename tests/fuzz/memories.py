"""The model's memory: arrays, pointers into them, and tensors over them."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

from tests.fuzz.kinds import BOOL, INT, Kind
from tests.fuzz.lanes import Vector
from tests.fuzz.scalars import Number, as_kind

__all__ = ["Array", "Atomic", "Layout", "Place", "Pointer", "Records", "RowType", "Table", "Tensor", "put"]


class Array:
    """Elements of one format; one outside is an error of the program."""

    def __init__(self, kind: Kind, values: list[Any]) -> None:
        self.kind = kind
        self.values = values

    def load(self, at: int) -> Number:
        return Number(self.kind, self.values[self.inside(at)])

    def store(self, at: int, value: Any) -> None:
        self.values[self.inside(at)] = as_kind(value, self.kind).value

    def inside(self, at: int) -> int:
        if not 0 <= at < len(self.values):
            raise IndexError(f"element {at} of {len(self.values)}")
        return at


class Records(Array):
    """Elements of several parts: values that do not change; a place changes what memory holds."""

    def load(self, at: int) -> Any:
        return self.values[self.inside(at)]

    def store(self, at: int, value: Any) -> None:
        self.values[self.inside(at)] = value


class Table:
    """An array of NumPy's, with numbers of the program's."""

    def __init__(self, items: list[Any], kind: Kind) -> None:
        self.items, self.kind = items, kind

    def __getitem__(self, index: Any) -> Any:
        found: Any = self
        for n in _parts(index):
            found = found.items[int(n)]
            found = (
                Table(cast("Any", found), self.kind) if isinstance(found, list) else as_kind(found, self.kind)
            )
        return found


class Row:
    """The value of an ``InlineArray``."""

    def __init__(self, kind: Kind, items: list[Number]) -> None:
        self.kind = kind
        self.items = items

    def __getitem__(self, n: Any) -> Number:
        return self.items[int(n)]

    def __eq__(self, other: object) -> Any:
        return Number(
            BOOL, isinstance(other, Row) and all(map(bool, map(operator.eq, self.items, other.items)))
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def replaced_at(self, n: Any, item: Any) -> Row:
        made = list(self.items)
        made[int(n)] = as_kind(item, self.kind)
        return Row(self.kind, made)


class RowType:
    """``InlineArray[T, n]``."""

    def __init__(self, kind: Kind, count: int) -> None:
        self.kind = kind
        self.count = count

    def __class_getitem__(cls, item: Any) -> RowType:
        return cls(item[0].kind, item[1])

    def __call__(self, *items: Any, fill: Any = None) -> Row:
        if fill is not None:
            items = (fill,) * self.count
        return (
            items[0] if isinstance(items[0], Row) else Row(self.kind, [as_kind(x, self.kind) for x in items])
        )


class Place:
    """A part of an element of memory: read and written alone."""

    def __init__(self, owner: Any, index: Any, *path: Any) -> None:
        self.owner, self.index, self.path = owner, index, path

    def get(self) -> Any:
        found = self.owner[self.index]
        for step in self.path:
            found = getattr(found, step) if isinstance(step, str) else found[step]
        return found

    def set(self, value: Any) -> None:
        self.owner[self.index] = self._changed(self.owner[self.index], self.path, value)

    def _changed(self, whole: Any, path: tuple[Any, ...], value: Any) -> Any:
        if not path:
            return value
        step, rest = path[0], path[1:]
        if isinstance(step, str):
            return whole.replaced(**{step: self._changed(getattr(whole, step), rest, value)})
        return whole.replaced_at(step, self._changed(whole[step], rest, value))


def put(value: Any, place: Place) -> None:
    """``place = value``, evaluated in Python's order."""
    place.set(value)


def _spread(value: Any, count: int) -> list[Any]:
    return value.lanes if isinstance(value, Vector) else [value] * count


def _counted(start: Any, step: Any, count: int) -> list[int]:
    return [int(start) + int(step) * n for n in range(count)]


class Pointer:
    """An address in an array."""

    def __init__(self, array: Array, at: int = 0) -> None:
        self.array = array
        self.at = at

    def __add__(self, n: Any) -> Pointer:
        return Pointer(self.array, self.at + int(n))

    def __sub__(self, n: Any) -> Any:
        if isinstance(n, Pointer):
            return Number(INT, self.at - n.at)
        return Pointer(self.array, self.at - int(n))

    def __lt__(self, other: Pointer) -> Number:
        return Number(BOOL, self.at < other.at)

    def __ge__(self, other: Pointer) -> Number:
        return Number(BOOL, self.at >= other.at)

    def __eq__(self, other: object) -> Any:
        return Number(BOOL, isinstance(other, Pointer) and self.at == other.at)

    def __getitem__(self, n: Any) -> Number:
        return self.array.load(self.at + int(n))

    def __setitem__(self, n: Any, value: Any) -> None:
        self.array.store(self.at + int(n), value)

    def load(self, n: Any = 0, *, width: int = 1, mask: Any = True, default: Any = 0) -> Any:
        if width == 1:
            return self[n]
        return self.gather(_counted(n, 1, width), mask=mask, default=default)

    def gather(self, offsets: Any, *, mask: Any = True, default: Any = 0) -> Vector:
        kind, size = self.array.kind, len(offsets)
        rows = zip(offsets, _spread(mask, size), _spread(default, size), strict=True)
        return Vector(kind, [self[n] if m else as_kind(d, kind) for n, m, d in rows])

    def store(self, n: Any, value: Any, *, mask: Any = True) -> None:
        width = max(len(v) if isinstance(v, Vector) else 1 for v in (value, mask))
        self.scatter(_counted(n, 1, width), value, mask=mask)

    def scatter(self, offsets: Any, value: Any, *, mask: Any = True) -> None:
        size = len(offsets)
        for n, one, m in zip(offsets, _spread(value, size), _spread(mask, size), strict=True):
            if m:
                self[n] = one

    def strided_load(self, stride: Any, *, width: int) -> Vector:
        return self.gather(_counted(0, stride, width))

    def strided_store(self, value: Any, stride: Any) -> None:
        self.scatter(_counted(0, stride, len(value)), value)


class Layout:
    """Extents, and by how much the position grows along each."""

    def __init__(self, shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.shape = shape
        self.stride = stride

    @staticmethod
    def row_major(*shape: int) -> Layout:
        return Layout(shape, tuple(math.prod(shape[n + 1 :]) for n in range(len(shape))))

    @staticmethod
    def col_major(*shape: int) -> Layout:
        return Layout(shape, tuple(math.prod(shape[:n]) for n in range(len(shape))))

    def size(self) -> int:
        return math.prod(self.shape)


def _parts(index: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)


class _Split:
    """``t.tile[2, 4]`` and its kin: sizes in brackets, then a call."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __getitem__(self, sizes: Any) -> Any:
        given: Any = sizes if isinstance(sizes, Layout) else _parts(sizes)

        def at(*where: Any, **named: Any) -> Any:
            return self.made(given, where, **named)

        return at


Steps = list[list[int | None]]
"""Along a mode, how far each place lies, of a vector how far its lanes; None for what is not there."""
GONE: list[int | None] = [None]


class Tensor:
    """Positions in memory along each mode; of a tile that reaches past the edge some are missing."""

    def __init__(self, ptr: Pointer, modes: list[Steps], default: Any = 0, there: bool = True) -> None:
        self.ptr = ptr
        self.modes = modes
        self.default = default
        self.there = there

    @staticmethod
    def over(ptr: Pointer, layout: Layout) -> Tensor:
        pairs = zip(layout.shape, layout.stride, strict=True)
        return Tensor(ptr, [[[n * step] for n in range(extent)] for extent, step in pairs])

    def _part(self, modes: list[Steps], default: Any = None) -> Tensor:
        return Tensor(self.ptr, modes, self.default if default is None else default, self.there)

    def dim(self, mode: int) -> Number:
        """How much of a mode exists."""
        return Number(INT, sum(self.there and step[0] is not None for step in self.modes[mode]))

    def size(self) -> Any:
        return functools.reduce(operator.mul, map(self.dim, range(len(self.modes))))

    def _lanes(self, index: Any) -> list[int | None]:
        """Where the lanes of an element are; the first mode runs fastest, as in a layout's own order."""
        parts = [int(n) for n in _parts(index)]
        if len(parts) != len(self.modes) or not all(
            0 <= n < len(m) for n, m in zip(parts, self.modes, strict=True)
        ):
            raise IndexError(f"{parts} of {[*map(len, self.modes)]}")
        steps = itertools.product(*(m[n] for n, m in zip(parts[::-1], self.modes[::-1], strict=True)))
        return [sum(cast("Any", s)) if self.there and None not in s else None for s in steps]

    def __getitem__(self, index: Any) -> Any:
        parts = self._all_parts(index)
        if any(isinstance(part, slice) for part in parts):
            return self._sliced(parts)
        found = [
            as_kind(self.default, self.ptr.array.kind) if at is None else self.ptr[at]
            for at in self._lanes(index)
        ]
        return found[0] if len(found) == 1 else Vector(self.ptr.array.kind, found)

    def _all_parts(self, index: Any) -> tuple[Any, ...]:
        parts = _parts(index)
        known = parts[:-1] if parts[-1] is ... else parts
        return (*known, *[slice(None)] * (len(self.modes) - len(known)))

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = self._all_parts(index)
        if any(isinstance(part, slice) for part in parts):
            self._sliced(parts).assign(value)
            return
        for n, at in enumerate(self._lanes(index)):
            if at is not None:
                self.ptr[at] = value.lanes[n] if isinstance(value, Vector) else value

    def _sliced(self, parts: Any) -> Tensor:
        kept, at, there = list[Steps](), 0, self.there
        for part, mode in zip(parts, self.modes, strict=True):
            if isinstance(part, slice):
                given = cast("Any", part)
                ends = [None if n is None else int(n) for n in (given.start, given.stop, given.step)]
                kept.append(mode[slice(*ends)])
            else:
                step = mode[int(part)][0]
                at, there = at + (step or 0), there and step is not None
        return Tensor(self.ptr + at, kept, self.default, there)

    def _places(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(len(mode)) for mode in self.modes)))

    def assign(self, value: Any, change: Callable[[Any, Any], Any] = lambda _, new: new) -> Tensor:
        """Copy what is broadcast to this, all of which is read before anything is written."""
        found: list[Any] = []
        for place in self._places():
            if isinstance(value, Tensor):
                near = place[len(place) - len(value.modes) :]
                near = tuple(0 if len(m) == 1 else n for n, m in zip(near, value.modes, strict=True))
                found.append(change(self[place], value[near]))
            else:
                found.append(change(self[place], value))
        for place, new in zip(self._places(), found, strict=True):
            self[place] = new
        return self

    def __iadd__(self, value: Any) -> Tensor:
        return self.assign(value, operator.add)

    def __isub__(self, value: Any) -> Tensor:
        return self.assign(value, operator.sub)

    def copy_from(self, other: Tensor) -> None:
        self.assign(other)

    def transpose(self) -> Tensor:
        return self._part(self.modes[::-1])

    def __iter__(self) -> Iterator[Any]:
        return (self[n] if len(self.modes) == 1 else self[n, ...] for n in range(int(self.dim(0))))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def address(self, *index: Any) -> Pointer:
        (at,) = self._lanes(index)
        assert at is not None
        return self.ptr + at

    def fill(self, value: Any) -> None:
        for index in self._places():
            self[index] = value

    @property
    def tile(self) -> _Split:
        def made(sizes: tuple[int, ...], where: Any, default: Any = None) -> Tensor:
            modes: list[Steps] = []
            for mode, size, n in zip(self.modes, sizes, where, strict=True):
                there = mode[int(n) * size : (int(n) + 1) * size]
                modes.append(there + [GONE] * (size - len(there)))
            return self._part(modes, default)

        return _Split(made)

    def tiles(self, *sizes: int) -> list[Tensor]:
        counts = [-(-int(self.dim(n)) // size) for n, size in enumerate(sizes)]
        return [self.tile[sizes](*at) for at in itertools.product(*map(range, counts))]

    @property
    def vectorize(self) -> _Split:
        def made(sizes: tuple[int, ...], _: Any) -> Tensor:
            modes: list[Steps] = []
            for mode, size in zip(self.modes, sizes, strict=True):
                padded = mode + [GONE] * (-len(mode) % size)
                groups = (padded[n : n + size] for n in range(0, len(padded), size))
                modes.append([[at for step in group for at in step] for group in groups])
            return self._part(modes)

        return _Split(made)

    @property
    def distribute(self) -> _Split:
        def made(threads: Layout, where: Any) -> Tensor:
            grid = zip(self.modes, threads.shape, threads.stride, strict=True)
            padded = ((mode + [GONE] * (-len(mode) % n), n, step) for mode, n, step in grid)
            return self._part([mode[int(where[0]) // step % n :: n] for mode, n, step in padded])

        return _Split(made)


class Atomic:
    """The atomic operations: threads of the model run one after the other."""

    @staticmethod
    def _change(pointer: Any, change: Callable[[Number], Any]) -> Number:
        at = pointer.ptr if isinstance(pointer, Tensor) else pointer
        before = at[0]
        at[0] = change(before)
        return before

    @staticmethod
    def load(pointer: Any) -> Number:
        return Atomic._change(pointer, lambda x: x)

    @staticmethod
    def compare_exchange(pointer: Any, expected: Any, desired: Any, **_: Any) -> tuple[Number, Number]:
        before = Atomic._change(pointer, lambda x: desired if x == expected else x)
        return before, Number(BOOL, bool(before == expected))

    @staticmethod
    def fetch_add(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: x + value)

    @staticmethod
    def fetch_sub(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: x - value)

    @staticmethod
    def fetch_min(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: min(x, as_kind(value, x.kind)))

    @staticmethod
    def fetch_max(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: max(x, as_kind(value, x.kind)))

    @staticmethod
    def fetch_and(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: x & value)

    @staticmethod
    def fetch_or(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: x | value)

    @staticmethod
    def fetch_xor(pointer: Any, value: Any, **_: Any) -> Number:
        return Atomic._change(pointer, lambda x: x ^ value)
