"""The errors of weft.math in ulp, on every device, against mpmath and NumPy's Float64."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ulp
import weft.math as wm
from ulp import Array, errors, one32, one64, two32, two64
from weft import BFloat16, Comptime, Float16, Float32, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

mpmath: Any = importlib.import_module("mpmath")

erf64: Callable[[Array], Array] = np.vectorize(math.erf, [np.float64])
erfc64: Callable[[Array], Array] = np.vectorize(math.erfc, [np.float64])

# name: NumPy's function in Float64, mpmath's, and the bounds in ulp for Float32 and Float64
ONE: dict[str, tuple[Callable[[Array], Array], str, float, float]] = {
    "acos": (np.arccos, "acos", 1.0, 1.0),
    "acosh": (np.arccosh, "acosh", 1.0, 1.0),
    "asin": (np.arcsin, "asin", 1.0, 1.0),
    "asinh": (np.arcsinh, "asinh", 1.0, 1.0),
    "atan": (np.arctan, "atan", 1.0, 1.0),
    "atanh": (np.arctanh, "atanh", 1.0, 1.0),
    "cbrt": (np.cbrt, "", 0.51, 0.51),
    "cos": (np.cos, "cos", 1.0, 1.0),
    "cosh": (np.cosh, "cosh", 2.0, 2.0),
    "degrees": (np.degrees, "degrees", 1.0, 1.0),
    "erf": (erf64, "erf", 1.2, 1.2),
    "erfc": (erfc64, "erfc", 2.5, 2.5),
    "exp": (np.exp, "exp", 1.0, 1.0),
    "exp10": (lambda x: np.power(10.0, x), "", 1.0, 1.0),
    "exp2": (np.exp2, "", 1.0, 1.0),
    "expm1": (np.expm1, "expm1", 1.1, 1.1),
    "log": (np.log, "log", 1.0, 1.0),
    "log10": (np.log10, "log10", 1.0, 1.0),
    "log1p": (np.log1p, "log1p", 1.0, 1.0),
    "log2": (np.log2, "", 1.2, 1.2),
    "radians": (np.radians, "radians", 1.0, 1.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), "", 1.5, 1.5),
    "sin": (np.sin, "sin", 1.0, 1.0),
    "sinh": (np.sinh, "sinh", 2.0, 2.0),
    "sqrt": (np.sqrt, "sqrt", 0.5, 0.5),
    "tan": (np.tan, "tan", 1.5, 1.5),
    "tanh": (np.tanh, "tanh", 2.0, 2.0),
}

# ends of ranges, places where the method changes, and angles that are huge or near multiples of pi/2
SPECIAL = (
    [0.0, math.inf, math.nan, 5e-324, 1e-310, 2.0**-1022, 1.7976931348623157e308, 1e-40, 2.0**-149, 3e38]
    + [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 0.47, 0.55, 0.9999999, 1.0000001, math.pi / 4, math.pi / 2, math.pi]
    + [2.0**17, 2.0**30, 88.7, 89.5, 103.9, 104.5, 709.7, 710.4, 745.1, 745.5, 3.92, 5.93, 10.05, 26.5, 27.3]
    + [6381956970095103.0 * 2.0**797, 16367173.0 * 2.0**72, 1e22, 1e300]
)


@kernel
def one16(x: Pointer[Float16], out: Pointer[Float16], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        out[i] = f(x[i])


@kernel
def through_bfloat(x: Pointer[Float32], out: Pointer[Float32], n: Int, *, f: Comptime[Any]) -> None:
    i = global_idx.x
    if i < n:
        out[i] = Float32(f(BFloat16(x[i])))


Run = Callable[..., Array]


@pytest.fixture(scope="module")
def run(device: DeviceContext) -> Run:
    return functools.partial(ulp.run, ctx=device)


def check(got: Array, exact: Array, bound: float, *arguments: Array) -> None:
    error = errors(got, exact)
    worst = int(np.argmax(error))
    at = [float(a[worst]) for a in arguments]
    message = f"{error[worst]} ulp at {at}: {got[worst]!r}, not {exact[worst]!r}"
    assert error[worst] <= bound, message


def numpy64(f: Callable[..., Array], *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        return f(*(a.astype(np.float64) for a in arrays))


@pytest.mark.parametrize("name", ONE)
def test_float32_over_all_magnitudes(run: Run, name: str) -> None:
    exact, _, bound, _ = ONE[name]
    step = 4093 if name.startswith("erf") else 1021
    patterns = np.arange(sum(map(ord, name)) % step, 2**32, step, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([patterns.view(np.float32), signed(np.float32)])
    check(run(one32, getattr(wm, name), x), numpy64(exact, x), bound, x)


def signed(kind: Any) -> Array:
    with np.errstate(all="ignore"):
        both = np.array(SPECIAL, np.float64).astype(kind)
    return np.concatenate([both, -both])


def samples64(seed: int, count: int) -> Array:
    rng = np.random.default_rng(seed)
    parts = [
        rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
        rng.uniform(-1, 1, count),
        rng.uniform(-30, 30, count),
        rng.uniform(-745, 745, count),
        rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-40, 40, count)),
        1 + rng.uniform(-0.5, 0.5, count) * np.exp2(-rng.uniform(0, 50, count)),
        np.round(rng.uniform(0, 1e5, count)) * (math.pi / 2),
        signed(np.float64),
    ]
    return np.concatenate(parts)


def exactly(name: str, *arguments: float) -> np.longdouble | float:
    """mpmath's value, with more bits than Float64 where the platform has them."""
    with mpmath.workprec(140):
        mp = mpmath.mp
        x = [mp.mpf(a) for a in arguments]
        own: dict[str, Callable[[], Any]] = {
            "exp2": lambda: mp.power(2, x[0]),
            "exp10": lambda: mp.power(10, x[0]),
            "cbrt": lambda: mp.sign(x[0]) * mp.cbrt(abs(x[0])),
            "log2": lambda: mp.log(x[0], 2),
            "rsqrt": lambda: 1 / mp.sqrt(x[0]),
        }
        value = own[name]() if name in own else getattr(mp, name)(*x)
        if isinstance(value, mpmath.mpc):
            return math.nan
        high = float(value)
        if not math.isfinite(high) or high == 0.0:
            return high
        return np.longdouble(high) + np.longdouble(float(value - mp.mpf(high)))


