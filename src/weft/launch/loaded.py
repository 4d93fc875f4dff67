"""A kernel compiled for some types and loaded on a device."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weft.abi.formats import bits_of
from weft.runtime.context import BaseContext
from weft.runtime.driver import Function

if TYPE_CHECKING:
    from weft.abi.artifact import Signature
    from weft.foreign.host_copies import HostCopies

_CODES = {
    "bool": "?7x",
    "int8": "b7x",
    "int16": "h6x",
    "int32": "i4x",
    "int64": "q",
    "uint8": "B7x",
    "uint16": "H6x",
    "uint32": "I4x",
    "uint64": "Q",
    "float8_e4m3fn": "B7x",
    "float8_e5m2": "B7x",
    "float16": "e6x",
    "bfloat16": "H6x",
    "float32": "f4x",
    "float64": "d",
}


class Loaded:
    """A kernel compiled for some types and loaded: how to pack its arguments, what to call."""

    __slots__ = ("_as_bits", "count", "function", "modest", "packer", "signature")

    def __init__(self, function: Function) -> None:
        self.function: Function = function
        signature = function.kernel.signature
        self.signature: Signature = signature
        codes = ("Q" if p.pointer else _CODES[p.dtype.name] for p in signature.parameters)
        self.count: int = len(signature.parameters)
        """Parameters without what a checked kernel takes behind them."""
        if function.kernel.checked:
            pointers = sum(p.pointer for p in signature.parameters)
            self.count -= 1 + (3 * pointers + 2 if function.kernel.granule else 2 * pointers)
        self.packer: struct.Struct = struct.Struct("<" + "".join(codes))
        kernel = function.kernel
        self.modest: bool = not (
            kernel.shared or kernel.dynamic_shared or kernel.max_threads or kernel.uses - {"waits", "looks"}
        )
        """Whether every device takes its launches that ask for nothing beside grid and block."""
        plain = [(n, p.dtype) for n, p in enumerate(signature.parameters) if not p.pointer]
        self._as_bits = [(n, dtype) for n, dtype in plain if not dtype.in_numpy]

    def shared_bytes(self, given: int, threads: int) -> int:
        """The dynamic shared memory of a launch; a kernel that says its blocks' threads says this too."""
        return given or (self.function.kernel.dynamic_shared if threads else 0)

    def copies(self, context: BaseContext, memory: Sequence[Any], values: list[Any]) -> HostCopies | None:
        """Copies of the host's arrays among the arguments, of which the values become the addresses."""
        from weft.foreign.host_copies import HostCopies

        pointers = [(n, p) for n, p in enumerate(self.signature.parameters) if p.pointer]
        copies = HostCopies(context, [p for _, p in pointers], memory)
        for n, p in pointers if copies else ():
            values[n] = copies.address_of(p.name, values[n])
        return copies or None

    def pack(self, values: Sequence[Any]) -> bytes:
        """The argument block."""
        if self._as_bits:
            values = list(values)
            for n, dtype in self._as_bits:
                values[n] = bits_of(dtype, values[n])
        return self.packer.pack(*values)
