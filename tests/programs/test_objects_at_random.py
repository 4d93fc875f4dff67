"""Random programs over structs with several names: Python's numbers, or refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from objects_at_random import GIVEN, PLAIN, WEFT, judged
from weft import Int, Pointer, kernel
from weft.gpu import global_idx

SEEDS = range(50)


@pytest.mark.parametrize("lent", [False, True], ids=["made", "lent"])
def test_programs(load: Any, lent: bool) -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        how, text = judged(seed, load, lent)
        assert how != "wrong", text
        found[how] += 1
    assert found["same"] > len(SEEDS) // 3, found


BY_HAND = """
@func
def run(n: Int) -> Int:
    a, b = P(n, 2), P(3, n)
    q = Q(a, b, 6)
    held = [q.a, q]
    if n > 3:
        held[0].x += 7
        helper(q.b, n)
    else:
        change(b, 5)
    i = 0
    while change_both(a, b) < 60 and i < 4:
        i += 1
        for j in range(i):
            if j > 1:
                break
            q.a.y += b.x
            held[1].n -= j
        else:
            q.b.bump(i)
    c = a.bumped(3)
    c.x += until(b, n)
    return a.x + a.y * 3 + b.x * 7 + b.y * 11 + c.x * 13 + c.y * 17 + q.n * 19 + q.a.y * 23 + q.b.x * 29
"""


def test_one_program_of_all_kinds(load: Any, launch: Any) -> None:
    text = GIVEN + BY_HAND
    plain, compiled = load(PLAIN + text).run, load(WEFT + text).run

    @kernel
    def rows(n: Int, given: Pointer[Int], out: Pointer[Int]):
        i = global_idx.x
        if i < n:
            out[i] = compiled(given[i])

    wanted = [plain(n) for n in range(9)]
    assert [int(compiled(n)) for n in range(9)] == wanted
    assert launch(rows, [np.arange(9)], np.empty(9, np.int64)).tolist() == wanted
