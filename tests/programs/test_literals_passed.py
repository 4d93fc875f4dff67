"""Literals that go through functions, tuples and generators take the type that they meet, as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft import Float64, Int, Pointer, kernel
from weft.gpu import global_idx

SOURCE = """
import dataclasses
from typing import Any, NamedTuple

from weft import Float32, Float64, Int, func


class Pair(NamedTuple):
    gain: Any
    count: Any


@dataclasses.dataclass
class Stamp:
    gain: object
    at: Float64


@func
def scaled(x, k):
    return x * k


@func
def through(n: Int, x: Float64) -> Float64:
    k = 0.1
    if n > 2:
        k = 0.2
    return scaled(x, k) + scaled(x, 0.1 if n > 1 else 0.7)


@func
def further(x, pair):
    gain, count = pair
    return scaled(x, gain) * count


@func
def in_tuples(n: Int, x: Float64) -> Float64:
    return further(x, (0.1 if n > 1 else 0.3, n)) + further(x, Pair(0.7 if n > 2 else 0.9, 2))


@func
def captured(n: Int, x: Float64) -> Float64:
    k = 0.1 if n > 1 else 0.2

    def by_k(y: Float64):
        return y * k

    return by_k(x) + (lambda y: y + k)(x)


@func
def applied(f, x: Float64) -> Float64:
    return f(x)


@func
def in_functions(n: Int, x: Float64) -> Float64:
    k = 0.1 if n > 1 else 0.2

    def by_k(y: Float64):
        return y * k

    return applied(by_k, x) + applied(lambda y: y - k, x)


@func
def turned(n: Int, x: Float64) -> Float64:
    pair, mixed = (0.1, 0.3), (0.1, 7, (0.2, True))
    for _ in range(n):
        pair = (pair[1], pair[0])
        mixed = (mixed[2][0], mixed[1] + 1, (mixed[0], not mixed[2][1]))
    return pair[0] * x + mixed[0] * (mixed[1] if mixed[2][1] else 1)


@func
def grown(n: Int, x: Float64) -> Float64:
    pair = (0.1, 0)
    for i in range(n):
        pair = (pair[0] + x, pair[1] + i)
    return pair[0] * pair[1]


@func
def chosen(n: Int, x: Float64) -> Float64:
    pair, stamp = Pair(0.1, 1), Stamp(0.1, 0.2)
    if n > 1:
        pair, stamp = Pair(0.3, 2), Stamp(0.7, 0.4)
    return pair.gain * x * pair.count + stamp.gain * x + stamp.at


@func
def counted(n: Int, x: Float64) -> Float64:
    total, pair = 0, (0.1, 1)

    def add():
        nonlocal total, pair
        total += 0.1
        pair = (pair[0] * 0.7, pair[1] + 1)

    for _ in range(n):
        add()
    return total * x + pair[0] * x + pair[1]


@func
def run_over(n: Int, x: Float64) -> Float64:
    total = sum(0.1 for _ in range(n)) * x
    total += max((0.1 if i > 2 else 0.3 for i in range(n)), default=0.7) * x
    best = min(((0.1 if i > 1 else 0.9), i) for i in range(n + 1))
    return total + best[0] * x + best[1]
"""
FUNCTIONS = "through in_tuples captured in_functions turned grown chosen counted run_over".split()
COUNTS = np.array([0, 1, 2, 3, 4, 7], np.int64)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_literals_are_exact(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)
    plain = getattr(load(SOURCE.replace("@func\n", "")), name)

    @kernel
    def rows(n: Int, counts: Pointer[Int], x: Pointer[Float64], out: Pointer[Float64]):
        i = global_idx.x
        if i < n:
            out[i] = function(counts[i], x[i])

    x = np.array([3.0, -0.7, 1e10, 1 / 3, 0.0, 5.5])
    found = launch(rows, [COUNTS, x], np.empty(len(COUNTS)))
    wanted = [plain(int(n), float(v)) for n, v in zip(COUNTS, x, strict=True)]
    # A GPU fuses a product and a sum
    assert found.tolist() == pytest.approx(wanted, rel=1e-14, abs=0)
