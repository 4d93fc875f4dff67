"""What authors write of plain Python in their second week: each function on a device, and by Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weft import Int, Pointer, UInt32, func, kernel, unroll
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

SOURCE = """
import dataclasses, enum
from typing import NamedTuple

from weft import Bool, Float64, InlineArray, Int, func, struct, unroll
from weft.linalg import vec3i


@dataclasses.dataclass
class Acc:
    total: Int = 0
    count: Int = 0

    def add(self, x):
        return dataclasses.replace(self, total=self.total + x, count=self.count + 1)

    @property
    def mean(self):
        return self.total // self.count if self.count else 0


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 4

    @property
    def next(self):
        return {Color.RED: Color.GREEN, Color.GREEN: Color.BLUE, Color.BLUE: Color.RED}[self]


@func
def lambdas(n: Int, k: Int) -> Int:
    fs = [lambda x, m=m: x * m + k for m in (1, 2, 3)]
    t = 0
    for f in fs:
        t += f(n)

    def twice(f):
        return lambda x: f(f(x))

    return t + twice(fs[1])(n)


@func
def unpacked(n: Int, k: Int) -> Int:
    a, (b, *c), d = n, (k, 1, 2, n), 4
    a, b = b, a
    x = y = a + b
    x += 1
    return a * 1000 + b * 100 + sum(c) * 10 + d + x - y


@func
def loops(n: Int, k: Int) -> Int:
    total = 0
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 3 == 0:
            continue
        for j in range(i):
            if j == 5:
                break
            total += j
        else:
            total += 100
    else:
        total = -1
    return total


@func
def tables(n: Int, k: Int) -> Int:
    d = {"a": n, "b": n * 2}
    d["c"] = d["a"] + 1
    s = 0
    for k, v in d.items():
        s += v * len(k)
    return s + sum(d.values()) + d.get("z", 5) + (("b" in d) + len(d))


@func
def lists(n: Int, k: Int) -> Int:
    lst = [n, 2, 3]
    lst.append(n + 1)
    lst[1] += 5
    lst.extend(x * x for x in range(2))
    del lst[0]
    return sum(lst) + lst[-1] + lst.index(3) + len(lst[1:]) + lst.pop()


@func
def sets(n: Int, k: Int) -> Int:
    s = set()
    out = 0
    for k in (1, 2, 2, 3):
        if k in s:
            out += n
        s.add(k)
    return out * len(s)


@func
def integers(n: Int, k: Int) -> Int:
    m = k or 7
    q, r = divmod(n, m)
    return (
        q * 100
        + r
        + (n ^ m)
        + (~n)
        + (n & m)
        + (n | m)
        + abs(n - m)
        + pow(n, 2)
        + n // 3
        + n % 3
        + (n << 2)
        + (n >> 1)
        + n**3
    )


@func
def counted(n: Int, k: Int) -> Int:
    x = 5

    def inc():
        nonlocal x
        x += n
        return x

    a = inc()
    b = inc()
    return a * 100 + b + x


@func
def matched(n: Int, k: Int) -> Int:
    t = 0
    for i in range(n):
        match i % 4, i > 5:
            case 0, _:
                t += 1
            case 1 | 2, True:
                t += 10
            case k, False if k == 3:
                t += 100
            case _:
                t += 1000
    return t


