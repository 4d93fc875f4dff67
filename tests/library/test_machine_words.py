"""What assemblers and code generators take for something else: bits of floats, signs, zeros, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import SIMD, Float32, Float64, Int, Int32, UInt32, UInt64, kernel
from weft.dtype import as_dtype
from weft.gpu import global_idx
from weft.lang import no_contraction
from weft.lang.number import number_class
from weft.layout import LayoutTensor
from weft.targets.ptxas import mended

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]


def low_bits(float_type: str, bits: int, kept: int) -> Any:
    element: Any = number_class(as_dtype(float_type))
    whole: Any = number_class(as_dtype(f"uint{bits}"))
    part: Any = number_class(as_dtype(f"uint{kept}"))
    two: Any = SIMD[element, 2]

    def stored(x: Any, out: Any) -> None:
        i = global_idx.x
        out[0, i] = (x[i] + x[i]).bitcast(whole).cast(part)
        out[1, i] = (-x[i]).bitcast(whole).cast(part)
        out[2, i] = (x[i] if x[i] == x[i] else element(1.5)).bitcast(whole).cast(part)
        pair: Any = (two(x[i]) + x[0]).bitcast(whole).cast(part)
        out[3, i], out[4, i] = pair[0], pair[1]

    stored.__annotations__ = {"x": LayoutTensor[element], "out": LayoutTensor[part]}
    return kernel(stored)


@pytest.mark.parametrize(
    ("float_type", "bits", "kept"),
    [
        ("float64", 64, 32),
        ("float64", 64, 16),
        ("float64", 64, 8),
        ("float32", 32, 16),
        ("float32", 32, 8),
        ("float16", 16, 8),
    ],
)
def test_low_bits_of_a_float(launch: Launch, float_type: str, bits: int, kept: int) -> None:
    x = np.array([4.0, -4.0, 0.1, -0.3, 1e3, 7.7, float("nan"), 2.5], float_type)
    with np.errstate(invalid="ignore"):
        y = np.where(np.isnan(x), np.array(1.5, float_type), x)
        values = np.stack([x + x, -x, y, x + x[0], x + x[0]])
    wanted = values.view(f"uint{bits}").astype(f"uint{kept}")
    out = np.zeros((5, x.size), f"uint{kept}")
    found = launch(low_bits(float_type, bits, kept), x, out, grid_dim=1, block_dim=x.size)[1]
    numbers = ~np.isnan(values)  # which nan there is, is open
    assert found[numbers].tolist() == wanted[numbers].tolist()


@kernel
def chains(x: LayoutTensor[Int32], out: LayoutTensor[Int32]) -> None:
    i = global_idx.x
    a, b, c = x[3 * i], x[3 * i + 1], x[3 * i + 2]
    out[i, 0] = max(max(a, -b), c)
    out[i, 1] = min(min(-a, b), -c)
    out[i, 2] = max(max(-a, -b), -c)
    out[i, 3] = min(abs(a), 0)
    out[i, 4] = (-a >> 4) + ~a
    out[i, 5] = 1 if abs(a) < 0 else 0


def test_signs_within_extremes(launch: Launch) -> None:
    rng = np.random.default_rng(5)
    x = rng.choice(np.array([-(2**31), 2**31 - 1, 0, 1, -1, 7, -100, 12345, -99999], np.int32), 3 * 64)
    a, b, c = x.reshape(-1, 3).T
    with np.errstate(over="ignore"):
        wanted = [
            np.maximum(np.maximum(a, -b), c),
            np.minimum(np.minimum(-a, b), -c),
            np.maximum(np.maximum(-a, -b), -c),
            np.minimum(np.abs(a), 0),
            (-a >> 4) + ~a,
            (np.abs(a) < 0).astype(np.int32),
        ]
    found = launch(chains, x, np.zeros((64, 6), np.int32), grid_dim=1, block_dim=64)[1]
    assert found.tolist() == np.stack(wanted, axis=1).tolist()


def zeros(dtype: str) -> Any:
    element: Any = number_class(as_dtype(dtype))
    two: Any = SIMD[element, 2]

    def extremes(x: Any, out: Any) -> None:
        i = global_idx.x
        v = x[i]
        out[0, i], out[1, i] = max(-0.0, v), max(0.0, v)
        out[2, i], out[3, i] = min(-0.0, v), min(0.0, v)
        out[4, i], out[5, i] = max(v, -0.0), min(v, 0.0)
        least, most = element(0.0), element(-0.0)
        if v < least:
            least = v
        if v > most:
            most = v
        out[6, i], out[7, i] = least, most
        pair: Any = two(v)
        most_of: Any = (pair > -0.0).select(pair, -0.0)
        out[8, i], out[9, i] = most_of[0], (pair < 0.0).select(pair, 0.0)[1]

    extremes.__annotations__ = {"x": LayoutTensor[element], "out": LayoutTensor[element]}
    return kernel(extremes)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_of_zeros_are_the_first(launch: Launch, dtype: str) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf")], dtype)
    wanted = [
        [max(-0.0, v), max(0.0, v), min(-0.0, v), min(0.0, v), max(v, -0.0), min(v, 0.0)]
        + [min(0.0, v), max(-0.0, v), max(-0.0, v), min(0.0, v)]
        for v in x.tolist()
    ]
    found = launch(zeros(dtype), x, np.zeros((10, x.size), dtype), grid_dim=1, block_dim=x.size)[1]
    assert [[str(v) for v in row] for row in found.T.tolist()] == [[str(v) for v in row] for row in wanted]


def rounded(x: Any, y: Any) -> Any:
    with no_contraction():
        return x * y


@kernel
def rounded_products(x: LayoutTensor[Float32], y: LayoutTensor[Float64], out: LayoutTensor[Float64]) -> None:
    i = global_idx.x
    single, double = rounded(x[i], x[i + 1]), rounded(y[i], y[i + 1])
    out[i, 0] = Float64(x[i + 2] + -single)
    out[i, 1] = Float64(x[i + 2] - single)
    out[i, 2] = y[i + 2] + -double
    out[i, 3] = -double - y[i + 2]


def test_products_stay_apart_behind_a_sign(launch: Launch) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal(66).astype(np.float32), rng.standard_normal(66)
    single, double = x[:64] * x[1:65], y[:64] * y[1:65]
    wanted = [x[2:] - single, x[2:] - single, y[2:] - double, -double - y[2:]]
    out = np.zeros((64, 4))
    found = launch(rounded_products, x, y, out, grid_dim=1, block_dim=64)[2]
    assert found.tolist() == np.stack([w.astype(np.float64) for w in wanted], axis=1).tolist()


def halved(dtype: str) -> Any:
    element: Any = number_class(as_dtype(dtype))

    def quotients(x: Any, out: Any) -> None:
        i = global_idx.x
        out[0, i] = x[i] / 2 + x[i]
        out[1, i] = x[i] - x[i] / 2
        out[2, i] = x[i] / 0.5 - x[i]

    quotients.__annotations__ = {"x": LayoutTensor[element], "out": LayoutTensor[element]}
    return kernel(quotients)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_division_by_two_is_rounded(launch: Launch, ptx: Ptx, dtype: str) -> None:
    """LLVM makes a product of it, which is none that may become an fma."""
    numbers = np.finfo(dtype)
    tiny = float(numbers.smallest_subnormal) * np.arange(9)
    x = np.array([*tiny, float(numbers.max), -float(numbers.max), 3.0], dtype)
    two = x.dtype.type(2)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.stack([x / two + x, x - x / two, x * two - x])
    out = np.zeros((3, x.size), dtype)
    found = launch(halved(dtype), x, out, grid_dim=1, block_dim=x.size)[1]
    np.testing.assert_array_equal(found, wanted)
    assert "fma" not in ptx(halved(dtype), x, out)


@kernel
def falls_past_zero(x: LayoutTensor[UInt32], out: LayoutTensor[UInt32], n: Int) -> None:
    i = global_idx.x
    narrow, wide, counted = x[i], x[i], x[i]
    few = UInt32(i) & 3
    while few <= 0x80000001:
        few -= 1
        narrow ^= (narrow | 8) + narrow
    many = UInt64(i) & 3
    while many < 0x8000000000000001:
        many -= 1
        wide ^= (wide | 8) + wide
    for _ in range(n):
        for k in range(Int32(i) - 13 & 3, -2, -1):
            counted ^= (counted | 8) + counted
            for _ in range(0, k & 3, (k & 1) + 1):
                pass
    out[i, 0], out[i, 1], out[i, 2] = narrow, wide, counted


def test_what_falls_past_zero_ends(launch: Launch, ptx: Ptx) -> None:
    def after(value: int, rounds: int) -> int:
        for _ in range(rounds):
            value ^= (value | 8) + value & 0xFFFFFFFF
        return value

    x = np.arange(64, dtype=np.uint32) * np.uint32(0x9E3779B1)
    rounds = [((i & 3) + 1, (i & 3) + 1, 2 * len(range(i - 13 & 3, -2, -1))) for i in range(64)]
    wanted = [[after(int(v), n) for n in row] for v, row in zip(x, rounds, strict=True)]
    found = launch(falls_past_zero, x, np.zeros((64, 3), np.uint32), 2, grid_dim=1, block_dim=64)[1]
    assert found.tolist() == wanted
    assert '.pragma "nounroll";' in ptx(falls_past_zero, x, found, 2)


def test_an_accumulating_product_is_one_fma_where_it_may(ptx: Ptx) -> None:
    @kernel
    def fused(x: LayoutTensor[Float32], out: LayoutTensor[Float32]) -> None:
        i = global_idx.x
        out[i] += x[i] * x[i + 1]

    assert "fma.rn.f32" in ptx(fused, np.zeros(8, np.float32), np.zeros(8, np.float32))


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("\tst.global.b32 \t[%rd1], %r1;", None),
        ("\tst.global.b32 \t[%rd1], 7;", None),
        ("\tneg.s64 \t%rd1, %rd2;", None),
        ("\tst.param.b32 \t[out], %rd5;", "st.param.b32 \t[out], %weft0;"),
        ("\tst.v2.b8 \t[%rd1], {%rs1, %r2};", "st.v2.b8 \t[%rd1], {%weft0, %weft1};"),
        ("\tmax.u16 \t%rs1, %rs2, 3;", "max.u32 %weft1, %weft1, %weft2;"),
        (
            "\tadd.s16x2 \t%r3, %r1, %r2;",
            "\tadd.s16 %half1, %half1, %half3;\n\tmov.b32 %r3, {%half0, %half1}; }",
        ),
        ("\tmin.s16x2 \t%r3, %r1, %r2;", "cvt.s32.s16 %weft1, %half1; cvt.s32.s16 %weft2, %half3; min.s32"),
    ],
)
def test_what_is_written_instead(line: str, made: str | None) -> None:
    if made is None:
        assert mended(line) == line
    else:
        assert made in mended(line)


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        ("abs.f32 %r1, %r2;\nsetp.ge.f32 %p1, %r1, 0f00000000;", True),
        ("abs.f32 %r1, %r2;\nneg.f32 %r3, %r1;\nsetp.lt.f32 %p1, %r3, 0f3F800000;", True),
        (
            "mul.f32 %r1, %r2, %r2;\nmov.b32 %r9, 0f3F800000;\nadd.f32 %r3, %r1, %r9;\n"
            "setp.geu.f32 %p1, %r3, %r7;",
            True,
        ),
        ("abs.f32 %r1, %r2;\nadd.f32 %r3, %r1, %r2;\nsetp.gt.f32 %p1, %r3, 0fBF800000;", False),
        ("mul.f32 %r1, %r2, %r3;\nsetp.gt.f32 %p1, %r1, 0fBF800000;", False),
        ("abs.f32 %r1, %r2;\nsetp.neu.f32 %p1, %r1, 0f00000000;", False),
        ("abs.f64 %rd1, %rd2;\nsetp.ge.f64 %p1, %rd1, 0d0000000000000000;", False),
    ],
)
def test_which_comparisons_ask_for_nan(lines: str, asked: bool) -> None:
    assert (mended(lines) == lines) is not asked
    assert ("setp.nan.f32 %weft" if "geu" in lines else "setp.num.f32 %weft") in mended(lines) or not asked


@pytest.mark.parametrize(
    ("loop", "rolled"),
    [
        ("add.s32 %r1, %r1, -1;\nsetp.lt.u32 %p1, %r1, -2147483647;", True),
        ("add.s64 %rd2, %rd1, -4;\nsetp.ge.u64 %p1, %rd9, %rd2;\nmov.b64 %rd1, %rd2;", True),
        ("add.s64 %rd2, %rd1, -4;\nsetp.ge.u64 %p1, %rd9, %rd2;", False),
        ("add.s32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;", False),
        ("add.s32 %r1, %r1, -1;\nsetp.gt.s32 %p1, %r1, -1;", False),
        ("add.s32 %r1, %r1, -1;\nsetp.gt.u32 %p1, %r1, 3;", False),
    ],
)
def test_which_loops_the_assembler_may_not_unroll(loop: str, rolled: bool) -> None:
    head = ".version 7.8\n.target sm_90\n.address_size 64\n"
    assert mended(head + loop) == (f'{head}.pragma "nounroll";\n{loop}' if rolled else head + loop)
