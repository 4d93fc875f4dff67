"""LLVM's forms of structures and functions that ctypes declares."""

from __future__ import annotations

import ctypes
from typing import Any

_SCALARS: dict[type[Any], str] = {
    ctypes.c_bool: "i1",
    ctypes.c_int32: "i32",
    ctypes.c_uint32: "i32",
    ctypes.c_int64: "i64",
    ctypes.c_uint64: "i64",
}


def _llvm(kind: Any) -> str:
    if issubclass(kind, ctypes.Array):
        return f"[{kind._length_} x {_llvm(kind._type_)}]"
    return _SCALARS.get(kind, "ptr")


def llvm_record(record: type[ctypes.Structure]) -> str:
    """The definition of a structure as a type of LLVM's, which has the structure's name.

    >>> class Pair(ctypes.Structure):
    ...     _fields_ = [("next", ctypes.c_void_p), ("sizes", ctypes.c_int64 * 2)]
    >>> llvm_record(Pair)
    '%Pair = type { ptr, [2 x i64] }'
    """
    return f"%{record.__name__} = type {{ {', '.join(_llvm(kind) for _, kind, *_ in record._fields_)} }}"


def llvm_arguments(function: Any) -> str:
    """The types of the arguments of a function type of ``ctypes.CFUNCTYPE``."""
    return ", ".join(map(_llvm, function._argtypes_))


def place_of(record: type[ctypes.Structure], name: str) -> tuple[int, int]:
    """Where a field begins, and how long it is or each of its elements, in bytes."""
    kind: Any = {field: kind for field, kind, *_ in record._fields_}[name]
    element: Any = kind._type_ if issubclass(kind, ctypes.Array) else kind
    return getattr(record, name).offset, ctypes.sizeof(element)


class Fields:
    """The numbers of a structure's fields, by name, for ``str.format``: ``i32 {site.entries}``."""

    def __init__(self, record: type[ctypes.Structure]) -> None:
        for number, (name, *_) in enumerate(record._fields_):
            setattr(self, name, number)
