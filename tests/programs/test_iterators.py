"""Generators, ranges and powers of run time, in functions and plain helpers: on a device, and by Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weft import Bool, DeviceError, Float32, Int, Int8, Pointer, UInt32, func, kernel, unroll
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor

SOURCE = """
from weft import Int, func


class Table:
    def __init__(self, *weights):
        self.weights = weights

    def dot(self, n, *more):
        return sum(w * self.__at(i, k) for k, w in enumerate(self.weights) for i in range(n)) + len(more)

    def __at(self, i, k):
        return i + k


TABLE = Table(2, 3, 5)


def squares(n, least=0):
    return sum(i * i for i in range(n) if i > least)


def nested(n, m):
    return max((max((i * j % 7 for j in range(i)), default=-1) for i in range(n)), default=m)


def listed(n, m):
    return sum([i * m for i in range(n)]) + sum(range(m)) + min(list(k - m for k in range(3)))


def asked(n, m):
    return any(i * i == m for i in range(n)), all(i < m for i in range(n)) or n > 5


def best(n, m):
    return max(range(n + 3), key=lambda i: (i * 5 + m) % 7), min(reversed(range(1, n + 4, 2)))


def zipped(n, m):
    found = (k * a + b for k, (a, b) in enumerate(zip(range(n), range(m, n + m))) if a != m)
    return sum(found)


@func
def helped(a: Int, b: Int, c: Int) -> Int:
    hit, every = asked(a, b)
    first, last = best(abs(a), c)
    total = squares(a, b) + 3 * nested(b, c) + 7 * listed(abs(b), abs(c)) + zipped(abs(a), c) * 11
    return total + TABLE.dot(a, b, c) + hit + 2 * every + first * 100 + last * 1000


@func
def broken(a: Int, b: Int, c: Int) -> Int:
    steps, found = 0, -1
    for i, j, k in ((i, j, k) for i in range(a) for j in range(i) for k in range(j + 1)):
        steps += 1
        if i + j * k > b:
            found = i * 100 + j * 10 + k
            break
    else:
        found = -2
    for v in (i * j for i in range(a) if i % 2 for j in range(c) if j != b):
        if v == 3:
            continue
        if v > 7:
            last = v
            break
        for w in range(v):
            if w > 3:
                break
            steps += w
    else:
        last = 0
    return found + steps * 1000 + last * 7


@func
def returned(a: Int, b: Int, c: Int) -> Int:
    for v in (i * j + c for i in range(a) for j in range(i)):
        if v > b:
            return v
    return -1
"""
GRID = np.array([*itertools.product((-1, 0, 1, 2, 5, 9), repeat=3)], np.int64)


def rows_of(function: Any) -> Any:
    @kernel
    def rows(n: Int, a: Pointer[Int], b: Pointer[Int], c: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = function(a[i], b[i], c[i])

    return rows


@pytest.mark.parametrize("name", ["helped", "broken", "returned"])
def test_functions(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)
    inputs = [np.ascontiguousarray(GRID[:, k]) for k in range(3)]
    found = launch(rows_of(function), inputs, np.empty(len(GRID), np.int64))
    assert found.tolist() == [function.function(*map(int, row)) for row in GRID]


@pytest.mark.parametrize("name", ["helped", "broken", "returned"])
def test_functions_become_ptx(name: str, load: Any) -> None:
    info = compile_info(rows_of(getattr(load(SOURCE), name)), emission_kind="asm", target="sm_90")
    assert ".entry" in str(info)


@kernel
def powers(base: Pointer[Int], exponent: Pointer[Int], small: Pointer[Int8], out: Pointer[Int]):
    i = global_idx.x
    out[4 * i] = base[i] ** exponent[i]
    out[4 * i + 1] = pow(3, exponent[i])
    out[4 * i + 2] = base[i] ** UInt32(exponent[i])
    base[i] **= small[i]
    out[4 * i + 3] = base[i]


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_powers_are_those_of_numpy(device: DeviceContext) -> None:
    base, exponent = np.array([2, -3, 0, 7, -1]), np.array([62, 41, 0, 30, 5])
    small, out = exponent.astype(np.int8), np.zeros(20, np.int64)
    wanted = np.stack([base**exponent, 3**exponent, base**exponent, base**exponent], axis=1)
    device.enqueue_function(powers, base, exponent, small, out, grid_dim=1, block_dim=5)
    device.synchronize()
    assert out.tolist() == wanted.reshape(-1).tolist()


@func
def power(base: Int, exponent: Int) -> Int:
    return base**exponent


@pytest.mark.parametrize(("base", "exponent"), [(2, -1), (1, -2), (-1, -3), (0, -(2**63))])
def test_a_negative_power_fails_where_numpy_raises(base: int, exponent: int) -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        np.power(np.int64(base), np.int64(exponent))
    with pytest.raises(DeviceError, match=r"an integer to a negative power is a float") as caught:
        power(base, exponent)
    assert "return base**exponent" in str(caught.value)


@kernel
def one_power(base: Pointer[Int], exponent: Pointer[Int]):
    i = global_idx.x
    base[i] **= exponent[i]


def test_a_negative_power_ends_its_thread(any_context: DeviceContext) -> None:
    ctx, base, exponent = any_context, np.array([2, 3, 5]), np.array([3, -1, 2])
    buffers = [ctx.enqueue_create_buffer(Int, 3) for _ in range(2)]
    for buffer, array in zip(buffers, (base, exponent), strict=True):
        ctx.enqueue_copy(dst=buffer, src=array)
    ctx.enqueue_function(one_power, *buffers, grid_dim=1, block_dim=3)
    with pytest.raises(DeviceError, match=r"thread \(1, 0, 0\)"):
        ctx.synchronize()


@func
def nested(t: LayoutTensor[Float32], limit: Float32, k: Int) -> tuple[Bool, Bool, Bool, Bool, Bool, Bool]:
    return (
        any(v > limit for r in t for v in r),
        all(v < limit for i in range(3) for v in t[i]),
        any(v > limit for i in unroll(range(3)) for v in (t[i, 0], t[i, k])),
        any(a > b + limit for r, s in zip(t, reversed(t), strict=False) for a, b in zip(r, s, strict=False)),
        any(v > limit for n, r in enumerate(t) if n != k for v in r),
        any(v > limit for r in (q for q in t if q[1] > 2) for v in r),
    )


@pytest.mark.parametrize("limit", [-1.0, 3.0, 7.5, 10.5, 20.0])
def test_nested_loops_that_are_written_out_and_asked_as_far_as_needed(limit: float) -> None:
    t = np.arange(12, dtype=np.float32).reshape(3, 4)
    last = [r for n, r in enumerate(t) if n != 2]
    assert nested(t, limit, 2) == (
        (t > limit).any(),
        (t < limit).all(),
        (t[:, [0, 2]] > limit).any(),
        (t > t[::-1] + limit).any(),
        (np.array(last) > limit).any(),
        (t[1:] > limit).any(),
    )


@func
def chosen_when_compiled(n: Int) -> Any:
    return n if any(x > 3 for row in ((1, 2), (3, 4)) for x in row) else "none"


def test_what_is_known_in_nested_loops_stays_known() -> None:
    assert chosen_when_compiled(3) == 3
