"""Literals, and what is made of literals: they take the type of what they meet, exactly."""

# What weft converts is of another type to pyright, which knows of no conversions.
# pyright: reportReturnType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Bool, Float16, Float32, Float64, Int, Int8, Int32, Pointer, UInt8, func, kernel, struct
from weft.compile import compile_info
from weft.diagnostics import CompileError
from weft.gpu.host import DeviceContext


def run(k: Any, x: list[float], kind: Any) -> list[Any]:
    ctx = DeviceContext(api="cpu")
    out = np.zeros(len(x), kind)
    ctx.enqueue_function(k, np.array(x), out, len(x), grid_dim=1, block_dim=1)
    ctx.synchronize()
    return out.tolist()


@kernel
def product(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        out[i] = x[i] * (1.0 if x[i] > 0.0 else 0.1)


@kernel
def converted(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        out[i] = Float64(0.1 if x[i] > 0.0 else 0.2)


@kernel
def bytes_of(x: Pointer[Float64], out: Pointer[UInt8], n: Int):
    for i in range(n):
        out[i] = 255 if x[i] > 0.0 else 0


@kernel
def halves(x: Pointer[Float64], out: Pointer[Float16], n: Int):
    for i in range(n):
        out[i] = 1.0 if x[i] > 0.0 else 0.1


@kernel
def two_types(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        w = 0.1 if x[i] > 0.0 else 0.2
        out[i] = Float64(Float32(x[i]) * w) + x[i] * w


def test_conditional_literals() -> None:
    assert run(product, [-1.0, 2.0], np.float64) == [-0.1, 2.0]
    assert run(converted, [-1.0, 2.0], np.float64) == [0.2, 0.1]
    assert run(bytes_of, [-1.0, 2.0], np.uint8) == [0, 255]
    assert run(halves, [-1.0, 2.0], np.float16) == [float(np.float16(0.1)), 1.0]
    assert run(two_types, [-1.0, 2.0], np.float64) == [2 * -1.0 * 0.2, 2 * 2.0 * 0.1]


@kernel
def of_two_types(x: Pointer[Float64], out: Pointer[Float16], n: Int):
    for i in range(n):
        w = 1.5 if x[i] > 0.0 else 0.0
        total = Float32(1.0) * w
        out[i] = w if total > 1.0 else Float16(0.0)


@kernel
def two_integers(x: Pointer[Float64], out: Pointer[Int32], n: Int):
    for i in range(n):
        v = 255 if x[i] > 0.0 else 7
        out[i] = Int32(UInt8(1) * v) + v


@func
def returned(x: Float64) -> Float64:
    if x > 0.0:
        return 0.1
    return 0.2


@func
def looped(x: Float64):
    r = 0.1
    while x > 0.0:
        r = 0.3
        x -= 1.0
    return r


@func
def typed(x: Float64) -> Float64:
    r = 0.1
    if x > 0.0:
        r = 0.3
    return r


@func
def nested(x: Float64):
    return (0.1 if x > 0.0 else 0.2, 255 if x > 0.0 else 1)


@kernel
def calls(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        out[i] = returned(x[i]) + typed(x[i]) * x[i]


@kernel
def tuples(x: Pointer[Float64], out: Pointer[Int], n: Int):
    for i in range(n):
        _, out[i] = nested(x[i])


def test_several_returns() -> None:
    assert [returned(1.0), returned(-1.0)] == [0.1, 0.2]
    assert [looped(1.0), looped(-1.0)] == [0.3, 0.1]
    assert [typed(1.0), typed(-1.0)] == [0.3, 0.1]
    assert nested(1.0) == (0.1, 255)
    assert run(calls, [1.0, -1.0], np.float64) == [0.1 + 0.3, 0.2 + 0.1 * -1.0]
    assert run(tuples, [1.0, -1.0], np.int64) == [255, 1]
    assert run(two_integers, [1.0, -1.0], np.int32) == [510, 14]


@kernel
def sums(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    total = 0.0
    for i in range(n):
        total += Float32(x[i])
    out[0] = total


def test_a_sum_of_float32_is_one_and_is_widened_when_stored() -> None:
    assert run(sums, [0.1, 0.2], np.float64)[0] == float(np.float32(0.1) + np.float32(0.2))


@func
def leak(x: Float32):
    return 1.0 if x > 0.0 else 0.1


@func
def early(x: Float32):
    if x > 0.0:
        return 0.1
    return 0.2


@kernel
def single(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    w = (0.1 if x[0] > 0.0 else 0.2) + (0.3 if x[1] > 5.0 else 0.4)
    total = 0.0
    for _ in range(n):
        total += 0.1
    out[0] = x[2] * w + total * (n * (0.1 if n > 3 else 0.7)) + leak(x[0]) * early(x[1])
    out[1] = max(x[0], 0.1 if n > 3 else 0.3)


def test_no_float64_remains_where_all_met_float32() -> None:
    assert ".f64" not in str(compile_info(single, target="sm_90"))


@func
def with_flag(x: Float64):
    return (x > 0.0) + (1 if x > 1.0 else 5)


@func
def lanes(x: Float64):
    return (Float64.splat(2, x) > 0.0).select(0.1, 0.2)


@func
def holds(x: Float64) -> Bool:
    return True if x > 0.0 else False


@func
def not_held(n: Int):
    total = 0.0
    for i in range(n):
        total = i
    return total


def test_flags_and_lanes() -> None:
    assert [with_flag(2.0), with_flag(0.5), with_flag(-1.0)] == [2, 6, 5]
    assert [lanes(1.0), lanes(-1.0)] == [(0.1, 0.1), (0.2, 0.2)]
    assert [holds(1.0), holds(-1.0)] == [True, False]
    with pytest.raises(CompileError, match="`total` is Float32, but becomes Int here"):
        not_held(3)


@kernel
def wraps(x: Pointer[Float64], out: Pointer[UInt8], n: Int):
    for i in range(n):
        out[i] = (255 if x[i] > 0.0 else 0) + 1


def test_a_literal_is_a_number_of_its_type_from_the_first() -> None:
    assert run(wraps, [1.0, -1.0], np.uint8) == np.array([256, 1]).astype(np.uint8).tolist()


@kernel
def too_large(x: Pointer[Float32], out: Pointer[UInt8]):
    out[0] = (255 if x[0] > 0.0 else 0) + 256


@kernel
def asks_for_64(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        out[i] = looped(x[i])


@kernel
def both(x: Pointer[Float32], out: Pointer[UInt8], other: Pointer[Int8]):
    v = 255 if x[0] > 0.0 else 0
    out[0] = v
    other[0] = v


@kernel
def counted(out: Pointer[Int32], other: Pointer[Int], n: Int):
    r = 0
    for _ in range(n):
        r += 1
    out[0] = r
    other[0] = r


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (too_large, "256 does not fit UInt8"),
        (both, "a UInt8 does not become an Int8 by itself"),
        (of_two_types, "a Float32 does not become a Float16 by itself"),
        (asks_for_64, "nothing in looped types what it returns, so it is Float32, but meets Float64 here"),
        (counted, "an Int does not become an Int32 by itself"),
    ],
)
def test_what_does_not_fit_is_refused(k: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_info(k)


@kernel
def counts(x: Pointer[Float64], out: Pointer[Float64], n: Int):
    for i in range(n):
        best = 0.0
        if x[i] > best:
            best = x[i]
        level = 0
        if x[i] > 0.5:
            level = 3
        out[i] = best + level * 0.1


def test_variables_of_literals() -> None:
    assert run(counts, [0.25, 0.75, -1.0], np.float64) == [0.25, 0.75 + 3 * 0.1, 0.0]


@struct
class Pair:
    first: Float32
    second: Any

    def sum(self) -> Float32:
        return self.first + self.second


@func
def level_of(x: Float64):
    return 0.5 if x > 0.0 else 0.25


@kernel
def held(x: Pointer[Float64], out: Pointer[Float32], n: Int):
    pair, both = Pair(level_of(x[0]), level_of(x[1])), (level_of(x[0]), 2)
    for i in range(n):
        if x[i] > 2.0:
            pair, both = Pair(Float32(x[i]), Float32(x[i])), (Float32(x[i]), 3)
        out[i] = pair.sum() + both[0]


def test_results_that_nothing_types_in_structs_and_tuples() -> None:
    assert run(held, [1.0, -1.0, 3.0], np.float32) == [0.75 + 0.5, 0.75 + 0.5, 6.0 + 3.0]


@func
def of_a_long_constant(x: Float64, n: Int) -> Float64:
    long, total = Int(2**24 + 1), 0.0
    for _ in range(n):
        total += long + 0.5
    return (long / 2.0 + total) * x


@func
def of_a_short_float(x: Float32) -> Float32:
    return of_a_long_constant(Float64(x), 1).cast(Float32) + (Int(2**24 + 1) + 0.5) * x


def test_a_constant_that_no_float32_holds_waits_for_a_float64() -> None:
    assert of_a_long_constant(3.0, 2) == ((2**24 + 1) / 2.0 + 2 * (2**24 + 1.5)) * 3.0
    with pytest.raises(CompileError, match="no Float32 is 16777217") as info:
        of_a_short_float(1.0)
    assert "was called from" not in str(info.value)
