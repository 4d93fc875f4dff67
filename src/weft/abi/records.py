"""Structures and functions that ctypes declares, as LLVM has them."""

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


def llvm_arguments(function: Any) -> str:
    """The types of the arguments of a function type of ``ctypes.CFUNCTYPE``."""
    return ", ".join([_SCALARS.get(kind, "ptr") for kind in function._argtypes_])


def place_of(record: type[ctypes.Structure], name: str) -> tuple[int, int]:
    """Where a field begins, and how long it is or each of its elements, in bytes."""
    kind: Any = {field: kind for field, kind, *_ in record._fields_}[name]
    element: Any = kind._type_ if issubclass(kind, ctypes.Array) else kind
    return getattr(record, name).offset, ctypes.sizeof(element)