@func
def zipped(n: Int, k: Int) -> Int:
    t = 0
    for i, (a, b) in enumerate(zip(range(n), reversed(range(n)))):
        t += i * a - b * (i + 1)
    for i in range(n, 0, -2):
        t = t * 3 + i
    for i in range(-n, n, max(n // 3, 1)):
        t += i
    return t


@func
def dataclass(n: Int, k: Int) -> Int:
    acc = Acc()
    for i in range(n):
        if i % 3:
            acc = acc.add(i)
    return acc.mean * 10 + acc.count


@func
def members(n: Int, k: Int) -> Int:
    c = Color.RED
    t = 0
    for i in range(n):
        c = c.next
        t = t * 3 + c.value
        if c == Color.BLUE and i > 2:
            break
    return t + (c in (Color.RED, Color.BLUE)) * 1000


@func
def two_best(n: Int, k: Int) -> Int:
    best = None
    second = None
    for i in range(n):
        v = (i * 7) % 5
        if best is None or v > best:
            best, second = v, best
        elif second is None or v > second:
            second = v
    return (best or 0) * 10 + (second if second is not None else -1)


@func
def starred(n: Int, k: Int) -> Int:
    first, *rest = [n + k for k in range(4)]
    *init, last = rest
    return first + sum(init) * 10 + last * 100 + len(rest)


@func
def named(n: Int, k: Int) -> Int:
    a = n
    a += (b := a * 2) + (c := b if b > 3 else a)
    while (c := c - 1) > 0 and (b := b + c) < 50:
        a += b
    return a + b + c


@func
def early(n: Int, k: Int) -> Int:
    global_sum = 0
    for i in range(n):
        for j in range(n):
            if (i + j) % 2:
                continue
            if i * j > 20:
                return -global_sum
            global_sum += i ^ j
    return global_sum


@func
def optional(n: Int, k: Int) -> Int:
    f = k > 2
    x = n if f else None
    y = x if x is not None else 10
    z = (x or 3) + y
    w = isinstance(x, int)
    return z * 2 + w


@func
def stepped(n: Int, k: Int) -> Int:
    it = iter((n, n + 1, n + 2))
    a = next(it)
    b = next(it)
    return a * 10 + b + next(it, 7) + next(it, 7)


@func
def nested_lists(n: Int, k: Int) -> Int:
    m = [[i * j + n for j in range(3)] for i in range(2)]
    t = [*zip(*m)]
    flat = [v for row in t for v in row if True]
    return sum(flat) + sum(map(max, m)) + all(v >= n for v in flat) + any(v == n for v in flat)


PRIMES = [2, 3, 5, 7, 11]
TURNS = {Color.RED: Color.BLUE, Color.GREEN: Color.RED, Color.BLUE: Color.GREEN}


class Weights:
    def __init__(self, *weights):
        self.weights, self.by_number = weights, {k: w * w for k, w in enumerate(weights)}

    def of(self, i):
        return self.weights[i] + self.by_number[i]


WEIGHTS = Weights(4, -1, 6)


def prime(i):
    return PRIMES[i % 5] * PRIMES[-1] + sum(PRIMES[(i + j) % 5] for j in range(2))


def turned(color):
    return TURNS[color]


@func
def looked_up(n: Int, k: Int) -> Int:
    color, chosen = Color.RED, [Color.BLUE, Color.GREEN][n & 1]
    for _ in range(k):
        color = turned(color)
    return prime(n) + WEIGHTS.of(k % 3) * 100 + color.value * 1000 + chosen.value * 10000 + (color is chosen)


class Hit(NamedTuple):
    at: Int
    far: Int


@func
def taken_apart(n: Int, k: Int) -> Int:
    pair = (n, k) if n > 0 else None
    hit = Hit(n, k) if k > 0 else None
    match pair:
        case (1, y):
            total = y
        case (x, 1 | 4):
            total = x * 10
        case None:
            total = -7
        case _:
            total = 5
    match hit:
        case Hit(0, far):
            return total + far * 100
        case Hit(at, far=4) if at != 3:
            return total + at * 1000
        case Hit():
            return total + 10000
        case _:
            return total - 10000


ROWS = [[1, 2], [3, 4], [5, 6]]
BLOCKS = [[(1, 2), (3, 4)], [(5, 6), (7, 8)]]


def summed(row):
    return sum(row) if isinstance(row, list) else -sum(row)


@func
def rows(n: Int, k: Int) -> Int:
    row, block = ROWS[n % 3], BLOCKS[n % 2]
    chosen = row if k > 0 else ROWS[k % 3]
    match row:
        case tuple():
            total = 1
        case [3, *rest]:
            total = 10 * rest[0]
        case _:
            total = 3
    total += 100 * (row == [3, 4]) + 200 * (row != [1, 2]) + 400 * (row == (3, 4)) + 800 * (row == ROWS[0])
    total += 1600 * (row in ([1, 5], [3, 4])) + 3200 * (block == [(5, 6), (7, 8)]) + 6400 * (row < [3, 5])
    total += 12800 * (type(row) is list) + {list: 5}.get(type(row), 7)
    total += summed(chosen) + summed(BLOCKS[n % 2][k % 2])
    total += 25600 * (row + [n] == [5, 6, 9]) + 51200 * (tuple(row) == (1, 2)) + 102400 * (row[1:] == [2])
    return total


@func
def classes(n: Int, k: Int) -> Int:
    acc = Acc(n, 1)
    if k > 0:
        acc = acc.add(k)
    total = 1 * (type(acc) is Acc) + 2 * (type(acc) == Acc) + 4 * (Acc == type(acc))
    total += 8 * (type(acc) in (int, Acc))
    return total + {Acc: 16}.get(type(acc), 32) + class_told(acc)


@func
def rests(n: Int, k: Int) -> Int:
    def summed(*items: Int, by: Int = 2) -> Int:
        return sum(items) * by

    def mean(first: Float64, *others: Float64) -> Float64:
        return (first + sum(others)) / (1 + len(others))

    return summed(n, k, True) + summed() + summed(5, by=n) + Int(8 * mean(n, k, 0.1, 3)) + all_of((n, k, 7))


@func
def all_of(items: tuple[Int, ...]) -> Int:
    return sum(items) * len(items)


@dataclasses.dataclass
class Around:
    at: Int

    def __contains__(self, x):
        return self.at - 1 <= x <= self.at + 1


@struct
class Ends:
    low: Int
    high: Int

    def __contains__(self, x: Int) -> Bool:
        return self.low == x or x == self.high


@func
def searched(n: Int, k: Int) -> Int:
    total = 1 * (k in InlineArray[Int, 3](1, n, 7)) + 2 * (k in vec3i(3, 4, -3)) + 4 * (n + 98 in b"abc")
    total += 8 * ((n, k) in {-2: 1, 3: 4}.items()) + 16 * (k in Around(n)) + 32 * (k not in Around(2))
    return total + 64 * (n in Ends(k, 3))


def class_told(acc):
    kind = type(acc)
    return 64 if kind is Acc and kind == Acc and isinstance(acc, kind) else 128
"""
FUNCTIONS = """
lambdas unpacked loops tables lists sets integers counted matched zipped
dataclass members two_best starred named early optional stepped nested_lists looked_up taken_apart
rows classes searched rests
""".split()
GRID = np.array([*itertools.product((-2, 0, 1, 3, 9), (-3, 1, 4))], np.int64)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)

    @kernel
    def rows(n: Int, a: Pointer[Int], b: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = function(a[i], b[i])

    inputs = [np.ascontiguousarray(GRID[:, k]) for k in range(2)]
    found = launch(rows, inputs, np.empty(len(GRID), np.int64))
    assert found.tolist() == [function.function(*map(int, row)) for row in GRID]


@kernel
def _scaled(out: Pointer[UInt32], n: Int):
    for i in range(n):
        for k in unroll(range(4, 0, -2)):
            v = UInt32(n + i)

            @func
            def times(x: Int) -> Int:
                nonlocal v
                if n > 2:
                    v *= k  # noqa: B023  (called in its round)
                return x

            out[0] += UInt32(times(i)) + v


@pytest.mark.parametrize("n", [2, 5])
def test_what_a_function_captures_of_literals_takes_the_type_that_it_meets(
    device: DeviceContext, n: int
) -> None:
    out = device.enqueue_create_buffer(UInt32, 1)
    device.enqueue_fill(out, 0)
    device.enqueue_function(_scaled, out, n, over=1)
    with out.map_to_host() as host:
        found = int(host[0])
    assert found == sum(i + (n + i) * (k if n > 2 else 1) for i in range(n) for k in (4, 2))
