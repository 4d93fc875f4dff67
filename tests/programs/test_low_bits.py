"""Elements by the low bits of a counter, several of them in one kernel, beside NumPy.

LLVM 22 makes vectors of such loops for few threads, and reads past where the shorter counter starts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Bool, Comptime, Int, Int8, Int16, Int32, Pointer, UInt8, UInt16, UInt32, func, kernel
from weft.gpu import thread_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")


def masked(i: Any, bits: int) -> Any:
    return i & ((1 << bits) - 1)


def remainder(i: Any, bits: int) -> Any:
    return UInt32(i) % (1 << bits)


def shifted(i: Any, bits: int) -> Any:
    return ((i << (64 - bits)) >> (64 - bits)) + (1 << (bits - 1))


def left_over(i: Any, bits: int) -> Any:
    return i - i // (1 << bits) * (1 << bits)


@func
def helper(i: Int, *, bits: Comptime[int]) -> Int:
    return i % (1 << bits)


def called(i: Any, bits: int) -> Any:
    return helper(i, bits=bits)


WAYS: list[Callable[[Any, int], Any]] = [masked, remainder, shifted, left_over, called]


@kernel
def low_bits(
    flags: Pointer[Bool],
    a: Pointer[Int32],
    flags_out: Pointer[Bool],
    out: Pointer[Int32],
    *,
    way: Comptime[Any],
    bits: Comptime[tuple[int, int]],
    offset: Comptime[int],
):
    i = thread_idx.x
    flag = flags[way(i, bits[0])]
    out[i] = a[offset + way(i, bits[1])]
    flags_out[i] = flag


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("low", [(5, 2), (2, 5), (3, 1), (6, 4)])
@pytest.mark.parametrize("n", [8, 16, 33, 64])
def test_two_masks(
    device: DeviceContext, way: Callable[[Any, int], Any], low: tuple[int, int], n: int
) -> None:
    rng = np.random.default_rng(n)
    flags, a = rng.random(64) < 0.5, rng.integers(-9, 9, 80).astype(np.int32)
    flags_out, out = np.zeros(n, bool), np.zeros(n, np.int32)
    device.enqueue_function(
        low_bits, flags, a, flags_out, out, way=way, bits=low, offset=12, grid_dim=1, block_dim=n
    )
    device.synchronize()
    first, second = (
        np.array([int(way(np.int64(i), b)) for i in range(n)])
        if way not in (remainder, called)
        else np.arange(n) % (1 << b)
        for b in low
    )
    assert np.array_equal(flags_out, flags[first])
    assert np.array_equal(out, a[12 + second])


@kernel
def narrow(a: Pointer[Int32], out: Pointer[Int32], n: Int, *, kinds: Comptime[Any]):
    for i in range(n):
        out[i] = a[256 + Int(kinds[0](i))] + a[256 + Int(kinds[1](i))] + a[256 + (i & 7)]


@pytest.mark.parametrize("kinds", [(UInt8, UInt16), (Int16, Int8), (Int8, UInt8), (UInt32, Int8)])
@pytest.mark.parametrize("n", [100, 200, 300, 1000])
def test_narrow_numbers(device: DeviceContext, kinds: tuple[Any, Any], n: int) -> None:
    a = np.random.default_rng(n).integers(-9, 9, 2000).astype(np.int32)
    out = np.zeros(n, np.int32)
    device.enqueue_function(narrow, a, out, n, kinds=kinds, grid_dim=1, block_dim=1)
    device.synchronize()
    i = np.arange(n)
    of = {UInt8: np.uint8, UInt16: np.uint16, Int8: np.int8, Int16: np.int16, UInt32: np.uint32}
    first, second = (i.astype(of[kind]).astype(np.int64) for kind in kinds)
    assert np.array_equal(out, a[256 + first] + a[256 + second] + a[256 + (i & 7)])
