"""Fields that lead to structs, which functions assign: they lead where they do in Python."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest

from weft import Bool, CompileError, Float32, InlineArray, Int, func, struct
from weft.linalg import vec3


@struct
class Inner:
    x: Float32
    n: Int


@struct
class Outer:
    a: Inner
    b: Inner


@dataclasses.dataclass
class PlainInner:
    x: float
    n: int


@dataclasses.dataclass
class PlainOuter:
    a: Any
    b: Any


def shared(p: Outer, q: Inner, n: Int) -> Int:
    if n > 1:
        p.a = p.b
    p.a.n += 1
    return p.a.n + p.b.n


def made(p: Outer, q: Inner, n: Int) -> Int:
    if n > 1:
        p.a = Inner(1.5, 7)
    p.a.n += 1
    return p.a.n


def given(p: Outer, q: Inner, n: Int) -> Outer:
    if n > 1:
        p.a = q
    else:
        p.b = q
    q.n += 3
    return p


def put(p: Outer, q: Inner, n: Int) -> None:
    p.a = q
    q.n += n


def in_rounds(p: Outer, q: Inner, n: Int) -> Inner:
    for i in range(n):
        p.a = Inner(p.a.x + 1, i)
    return p.b


def swapped(p: Outer, q: Inner, n: Int) -> None:
    for _ in range(n):
        p.a, p.b = p.b, p.a
    p.a.n += 1


def one_of_three(p: Outer, q: Inner, n: Int) -> None:
    if n == 1:
        p.a = Inner(9.0, 1)
        return
    if n == 2:
        p.a = p.b
        return
    p.b.n = 77


def maybe_new(p: Outer, n: Int) -> None:
    if n == 1:
        p.a = Inner(9.0, 1)


def by_a_call(p: Outer, q: Inner, n: Int) -> None:
    before = p.a
    maybe_new(p, n)
    before.n += 100
    p.a.n += 1


def changed_later(p: Outer, q: Inner, n: Int) -> None:
    new = Inner(2.0, n)
    p.a = new
    new.n += 5


def with_jumps(p: Outer, q: Inner, n: Int) -> None:
    for i in range(n):
        if i % 2 == 1:
            p.a = Inner(p.a.x * 2, p.a.n + i)
            continue
        if i > 5:
            break
        p.b.n += p.a.n


PROGRAMS: list[Callable[..., Any]] = [
    *(shared, made, given, put, in_rounds, swapped, one_of_three, by_a_call, changed_later, with_jumps)
]


def described(p: Any, q: Any, before: tuple[Any, Any], result: Any) -> list[Any]:
    names = {id(before[0]): "a", id(before[1]): "b", id(q): "q", id(p): "p"}
    inner = [(names.get(id(one), "new"), float(one.x), int(one.n)) for one in (p.a, p.b, *before, q)]
    found = (
        names.get(id(result), "new")
        if hasattr(result, "__dict__") and not hasattr(result, "dtype")
        else result
    )
    return [*inner, p.a is p.b, found]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program: Callable[..., Any], n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, within = func(program), func(maybe_new)
    p, q = Outer(Inner(0.5, 1), Inner(2.5, 2)), Inner(4.5, 40)
    before = p.a, p.b
    with monkeypatch.context() as patch:
        patch.setattr(inspect.getmodule(program), "maybe_new", within)
        got = described(p, q, before, compiled(p, q, n))
    plain, other = PlainOuter(PlainInner(0.5, 1), PlainInner(2.5, 2)), PlainInner(4.5, 40)
    first = plain.a, plain.b
    with monkeypatch.context() as patch:
        patch.setattr(inspect.getmodule(program), "Inner", PlainInner)
        want = described(plain, other, first, program(plain, other, n))
    assert got == want


@struct
class Body:
    at: vec3
    hits: InlineArray[Int, 3]


@func
def moved(body: Body, steps: Int, away: Bool) -> Body:
    for step in range(steps):
        body.at += vec3(1.0, 0.5, 0.0)
        if body.at[step % 3] > 2.0:
            body.hits[step % 3] += 1
        if away:
            body.at.zx = body.at.xz
    return body


def test_vectors_in_structs() -> None:
    body = Body(vec3(0, 1, 0), InlineArray[Int, 3](fill=0))
    at = body.at
    assert moved(body, 0, False) is body
    assert body.at is at
    assert moved(body, 5, False) is body
    assert [*map(float, body.at)] == [5, 3.5, 0]
    assert [*map(int, body.hits)] == [1, 1, 0]
    assert body.at is not at
    assert [*map(float, at)] == [0, 1, 0]
    assert [*map(float, moved(body, 1, True).at)] == [0, 4, 6]


@func
def both(p: Outer) -> None:
    new = Inner(1.0, 1)
    p.a = new
    p.b = new


@func
def also_returned(p: Outer) -> Inner:
    p.a = Inner(1.0, 1)
    return p.a


@pytest.mark.parametrize("function", [both, also_returned])
def test_a_new_struct_with_two_names_is_refused(function: Any) -> None:
    p = Outer(Inner(0.5, 1), Inner(2.5, 2))
    with pytest.raises(CompileError, match="`p` is a copy here: what is assigned to its fields is lost"):
        function(p)
    assert (p.a.x, p.b.x) == (cast("Any", 0.5), cast("Any", 2.5))


@struct
class Whole:
    outer: Outer
    n: Int


@func
def renewed(whole: Whole, n: Int) -> Int:
    for i in range(n):
        if i == 1:
            whole.outer = Outer(Inner(Float32(n), i), Inner(2.0, 3))
        whole.outer.a.n += 10
    return whole.outer.a.n


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_new_struct_that_has_new_ones(n: int) -> None:
    whole = Whole(Outer(Inner(0.5, 1), Inner(2.5, 2)), 7)
    first, inner = whole.outer, whole.outer.a
    assert renewed(whole, n) == (11 if n == 1 else 1 + 10 * (n - 1))
    assert (inner.n, first.a is inner, whole.outer is first) == (11, True, n == 1)
    assert (whole.outer.a.x, whole.outer.b.n, whole.n) == ((0.5, 2, 7) if n == 1 else (n, 3, 7))
