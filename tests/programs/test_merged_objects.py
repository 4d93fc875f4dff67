"""Variables and fields that lead to one of several objects, which run time knows: Python's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from objects_at_random import GIVEN, PLAIN, RUN, WEFT
from weft import CompileError
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.frontend.value_numbering import ValueNumbering

ALL = """    s = a.x + a.y * 3 + b.x * 7 + b.y * 11 + c.x * 13 + c.y * 17 + k * 19
    s += q.a.x * 23 + q.a.y * 29 + q.b.x * 31 + q.b.y * 37 + q.n * 41
    return s + r.a.x * 43 + r.a.y * 47 + r.b.x * 53 + r.b.y * 59 + r.n * 61
"""
PROGRAMS = {
    "choice": """
    p = a if n > 2 else b
    p.x += 5
    b.x += 1
    a.x *= p.x
    w = p if n > 5 else c
    w.y, p.x = p.x, w.y
""",
    "branches": """
    p = a
    if n > 2:
        p = b
        if n > 6:
            q.b = p
    elif n > 0:
        p = P(n, k)
        q.a = p
    p.x += 5
    q.a.y += p.x
""",
    "rebound_in_rounds": """
    p = a
    for i in range(n):
        p = b if i % 2 == 0 else a
        p.x += i
        b.y += p.x
        a, c = c, a
""",
    "made_in_rounds": """
    p = a
    for i in range(n):
        p = P(i, k)
        if i % 3 == 1:
            p.x += 100
        p.y += a.x
        a.x += p.x
    p.x += 1
    k += p.x + p.y
""",
    "best_of_rounds": """
    best = a
    for i in range(n):
        made = P((i * 7) % 5, i)
        made.y += 1
        if made.x > best.x:
            best = made
        best.y += 10
    best.x += 1
    k += best.x * 100 + best.y
""",
    "left_early": """
    i = 0
    while i < n:
        i += 1
        a = P(b.y, i)
        if i == 5:
            break
        if i % 2:
            continue
        a.x += 3
        b.y += a.x
    a.x += 1
""",
    "left_from_within": """
    for i in range(n):
        for j in range(3):
            if j == i:
                a = P(j, i)
                break
            a.x += 1
        else:
            a = b
        a.y += 2
""",
    "older_one_beside": """
    for i in range(n):
        t = a
        if i % 2:
            a = P(i, t.x)
            t.x += 1
        t.y += a.x
""",
    "field_of_one_of_two": """
    o = q if n > 2 else r
    o.a.x += 3
    q.b = o.a
    o.b.y += 4
    r.a = b
    o.a.y += 7
    o.n += 1
""",
    "structs_of_structs_in_rounds": """
    for i in range(n):
        q.a.x += i
        r = Q(a, P(i, 1), i)
        r.a.x += q.n
        q.b.x += r.a.x
        if i % 3:
            a = q.b
        b.y += r.b.x
""",
    "calls": """
    p = a if n > 2 else b
    change(p, 3)
    k = change_both(p, c) + p.dot(a) + a.dot(p)
    p.bump(2)
    helper(p, k)
    p = p.bumped(k)
    k += p.x
""",
    "changed_where_it_is_chosen": """
    b = r.a if n > 6 else wrapped(a, c).b
    k += b.x * 100
""",
    "fields_that_branches_set": """
    p = q if n > 4 else r
    p.b = c
    if n > 7:
        if n == 9:
            c.x += 2
        p.b = b
""",
    "moved_together": """
    if n > 2:
        p = P(8, 9)
        q = Q(p, c, 1)
        r.a = p
        b = q.a
    b.x += 3
""",
    "lists": """
    z = P(n, 1)
    held = [a, b, z]
    z = held[0] if n > 3 else held[2]
    held[2].x += 1
    z.x += 3
    for one in held:
        one.y += z.x
    k += z.y
""",
}


def numbering(elaborator: Elaborator) -> ValueNumbering:
    return ValueNumbering(elaborator.target, elaborator)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("numbered", [False, True])
def test_as_python(load: Any, monkeypatch: pytest.MonkeyPatch, name: str, numbered: bool) -> None:
    text = GIVEN + RUN + PROGRAMS[name].lstrip("\n") + ALL
    wanted = [load(PLAIN + text).run(n) for n in range(10)]
    if numbered:  # as for GPUs
        monkeypatch.setattr(Elaborator, "_staging", numbering)
    run = load(WEFT + text).run
    assert [int(run(n)) for n in range(10)] == wanted


REFUSED = {
    "two_rounds": """
    p, older = a, b
    for i in range(n):
        older = p
        p = P(i, k)
        older.y += p.x
    k += older.x
""",
    "led_to_and_captured": """
    p = q if n > 4 else r
    p.b = a
    def inner(m: Int) -> Int:
        return a.y + m
    k = inner(2)
    a.x += 1
""",
    "led_to_by_a_call_and_captured": """
    k = kept(q, a)
    def inner(m: Int) -> Int:
        return q.b.y + m
    k = inner(2)
    a.x += 1
""",
    "copied_deep": """
    if n > 3:
        q.a = q.b
    p = copy.deepcopy(q)
    p.a.x += 1
    k += p.b.x
""",
    "copied_deep_in_a_list": """
    p = a if n > 3 else b
    held = copy.deepcopy([p, b])
    held[0].x += 1
    k += held[1].x
""",
    "two_arguments": """
    p = a if n > 2 else b
    k = change_both(p, a)
""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(load: Any, name: str) -> None:
    module = load(WEFT + GIVEN + RUN + REFUSED[name].lstrip("\n") + ALL)
    with pytest.raises(CompileError, match=r"shared-value|lost-field"):
        module.run(3)
