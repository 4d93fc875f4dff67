"""What differs between Float32 and Float64: widths, limits and tables."""

from __future__ import annotations

from typing import Any

from weft.dtype import DType
from weft.math import tables as t
from weft.record import record

Table = tuple[float, ...]


@record
class Format:
    """One of the two formats; ``Table`` fields are those of ``weft.math.tables``."""

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
    ln2: Table
    log2e: Table
    log10e: Table
    log10_2: Table
    two_thirds: Table
    pi_2: Table
    inv_pi_2: Table
    inv_pi_2_words: tuple[int, ...]
    """The bits of 2/pi that an angle just above ``trig_limit`` needs first."""
    exp: Table
    exp2: Table
    log_s5: Table
    sin: Table
    cos: Table
    tan: Table
    asin: Table
    atan: Table
    sinh: Table
    tanh: Table
    erf: Table
    erf_tail: Table
    erfc: Table


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
    ln2=t.LN2_F32,
    log2e=t.LOG2E_F32,
    log10e=t.LOG10E_F32,
    log10_2=t.LOG10_2_F32,
    two_thirds=t.TWO_THIRDS_F32,
    pi_2=t.PI_2_F32,
    inv_pi_2=t.INV_PI_2_F32,
    inv_pi_2_words=t.INV_PI_2_WORDS_F32,
    exp=t.EXP_F32,
    exp2=t.EXP2_F32,
    log_s5=t.LOG_S5_F32,
    sin=t.SIN_F32,
    cos=t.COS_F32,
    tan=t.TAN_F32,
    asin=t.ASIN_F32,
    atan=t.ATAN_F32,
    sinh=t.SINH_F32,
    tanh=t.TANH_F32,
    erf=t.ERF_F32,
    erf_tail=t.ERF_TAIL_F32,
    erfc=t.ERFC_F32,
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
    ln2=t.LN2_F64,
    log2e=t.LOG2E_F64,
    log10e=t.LOG10E_F64,
    log10_2=t.LOG10_2_F64,
    two_thirds=t.TWO_THIRDS_F64,
    pi_2=t.PI_2_F64,
    inv_pi_2=t.INV_PI_2_F64,
    inv_pi_2_words=t.INV_PI_2_WORDS_F64,
    exp=t.EXP_F64,
    exp2=t.EXP2_F64,
    log_s5=t.LOG_S5_F64,
    sin=t.SIN_F64,
    cos=t.COS_F64,
    tan=t.TAN_F64,
    asin=t.ASIN_F64,
    atan=t.ATAN_F64,
    sinh=t.SINH_F64,
    tanh=t.TANH_F64,
    erf=t.ERF_F64,
    erf_tail=t.ERF_TAIL_F64,
    erfc=t.ERFC_F64,
)


def format_of(x: Any) -> Format:
    """The format of a Float32 or Float64."""
    dtype: DType = x.dtype
    return F32 if dtype.bits == 32 else F64
