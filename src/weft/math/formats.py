"""What differs between Float32 and Float64: widths, limits and tables."""

from __future__ import annotations

from typing import Any

from weft.dtype import DType
from weft.math import tables
from weft.record import record


@record
class Format:
    """One of the two formats."""

    bits: int
    mantissa: int
    """Bits behind the point."""
    bias: int
    magic: float
    """Adding it rounds to an integer, which then stands in the low bits."""
    magic_bits: int
    root_bits: int
    """Of the square root of 1/2."""
    sign_bit: int
    """As a signed integer."""
    tiny: float
    """The smallest normal number."""
    exp_range: tuple[float, float]
    """Outside of it, exp is 0 or infinite."""
    exp2_range: tuple[float, float]
    expm1_low: float
    """Below it, expm1 is -1."""
    erf_high: float
    """From it on, erf is 1."""
    erfc_high: float
    """From it on, erfc is 0."""
    erfc_centre: float
    trig_limit: float
    """Up to it, three parts of pi/2 reduce an angle exactly enough."""
    power_limit: float
    """An exponent so large that its power of any number but 1 is 0 or infinite."""

    def __getattr__(self, name: str) -> tuple[Any, ...]:
        """The table of that name, which ``weft.math.tables`` writes in capitals."""
        try:
            return getattr(tables, name.upper())[self.bits]
        except (AttributeError, KeyError):
            raise AttributeError(f"{name} of Float{self.bits}") from None


F32 = Format(
    bits=32,
    mantissa=23,
    bias=127,
    magic=1.5 * 2.0**23,
    magic_bits=0x4B400000,
    root_bits=0x3F3504F3,
    sign_bit=-(2**31),
    tiny=2.0**-126,
    exp_range=(-104.0, 89.0),
    exp2_range=(-151.0, 129.0),
    expm1_low=-20.0,
    erf_high=3.92,
    erfc_high=10.1,
    erfc_centre=2.0,
    trig_limit=2.0**17,
    power_limit=2.0**33,
)

F64 = Format(
    bits=64,
    mantissa=52,
    bias=1023,
    magic=1.5 * 2.0**52,
    magic_bits=0x4338000000000000,
    root_bits=0x3FE6A09E667F3BCD,
    sign_bit=-(2**63),
    tiny=2.0**-1022,
    exp_range=(-746.0, 710.0),
    exp2_range=(-1076.0, 1025.0),
    expm1_low=-40.0,
    erf_high=5.93,
    erfc_high=27.5,
    erfc_centre=4.0,
    trig_limit=2.0**30,
    power_limit=2.0**66,
)


def format_of(x: Any) -> Format:
    """The format of a Float32 or Float64."""
    dtype: DType = x.dtype
    return F32 if dtype.bits == 32 else F64
