"""Every number format converted to every other, against exact arithmetic with fractions, and NumPy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    BFloat16,
    Bool,
    CompileError,
    Float8_e4m3fn,
    Float8_e5m2,
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
    unroll,
)
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
INTEGERS: list[Any] = [Int8, Int16, Int32, Int, UInt8, UInt16, UInt32, UInt]
FLOATS: dict[Any, tuple[int, int, int, bool]] = {
    Float8_e4m3fn: (4, -6, 8, False),
    Float8_e5m2: (3, -14, 15, True),
    Float16: (11, -14, 15, True),
    BFloat16: (8, -126, 127, True),
    Float32: (24, -126, 127, True),
    Float64: (53, -1022, 1023, True),
}
"""Binary digits, exponents of the least normal number and of the largest, whether there is an infinity."""
TYPES: list[Any] = [Bool, *INTEGERS, *FLOATS]


def most(kind: Any) -> Fraction:
    """The largest finite number."""
    digits, _, top, has_infinity = FLOATS[kind]
    steps = (1 << digits) - (1 if has_infinity else 2)  # where there is none, nan takes the last place
    return Fraction(steps) * Fraction(2) ** (top - digits + 1)


def exponent_of(size: Fraction) -> int:
    """Of the power of two that is not more."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess - (Fraction(2) ** guess > size)


def rounded(value: Fraction, kind: Any, saturating: bool) -> float:
    """The nearest number of a float format, ties to even."""
    digits, least, _, has_infinity = FLOATS[kind]
    size = abs(value)
    step = Fraction(2) ** (max(exponent_of(size), least) - digits + 1)
    near: Any = round(size / step) * step  # Python rounds fractions to even
    if near > most(kind):
        near = most(kind) if saturating else math.inf if has_infinity else math.nan
    return float(near) if value > 0 else -float(near)


def limits(kind: Any) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits, signed = int(kind.dtype.name.lstrip("uint")), kind in INTEGERS[:4]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def expected(value: Any, kind: Any, saturating: bool) -> Any:
    """What a number becomes."""
    if kind is Bool:
        return bool(value)
    if kind in INTEGERS:
        low, high = limits(kind)
        if isinstance(value, float):
            if value != value:
                return 0
            return min(max(value if math.isinf(value) else int(value), low), high)
        if saturating:
            return min(max(int(value), low), high)
        return (int(value) - low) % (high - low + 1) + low
    if isinstance(value, float) and not math.isfinite(value):
        if value != value or FLOATS[kind][3]:
            return value
        return math.copysign(float(most(kind)), value) if saturating else math.nan
    if value == 0:
        return float(value)
    return rounded(Fraction(value), kind, saturating)


def samples(kind: Any) -> list[Any]:
    """Numbers of a type: around its limits and those of others, ties, subnormal ones."""
    if kind is Bool:
        return [False, True]
    if kind in INTEGERS:
        low, high = limits(kind)
        near = [*range(-20, 21), low, low + 1, high, high - 1, 448, 464, 465, 480, 65504, 65519, 65520, 65536]
        near += [s * (1 << n) + d for n in range(7, 64) for d in (-1, 0, 1) for s in (1, -1)]
        near += [(1 << n) + (k << n - 8) + d for n in range(24, 64) for k in (1, 3) for d in (-1, 0, 1)]
        near += [(1 << 53) + 1, (1 << 62) + (1 << 38) + 1, (1 << 60) + (1 << 52) + 1]
        return sorted({n for n in near if low <= n <= high})
    found: set[float] = {0.0, math.inf} if FLOATS[kind][3] else {0.0}
    for other in FLOATS:
        digits, least, top, _ = FLOATS[other]
        for e in {least - digits, least, 0, top}:
            for n in (0, 1, (1 << digits - 1) - 1, (1 << digits - 1) - 2):
                for half in (Fraction(0), Fraction(1, 2), Fraction(1, 2) + Fraction(1, 1 << 20)):
                    one = (1 + (n + half) / (1 << digits - 1)) * Fraction(2) ** e
                    found.add(rounded(one, kind, False))
    found |= {rounded(Fraction(n), kind, False) for n in (7, 127, 128, 255.5, 300, 2**31, 2**63, 2**64, 1e-3)}
    numbers = [n for n in found if n == n]
    return [*numbers, *[-n for n in numbers], math.nan]


