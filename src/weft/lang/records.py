"""Structs as NumPy and ctypes describe them, beside those of the language: where they differ, and in what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.dtype import DType, as_dtype
from weft.lang.elements import ElementType

if TYPE_CHECKING:
    import numpy as np


class _Part(NamedTuple):
    """A field, or what an array has so many of; its place in the struct that holds it."""

    offset: int
    kind: str
    """The letter of NumPy's kinds of numbers; empty for what is not looked into."""
    size: int
    times: int

    def like(self, other: _Part) -> bool:
        """Whether both are the same number, so often; of what is not looked into, as many bytes."""
        if self.kind and other.kind:
            return self[1:] == other[1:]
        return self.size * self.times == other.size * other.times

    def __str__(self) -> str:
        words = {"f": "float", "i": "int", "u": "uint"}
        name = {"": f"{self.size} bytes", "b": "bool", "struct": f"a struct of {self.size} bytes"}.get(
            self.kind, f"{words.get(self.kind, self.kind)}{8 * self.size}"
        )
        return name if self.times == 1 else f"{self.times} times {name}"


_Parts = Iterator[tuple[str, _Part]]
_KINDS = {"bool": "b", "int": "i", "uint": "u", "float": "f", "bfloat": "", "float8": ""}
_SIMPLE = {**dict.fromkeys("bhilq", "int"), **dict.fromkeys("BHILQ", "uint"), "f": "float", "d": "float"}
_SIMPLE["?"] = "bool"
"""Of the letters of ctypes."""


