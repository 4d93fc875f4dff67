"""Numbers as the formats hold them: the one place that rounds, wraps around and saturates on the host.

Literals, constants, arguments, fills, elements of host buffers and what kernels print come through here, so
that a number means the same wherever it enters. What kernels compute at run time agrees bit by bit.
"""

from __future__ import annotations

import math
import numbers
import struct
from typing import TYPE_CHECKING, Any

from weft.dtype import DType

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

_CODES = {"float16": "e", "float32": "f", "float64": "d"}


def wrap(dtype: DType, value: bool | int | float) -> bool | int | float:
    """A Python number as ``dtype`` holds it: the one form in which constants of that type are kept.

    An int wraps around in an integer type. A float is cut toward zero there, to the nearest integer that
    the type holds; nan gives 0. In a float type a number is rounded once, to the nearest, ties to even.

    >>> wrap(DType.int8, 171), wrap(DType.int8, 171.0), wrap(DType.float32, 0.1)
    (-85, 127, 0.10000000149011612)
    """
    if dtype.kind == "bool":
        return bool(value)
    if dtype.is_integer:
        if isinstance(value, float):
            if not math.isfinite(value):
                return 0 if value != value else dtype.greatest if value > 0 else dtype.least
            return min(max(int(value), dtype.least), dtype.greatest)
        number = int(value) & ((1 << dtype.bits) - 1)
        return number - (1 << dtype.bits) if number > dtype.greatest else number
    if dtype.bits == 64:
        return _double(value)
    number = value if isinstance(value, float) else _odd(value)
    if dtype.kind == "bfloat":
        return from_bits(dtype, _bfloat16_bits(number))
    code = "<" + _CODES[dtype.name]
    try:
        return struct.unpack(code, struct.pack(code, number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def rounded(dtype: DType, exact: Fraction) -> float:
    """A fraction in a float format, rounded once.

    >>> from fractions import Fraction
    >>> rounded(DType.bfloat16, Fraction(257, 256) + Fraction(1, 2**80))
    1.0078125
    """
    return float(wrap(dtype, _double(exact) if dtype.bits == 64 else _odd(exact)))


def bits_of(dtype: DType, value: bool | int | float) -> int:
    """The bits of a number in a format, as an integer without sign.

    >>> hex(bits_of(DType.bfloat16, 1 + 2**-8 + 2**-30)), bits_of(DType.int8, -1)
    ('0x3f81', 255)
    """
    if dtype.kind == "bfloat":
        return _bfloat16_bits(value if isinstance(value, float) else _odd(value))
    held = wrap(dtype, value)
    if dtype.is_float:
        return int.from_bytes(struct.pack("<" + _CODES[dtype.name], held), "little")
    return int(held) & ((1 << dtype.bits) - 1)


def from_bits(dtype: DType, bits: int) -> bool | int | float:
    """The number that some bits are in a format.

    >>> from_bits(DType.bfloat16, 0x3F81), from_bits(DType.int8, 255)
    (1.0078125, -1)
    """
    if dtype.kind == "bfloat":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    if dtype.is_float:
        return struct.unpack("<" + _CODES[dtype.name], bits.to_bytes(dtype.itemsize, "little"))[0]
    return wrap(dtype, bits)


def pack(dtype: DType, value: object) -> bytes:
    """The bytes of one element, little end first.

    Raises:
        TypeError: the value is no number of this kind (a float is no int; an int is a float).
        OverflowError: an integer that the type does not hold.
    """
    given: Any = value
    whole = hasattr(given, "__index__")
    if dtype.is_float:
        if not whole and not hasattr(given, "__float__"):
            raise TypeError(f"{value!r} is not a number")
        number: int | float = int(given) if isinstance(value, numbers.Integral) else float(given)
    elif dtype.kind == "bool":
        if value not in (0, 1):
            raise TypeError(f"{value!r} is neither True nor False")
        number = bool(value)
    elif not whole:
        raise TypeError(f"{value!r} is not an integer")
    else:
        number = given.__index__()
        if not dtype.least <= number <= dtype.greatest:
            raise OverflowError(f"{value!r} does not fit {dtype}")
    return bits_of(dtype, number).to_bytes(dtype.itemsize, "little")


def unpack(dtype: DType, data: bytes) -> bool | int | float:
    """The value of one element in the first bytes, little end first."""
    return from_bits(dtype, int.from_bytes(data[: dtype.itemsize], "little"))


def bfloat16_bits(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """The bits of the bfloat16 nearest to each number of an array, ties to even."""
    import numpy as np

    if values.dtype.kind == "O":  # ints that no integer of NumPy's holds
        flat = [bits_of(DType.bfloat16, v) for v in values.reshape(-1).tolist()]
        return np.array(flat, np.uint16).reshape(values.shape)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        tail = values & 0x7FF  # more digits than a double has: the last one says that there were others
        odd = (values - tail) | (tail != 0).astype(values.dtype) << 11
        values = np.where(abs(values // 2) >= 1 << 52, odd, values)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        wide = values.astype(np.float64)
        single = wide.astype(np.float32)
        bits = np.ascontiguousarray(single).view(np.uint32).reshape(wide.shape)
        inexact = single.astype(np.float64) != wide
        away = abs(single.astype(np.float64)) > abs(wide)
    narrow = _cut(bits, away.astype(np.uint32), inexact.astype(np.uint32))
    return np.where(np.isnan(wide), bits >> 16 | 0x40, narrow).astype(np.uint16)


def from_bfloat16(bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The numbers that some bits are as bfloat16."""
    import numpy as np

    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bfloat16_bits(number: float) -> int:
    """The same of one number."""
    try:
        single = struct.pack("<f", number)
    except OverflowError:
        return 0xFF80 if number < 0 else 0x7F80
    (nearest,) = struct.unpack("<f", single)
    bits = int.from_bytes(single, "little")
    if number != number:
        return bits >> 16 | 0x40
    return _cut(bits, abs(nearest) > abs(number), nearest != number)


def _cut(bits: Any, away: Any, inexact: Any) -> Any:
    """The upper half of the bits of a float32 that a number was rounded to: away from 0, or at all.

    The float32 is taken toward 0, with a last digit that says whether there were others, lest the number
    be rounded twice.
    """
    bits = (bits - away) | inexact
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _double(exact: float | Fraction) -> float:
    """The nearest double."""
    try:
        return float(exact)
    except OverflowError:
        return -math.inf if exact < 0 else math.inf


def _odd(exact: int | Fraction) -> float:
    """A double that can be rounded again: where it is not exact, the neighbour whose last digit is odd."""
    nearest = _double(exact)
    if not math.isfinite(nearest) or nearest == exact:
        return nearest
    if struct.pack("<d", nearest)[0] & 1:
        return nearest
    return math.nextafter(nearest, math.inf if exact > nearest else -math.inf)