def stored(values: list[Any], kind: Any) -> Array:
    """The numbers as bytes, without weft: of formats that NumPy has not, by their bits."""
    if kind not in (BFloat16, Float8_e4m3fn, Float8_e5m2):
        return np.array(values, kind.dtype.name).view(np.uint8)
    return np.array([bits(v, kind) for v in values], f"uint{kind.dtype.bits}").view(np.uint8)


def bits(value: float, kind: Any) -> int:
    """The bits of a number that a format holds."""
    digits, least, top, _ = FLOATS[kind]
    sign = (math.copysign(1, value) < 0) << kind.dtype.bits - 1
    if value != value:
        return sign | (1 << kind.dtype.bits - 1) - 1
    if math.isinf(value):
        return sign | (top - least + 2) << digits - 1
    size = Fraction(abs(value))
    exponent = max(exponent_of(size), least) if size else least
    steps = size / Fraction(2) ** (exponent - digits + 1)
    assert steps.denominator == 1
    return sign | int(steps) + (exponent - least << digits - 1)


def numbers_of(data: Array, kind: Any) -> list[Any]:
    """Bytes as numbers."""
    if kind not in (BFloat16, Float8_e4m3fn, Float8_e5m2):
        return data.view(kind.dtype.name).tolist()
    word = f"uint{kind.dtype.bits}"
    return [from_bits(n, kind) for n in data.view(word).tolist()]


def from_bits(n: int, kind: Any) -> float:
    """The number that some bits are."""
    digits, least, top, has_infinity = FLOATS[kind]
    size, sign = n & (1 << kind.dtype.bits - 1) - 1, -1.0 if n >> kind.dtype.bits - 1 else 1.0
    exponent, fraction = size >> digits - 1, size & (1 << digits - 1) - 1
    if has_infinity and exponent == top - least + 2:
        return math.nan if fraction else sign * math.inf
    if not has_infinity and size == (1 << kind.dtype.bits - 1) - 1:
        return math.nan
    steps = fraction + (bool(exponent) << digits - 1)
    return math.copysign(float(steps * Fraction(2) ** (max(exponent, 1) - 1 + least - digits + 1)), sign)


