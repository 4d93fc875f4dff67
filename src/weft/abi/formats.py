"""Numbers as the formats hold them: the one place that rounds, wraps around and saturates on the host.

Literals, constants, arguments, fills, elements of host buffers and what kernels print come through here, so
that a number means the same wherever it enters. What kernels compute at run time agrees bit by bit.
"""

from __future__ import annotations

import functools
import math
import numbers
import struct
from typing import TYPE_CHECKING, Any

from weft.diagnostics import in_digits
from weft.dtype import DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

_CODES = {"float16": "e", "float32": "f", "float64": "d"}
_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}
SHORT = {"float8_e4m3fn": (3, 7), "float8_e5m2": (2, 15), "float16": (10, 15), "bfloat16": (7, 127)}
"""Of short floats the digits of the mantissa, and the bias of the exponent."""


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
    if not dtype.in_numpy:
        return from_bits(dtype, _short_bits(dtype, number))
    code = "<" + _CODES[dtype.name]
    try:
        return struct.unpack(code, struct.pack(code, number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def overflows(dtype: DType, number: float) -> bool:
    """Whether a finite number is rounded to infinity by a float format, or to the nan of one without that.

    >>> overflows(DType.float16, 65519.0), overflows(DType.float16, 65520), overflows(DType.float16, math.inf)
    (False, True, False)
    """
    if not dtype.is_float or abs(number) <= limits(dtype)[1]:
        return False
    finite = not isinstance(number, float) or math.isfinite(number)
    return finite and not math.isfinite(wrap(dtype, number))


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
    if not dtype.in_numpy:
        return _short_bits(dtype, value if isinstance(value, float) else _odd(value))
    held = wrap(dtype, value)
    if dtype.is_float:
        return int.from_bytes(struct.pack("<" + _CODES[dtype.name], held), "little")
    return int(held) & ((1 << dtype.bits) - 1)


def from_bits(dtype: DType, bits: int) -> bool | int | float:
    """The number that some bits are in a format.

    >>> from_bits(DType.bfloat16, 0x3F81), from_bits(DType.int8, 255)
    (1.0078125, -1)
    """
    if not dtype.in_numpy:
        return _short(dtype, bits)
    if dtype.is_float:
        return struct.unpack("<" + _CODES[dtype.name], bits.to_bytes(dtype.itemsize, "little"))[0]
    return wrap(dtype, bits)


def pack(dtype: DType, value: object) -> bytes:
    """The bytes of one element, little end first.

    Raises:
        TypeError: the value is no number of this kind (a float is no int; an int is a float).
        OverflowError: an integer that the type does not hold, or a finite number that would be infinite.
    """
    given: Any = value
    whole = hasattr(given, "__index__")
    if dtype.is_float:
        if not whole and not hasattr(given, "__float__"):
            raise TypeError(f"{value!r} is not a number")
        number: int | float = int(given) if isinstance(value, numbers.Integral) else float(given)
        if overflows(dtype, number):
            raise OverflowError(f"{dtype} ends at {limits(dtype)[1]!r}")
    elif dtype.kind == "bool":
        if value not in (0, 1):
            raise TypeError(f"{value!r} is neither True nor False")
        number = bool(value)
    elif not whole:
        raise TypeError(f"{value!r} is not an integer")
    else:
        number = given.__index__()
        if not dtype.least <= number <= dtype.greatest:
            raise OverflowError(f"{in_digits(number)} does not fit {dtype}")
    return bits_of(dtype, number).to_bytes(dtype.itemsize, "little")


def packed(dtype: DType, values: Sequence[bool | int | float]) -> bytes:
    """The bytes of many numbers, each rounded or wrapped around as alone.

    >>> packed(DType.int16, [1, -1, 70000]).hex()
    '0100ffff7011'
    """
    kind, code = float, _CODES.get(dtype.name)
    if dtype.is_integer:
        code = _INTEGERS[dtype.bits]
        kind, code = int, code if dtype.least else code.upper()
    if code is not None and all(type(value) is kind for value in values):
        try:
            return struct.pack(f"<{len(values)}{code}", *values)
        except (OverflowError, struct.error):  # one that the type does not hold as it is
            pass
    return b"".join([bits_of(dtype, value).to_bytes(dtype.itemsize, "little") for value in values])


def unpack(dtype: DType, data: bytes) -> bool | int | float:
    """The value of one element in the first bytes, little end first."""
    return from_bits(dtype, int.from_bytes(data[: dtype.itemsize], "little"))


def short_bits(dtype: DType, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The bits of the bfloat16 or float8 nearest to each number of an array, ties to even."""
    import numpy as np

    word = np.uint8 if dtype.bits == 8 else np.uint16
    if values.dtype.kind == "O":  # ints that no integer of NumPy's holds
        flat = [bits_of(dtype, v) for v in values.reshape(-1).tolist()]
        return np.array(flat, word).reshape(values.shape)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        tail = values & 0x7FF  # more digits than a double has: the last one says that there were others
        odd = (values - tail) | (tail != 0).astype(values.dtype) << 11
        values = np.where(abs(values // 2) >= 1 << 52, odd, values)
    (digits, bias), beyond = SHORT[dtype.name], largest_bits(dtype) + 1
    with np.errstate(invalid="ignore", over="ignore"):
        wide = values.astype(np.float64)
        size = np.abs(wide)
        exponent = np.maximum(np.where(size > 0, np.frexp(size)[1] - 1, 1 - bias), 1 - bias)
        found = np.rint(np.ldexp(size, digits - exponent)) + np.ldexp(exponent + bias - 1.0, digits)
        found = np.where(np.isnan(wide), beyond | 1 << digits - 1, np.fmin(found, beyond))
    return found.astype(word) | np.signbit(wide).astype(word) << word(dtype.bits - 1)


def from_short_bits(dtype: DType, bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The numbers that some bits are as bfloat16 or float8."""
    import numpy as np

    if dtype.bits == 8:
        return np.array([from_bits(dtype, n) for n in range(256)], np.float32)[bits]
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def elements_of(dtype: DType, value: object) -> Any:
    """Numbers as memory of a type has them in NumPy, where short floats are bits."""
    if not dtype.is_number or dtype.in_numpy:
        return value
    import numpy as np

    array = np.asarray(value)
    return short_bits(dtype, array if array.dtype.kind in "biufO" else np.asarray(value, np.float64))


def numbers_of(dtype: DType, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The other way round."""
    return elements if not dtype.is_number or dtype.in_numpy else from_short_bits(dtype, elements)


def largest_bits(dtype: DType) -> int:
    """The bits of the largest finite number of a short float; the next are infinity's, or nan's.

    >>> from_bits(DType.float8_e4m3fn, largest_bits(DType.float8_e4m3fn))
    448.0
    """
    digits, _ = SHORT[dtype.name]
    top = (1 << dtype.bits - 1) - 1
    return top - 1 if dtype.name.endswith("fn") else top - (1 << digits)


@functools.cache
def limits(dtype: DType) -> tuple[int | float, int | float]:
    """The least and the greatest finite number that a format holds.

    >>> limits(DType.int8), limits(DType.float8_e5m2)
    ((-128, 127), (-57344.0, 57344.0))
    """
    if not dtype.is_float:
        return dtype.least, dtype.greatest
    known = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
    most = known.get(dtype.name) or float(from_bits(dtype, largest_bits(dtype)))
    return -most, most


def _short_bits(dtype: DType, number: float) -> int:
    """The bits of the nearest short float, ties to even."""
    digits, bias = SHORT[dtype.name]
    beyond, sign = largest_bits(dtype) + 1, (math.copysign(1.0, number) < 0) << dtype.bits - 1
    if number != number:
        return sign | beyond | 1 << digits - 1
    if math.isinf(number):
        return sign | beyond
    exponent = max(math.frexp(number)[1] - 1, 1 - bias) if number else 1 - bias
    found = round(math.ldexp(abs(number), digits - exponent)) + (exponent + bias - 1 << digits)
    return sign | min(found, beyond)


def _short(dtype: DType, bits: int) -> float:
    """The number that some bits are as a short float."""
    digits, bias = SHORT[dtype.name]
    size, beyond = bits & (1 << dtype.bits - 1) - 1, largest_bits(dtype) + 1
    exponent, mantissa = size >> digits, size & (1 << digits) - 1
    if size >= beyond:
        found = math.nan if size > beyond or dtype.name.endswith("fn") else math.inf
    else:
        found = math.ldexp(mantissa + (bool(exponent) << digits), max(exponent, 1) - bias - digits)
    return math.copysign(found, -1.0 if bits >> dtype.bits - 1 else 1.0)


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
