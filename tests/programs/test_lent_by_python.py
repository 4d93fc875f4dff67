"""Structs that Python gives to functions: what they change is changed for Python, as by its own functions."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, cast

import pytest

from weft import CompileError, DeviceError, Float32, InlineArray, Int, LaunchError, func, struct


def scaled(self: Any, by: Any) -> Any:
    self.x *= by
    self.y *= by
    return self


def halve(self: Any) -> None:
    self.x /= 2
    self.y /= 2


def sum_of(self: Any) -> Any:
    return self.x + self.y


def step(self: Any, dt: Any) -> Any:
    self.at.x += self.speed.x * dt
    self.at.y += self.speed.y * dt
    self.steps += 1
    return self.at.sum()


@dataclasses.dataclass
class PlainVector:
    x: float
    y: float
    scaled = scaled
    halve = halve
    sum = sum_of


@dataclasses.dataclass
class PlainBody:
    at: PlainVector
    speed: PlainVector
    steps: int
    step = step


@struct
class Vector:
    x: Float32
    y: Float32
    scaled = scaled
    halve = halve
    sum = sum_of


@struct
class Body:
    at: Vector
    speed: Vector
    steps: Int
    step = step


def moved(a: Any, b: Any) -> Any:
    a.x, a.y = b.y, b.x
    return a.sum()


def swapped(a: Any, b: Any) -> Any:
    a.x, b.x = b.x, a.x
    return b, a.x, (a, 2)


def in_loops(a: Any, n: Any) -> Any:
    total = a.x * 0
    for i in range(n):
        if i % 3 == 1:
            a.x += 1.0
        elif a.x > 4:
            a.halve()
        total += a.x
    return total


def by_another_name(a: Any, n: Any) -> Any:
    b = a
    b.x += n
    c = copy.copy(a)
    c.y += 1.0
    return a.x + c.y


def nothing(a: Any) -> Any:
    a.x = a.x


def of_lists(a: Any, b: Any) -> Any:
    for one in [a, b, a]:
        one.y += one.x
    return a.y


def plain(value: Any) -> Any:
    """A value of numbers and dataclasses."""
    if dataclasses.is_dataclass(value):
        return [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [*map(plain, cast("tuple[Any, ...]", value))]
    return value and float(value)


def places(value: Any, objects: list[Any]) -> Any:
    """Which of the objects a result is, or has in it."""
    if isinstance(value, tuple):
        return [places(item, objects) for item in cast("tuple[Any, ...]", value)]
    return [n for n, one in enumerate(objects) if one is value]


@pytest.mark.parametrize(
    ("function", "numbers", "more"),
    [
        (moved, [(1, 2), (3, 4)], ()),
        (swapped, [(1, 2), (3, 4)], ()),
        (in_loops, [(1.5, 2)], (11,)),
        (by_another_name, [(1, 2)], (3,)),
        (nothing, [(1, 2)], ()),
        (of_lists, [(1, 2), (3, 4)], ()),
        (moved, [(1, 2)], ()),
        (swapped, [(1, 2)], ()),
        (of_lists, [(1, 2)], ()),
    ],
)
def test_functions(function: Callable[..., Any], numbers: list[Any], more: tuple[Any, ...]) -> None:
    ours, theirs = [Vector(*pair) for pair in numbers], [PlainVector(*pair) for pair in numbers]
    call, twice = func(function), len(numbers) + len(more) < function.__code__.co_argcount
    for _ in range(3):
        found = call(*ours, *ours, *more) if twice else call(*ours, *more)
        right = function(*theirs, *theirs, *more) if twice else function(*theirs, *more)
        assert plain(found) == plain(right)
        assert plain(tuple(ours)) == plain(tuple(theirs))
        assert places(found, ours) == places(right, theirs)


def test_methods_and_structs_within() -> None:
    ours = Body(Vector(1, 2), Vector(3, 5), 0)
    theirs = PlainBody(PlainVector(1, 2), PlainVector(3, 5), 0)
    at = ours.at
    for dt in (0.5, 2.0):
        assert ours.step(Float32(dt)) == theirs.step(dt)
        assert plain(ours) == plain(theirs)
    assert ours.at is at
    assert ours.at.scaled(2) is at
    assert plain(ours)[0] == plain(theirs.at.scaled(2))


@struct
class Table:
    items: InlineArray[Int, 3]
    pair: tuple[Int, Float32]


@func
def filled(t: Table, n: Int) -> None:
    t.items = InlineArray[Int, 3](n, n + 1, n + 2)
    t.pair = (n, 0.5)


def test_fields_of_other_kinds() -> None:
    table = Table(InlineArray[Int, 3](0, 0, 0), (1, 2.0))
    filled(table, 5)
    assert ([*map(int, table.items)], [*map(float, table.pair)]) == ([5, 6, 7], [5.0, 0.5])


KNOWN = Vector(1, 1)
LISTED = [KNOWN]


@func
def and_known(a: Vector) -> Float32:
    a.x += 1.0
    return a.x + KNOWN.x


@func
def and_listed(a: Vector) -> Float32:
    a.x += 1.0
    return a.x + LISTED[0].x


@func
def through_both(a: Body, b: Vector) -> Float32:
    a.at.x += 1.0
    b.y += a.at.x
    return b.x


def test_a_struct_within_another_that_is_given_too() -> None:
    at, other = Vector(1, 2), Vector(7, 7)
    body = Body(at, at, 0)
    assert through_both(body, at) == 2
    assert plain(at) == plain(body)[0] == plain(body)[1] == [2, 4]
    assert through_both(body, other) == 7
    assert (plain(at), plain(other)) == ([3, 4], [7, 10])


@pytest.mark.parametrize("function", [and_known, and_listed])
def test_what_the_function_reads_too_is_refused(function: Any) -> None:
    other = Vector(4, 4)
    assert (function(other), other.x) == (5 + KNOWN.x, 5)
    with pytest.raises(LaunchError, match="changes a Vector, which it also reads by a name"):
        function(KNOWN)
    assert KNOWN.x == 1


@func
def by_default(n: Int, a: Vector = KNOWN) -> Float32:
    a.x += 1.0
    return a.x + Float32(n)


def test_a_default_is_not_changed() -> None:
    with pytest.raises(LaunchError, match="changes a Vector, which it also reads by a name"):
        by_default(1)
    other = Vector(4, 4)
    assert (by_default(1, other), other.x, KNOWN.x) == (6, 5, 1)


@func
def asserted(a: Vector) -> None:
    a.x += 1.0
    assert a.x < 0.0


def test_a_call_that_fails_changes_nothing() -> None:
    one = Vector(1, 2)
    with pytest.raises(DeviceError):
        asserted(one)
    assert one.x == 1


class Sizes:
    def __init__(self) -> None:
        self.list, self.known = [1, 2], dict[int, int]()

    @functools.cached_property
    def first(self) -> int:
        return self.list[0]

    def squared(self, n: int) -> int:
        if n not in self.known:
            self.known[n] = n * n
        return self.known[n]

    def more(self) -> int:
        self.list.append(3)
        return len(self.list)


@func
def remembered(sizes: Any, n: Int) -> Int:
    return n + sizes.first + sizes.squared(3) + sizes.squared(3)


@func
def grown(sizes: Any, n: Int) -> Int:
    return n + sizes.more()


@func
def item_set(sizes: Any, n: Int) -> Int:
    sizes[0] += 5
    return n + sizes[0]


@func
def copied(sizes: Any, n: Int) -> Int:
    mine = copy.deepcopy(sizes)
    mine[0] += 5
    return n + mine[0]


def test_what_is_known_at_compile_time() -> None:
    sizes, table = Sizes(), {0: 1, 5: 2}
    for _ in range(2):
        assert remembered(sizes, 1) == 1 + 1 + 9 + 9
        with pytest.raises(CompileError, match="grown changes `sizes`, which it is given at compile time"):
            grown(sizes, 1)
        for given in (sizes.list, table):
            assert copied(given, 1) == 7
            with pytest.raises(CompileError, match="item_set changes `sizes`, which it is given at compile"):
                item_set(given, 1)
    assert (sizes.list, table) == ([1, 2], {0: 1, 5: 2})


class Keeper:
    def __init__(self) -> None:
        self.vector = Vector(1, 2)

    def get(self) -> Vector:
        return self.vector


KEEPER = Keeper()
KEPT = functools.partial(Keeper.get, KEEPER)


@func
def by_method(n: Int) -> Float32:
    one = KEEPER.get()
    one.x += Float32(n)
    return KEEPER.get().x


@func
def by_partial(n: Int) -> Float32:
    one = KEPT()
    one.x += Float32(n)
    return KEPT().x


@func
def chosen(n: Int) -> Float32:
    one = KEEPER.get() if n > 3 else KEPT()
    one.x += 1.0
    return KEEPER.get().x


@func
def in_a_loop(n: Int) -> Float32:
    one = KEEPER.get()
    for _ in range(n):
        one.x += 1.0
    return KEEPER.get().x


@func
def by_a_function_within(n: Int) -> Float32:
    one = KEEPER.get()

    def more() -> None:
        nonlocal one
        one.x += Float32(n)

    more()
    return KEEPER.get().x


@func
def of_a_copy(n: Int) -> Float32:
    one = copy.copy(KEEPER.get())
    for _ in range(n):
        one.x += 1.0
    return KEEPER.get().x + one.x


@pytest.mark.parametrize("function", [by_method, by_partial, chosen, in_a_loop, by_a_function_within])
def test_what_the_program_has_made_is_not_changed(function: Any) -> None:
    with pytest.raises(CompileError, match="`one` is a Vector that the program has made"):
        function(5)
    assert of_a_copy(5) == 1 + 6


@func
def in_a_branch(a: Vector, n: Int) -> Float32:
    if n > 0:
        a = a.scaled(2)
    return a.x


def test_a_result_that_a_branch_assigns_is_the_object() -> None:
    for n in (0, 1):
        one = Vector(1, 2)
        assert (in_a_branch(one, n), plain(one)) == ((2, [2, 4]) if n else (1, [1, 2]))