@pytest.mark.parametrize("name", ONE)
def test_float64_against_mpmath(run: Run, name: str) -> None:
    exact, mp_name, _, bound = ONE[name]
    x = samples64(7, 300)
    reference = numpy64(exact, x).astype(np.longdouble)  # inf, nan and signed zeros
    with np.errstate(all="ignore"):
        inside = np.flatnonzero(np.isfinite(reference) & (x != 0) & (np.abs(reference) > 0))
    for i in inside:
        reference[i] = exactly(mp_name or name, float(x[i]))
    check(run(one64, getattr(wm, name), x), reference, bound + 0.01, x)


FACTORIALS = np.concatenate(
    [
        np.random.default_rng(5).uniform(-60, 171, 150),
        np.random.default_rng(6).uniform(0, 10, 150),
        np.exp2(np.random.default_rng(7).uniform(-300, 300, 60)),
        *(at + np.exp2(-np.arange(1.0, 45, 4)) for at in (1.0, 2.0)),
        *(at - np.exp2(-np.arange(2.0, 45, 4)) for at in (1.0, 2.0)),
        np.arange(1.0, 19),
    ]
)


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=lambda kind: kind.__name__)
def test_gamma_and_its_logarithm(run: Run, kind: Any) -> None:
    with np.errstate(over="ignore"):
        x = FACTORIALS.astype(kind)
    x = x[np.isfinite(x) & ~((x <= 0) & (x == np.floor(x)))]
    single = kind is np.float32
    of = one32 if single else one64
    found = {name: run(of, getattr(wm, name), x) for name in ("gamma", "lgamma")}
    with mpmath.workdps(60):
        right = [mpmath.gamma(mpmath.mpf(float(v))) for v in x]
        logarithms = np.array([float(mpmath.log(abs(v))) for v in right])
        exact = np.array([exactly("gamma", float(v)) for v in x])
    check(found["gamma"], exact, 0.51 if single else 7.0, x)
    check(found["lgamma"][x > 0], logarithms[x > 0], 0.51 if single else 5.5, x[x > 0])
    np.testing.assert_allclose(found["lgamma"], logarithms, 1e-6 if single else 4e-15, 2e-15)


def test_gamma_at_its_ends(run: Run) -> None:
    x = np.array([0.0, -0.0, -3.0, math.inf, -math.inf, math.nan, 172.0, 5e-324, -200.5, -201.5, -1e300])
    inf, nan = math.inf, math.nan
    gammas, logarithms = run(one64, wm.gamma, x), run(one64, wm.lgamma, x)
    np.testing.assert_array_equal(gammas, [inf, -inf, nan, inf, nan, nan, inf, inf, -0.0, 0.0, nan])
    assert np.signbit(gammas[[8, 9]]).tolist() == [True, False]
    assert np.isinf(logarithms).tolist() == [True] * 5 + [False] * 5 + [True]
    assert np.isnan(logarithms).tolist() == [False] * 5 + [True] + [False] * 5
    whole = np.arange(1.0, 16)
    assert run(one64, wm.gamma, whole).tolist() == [math.factorial(n) for n in range(15)]


@pytest.mark.parametrize("name", ["asinh", "cbrt", "cos", "erf", "exp", "log", "sin", "sqrt", "tanh"])
def test_every_float16(run: Run, name: str) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    check(run(one16, getattr(wm, name), x), numpy64(ONE[name][0], x), 0.51, x)


