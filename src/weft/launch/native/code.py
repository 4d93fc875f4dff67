"""The native code of launches, loaded into this process."""

from __future__ import annotations

import ctypes
import functools
import sys

from weft.compiler.cache import cached
from weft.runtime.native_launch import Launcher
from weft.runtime.stub_entries import OFFSETS, member_offset

__all__ = ["interface_code", "stub_code"]

_OBJECTS = {
    "_Py_NoneStruct": id(None),
    "_Py_FalseStruct": id(False),
    "PyLong_Type": id(int),
    "PyExc_KeyboardInterrupt": id(KeyboardInterrupt),
}
"""Objects of Python that the code compares with."""


@functools.cache
def stub_code(elsewhere: tuple[int, ...]) -> tuple[int, object]:
    """The stub's address in this process, and what keeps it there.

    Args:
        elsewhere: Statuses of the driver's for a thread that is in no context, or in another.
    """
    from weft.launch.native.stub import ENTRY, stub_text

    type_offset = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    text = stub_text(
        version=sys.version_info[:2],
        type_offset=type_offset,
        table_offset=member_offset(Launcher.__dict__["table"]),
        address_offset=OFFSETS["_address"],
        owner_offset=OFFSETS["_allocation"],
        elsewhere=elsewhere,
    )
    return _load(text, ENTRY, _OBJECTS)


@functools.cache
def interface_code() -> tuple[int, object]:
    """The address of what reads a CUDA array interface, and what keeps it there."""
    from weft.launch.native.interface import ENTRY, INTERFACE, NAMES

    names = {f"weft_name_{name}": sys.intern(name) for name in NAMES}
    symbols = {symbol: id(name) for symbol, name in names.items()}
    address, loaded = _load(INTERFACE, ENTRY, symbols | _OBJECTS)
    return address, (loaded, names)


def _load(text: str, entry: str, symbols: dict[str, int]) -> tuple[int, object]:
    """The address of a function in this process, and what keeps it there."""
    from weft.compiler.llvm.emit import emit, load_object
    from weft.targets import TARGETS

    target = TARGETS["native"]
    names = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("declare")}
    python = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in names
        if not name.startswith("llvm.")
    }
    code = cached(text, target, lambda: emit(text, target, "object", passes=False).data)
    loaded = load_object(code, [entry], symbols | python)
    return loaded.addresses[0], loaded
