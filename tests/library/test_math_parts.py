"""What weft.math takes apart and steps through is exact, on every device: against NumPy and Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import weft.math as wm
from weft import (
    BFloat16,
    CompileError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    Pointer,
    UInt64,
    func,
    kernel,
)
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
KINDS: list[tuple[Any, Any]] = [(Float16, np.float16), (Float32, np.float32), (Float64, np.float64)]
ENDS = [0.0, 1.0, 1.5, 2.0, 0.75, math.inf, math.nan, 6.1e-5, 6e-8, 65504.0, 1e-45, 3.4e38, 5e-324, 1.7e308]
FUNCTIONS = 9


taken_apart: Any = wm.frexp


@kernel
def parts(x: Any, y: Any, power: Pointer[Int32], out: Any, n: Int):
    """Each function's result, one column each."""
    i = global_idx.x
    if i < n:
        a, b = x[i], y[i]
        out[0 * n + i] = wm.fmod(a, b)
        out[1 * n + i] = wm.remainder(a, b)
        out[2 * n + i] = wm.nextafter(a, b)
        mantissa, exponent = taken_apart(a)
        out[3 * n + i] = mantissa
        out[4 * n + i] = x.dtype(exponent)
        fraction, whole = wm.modf(a)
        out[5 * n + i] = fraction
        out[6 * n + i] = whole
        out[7 * n + i] = wm.ldexp(a, power[i])
        out[8 * n + i] = wm.ldexp(a, -3)


def operands(kind: Any) -> tuple[Array, Array, Array]:
    """Numbers of all magnitudes, halves, and each of the formats' ends with each."""
    word = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(kind).itemsize]
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        ends = np.array([*ENDS, *(-e for e in ENDS)]).astype(kind)
    one, other = (m.ravel() for m in np.meshgrid(ends, ends))
    bits = rng.integers(0, 2**64, (2, 2000), dtype=np.uint64).astype(word).view(kind)
    halves = (rng.integers(-40, 40, (2, 600)) / 2).astype(kind)
    x, y = np.concatenate([bits[0], halves[0], one]), np.concatenate([bits[1], halves[1], other])
    power = rng.integers(-2200, 2200, x.size).astype(np.int32)
    power[::2] = rng.integers(-30, 30, power[::2].size)
    power[-4:] = [2**31 - 1, -(2**31), 2**31 - 1, -(2**31)]
    return x, y, power


def ieee_remainder(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0 else math.remainder(x, y)


def expected(x: Array, y: Array, power: Array) -> list[Array]:
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64) for a in (x, y)]
        mantissa, exponent = np.frexp(wide[0])
        exponent = np.where(np.isfinite(x), exponent, 0)
        fraction, whole = np.modf(x)
        rest: Array = np.vectorize(ieee_remainder, [np.float64])(*wide)
        after = np.where(x == y, y, np.nextafter(x, y))  # C's; NumPy's of float16 keeps a zero's sign
        columns = [np.fmod(x, y), rest, after, mantissa, exponent, fraction, whole]
        columns += [np.ldexp(wide[0], power), np.ldexp(wide[0], -3)]
        return [c.astype(x.dtype) for c in columns]


def assert_same(got: Array, exact: Array, *arguments: Array) -> None:
    """Equal, the signs of zeros too."""
    same = (got == exact) & (np.signbit(got) == np.signbit(exact)) | np.isnan(got) & np.isnan(exact)
    wrong = np.flatnonzero(~same)
    shown = [(*(a[i] for a in arguments), got[i], exact[i]) for i in wrong[:5]]
    assert not wrong.size, shown


