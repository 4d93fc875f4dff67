"""What NVIDIA's assembler makes wrong code of, unless weft writes it otherwise."""

from __future__ import annotations

import re
import warnings
from typing import Any, TypeVar

import numpy as np
import pytest

from weft import (
    Bool,
    Float16,
    Float32,
    Float64,
    Floating,
    Int,
    Int8,
    Int16,
    Int32,
    PerformanceWarning,
    Pointer,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    kernel,
    math,
)
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import block, elect_one_sync, global_idx, lane_id, warp
from weft.gpu.host import DeviceContext
from weft.memory import stack_allocation


@kernel
def left_over(n: Int, x: UInt64, out: Pointer[UInt64]):
    kept = stack_allocation(UInt32, 16)
    first = kept[n & 1]
    for i in range(n & 3):
        out[i + 1] = 1
    if x not in (0, 2, 15):
        for _ in [3, 1, 2]:
            for i in range(n & 3):
                kept[8 + (n & 1)] = UInt32(i) if first else 10
        return
    out[0] = x + 1


@pytest.mark.parametrize("x", [0, 1, 2, 15, 16, 2**32, 2**32 + 2, 2**64 - 2])
def test_what_leaves_a_kernel(device: DeviceContext, x: int) -> None:
    out = np.zeros(5, np.uint64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(left_over, 3, x, out, grid_dim=1, block_dim=1)
    device.synchronize()
    assert out.tolist() == [x + 1 if x in (0, 2, 15) else 0, 1, 1, 1, 0]


def test_nothing_is_stored_that_nobody_reads() -> None:
    assert "st.local" not in str(compile_info(left_over, target="sm_90"))


@kernel
def by_lower_halves(x: UInt64, y: UInt64, out: Pointer[UInt64]):
    out[0] = x if Int32(x) >= Int32(y) else y
    out[1] = y if UInt32(x) > UInt32(y) else x
    out[2] = (y if Int32(y) > Int32(x) else x) >> 33


_WIDE = [0, 1, 12, 2**31, 2**32 + 3, 2**63 + 2**31 + 1, 2**64 - 2]


@pytest.mark.parametrize("x", _WIDE)
@pytest.mark.parametrize("y", _WIDE)
def test_wide_numbers_chosen_by_their_lower_halves(device: DeviceContext, x: int, y: int) -> None:
    out = np.zeros(3, np.uint64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(by_lower_halves, x, y, out, grid_dim=1, block_dim=1)
    device.synchronize()
    wide = np.array([x, y], np.uint64)
    (sx, sy), (ux, uy) = wide.astype(np.int32), wide.astype(np.uint32)
    assert out.tolist() == [x if sx >= sy else y, y if ux > uy else x, (y if sy > sx else x) >> 33]


def test_halves_are_chosen_one_by_one() -> None:
    text = str(compile_info(by_lower_halves, target="sm_90"))
    assert "selp.b64" not in text
    assert text.count("selp.b32") == 4


F = TypeVar("F", bound=Floating)


@kernel
def cut(p: Pointer[F], out: Pointer[F], halves: Pointer[Float16], n: Int):
    i = global_idx.x
    if i < n:
        x, half = p[i], p[i].cast(Float16)
        most = math.min(x, 1.0)
        out[i] = math.max(most, 0.0)
        out[n + i] = x.dtype(math.min(math.max(most, 0.0), 255.0).cast(UInt8))
        below = x * x if x * x < 1.0 else x.dtype(1)
        out[2 * n + i] = below if below > 0.0 else x.dtype(0)
        most = math.min(x + 1.0, 1.0)
        out[3 * n + i] = math.max(most, -0.0)
        out[4 * n + i] = math.min(math.max(x, 0.0), 1.0)
        halves[i] = math.max(math.min(half, 1.0), 0.0)
        kept = math.min(x, 1.0)
        out[5 * n + i] = math.max(kept, 0.0)
        for _ in range(n >> 4):  # none: but the register has another number there
            kept = math.fma(kept, kept, kept)
        out[6 * n + i] = kept


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_cut_to_0_and_1(device: DeviceContext, dtype: Any) -> None:
    tiny = 1e-40 if dtype is np.float32 else 1e-310
    given = np.array([np.nan, -np.nan, 0, -0.0, 1, -1, 2, -2, np.inf, -np.inf, 0.5, -0.5, tiny, -tiny], dtype)
    n = len(given)
    out, halves = np.zeros(7 * n, dtype), np.zeros(n, np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's arrays are copied
        device.enqueue_function(cut, given, out, halves, n, over=n)
    device.synchronize()
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        one, zero = dtype(1), dtype(0)
        square, more = given * given, given + one
        floor = np.fmax(np.fmin(given, one), zero)  # of nan the other number
        below = np.where(square < one, square, one)
        expected = [
            floor,
            np.trunc(floor),
            np.where(below > zero, below, zero),
            np.where(np.fmin(more, one) > zero, np.fmin(more, one), np.copysign(zero, -one)),
            np.fmin(np.fmax(given, zero), one),
            floor,
            np.fmin(given, one),
        ]
        expected[3][more == 0] = 0.0  # the sum of 1 and -1, which is more than -0.0
    np.testing.assert_array_equal(out.reshape(7, n), expected)
    np.testing.assert_array_equal(np.signbit(out.reshape(7, n)[3]), np.signbit(expected[3]))
    np.testing.assert_array_equal(halves, floor.astype(np.float16))


@pytest.mark.parametrize("bits", [32, 64])
def test_no_saturation_is_asked_for(bits: int) -> None:
    """NVIDIA's is 0 of nan, where these are 1; the other order, which is 0 as well, stays."""
    text = str(compile_info(cut, target="sm_90", F=Float32 if bits == 32 else Float64))
    assert text.count(f"max.f{bits}") == 2  # of the conversion to UInt8, and of the other order
    assert "max.f16" not in text
    assert "max.NaN.f16" in text
    assert text.count(f"shr.s{bits} %weft") >= 2


@kernel
def in_16_bits(x: Float32, y: Float64, out: Pointer[Int]):
    """Of such the assembler may compare a copy with half of another number (random program 270000041)."""
    short, signed, tiny = UInt16(x), Int16(y), Int8(y)
    out[0] = 1 if short < 2 else 0
    out[1] = 1 if signed < 2 else 0
    out[2] = 1 if tiny < 2 else 0


@pytest.mark.parametrize("number", [-70000.0, -1.0, 0.5, 1.0, 2.0, 200.0, 70000.0, float("nan")])
def test_a_float_in_16_bits_that_is_compared(device: DeviceContext, number: float) -> None:
    out = np.zeros(3, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(in_16_bits, number, number, out, grid_dim=1, block_dim=1)
    device.synchronize()
    assert out.tolist() == [int(not number >= 2.0)] * 3


def test_floats_become_integers_of_32_bits_first() -> None:
    text = str(compile_info(in_16_bits, target="sm_90"))
    assert "cvt.rzi.u32.f32" in text
    assert "16.f" not in text


@kernel
def unread_ballot(x: Pointer[Float32], asked: Bool):
    """The answer is nobody's, the question everybody's (random programs 420000047 and 420004349)."""
    lane = lane_id()
    x[lane] = x[lane] / x[lane + 32]
    _ = warp.ballot(asked)


def test_a_ballot_that_nobody_reads(device: DeviceContext) -> None:
    x = np.arange(1, 65, dtype=np.float32)
    right = x[:32] / x[32:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        device.enqueue_function(unread_ballot, x, True, grid_dim=1, block_dim=32)
    device.synchronize()
    np.testing.assert_array_equal(x[:32], right)
    assert "%lanemask_eq" in str(compile_info(unread_ballot, target="sm_90"))


@kernel
def told_together(flags: Pointer[Bool], x: Pointer[Float64], count: Pointer[Int32], kept: Pointer[Bool]):
    """The votes are used behind a loop that lanes leave one by one (random program 710001644)."""
    i = global_idx.x
    flag = flags[i]
    some, every, alike, one = warp.any(flag), warp.all(flag), warp.uniform(flag), elect_one_sync()
    x[i] = block.prefix_sum(x[i])
    number = Int32(0)
    while True:
        number, done = Atomic.compare_exchange(count, number, number + 1)
        if done:
            break
    if some:
        x[i] += 1000
    if every:
        x[i] += 10000
    if alike:
        x[i] += 100000
    if one:
        x[i] += 1000000
    kept[i] = flag


def test_votes_before_a_loop_that_lanes_leave_one_by_one(device: DeviceContext) -> None:
    flags = np.zeros((4, 32), bool)
    flags[1, [3, 17, 30]], flags[2] = True, True
    x, count, kept = np.ones((4, 32)), np.zeros(1, np.int32), np.zeros((4, 32), bool)
    right = np.arange(1.0, 129).reshape(4, 32)
    some, every = flags.any(axis=1, keepdims=True), flags.all(axis=1, keepdims=True)
    right += 1000 * some + 10000 * every + 100000 * (some == every)
    right[:, 0] += 1000000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        device.enqueue_function(told_together, flags, x, count, kept, grid_dim=1, block_dim=128)
    device.synchronize()
    np.testing.assert_array_equal(x, right)
    assert count[0] == 128
    np.testing.assert_array_equal(kept, flags)


def test_votes_are_numbers_to_the_assembler() -> None:
    text = str(compile_info(told_together, target="sm_90"))
    assert not re.search(r"vote\.sync\.\w+\.pred", text)
    assert text.count("vote.sync.ballot.b32") == 4
    assert "elect.sync" in text
    assert "elect.sync _" not in text