@pytest.mark.parametrize("name", ["exp", "log", "sin"])
def test_bfloat16_is_rounded_from_float32(run: Run, name: str) -> None:
    x = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    got = run(through_bfloat, getattr(wm, name), x)
    exact = numpy64(ONE[name][0], x)
    with np.errstate(all="ignore"):
        ulp = np.ldexp(1.0, np.maximum(np.frexp(exact)[1] - 8, -133))
        usual = np.isfinite(exact) & (np.abs(exact) < 3e38)
        assert np.max(np.abs(got - exact)[usual] / ulp[usual]) <= 0.51
    assert np.array_equal(np.isnan(got), np.isnan(exact))


POWER_SPECIAL = [
    0.0,
    math.inf,
    1.0,
    0.5,
    2.0,
    3.0,
    1e30,
    2.0**24 + 1,
    2.0**53 + 2,
    3.5,
    1e-40,
    0.9999,
    1.0001,
]


def pairs(seed: int, kind: Any, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    top = 150 if kind is np.float32 else 1100

    def anything() -> Array:
        bits = rng.integers(0, 2**64, count, dtype=np.uint64)
        return (
            (bits >> np.uint64(32)).astype(np.uint32).view(np.float32)
            if top == 150
            else bits.view(np.float64)
        )

    near = 1 + rng.uniform(-1, 1, count) * np.exp2(-rng.uniform(0, 23 if top == 150 else 52, count))
    wide = np.abs(anything())
    special = np.array([*POWER_SPECIAL, *(-s for s in POWER_SPECIAL), math.nan])
    a, b = np.meshgrid(special, special)
    with np.errstate(all="ignore"):
        x = [anything(), np.abs(anything()), near, wide, -np.round(rng.uniform(0, 40, count)), a.ravel()]
        y = [anything(), rng.uniform(-2, 2, count)]
        y += [rng.uniform(-top, top, count) / np.log2(v.astype(np.float64)) for v in (near, wide)]
        y += [np.round(rng.uniform(-20, 20, count)), b.ravel()]
        return np.concatenate(x).astype(kind), np.concatenate(y).astype(kind)


def test_pow_float32(run: Run) -> None:
    x, y = pairs(3, np.float32, 200_000)
    check(run(two32, wm.pow, x, y), numpy64(np.power, x, y), 1.0, x, y)


def test_pow_float64(run: Run) -> None:
    x, y = pairs(4, np.float64, 400)
    reference = numpy64(np.power, x, y).astype(np.longdouble)
    with np.errstate(all="ignore"):
        inside = np.isfinite(reference) & (reference != 0) & (x > 0) & np.isfinite(x) & np.isfinite(y)
    for i in np.flatnonzero(inside):
        reference[i] = exactly("power", float(x[i]), float(y[i]))
    check(run(two64, wm.pow, x, y), reference, 1.01, x, y)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_atan2(run: Run, kind: Any) -> None:
    x, y = pairs(5, kind, 400)
    with np.errstate(all="ignore"):
        near = (x * np.exp2(np.random.default_rng(6).uniform(-30, 30, x.size))).astype(kind)
    y = np.where(np.arange(x.size) % 2 == 0, y, near)
    reference = numpy64(np.arctan2, y, x).astype(np.longdouble)
    inside = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0)
    for i in np.flatnonzero(inside):
        reference[i] = exactly("atan2", float(y[i]), float(x[i]))
    check(run(two32 if kind is np.float32 else two64, wm.atan2, y, x), reference, 1.01, y, x)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_hypot(run: Run, kind: Any) -> None:
    x, y = pairs(8, kind, 400)
    with np.errstate(all="ignore"):
        near = (x * np.exp2(np.random.default_rng(6).uniform(-30, 30, x.size))).astype(kind)
    y = np.where(np.arange(x.size) % 2 == 0, y, near)
    reference = numpy64(np.hypot, x, y).astype(np.longdouble)
    for i in np.flatnonzero(np.isfinite(reference) & (reference != 0)):
        reference[i] = exactly("hypot", float(x[i]), float(y[i]))
    check(run(two32 if kind is np.float32 else two64, wm.hypot, x, y), reference, 1.0, x, y)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sincos_is_sin_and_cos(run: Run, kind: Any) -> None:
    x = samples64(9, 200).astype(kind) if kind is np.float64 else pairs(9, kind, 500)[0]
    k = one32 if kind is np.float32 else one64
    for part, f in enumerate((wm.sin, wm.cos)):
        both = run(k, functools.partial(one_of_two, part), x)
        assert np.array_equal(both, run(k, f, x), equal_nan=True)


def one_of_two(part: int, x: Any) -> Any:
    return wm.sincos(x)[part]
