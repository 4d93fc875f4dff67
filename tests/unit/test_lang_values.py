"""Structs, SIMD values, printing and assertions, as a function called from Python shows them."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from weft import (
    SIMD,
    BFloat16,
    Bool,
    CompileError,
    Comptime,
    DeviceError,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    UInt32,
    UInt64,
    func,
    struct,
)
from weft.lang import iota


# -- structs --------------------------------------------------------------------------------
@struct
class Particle:
    x: Float32
    n: Int

    def bump(self, k: Any) -> Particle:
        return Particle(self.x * k, self.n + 1)

    def clamped(self, limit: Any) -> Any:
        if self.x > limit:
            return limit
        return self.x

    def __add__(self, other: Particle) -> Particle:
        return Particle(self.x + other.x, self.n + other.n)

    def __neg__(self) -> Particle:
        return Particle(-self.x, -self.n)

    def __lt__(self, other: Particle) -> Bool:
        return self.x < other.x

    def __getitem__(self, i: int) -> Any:
        return self.x if i == 0 else Float32(self.n)

    @staticmethod
    def unit() -> Particle:
        return Particle(Float32(1.0), Int(0))

    @property
    def half(self) -> Float32:
        return self.x / 2


@struct
class Pair:
    a: Particle
    c: Particle


@func
def fields_in_loops(n: Int) -> Any:
    p = Particle(Float32(1.0), Int(0))
    for i in range(n):
        p.x = p.x * 2
        p.n += i
        if i == 2:
            p = p.bump(3)
    return p


@func
def values_not_references(x: Float32) -> Any:
    p = Particle(x, Int(1))
    q = copy.copy(p)
    q.x += 1.0
    pair = Pair(copy.copy(p), copy.copy(q))
    pair.a.x = 9.0
    return p.x, q.x, pair.a.x, pair.c.x


@func
def operators(x: Float32) -> Any:
    p = Particle(x, Int(1)) + Particle(Float32(2), Int(2))
    q = -p
    return (q.x, q.n, q < p, p[0], p[1]), (Particle.unit().x, p.half, p.clamped(2.5))


@func
def swapped(pair: Pair) -> Any:
    return Pair(pair.c, pair.a), pair.a.n


@func
def either(p: Particle, x: Any) -> Any:
    if x > 2:
        return p
    return -p


@func
def wrong_field(p: Particle) -> Any:
    p.y = 3  # pyright: ignore[reportAttributeAccessIssue]
    return p


def shown(p: Any) -> tuple[float, int]:
    return float(p.x), int(p.n)


def test_structs() -> None:
    made = fields_in_loops(4)
    assert type(made) is Particle
    assert shown(made) == (48.0, 7)
    assert values_not_references(1.0) == (1.0, 2.0, 9.0, 2.0)
    assert operators(1.0) == ((-3.0, -3, True, 3.0, 3.0), (1.0, 1.5, 2.5))
    back, n = swapped(Pair(Particle(1, 2), Particle(3, 4)))
    assert (shown(back.a), shown(back.c), n) == ((3.0, 4), (1.0, 2), 2)
    assert (shown(either(made, 3)), shown(either(made, 1))) == ((48.0, 7), (-48.0, -7))
    with pytest.raises(CompileError, match="no field `y`"):
        wrong_field(made)


def test_methods_from_python() -> None:
    p = Particle(Float32(1.5), Int(2))
    assert shown(p + p) == (3.0, 4)
    assert p.clamped(Float32(1.0)) == 1.0
    assert shown(p.bump(2)) == (3.0, 3)
    assert repr(p) == "Particle(x=Float32(1.5), n=Int(2))"


# -- SIMD -----------------------------------------------------------------------------------
@func
def lanes(a: Float32, *, which: Comptime[str]) -> Any:
    v = Float32.splat(4, a)
    w: Any = iota(Float32, 4)
    mask = w > v
    table: dict[str, Any] = {
        "select": mask.select(w, v),
        "any": any(mask),
        "all": all(mask),
        "sum": sum(w),
        "reduce": (w.reduce_add(), w.reduce_min(), w.reduce_max(), (w + 1).reduce_mul()),
        "shuffle": w.shuffle(3, 2, 1, 0),
        "join": w.shuffle(0, 4, other=v),
        "cast": (w * 1.5).cast(Int32),
        "lane": w[2],
        "insert": v.insert(1, 9.0),
        "mask": ~mask,
        "length": len(w),
        "fma": w.fma(v, 1.0),
        "extreme": min(w, v),
        "choice": w if a > 1 else v,
    }
    return table[which]


@func
def carried_lanes(n: Int) -> Any:
    total = Int.splat(4, 0)
    for i in range(n):
        total += iota(Int, 4) * i
    return total


@func
def doubled(v: SIMD[Float32, 4]) -> Any:
    return v * 2, v % 2 == 0, v // 2


@func
def integer_lanes(v: SIMD[Int8, 4], w: SIMD[Int8, 4]) -> Any:
    return v // w, v % w, v << w, v >> w, v * v, -v, ~v, abs(v), max(v, w)


@func
def small_lanes(a: BFloat16) -> Any:
    v = BFloat16.splat(8, a) + 1
    return v.reduce_add(), (v * v)[3], v.cast(Float16)[0]


@func
def mask_as_condition(v: SIMD[Float32, 4]) -> Any:
    if v > 0:
        return 1
    return 0


LANES = {
    "select": (1.5, 1.5, 2.0, 3.0),
    "any": True,
    "all": False,
    "sum": 6.0,
    "reduce": (6.0, 0.0, 3.0, 24.0),
    "shuffle": (3.0, 2.0, 1.0, 0.0),
    "join": (0.0, 1.5),
    "cast": (0, 1, 3, 4),
    "lane": 2.0,
    "insert": (1.5, 9.0, 1.5, 1.5),
    "mask": (True, True, False, False),
    "length": 4,
    "fma": (1.0, 2.5, 4.0, 5.5),
    "extreme": (0.0, 1.0, 1.5, 1.5),
    "choice": (0.0, 1.0, 2.0, 3.0),
}


@pytest.mark.parametrize("which", LANES)
def test_simd(which: str) -> None:
    assert lanes(Float32(1.5), which=which) == LANES[which]


def test_simd_arguments() -> None:
    assert carried_lanes(5) == (0, 10, 20, 30)
    even = (False, True, False, True)
    assert doubled((1, 2, 3, 4)) == ((2.0, 4.0, 6.0, 8.0), even, (0.0, 1.0, 1.0, 2.0))  # pyright: ignore[reportArgumentType]
    assert doubled(3)[0] == (6.0, 6.0, 6.0, 6.0)
    assert small_lanes(2) == (24.0, 9.0, 3.0)
    with pytest.raises(CompileError, match="one Bool"):
        mask_as_condition(1.0)


def test_simd_integers_compute_as_python() -> None:
    v, w = (-7, 7, -128, 5), (2, -2, -1, 0)
    results: Any = integer_lanes(v, w)  # pyright: ignore[reportArgumentType]
    assert results[0] == (-4, -4, -128, 0)
    assert results[1] == (1, -1, 0, 0)
    assert results[2] == (-28, 0, 0, 5)
    assert results[3] == (-2, 0, -1, 5)
    assert results[4] == (49, 49, 0, 25)
    assert results[5:] == ((7, -7, -128, -5), (6, -8, 127, -6), (7, 7, -128, 5), (2, 7, -1, 5))


# -- print and assert -----------------------------------------------------------------------
@func
def prints(a: Int8, c: UInt64, d: Float16, e: BFloat16, f: Float32, g: Float64, h: Bool) -> None:
    print(a, c, d, e, f, g, h)
    print(f"{a:5d}|{c:x}|{d:.2f}|{e:8.3e}|{f:>10}|{g:<12.4f}|{h}|{f!r}|{'x':>3}|{a!s}|{a:+d}")
    print(a, c, sep="-", end="!\n")
    print("v", Float32.splat(2, f), (f, a), [1, f], None, "100%", {"k": 1})
    print()
    print(f"{f}" + " tail", str(a), Float32(0.1), 0.1, True)
    print((a,), f"{(a, f)}", ("b", a))


@func
def prints_structs(p: Particle) -> None:
    print(p, f"{p}", f"{p.x:.2f} {p!r}")


PRINTED = """\
-5 18446744073709551615 0.1 0.1 0.1 0.1 True
   -5|ffffffffffffffff|0.10|1.001e-01|       0.1|0.1000      |True|0.1|  x|-5|-5
