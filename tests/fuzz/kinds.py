"""The number formats as the model has them: their widths, where two meet, and rounding to them."""

from __future__ import annotations

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
        return {"Bool": np.bool_, "BFloat16": np.uint16}.get(self.name) or np.dtype(self.name.lower()).type

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
KINDS = {kind.name: kind for kind in [BOOL, *INTEGERS, *FLOATS]}
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
    result = math.inf if found >= 1 << kind.most else float(found)
    return kind.number(math.copysign(result, value))


def _to_float(value: Any, kind: Kind) -> Any:
    plain = float(value) if not isinstance(value, int) else 0.0 if value == 0 else None
    if plain is not None and (plain == 0 or not math.isfinite(plain)):
        return kind.number(plain)
    if (kind.bits >= 32 and plain is not None) or (kind.name == "Float16" and plain is not None):
        return kind.number(value)
    return nearest(Fraction(value if plain is None else plain), kind)


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
    if target.is_float and math.isfinite(value) and math.isinf(found):
        return target.number(
            math.copysign((2 - 2.0 ** (1 - target.precision)) * 2.0 ** (target.most - 1), value)
        )
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


def from_bits(kind: Kind, stored: Any) -> Any:
    """An element of memory as the model keeps it."""
    if kind.name == "BFloat16":
        return np.uint32(int(stored) << 16).view(np.float32)
    if kind.is_float:
        return stored
    return bool(stored) if kind is BOOL else int(stored)


def to_storage(kind: Kind, values: list[Any]) -> npt.NDArray[Any]:
    """Numbers of the model as NumPy's array of the elements in memory."""
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
