"""Assignments to parts of vectors, matrices, arrays and structs, beside Python's lists and objects."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Int, Pointer, iota, kernel, struct
from weft.gpu import global_idx

SOURCE = """
import copy

from weft import SIMD, InlineArray, Int, func, struct
from weft.linalg import Matrix, Vector


@struct
class Body:
    at: Vector[Int, 3]
    counts: InlineArray[Int, 3]
    lanes: SIMD[Int, 2]


@func
def lanes(a: Int, b: Int, c: Int) -> Int:
    v = SIMD[Int, 4](a, b, c, 1)
    v[1] = 7
    for i in range(abs(c)):
        v[i % 4] += a
        if a > b:
            v[3] = v[i % 4]
    v[0:2] = 5
    w = copy.copy(v)
    w[2] -= v[3]
    return v[0] + v[1] * 10 + v[2] * 100 + v[3] * 1000 + w[2] * 7


@func
def small(a: Int, b: Int, c: Int) -> Int:
    v = Vector[Int, 3](a, b, c)
    m = Matrix[Int, 2, 3](a, b, c, c, b, a)
    for i in range(3):
        v[i] *= i + b
        m[i % 2, i] = v[2 - i]
        if v[i] > c:
            v.zx = (v[i], 9)
    m[1][0] += 5
    v.x -= m[1, 0]
    old = v
    v = v * 2
    v.y = 3
    return v[0] + v[1] * 10 + v[2] * 100 + m[0, 0] * 7 + m[1, 1] * 70 + m[0, 2] * 700 + m[1][0] + old.y


@func
def branched(a: Int, b: Int, c: Int) -> Int:
    held = InlineArray[Int, 3](a, b, c)
    if a > 0:
        held = InlineArray[Int, 3](c, b, a)
        held[b % 3] = 5
    for i in range(abs(b)):
        held[i % 3] += i
        if c > 1:
            held = InlineArray[Int, 3](fill=held[1])
    k = 0
    while k < 2:
        held[k] -= 1
        k += 1
    return held[0] + held[1] * 10 + held[2] * 100


@func
def fields(a: Int, b: Int, c: Int) -> Int:
    s = Body(Vector[Int, 3](a, b, c), InlineArray[Int, 3](b, c, a), SIMD[Int, 2](a, b))
    for i in range(abs(a) + 1):
        s.at.x += 1
        s.counts[(i + b) % 3] += s.at[i % 3]
        s.lanes[i % 2] = s.counts[0]
        s.at.yz = s.at.zy
    other = Body(Vector[Int, 3](1, 2, 3), InlineArray[Int, 3](1, 2, 3), SIMD[Int, 2](1, 2))
    bodies = InlineArray[Body, 2](s, other)
    bodies[abs(c) % 2].counts[1] = 8
    bodies[1].at[a % 3] = c
    one = bodies[1]
    return sum(bodies[0].counts) + sum(one.counts) * 10 + sum(one.at) * 100 + bodies[0].lanes[0] * 1000


@func
def raised(counts: InlineArray[Int, 3], v: Vector[Int, 3], by: Int):
    for i in range(3):
        counts[i] += by
        v[i] = counts[2 - i]
    return counts, v


@func
def given(a: Int, b: Int, c: Int) -> Int:
    counts, v = InlineArray[Int, 3](a, b, c), Vector[Int, 3](a)
    for _ in range(2):
        counts, v = raised(counts, v, b)
        counts[0] -= v[1]

    def bump(by: Int) -> None:
        nonlocal v
        v[1] += by

    bump(c)
    return counts[0] + counts[1] * 10 + counts[2] * 100 + v.x * 7 + v.y * 70 + v.z * 700
"""
PLAIN = """
import copy


class Kind:
    def __class_getitem__(cls, item):
        return lambda *given, fill=None: cls(item, list(given) or [fill] * item[1])


class InlineArray(Kind):
    def __new__(cls, item, given):
        return given


class SIMD(Kind):
    def __new__(cls, item, given):
        return Lanes(given)


class Lanes(list):
    def __setitem__(self, at, value):
        super().__setitem__(at, [value] * len(self[at]) if isinstance(at, slice) else value)


class Vector(Kind):
    def __init__(self, item, given):
        self.all = given * 3 if len(given) == 1 else given

    def __getitem__(self, at):
        return self.all[at]

    def __setitem__(self, at, value):
        self.all[at] = value

    def __mul__(self, by):
        return Vector(None, [x * by for x in self.all])


def number(name):
    places = ["xyz".index(letter) for letter in name]

    def get(self):
        return self.all[places[0]] if len(name) == 1 else [self.all[p] for p in places]

    def put(self, value):
        for p, v in zip(places, [value] if len(name) == 1 else value):
            self.all[p] = v

    setattr(Vector, name, property(get, put))


for name in ("x", "y", "z", "zx", "yz", "zy"):
    number(name)


