"""The number formats as the model has them: their widths, where two meet, and rounding to them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BOOL",
    "FLOATS",
    "INT",
    "INTEGERS",
    "KINDS",
    "STORED",
    "Kind",
    "convert",
    "from_bits",
    "literal",
    "meet",
    "nearest",
    "saturated",
]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A number format. ``precision`` and ``least`` (the exponent of its smallest number) are a float's."""

    name: str
    bits: int
    family: str
    precision: int = 0
    least: int = 0
    most: int = 0

    @property
    def is_float(self) -> bool:
        return self.family == "float"

    @property
    def is_integer(self) -> bool:
        return self.family in ("int", "uint")

    @property
    def signed(self) -> bool:
        return self.family == "int"

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.family == "int" else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - (self.family == "int")) - 1

    @property
    def storage(self) -> Any:
        """NumPy's type of its elements in memory; bfloat16 is kept as its bits."""
        if self.is_float and self.bits == 8:
            return np.uint8
        return {"Bool": np.bool_, "BFloat16": np.uint16}.get(self.name) or np.dtype(self.name.lower()).type

    @property
    def largest(self) -> float:
        """The greatest finite number of a float format."""
        ones = 2.0 ** (1 - self.precision) * (2 if self.name == "Float8_e4m3fn" else 1)
        return (2 - ones) * 2.0 ** (self.most - 1)

    def wrap(self, value: int) -> int:
        """An integer, cut to the width."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.family == "int" and value >> self.bits - 1 else value

    def number(self, value: Any) -> Any:
        """A float that the format holds, as the model keeps it: NumPy's scalar of the width."""
        if self.bits == 64:
            return np.float64(value)
        return np.float16(value) if self.name == "Float16" else np.float32(value)


BOOL = Kind("Bool", 1, "bool")
INTEGERS = [Kind(f"{'U' * (f == 'uint')}Int{n}", n, f) for f in ("int", "uint") for n in (8, 16, 32, 64)]
FLOATS = [
    Kind("Float16", 16, "float", 11, -24, 16),
    Kind("BFloat16", 16, "float", 8, -133, 128),
    Kind("Float32", 32, "float", 24, -149, 128),
    Kind("Float64", 64, "float", 53, -1074, 1024),
]
STORED = [
    Kind("Float8_e4m3fn", 8, "float", 4, -9, 9),
    Kind("Float8_e5m2", 8, "float", 3, -16, 16),
]
"""Formats that memory holds and nothing computes with; the first has no infinity."""
KINDS = {kind.name: kind for kind in [BOOL, *INTEGERS, *FLOATS, *STORED]}
INT = KINDS["Int64"]


def meet(a: Kind, c: Kind) -> Kind | None:
    """The format in which two meet, as the guide says."""
    if a is c or c is BOOL:
        return a
    if a is BOOL:
        return c
    if a.is_float != c.is_float:
        return a if a.is_float else c
    if a.is_float:
        return None if a.bits == c.bits else a if a.bits > c.bits else c
    if a.family == c.family:
        return a if a.bits > c.bits else c
    signed, unsigned = (a, c) if a.signed else (c, a)
    return signed if signed.bits > unsigned.bits else None


