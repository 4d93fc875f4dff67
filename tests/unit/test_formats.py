"""Numbers as the formats hold them: one rounding for host buffers, fills, arguments, literals and kernels."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import exact

from weft import BFloat16, Float16, Float32, Float64, Int, LaunchError, Pointer, UInt, func, kernel
from weft.abi.formats import bits_of, from_bits, packed, rounded, short_bits, wrap
from weft.dtype import DType
from weft.gpu.host import DeviceContext

SMALL = ("float16", "bfloat16", "float32")
EDGES = [
    1 + 2**-8 + 2**-30,
    1 + 2**-8,
    1 + 3 * 2**-8,
    1 + 2**-11 + 2**-40,
    1e39,
    -1e39,
    3.3961775292304e38,
    2.0**-133,
    2.0**-134,
    2.0**-134 + 2.0**-180,
    2.0**-135,
    1e-41,
    5e-324,
    65519.99,
    65520.0,
    2.0**-25,
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    0.1,
    2**24 + 1.0,
    3.4028235677973366e38,
]


def same(a: float, c: float) -> bool:
    return (a != a and c != c) or (a == c and math.copysign(1, a) == math.copysign(1, c))


@pytest.mark.parametrize("name", SMALL)
@given(st.floats())
@example(1 + 2**-8 + 2**-30)
@example(2.0**-134 + 2.0**-180)
@example(65519.999999)
@example(3.4028235677973366e38)
def test_a_float_is_rounded_once(name: str, value: float) -> None:
    dtype: DType = getattr(DType, name)
    wanted = exact.nearest(name, value)
    assert same(float(wrap(dtype, value)), wanted)
    assert same(float(from_bits(dtype, bits_of(dtype, value))), wanted)
    if name != "bfloat16":
        with np.errstate(all="ignore"):
            assert same(float(np.dtype(name).type(value)), wanted)


INTS = [
    *(sign * (2**n + d) for n in (8, 11, 24, 25, 53, 63, 64, 300) for d in (-1, 0, 1) for sign in (1, -1)),
    *(
        2**60 + 2**52 + 1,
        2**60 + 2**36 + 1,
        2**60 + 2**36,
        2**60 + 3 * 2**36,
        2**62 + 2**54 + 1,
        257,
        2**2000,
    ),
]


@pytest.mark.parametrize("name", [*SMALL, "float64"])
def test_an_int_is_rounded_once(name: str) -> None:
    dtype: DType = getattr(DType, name)
    for value in INTS:
        assert wrap(dtype, value) == exact.nearest(name, Fraction(value)), value
        assert rounded(dtype, Fraction(value)) == exact.nearest(name, Fraction(value)), value


def test_a_fraction_is_rounded_once() -> None:
    draw = random.Random(1)
    for name in (*SMALL, "float64"):
        for _ in range(500):
            value = Fraction(draw.getrandbits(70) | 1, 1 << draw.randrange(200))
            assert rounded(getattr(DType, name), value) == exact.nearest(name, value)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_integers_wrap_and_floats_saturate(bits: int, signed: bool) -> None:
    dtype: DType = getattr(DType, f"{'' if signed else 'u'}int{bits}")
    assert (dtype.least, dtype.greatest) == (np.iinfo(dtype.name).min, np.iinfo(dtype.name).max)
    for value in INTS:
        assert wrap(dtype, value) == exact.whole(bits, signed, value)
    for value in [*EDGES, 171.0, 127.5, -128.5, 2.0**31, 2.0**63, -(2.0**63), 2.0**64, -0.5, 255.9]:
        assert wrap(dtype, value) == exact.cut(bits, signed, value), value


def test_every_bfloat16_comes_back() -> None:
    every = np.arange(65536, dtype=np.uint16)
    numbers = (every.astype(np.uint32) << 16).view(np.float32)
    nan = np.isnan(numbers)
    assert np.array_equal(short_bits(DType.bfloat16, numbers)[~nan], every[~nan])
    assert np.array_equal(short_bits(DType.bfloat16, numbers[~nan].astype(np.float64)), every[~nan])
    again = (short_bits(DType.bfloat16, numbers).astype(np.uint32) << 16).view(np.float32)
    assert np.isnan(again[nan]).all()
    for bits in itertools.chain(range(0, 65536, 97), (1, 0x7F, 0x80, 0x8001, 0x7F7F, 0x7F80, 0xFF80)):
        number = float(from_bits(DType.bfloat16, bits))
        assert math.isnan(number) or bits_of(DType.bfloat16, number) == bits


def test_arrays_are_rounded_as_numbers_are() -> None:
    draw = random.Random(2)
    floats = EDGES + [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(2000)]
    floats += [from_bits(DType.bfloat16, draw.getrandbits(16)) * (1 + 2.0**-8) for _ in range(500)]
    ints = [draw.getrandbits(64) >> draw.randrange(60) for _ in range(2000)]
    signed = [v - 2**63 for v in ints] + [v for v in INTS if -(2**63) <= v < 2**63]
    big = [v for v in INTS if v.bit_length() < 900]
    for values, kind in ((floats, np.float64), (ints, np.uint64), (signed, np.int64), (big, object)):
        found = short_bits(DType.bfloat16, np.array(values, kind))
        for value, bits in zip(values, found.tolist(), strict=True):
            wanted = exact.nearest("bfloat16", value if isinstance(value, float) else Fraction(value))
            assert same(float(from_bits(DType.bfloat16, bits)), wanted), value


@kernel
def given_bfloat(out: Pointer[BFloat16], x: BFloat16) -> None:
    out[0] = x


@kernel
def given_double(out: Pointer[BFloat16], x: Float64) -> None:
    out[0] = BFloat16(x)


@kernel
def given_half(out: Pointer[Float16], x: Float16) -> None:
    out[0] = x


@kernel
def given_single(out: Pointer[Float32], x: Float32) -> None:
    out[0] = x


def refused(so: bool, text: str) -> Any:
    """What is finite and would be infinite is told of."""
    return pytest.raises(LaunchError, match=text) if so else contextlib.nullcontext()


@pytest.mark.parametrize("name", SMALL)
def test_one_rounding_wherever_a_number_enters(name: str) -> None:
    ctx = DeviceContext(api="cpu")
    take: Any = {"bfloat16": given_bfloat, "float16": given_half, "float32": given_single}[name]
    out, host = ctx.enqueue_create_buffer(name, 1), ctx.enqueue_create_host_buffer(name, 1)

    def read() -> float:
        ctx.enqueue_copy(host, out)
        ctx.synchronize()
        return float(host[0])

    for value in [
        *EDGES,
        *EDGES,
        2**60 + 2**52 + 1,
        2**60 + 2**36 + 1,
        2**24 + 1,
        -(2**62) - 2**54 - 1,
        2**200,
    ]:
        wanted = exact.nearest(name, value if isinstance(value, float) else Fraction(value))
        beyond = math.isinf(wanted) and not (isinstance(value, float) and math.isinf(value))
        with refused(beyond, f"cannot be filled with .*: {name} ends at"):
            ctx.enqueue_fill(out, value)
            assert same(read(), wanted), ("fill", value)
        for _ in range(2):  # by Python, and once it is known natively
            with refused(beyond, r"`x` of .* takes .*, which \w+ holds, or infinity, not"):
                ctx.enqueue_function(take, out, value, grid_dim=1, block_dim=1)
                assert same(read(), wanted), ("argument", value)
        if isinstance(value, float) or name == "bfloat16":  # NumPy takes no such ints
            with np.errstate(all="ignore"):
                host[0] = value
                assert same(float(host[0]), wanted), ("element", value)
                host[:] = [value]
                assert same(float(host[0]), wanted), ("elements", value)
        if name == "bfloat16" and isinstance(value, float):
            ctx.enqueue_function(given_double, out, value, grid_dim=1, block_dim=1)
            assert same(read(), wanted), ("kernel", value)


@func
def to_floats(x: Any) -> Any:
    return Float16(x), BFloat16(x), Float32(x), Float64(x)


def test_integers_become_floats_in_one_rounding() -> None:
    draw = random.Random(3)
    values = [v for v in INTS if -(2**63) <= v < 2**64]
    values += [(1 << n) + (1 << n - 8) + d for n in range(10, 64) for d in (-1, 0, 1)]
    values += [draw.getrandbits(64) >> draw.randrange(60) for _ in range(100)]
    for value in values:
        for cls in (Int, UInt):
            if cls.dtype.least <= value <= cls.dtype.greatest:
                wanted = [exact.nearest(n, Fraction(value)) for n in (*SMALL, "float64")]
                assert [*to_floats(cls(value))] == wanted, value


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_a_float_holds_all_integers_up_to_its_greatest(name: str) -> None:
    dtype: DType = getattr(DType, name)
    last = range(dtype.greatest - 9, dtype.greatest + 1)
    assert [wrap(dtype, n) for n in last] == list(last)
    assert wrap(dtype, dtype.greatest + 1) != dtype.greatest + 1
    assert dtype.least == -dtype.greatest


@pytest.mark.parametrize(
    "dtype", list(dict.fromkeys(v for v in vars(DType).values() if isinstance(v, DType)))
)
def test_many_numbers_are_packed_as_each_is_alone(dtype: DType) -> None:
    floats = [0.0, -0.0, 1.5, 2.0**-24, 65520.0, 1e39, math.inf, math.nan, -3.7, 1 + 2**-8 + 2**-30]
    whole = [0, 1, 255, -1, -129, 2**24 + 1, 2**53 + 1, 2**63, True]
    for values in ([0, 1, 1, 0], floats, whole, floats + whole, [True, False]):
        one_by_one = [bits_of(dtype, value).to_bytes(dtype.itemsize, "little") for value in values]
        assert packed(dtype, values) == b"".join(one_by_one)
