"""Python's own statements and expressions: each function is run on a device, and by Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weft import Int, Pointer, kernel
from weft.gpu import global_idx

SOURCE = """
import enum
from typing import assert_never

from weft import Int, func, struct, unroll


@func
def named(a: Int, b: Int, c: Int) -> Int:
    total = 0
    while (a := a // 2) > 1 and (d := a - b) != c:
        total += d
    if total > b and (m := total * 2) > c:
        return m
    if c < (k := total + 1) < a + 7 or (k := k + b) == 3:
        return k
    return -1 if not (z := c) or z < 0 else z + k


@func
def any_number(a: Int, b: Int, c: Int) -> Int:
    scale = b

    def polynomial(x, *factors, first=0):
        total = first
        for factor in factors:
            total = total * x + factor
        for _ in range(c):
            total += scale
        return total + len(factors)

    def passed_on(*given):
        given = (*given, 3)
        head, *others = given
        return polynomial(head, *others[1:], first=others[0])

    longest = lambda first, *others: first + max(0, 1, *others)
    total = polynomial(a) + polynomial(a, b, c) + longest(a, b, c) + longest(a)
    return total + passed_on(b, c, a) + passed_on(c)


@func
def named_aside(a: Int, b: Int, c: Int) -> Int:
    v = a
    z = b or (v := c + 1)
    y = a > 1 and (b := b + v)
    for _ in range(c % 3):
        v += z
    return (v and (a := a + y)) + a + (b if c > 0 or (b := 7) else 0)


@func
def named_again(a: Int, b: Int, c: Int) -> Int:
    if a > b:
        v = a
        total = v + 1
    else:
        v = a * 0.5  # of another type: nothing reads it behind the if, where others are called so
        total = Int(v) - 1
    double = lambda v: v * 2
    for w in range(c):
        total += w
    for w in (0.5, 2.5):
        total += Int(w * a)
    return double(total) + sum(v * v for v in range(b)) + max(w for w in (a, b, c)) + len([v for v in (1, 2)])


@func
def gone_through(a: Int, b: Int, c: Int) -> Int:
    ends, total = 1, 0
    if a > b:
        ends = 3
    for v in (i * 2 for i in reversed(range(ends))):
        total += v + 1
    for v in (i + j for i in range(c) for j in range(2)):
        total += v
    return total


@func
def inner(a: Int, b: Int, c: Int) -> Int:
    def clamped(x: Int, top=b) -> Int:
        if x > top:
            return top
        for i in range(3):
            if x + i > a:
                return i
        return x

    def factorial(k):
        return 1 if k <= 1 else k * factorial(k - 1)

    add = lambda x: x + a
    if c > 0:
        a = a + 10
    return clamped(c) + add(b) * factorial(4) + clamped(a, top=c)


@struct
class Point:
    x: Int
    y: Int


@func
def matched(a: Int, b: Int, c: Int) -> Int:
    match a, b:
        case (0, 0):
            return 0
        case (0, y) | (y, 0) if y > c:
            return y
        case (1 | 2, _):
            found = 12
        case (x, y) if x == y:
            found = x
        case (x, 3):
            found = x * 100
        case _:
            found = -1
    match Point(b, c):
        case Point(0, y=1):
            return 1
        case Point(x=q, y=3):
            return q + found
        case Point(x, y) if x > y:
            return x - y
        case Point() as p:
            return p.x + 1000
    return found


@func
def guarded(a: Int, b: Int, c: Int) -> Int:
    for i in range(b):
        match i, -2:
            case (v, 6) if all(q != v for q in [c, 3]):
                a += 1
            case (v, _) if any([v > q for q in (c, 3)]):
                a += v
    match a, b:
        case (1, v) if (lambda q: q - v)(c) > 0 or any(q > v for q in (c, 2)):
            return v
        case (3, v) if (lambda v: v + 1)(c) > v and sum([v * 2 for v in (a, 1)]) > v:
            return v + 100
        case (w, u) if (u := w * 2) > 3 and all(u > q for q in (w, c)):
            return u
        case (w, u) if w > 1 and (u := c) > 1 or (lambda: w + u)() > 3:
            return w * u
    return u


class Way(enum.Enum):
    UP = "up"
    DOWN = "down"
    OVER = "over"


@func
def exhausted(a: Int, b: Int, c: Int) -> Int:
    match a > b:
        case True:
            way = Way.UP if a > c else Way.OVER
        case 1 | False:
            way = Way.DOWN
    match way:
        case Way.UP:
            found = 1
        case Way.DOWN if b > c:
            found = 2
        case Way.OVER as other:
            found = 3 if other is way else 30
        case Way.UP | Way.DOWN as other:
            found = 4 if other is Way.DOWN else 40
        case _:
            assert_never(way)
    match b == c, c > 1:
        case (True, True):
            return found * 10
        case (equal, _):
            match equal:
                case False:
                    return found
                case True:
                    return -found


@func
def left(a: Int, b: Int, c: Int) -> Int:
    for i in range(a):
        if i * i > b:
            found = i
            break
        if i == 2 and c == 3:
            continue
    else:
        found = -1
    n = 0
    while n < b:
        n += 1
        for k in range(c):
            if k == n:
                break
        else:
            continue
        break
    else:
        n = 77
    return found * 1000 + n


@func
def looped(a: Int, b: Int, c: Int) -> Int:
    total = 0
    for i, (x, y) in enumerate(zip(range(a), reversed(range(b, 9, 2))), 5):
        total += i * 100 + x * 10 + y
    for v in reversed(range(a, -c, -2)):
        total = total * 3 + v
        if total > 100000:
            break
    for i, w in enumerate([1, 2, 3], b):
        total += i * w
    for k in unroll(reversed(range(3))):
        total += [5, 6, 7][k]
    return total


@func
def compared(a: Int, b: Int, c: Int) -> Int:
    found = 0
    if (a, b) < (b, c):
        found += 1
    if (a, (b, c)) >= (b, (c, a)):
        found += 2
    if [a, b] != [b, a] or (a, b, c) > (a, b):
        found += 4
    if any(v > 2 for v in (a, b, c)) and not all([a, b, c]):
        found += 8
    if any(a > k and 12 // (a - k) == c for k in range(3)):
        found += 16
    x, y = min((a, b), (b, c), (c, a))
    largest = max((v - 3 for v in (a, b, c)), key=lambda v: v * v)
    first, *rest = (a, b, c)
    return (found * 100 + x * 10 + y) * 50 + largest + sum(rest) - first


@func
def unrolled_and_asked(a: Int, b: Int, c: Int) -> Int:
    found = 0
    for _ in range(abs(a) % 4):
        for k in unroll([2, 0, 1]):
            if k == 2:
                continue
            if any(q for q in (k != 1, found > b)):
                found += c + k
    return found


@func
def gathered(a: Int, b: Int, c: Int) -> Int:
    n, scale = abs(a), 3
    later = (i * scale for i in range(n) if i != b)
    if c > 1:
        scale = 5
    total = sum(later) + sum((i * j for i in range(n) for j in range(i, n) if i != j or j == c), c)
    total += 100 * sum(1 for v in (a, b, c) if v > 1) + sum(sum(i + k for k in range(i)) for i in range(n))
    best = max((i * i - b * i for i in range(n)), default=c)
    at = min(range(n), key=lambda i: (i - c) * (i - c), default=-1)
    last = max(((i * b) % 7, i) for i in range(n + 1))
    low = min((v for v in (a, 2 * c) if v > b), default=b)
    return total * 1000 + best * 100 + at * 10 + last[0] + last[1] * 3 + low * 7 + sum([i for i in range(n)])


@func
def asked(a: Int, b: Int, c: Int) -> Int:
    n, found = abs(a), 0
    if any(12 // (i - 4) == b for i in range(n % 5)):
        found += 1
    if all(i * k != c for i in range(n) for k in (1, 2, b) if i != k) and n > 1:
        found += 2
    if any(k > c or any(i == k * b for i in range(c, n)) for k in range(2)):
        found += 4
    if any((hit := i * i) > b for i in range(1, n)):
        found += 8 * hit
    if not all((low := b - i) < 3 for i in range(n)):
        found += low
    while not any(found < 10 * i for i in range(n)) and found > 0:
        found -= 7
    return -found if n > 2 and any(i == b for i in range(n)) or all([i < c for i in range(n)]) else found


@func
def reassigned(a: Int, b: Int, c: Int) -> Int:
    count, point = 0, Point(b, c)

    def bump(by: Int) -> Int:
        nonlocal count, point
        if by == 2:
            return -count
        count += by
        point.x += 1
        point = Point(point.y, point.x)
        return count

    def twice():
        def once(k: Int):
            nonlocal count, later
            count, later = count * 2 + k, k

        once(a)
        found = bump(1) if count > b else bump(2)
        once(found)
        return count

    def lower():
        nonlocal c
        c -= 2
        return c

    def applied(f, n: Int) -> Int:
        total = 0
        for i in range(n):
            total += f(i) if i != 3 else -1
        return total

    for i in range(abs(a)):
        if i % 2 or bump(i) > c:
            bump(b)
    total = applied(bump, b) + applied(lambda i: bump(i) * 2, 3)
    total += twice() * 10
    while lower() > 0:
        total += 1
    if any(bump(i) > 40 for i in range(c, 9)):
        total += later
    later = 0
    return total * 10000 + count * 100 + point.x * 10 + point.y + c


@func
def counters(a: Int, b: Int, c: Int) -> Int:
    def counter(start: Int):
        def bump():
            nonlocal start
            start += b
            return start

        return bump

    total = 0

    def add(v: Int):
        nonlocal total
        total += v

    one, two = counter(a), counter(c)
    def three() -> Int:
        nonlocal total
        total *= 2
        return 3

    for _ in range(abs(a) + 1):
        add(one() * three())
        two()
    return one() * 10000 + two() * 100 + total


class Phase(enum.Enum):
    LOW = 1
    MIDDLE = 2
    HIGH = 3


@func
def chosen(a: Int, b: Int, c: Int) -> Int:
    phase = Phase.LOW
    if a > 2:
        phase = Phase.MIDDLE
    elif b > 2:
        phase = Phase.HIGH
    total = 0
    while phase is not Phase.LOW and total < 50:
        total = total * 3 + (1 if phase is Phase.MIDDLE else 2)
        if phase is Phase.MIDDLE:
            phase = Phase.HIGH
        elif c > total:
            phase = Phase.MIDDLE
        else:
            phase = Phase.LOW
        total += 1 if phase is Phase.LOW else 0
    for _ in range(c):
        if phase is Phase.LOW:
            phase = Phase.MIDDLE
        elif phase is Phase.MIDDLE:
            phase = Phase.HIGH
            total += 1 if phase is Phase.HIGH else 100
        else:
            phase = Phase.LOW
    if phase is Phase.LOW:
        return total
    elif phase is Phase.MIDDLE:
        return total + 1000
    elif phase is Phase.HIGH:
        return total + 2000
    else:
        assert_never(phase)


@func
def generated(a: Int, b: Int, c: Int) -> Int:
    total = 0
    for v in (i * i for i in range(b)):
        total = total * 3 + v
    for v in (i * a for i in range(c, -1, -1) if i != 2):
        if v > 6:
            break
        total -= v
    else:
        total = -total
    g = ((i, i + c) for i in range(a))
    for u, v in g:
        if u == 1:
            continue
        for w in (u * k for k in range(v)):
            total += w + 1
    for k in (2 * k for k in range(3)):
        total += (5, 0, 3, 0, 7)[k]
    for v in (i + a for i in range(5) if i > b):
        if v == c:
            continue
        total += v
    for v in (i * k for i in range(c) if i != b for k in range(i, a) for _ in range(2) if (i + k) % 3):
        if v == 2:
            continue
        total = (total * 3 + v) % 1009
    return total


@func
def cut(a: Int, b: Int, c: Int) -> Int:
    total = 0
    for r in (range(c)[a:], range(1, c, 2)[:b], range(c)[b:a:2], range(c, a, -1)[::-1], range(9)[a:b]):
        total = total * 11 + len(r)
        for i in r:
            total = (total * 7 + i) % 100003
    return total + sum(range(b)[-2:]) + len(range(c)[1:][a:])
"""
FUNCTIONS = """
named named_aside inner matched guarded left looped compared unrolled_and_asked gathered asked
reassigned counters exhausted chosen generated cut gone_through any_number
""".split()
GRID = np.array([*itertools.product((-1, 0, 1, 2, 3, 9), repeat=3)], np.int64)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, load: Any, launch: Any) -> None:
    function = getattr(load(SOURCE), name)

    @kernel
    def rows(n: Int, a: Pointer[Int], b: Pointer[Int], c: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = function(a[i], b[i], c[i])

    inputs = [np.ascontiguousarray(GRID[:, k]) for k in range(3)]
    found = launch(rows, inputs, np.empty(len(GRID), np.int64))
    assert found.tolist() == [function.function(*map(int, row)) for row in GRID]


ENDS = [-(2**63), -(2**63) + 1, -3, 0, 7, 2**63 - 7, 2**63 - 2, 2**63 - 1]
STEPS = [1, -1, 2, -3, 2**62, -(2**62), 2**63 - 1, -(2**63)]


def first_of(start: int, stop: int, step: int) -> tuple[int, int]:
    found = [*itertools.islice(range(start, stop, step), 9)]
    return len(found), found[-1] if found else 0


def test_ranges_at_the_ends_of_int(launch: Any) -> None:
    @kernel
    def rows(n: Int, start: Pointer[Int], stop: Pointer[Int], step: Pointer[Int], out: Pointer[Int]):
        at = global_idx.x
        if at < n:
            last, count = Int(0), Int(0)
            for i in range(start[at], stop[at], step[at]):
                last = i
                count += 1
                if count == 9:
                    break
            for i in range(start[at], stop[at], 5):
                last = last ^ i
                count += 100
                if count > 900:
                    break
            out[at] = last ^ count

    given = np.array([*itertools.product(ENDS, ENDS, STEPS)], np.int64)
    found = launch(
        rows, [np.ascontiguousarray(given[:, k]) for k in range(3)], np.empty(len(given), np.int64)
    )
    wanted: list[int] = []
    for start, stop, step in given.tolist():
        count, last = first_of(start, stop, step)
        for i in range(start, stop, 5):
            last ^= i
            count += 100
            if count > 900:
                break
        wanted.append(last ^ count)
    assert found.tolist() == wanted
