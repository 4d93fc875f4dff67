"""weft.numerics: the limits of number types, against NumPy's finfo and iinfo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft import (
    BFloat16,
    Bool,
    CompileError,
    Comptime,
    Float8_e4m3fn,
    Float8_e5m2,
    Float32,
    Int32,
    func,
    iota,
    kernel,
    numerics,
)
from weft.dtype import DType
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.math import min as math_min

LIMITS: Any = numerics
FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def named(name: str) -> Any:
    return getattr(weft, name.replace("uint", "UInt").replace("int", "Int").replace("float", "Float"))


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str) -> None:
    kind, info = named(name), np.finfo(name)
    assert type(numerics.max_finite(kind)) is kind
    assert float(numerics.max_finite(kind)) == float(info.max)
    assert float(numerics.min_finite(kind)) == float(info.min)
    assert float(numerics.epsilon(kind)) == float(info.eps)
    assert (float(numerics.inf(kind)), float(numerics.max_or_inf(kind))) == (math.inf, math.inf)
    assert float(numerics.min_or_neg_inf(kind)) == -math.inf
    assert math.isnan(float(numerics.nan(kind)))


@pytest.mark.parametrize("name", [n.replace("uI", "UI") for n in INTEGERS])
def test_integers(name: str) -> None:
    kind: Any = getattr(weft, name.replace("uint", "UInt").replace("int", "Int"))
    info = np.iinfo(name)
    assert (int(numerics.max_finite(kind)), int(numerics.min_finite(kind))) == (info.max, info.min)
    assert (int(numerics.max_or_inf(kind)), int(numerics.min_or_neg_inf(kind))) == (info.max, info.min)


def test_narrow_formats() -> None:
    assert (float(numerics.max_finite(BFloat16)), float(numerics.epsilon(BFloat16))) == (
        (2.0 - 2.0**-7) * 2.0**127,
        2.0**-7,
    )
    assert float(numerics.max_finite(Float8_e5m2)) == 57344.0
    assert (float(numerics.max_or_inf(Float8_e4m3fn)), float(numerics.min_or_neg_inf(Float8_e4m3fn))) == (
        448.0,
        -448.0,
    )
    assert (bool(numerics.max_finite(Bool)), bool(numerics.min_finite(Bool))) == (True, False)


@func
def in_code(x: Float32, n: Int32) -> Any:
    lanes = numerics.max_finite(type(Float32.splat(4, x)))
    return x + numerics.epsilon(type(x)), numerics.min_finite(Int32) + n, lanes[3]


def test_in_code() -> None:
    assert in_code(1.0, 1) == (1.0 + 2.0**-23, -(2**31) + 1, float(np.finfo(np.float32).max))


def refusal(f: Any, kind: Any) -> str:
    with pytest.raises(CompileError) as caught:
        f(kind)
    return str(caught.value)


def test_what_is_refused() -> None:
    text = refusal(numerics.inf, Int32)
    assert "inf takes a type of floats, not Int32" in text
    assert "write inf(Float32)" in text
    assert "max_finite takes a type of numbers, not the value 5" in refusal(numerics.max_finite, 5)
    text = refusal(numerics.inf, Float8_e4m3fn)
    assert "Float8_e4m3fn has no infinity" in text
    assert "write max_finite(Float8_e4m3fn)" in text
    assert "write max_finite(DType.float8_e4m3fn)" in refusal(numerics.inf, DType.float8_e4m3fn)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_a_dtype_is_its_type(name: str) -> None:
    kind, dtype = named(name), getattr(DType, name)
    functions = ["max_finite", "min_finite", "max_or_inf", "min_or_neg_inf"]
    for function in functions + ["inf", "epsilon"] * (name in FLOATS):
        found = getattr(numerics, function)(dtype)
        assert type(found) is kind
        assert float(found) == float(getattr(numerics, function)(kind))
    with pytest.raises(CompileError, match=r"inf takes a type of floats, not DType\.int32"):
        numerics.inf(DType.int32)


@kernel
def _least(x: LayoutTensor[Any], out: LayoutTensor[Any], *, dtype: Comptime[DType]):
    best = LIMITS.max_finite(dtype)
    for i in range(x.shape[0]):
        best = math_min(best, x[i])
    out[0] = best + iota(dtype, 4)[0]


@pytest.mark.parametrize("name", ["float32", "int16"])
def test_kernels_are_given_a_dtype(name: str, cpu: DeviceContext) -> None:
    x, out = np.array([5, -3, 9], name), np.zeros(1, name)
    cpu.enqueue_function(_least, x, out, dtype=getattr(DType, name), grid_dim=1, block_dim=1)
    cpu.synchronize()
    assert out[0] == x.min()
