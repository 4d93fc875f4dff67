"""Loops that each thread leaves when it is done: as lanes of vectors they give what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Bool, Float32, Float64, Int, Int16, Int32, Int64, Pointer, UInt8, iota, kernel
from weft.compile import compile_info
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
Launch = Callable[..., list[Array]]


@kernel
def mandelbrot(out: Pointer[Int32], height: Int, width: Int, most: Int32):
    row, col = global_idx.y, global_idx.x
    if row < height and col < width:
        cx = -2.0 + Float32(col) * Float32(0.09)
        cy = -1.5 + Float32(row) * Float32(0.11)
        x, y = Float32(0.0), Float32(0.0)
        n = Int32(0)
        while n < most and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        out[row * width + col] = n


@pytest.mark.parametrize("block", [(32, 8), (5, 3), (1, 1)])
def test_mandelbrot(launch: Launch, device: DeviceContext, block: tuple[int, int]) -> None:
    height, width, most = 27, 33, 100
    cx = np.float32(-2) + np.arange(width, dtype=np.float32)[None, :] * np.float32(0.09)
    cy = np.float32(-1.5) + np.arange(height, dtype=np.float32)[:, None] * np.float32(0.11)
    x, y, expected = (np.zeros((height, width), t) for t in (np.float32, np.float32, np.int32))
    for _ in range(most):
        inside = x * x + y * y <= 4
        expected += inside
        x[:], y[:] = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    grid = -(-width // block[0]), -(-height // block[1])
    out = np.zeros((height, width), np.int32)
    (out,) = launch(mandelbrot, out, height, width, np.int32(most), grid_dim=grid, block_dim=block)
    differing = float(np.mean(np.not_equal(out, expected)))
    assert differing <= (0 if device.api == "cpu" else 0.02)  # GPUs may fuse products and sums


@kernel
def collatz(start: Pointer[Int64], out: Pointer[Int64], n: Int):
    """Lanes with a block's numbers beside their own, branches, and steps that only some take."""
    i = block_idx.x * block_dim.x + thread_idx.x
    if i >= n:
        return
    value, steps, largest = start[i], Int(0), Int(0)
    while value != 1 and value > 0:
        if value % 2 == 0:
            value //= 2
        else:
            value = value * 3 + 1
            if value > largest:
                largest = value
        steps += 1
    out[2 * i] = steps
    out[2 * i + 1] = largest + thread_idx.x + block_dim.x