class Matrix(Kind):
    def __init__(self, item, given):
        self.rows = [given[:3], given[3:]]

    def __getitem__(self, at):
        return self.rows[at] if isinstance(at, int) else self.rows[at[0]][at[1]]

    def __setitem__(self, at, value):
        self.rows[at[0]][at[1]] = value


class Body:
    def __init__(self, at, counts, lanes):
        self.at, self.counts, self.lanes = at, counts, lanes
"""
MADE = """
from weft import Float64, func, struct
from weft.linalg import Vector
"""
MADE_PLAIN = f"""
{PLAIN}
Float64 = float


def func(f):
    return f


def struct(cls):
    def made(one, other):
        held = cls()
        held.one, held.other = one, other
        getattr(held, "__post_init__", lambda: None)()
        return held

    return made


Vector.__add__ = lambda self, other: Vector(None, [x + y for x, y in zip(self.all, other.all)])
"""
PAIRS = """

@struct
class Pair:
    one: Vector[Float64, 2]
    other: Vector[Float64, 2]


@struct
class Turned:
    one: Vector[Float64, 2]
    other: Vector[Float64, 2]

    def __post_init__(self):
        self.one = self.other


@func
def exchanged(pair: Pair) -> Pair:
    return Pair(pair.other, pair.one)


@func
def moved(pair: Pair) -> Pair:
    pair.one.x = 5.0
    return pair


def doubled(v):
    return Pair(v, v)


@func
def kept(v: Vector[Float64, 2]) -> Pair:
    pair = doubled(v)
    return pair


@func
def assigned(x: Float64) -> Float64:
    a, b = Vector[Float64, 2](x, 1.0), Vector[Float64, 2](2.0, x)
    BODY
"""
RIGHT = [
    "pair = Pair(a, b); pair.one.x = 5.0; return pair.one.x + b.x",
    "pair = Pair(other=b, one=a); again = pair; again.one.x = 5.0; return again.one.x + b.x",
    "pair = Pair(a, b) if x > 0.0 else Pair(b, a); pair.one.x = 5.0; return pair.one.x + pair.other.x",
    "pair = Pair(a, a + b); pair.one.x = 5.0; return pair.one.x + pair.other.x",
    "pair = Pair(a, b); pair.one.x = 5.0; return pair.one.x + a.x",
    "pair = Pair(a, b); pair.one = pair.other; pair.one.x = 5.0; return pair.one.x + b.x",
    "pair = Turned(a, b); pair.one.x = 5.0; return pair.one.x + b.x",
    "pair = Pair(a, b); one = pair.other; one.x = 5.0; return pair.one.x + b.x",
    "pair = Pair(a, a); pair.one.x = 5.0; return pair.one.x + pair.other.x",
    "pair = Pair(a, a); again = pair; a = b; again.one.x = 5.0; return again.one.x + again.other.x",
    "pair = doubled(a); pair.one.x = 5.0; return pair.one.x + pair.other.x",
    "pair = doubled(a + b); pair.one.x = 5.0; return pair.one.x + pair.other.x",
    "pair = exchanged(Pair(a, b)); pair.one.x = 5.0; return pair.one.x + b.x",
    "pair = moved(Pair(a, a)); return pair.one.x + pair.other.x",
    "pair = Pair(a, a); pair = moved(pair); return pair.one.x + pair.other.x",
    "pair = exchanged(kept(a)); again = pair; again.one.x = 5.0; return again.one.x + again.other.x",
    "pair = moved(doubled(b)); return pair.one.x + pair.other.x",
    "pair = Pair(a, b) if x > 0.0 else Pair(b, a); f = lambda: b.x; pair.one.x = 5.0; return f()",
    "pair = Pair(a, b) if x > 0.0 else Pair(b, a); pair.one.x = 5.0; return pair.one.x + b.x",
]
SHARED = [
    "pair = Pair(a, b); pair = pair if x > 0.0 else Pair(b, a)\n"
    "    def f() -> Float64: return b.x\n"
    "    k = f(); pair.one.x = 5.0; return k + pair.one.x + b.x",
]


def made(body: str, load: Any, before: str = MADE) -> Any:
    return load(before + PAIRS.replace("BODY", body.replace("; ", "\n    "))).assigned


COPIED = """
import copy

from weft import Float64, Int, Int32, SIMD, func


@func
def changed(x: Float64, i: Int) -> Int32:
    u = copy.copy(SIMD[Float64, 4](x, 2.0, x, 4.0).cast(Int32))
    u[i] -= 7
    again = copy.copy(u)
    again[i + 1] = 0
    v = u[0]
    other = copy.copy((u > v).select(SIMD[Int32, 4](v), v))
    other[i] -= other[0]
    one_of_them = copy.copy(u if x > 0 else again)
    for k in range(i):
        one_of_them[k] += 1
    return u[0] + 10 * u[1] + 100 * again[2] + 1000 * other[1] + 10000 * one_of_them[0]
