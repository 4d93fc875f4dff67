"""What a compiled kernel has read, as the native stub compares it; see ``launch/native/held.py``."""

from __future__ import annotations

import ctypes
import functools
import sys
from types import CellType, FunctionType
from typing import Any, cast

from weft.lang.reads import NOTHING, Reads, parts_of_function
from weft.lang.told_apart import is_array
from weft.runtime.stub_entries import Helds, member_offset

__all__ = ["native_reads"]

_WORD = 8


def native_reads(reads: Reads) -> Helds | None:
    """What the stub must compare; None where it cannot."""
    if not (_cell_offsets() and _function_offsets()):
        return None
    helds = Helds()
    for space, name, value in reads.names:
        if type(space) is not dict:
            return None
        helds.name(space, sys.intern(name), None if value is NOTHING else (value,))
    for cell, value in reads.cells:
        for offset in _cell_offsets():
            helds.pointers(cell, id(cell) + offset, [None if value is NOTHING else (value,)])
    for of, member, value in reads.slots:
        helds.pointers(of, id(of) + member_offset(member), [None if value is NOTHING else (value,)])
    for fn, parts in reads.functions:
        for offset, part in zip(_function_offsets(), parts, strict=True):
            helds.pointers(fn, id(fn) + offset, [None if part is None else (part,)])
    return helds if all(_add(helds, one.of, one.items) for one in reads.held) else None


def _add(helds: Helds, of: Any, items: list[Any] | None) -> bool:
    """Add a container or an array; whether the stub can compare it."""
    kind = cast("type[Any]", type(of))
    if kind is dict and items is not None:
        helds.items(of, items)
        return True
    if kind is list and items is not None:
        size, place = _list_offsets()
        helds.words(of, id(of) + size, [len(items)])
        helds.words(of, id(of) + place, [ctypes.c_int64.from_address(id(of) + place).value])
        helds.pointers(of, ctypes.c_int64.from_address(id(of) + place).value, [(item,) for item in items])
        return True
    if is_array(of) and of.flags.c_contiguous and not of.dtype.hasobject:
        return _add_array(helds, of)
    return False


def _add_array(helds: Helds, of: Any) -> bool:
    """Add the struct of an array, whose form is NumPy's ABI, then what it points at."""
    struct = id(of) + object.__basicsize__
    address, dims = (ctypes.c_int64.from_address(struct + at).value for at in (0, 2 * _WORD))
    if address != of.ctypes.data or ctypes.c_int.from_address(struct + _WORD).value != of.ndim:
        return False
    helds.memory(of, struct, ctypes.string_at(struct, 4 * _WORD))
    if of.ndim:
        shape = [ctypes.c_int64.from_address(dims + n * _WORD).value for n in range(of.ndim)]
        if shape != list(of.shape):
            return False
        helds.memory(of, dims, ctypes.string_at(dims, of.ndim * _WORD))
    dtype = struct + 5 * _WORD
    if ctypes.c_int64.from_address(dtype).value != id(of.dtype):
        return False
    helds.pointers(of, dtype, [(of.dtype,)])
    helds.memory(of, address, of.tobytes())
    return True


@functools.cache
def _cell_offsets() -> list[int]:
    """Where a captured variable has its value."""
    held = object()
    return _found(CellType(held), [held])


@functools.cache
def _function_offsets() -> list[int]:
    """Where a function has the parts that can be replaced."""

    def sample(a: int = 1234567, *, c: int = 1234567) -> None:
        """Stands for all functions."""

    made = FunctionType(sample.__code__, {}, "sample", (1234567,))
    made.__kwdefaults__ = {"c": 1234567}
    made.__annotations__ = {"a": int}
    return _found(made, parts_of_function(made))


@functools.cache
def _list_offsets() -> tuple[int, int]:
    """Where a list has its length and the address of its items."""
    return object.__basicsize__, object.__basicsize__ + _WORD


def _found(of: Any, parts: Any) -> list[int]:
    """Where an object has pointers to these; nowhere on a Python whose objects have another form."""
    size = cast("type[Any]", type(of)).__basicsize__
    words = [ctypes.c_int64.from_address(id(of) + at).value for at in range(0, size, _WORD)]
    if not {*map(id, parts)} <= {*words}:
        return []
    return [words.index(id(part)) * _WORD for part in parts]