def kernel_from(source: Any, width: int, count: int) -> Any:
    """All conversions of a type: plain ones of numbers, saturating ones of vectors."""

    def convert(x: Pointer[Any], out: Pointer[Any], n: Int) -> None:
        i = global_idx.x * width
        if i < n:
            v = x.load(i, width=width)
            at = 0
            for target in unroll(TYPES):
                made = v.cast(target) if width == 1 else v.saturating_cast(target)
                (out + at).bitcast(target).store(i, made)
                at += 8 * count

    convert.__annotations__ |= {"x": cast("Any", Pointer)[source], "out": Pointer[UInt8]}
    return kernel(convert)


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are one, zeros by their sign."""
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("source", TYPES, ids=lambda kind: kind.__name__)
def test_every_pair(device: DeviceContext, source: Any, width: int) -> None:
    values = samples(source)
    values += values[:1] * (-len(values) % 4)
    count = len(values)
    x = device.enqueue_create_buffer(source, count)
    out = device.enqueue_create_buffer(UInt8, 8 * count * len(TYPES))
    device.enqueue_copy(dst=x, src=stored(values, source).view(source.dtype.numpy))
    options: dict[str, Any] = {"grid_dim": -(-count // 32), "block_dim": 32}
    device.enqueue_function(kernel_from(source, width, count), x, out, count, **options)
    found = np.empty(8 * count * len(TYPES), np.uint8)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    for n, target in enumerate(TYPES):
        start = 8 * count * n
        got = numbers_of(found[start : start + count * target.dtype.itemsize], target)
        for value, number in zip(values, got, strict=True):
            right = expected(value, target, width > 1)
            assert same(number, right), (value, source, target, number, right)


@pytest.mark.parametrize("source", TYPES, ids=lambda kind: kind.__name__)
def test_constants_are_converted_likewise(source: Any) -> None:
    values = samples(source)[::7]
    for value, target in itertools.product(values, TYPES):
        number = source(value)
        assert same(number.value, value)
        assert same(number.cast(target).value, expected(value, target, False)), (value, source, target)
        assert same(number.saturating_cast(target).value, expected(value, target, True)), (
            value,
            source,
            target,
        )


NUMPYS = [kind for kind in TYPES if kind not in (BFloat16, Float8_e4m3fn, Float8_e5m2)]


@pytest.mark.parametrize("source", NUMPYS, ids=lambda kind: kind.__name__)
def test_what_is_expected_is_what_numpy_does(source: Any) -> None:
    """Where NumPy says what a conversion gives: not of floats that do not fit an integer."""
    for target in NUMPYS:
        values = samples(source)
        if source in FLOATS and target in INTEGERS:
            low, high = limits(target)
            values = [v for v in values if math.isfinite(v) and low <= int(v) <= high]
        with np.errstate(all="ignore"):
            right = np.array(values, source.dtype.name).astype(target.dtype.name).tolist()
        assert all(same(expected(v, target, False), r) for v, r in zip(values, right, strict=True))


@pytest.mark.parametrize("kind", [Float8_e4m3fn, Float8_e5m2, BFloat16], ids=lambda kind: kind.__name__)
def test_elements_of_host_buffers(kind: Any) -> None:
    values, ctx = [v for v in samples(Float64) if v == v], DeviceContext(api="cpu")
    right = [expected(v, kind, False) for v in values]
    host = ctx.enqueue_create_host_buffer(kind, len(values))
    host[:] = values
    assert all(map(same, host, right))
    assert all(map(same, host[:].tolist(), right))
    host[0] = 3.3
    assert same(host[0], expected(3.3, kind, False))
    each = numbers_of(np.asarray(host).view(np.uint8), kind)
    assert all(map(same, each[1:], right[1:]))


@func
def _halved(x: Float8_e5m2, y: Float8_e4m3fn) -> tuple[Float8_e5m2, Float32]:
    wide = Float32(x)
    wide *= y  # which meets Float32 exactly
    return Float8_e5m2(Float32(x) / 2), wide.cast(Float32)


def test_bytes_as_arguments_results_and_literals() -> None:
    assert _halved(3.4, 1.1) == (1.75, 3.5 * 1.125)


def test_a_float_of_8_bits_is_printed_shortly(capfd: pytest.CaptureFixture[str]) -> None:
    @kernel
    def show(x: Pointer[Float8_e4m3fn], y: Float8_e5m2) -> None:
        x[1] = 0.1
        print(x[0], x[1], y, f"{x[1]:.5f}")

    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float8_e4m3fn, 2)
    ctx.enqueue_fill(x, 17)
    ctx.enqueue_function(show, x, -1.3, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert capfd.readouterr().out == "16.0 0.1 -1.2 0.10156\n"


def test_they_only_store() -> None:
    @kernel
    def k(x: Pointer[Float8_e4m3fn]) -> None:
        x[0] = x[0] + x[1]  # pyright: ignore[reportOperatorIssue]

    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float8_e4m3fn, 2)
    with pytest.raises(CompileError, match="which only stores numbers"):
        ctx.enqueue_function(k, x, grid_dim=1, block_dim=1)
    with pytest.raises(CompileError, match="which only stores numbers"):
        abs(Float8_e5m2(1.0))


@kernel
def by_way_of_halves(x: Pointer[UInt32], y: Pointer[Int], out: Pointer[Float32], shift: Int):
    i = global_idx.x
    out[3 * i] = Float32((x[i] << 22).cast(Float16))
    out[3 * i + 1] = Float32((y[i] << shift << 20).cast(Float16))
    out[3 * i + 2] = Float32((y[i] << shift).cast(Float16))


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_an_integer_of_few_digits_by_way_of_a_half(device: DeviceContext) -> None:
    """LLVM leaves the half out where the integer has no more digits than it."""
    x, y = np.arange(64, dtype=np.uint32), np.arange(-32, 32)
    out = np.empty((64, 3), np.float32)
    device.enqueue_function(by_way_of_halves, x, y, out, 3, grid_dim=1, block_dim=64)
    device.synchronize()
    with np.errstate(over="ignore"):
        wanted = [numbers.astype(np.float16).astype(np.float32) for numbers in (x << 22, y << 23, y << 3)]
    np.testing.assert_array_equal(out, np.stack(wanted, axis=1))
