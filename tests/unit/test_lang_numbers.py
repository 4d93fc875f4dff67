"""Numbers: literals, the types in which operands meet, wrapping, conversions, small floats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from weft import (
    BFloat16,
    Bool,
    CompileError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int16,
    Int32,
    Pointer,
    UInt,
    UInt8,
    UInt16,
    UInt32,
    func,
    kernel,
    struct,
)
from weft.abi.formats import wrap
from weft.compile import compile_info
from weft.dtype import DType
from weft.lang.number import number_class
from weft.math import clamp, fma
from weft.math import max as greatest

FLOATS: list[Any] = [Float16, BFloat16, Float32, Float64]
INTS: list[Any] = [Int8, Int16, Int32, Int, UInt8, UInt16, UInt32, UInt]


# -- literals -------------------------------------------------------------------------------
@func
def sum_from_float(n: Int, x: Any) -> Any:
    acc = 0.0
    for _ in range(n):
        acc += x
    return acc


@func
def sum_from_int(n: Int, x: Any) -> Any:
    acc = 0
    for _ in range(n):
        acc += x
    return acc


@pytest.mark.parametrize("cls", FLOATS)
def test_a_literal_takes_the_type_of_what_it_meets(cls: Any) -> None:
    tenth = cls(0.1)
    wanted = 0.0
    for _ in range(10):
        wanted = wrap(cls.dtype, wanted + tenth.value)
    assert sum_from_float(10, tenth) == wanted
    assert sum_from_int(10, tenth) == wanted


def test_an_integer_literal_takes_the_type_of_what_it_meets() -> None:
    assert sum_from_int(10, Int8(100)) == (1000 + 128) % 256 - 128
    assert sum_from_int(300, UInt8(1)) == 300 % 256
    assert sum_from_int(3, 2) == 6


@func
def literal_or(x: Any) -> Any:
    return 0 if x > 2 else x


@func
def two_literals(x: Any) -> Any:
    return 1.5 if x > 2 else 2


@func
def literal_returns(x: Any) -> Any:
    if x > 10:
        return 0
    if x > 5:
        return 1
    return x


@func
def only_literal_returns(x: Any) -> Any:
    if x > 10:
        return 1
    return 2.5


@func
def literal_in_tuples(x: Any) -> Any:
    if x > 10:
        return 0, (1.5, True)
    if x > 5:
        return x, (0, x > 6)
    return 1, (x * 1.0, False)


@func
def zeros(x: Int) -> Any:
    if x > 3:
        return 0.0
    return -0.0


def test_literals_in_choices_and_returns() -> None:
    assert literal_or(Float32(1.5)) == 1.5
    assert repr(literal_or(Float16(4))) == "0.0"
    assert repr(literal_or(Int(4))) == "0"
    assert (two_literals(3), two_literals(1)) == (1.5, 2.0)
    assert [repr(literal_returns(Float32(v))) for v in (11, 7, 2)] == ["0.0", "1.0", "2.0"]
    assert [repr(literal_returns(v)) for v in (11, 7, 2)] == ["0", "1", "2"]
    assert [repr(only_literal_returns(v)) for v in (11, 2)] == ["1.0", "2.5"]
    assert literal_in_tuples(Float32(11)) == (0.0, (1.5, True))
    assert literal_in_tuples(Float32(7)) == (7.0, (0.0, True))
    assert literal_in_tuples(Float32(1)) == (1.0, (1.0, False))
    assert [repr(zeros(v)) for v in (4, 1)] == ["0.0", "-0.0"]


@func
def float_into_int(x: Int) -> Any:
    if x > 3:
        return 1.5
    return x


@func
def counted_or_float(n: Int) -> Any:
    k = 0
    while k < n:
        k += 1
    if k > 3:
        return 1.5
    return k


def test_a_float_literal_does_not_become_an_integer() -> None:
    with pytest.raises(CompileError, match=r"1\.5 is not an Int"):
        float_into_int(4)
    assert (counted_or_float(2), counted_or_float(5)) == (2.0, 1.5)


@func
def annotated(x: Float32) -> Any:
    double: Float64 = 0.1
    single: Float32 = 0.1
    byte: Int8 = 3
    return double + x, single, byte << 6


@func
def too_large(x: Int8) -> Any:
    return x + 200


@func
def infinite(x: Float32) -> Any:
    return x + 1e39


@func
def infinite_whole(x: Float16) -> Any:
    return x < 65520


@func
def endless(x: Float64) -> Any:
    return x * 10**400


@func
def not_infinite(x: Float16) -> Any:
    return x + 65519.9, x + math.inf, x * 1e-9, Float16(1e39)


@func
def largest(x: UInt8) -> Any:
    return greatest(x, 300)


@func
def clamped(x: Int32) -> Any:
    return clamp(x, 0, 3_000_000_000)


@func
def fused(x: Float16) -> Any:
    return fma(x, 70_000, 1)


@kernel
def at_run_time(x: Pointer[UInt8]):
    x[0] = largest(x[0])


@struct
class Held:
    x: UInt8
    y: Float16


def test_annotated_assignment() -> None:
    assert annotated(0.0) == (0.1, float(np.float32(0.1)), -64)


def test_literals_must_fit() -> None:
    with pytest.raises(CompileError, match="200 does not fit Int8"):
        too_large(1)
    with pytest.raises(CompileError, match=r"1e\+39 is beyond Float32, whose largest is 3\.4\d*e\+38"):
        infinite(0)
    with pytest.raises(CompileError, match="65520 is beyond Float16, whose largest is 65504"):
        infinite_whole(0)
    with pytest.raises(CompileError, match="an integer of 1329 bits is beyond Float64"):
        endless(0)
    for function, text in (
        (largest, "300 does not fit UInt8"),
        (clamped, "3000000000 does not fit Int32"),
        (fused, "70000 is beyond Float16"),
    ):
        with pytest.raises(CompileError, match=text):
            function(1)
    with pytest.raises(CompileError, match="300 does not fit UInt8"):
        compile_info(at_run_time, target="sm_90")
    for values, text in (((300, 1), "300 does not fit UInt8"), ((1, 70000), "70000 is beyond Float16")):
        with pytest.raises(CompileError, match=text):  # on the host as in a kernel
            Held(*values)
    assert not_infinite(0) == (65504.0, math.inf, 0.0, math.inf)


# -- operands that meet ---------------------------------------------------------------------
@func
def add(a: Any, c: Any) -> Any:
    return a + c


@func
def kind_of_sum(a: Any, c: Any) -> Any:
    return (a + c).cast(Float64), width(a + c)


def width(x: Any) -> str:
    return x.dtype.name


MEETINGS = [
    (Int8, Int16, "int16"),
    (Int32, Int, "int64"),
    (UInt8, UInt32, "uint32"),
    (UInt8, Int16, "int16"),
    (UInt32, Int, "int64"),
    (Bool, UInt8, "uint8"),
    (Bool, Float16, "float16"),
    (Bool, Bool, "int64"),
    (Int, Float32, "float32"),
    (UInt, Float16, "float16"),
    (Int8, BFloat16, "bfloat16"),
    (Float16, Float32, "float32"),
    (BFloat16, Float64, "float64"),
    (Float32, Float64, "float64"),
]


@pytest.mark.parametrize(("a", "c", "wanted"), MEETINGS)
def test_operands_meet(a: Any, c: Any, wanted: str) -> None:
    assert kind_of_sum(a(1), c(1)) == (2.0, wanted)
    assert kind_of_sum(c(1), a(1)) == (2.0, wanted)


@pytest.mark.parametrize(
    ("a", "c"),
    [(Int8, UInt8), (Int32, UInt32), (Int, UInt), (Int16, UInt), (Int, UInt16), (Float16, BFloat16)],
)
def test_operands_that_do_not_meet(a: Any, c: Any) -> None:
    if (a, c) == (Int, UInt16):
        assert add(a(1), c(1)) == 2
        return
    with pytest.raises(CompileError, match="meets"):
        add(a(1), c(1))


@func
def bools(a: Bool, c: Bool, n: Int) -> Any:
    return (
        ((a and not c) or n > 3, a & c | (a ^ c), ~a, a + c, a == c, Int(a), n + a),
        (not n, n and a, bool(n), Bool(n), a < c, -n if a else n),
    )


def test_bools() -> None:
    first, second = bools(True, False, 0)
    assert first == (True, True, False, 1, False, 1, 1)
    assert second == (True, False, False, False, False, 0)
    first, second = bools(True, True, 4)
    assert first == (True, True, False, 2, True, 1, 5)
    assert second == (False, True, True, True, False, -4)


# -- wrapping -------------------------------------------------------------------------------
@func
def wrapping(high: Any, low: Any) -> Any:
    return high + 1, low - 1, high * 2, -low, abs(low), low // -1 if low < 0 else low


@pytest.mark.parametrize("cls", INTS)
def test_integers_wrap(cls: Any) -> None:
    bits, signed = cls.dtype.bits, cls.dtype.is_signed
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    negative = wrap(cls.dtype, -low)
    if signed:
        assert wrapping(cls(high), cls(low)) == (low, high, -2, negative, negative, negative)


def test_ints_past_what_python_s_floats_hold() -> None:
    for kind in ("float16", "bfloat16", "float32", "float64"):
        dtype = getattr(DType, kind)
        assert [wrap(dtype, sign * 10**400) for sign in (1, -1)] == [float("inf"), float("-inf")]


@func
def corner_cases(a: Any, zero: Any) -> Any:
    return a // zero, a % zero, a << 100, a >> 100, zero**zero


@pytest.mark.parametrize("cls", INTS)
def test_what_python_refuses_gives_zero(cls: Any) -> None:
    sign = -1 if cls.dtype.is_signed else 0
    value = cls(-5) if cls.dtype.is_signed else cls(5)
    assert corner_cases(value, cls(0)) == (0, 0, 0, sign, 1)


# -- conversions ----------------------------------------------------------------------------
@func
def to_integers(x: Any) -> Any:
    return (
        (Int8(x), Int16(x), Int32(x), Int(x)),
        (UInt8(x), UInt16(x), UInt32(x), UInt(x)),
        Bool(x),
    )


@pytest.mark.parametrize("cls", FLOATS)
@pytest.mark.parametrize("given", [1e10, -1e10, 300.7, -300.7, 0.5, 1e20, math.inf, -math.inf, math.nan])
def test_float_to_integer_saturates(cls: Any, given: float) -> None:
    value = cls(given)
    x = value.value

    def cut(low: int, high: int) -> int:
        if math.isnan(x):
            return 0
        if math.isinf(x):
            return high if x > 0 else low
        return max(low, min(high, int(x)))

    signed = tuple(cut(-(1 << b - 1), (1 << b - 1) - 1) for b in (8, 16, 32, 64))
    unsigned = tuple(cut(0, (1 << b) - 1) for b in (8, 16, 32, 64))
    assert to_integers(value) == (signed, unsigned, x != 0)


@func
def to_floats(x: Any) -> Any:
    return Float16(x), BFloat16(x), Float32(x), Float64(x)


EDGES = [
    *(0.1, -3.14159, 65519.0, 65520.0, 1e30, 1e-8, 6e-8, 3e-8, 1e-41, 5e-324, 3.3e38, 3.4e38),
    *(1.00390625, 1.01171875, 1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40, 2**-14, 2**-24, 2**-25, 2**-133),
    *(math.inf, 0.0, -0.0),
]


@pytest.mark.parametrize("x", EDGES)
def test_floats_round_to_nearest_once(x: float) -> None:
    dtypes = (DType.float16, DType.bfloat16, DType.float32, DType.float64)
    assert [repr(v) for v in to_floats(x)] == [repr(wrap(d, x)) for d in dtypes]
    single = wrap(DType.float32, -x)
    assert [repr(v) for v in to_floats(Float32(single))] == [repr(wrap(d, single)) for d in dtypes]


def test_nan_stays_nan() -> None:
    assert all(math.isnan(v) for v in to_floats(math.nan))


@pytest.mark.parametrize("x", [0, 5, -3, 2**24 + 1, -(2**31), 2**53 + 1, 2**62])
def test_integers_to_floats(x: int) -> None:
    assert to_floats(x)[2:] == (float(np.float32(x)), float(x))
    assert to_floats(x)[0] == wrap(DType.float16, x)


@func
def bits_of(x: Float32) -> Any:
    return x.bitcast(UInt32), x.bitcast(Int32).bitcast(Float32)


def test_bitcast() -> None:
    assert bits_of(1.0) == (0x3F800000, 1.0)


# -- small floats ---------------------------------------------------------------------------
@func
def arithmetic(a: Any, c: Any) -> Any:
    return (a + c, a - c, a * c, a / c, -a, abs(a), a // c, a % c, a**2, min(a, c)), (a < c, Int(a))


@pytest.mark.parametrize("cls", FLOATS)
def test_arithmetic_of_every_float(cls: Any) -> None:
    wanted = ((9.0, 5.0, 14.0, 3.5, -7.0, 7.0, 3.0, 1.0, 49.0, 2.0), (False, 7))
    assert arithmetic(cls(7), cls(2)) == wanted


@func
def subnormal(x: BFloat16) -> Any:
    return x * 0.5, x + x, Float32(x) * Float32(x)


def test_bfloat16_knows_subnormals() -> None:
    least = 2.0**-133
    assert subnormal(2 * least) == (least, 4 * least, 0.0)


# -- constants on the host ------------------------------------------------------------------
def test_constants() -> None:
    assert repr(Int8(200)) == "Int8(-56)"
    assert repr(Float32(0.5) + 1) == "Float32(1.5)"
    assert int(UInt8(255) + 1) == 0
    assert Int(3) == 3
    assert number_class(DType.int64) is Int
    assert repr(Int(7) // 2) == "Int(3)"


def test_divmod_on_the_host_is_pythons() -> None:
    for a, c in ((-7, 3), (7, -2), (0, 5), (-8, -3)):
        assert tuple(map(int, divmod(Int(a), c))) == divmod(a, c)
        assert tuple(map(int, divmod(a, Int(c)))) == divmod(a, c)
    assert tuple(map(float, divmod(Float64(-3.7), 2.5))) == divmod(-3.7, 2.5)
