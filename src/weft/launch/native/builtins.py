"""Functions of Python that are native code, and the memory that they look at."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from weft.lang.c_structs import c_struct

FASTCALL, WITH_KEYWORDS, NO_ARGUMENTS = 0x0080, 0x0080 | 0x0002, 0x0004
"""How Python calls a builtin: with arguments in memory, with names of keywords too, or with nothing."""


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int)]
    _fields_ += [("doc", ctypes.c_char_p)]


def make_builtin(
    name: str, code: int, table: Any, keep: object = None, form: int = FASTCALL
) -> Callable[..., Any]:
    """A builtin, whose ``__self__`` is a table, an object of ctypes.

    Args:
        name: what it is called.
        code: the address of a function.
        table: what the function looks at.
        keep: what else stays for as long as the builtin does.
        form: how the function is called.
    """
    method = _Method(name.encode(), code, form, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    table.methods = *getattr(table, "methods", ()), method  # which the builtins look at
    return make(ctypes.addressof(method), table, keep)


def records(struct: type[Any], values: Sequence[Sequence[int]]) -> Any:
    """Memory with structs, of whose fields these are the values; one at least."""
    return (c_struct(struct) * max(1, len(values)))(*map(tuple, values))
