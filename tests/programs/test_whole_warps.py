"""Kernels whose threads return before lanes of their warp hand each other values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import DeviceError, Int, Int32, Pointer, func, kernel
from weft.atomic import Atomic
from weft.gpu import block, lane_id, thread_idx, warp, warp_id
from weft.gpu.host import DeviceContext

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
CONTEXTS: list[dict[str, Any]] = [
    {"api": "cpu"},
    {"api": "cpu", "checked": True},
    {"api": "cpu", "debug": True},
    {"api": "interpreter"},
    {"api": "interpreter", "checked": True},
]
contexts = pytest.mark.parametrize("of", CONTEXTS, ids=lambda of: "-".join(map(str, of.values())))


def parts(of: dict[str, Any], work: Any, n: int) -> tuple[int, int]:
    """The lines of the decision and of the operation, as they are told, from the decorator on."""
    with DeviceContext(**of) as ctx:
        x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        ctx.enqueue_function(work, x, out, n, grid_dim=1, block_dim=64)
        with pytest.raises(DeviceError) as caught:
            ctx.synchronize()
    (told,) = caught.value.diagnostics
    assert told.code == "barrier-diverged"
    first = LINES.index(f"def {work.__name__}(x: Pointer[Int32], out: Pointer[Int32], n: Int):")
    lines = [label.location.line - first for label in told.labels]
    return lines[0], lines[1]


def made(of: dict[str, Any], work: Any, n: int) -> list[int]:
    with DeviceContext(**of) as ctx:
        x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        ctx.enqueue_function(work, x, out, n, grid_dim=1, block_dim=64)
        ctx.synchronize()
    return out.tolist()


@kernel
def guarded(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    i = thread_idx.x
    if i >= n:
        return
    out[i] = block.sum(x[i])


@kernel
def counted(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    while t > 40:
        if x[t] > 60:
            return
        t += 1
    out[t] = Int32(block.count(x[t] > n))


@kernel
def voted(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    i = thread_idx.x
    if i < n:
        out[i] = 1
    else:
        return
    out[i] += Int32(warp.ballot(x[i] >= 0) & 0xFF)


@kernel
def nested(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    if t % 2 == 1:
        out[t] = 5
        if n > 10:
            return
    out[t] += warp.sum(x[t])


@kernel
def searched(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    if t > 3:
        for i in range(t):
            for j in range(i):
                if x[j] > n:
                    return
                out[t] += 1
        out[t] += 7
    out[t] += warp.shuffle_idx(x[t], 5)


@kernel
def rounds(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    for i in range(4):
        if 32 * i + t >= n:
            return
        out[t] += warp.max(x[t])


@func
def largest(v: Int32) -> Int32:
    return warp.max(v)


@kernel
def by_function(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    if x[t] >= n:
        return
    out[t] = largest(x[t])


@contexts
@pytest.mark.parametrize(
    ("work", "n", "decision", "operation"),
    [
        (guarded, 50, 3, 5),
        (guarded, 32, 3, 5),  # the other warp's sum would be missing
        (counted, 7, 5, 7),
        (voted, 50, 3, 7),
        (nested, 11, 6, 7),
        (searched, 40, 7, 10),
        (rounds, 40, 4, 6),
        (by_function, 7, 3, -3),
    ],
    ids=lambda of: getattr(of, "__name__", None),
)
def test_lanes_that_return_alone_are_told(
    of: dict[str, Any], work: Any, n: int, decision: int, operation: int
) -> None:
    assert parts(of, work, n) == (decision, operation)


@contexts
def test_whole_warps_may_return(of: dict[str, Any]) -> None:
    t, x = np.arange(64), np.arange(64)
    assert made(of, guarded, 64) == [2016] * 64
    assert made(of, voted, 32) == [256] * 32 + [0] * 32
    assert made(of, nested, 10) == (t % 2 * 5 + np.repeat([496, 1520], 32)).tolist()
    steps = np.where(t > 3, t * (t - 1) // 2 + 7, 0)
    assert made(of, searched, 64) == (steps + np.repeat([5, 37], 32)).tolist()
    assert made(of, rounds, 96) == [31 * 3] * 32 + [63 * 2] * 32
    assert made(of, by_function, 32) == [int(x[:32].max())] * 32 + [0] * 32


@kernel
def behind(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    if warp_id() == n:  # a whole warp
        return
    out[t] = warp.sum(x[t])
    if lane_id() > 0:  # lanes that hand over nothing more
        return
    Atomic.fetch_add(out + 1, 1)


@contexts
def test_who_needs_no_more_of_others_returns_alone(of: dict[str, Any]) -> None:
    expected = [0] * 32 + [1520] * 32
    expected[1] += 1
    assert made(of, behind, 0) == expected


@kernel
def asserted(x: Pointer[Int32], out: Pointer[Int32], n: Int):
    t = thread_idx.x
    assert t < n
    out[t] = warp.sum(x[t])


@contexts
def test_an_assertion_that_fails_is_told_alone(of: dict[str, Any]) -> None:
    with DeviceContext(**of) as ctx:
        x = np.zeros(64, np.int32)
        ctx.enqueue_function(asserted, x, x.copy(), 20, grid_dim=1, block_dim=64)
        with pytest.raises(DeviceError) as caught:
            ctx.synchronize()
    assert [each.code for each in caught.value.diagnostics] == ["device-assert"]