"""


def test_lanes_of_a_copied_vector(load: Any) -> None:
    assert load(COPIED).changed(3.0, 1) == 3 + 10 * (2 - 7) + 10000 * (3 + 1)


ASKS = """
import operator

from weft import Bool, Float64, func

KINDS = {"is": operator.is_}


def asks(b):
    return KINDS["is"](b, True)


@func
def is_large(x: Float64) -> Bool:
    return asks(x > 2.0)
"""


def test_a_helper_that_runs_by_other_code(load: Any) -> None:
    """From the first program on that may ask by identity, helpers do while a kernel is elaborated."""
    assert load(ASKS).is_large(3.0)
    body = next(body for body in RIGHT if "doubled(b)" in body)
    assert made(body, load)(3.0) == made(body, load, MADE_PLAIN)(3.0)


@pytest.mark.parametrize("body", RIGHT)
def test_a_field_changes_for_all_names(body: str, load: Any) -> None:
    assert made(body, load)(3.0) == made(body, load, MADE_PLAIN)(3.0)


@pytest.mark.parametrize("body", SHARED)
def test_a_field_of_which_another_name_is(body: str, load: Any) -> None:
    with pytest.raises(CompileError, match="may be the same vec2d") as refused:
        made(body, load)(3.0)
    assert "copy.copy" in str(refused.value)


GRID = np.array([*itertools.product((-2, 0, 1, 3, 5), repeat=3)], np.int64)


@pytest.mark.parametrize("name", ["lanes", "small", "branched", "fields", "given"])
def test_parts_change(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)
    functions = SOURCE[SOURCE.index("@func") :].replace("@func\n", "")
    plain = getattr(load(f"from weft import Int\n{PLAIN}\n\n{functions}"), name)

    @kernel
    def rows(n: Int, a: Pointer[Int], b: Pointer[Int], c: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = function(a[i], b[i], c[i])

    inputs = [np.ascontiguousarray(GRID[:, k]) for k in range(3)]
    found = launch(rows, inputs, np.empty(len(GRID), np.int64))
    wanted = [plain(*map(int, row)) for row in GRID]
    assert found.tolist() == wanted
    assert [function(*map(int, row)) for row in GRID[:3]] == wanted[:3]


@kernel
def beside_memory(rows: Int, n: Pointer[Int], out: Pointer[Int]):
    if global_idx.x < rows:
        v = iota(Int, 2, n[0], 3)
        (out + 1)[0] = v[1]  # begins with no variable
        v[n[0] & 1] = 9
        out[0] = v[0] * 10 + v[1]


def test_a_part_is_assigned_beside_memory_that_has_no_name(launch: Any) -> None:
    assert launch(beside_memory, [np.array([7])], np.zeros(2, np.int64)).tolist() == [79, 10]


@struct
class One:
    x: Int


@struct
class Both:
    a: One
    b: One


@kernel
def held_twice(rows: Int, n: Pointer[Int], out: Pointer[Int]):
    if global_idx.x < rows:
        one = One(n[0])
        (out + 1)[0], both = Int(3), Both(one, one)  # beside a place that begins with no variable
        both.a.x = 5
        out[0] = both.b.x  # Python's is 5


def test_an_object_is_held_twice_beside_memory_that_has_no_name(launch: Any) -> None:
    assert launch(held_twice, [np.array([7])], np.zeros(2, np.int64)).tolist() == [5, 3]


NAMES = 60
"""So many names of one object are in more pairs than are followed before it is asked what calls do."""
MANY = f"""
from weft import Int, Pointer, func, kernel, struct


@struct
class Kept:
    x: Int

    def twin(self) -> "Kept":
        return self


@struct
class Made:
    x: Int

    def twin(self) -> "Made":
        return Made(self.x)


@func
def work(q) -> Int:
    {"; ".join(f"n{i} = q.twin()" for i in range(NAMES))}
    n0.x = q.x + 4
    return n0.x * 10 + q.x + {" + ".join(f"n{i}.x" for i in range(1, NAMES))}


@kernel
def of_kept(o: Pointer[Int]):
    o[0] = work(Kept(o[0]))


@kernel
def of_made(o: Pointer[Int]):
    o[0] = work(Made(o[0]))
"""


@pytest.mark.parametrize("order", ["kept, made", "made, kept, made"])
def test_what_many_names_share_is_found_for_each_class(device: Any, load: Any, order: str) -> None:
    """One function for an object that a call gives back, and for one that it makes anew."""
    module = load(MANY)
    for name in order.split(", "):
        numbers = device.enqueue_create_buffer(Int, 1)
        numbers.enqueue_copy_from(np.array([3]))
        device.enqueue_function(getattr(module, f"of_{name}"), numbers, grid_dim=1, block_dim=1)
        device.enqueue_copy(dst=(found := np.zeros(1, np.int64)), src=numbers)
        device.synchronize()
        others = 7 if name == "kept" else 3
        assert found.tolist() == [7 * 10 + others + (NAMES - 1) * others]
