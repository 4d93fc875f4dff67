"""Indices divided by what threads share: a CPU goes through their quotients one by one. Beside Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Float32, Float64, Int, Int32, Pointer, UInt8, UInt16, kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    15,
    16,
    17,
    -17,
    50,
    64,
    100,
    191,
    1000,
    2**31 - 1,
    2**31,
    2**40,
    -(2**63),
    2**63 - 1,
]


@kernel
def both(out: Pointer[Int], n: Int, few: UInt16):
    i = global_idx.x
    out[2 * i] = i // n
    out[2 * i + 1] = i % n


@kernel
def further(out: Pointer[Int], n: Int, few: UInt16):
    """Of an index that goes on somewhere, twice, and of the quotient; some of it where a condition holds."""
    i = global_idx.x
    j = i + Int(few) * Int(few)
    out[2 * i] = (j // n) % 5 + (j % n) // 3
    if j % n > 30:
        out[2 * i + 1] = j // n - n


@kernel
def two(out: Pointer[Int], n: Int, few: UInt16):
    """By two numbers, of a block's and of a grid's index."""
    i = global_idx.x
    out[2 * i] = i // n + i % Int(few)
    out[2 * i + 1] = thread_idx.x // n - (block_idx.x + i) % n


@kernel
def summed(out: Pointer[Int], n: Int, few: UInt16):
    """In a loop, by what it does not change."""
    i = global_idx.x
    total = Int(0)
    for k in range(Int(few)):
        total += (i // n) * k + i % n
    out[2 * i] = total
    out[2 * i + 1] = -total


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else a // b


def rest(a: int, b: int) -> int:
    return 0 if b == 0 else a % b


def of_further(i: int, n: int, few: int) -> tuple[int, int]:
    j = i + few * few
    return quotient(j, n) % 5 + rest(j, n) // 3, quotient(j, n) - n if rest(j, n) > 30 else 0


def of_two(i: int, n: int, few: int) -> tuple[int, int]:
    return quotient(i, n) + rest(i, few), quotient(i % 64, n) - rest(i // 64 + i, n)


def of_summed(i: int, n: int, few: int) -> tuple[int, int]:
    total = sum(quotient(i, n) * k + rest(i, n) for k in range(few))
    return total, -total


CASES: list[tuple[Any, Callable[[int, int, int], tuple[int, int]]]] = [
    (both, lambda i, n, few: (quotient(i, n), rest(i, n))),
    (further, of_further),
    (two, of_two),
    (summed, of_summed),
]


@pytest.mark.parametrize(("program", "expected"), CASES)
@pytest.mark.parametrize("few", [5, 16, 40])
def test_as_python_divides(any_context: DeviceContext, program: Any, expected: Any, few: int) -> None:
    for n in NUMBERS:
        out = np.zeros((3 * 64, 2), np.int64)
        any_context.enqueue_function(program, out, n, few, grid_dim=3, block_dim=64)
        any_context.synchronize()
        found = [[(v + 2**63) % 2**64 - 2**63 for v in expected(i, n, few)] for i in range(3 * 64)]
        np.testing.assert_array_equal(out, found, f"n = {n}")


@kernel
def by_constants(out: Pointer[Int], tile: Pointer[Int32], first: Int, below: Int):
    """Of indices that have 32 bits, of a loop's that may have more, and of those that may be negative."""
    t, i = thread_idx.x, global_idx.x
    k = t
    while k < 340:
        row, column = k // 34, k % 34
        tile[row * 34 + column] = Int32(10 * column + row)
        k += 64
    out[8 * i], out[8 * i + 1] = t // 7, t % 7
    out[8 * i + 2] = (t * 4000001) // 1000 + (t * 4000001) % 1000
    out[8 * i + 3] = (t - 9) // 5 + 100 * ((t - 9) % 5)
    out[8 * i + 4] = (i * 3) // 64 - i % 64
    for j in range(first, first + 3):
        out[8 * i + 5] += j // 12 + 50 * (j % 12)
    for j in range(t, below):
        if j // 3 > 2 and j % 3 != 1:
            out[8 * i + 6] += j // 10
    out[8 * i + 7] = t // 1 + t % 1 + t // 2147483647 + t % -4


