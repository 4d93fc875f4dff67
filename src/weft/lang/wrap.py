"""Python numbers as the number formats hold them."""

from __future__ import annotations

import math
import struct

from weft.dtype import DType

__all__ = ["as_mask", "wrap"]


def wrap(dtype: DType, value: bool | int | float) -> bool | int | float:
    """A Python number as ``dtype`` holds it: wrapped around, or rounded."""
    if dtype.kind == "bool":
        return bool(value)
    if dtype.is_integer:
        number = int(value) & ((1 << dtype.bits) - 1)
        return number - (1 << dtype.bits) if dtype.is_signed and number >> (dtype.bits - 1) else number
    try:
        number = float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf  # an int, too large for copysign too
    if dtype.bits == 64 or not math.isfinite(number):
        return number
    if dtype.kind == "bfloat":
        return _as_bfloat(number)
    code = "<e" if dtype.bits == 16 else "<f"
    try:
        return struct.unpack(code, struct.pack(code, number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def as_mask(x: object, dtype: DType) -> object:
    """An operand of a bitwise operator: a literal may use the unsigned range of a signed type."""
    if isinstance(x, int) and dtype.is_signed and x >> (dtype.bits - 1) == 1:
        return wrap(dtype, x)
    return x


def _as_bfloat(number: float) -> float:
    """The nearest bfloat16, ties to even."""
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    (bits,) = struct.unpack("<I", struct.pack("<f", single))
    if single != number:  # cut toward zero with a bit that says so, lest it be rounded twice
        bits = (bits - (abs(single) > abs(number))) | 1
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]
