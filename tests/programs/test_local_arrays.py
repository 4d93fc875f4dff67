"""Arrays that a function makes: their elements change as those of Python's lists do."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

from weft import InlineArray, Int, Int32, Pointer, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

SOURCE = """
from weft import InlineArray, Int, func, struct


@struct
class Place:
    x: Int
    y: Int


@func
def counted(a: Int, b: Int, c: Int) -> Int:
    bins = InlineArray[Int, 4](fill=0)
    for i in range(a * a):
        bins[(i * b) % 4] += i
        if i > c:
            bins[3] = bins[0] - c
    return bins[0] * 1000 + bins[1] * 100 + bins[2] * 10 + bins[3]


@func
def ordered(a: Int, b: Int, c: Int) -> Int:
    held = InlineArray[Int, 4](a, b, c, a * b)
    for i in range(3):
        for j in range(3 - i):
            if held[j] > held[j + 1]:
                held[j], held[j + 1] = held[j + 1], held[j]
    return sum(held[i] * (i + 1) for i in range(4)) + sum(held) * 100 + max(held) * 1000


@func
def of_structs(a: Int, b: Int, c: Int) -> Int:
    held = InlineArray[Place, 2](Place(a, b), Place(c, a))
    for i in range(abs(b)):
        held[i % 2].x += i
        held[1].y = held[0].x - held[1].x
        held[0] = Place(held[0].y, held[0].x)
    return held[0].x + held[0].y * 10 + held[1].x * 100 + held[1].y * 1000


@func
def shared(a: Int, b: Int, c: Int) -> Int:
    first = InlineArray[Int, 2](a, b)
    second, third = first, InlineArray[Int, 2](*first)
    second[0] += 10
    third[1] = c

    def both(k: Int):
        return first[0] * k + second[1]

    of_third = lambda: third[0] + third[1]
    if a > b:
        first[1] = 7
        third[0] = second[0]
    for i in range(abs(c)):
        again = InlineArray[Int, 2](fill=i)
        again[i % 2] = first[0]
        third[1] += again[0] - again[1]
    return both(3) * 100 + of_third() + (5 if first == third else 0)
"""
GRID = np.array([*itertools.product((-2, 0, 1, 3, 5), repeat=3)], np.int64)
PLAIN = """
class InlineArray:
    def __class_getitem__(cls, item):
        return lambda *items, fill=None: list(items) or [fill] * item[1]
"""


@pytest.mark.parametrize("name", ["counted", "ordered", "of_structs", "shared"])
def test_elements_change(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)
    imports, rest = SOURCE.split("\n\n\n", 1)
    plain = getattr(load(f"{imports}\n{PLAIN}\n{rest}".replace("@func\n", "")), name)

    @kernel
    def rows(n: Int, a: Pointer[Int], b: Pointer[Int], c: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = function(a[i], b[i], c[i])

    inputs = [np.ascontiguousarray(GRID[:, k]) for k in range(3)]
    found = launch(rows, inputs, np.empty(len(GRID), np.int64))
    assert found.tolist() == [plain(*map(int, row)) for row in GRID]


@struct
class Cell:
    counts: InlineArray[Int32, 3]


@kernel
def copies(p: Pointer[Cell]):
    mine = InlineArray[Int32, 3](*p[0].counts)
    mine[2] = 77
    cell = Cell(copy.copy(mine))
    p[1].counts = mine
    mine[0] = 5
    p[2] = cell
    p[3].counts = mine


def test_memory_and_structs_take_copies(device: DeviceContext) -> None:
    cells = device.enqueue_create_buffer(Cell, 4)
    with cells.map_to_host() as host:
        host[:] = [((n, n + 1, n + 2),) for n in range(4)]
    device.enqueue_function(copies, cells, grid_dim=1, block_dim=1)
    with cells.map_to_host() as host:
        assert host.numpy()["counts"].tolist() == [[0, 1, 2], [0, 1, 77], [0, 1, 77], [5, 1, 77]]


@struct
class Filled:
    x: Int
    y: Int


@func
def filled(n: Int) -> tuple[Int, Int]:
    items = InlineArray[Filled, 2](fill=Filled(n, 1))
    items[0].x = 9
    return items[0].x, items[1].x


def test_what_fills_an_array_is_a_value_of_each_element() -> None:
    items = InlineArray[Filled, 2](fill=Filled(5, 1))
    items[0].x = 9
    assert (int(items[0].x), int(items[1].x)) == filled(5) == (9, 5)
