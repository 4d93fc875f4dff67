"""Conversions to and from short floats on the bits, lane by lane, written in weft."""

from __future__ import annotations

from typing import Any

from weft.abi.formats import SHORT, from_bits, largest_bits
from weft.dtype import DType

_WIDE = {"float32": (DType.uint32, 23, 127), "float64": (DType.uint64, 52, 1023)}
"""The integer of as many bits, digits of the mantissa, and bias of the exponent."""


def narrowed(x: Any, to: DType) -> Any:
    """The bits of a Float32 or Float64 rounded to nearest even, in an unsigned integer of as many bits.

    That is done to the integer that holds the number. Below the normal range, adding a power of two makes the
    processor round to a multiple of the smallest number. What is too large becomes infinite, or nan where the
    format has no infinity; nan stays nan.
    """
    word, mantissa, wide_bias = _WIDE[x.dtype.name]
    digits, bias = SHORT[to.name]
    bits = x.bitcast(word)
    size = bits & ((1 << (word.bits - 1)) - 1)
    shift, beyond = mantissa - digits, largest_bits(to) + 1
    half = (1 << (shift - 1)) - 1 + (size >> shift & 1)
    normal = ((size + half) >> shift) - ((wide_bias - bias) << digits)
    normal = (normal > beyond).select(beyond, normal)
    a = size.bitcast(x.dtype)
    tiny = (a * 2.0 ** (bias - 1 + digits) + 2.0**mantissa).bitcast(word) & ((1 << digits + 1) - 1)
    found = (a < 2.0 ** (1 - bias)).select(tiny, normal)
    found = (a != a).select(beyond | 1 << (digits - 1), found)
    sign = bits >> (word.bits - to.bits) & (1 << (to.bits - 1))
    return (found | sign).cast(DType.uint8 if to.bits == 8 else DType.uint16)


def widened(bits: Any, source: DType) -> Any:
    """The Float32 that is the number of 8 bits, by way of a half with the same digits."""
    digits, bias = SHORT[source.name]
    word = bits.cast(DType.uint16)
    half = ((word & 0x7F) << (10 - digits) | (word & 0x80) << 8).bitcast(DType.float16)
    number = half.cast(DType.float32) * 2.0 ** (15 - bias)
    largest = largest_bits(source)
    if from_bits(source, largest + 1) == float("inf"):  # which a half has at the same place
        return number
    return (word & 0x7F > largest).select(float("nan"), number)
