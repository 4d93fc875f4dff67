"""What weft.math counts, and what goes through several numbers, beside Python's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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

PAIRS = [(n, k) for n in (*range(-2, 12), 33, 40, 66, 67, 70, 131) for k in (*range(-1, 7), 31, 33, 35, 70)]
ROOTS = [0, 1, 2, 3, 4, 8, 9, 2**31, 2**52 - 1, 2**63 - 1, 10**18, -5]
ROOTS.extend(n * n + d for n in (2**26 + 1, 94906267, 2**31 - 1, 3000000019, 3037000499) for d in (-1, 0, 1))


def wrapped(value: int, bits: int = 64) -> int:
    """An integer in so many bits."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def counted(n: int, k: int, name: str) -> int:
    """What Python says; 0 where it raises."""
    return 0 if n < 0 or k < 0 else wrapped(getattr(math, name)(n, k))


@kernel
def counts(n: Pointer[Int], k: Pointer[Int], out: Pointer[Int], size: Int):
    i = global_idx.x
    if i < size:
        out[4 * i] = wm.comb(n[i], k[i])
        out[4 * i + 1] = wm.perm(n[i], k[i])
        out[4 * i + 2] = wm.factorial(n[i])
        out[4 * i + 3] = Int(wm.comb(Int32(n[i]), Int32(k[i])))


@kernel
def roots(n: Pointer[Int], u: Pointer[UInt64], out: Pointer[Int], wide: Pointer[UInt64], size: Int):
    i = global_idx.x
    if i < size:
        out[i] = wm.isqrt(n[i])
        wide[i] = wm.isqrt(u[i])


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_choices_are_pythons(device: DeviceContext) -> None:
    n, k = (np.array(column, np.int64) for column in zip(*PAIRS, strict=True))
    out = np.zeros((len(PAIRS), 4), np.int64)
    device.enqueue_function(counts, n, k, out.reshape(-1), len(PAIRS), grid_dim=8, block_dim=32)
    device.synchronize()
    wanted = [
        [
            counted(a, b, "comb"),
            counted(a, b, "perm"),
            counted(a, a, "perm"),
            wrapped(counted(a, b, "comb"), 32),
        ]
        for a, b in PAIRS
    ]
    assert out.tolist() == wanted


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_roots_are_pythons(device: DeviceContext) -> None:
    n = np.array(ROOTS, np.int64)
    u = n.astype(np.uint64) | np.uint64(1 << 63)
    out, wide = np.zeros(len(n), np.int64), np.zeros(len(n), np.uint64)
    device.enqueue_function(roots, n, u, out, wide, len(n), grid_dim=1, block_dim=32)
    device.synchronize()
    assert out.tolist() == [math.isqrt(max(v, 0)) for v in ROOTS]
    assert wide.tolist() == [math.isqrt(v) for v in u.tolist()]


@func
def products(a: Int, x: Float32, y: Float64) -> Any:
    p, q = (x, 2.5, -1.0), (0.5, x, 3.0)
    return wm.prod([a, 3, a]), wm.prod((x, x), start=2.0), wm.dist(p, q), wm.dist((y,), (2.0,)), wm.prod(())


@pytest.mark.parametrize("x", [0.0, 3.5, 1e30, -7.25])
def test_of_several_numbers(x: float) -> None:
    single = np.float32(x)
    product, squared, apart, line, nothing = products(5, x, x)
    assert (product, line, nothing) == (75, abs(x - 2.0), 1)
    with np.errstate(over="ignore"):
        assert squared == single * np.float32(2.0) * single
    exact = math.dist((float(single), 2.5, -1.0), (0.5, float(single), 3.0))
    assert apart == pytest.approx(exact, rel=2.0**-22)


@func
def last_bits(x: Float64) -> tuple[Float64, Float64, Float64, Float64]:
    half, brain = Float64(wm.ulp(Float16(x))), Float64(wm.ulp(BFloat16(x)))
    return half, brain, Float64(wm.ulp(Float32(x))), wm.ulp(x)


