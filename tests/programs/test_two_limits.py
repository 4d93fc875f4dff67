"""Loops that end at a limit or at what they compute: LLVM 22 forgets the limit if it may."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Bool, Int, Int32, PerformanceWarning, Pointer, UInt32, func, kernel, math
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

_NUMBERS = [0, 1, 2, 3, 7, 14, 15, 16, 33]


@kernel
def grown(n: Int, first: Int, out: Pointer[Int]):
    i, v, limit = Int(0), first, n & 15
    while i < limit and i <= v:
        v = v * 3
        i += 1
    out[global_idx.x] = i


@kernel
def guarded(n: Int, first: Int, out: Pointer[Int]):
    i, v, limit = Int(0), first, n & 15
    if limit > 1:
        while i <= v and i < limit:
            v = v * 3
            i += 1
    out[global_idx.x] = i


@kernel
def left(n: Int32, first: Int32, out: Pointer[Int32]):
    i, v, limit = Int32(1), first, n & 15
    while True:
        if i >= limit or v < i:
            break
        v = v * v * v
        i += 1
    out[global_idx.x] = i


@kernel
def downwards(n: UInt32, first: Int, out: Pointer[Int]):
    i, v = Int(n & 15), first
    while i > 0 and i >= v:
        v = v * 5
        i -= 1
    out[global_idx.x] = i


@func
def at_most(x: Int32, y: Int32) -> Bool:
    return x <= y


@func
def smaller(x: Int, y: Int) -> Int:
    return x if x < y else y


@kernel
def asked_of_a_helper(a: Pointer[Int32], out: Pointer[Int32]):
    i, v, limit = Int32(2), a[0], a[0] & 7
    while i < limit and at_most(i, v):
        v = a[i & 15]
        i += 1
    out[0] = i


@kernel
def by_a_minimum(a: Pointer[Int], out: Pointer[Int]):
    i, v, limit = Int(0), a[0], a[0] & 7
    while True:
        if i >= limit:
            break
        if i != min(v, smaller(i, v)):
            break
        v = a[i & 15]
        i += 1
    out[0] = i


@kernel
def nothing_kept(n: Int, first: Int, out: Pointer[Int]):
    """All rounds do nothing, and there were rounds without end."""
    w = first
    while True:
        w += 1
        if w > 7:
            break
        for i in range(n & 7):
            if math.clamp(i, -9, i) >= w + i:
                break
    out[global_idx.x] = 5


def _grown(n: int, v: int) -> int:
    i = 0
    while i < n & 15 and i <= v:
        i, v = i + 1, v * 3
    return i


def _left(n: int, v: int) -> int:
    i = 1
    while i < n & 15 and v >= i:
        i, v = i + 1, (v**3 + 2**31) % 2**32 - 2**31
    return i


def _downwards(n: int, v: int) -> int:
    i = n & 15
    while i > 0 and i >= v:
        i, v = i - 1, v * 5
    return i


_LOOPS: dict[str, tuple[Any, Callable[[int, int], int], Any, int]] = {
    "grown": (grown, _grown, np.int64, 3),
    "guarded": (guarded, lambda n, v: _grown(n, v) if n & 15 > 1 else 0, np.int64, 3),
    "left": (left, _left, np.int32, 3),
    "left of one": (left, _left, np.int32, 1),
    "nothing kept": (nothing_kept, lambda n, v: 5, np.int64, 3),
    "downwards": (downwards, _downwards, np.int64, -1),
}


@pytest.mark.parametrize("name", _LOOPS)
def test_both_limits_count(device: DeviceContext, name: str) -> None:
    program, expected, kind, first = _LOOPS[name]
    out = np.zeros(1, kind)
    found: list[int] = []
    for n in _NUMBERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
            device.enqueue_function(program, n, first, out, grid_dim=1, block_dim=1)
        device.synchronize()
        found.append(int(out[0]))
    assert found == [expected(n, first) for n in _NUMBERS]


@pytest.mark.parametrize("name", _LOOPS)
def test_no_limit_is_asked_for_once_alone(name: str) -> None:
    program = _LOOPS[name][0]
    assert "first_iter" not in str(compile_info(program, target="sm_90", emission_kind="llvm-opt"))


@pytest.mark.parametrize("start", range(1, 8))
@pytest.mark.parametrize(
    ("program", "kind", "first"), [(asked_of_a_helper, "i4", 2), (by_a_minimum, "i8", 0)]
)
def test_limits_of_what_lies_in_memory(
    device: DeviceContext, program: Any, kind: str, first: int, start: int
) -> None:
    numbers = np.array([start, *[20] * 15], kind)
    out = np.zeros(1, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(program, numbers, out, grid_dim=1, block_dim=1)
    device.synchronize()
    assert out.tolist() == [max(start, first)]
    assert "first_iter" not in str(compile_info(program, target="sm_90", emission_kind="llvm-opt"))
