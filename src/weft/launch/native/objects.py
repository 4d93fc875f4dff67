"""Where CPython's objects have what the native stub reads of them, as samples show."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Sequence
from types import CellType, FunctionType
from typing import Any, NamedTuple, cast

from weft.lang.reads import parts_of_function
from weft.launch.native.tables import MEMORY_AT
from weft.runtime.buffers import DeviceBuffer

WORD = 8
_MANY = tuple(range(1000, 1077))
"""Items that are objects of their own, of a number that nothing else has."""


def word(address: int) -> int:
    """The word at an address."""
    return ctypes.c_int64.from_address(address).value


def words(values: Sequence[int]) -> Any:
    """Memory with these words."""
    return (ctypes.c_int64 * max(1, len(values)))(*values)


class Unknown(Exception):
    """No such word is in an object."""


def _find(of: Any, *looked_for: int, size: int = 0) -> list[int]:
    """Where an object has these words."""
    there = [word(id(of) + at) for at in range(0, size or cast("type[Any]", type(of)).__basicsize__, WORD)]
    if not {*looked_for} <= {*there}:
        raise Unknown
    return [there.index(each) * WORD for each in looked_for]


def _member(cls: Any, name: str) -> int:
    value, made = object(), cls.__new__(cls)
    getattr(cls, name).__set__(made, value)
    return _find(made, id(value))[0]


@functools.cache
def offset(cls: type[Any], name: str) -> int:
    """Where instances have what a class calls so among its ``__slots__``; -1 where that is not known."""
    with contextlib.suppress(AttributeError, TypeError, Unknown):
        return _member(cls, name)
    return -1


class Offsets(NamedTuple):
    """Where an object has its type, and objects of some kinds what is theirs."""

    type: int
    buffer: list[int]
    """Its key, its address and the owner of its memory."""
    tuple: list[int]
    """Its length and its items, of a tuple not too long."""
    list: list[int]
    """Its length and the address of its items."""
    cell: int
    function: list[int]
    """The parts that can be replaced."""


@functools.cache
def offsets() -> Offsets:
    """Where objects of this Python have what the stub reads.

    Raises:
        Unknown: they have another form.
    """

    def sample(a: int = 1234567, *, c: int = 1234567) -> None:
        """Stands for all functions."""

    made, memory, items = FunctionType(sample.__code__, {}, "sample", (1234567,)), ctypes.c_int64(), [*_MANY]
    made.__kwdefaults__, made.__annotations__ = {"c": 1234567}, {"a": int}
    found = Offsets(
        _find(made, id(FunctionType))[0],
        [_member(DeviceBuffer, name) for name in ("_key", "_address", "_allocation")],
        _find(_MANY, len(_MANY), *map(id, _MANY), size=tuple.__basicsize__ + WORD * len(_MANY)),
        [*_find(items, len(items)), object.__basicsize__ + WORD],
        _find(CellType(made), id(made))[0],
        _find(made, *map(id, parts_of_function(made))),
    )
    first = word(id(items) + found.list[1])
    same = [word(first + WORD * n) for n in range(len(items))] == [*map(id, items)]
    if not same or word(id(memory) + MEMORY_AT) != ctypes.addressof(memory):
        raise Unknown
    return found


@functools.cache
def supported() -> bool:
    """Whether objects of this Python have the form that the stub reads, and a lock that keeps others away."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 2 * WORD:
        return False
    with contextlib.suppress(AttributeError, TypeError, Unknown):
        return bool(offsets())
    return False