def nearest(value: Fraction, kind: Kind) -> Any:
    """An exact number (not zero) rounded once to a float format, ties to even."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    step = Fraction(2) ** max(exponent - kind.precision + 1, kind.least)
    found = round(size / step) * step
    result = beyond(kind) if found > kind.largest else float(found)
    return kind.number(result if value > 0 else -result)  # the value may be past what a float holds


def _nearest_of(value: float, kind: Kind) -> Any:
    """The same of a float, in a fifth of the time: powers of two change no digits."""
    size = min(abs(value), 2 * kind.largest)
    step = max(math.frexp(size)[1] - kind.precision, kind.least)
    found = math.ldexp(round(math.ldexp(size, -step)), step)
    return kind.number(math.copysign(beyond(kind) if found > kind.largest else found, value))


def beyond(kind: Kind) -> float:
    """What is too large for a float format."""
    return math.nan if kind.name == "Float8_e4m3fn" else math.inf


def _to_float(value: Any, kind: Kind) -> Any:
    plain = float(value) if not isinstance(value, int) else 0.0 if value == 0 else None
    if plain is not None and (plain == 0 or not math.isfinite(plain)):
        return kind.number(math.copysign(beyond(kind), plain) if math.isinf(plain) else plain)
    if (kind.bits >= 32 and plain is not None) or (kind.name == "Float16" and plain is not None):
        return kind.number(value)
    return nearest(Fraction(value), kind) if plain is None else _nearest_of(plain, kind)


def convert(value: Any, source: Kind, target: Kind) -> Any:
    """A number of one format as another: integers wrap, floats round, a float becomes an integer toward zero,
    at the ends of the range by the nearest, and nan becomes 0.
    """
    if source is target:
        return value
    if target is BOOL:
        return bool(value != 0)
    if target.is_float:
        return _to_float(int(value) if not source.is_float else value, target)
    if not source.is_float:
        return target.wrap(int(value))
    plain = float(value)
    if math.isnan(plain):
        return 0
    if math.isinf(plain):
        return target.high if plain > 0 else target.low
    return min(max(int(plain), target.low), target.high)


def saturated(value: Any, source: Kind, target: Kind) -> Any:
    """Likewise, but the nearest that the format holds where it is finite."""
    found = convert(value, source, target)
    if (
        target.is_float
        and not math.isnan(value)
        and (math.isnan(found) or math.isinf(found) > math.isinf(value))
    ):
        return target.number(math.copysign(target.largest, value))
    if target.is_integer and source.is_integer:
        return min(max(value, target.low), target.high)
    return found


def literal(value: bool | int | float, kind: Kind) -> Any:
    """A literal as the format holds it."""
    if kind is BOOL:
        return bool(value)
    if kind.is_float:
        return _to_float(int(value) if isinstance(value, int) else value, kind)
    if isinstance(value, float):
        return convert(np.float64(value), KINDS["Float64"], kind)
    return kind.wrap(int(value))


@functools.cache
def _eighth(kind: Kind) -> list[Any]:
    """The numbers of a float of 8 bits, in the order of their bits."""
    digits, found = kind.precision - 1, list[float]()
    for bits in range(128):
        power, part = bits >> digits, bits & (1 << digits) - 1
        value = math.ldexp(part + (1 << digits) * (power > 0), kind.least + max(power - 1, 0))
        special = value > kind.largest
        found.append((math.inf if kind is STORED[1] and not part else math.nan) if special else value)
    return [np.float32(value) for value in (*found, *(-value for value in found))]


@functools.cache
def _places(kind: Kind) -> dict[bytes, int]:
    return {value.tobytes(): bits for bits, value in enumerate(_eighth(kind)) if value == value}


def from_bits(kind: Kind, stored: Any) -> Any:
    """An element of memory as the model keeps it."""
    if kind.name == "BFloat16":
        return np.uint32(int(stored) << 16).view(np.float32)
    if kind in STORED:
        return _eighth(kind)[int(stored)]
    if kind.is_float:
        return stored
    return bool(stored) if kind is BOOL else int(stored)


def to_storage(kind: Kind, values: list[Any]) -> npt.NDArray[Any]:
    """Numbers of the model as NumPy's array of the elements in memory."""
    if kind in STORED:
        return np.array([_places(kind).get(np.float32(v).tobytes(), 127) for v in values], np.uint8)
    if kind.name == "BFloat16":
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.array(values, kind.storage)


def bits_of(kind: Kind, value: Any) -> int:
    """The bits of a number."""
    if kind.is_float:
        stored = to_storage(kind, [value])
        return int(stored.view(f"uint{kind.bits}")[0])
    return int(value) & ((1 << kind.bits) - 1)


def of_bits(kind: Kind, bits: int) -> Any:
    """The number that has these bits."""
    if kind.is_float:
        return from_bits(kind, np.array([bits], f"uint{kind.bits}").view(kind.storage)[0])
    return bool(bits) if kind is BOOL else kind.wrap(bits)
