"""What weft.math promises beside accuracy: types, constants, special values, code for every target."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import weft.math as wm
from weft import (
    Bool,
    CompileError,
    Comptime,
    Float16,
    Float32,
    Float64,
    Int,
    Int32,
    Pointer,
    UInt32,
    func,
    kernel,
)
from weft.compile import compile_info
from weft.gpu import global_idx

FLOATS = ["acos", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "degrees", "erf", "erfc"] + [
    "exp",
    "exp2",
    "expm1",
    "gamma",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


def call(f: Any, *args: float) -> tuple[Any, ...]:
    """The results of a @func on Python numbers, compiled for the CPU."""
    return tuple(f(*args))


@pytest.mark.parametrize("name", FLOATS)
def test_a_python_number_is_computed_by_python(name: str) -> None:
    got = getattr(wm, name)(0.25)
    assert type(got) is float
    expected = 2.0**0.25 if name == "exp2" else getattr(math, name)(0.25)
    assert got == expected


def test_python_numbers() -> None:
    assert wm.pow(2, 10) == 1024.0
    assert (wm.acosh(1.5), wm.exp10(2), wm.hypot(3, 4)) == (math.acosh(1.5), 100.0, 5.0)
    assert (wm.fmod(-7, 3), wm.remainder(7, 4), wm.nextafter(1, 2)) == (-1.0, -1.0, 1.0 + 2.0**-52)
    assert (wm.frexp(12), wm.ldexp(0.75, 4), wm.modf(-2.75)) == ((0.75, 4), 12.0, (-0.75, -2.0))
    assert wm.atan2(1.0, -1.0) == math.atan2(1.0, -1.0)
    assert wm.sincos(0.5) == (math.sin(0.5), math.cos(0.5))
    assert (wm.min(3, 2), wm.max(3, 2, 5), wm.clamp(7, 0, 5)) == (2, 5, 5)
    assert (wm.min(math.nan, 1.0), wm.max(1.0, math.nan)) == (1.0, 1.0)
    assert (wm.floor(2.5), wm.ceil(2.5), wm.trunc(-2.5), wm.round(2.5)) == (2.0, 3.0, -2.0, 2.0)
    assert wm.floor(math.inf) == math.inf
    assert (wm.abs(-3), wm.copysign(1.0, -0.0), wm.rsqrt(0.0)) == (3, -1.0, math.inf)
    assert wm.fma(0.1, 10.0, -1.0) == 2.0**-54
    assert math.isinf(wm.fma(math.inf, 1.0, 0.0))
    assert (wm.ceildiv(7, 2), wm.ceildiv(-7, 2), wm.align_up(1000, 256), wm.align_down(1000, 256)) == (
        4,
        -3,
        1024,
        768,
    )
    assert (wm.gcd(12, -18), wm.lcm(4, 6)) == (6, 12)
    assert (wm.isnan(math.nan), wm.isinf(-math.inf), wm.isfinite(1.0)) == (True, True, True)
    assert wm.isclose(1.0, 1.0 + 1e-6)
    assert not wm.isclose(1.0, 1.1)
    assert not wm.isclose(math.inf, 1.0)
    assert wm.isclose(math.nan, math.nan, equal_nan=True)
    assert wm.tau == 2 * wm.pi


@func
def branches_of_numbers(a: Int, b: Int, u: UInt32, x: Float32) -> Any:
    return (
        wm.min(a, b),
        wm.max(a, b, 3),
        wm.clamp(a, 0, 10),
        wm.abs(a),
        wm.ceildiv(a, b),
        wm.ceildiv(u, 7),
        wm.align_up(u, 16),
        wm.align_down(a, 16),
        wm.gcd(a, b),
        wm.lcm(a, b),
        wm.fma(a, b, 1),
        wm.ceildiv(x, 2.0),
    )


@pytest.mark.parametrize(("a", "b"), [(17, 5), (-17, 5), (17, -5), (-12, -18), (0, 4), (16, 16)])
def test_integers(a: int, b: int) -> None:
    got = call(branches_of_numbers, a, b, 50, 7.5)
    expected = (
        min(a, b),
        max(a, b, 3),
        max(0, min(a, 10)),
        abs(a),
        -(-a // b),
        8,
        64,
        a // 16 * 16,
        math.gcd(a, b),
        math.lcm(a, b),
        a * b + 1,
        4.0,
    )
    assert got == expected


@func
def ratio(a: Float64, b: Float64) -> Float64:
    return wm.ceildiv(a, b)


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3).filter(lambda b: abs(b) > 1e-3))
@example(1.1, 0.1)
@example(-0.3, 0.1)
def test_ratios_of_floats(a: float, b: float) -> None:
    assert ratio(a, b) == wm.ceildiv(Float64(a), Float64(b)) == wm.ceildiv(a, b) == -(-a // b)


@func
def rounded(x: Float64) -> Any:
    return wm.floor(x), wm.ceil(x), wm.trunc(x), wm.round(x), wm.copysign(2.0, x), wm.abs(x)


@pytest.mark.parametrize("x", [2.5, 3.5, -2.5, 0.4, -0.4, 1e300, 4503599627370497.5])
def test_rounding(x: float) -> None:
    expected = (math.floor(x), math.ceil(x), math.trunc(x), round(x), math.copysign(2.0, x), abs(x))
    assert call(rounded, x) == expected


@func
def judged(x: Float32, y: Float32) -> Any:
    return (
        wm.min(x, y),
        wm.max(x, y),
        wm.clamp(x, 0.0, 1.0),
        wm.isnan(x),
        wm.isinf(x),
        wm.isfinite(x),
        wm.isclose(x, y),
        wm.isclose(x, y, equal_nan=True),
        wm.fma(x, y, 0.5),
    )


def test_special_values() -> None:
    assert call(judged, math.nan, 2.0)[:8] == (2.0, 2.0, 0.0, True, False, False, False, False)
    assert call(judged, 2.0, math.nan)[:3] == (2.0, 2.0, 1.0)
    assert call(judged, math.nan, math.nan)[6:8] == (False, True)
    assert call(judged, math.inf, math.inf)[3:8] == (False, True, False, True, True)
    assert call(judged, math.inf, 1.0)[6] is False
    assert call(judged, 1.0, 1.000001)[5:] == (True, True, True, 1.5 + 2.0**-20)


@func
def constants(x: Float32) -> Any:
    return wm.sqrt(Float32(2.0)) * x, wm.log(Float32(0.0)) * x, wm.pow(Float32(0.0), -1.0), wm.exp(1.0) * x


def test_constants_in_a_kernel() -> None:
    two, minus, infinite, e = call(constants, 1.0)
    assert (minus, infinite) == (-math.inf, math.inf)
    assert two == pytest.approx(math.sqrt(2), rel=1e-7)
    assert e == pytest.approx(math.e, rel=1e-7)


def test_types_meet() -> None:
    text = str(compile_info(typed, target="sm_90", emission_kind="llvm"))
    assert "fptrunc" in text


@kernel
def typed(h: Pointer[Float16], x: Pointer[Float32], d: Pointer[Float64]) -> None:
    a: Float16 = wm.exp(h[0])
    b: Float32 = wm.pow(x[0], 2)
    c: Any = wm.max(x[0], d[0])
    total = 0.5
    total = wm.sqrt(total) + d[0]
    f: Float64 = total
    h[1], x[1], d[1] = a, wm.min(1, b), c + f


@func
def four(x: Float32, *, name: Comptime[str]) -> Any:
    v = getattr(wm, name)(wm.iota(Float32, 4, x))
    return v[0], v[1], v[2], v[3]


@func
def single(x: Float32, *, name: Comptime[str]) -> Float32:
    return getattr(wm, name)(x)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "sqrt", "floor"])
@pytest.mark.parametrize("start", [0.5, 131070.0, 1e8])
def test_lanes_are_what_one_lane_is(name: str, start: float) -> None:
    starts = [start, start + 1, start + 2, start + 3]
    one: Any = single.bind(name=name)
    assert call(four.bind(name=name), start) == tuple(one(s) for s in starts)


@func
def lanes() -> Any:
    v = wm.iota(Int32, 4, 10, 3)
    m = wm.isnan(Float32.splat(4, 1.0))
    return v[0], v[1], v[2], v[3], m[2]


def test_iota() -> None:
    assert call(lanes) == (10, 13, 16, 19, False)


@kernel
def each(x: Pointer[Float32], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        x[i] = f(x[i])


@kernel
def each64(x: Pointer[Float64], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        x[i] = f(x[i])


def cubed(x: Any) -> Any:
    return wm.pow(x, 1.5)


def angle(x: Any) -> Any:
    return wm.atan2(x, 2.0)


def length(x: Any) -> Any:
    return wm.hypot(x, 2.0)


taken_apart: Any = wm.frexp


def rebuilt(x: Any) -> Any:
    return wm.ldexp(*taken_apart(x)) + wm.modf(x)[0] + wm.nextafter(x, 1.0)


@pytest.mark.parametrize("target", ["sm_70", "sm_90", "x86-64-v3", "aarch64"])
@pytest.mark.parametrize("k", [each, each64])
def test_no_target_needs_a_library(k: Any, target: str) -> None:
    others = [wm.acosh, wm.exp10, cubed, angle, length, rebuilt]
    for f in [*(getattr(wm, name) for name in FLOATS), *others]:
        text = str(compile_info(k, target=target, f=f))
        calls = re.findall(r"^\s*(?:call|callq|bl|jmp)\b[^\n]*", text, re.MULTILINE)
        named = [
            c for c in calls if re.search(r"\b(f?mod|fma|exp|log|sin|cos|tan|pow|floor|sqrt|round)f?\b", c)
        ]
        assert not named, (f, named)
        if target.startswith("sm_"):
            assert ".extern" not in text
            assert "call" not in text


@pytest.mark.parametrize("f", [wm.sin, wm.log2, cubed, wm.erfc])
def test_products_and_sums_stay_apart(f: Any) -> None:
    """What is computed in two numbers would be wrong if a target fused it."""
    assert "contract" not in str(compile_info(each, target="sm_90", emission_kind="llvm", f=f))


def refusal(f: Any) -> str:
    with pytest.raises(CompileError) as caught:
        compile_info(f, target="sm_90")
    return str(caught.value)


def test_an_integer_is_refused() -> None:
    @kernel
    def wrong(x: Pointer[Int]) -> None:
        x[0] = wm.sqrt(x[0])

    text = refusal(wrong)
    assert "sqrt takes floats, not Int" in text
    assert "write sqrt(Float32(x))" in text
    assert "x[0] = wm.sqrt(x[0])" in text


def test_mixed_types_are_refused() -> None:
    @kernel
    def wrong(x: Pointer[Int32], y: Pointer[UInt32]) -> None:
        x[0] = wm.max(x[0], y[0])

    assert "`max` meets Int32 and UInt32" in refusal(wrong)


def test_bool_is_bool() -> None:
    @kernel
    def fine(x: Pointer[Float32]) -> None:
        flag: Bool = wm.isnan(x[0])
        if flag:
            x[0] = 0.0

    assert compile_info(fine, target="sm_90").name == "fine"
