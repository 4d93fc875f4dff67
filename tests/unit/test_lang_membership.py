"""``in`` on run-time values: what Python answers, for each container, position and type."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from weft import Float32, Int, Int64, UInt8, UInt64, func, struct

TABLE = {1: "one", 4: "four"}
NOTHING: list[int] = []
STEPS = range(1, 8, 3)
MANY = range(-2, 10**9, 5)
PRIMES = frozenset({2, 3, 5, 7})


@func
def in_tuple(n: Int, a: Int) -> Any:
    return n in (1, a, -3)


@func
def not_in_list(n: Int, a: Int) -> Any:
    return n not in [a, a + 2, 5]


@func
def in_set(n: Int, a: Int) -> Any:
    return n in {1, 3} and a not in PRIMES


@func
def in_dict(n: Int, a: Int) -> Any:
    return n in TABLE or a in TABLE.keys()


@func
def in_nothing(n: Int, a: Int) -> Any:
    return n in NOTHING or a not in NOTHING


@func
def literal_in_values(n: Int, a: Int) -> Any:
    return 3 in (n, a)


@func
def in_one(n: Int, a: Int) -> Any:
    return n in (a,)


@func
def chained(n: Int, a: Int) -> Any:
    return 0 < n in (1, 2, a)


@func
def in_set_of_values(n: Int, a: Int) -> Any:
    return n in {a, a + 1, 0}


@func
def pairs(n: Int, a: Int) -> Any:
    return (n, a) in ((1, 2), (3, 5), (a, n)) or (n, 1) not in [(2, 1), (2, 1, 0), 4]


@func
def in_range(n: Int, a: Int) -> Any:
    return n in range(a) or n in range(-2, a)


@func
def in_range_down(n: Int, a: Int) -> Any:
    return n in range(a, -4, -1)


@func
def in_range_by_steps(n: Int, a: Int) -> Any:
    return n in range(-4, a + 2, 3) or n in range(a, -6, -2) or 2 in range(n, a, 3)


@func
def in_range_by_late_steps(n: Int, a: Int) -> Any:
    return n in range(-4, 8, 2 * a + 1) or n in range(6, -7, a - 4)


@func
def in_range_of_the_host(n: Int, a: Int) -> Any:
    return n in STEPS or a not in MANY


@func
def branches(n: Int, a: Int) -> Any:
    count = 0
    for i in range(6):
        if i in (n, a):
            count += 10
        elif i not in (1, 2):
            count += 1
    while count in (20, 22, 24, n):
        count += 1
    return count


@func
def conditional(n: Int, a: Int) -> Any:
    return 7 if n in (a, 2) else -7


INTEGERS = (
    in_tuple,
    not_in_list,
    in_set,
    in_dict,
    in_nothing,
    literal_in_values,
    in_one,
    chained,
    in_set_of_values,
    pairs,
    in_range,
    in_range_down,
    in_range_by_steps,
    in_range_by_late_steps,
    in_range_of_the_host,
    branches,
    conditional,
)


@pytest.mark.parametrize("f", INTEGERS, ids=lambda f: f.__name__)
def test_integers(f: Callable[..., Any]) -> None:
    python: Callable[..., Any] = vars(f)["__wrapped__"]
    for n in range(-5, 9):
        for a in (-3, 0, 1, 2, 3, 5):
            assert f(n, a) == python(n, a), (n, a)


@func
def between_extremes(n: Int64, start: Int64, stop: Int64, step: Int64) -> Any:
    return n in range(start, stop, step)


@func
def above_a_sign(n: UInt64, start: UInt64, step: UInt64) -> Any:
    return n in range(start, 2**64 - 1, step)


def test_ranges_from_end_to_end_of_a_type() -> None:
    ends = (-(2**63), -7, 0, 2, 2**63 - 1)
    for start, stop, n in itertools.product(ends, ends, (*ends, 2**63 - 2, 1 - 2**63)):
        for step in (1, -1, 3, -10, 2**40, -(2**63)):
            assert between_extremes(n, start, stop, step) == (n in range(start, stop, step)), (
                start,
                stop,
                step,
                n,
            )
    for n, step in itertools.product((0, 5, 2**63 + 2, 2**64 - 2), (1, 3, 2**63)):
        for start in (0, 2, 2**63 - 1):
            assert above_a_sign(n, start, step) == (n in range(start, 2**64 - 1, step)), (n, start, step)


@func
def floats(x: Float32, y: Float32) -> Any:
    return x in (0.5, y, -1.0)


def test_floats_compare_as_equal_does() -> None:
    nan = float("nan")
    for x in (0.5, -1.0, 2.0, 0.25):
        for y in (2.0, -0.0):
            assert floats(x, y) == (x in (0.5, y, -1.0))
    assert floats(-0.0, 0.0) is True
    assert floats(nan, nan) is False  # Python's `in` also takes one and the same object for equal


@func
def narrow(x: UInt8) -> Any:
    return x in (1, 255)


def test_literals_take_the_type() -> None:
    assert [x for x in range(256) if narrow(x)] == [1, 255]


@struct
class Interval:
    low: Int
    high: Int

    def __contains__(self, x: Int) -> Any:
        return self.low <= x and x < self.high

    def __eq__(self, other: Any) -> Any:
        return self.low == other.low and self.high == other.high


@func
def in_struct(n: Int, a: Int) -> Any:
    return n in Interval(0, a)


@func
def struct_in_tuple(n: Int, a: Int) -> Any:
    return Interval(n, a) in (Interval(1, 2), Interval(a, a))


def test_structs() -> None:
    for n in range(-1, 5):
        for a in range(-1, 5):
            assert in_struct(n, a) == (0 <= n < a)
            assert struct_in_tuple(n, a) == ((n, a) in ((1, 2), (a, a)))