-5-18446744073709551615!
v [0.1, 0.1] (0.1, -5) [1, 0.1] None 100% {'k': 1}

0.1 tail -5 0.1 0.1 True
(-5,) (-5, 0.1) ('b', -5)
"""


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    prints(-5, 2**64 - 1, 0.1, 0.1, 0.1, 0.1, True)
    assert capsys.readouterr().out == PRINTED
    prints_structs(Particle(Float32(0.1), Int(3)))
    text = "Particle(x=0.1, n=3)"
    assert capsys.readouterr().out == f"{text} {text} 0.10 {text}\n"


@func
def floats(x: Any) -> None:
    print(x)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e10, "10000000000.0"),
        (1e16, "1e+16"),
        (1e-5, "1e-05"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (-0.0, "-0.0"),
        (Float32(16777216), "16777216.0"),
        (Float32(3.4e38), "3.4e+38"),
        (Float16(65504), "65500.0"),
        (BFloat16(3.14159), "3.14"),
        (1 / 3, "0.3333333333333333"),
        (Float32(1 / 3), "0.33333334"),
    ],
)
def test_print_floats(value: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    floats(value)
    assert capsys.readouterr().out == f"{text}\n"


@func
def asserts(n: Int) -> Any:
    assert n > 0, "must be positive"
    assert n < 10
    return n


@func
def asserts_at_compile_time(x: Any) -> Any:
    assert len(x) == 2, "two items"
    return x[0]


def test_assert() -> None:
    assert asserts(3) == 3
    with pytest.raises(DeviceError, match="must be positive"):
        asserts(0)
    with pytest.raises(DeviceError, match="n < 10"):
        asserts(10)
    assert asserts(4) == 4
    assert asserts_at_compile_time((1, 2)) == 1
    with pytest.raises(CompileError, match="two items"):
        asserts_at_compile_time((1, 2, 3))


@func
def of_constants(x: Int) -> Any:
    least, most = min(UInt32(4), UInt32(1), 9), max(Float32(0.5), Float32(2.5))
    return least, most, round(Float16(70000.0)), round(Float32(-2.5)), round(Float64(math.nan)), x


def test_extremes_and_rounding_of_typed_constants() -> None:
    assert of_constants(1) == (1, 2.5, 2**63 - 1, -2, 0, 1)
    assert round(Float64(1e300)) == 2**63 - 1
    assert round(Float64(-2.5)) == -2
