"""Control flow, compile-time values, functions and tuples: each program as Python would run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from weft import (
    CompileError,
    Comptime,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    UInt8,
    UInt32,
    UInt64,
    func,
    unroll,
)


# -- loops ----------------------------------------------------------------------------------
@func
def after_the_loop(n: Int) -> Any:
    i = -1
    for i in range(n):  # noqa: B007
        pass
    return i


@func
def return_from_forever(n: Int) -> Any:
    k = 0
    while True:
        k += 1
        if k * k > n:
            return k


@func
def break_from_forever(n: Int) -> Any:
    k = 0
    while True:
        k += 1
        if k * k > n:
            break
    return k


@func
def odd_sums(n: Int) -> Any:
    total = 0
    i = 0
    while i < n:
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 2 == 0:
                continue
            total += j
        i += 1
    return total


@func
def collatz(n: Int) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@func
def ranges(a: Int, c: Int, step: Int) -> Any:
    text = 0
    for i in range(a, c, step):
        text = text * 10 + i
    return text


@func
def nested_early_return(n: Int) -> Any:
    for i in range(n):
        for j in range(i):
            if i * j == 12:
                return i, j
            elif i + j == 20:
                return j, i
    return -1, -1


@func
def deep(a: Int) -> Any:
    r = 0
    if a > 0:
        if a > 1:
            if a > 2:
                if a > 3:
                    if a > 4:
                        if a > 5:
                            if a > 6:
                                r = 7
                            else:
                                r = 6
                        else:
                            r = 5
                    else:
                        r = 4
                else:
                    r = 3
            else:
                r = 2
        else:
            r = 1
    return r


@func
def small_index(n: Int8) -> Any:
    total = 0
    for i in range(n):
        total += i
    return total


@func
def count(start: Any, stop: Any, step: Any) -> Any:
    n, last = 0, start
    for i in range(start, stop, step):
        n += 1
        last = i
    return n, last


@func
def down_to_zero(n: Any) -> Any:
    total = 0
    for i in range(n, 0, -1):
        total = total * 10 + i
    return total


def test_ranges_of_every_width() -> None:
    assert count(Int32(-(2**31)), Int32(2**31 - 1), Int32(2**30)) == (4, 2**30)
    assert count(UInt32(2**31 - 1), UInt32(2**31 + 2), UInt32(2)) == (2, 2**31 + 1)
    assert count(UInt64(2**62), UInt64(2**62 + 3), UInt64(1)) == (3, 2**62 + 2)
    assert count(UInt64(2**64 - 9), UInt64(2**64 - 1), UInt64(3)) == (3, 2**64 - 3)
    assert count(UInt64(5), UInt64(2**64 - 1), UInt64(2**63)) == (2, 2**63 + 5)
    assert [down_to_zero(cls(4)) for cls in (UInt8, Int8, UInt64, Int32)] == [4321] * 4
    assert count(0, 5, 0) == (0, 0)
    assert count(0, -5, 0) == (0, 0)


def test_loops() -> None:
    assert (after_the_loop(5), after_the_loop(0)) == (4, -1)
    assert (return_from_forever(10), break_from_forever(10)) == (4, 4)
    assert odd_sums(9) == odd_sums.function(9)
    assert [collatz(n) for n in (1, 7, 27)] == [0, 16, 111]
    assert (ranges(1, 6, 2), ranges(6, 1, -2), ranges(5, 1, 1), ranges(9, 4, -1)) == (135, 642, 0, 98765)
    assert (nested_early_return(9), nested_early_return(3)) == ((4, 3), (-1, -1))
    assert [deep(n) for n in range(9)] == [0, 1, 2, 3, 4, 5, 6, 7, 7]
    assert small_index(10) == 45


# -- logic ----------------------------------------------------------------------------------
@func
def noisy(x: Int) -> Any:
    print("noisy", x)
    return x - 5


@func
def short_circuits(a: Int) -> Any:
    return a > 2 and noisy(a), a > 2 or noisy(a), 7 if noisy(a) else 8.5


@func
def chained(a: Int, c: Int) -> Any:
    return 0 < a < noisy(c) <= 10, 0 < a and a < c


@func
def known_halves(a: Int) -> Any:
    yes, no = True, False
    return yes and a > 2, no and a > 2, a > 2 or yes, a > 2 and (a > 8 and no), not no and not (a > 2)


def test_operands_are_computed_where_python_computes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert short_circuits(1) == (False, -4, 7.0)
    assert capsys.readouterr().out == "noisy 1\nnoisy 1\n"
    assert short_circuits(5) == (0, True, 8.5)
    assert capsys.readouterr().out == "noisy 5\nnoisy 5\n"
    assert (chained(0, 9), chained(3, 9), chained(3, 99)) == ((False, False), (True, True), (False, True))
    assert capsys.readouterr().out == "noisy 9\nnoisy 99\n"
    assert known_halves(1) == (False, False, True, False, True)
    assert known_halves(9) == (True, False, True, False, False)


# -- compile time ---------------------------------------------------------------------------
TABLE = [1, 2, 3]
FACTOR = 2.5


@func
def globals_are_known(x: Any) -> Any:
    return x * FACTOR + TABLE[1] + sum([v for v in TABLE if v > 1])


def adder(k: Any) -> Any:
    @func
    def add(x: Any) -> Any:
        return x + k

    return add


@func
def apply(f: Any, x: Any) -> Any:
    return f(x)


@func
def lambdas(x: Any) -> Any:
    twice: Callable[[Any], Any] = lambda v: v * 2 + x  # noqa: E731
    return twice(x) + twice(1)


@func
def power(x: Any, *, n: Comptime[int]) -> Any:
    if n == 0:
        return x * 0 + 1
    return x * power(x, n=n - 1)


@func
def static_jumps(x: Any) -> Any:
    s = 0
    for i in unroll(range(10)):
        if i == 3:
            continue
        if i == 6:
            break
        s += i * x
    return s


@func
def jumps_in_unrolled_loop(n: Int) -> Any:
    s = 0
    for i in unroll(range(4)):
        for j in range(n):
            if j > i:
                break
            s += j
        if i == 2:
            break
    return s


@func
def comprehensions(x: Any) -> Any:
    s = x * 0
    for k, w in enumerate((1.5, 2.5)):
        s += w * x + k
    for a, c in zip([1, 2], [3, 4], strict=True):
        s += a * c
    squares = [x * v for v in TABLE]
    table = {name: v for v, name in enumerate("abc")}
    return s, sum(squares), max(squares), len(squares), table["c"]


@func
def choose(x: Any, *, kind: Comptime[str]) -> Any:
    if kind == "double":
        return x * 2
    elif kind == "text":
        return "text"
    return None


def test_compile_time_values() -> None:
    assert globals_are_known(1.0) == 9.5
    assert (adder(3)(1), adder(2.5)(1.0), adder(0.5)(Float32(1))) == (4, 3.5, 1.5)
    assert apply(adder(1), 5) == 6
    assert lambdas(3) == 14
    assert (power(2.0, n=3), power.bind(n=4)(2)) == (8.0, 16)
    assert static_jumps(1) == 12
    assert jumps_in_unrolled_loop(5) == 0 + 1 + 3
    assert comprehensions(1.0) == (16.0, 6.0, 3.0, 3, 2)
    assert (choose(4, kind="double"), choose(4, kind="text"), choose(4, kind="")) == (8, "text", None)


def test_equal_values_of_different_types_are_different() -> None:
    seen = [power(3, n=2), adder(0)(1), adder(0.0)(1.0), adder(-0.0)(-0.0), adder(True)(1)]
    assert [repr(v) for v in seen] == ["9", "1", "1.0", "-0.0", "2"]


@func
def factorial(n: Int) -> Int:
    if n < 2:
        return Int(1)
    return n * factorial(n - 1)


@func
def runtime_break(n: Int) -> Any:
    s = 0
    for i in unroll(range(4)):
        if n == i:
            break
        s += i
    return s


@func
def needs_known(n: Int) -> Any:
    return power(2, n=n)  # pyright: ignore[reportArgumentType]


def test_a_written_out_loop_is_left_at_run_time() -> None:
    assert [runtime_break(n) for n in range(6)] == [0, 0, 1, 3, 6, 6]


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="recursion"):
        factorial(4)
    with pytest.raises(CompileError, match="Comptime"):
        needs_known(4)


# -- tuples and functions -------------------------------------------------------------------
@func
def fibonacci(n: Int) -> Any:
    pair = (0, 1)
    for _ in range(n):
        pair = (pair[1], pair[0] + pair[1])
    return pair[0]


@func
def swaps(a: Any, c: Any) -> Any:
    for _ in range(3):
        a, c = c, a + 1
    (x, y), z = (a, c), 1
    first, *rest = x, y, z
    return first, tuple(rest)


@func
def ordered(a: Any, c: Any) -> Any:
    if a > c:
        return a, c
    return c, a


@func
def spread(a: Any, c: Any) -> Any:
    high, low = ordered(a, c)
    return high - low


@func
def tuple_argument(point: Any) -> Any:
    (x, y), name = point
    return x * y, name


@func
def early_none(x: Int) -> None:
    if x > 3:
        return
    print("reached", x)


@func
def nested(x: Any) -> Any:
    return ordered(ordered(x, 3)[0], ordered(5, x)[1])


HALF = Float64(0.5)


@func
def defaults(x: Any, n: Any = 2, scale: Float64 = HALF, *, name: Comptime[str] = "d") -> Any:
    return x**n * scale, name


def test_tuples_and_functions(capsys: pytest.CaptureFixture[str]) -> None:
    assert [fibonacci(n) for n in (0, 1, 10)] == [0, 1, 55]
    assert swaps(1, 10) == (11, (3, 1))
    assert (spread(3, 7), spread(2.5, 1.0)) == (4, 1.5)
    assert tuple_argument(((3, 4.0), "name")) == (12.0, "name")
    assert early_none(2) is None
    assert early_none(4) is None
    assert capsys.readouterr().out == "reached 2\n"
    assert (nested(1), nested(9)) == ((3, 1), (9, 5))
    assert defaults(3.0) == (4.5, "d")
    assert defaults(2, 3, Float64(1), name="e") == (8.0, "e")


@func
def sqrt(x: Any) -> Any:
    return x + 1


@func
def memset(x: Any) -> Any:
    return sqrt(x) * 2


@func
def main(x: Any) -> Any:
    return memset(x)


@func
def größe(x: Any) -> Any:
    return x * 3


def test_names_of_other_peoples_functions() -> None:
    assert (main(3.0), größe(2)) == (8.0, 6)


# -- variables ------------------------------------------------------------------------------
@func
def undefined(n: Int) -> Any:
    if n > 2:
        x = 1
    return x  # pyright: ignore[reportPossiblyUnboundVariable]


@func
def defined_on_every_path(n: Int) -> Any:
    if n > 2:
        x = 1
    elif n > 1:
        x = 2
    else:
        return 0
    return x


@func
def changes_type(n: Int) -> Any:
    x: Any = n
    if n > 2:
        x = (n, n)
    return x


@func
def only_inside(n: Int) -> Any:
    total = 0
    for i in range(n):
        square = i * i
        if square > 3:
            part = square - 3
            total += part
    return total


def test_variables() -> None:
    with pytest.raises(CompileError, match="undefined"):
        undefined(3)
    assert [defined_on_every_path(n) for n in (3, 2, 1)] == [1, 2, 0]
    with pytest.raises(CompileError, match="becomes"):
        changes_type(3)
    assert only_inside(5) == 1 + 6 + 13


# -- variables that nobody reads any more -----------------------------------------------------
@func
def dead_after_a_loop(n: Int) -> Any:
    u = n
    for i in range(n):
        u = i * n
        if u > 100:
            n += 1
    if n > 2:
        u = n + 1
    else:
        u = n - 1
    return u


@func
def dead_before_forever(n: Int) -> Any:
    w = n
    while w > 0:
        w -= 2
        u = w * w
    while True:
        u = n + 5
        if u % 3 == 0:
            break
        n += 1
    return u


@func
def dead_after_a_branch(n: Int) -> Any:
    pair = (n, n)
    if n > 1:
        pair = (n * 2, n)
        n = pair[0]
    for _ in range(2):
        if n > 3:
            pair = (n, 1)
        else:
            pair = (1, n)
        n += pair[0]
    return n


@func
def dead_but_typed(n: Int) -> Any:
    x = Float64(0.0)
    if n > 1:
        x = 0.1
    else:
        x = 0.2
    return x


@pytest.mark.parametrize(
    "f",
    [dead_after_a_loop, dead_before_forever, dead_after_a_branch, dead_but_typed],
    ids=lambda f: f.__name__,
)
def test_values_from_regions_that_have_ended(f: Any) -> None:
    for n in range(-2, 9):
        assert f(n) == (f.function(n) if f is not dead_but_typed else 0.1 if n > 1 else 0.2)
