"""Assigned fields of structs: what would only change a copy is refused; the host's checks."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from weft import CompileError, Float32, Float64, Int, func, struct
from weft.compiler.frontend.lostwrites import lost_writes, unread_writes


def lost(body: str, kernel: bool = False) -> list[str]:
    """The lost writes of a function of ``p``, ``q`` and ``n``."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    tree = ast.parse(f"def f(p, q, n):\n{lines}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    return sorted(ast.unparse(target) for target in lost_writes(tree, kernel))


def unread(body: str) -> list[str]:
    """The same of its variables."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    tree = ast.parse(f"def f(p, q, n):\n{lines}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    return sorted(ast.unparse(target) for target in unread_writes(tree))


REFUSED = {
    "p.x = 1": ["p.x"],
    "p.x += 1\np.y += 1": ["p.x", "p.y"],
    "p.x += 1\nreturn p.x": ["p.x"],
    "p.inner.x += 1\nreturn p.inner.x": ["p.inner.x"],
    "p.x += 1\nreturn q": ["p.x"],
    "p.x, m = 1, 2\nreturn m": ["p.x"],
    "p.x = q.y = n\nreturn q": ["p.x"],
    "for i in range(n):\n    p.x = p.x + i": ["p.x"],
    "while n > 0:\n    p.x += 1\n    n -= 1": ["p.x"],
    "if n:\n    p.x = 1\nelse:\n    return p": ["p.x"],
    "m = p\np.x = 1\nreturn m": ["p.x"],
}
TAKEN = [
    "p.x = 1\nreturn p",
    "p.x += 1\np.y += 1\nreturn p, n",
    "p.x = 1\nreturn g(p)",
    "p.x = 1\nreturn p.norm()",
    "p.x = 1\nm = p\nreturn m.x",
    "p.inner.x = 1\nreturn p.inner",
    "for i in range(n):\n    p.x = p.x + i\nreturn p",
    "for i in range(n):\n    if i == 2:\n        break\n    p.x = i\nreturn p + q",
    "while True:\n    p.x += 1\n    if p.x > n:\n        return p",
    "for i in range(n):\n    q = g(p)\n    p.x = i",
    "if n:\n    p.x = 1\nreturn p",
    "f = lambda: p\np.x = 1\nreturn f()",
    "p = g(q)\np.x = 1",  # no copy of the caller's any more
    "m = p\nm.x = 1\nreturn m.x",
]


UNREAD = {
    "v = p[n]\nv.x += 1": ["v.x"],
    "v = p[n]\nv.x += 1\np[n] = v": [],
    "v = p[n]\nv.x += 1\nq[0] = v.y": [],
    "for v in p:\n    v.x += 1": ["v.x"],
    "for v in p:\n    v.a[n] = v.a[0]\n    q[n] = 1": ["v.a[n]"],
    "v = p[n]\nfor i in range(n):\n    v.x += i\nreturn v": [],
    "v = p[n]\nif n:\n    v.x = 1\nelse:\n    return v.x": ["v.x"],
    "v = p[n]\nf = lambda: v.x\nv.x = 1\nreturn f()": [],
    "p = p[n]\np.x = 1": ["p.x"],
    "p.x = 1": [],
}


@pytest.mark.parametrize(("body", "targets"), UNREAD.items())
def test_unread(body: str, targets: list[str]) -> None:
    assert unread(body) == targets


@pytest.mark.parametrize(("body", "targets"), REFUSED.items())
def test_lost(body: str, targets: list[str]) -> None:
    assert lost(body) == targets


@pytest.mark.parametrize("body", TAKEN)
def test_not_lost(body: str) -> None:
    assert lost(body) == []


def test_in_a_kernel_reading_the_field_is_enough() -> None:
    assert lost("p.x += 1\nq.store(p.x)", kernel=True) == []
    assert lost("for i in range(n):\n    p.x += i\nq.store(p.x)", kernel=True) == []
    assert lost("p.x += 1\np.x += 1", kernel=True) == ["p.x", "p.x"]
    assert lost("q.store(p.x)\np.x += 1", kernel=True) == ["p.x"]
    assert lost("q[0] = p.x\np[1] += 1", kernel=True) == ["p[1]", "q[0]"]  # unless they prove to be memory


@struct
class Count:
    n: Int
    step: Float32

    def bump(self) -> Count:
        self.n += 1
        self.step *= 2
        return self

    def lost(self) -> Int:
        self.n += 1
        return self.n


@struct
class Pair:
    first: Count
    second: Count


@func
def bumped_thrice(c: Count) -> Count:
    for _ in range(3):
        c = c.bump()
    return c


@func
def items(x: Int) -> Any:
    counts = [Count(x, 0.5), Count(x + 1, 0.5)]
    counts[0].n += 5
    pairs = [copy.deepcopy(Pair(counts[0], counts[1]))]
    pairs[0].second.n = x * 7
    return counts[0].n, counts[1].n, pairs[0].first.n, pairs[0].second.n


def shown(c: Any) -> tuple[int, float]:
    return int(c.n), float(c.step)


def test_the_changed_struct_is_returned() -> None:
    c = Count(1, 0.25)
    assert c.bump() is c
    assert shown(c) == (2, 0.5)
    assert bumped_thrice(c) is c
    assert shown(c) == (5, 4.0)
    c.lost()
    assert shown(c)[0] == 6


def test_items_of_lists_keep_what_is_assigned() -> None:
    assert items(2) == (7, 3, 7, 14)


@struct
class Deep:
    pair: Pair


@func
def augmented(x: Int) -> Any:
    pair, deep = Pair(Count(x, 0.5), Count(x, 0.5)), Deep(Pair(Count(x, 0.5), Count(x, 0.5)))
    if x > 1:
        pair.first.n += 5
        deep.pair.second.n *= 7
    for i in range(x):
        pair.second.n -= i
        deep.pair.first.n = deep.pair.first.n + i
    pairs = [Deep(copy.deepcopy(pair))]
    pairs[0].pair.first.n += 100
    return pair.first.n, pair.second.n, deep.pair.first.n, deep.pair.second.n, pairs[0].pair.first.n


def test_fields_of_fields_are_assigned_whatever_the_depth() -> None:
    assert augmented(3) == (8, 0, 6, 21, 108)


def test_assigning_on_the_host_converts() -> None:
    c = Count(1, 0.5)
    c.step = 0.1
    assert type(c.step) is Float32
    assert c.step == Float32(0.1)
    with pytest.raises(CompileError, match=r"the float 3\.0 is not an Int"):  # as in a kernel
        c.n = 3.0
    c.n = 3
    assert shown(c.bump()) == (4, 0.20000000298023224)
    with pytest.raises(CompileError, match="Count has no field `m`"):
        c.m = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(c, "m")
    pair = Pair(c, c)
    with pytest.raises(CompileError, match="is a Count, not an int"):
        pair.first = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_fields_have_a_size() -> None:
    with pytest.raises(CompileError, match=r"Wrong\.x is annotated `float`"):

        @struct
        class Wrong:
            x: float

    @struct
    class Right:
        x: Float64

    assert type(Right(1).x) is Float64


@struct
class Ends:
    x: Float64
    y: Float64

    def __iter__(self) -> Iterator[Float64]:
        yield self.x
        yield self.y


@func
def iterated(x: Float64) -> Float64:
    a, b = Ends(x, 2.0)
    total = a - b
    for i, (c, d) in enumerate(zip(Ends(x, 3.0), Ends(5.0, x), strict=True)):
        total += c * d + i
    return total + sum(Ends(total, x))


def test_iterated() -> None:
    x = 7.0
    total = x - 2.0 + (x * 5.0 + 0) + (3.0 * x + 1)
    assert iterated(x) == total + total + x
    assert list(Ends(1.0, 2.0)) == [1.0, 2.0]


@struct
class Interval:
    low: Int
    high: Int
    size: Int = Int(0)

    def __post_init__(self):
        self.size = self.high - self.low

    def __len__(self) -> Int:
        return self.size


@struct
class Marked(Interval):
    mark: Float32 = Float32(0.5)

    def __post_init__(self):
        super().__post_init__()
        self.mark = self.size * self.mark


@struct
class Switch:
    on: Int

    def __bool__(self) -> bool:
        return self.on > 2  # pyright: ignore[reportReturnType]


@func
def made(n: Int) -> tuple[Int, Int, Float32]:
    plain, marked = Interval(n, 10), Marked(n, 20)
    plain.low = 100
    return plain.size, marked.size, marked.mark


@func
def conditions(n: Int) -> Int:
    interval, switch, found = Interval(0, n), Switch(n), 0
    if switch:
        found = 1
    if not interval:
        found += 10
    while interval:
        interval = Interval(interval.low + 1, interval.high)
        found += 100
    found += 1000 if (switch and Switch(n - 1)) or n == 1 else 2000
    return Int(found + 10000 * bool(switch) + 20000 * any(s for s in (Switch(0), switch)))


def test_a_struct_is_finished_by_its_own_method() -> None:
    assert made(4) == (6, 16, 8.0)
    assert Interval(1, 5).size == 4


@pytest.mark.parametrize("n", [0, 1, 3, 4])
def test_a_struct_says_itself_whether_it_is_true(n: int) -> None:
    wanted = (n > 2) + 10 * (n == 0) + 100 * n + (1000 if n > 3 or n == 1 else 2000) + 30000 * (n > 2)
    assert conditions(n) == wanted