@pytest.mark.parametrize(("cls", "kind"), KINDS)
def test_parts_are_exact(device: DeviceContext, cls: Any, kind: Any) -> None:
    x, y, power = operands(kind)
    n = x.size
    ins = [device.enqueue_create_buffer(cls, n) for _ in range(2)]
    powers = device.enqueue_create_buffer(Int32, n)
    out = device.enqueue_create_buffer(cls, n * FUNCTIONS)
    for buffer, array in zip([*ins, powers], (x, y, power), strict=True):
        device.enqueue_copy(dst=buffer, src=array)
    device.enqueue_function(parts, *ins, powers, out, n, grid_dim=-(-n // 128), block_dim=128)  # pyright: ignore[reportCallIssue]
    found = np.empty(n * FUNCTIONS, kind)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    for got, exact in zip(found.reshape(FUNCTIONS, n), expected(x, y, power), strict=True):
        assert_same(got, exact, x, y, power)


@kernel
def brief_parts(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        a, b = BFloat16(x[i]), BFloat16(y[i])
        out[0 * n + i] = Float32(wm.fmod(a, b))
        out[1 * n + i] = Float32(wm.remainder(a, b))
        out[2 * n + i] = Float32(wm.nextafter(a, b))
        mantissa, exponent = wm.frexp(a)
        out[3 * n + i] = Float32(wm.ldexp(mantissa, exponent))
        out[4 * n + i] = Float32(wm.modf(a)[0])


def test_parts_of_bfloat16(device: DeviceContext) -> None:
    x, y, power = (a.copy() for a in operands(np.float32))
    for a in (x, y):
        a.view(np.uint32)[:] &= np.where(np.isnan(a), 0xFFFFFFFF, 0xFFFF0000).astype(np.uint32)
    n = x.size
    buffers = [device.enqueue_create_buffer(Float32, n) for _ in range(2)]
    out = device.enqueue_create_buffer(Float32, n * 5)
    for buffer, array in zip(buffers, (x, y), strict=True):
        device.enqueue_copy(dst=buffer, src=array)
    device.enqueue_function(brief_parts, *buffers, out, n, grid_dim=-(-n // 128), block_dim=128)  # pyright: ignore[reportCallIssue]
    found = np.empty(n * 5, np.float32)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    exact = expected(x, y, power)
    bits = x.view(np.int32)  # the neighbour: one more or less in the upper half of the bits
    with np.errstate(invalid="ignore"):
        step = np.where((x < y) == (x > 0), 0x10000, -0x10000)
        after = (bits + step).astype(np.int32).view(np.float32)
        least = np.copysign(np.float32(2.0**-133), y)
        after = np.where(x == y, y, np.where(x == 0, least, after))
        after = np.where(np.isnan(x) | np.isnan(y), np.float32(math.nan), after)
    for got, want in zip(found.reshape(5, n), [exact[0], exact[1], after, x, exact[5]], strict=True):
        assert_same(got, want, x, y)


@func
def of_lanes(x: Float32) -> Any:
    v = wm.iota(Float32, 4, x)
    mantissa, exponent = wm.frexp(v)
    fraction, whole = wm.modf(v * 0.75)
    rebuilt = wm.ldexp(mantissa, exponent)
    twice = wm.ldexp(v, 1)
    return (
        (mantissa[3], exponent[3], fraction[1], whole[1], rebuilt[2], twice[3])
        + (wm.fmod(v, -3.0)[3], wm.remainder(v, 3.0)[3], wm.nextafter(v, 0.0)[3], wm.hypot(v, 6.0)[3])
        + (wm.cbrt(v)[3], wm.asinh(v)[3] == wm.asinh(v[3]), wm.exp10(v)[0] == wm.exp10(v[0]))
    )


def test_lanes() -> None:
    got: tuple[Any, ...] = of_lanes(5.0)
    assert got[:6] == (0.5, 4, 0.5, 4.0, 7.0, 16.0)
    assert got[6:] == (2.0, -1.0, 8.0 - 2.0**-21, 10.0, 2.0, True, True)


@func
def powers(small: Int8, large: UInt64) -> Any:
    one = Float64(1.0)
    return wm.ldexp(one, small), wm.ldexp(one, large), wm.ldexp(Float32(1.0), large), wm.ldexp(one, True)


def test_powers_of_every_integer_type() -> None:
    assert powers(-100, 2**64 - 1) == (2.0**-100, math.inf, math.inf, 2.0)
    assert powers(100, 3) == (2.0**100, 8.0, 8.0, 2.0)


def test_constants_on_the_host() -> None:
    mantissa, exponent = wm.frexp(Float16(12.0))
    assert (type(mantissa), type(exponent)) == (Float16, Int32)
    assert (mantissa, exponent) == (0.75, 4)
    assert wm.ldexp(Float32(0.75), 4) == 12.0
    assert wm.nextafter(BFloat16(1.0), 2.0) == 1.0 + 2.0**-7
    assert wm.cbrt(Float64(27.0)) == 3.0


def test_what_ldexp_refuses() -> None:
    with pytest.raises(CompileError, match=r"ldexp takes an integer for the power of 2, not float"):
        wm.ldexp(Float32(1.0), 2.0)
    with pytest.raises(CompileError, match=r"write ldexp\(Float32\(1.0\), n\)"):
        wm.ldexp(1.0, Int32(2))  # pyright: ignore[reportCallIssue, reportArgumentType]
