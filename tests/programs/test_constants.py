"""Constants mean what run-time values mean: on the host, while compiling and at run time the same bits.

What they are is NumPy's; of BFloat16, which NumPy lacks, exact arithmetic rounded once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support import exact

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
)
from weft import (
    math as weft_math,
)
from weft.abi.formats import bits_of, from_bits
from weft.dtype import DType
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang import iota
from weft.lang.number import Number

FLOATS: list[Any] = [Float16, BFloat16, Float32, Float64]
INTS: list[Any] = [Int8, Int16, Int32, Int, UInt8, UInt16, UInt32, UInt]
TYPES: list[Any] = [Bool, *INTS, *FLOATS]

NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    7.0,
    -7.0,
    1 / 3,
    171.0,
    -129.5,
    255.5,
    65504.0,
    65520.0,
]
HUGE = [
    2.0**31,
    2.0**32,
    2.0**63,
    -(2.0**63),
    2.0**64,
    1e10,
    -1e10,
    1e20,
    1e39,
    math.inf,
    -math.inf,
    math.nan,
]
TINY = [2.0**-14, 2.0**-24, 2.0**-126, 2.0**-133, 2.0**-149, 1e-40, 5e-324, 1 + 2.0**-7, 1 + 2.0**-10]


def same(a: Any, c: Any) -> bool:
    """Whether two numbers are the same, nan and the sign of zeros included."""
    if isinstance(a, float) or isinstance(c, float):
        return repr(float(a)) == repr(float(c))
    return a == c


def samples(cls: Any, count: int, draw: random.Random) -> list[Any]:
    """Numbers of a type: the edges, and others by their bits."""
    d: DType = cls.dtype
    if d.kind == "bool":
        return [False, True]
    if d.is_float:
        edges = [cls(v).value for v in (*NUMBERS, *HUGE, *TINY)]
    else:
        edges = [d.least, d.least + 1, d.greatest, d.greatest - 1, d.greatest // 2, 0, 1, 2, 3, 7, d.bits - 1]
        edges += [d.bits, *([-1, -2, -7] if d.is_signed else [])]
        edges += [(1 << n) + e for n in (8, 11, 24, 25, 53, 60) for e in (-1, 0, 1) if n < d.bits - 1]
    edges += [from_bits(d, draw.getrandbits(d.bits)) for _ in range(count)]
    return edges


def constants(found: Any) -> list[Any]:
    """The Python numbers of results, which must be known."""
    assert all(isinstance(v, Number) and isinstance(v.value, (bool, int, float)) for v in found)
    return [v.value for v in found]


def converted(x: Any) -> tuple[Any, ...]:
    return tuple(cls(x) for cls in TYPES)


def _cast(cls: Any, value: Any) -> Any:
    """A conversion by exact arithmetic."""
    d: DType = cls.dtype
    if d.kind == "bool":
        return value != 0
    if d.is_float:
        if isinstance(value, int):
            return exact.nearest(d.name, Fraction(value))
        return exact.nearest(d.name, value)
    return (
        exact.cut(d.bits, d.is_signed, value)
        if isinstance(value, float)
        else exact.whole(d.bits, d.is_signed, value)
    )


@pytest.mark.parametrize("source", TYPES)
def test_conversions(source: Any) -> None:
    @func
    def run(x: Any) -> Any:
        return converted(x)

    for value in samples(source, 20, random.Random(source.__name__)):
        wanted = [_cast(cls, value) for cls in TYPES]
        assert all(map(same, run(source(value)), wanted)), (value, run(source(value)), wanted)
        assert all(map(same, constants(converted(source(value))), wanted)), (value, wanted)


def test_literals_convert_as_their_values_do() -> None:
    for value in (171.0, -129.5, 1e10, -1e30, 255.9, -0.5, 2.0**63):
        assert all(map(same, constants(converted(value)), [_cast(cls, value) for cls in TYPES]))
    assert (Int8(300).value, UInt8(-1).value, Int32(True).value) == (44, 255, 1)
    with pytest.raises(CompileError, match="inf is not an integer"):
        Int32(math.inf)


def arithmetic(a: Any, c: Any) -> tuple[Any, ...]:
    found = [a + c, a - c, a * c, a // c, a % c, a < c, a <= c, a == c, a != c, a >= c, a > c]
    if (a + c).dtype.is_float:
        return (*found, a / c, weft_math.min(a, c), weft_math.max(a, c), a**c)
    return (*found, a & c, a | c, a ^ c, a << c, a >> c, a ** (c & 15))


def unary(a: Any) -> tuple[Any, ...]:
    if a.dtype.is_float:
        roundings = [f(a) for f in (weft_math.floor, weft_math.ceil, weft_math.trunc, weft_math.round)]
        wide = a.dtype.bits == 64
        bits = a.bitcast({16: UInt16, 32: UInt32, 64: UInt}[a.dtype.bits])
        more = [
            weft_math.sqrt(a),
            weft_math.exp(a),
            weft_math.sin(a),
            a**3,
            a**-2,
            a * 0.1,
            1 / a,
            a > 0.1,
        ]
        return (-a, abs(a), *roundings, *more, a.fma(a, 0.1), Float32(a) if not wide else a, bits)
    return -a, abs(a), ~a, a**3, a // 3, a % 5, a << 3, a >> 100, a // (-1 if a.dtype.is_signed else 1)


def _meet(a: Any, c: Any) -> bool:
    try:
        return a(1) + c(1) is not None
    except CompileError:
        return False


def _pairs() -> list[tuple[Any, Any]]:
    mixed = [(a, c) for a in TYPES for c in TYPES if a is not c and _meet(a, c)]
    return [*((cls, cls) for cls in TYPES[1:]), *random.Random(6).sample(mixed, 8)]


@pytest.mark.parametrize(("a", "c"), _pairs())
def test_operators(a: Any, c: Any) -> None:
    @func
    def run(x: Any, y: Any) -> Any:
        return arithmetic(x, y)

    draw = random.Random(f"{a.__name__} {c.__name__}")
    xs, ys = samples(a, 30, draw), samples(c, 30, draw)
    for _ in range(60):
        x, y = draw.choice(xs), draw.choice(ys)
        host = constants(arithmetic(a(x), c(y)))
        assert all(map(same, run(a(x), c(y)), host)), (x, y, run(a(x), c(y)), host)
        if a is c:
            _as_numpy(a, x, y, host)


def _as_numpy(cls: Any, x: Any, y: Any, found: list[Any]) -> None:
    d: DType = cls.dtype
    kind: Any = np.dtype("float32" if d.kind == "bfloat" else d.name).type
    a, c = kind(x), kind(y)
    operators: list[Callable[[], Any]] = [
        lambda: a + c,
        lambda: a - c,
        lambda: a * c,
        lambda: a // c,
        lambda: a % c,
    ]
    with np.errstate(all="ignore"):
        wanted = [f().item() for f in operators]
        quotient = (a / c).item() if d.is_float else 0
    if d.kind == "bfloat":
        wanted, quotient = [exact.nearest(d.name, v) for v in wanted], exact.nearest(d.name, quotient)
    wanted += [x < y, x <= y, x == y, x != y, x >= y, x > y]
    if d.is_float:
        wanted.append(quotient)
    else:
        wanted += [x & y, x | y, x ^ y, np.left_shift(a, c).item(), np.right_shift(a, c).item()]
        wanted.append(exact.whole(d.bits, d.is_signed, pow(x, y & 15, 1 << d.bits)))
    assert all(map(same, found, wanted)), (cls, x, y, found, wanted)


@pytest.mark.parametrize("cls", TYPES[1:])
def test_operators_of_one_number(cls: Any) -> None:
    @func
    def run(x: Any) -> Any:
        return round(x), bool(x), *unary(x)

    for value in samples(cls, 15, random.Random(cls.__name__)):
        x = cls(value)
        host = constants((round(x), Bool(x), *unary(x)))
        last = -1 if value != value else None  # the bits of nan are its own
        assert all(map(same, run(x)[:last], host[:last])), (value, run(x), host)


inside: list[Any] = []


def evaluate(cls: Any, values: list[Any]) -> int:
    inside[:] = [[*constants(arithmetic(cls(x), cls(y))), *constants(unary(cls(x)))] for x, y in values]
    return 0


@pytest.mark.parametrize("cls", TYPES[1:])
def test_constants_in_compiled_code_are_those_of_the_host(cls: Any) -> None:
    draw = random.Random(cls.__name__)
    every = samples(cls, 10, draw)
    values = [(draw.choice(every), draw.choice(every)) for _ in range(20)]

    @func
    def compiled() -> Any:
        return evaluate(cls, values)

    assert compiled() == 0
    found = list(inside)
    evaluate(cls, values)
    assert len(found) == 20
    assert all(all(map(same, one, other)) for one, other in zip(found, inside, strict=True))


@func
def divided(x: Int16) -> Any:
    wide = UInt16(62976).bitcast(Int16)
    return x // wide, x % wide, x // UInt16(0xFFFF).bitcast(Int16), x % UInt16(0x8000).bitcast(Int16)


@func
def divided_unsigned(x: UInt8) -> Any:
    gone = x >> Int8(-1).bitcast(UInt8)  # weft: ignore[shift-width]
    return x // Int8(-3).bitcast(UInt8), x % Int8(-128).bitcast(UInt8), gone


def test_a_constant_read_as_another_format() -> None:
    assert divided(100) == (-1, 100 - 2560, -100, 100 - 32768)
    assert divided_unsigned(255) == (255 // 253, 255 % 128, 0)
    assert Float32(1.0).bitcast(UInt32).value == 0x3F800000
    assert Int16(-1).bitcast(BFloat16).value != Int16(-1).bitcast(BFloat16).value
    for bits in range(0, 65536, 31):
        value = UInt16(bits).bitcast(BFloat16)
        assert math.isnan(value.value) or bits_of(DType.bfloat16, value.value) == bits


def test_host_numbers_compute_in_their_own_format() -> None:
    assert (Float32(5) * 0.02).value == float(np.float32(5) * np.float32(0.02))
    assert (Float16(5) * 0.02).value == float(np.float16(5) * np.float16(0.02))
    assert (Float32(1) / 3 * 3 - 1).value == float(
        np.float32(1) / np.float32(3) * np.float32(3) - np.float32(1)
    )
    assert bool(Float32(0.1) == 0.1)
    assert (Int(7) // 0).value == 0
    assert (Float32(1) / 0).value == math.inf
    assert not bool(Int8(5) == 300)
    assert bool(UInt8(5) != -1)
    assert bool(Int32(-1) < UInt32(1))
    assert not bool(Int32(3) == 3.5)


@func
def extremes(x: Int) -> Any:
    least = min(UInt32(4), UInt32(1))
    if min(Int(3), Int(5)) > 4:
        least = UInt32(100)
    return (
        least,
        max(Int8(3), Int32(300), 7),
        min(x, 3),
        max(Float32(0.5), 0.25),
        min(UInt8(200), 7) + UInt8(100),
    )


def test_min_and_max_of_constants() -> None:
    assert extremes(9) == (1, 300, 3, 0.5, 107)


@func
def chosen(x: Int) -> Any:
    yes = Bool(True)
    return (
        yes.select(Int8(100), Int(1)) + 100,
        (~yes).select(Float32(1), 0.1),
        yes.select(Int8(3), x),
        yes.select(x, 1),
    )


def test_a_known_mask_gives_the_type_that_any_mask_gives() -> None:
    assert chosen(5) == (200, float(np.float32(0.1)), 3, 5)


@func
def counted(start: Int) -> Any:
    return (
        iota(BFloat16, 512)[Int(257) + start],
        iota(BFloat16, 512)[Int(259) + start],
        iota(Int8, 512)[Int(300) + start],
        iota(UInt8, 512)[Int(300) + start],
    )


def test_lanes_that_count_past_what_the_type_holds() -> None:
    assert counted(0) == (256.0, 260.0, 44, 44)


def _fused(name: str, a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    if not math.isfinite(c):
        return c
    value = Fraction(a) * Fraction(b) + Fraction(c)
    return exact.nearest(name, value) if value else float(np.float64(a) * np.float64(b) + np.float64(c))


@pytest.mark.parametrize("cls", FLOATS)
def test_fma_is_rounded_once(cls: Any) -> None:
    @func
    def run(a: Any, b: Any, c: Any) -> Any:
        return a.fma(b, c), weft_math.fma(a, b, c)

    draw = random.Random(cls.__name__)
    every = samples(cls, 60, draw)
    close = [
        cls(v).value
        for v in (1 + 2.0**-4, 1 + 2.0**-5, 1 + 2.0**-6, 1 + 2.0**-7, 2.0**-100, -(2.0**-120), 2.0**-24)
    ]
    with np.errstate(all="ignore"):
        for _ in range(200):
            a, b, c = (draw.choice(draw.choice([every, close])) for _ in range(3))
            wanted = _fused(cls.dtype.name, a, b, c)
            found = [*run(cls(a), cls(b), cls(c)), cls(a).fma(cls(b), cls(c)).value]
            assert all(same(v, wanted) for v in found), (a, b, c, found, wanted)


def test_every_bfloat16() -> None:
    """Unary operations and conversions of all 65536, subnormal ones included."""

    @kernel
    def every(
        x: Pointer[BFloat16], y: Pointer[BFloat16], ints: Pointer[Int32], singles: Pointer[Float32]
    ) -> None:
        i = global_idx.x
        v = x[i]
        y[i] = -v
        y[i + 65536] = abs(v)
        y[i + 2 * 65536] = BFloat16(Float32(v) * 1.0)
        y[i + 3 * 65536] = BFloat16(Float64(v))
        y[i + 4 * 65536] = min(v, BFloat16(1.0))
        y[i + 5 * 65536] = v % 1.0
        y[i + 6 * 65536] = v.fma(1.0, 0.0)
        ints[i] = Int32(v == 0.0) + 2 * Int32(v < 0.0) + 4 * Int32(v != v)
        singles[i] = v

    ctx = DeviceContext(api="cpu")
    bits = np.arange(65536, dtype=np.uint16)
    x, y = ctx.enqueue_create_buffer(BFloat16, 65536), ctx.enqueue_create_buffer(BFloat16, 7 * 65536)
    ctx.enqueue_copy(x, bits)
    ints, singles = np.zeros(65536, np.int32), np.zeros(65536, np.float32)
    ctx.enqueue_function(every, x, y, ints, singles, grid_dim=256, block_dim=256)
    out = np.zeros(7 * 65536, np.uint16)
    ctx.enqueue_copy(out, y)
    ctx.synchronize()
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    number = ~np.isnan(wide)
    negated, size, again, double, least, rest, fused = out.reshape(7, -1)
    assert np.array_equal(negated[number], (bits ^ 0x8000)[number])
    assert np.array_equal(size[number], (bits & 0x7FFF)[number])
    for found in (again, double):
        assert np.array_equal(found[number], bits[number])
    assert np.array_equal(
        fused[number] & ((bits[number] != 0x8000) * 0xFFFF),
        bits[number] & ((bits[number] != 0x8000) * 0xFFFF),
    )
    assert np.array_equal(singles.view(np.uint32)[number], wide.view(np.uint32)[number])
    with np.errstate(all="ignore"):
        assert np.array_equal(
            (least.astype(np.uint32) << 16).view(np.float32)[number],
            np.where(wide < 1, wide, np.float32(1))[number],
        )
        remainder = [exact.nearest("bfloat16", float(v)) for v in np.mod(wide[number], np.float32(1))]
        assert all(map(same, (rest[number].astype(np.uint32) << 16).view(np.float32).tolist(), remainder))
        wanted = (wide == 0) + 2 * (wide < 0) + 4 * np.isnan(wide)
    assert np.array_equal(ints, wanted)