@pytest.mark.parametrize(
    ("place", "digits", "least", "top"),
    [(0, 11, 2.0**-24, 15), (1, 8, 2.0**-133, 127), (2, 24, 2.0**-149, 127), (3, 53, 2.0**-1074, 1023)],
)
def test_ulp(place: int, digits: int, least: float, top: int) -> None:
    def last(x: float) -> float:
        return float(last_bits(x)[place])

    most = math.ldexp(2.0 - 2.0 ** (1 - digits), top)
    for x in (1.0, -1.0, 1.5, 2.0, 0.375, 100.0, 2.0**-14, most, -most):
        assert last(x) == 2.0 ** (math.frexp(x)[1] - digits)
    assert (last(0.0), last(-0.0), last(least)) == (least, least, least)
    assert last(math.inf) == last(-math.inf) == math.inf
    assert math.isnan(last(math.nan))


def test_python_numbers_are_pythons() -> None:
    assert (wm.isqrt(99), wm.factorial(30), wm.comb(100, 50)) == (9, math.factorial(30), math.comb(100, 50))
    assert (wm.perm(7, 3), wm.perm(7), wm.ulp(-3.0)) == (210, 5040, math.ulp(-3.0))
    assert (wm.fsum([1e100, 1.0, -1e100]), wm.dist([0, 3], [4, 0]), wm.prod(range(1, 6))) == (1.0, 5.0, 120)
    with pytest.raises(ValueError, match="nonnegative"):
        wm.isqrt(-1)


@func
def summed(x: Float64) -> Any:
    items: Any = [x, x]
    return wm.fsum(items)


@func
def of_floats(x: Float64) -> Float64:
    return wm.factorial(x)


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="for which a kernel has no memory"):
        summed(1.0)
    with pytest.raises(CompileError, match="factorial takes integers of one lane, not Float64"):
        of_floats(1.0)


@pytest.mark.parametrize("kind", [Int8, Int])
def test_common_divisors_of_constants_are_of_their_type(kind: Any) -> None:
    @func
    def run_time(a: Any, b: Any) -> Any:
        return wm.gcd(a, b), wm.lcm(a, b)

    least = int(kind.dtype.least)
    for a, b in [(12, -18), (least, least), (least, 0), (0, 0), (7, 3)]:
        found = wm.gcd(kind(a), kind(b)), wm.lcm(kind(a), kind(b))
        assert [type(n) for n in found] == [kind, kind]
        assert tuple(int(n) for n in found) == tuple(map(int, run_time(kind(a), kind(b))))
        if a != least:
            assert int(found[0]) == math.gcd(a, b)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "gamma", "lgamma", "exp", "cbrt"])
@pytest.mark.parametrize("kind", [Float32, Float64, Float16])
def test_constants_of_lanes_are_computed_on_the_host(name: str, kind: Any) -> None:
    """Lane by lane as one number is, at angles of each way to reduce them too."""
    numbers = (0.5, -3.0, 1e4 if kind is Float16 else 1e30, math.inf)
    function: Any = getattr(wm, name)
    found = function(kind.simd(*numbers))
    np.testing.assert_array_equal(
        [float(lane) for lane in found.value], [float(function(kind(x))) for x in numbers]
    )


def test_numpys_numbers_are_those_of_python() -> None:
    half: Any = np.float32(1.5)
    assert [getattr(wm, name)(half) for name in ("trunc", "floor", "round", "sqrt")] == [1, 1, 2, 1.5**0.5]
    assert wm.fma(half, 3, np.int32(4)) == 8.5
    assert wm.min(np.float64(2), half, 3) == 1.5


def test_a_power_of_two_beyond_the_range_is_infinite() -> None:
    assert (wm.ldexp(1.0, 2000), wm.ldexp(-1.0, 2000), wm.ldexp(1.0, -2000)) == (math.inf, -math.inf, 0.0)


def test_a_distance_of_integers_is_refused() -> None:
    with pytest.raises(CompileError, match="dist takes floats, not UInt"):
        wm.dist((UInt64(1),), (UInt64(2),))  # whose difference wraps around
    with pytest.raises(CompileError, match=r"write gcd\(Int\(a\), Int\(b\)\)"):
        wm.gcd(Int(4), 6.0)
