"""Single values between Python and memory."""

from __future__ import annotations

import struct

from weft.dtype import DType

__all__ = ["bfloat16_bits", "pack", "unpack"]

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


def bfloat16_bits(value: float) -> int:
    """The bits of the bfloat16 nearest to a number, ties to even."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def pack(dtype: DType, value: object) -> bytes:
    """The bytes of one element, little end first.

    Raises:
        TypeError: the value is no number of this kind (a float is no int; an int is a float).
        OverflowError: the value does not fit.
    """
    if dtype.is_float:
        if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
            raise TypeError(f"{value!r} is not a number")
        number = float(value)  # pyright: ignore[reportArgumentType]
        if dtype.kind == "bfloat":
            return bfloat16_bits(number).to_bytes(2, "little")
        try:
            return struct.pack("<" + _FORMATS[dtype.name], number)
        except OverflowError:
            raise OverflowError(f"{number!r} does not fit {dtype}") from None
    if dtype.kind == "bool":
        if value not in (0, 1):
            raise TypeError(f"{value!r} is neither True nor False")
        return struct.pack("<?", value)
    try:
        return struct.pack("<" + _FORMATS[dtype.name], value)
    except struct.error as error:
        if hasattr(value, "__index__"):
            raise OverflowError(f"{value!r} does not fit {dtype}") from error
        raise TypeError(f"{value!r} is not an integer") from error


def unpack(dtype: DType, data: bytes) -> bool | int | float:
    """The value of one element in the first bytes, little end first."""
    if dtype.kind == "bfloat":
        return struct.unpack("<f", b"\0\0" + data[:2])[0]
    if dtype.kind == "bool":
        return data[0] != 0
    return struct.unpack_from("<" + _FORMATS[dtype.name], data)[0]
