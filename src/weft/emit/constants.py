"""How LLVM writes numbers and strings."""

from __future__ import annotations

import math
import struct

from weft.ir.types import FloatType, Type

__all__ = ["number_text", "string_text"]


def number_text(value: bool | int | float, type: Type) -> str:
    """A constant as LLVM writes it: floats by their bits, so that nothing is lost."""
    scalar = type.scalar
    if isinstance(scalar, FloatType):
        number = float(value)
        if scalar.bits == 64:
            return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        try:
            single = struct.unpack("<f", struct.pack("<f", number))[0]
        except OverflowError:
            single = math.copysign(math.inf, number)
        if scalar.bits == 32:
            return f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"
        if scalar.mlir == "bf16":
            return f"0xR{struct.unpack('<I', struct.pack('<f', single))[0] >> 16:04X}"
        try:
            return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
        except OverflowError:
            return "0xH7C00" if number > 0 else "0xHFC00"
    if scalar.bits == 1:
        return "true" if value else "false"
    return str(int(value))


def string_text(data: bytes) -> str:
    """Bytes as a string constant, in quotes."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data) + '"'