class ForeignStruct(DType):
    """What another library's array has as elements, until a parameter says which struct they are."""

    __slots__ = ("described", "size")
    described: Any
    """A structured ``np.dtype``, or a class of ctypes."""
    size: int

    def __init__(self, described: Any, size: int) -> None:
        number = getattr(described, "kind", "") == "c"  # which two floats make
        super().__init__(described.name if number else "structs", "element", 0)
        object.__setattr__(self, "described", described)
        object.__setattr__(self, "size", size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignStruct) and self.described == other.described

    def __hash__(self) -> int:
        return hash(self.described)

    @property
    def itemsize(self) -> int:
        """Bytes that one takes."""
        return self.size

    @property
    def alignment(self) -> int:
        """Nothing is known of it."""
        return 1

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type of such elements."""
        import numpy as np

        return np.dtype(f"V{self.size}") if isinstance(self.described, type) else self.described


def _ours(dtype: DType, path: str, at: int, count: int) -> _Parts:
    if not isinstance(dtype, ElementType):
        yield path, _Part(at, _KINDS[dtype.kind], dtype.itemsize, count)
    elif dtype.laid.items is not None:
        item, times = dtype.laid.items
        yield from _ours(item, path, at, count * times)
    elif dtype.laid.fields:
        yield path, _Part(at, "struct", dtype.itemsize, count)
        for name, (offset, part) in dtype.laid.fields.items():
            yield from _ours(part, f"{path}.{name}", offset, 1)
    else:
        yield path, _Part(at, "", dtype.itemsize, count)


def _numpys(dtype: Any, path: str, at: int, count: int) -> _Parts:
    if dtype.subdtype is not None:
        yield from _numpys(dtype.base, path, at, count * math.prod(dtype.shape))
    elif dtype.names is not None:
        yield path, _Part(at, "struct", dtype.itemsize, count)
        for name in dtype.names:
            part, offset = dtype.fields[name][:2]
            yield from _numpys(part, f"{path}.{name}", offset, 1)
    elif dtype.kind == "c":  # as a struct of ``weft.complex`` has it
        yield path, _Part(at, "struct", dtype.itemsize, count)
        for name, offset in (("re", 0), ("im", dtype.itemsize // 2)):
            yield (
                f"{path}.{name}",
                _Part(offset, "f" if dtype.isnative else "foreign ", dtype.itemsize // 2, 1),
            )
    else:
        kind = "" if dtype.kind not in "biuf" else dtype.kind if dtype.isnative else "foreign "
        yield path, _Part(at, kind, dtype.itemsize, count)


def _ctypes(of: object, path: str, at: int, count: int) -> _Parts:
    import ctypes

    cls: Any = of
    if hasattr(cls, "_length_"):
        yield from _ctypes(cls._type_, path, at, count * cls._length_)
    elif hasattr(cls, "_fields_") and issubclass(cls, ctypes.Structure):
        yield path, _Part(at, "struct", ctypes.sizeof(cls), count)
        for base in reversed(cls.__mro__):
            for name, kind, *_ in base.__dict__.get("_fields_", ()):
                place = getattr(cls, name)
                if place.size != ctypes.sizeof(kind):  # of some bits
                    yield f"{path}.{name}", _Part(place.offset, "bits of ", ctypes.sizeof(kind), 1)
                else:
                    yield from _ctypes(kind, f"{path}.{name}", place.offset, 1)
    else:
        yield path, _Part(at, number_of(cls)[:1], ctypes.sizeof(cls), count)


def number_of(cls: Any) -> str:
    """The name of a type of numbers of ctypes; empty for what is none."""
    import ctypes

    code = getattr(cls, "_type_", None)
    name = _SIMPLE.get(code, "") if isinstance(code, str) else ""
    return name if name in ("", "bool") else f"{name}{8 * ctypes.sizeof(cls)}"


def difference(element: ElementType, described: Any) -> tuple[str, str]:
    """In what a description by NumPy or ctypes differs from a struct and what to do; empty if in nothing."""
    parts = _ctypes if isinstance(described, type) else _numpys
    theirs, mine = dict(parts(described, "", 0, 1)), dict(_ours(element, "", 0, 1))
    name, hint = element.name, "declare both alike: the same names, types and order"
    for path in dict.fromkeys([*mine, *theirs]):
        if path == "":
            continue
        field, here, there = f"`{path[1:]}`", mine.get(path), theirs.get(path)
        if here is None or there is None:
            return f"it has {'a' if here is None else 'no'} field {field}, unlike {name}", hint
        if not here.like(there):
            return f"{field} is {there}, in {name} {here}", hint
        if here.offset != there.offset:
            return f"{field} lies at byte {there.offset}, in {name} at {here.offset}", _packing(
                mine, theirs, name
            )
    if mine[""].size * mine[""].times != theirs[""].size * theirs[""].times:
        found = f"it has {theirs[''].size * theirs[''].times} bytes, {name} {mine[''].size * mine[''].times}"
        return found, _packing(mine, theirs, name)
    return "", ""


def _packing(mine: Mapping[str, _Part], theirs: Mapping[str, _Part], name: str) -> str:
    if theirs[""].size < mine[""].size:
        return "make it with align=True (np.dtype), without _pack_ (ctypes), or declare @struct(pack=1)"
    if sorted(mine, key=lambda path: mine[path].offset) != sorted(
        theirs, key=lambda path: theirs[path].offset
    ):
        return f"make it of np.dtype({name}), or declare the fields of both in one order"
    return f"make it of np.dtype({name}), or declare the struct without pack= and align="


def counted(element: ElementType, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, str, str]:
    """How many elements a contiguous array of NumPy's has; if others, in what they differ, and what to do."""
    count = math.prod(shape)
    if dtype.names is not None or dtype.kind == "c":
        return (count, *difference(element, dtype))
    nbytes, size = count * dtype.itemsize, element.itemsize
    rows = last_axes(shape, size // dtype.itemsize) and fits_exactly(element, as_dtype(dtype.name))
    if nbytes % size or not (rows or (dtype.name == "uint8" and len(shape) == 1)):
        return 0, f"{dtype.name} is not {element}", f"give an array of np.dtype({element})"
    return nbytes // size, "", ""


def last_axes(shape: tuple[int, ...], count: int) -> int:
    """How many of the last axes hold one element of ``count`` numbers: two of ``(n, 3, 3)``; or 0."""
    return next((n for n in range(1, len(shape) + 1) if math.prod(shape[-n:]) == count), 0)


def fits_exactly(element: ElementType, dtype: DType) -> bool:
    """Whether elements are numbers of a type, one beside the other, and nothing else; bytes always do.

    What NumPy has no type for, such as bfloat16, is there as its bits.
    """
    if dtype is DType.uint8:
        return True
    found = list(_numbers(element, 1))
    alike = all(dtype in (d, as_dtype(d.numpy.name)) for d, _ in found)
    return alike and sum(n for _, n in found) * dtype.itemsize == element.itemsize


def _numbers(dtype: DType, times: int) -> Iterator[tuple[DType, int]]:
    """What an element is made of in the end, and how often it has that."""
    if not isinstance(dtype, ElementType) or not (dtype.laid.items or dtype.laid.fields):
        yield dtype, times
    elif dtype.laid.items is not None:
        yield from _numbers(dtype.laid.items[0], times * dtype.laid.items[1])
    else:
        for _, part in dtype.laid.fields.values():
            yield from _numbers(part, times)