@pytest.mark.parametrize("first", [0, -30, 2**32 - 1, -(2**63), 2**62])
def test_by_constants(any_context: DeviceContext, first: int) -> None:
    out, tile = np.zeros((128, 8), np.int64), np.zeros(340, np.int32)
    any_context.enqueue_function(by_constants, out, tile, first, 70, grid_dim=2, block_dim=64)
    any_context.synchronize()
    k = np.arange(340)
    np.testing.assert_array_equal(tile, 10 * (k % 34) + k // 34)
    i = np.arange(128)
    t = i % 64
    large = t * 4000001
    looped = [sum(j // 10 for j in range(a, 70) if j // 3 > 2 and j % 3 != 1) for a in t.tolist()]
    expected = [
        t // 7,
        t % 7,
        large // 1000 + large % 1000,
        (t - 9) // 5 + 100 * ((t - 9) % 5),
        i * 3 // 64 - i % 64,
        np.full(128, sum(j // 12 + 50 * (j % 12) for j in range(first, first + 3))),
        np.array(looped),
        t + t % -4,
    ]
    np.testing.assert_array_equal(out, np.stack(expected, 1))


@kernel
def in_rows(out: Pointer[Int], first: Int32):
    """Of indices in the grid, that may have more than 32 bits."""
    i = global_idx.x
    out[3 * i], out[3 * i + 1] = i // 66, i % 66
    out[3 * i + 2] = (i + 7) // 66 - (i + Int(first)) % 66 + i // 64 * 1000


@kernel
def in_strides(out: Pointer[Int], n: Int, size: Int):
    for i in range(global_idx.x, size, block_dim.x * grid_dim.x):
        out[2 * i], out[2 * i + 1] = i // n, i % n + (i % 64) * 3


@kernel
def in_a_while(out: Pointer[Int], n: Int, size: Int):
    i = global_idx.x
    total = Int(0)
    while i < size:
        total += i % n
        if i % n > 20:
            out[2 * i] = i // n
        i += block_dim.x * grid_dim.x
    for k in range(global_idx.x, size, block_dim.x * grid_dim.x):
        out[2 * k + 1] = total


@kernel
def around_barriers(out: Pointer[Int], n: Int, size: Int):
    shared = stack_allocation(Int, Layout.row_major(96), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    mine = 100 * (t // n) + t % n
    shared[t] = mine
    barrier()
    other = shared[block_dim.x - 1 - t]
    for i in range(t + 5, size, block_dim.x):
        out[2 * i] = other - (i + 3) // n
    barrier()
    for i in range(t, size, block_dim.x):
        out[2 * i + 1] = mine + i % n


def of_a_while(n: int, size: int) -> list[tuple[int, int]]:
    totals = [sum(rest(k, n) for k in range(g, size, 96)) for g in range(96)]
    return [(quotient(i, n) if rest(i, n) > 20 else 0, totals[i % 96]) for i in range(size)]


def of_barriers(n: int, size: int) -> list[tuple[int, int]]:
    mine = [100 * quotient(t, n) + rest(t, n) for t in range(48)]
    left = [mine[47 - (i - 5) % 48] - quotient(i + 3, n) if i > 4 else 0 for i in range(size)]
    return [(left[i], mine[i % 48] + rest(i, n)) for i in range(size)]


STRIDES: list[tuple[Any, int, Callable[[int, int], list[tuple[int, int]]]]] = [
    (in_strides, 2, lambda n, size: [(quotient(i, n), rest(i, n) + i % 64 * 3) for i in range(size)]),
    (in_a_while, 2, of_a_while),
    (around_barriers, 1, of_barriers),
]


@pytest.mark.parametrize(("program", "blocks", "expected"), STRIDES)
def test_in_rounds(any_context: DeviceContext, program: Any, blocks: int, expected: Any) -> None:
    for n in NUMBERS:
        out = np.zeros((700, 2), np.int64)
        any_context.enqueue_function(program, out, n, 700, grid_dim=blocks, block_dim=48)
        any_context.synchronize()
        found = [[(v + 2**63) % 2**64 - 2**63 for v in row] for row in expected(n, 700)]
        np.testing.assert_array_equal(out, found, f"n = {n}")


@kernel
def by_powers(out: Pointer[Int], first: Int32):
    i = global_idx.x
    out[3 * i], out[3 * i + 1] = i // 64, i % 64
    out[3 * i + 2] = (i & 63) * (i >> 6) + ((i + 3) % 64) - (i % 128) + (i >> 7) - (i & 7)


@pytest.mark.parametrize("launch", [{"grid_dim": 4, "block_dim": 50}, {"over": 200}])
def test_rows_of_a_power(any_context: DeviceContext, launch: dict[str, Any]) -> None:
    out = np.zeros((200, 3), np.int64)
    any_context.enqueue_function(by_powers, out, 0, **launch)
    any_context.synchronize()
    i = np.arange(200)
    further = (i & 63) * (i >> 6) + (i + 3) % 64 - i % 128 + (i >> 7) - (i & 7)
    np.testing.assert_array_equal(out, np.stack([i // 64, i % 64, further], 1))


@pytest.mark.parametrize("first", [0, 9, -30])
@pytest.mark.parametrize("launch", [{"grid_dim": 4, "block_dim": 50}, {"over": 200}])
def test_rows_of_constant_length(any_context: DeviceContext, first: int, launch: dict[str, Any]) -> None:
    out = np.zeros((200, 3), np.int64)
    any_context.enqueue_function(in_rows, out, first, **launch)
    any_context.synchronize()
    i = np.arange(200)
    further = (i + 7) // 66 - (i + first) % 66 + i // 64 * 1000
    np.testing.assert_array_equal(out, np.stack([i // 66, i % 66, further], 1))


@kernel
def as_floats(x: Pointer[Float32], y: Pointer[Float64], first: Int32, far: Int):
    i = global_idx.x
    x[3 * i] = Float32(i)
    y[2 * i] = Float64(i * 500 + Int(first))
    x[3 * i + 1] = Float32(i * 300 - Int(first))
    x[3 * i + 2] = Float32(thread_idx.x - 7)
    y[2 * i + 1] = Float64(i + far)


@pytest.mark.parametrize("first", [0, -1, 123456789, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("far", [0, -150, 2**53, 2**62 - 1, -(2**63)])
def test_indices_as_floats(any_context: DeviceContext, first: int, far: int) -> None:
    x, y = np.ones((300, 3), np.float32), np.ones((300, 2), np.float64)
    any_context.enqueue_function(as_floats, x, y, first, far, grid_dim=3, block_dim=100)
    any_context.synchronize()
    i = np.arange(300)
    np.testing.assert_array_equal(x, np.stack([i, i * 300 - first, i % 100 - 7], 1).astype(np.float32))
    np.testing.assert_array_equal(y, np.stack([i * 500 + first, i + far], 1).astype(np.float64))
    assert not np.signbit(x[0, 0])


@kernel
def by_a_loop(out: Pointer[Int], n: Int):
    row = global_idx.x
    power = 11 ** UInt8(row)
    for i in range(row):
        if row // i > n:
            power = power + 1
    out[row] = power.cast(Int)


@pytest.mark.filterwarnings("ignore::weft.CompileWarning")
@pytest.mark.parametrize("checked", [False, True])
def test_what_a_loop_of_each_thread_divides_by_is_not_shared(checked: bool) -> None:
    with DeviceContext(api="cpu", checked=checked) as ctx:
        out = ctx.enqueue_create_buffer(Int, 100)
        ctx.enqueue_function(by_a_loop, out, 7, grid_dim=1, block_dim=100)
        with out.map_to_host() as host:
            found = [int(x) for x in host]
    above = [sum(row // i > 7 for i in range(1, row)) for row in range(100)]  # of 0 it is 0
    assert found == [(11**row + more) % 256 for row, more in enumerate(above)]