@pytest.mark.parametrize("block", [1, 15, 16, 40])
def test_collatz(launch: Launch, block: int) -> None:
    n = 70
    start = np.random.default_rng(block).integers(-2, 5000, n)
    expected: list[tuple[int, int]] = []
    for i in range(n):
        value, steps, largest = int(start[i]), 0, 0
        while value != 1 and value > 0:
            odd = value % 2 == 1
            value = value * 3 + 1 if odd else value // 2
            largest = max(largest, value) if odd else largest
            steps += 1
        expected.append((steps, largest + i % block + block))
    _, out = launch(collatz, start, np.zeros((n, 2), np.int64), n, grid_dim=-(-n // block), block_dim=block)
    assert out.tolist() == [list(each) for each in expected]


@kernel
def with_jumps(out: Pointer[Int64], flags: Pointer[UInt8], n: Int, factor: Int):
    """``break`` and ``continue`` at several depths, a flag as state, in a loop that all run alike."""
    t, i = thread_idx.x, global_idx.x
    if t % 7 == 6:
        return
    total, flag, seed = Int(0), Bool(False), t * 77 + thread_idx.y
    for k in range(n):
        phase = Int(0)
        while True:
            seed = (seed * factor + 12345 + k) % 65536
            phase += 1
            if seed % 4 == 1:
                if phase > 5:
                    flag = not flag
                    break
                continue
            if phase > 9 or (flag and seed % 3 == 0):
                total += 1000
                break
            total += seed % 10
        total = total * 3 % 1_000_003
    place = thread_idx.y * 64 + i
    out[place] = total
    flags[place] = UInt8(1) if flag else UInt8(2)


def one_with_jumps(t: int, y: int, n: int, factor: int) -> tuple[int, int]:
    total, flag, seed = 0, False, t * 77 + y
    for k in range(n):
        phase = 0
        while True:
            seed = (seed * factor + 12345 + k) % 65536
            phase += 1
            if seed % 4 == 1:
                if phase > 5:
                    flag = not flag
                    break
                continue
            if phase > 9 or (flag and seed % 3 == 0):
                total += 1000
                break
            total += seed % 10
        total = total * 3 % 1_000_003
    return total, 1 if flag else 2


def test_jumps_and_flags(launch: Launch) -> None:
    out, flags = launch(
        with_jumps, np.zeros(192, np.int64), np.zeros(192, np.uint8), 9, 25173, grid_dim=2, block_dim=(32, 3)
    )
    for y in range(3):
        for i in range(64):
            t = i % 32
            expected = (0, 0) if t % 7 == 6 else one_with_jumps(t, y, 9, 25173)
            assert (out[y * 64 + i], flags[y * 64 + i]) == expected, (y, i)


@kernel
def roots(values: Pointer[Float64], out: Pointer[Float64], n: Int):
    i = global_idx.x
    if i < n:
        x = values[i]
        guess, before = x, Float64(0.0)
        while abs(guess - before) > 1e-9 * abs(guess):
            before = guess
            guess = 0.5 * (guess + x / guess)
        out[i] = guess


def test_roots_and_what_is_no_number(launch: Launch) -> None:
    values = np.array([2.0, 9.0, 1e300, 1e-300, np.inf, np.nan, 0.0, 5.0] * 5)
    with np.errstate(all="ignore"):
        expected = values.copy()
        before = np.zeros_like(values)
        while (going := np.abs(expected - before) > 1e-9 * np.abs(expected)).any():
            following = 0.5 * (expected + values / expected)
            before[:], expected[:] = np.where(going, expected, before), np.where(going, following, expected)
    _, out = launch(roots, values, np.zeros_like(values), values.size, grid_dim=2, block_dim=33)
    assert np.allclose(out, expected, rtol=1e-8, atol=0, equal_nan=True)


@kernel
def climbing(start: Pointer[Int], out: Pointer[Int], limits: Int):
    """A variable that one loop alone reads, each time it runs what it was after the time before."""
    i = global_idx.x
    at, rounds = start[i], Int(0)
    for k in range(limits):
        while at < 10 * k:
            at += 3
            rounds += 1
            if at % 7 == 2:
                break
    out[i] = rounds


def rounds_of_climbing(at: int, limits: int) -> int:
    rounds = 0
    for k in range(limits):
        while at < 10 * k:
            at, rounds = at + 3, rounds + 1
            if at % 7 == 2:
                break
    return rounds


def test_a_variable_outlives_its_loop(launch: Launch) -> None:
    start = np.random.default_rng(4).integers(-20, 60, 66)
    _, out = launch(climbing, start, np.zeros_like(start), 6, grid_dim=2, block_dim=33)
    assert out.tolist() == [rounds_of_climbing(int(at), 6) for at in start]


@kernel
def beyond_infinity(start: Pointer[Float32], out: Pointer[Int], last: Pointer[Float32]):
    """What has left would become infinite, while others go on."""
    i = global_idx.x
    value, rounds = start[i], Int(0)
    while value < 1000.0 and rounds < 300:
        value = value * value + value
        rounds += 1
    out[i] = rounds
    last[i] = value


def test_what_has_left_stays_as_it_is(launch: Launch) -> None:
    start = np.array([0, 1, 2, 0.5, -0.5, 3, 999, 1001] * 5, np.float32)
    expected: list[tuple[int, float]] = []
    for value in start:
        rounds = 0
        while value < 1000 and rounds < 300:
            value, rounds = value * value + value, rounds + 1
        expected.append((rounds, float(value)))
    given = start, np.zeros(40, np.int64), np.zeros(40, np.float32)
    _, out, last = launch(beyond_infinity, *given, grid_dim=1, block_dim=40)
    assert out.tolist() == [rounds for rounds, _ in expected]
    np.testing.assert_allclose(last, [value for _, value in expected], rtol=1e-4)  # GPUs fuse


@kernel
def lane_of_a_vector(most: Int16, out: Pointer[Int32]):
    row = global_idx.x
    limit = (most - iota(Int16, 8))[row & 7]
    steps = Int32(0)
    while limit > steps and steps < 4 + row:
        steps += 1
    out[row] = steps


def test_what_lanes_compare_with_comes_from_a_vector(launch: Launch) -> None:
    (out,) = launch(lane_of_a_vector, np.int16(9), np.zeros(40, np.int32), grid_dim=1, block_dim=40)
    assert out.tolist() == [min(9 - row % 8, 4 + row) for row in range(40)]


@pytest.mark.parametrize("k", [mandelbrot, collatz, with_jumps, roots, climbing, beyond_infinity])
def test_lanes_are_vectors(k: Any) -> None:
    text = str(compile_info(k, target="native", emission_kind="llvm"))
    assert "llvm.vector.reduce.or" in text
