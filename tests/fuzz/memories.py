"""The model's memory: arrays, pointers into them, and tensors over them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, cast

from tests.fuzz.kinds import BOOL, INT, Kind
from tests.fuzz.lanes import Vector
from tests.fuzz.scalars import Number, as_kind

__all__ = ["Array", "Atomic", "Layout", "Place", "Pointer", "Records", "RowType", "Tensor", "put"]


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

        def at(*where: Any) -> Any:
            return self.made(given, where)

        return at


class Tensor:
    """A layout over memory; ``lanes`` are the positions of a vectorized tensor's element."""

    def __init__(self, ptr: Pointer, layout: Layout, lanes: list[int] | None = None) -> None:
        self.ptr = ptr
        self.layout = layout
        self.lanes = lanes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    def dim(self, mode: int) -> int:
        return self.layout.shape[mode]

    def size(self) -> int:
        return self.layout.size()

    def offset(self, index: Any) -> int:
        index = _parts(index)
        if len(index) != len(self.shape):
            raise IndexError(f"{len(index)} indices for {self.shape}")
        for n, extent in zip(index, self.shape, strict=True):
            if not 0 <= int(n) < extent:
                raise IndexError(f"{index} of {self.shape}")
        return sum(int(n) * step for n, step in zip(index, self.layout.stride, strict=True))

    def __getitem__(self, index: Any) -> Any:
        parts = _parts(index)
        if any(isinstance(part, slice) for part in parts):
            return self._sliced(parts)
        at = self.offset(index)
        if self.lanes is None:
            return self.ptr[at]
        return Vector(self.ptr.array.kind, [self.ptr[at + lane] for lane in self.lanes])

    def __setitem__(self, index: Any, value: Any) -> None:
        at = self.offset(index)
        for n, lane in enumerate([0] if self.lanes is None else self.lanes):
            self.ptr[at + lane] = value.lanes[n] if isinstance(value, Vector) else value

    def _sliced(self, parts: Any) -> Tensor:
        at, shape, stride = 0, list[int](), list[int]()
        for part, extent, step in zip(parts, self.shape, self.layout.stride, strict=True):
            if not isinstance(part, slice):
                at += int(part) * step
                continue
            found = cast("Any", part)
            start = 0 if found.start is None else int(found.start)
            stop = extent if found.stop is None else int(found.stop)
            at += start * step
            shape.append(stop - start)
            stride.append(step)
        return Tensor(self.ptr + at, Layout(tuple(shape), tuple(stride)), self.lanes)

    def address(self, *index: Any) -> Pointer:
        return self.ptr + self.offset(index)

    def fill(self, value: Any) -> None:
        for index in itertools.product(*map(range, self.shape)):
            self[index] = value

    @property
    def tile(self) -> _Split:
        def made(sizes: tuple[int, ...], where: Any) -> Tensor:
            steps = zip(where, sizes, self.layout.stride, strict=True)
            at = sum(int(n) * size * step for n, size, step in steps)
            left = [extent - int(n) * size for n, size, extent in zip(where, sizes, self.shape, strict=True)]
            part = tuple(map(min, sizes, left))
            return Tensor(self.ptr + at, Layout(part, self.layout.stride), self.lanes)

        return _Split(made)

    @property
    def vectorize(self) -> _Split:
        def made(sizes: tuple[int, ...], _: Any) -> Tensor:
            shape = tuple(extent // size for extent, size in zip(self.shape, sizes, strict=True))
            stride = tuple(step * size for step, size in zip(self.layout.stride, sizes, strict=True))
            # the first of the sizes runs fastest, as in a layout's own order
            lanes = [
                sum(n * step for n, step in zip(reversed(at), self.layout.stride, strict=True))
                for at in itertools.product(*map(range, reversed(sizes)))
            ]
            return Tensor(self.ptr, Layout(shape, stride), lanes)

        return _Split(made)

    @property
    def distribute(self) -> _Split:
        def made(threads: Layout, where: Any) -> Tensor:
            number = int(where[0])
            coordinate = [
                number // step % extent for extent, step in zip(threads.shape, threads.stride, strict=True)
            ]
            at = sum(n * step for n, step in zip(coordinate, self.layout.stride, strict=True))
            shape = tuple(extent // n for extent, n in zip(self.shape, threads.shape, strict=True))
            stride = tuple(step * n for step, n in zip(self.layout.stride, threads.shape, strict=True))
            return Tensor(self.ptr + at, Layout(shape, stride), self.lanes)

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
