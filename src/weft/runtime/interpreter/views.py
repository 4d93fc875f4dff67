"""What a debugger shows of a kernel's values that are more than a number."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from types import FrameType
from typing import Any, cast

import numpy as np

from weft.abi.formats import from_short_bits, pack
from weft.dtype import DType
from weft.runtime.interpreter.records import Record, element

_NAMES = {
    "bool": "Bool",
    "bfloat16": "BFloat16",
    **{f"int{n}": f"Int{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"UInt{n}" for n in (8, 16, 32, 64)},
    **{f"float{n}": f"Float{n}" for n in (16, 32, 64)},
}


class _Unset:
    """A parameter until the first line of its function."""

    def __repr__(self) -> str:
        return "<known from the function's first line on>"


UNSET = _Unset()


def stepped(module: Mapping[str, Any]) -> dict[str, Any]:
    """What a module has, as a kernel's frames show it: ``thread_idx`` and the like have values there."""
    shown = {**module}
    for name, value in module.items():
        if hasattr(cast("object", type(value)), "__weft_stepped__"):
            shown[name] = Index(value.__weft_stepped__())
    return shown


class Index:
    """``thread_idx`` and the like, of the thread in whose frame a debugger asks."""

    def __init__(self, name: str) -> None:
        self._name = name

    x = property(lambda self: self._along("x"))
    y = property(lambda self: self._along("y"))
    z = property(lambda self: self._along("z"))

    def _along(self, axis: str) -> int:
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while "__t" not in frame.f_locals:
            frame = frame.f_back
            assert frame is not None
        thread = frame.f_locals["__t"]
        if self._name != "global_id":
            return getattr(thread, f"{self._name}_{axis}")
        size, block, at = (
            getattr(thread, f"{name}_{axis}") for name in ("block_dim", "block_id", "thread_id")
        )
        return size * block + at

    def __iter__(self) -> Iterator[int]:
        return iter((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return str((*self,))


class Elements:
    """A pointer: ``p[i]`` reads an element, ``p[i:k]`` several."""

    def __init__(self, address: int, dtype: Any) -> None:
        self.address = address
        self.dtype = element(dtype)

    def __getitem__(self, index: int | slice[int, int, int]) -> Any:
        if isinstance(index, slice):
            if index.stop is None:  # pyright: ignore[reportUnnecessaryComparison]
                raise IndexError("a pointer has no end: write p[start:stop]")
            return self._array(index.start or 0, index.stop)[:: index.step]
        return self._array(int(index), int(index) + 1)[0]

    def __setitem__(self, index: int, value: Any) -> None:
        dtype, index = self.dtype, int(index)
        if isinstance(dtype, Record):
            self._array(index, index + 1)[0] = value
        else:
            ctypes.memmove(self.address + index * dtype.itemsize, pack(dtype, value), dtype.itemsize)

    def _array(self, start: int, stop: int) -> Any:
        dtype, count = self.dtype, max(0, stop - start)
        memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(
            self.address + start * dtype.itemsize
        )
        bits: Any = np.frombuffer(memory, dtype.numpy)
        return bits if isinstance(dtype, Record) or dtype.in_numpy else from_short_bits(dtype, bits)

    def __repr__(self) -> str:
        return f"Pointer[{_NAMES.get(self.dtype.name, self.dtype.name)}] at {self.address:#x}"


class _Memory:
    """What NumPy views as an array."""

    def __init__(
        self, address: int, dtype: DType | Record, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "strides": tuple([n * dtype.itemsize for n in strides]),
            "typestr": f"|V{dtype.itemsize}" if isinstance(dtype, Record) else dtype.numpy.str,
            "version": 3,
        }


def array(address: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A tensor: NumPy's array over its memory."""
    kind = element(dtype)
    made = np.asarray(_Memory(address, kind, shape, strides))
    return made.view(kind.numpy) if isinstance(kind, Record) else made


Pairs = Iterable[tuple[int, int]]
"""Extents and strides."""


def _offsets(pairs: Pairs) -> Any:
    """Where the elements of a mode lie, whose first part runs fastest."""
    found = np.zeros(1, np.int64)
    for extent, stride in pairs:
        found = np.add.outer(np.arange(extent) * stride, found).ravel()
    return found


class Values:
    """A tensor of which NumPy has no view: nested, of vectors, masked, of short floats.

    Its values are read when somebody looks; those of a masked tensor that are not there are masked.
    """

    def __init__(
        self,
        address: int,
        dtype: str,
        shape: Sequence[int],
        strides: Sequence[int],
        modes: Sequence[int],
        lanes: Sequence[Sequence[int]],
        edges: Sequence[Sequence[int] | None],
    ) -> None:
        self._address = address
        self._dtype: DType = getattr(DType, dtype)
        self._leaves = shape, strides
        self._modes, self._lanes, self._edges = modes, lanes, edges

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        leaves = zip(*self._leaves, strict=True)
        sides = [_offsets(islice(leaves, n)) for n in self._modes]
        sides += [_offsets(zip(*self._lanes, strict=True))] if self._lanes else []
        offsets: Any = reduce(np.add.outer, sides)
        index: tuple[Any, ...] = np.ix_(*[np.arange(n) for n in offsets.shape])
        there: Any = np.full(offsets.shape, True)
        for at, edge in zip(index, self._edges, strict=False):
            if edge is not None:
                limit, step, lanes, every = edge
                there &= at * step + (index[-1] // every % lanes if self._lanes else 0) < limit
        found = offsets[there]
        low, high = (int(found.min()), int(found.max())) if found.size else (0, -1)
        size = self._dtype.itemsize
        memory = ctypes.string_at(self._address + low * size, (high - low + 1) * size) or bytes(size)
        bits = np.frombuffer(memory, self._dtype.numpy)[np.where(there, offsets - low, 0)]
        made: Any = bits if self._dtype.in_numpy else from_short_bits(self._dtype, bits)
        return made if there.all() else np.ma.MaskedArray(made, ~there)

    def __getitem__(self, index: Any) -> Any:
        return self.__array__()[index]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements it has along each mode, then of a vector."""
        return self.__array__().shape

    def tolist(self) -> Any:
        """Its values as lists."""
        return self.__array__().tolist()

    def __repr__(self) -> str:
        return repr(self.__array__())


class Parts:
    """A struct, a dataclass, an array: its parts by name or by number."""

    def __init__(self, name: str, names: tuple[str, ...], *parts: Any) -> None:
        self._name = name
        self._names = names
        self._parts = parts
        self.__dict__.update(zip(names, parts, strict=False))

    def __getitem__(self, index: int) -> Any:
        return self._parts[index]

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, of: Callable[[Any], Any]) -> Parts:
        """The same of something of each part, also within parts."""
        made = [part.each(of) if isinstance(part, Parts) else of(part) for part in self._parts]
        return Parts(self._name, self._names, *made)

    def __repr__(self) -> str:
        named = self._names or ("",) * len(self._parts)
        each = [f"{n}={p!r}" if n else repr(p) for n, p in zip(named, self._parts, strict=True)]
        return f"{self._name}({', '.join(each)})"


class Columns:
    """A struct of arrays: ``p.x`` is a field's array, ``p[i]`` an element, ``p[i:k]`` several by field."""

    def __init__(self, arrays: Parts) -> None:
        self._arrays = arrays
        self.__dict__.update(vars(arrays))

    def __getitem__(self, index: int | slice[int, int, int]) -> Parts:
        return self._arrays.each(lambda array: array[index])

    def __repr__(self) -> str:
        return f"SoA of {self._arrays!r}"


class Opaque:
    """What is shown by its type and the numbers that complete it."""

    def __init__(self, text: str, *leaves: Any) -> None:
        self.text = text
        self.leaves = leaves

    def __repr__(self) -> str:
        return self.text
