"""Ranges that threads leave one behind the other, ``for k in range(i + 1)``; beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int32, Int64, Pointer, kernel
from weft.compile import compile_info
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation


@kernel
def columns(a: Pointer[Float32], out: Pointer[Float32], n: Int, begin: Int):
    """The sum of a column down to the diagonal."""
    i = global_idx.x
    if i < n:
        total = Float32(0.0)
        for k in range(begin, i + 1):
            total += a[k * n + i]
        out[i] = total


@pytest.mark.parametrize("n", [1, 2, 31, 64, 150])
@pytest.mark.parametrize("begin", [0, 1, 20, 200])
def test_triangle(n: int, begin: int) -> None:
    a = np.random.default_rng(n).integers(-9, 9, (n, n)).astype(np.float32)
    out = np.zeros(n, np.float32)
    run(columns, a, out, n, begin, grid=-(-n // 64), block=64)
    assert np.array_equal(out, np.triu(a)[begin:].sum(0))


@kernel
def within(a: Pointer[Int64], out: Pointer[Int64], rounds: Int, fewer: Int32):
    """Between barriers, in other loops, by steps and rows of threads; some of the threads there do more."""
    shared = stack_allocation(Int64, Layout.row_major(4, 32), address_space=AddressSpace.SHARED)
    x, y = thread_idx.x, thread_idx.y
    i = (block_idx.x * 4 + y) * 32 + x
    shared[y, x] = a[i]
    less = Int(fewer)
    barrier()
    seen, last = Int(0), Int(-1)
    for r in range(rounds):
        for k in range(r - 2, x + 5 - less, 3):
            value = a[32 * 4 + (k & 31) * 32 + x]
            seen = seen * 3 + k if value % 3 == 0 else seen + value
            if x % 4 == 1:
                last = k
        for k in range(0, 4 + x, 2):
            if x == 7:
                seen ^= a[(k & 31) * 32 + x]
            if x < 20 and k > 3:
                seen += shared[y, x]
        barrier()
        for k in range(-less, x):
            seen += a[(k & 15) * 32 + x] * shared[3 - y, x]
        barrier()
        shared[y, x] += 1
        barrier()
    out[2 * i] = seen
    out[2 * i + 1] = last


def of_within(a: list[int], i: int, rounds: int, less: int) -> list[int]:
    x, y, seen, last = i % 32, i // 32 % 4, 0, -1
    first = i - x - 32 * y

    def shared(y: int, r: int) -> int:
        return a[first + 32 * y + x] + r

    for r in range(rounds):
        for k in range(r - 2, x + 5 - less, 3):
            value = a[32 * 4 + (k & 31) * 32 + x]
            seen = seen * 3 + k if value % 3 == 0 else seen + value
            last = k if x % 4 == 1 else last
        for k in range(0, 4 + x, 2):
            seen ^= a[(k & 31) * 32 + x] if x == 7 else 0
            seen += shared(y, r) if x < 20 and k > 3 else 0
        for k in range(-less, x):
            seen += a[(k & 15) * 32 + x] * shared(3 - y, r)
    return [(seen + 2**63) % 2**64 - 2**63, last]


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("less", [0, 9, 40, -6])
def test_within(rounds: int, less: int) -> None:
    a = np.random.default_rng(rounds).integers(-50, 50, 32 * 36)
    out = np.zeros((256, 2), np.int64)
    run(within, a, out, rounds, np.int32(less), grid=2, block=(32, 4))
    values = a.tolist()
    assert out.tolist() == [of_within(values, i, rounds, less) for i in range(256)]


@pytest.mark.parametrize("less", [-(2**63), 2**63 - 1, 2**62])
def test_far_ends(less: int) -> None:
    a, out = np.ones(32 * 36, np.int64), np.zeros((256, 2), np.int64)
    run(far, a, out, less, grid=2, block=(32, 4))
    x = np.arange(256) % 32
    wanted = [len(range(max(min(less, 2**62), -5), one, 2)) for one in x.tolist()]
    assert out[:, 0].tolist() == wanted


@kernel
def far(a: Pointer[Int64], out: Pointer[Int64], begin: Int):
    x = thread_idx.x
    i = (block_idx.x * 4 + thread_idx.y) * 32 + x
    seen = Int(0)
    for k in range(max(begin, -5), x, 2):
        seen += a[(k & 31) * 32 + x]
    out[2 * i] = seen


def test_rounds_are_vectors_of_threads() -> None:
    text = str(compile_info(columns, target="x86-64-v3", emission_kind="llvm-opt"))
    assert "fadd <8 x float>" in text
    assert "gather" not in text


def run(kernel: Any, *args: Any, grid: Any, block: Any) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(kernel, *args, grid_dim=grid, block_dim=block)
    ctx.synchronize()
