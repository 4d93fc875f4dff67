"""A body that tests where in a picture a thread is, and reads the neighbours of what lies inside."""

from __future__ import annotations

from tests.fuzz.expressions import expression
from tests.fuzz.kinds import Kind
from tests.fuzz.launches import Launched
from tests.fuzz.program import Argument
from tests.fuzz.scope import Scope
from tests.fuzz.statements import assigned, block
from tests.fuzz.values import numbers

__all__ = ["edges", "pictures"]

LOWS = [
    ("{0} > 0", "{0} <= 0"),
    ("{0} >= 1", "{0} < 1"),
    ("0 < {0}", "{0} == 0"),
    ("{0} - 1 >= 0", "1 > {0}"),
]
HIGHS = [
    ("{0} < {1} - 1", "{0} >= {1} - 1"),
    ("{0} + 1 < {1}", "{0} + 1 >= {1}"),
    ("{0} <= {1} - 2", "{0} > {1} - 2"),
    ("{1} - 1 > {0}", "{1} - 1 <= {0}"),
    ("{0} != {1} - 1", "{0} == {1} - 1"),
]
"""Tests of an index that there is one before it, or behind it, and their opposites."""


def pictures(s: Scope, made: Launched, arguments: list[Argument]) -> list[tuple[str, Kind]]:
    """Arrays with an element for each thread."""
    given: list[tuple[str, Kind]] = []
    for name in ("e0", "e1")[: s.number(1, 2)]:
        kind = s.pick(s.favourites)
        arguments.append(Argument(name, "pointer", kind.name, numbers(s, kind, made.count)))
        given.append((name, kind))
    return given


def edges(s: Scope, made: Launched, given: list[tuple[str, Kind]]) -> list[str]:
    """Variables, a branch or two at the picture's edge, and what comes behind."""
    out: list[str] = []
    for kind in s.favourites:
        name = s.fresh("v")
        out.append(f"    {name} = {expression(s, kind, 1)}")
        s.names.append((name, kind))
    names = {name: f"global_idx.{name}" for name in "xyz"}
    if s.chance(2):
        names = {name: f"at_{name}" for name in "xyz"}
        out += [f"    at_{name} = global_idx.{name}" for name in "xyz"[: len(made.axes)]]
    for _ in range(s.pick([1, 1, 2])):
        out += _branch(s, made, given, names)
    return out


def _branch(s: Scope, made: Launched, given: list[tuple[str, Kind]], names: dict[str, str]) -> list[str]:
    tests, reads, step = list[tuple[str, str]](), list[str](), 1
    for name, extent in zip("xyz", made.axes, strict=False):
        if name == "x" or s.chance(2):
            sides = s.pick(["both", "both", "low", "high"])
            if sides != "high":
                tests.append(s.pick(LOWS))
                reads.append(f"row - {step}")
            if sides != "low":
                tests.append(s.pick(HIGHS))
                reads.append(f"row + {step}")
            known = tests[len(tests) - 1 - (sides == "both") :]
            tests[-len(known) :] = [
                (a.format(names[name], extent), c.format(names[name], extent)) for a, c in known
            ]
        step *= extent
    if s.chance(3):
        tests.insert(s.number(0, len(tests)), ("row < n", "row >= n"))
    mark = s.mark()
    s.fixed += [(f"{array}[{at}]", kind) for array, kind in given for at in ["row", *reads]]
    inside = _lines(s)
    s.back(mark)
    s.fixed += [(f"{array}[row]", kind) for array, kind in given]
    outside = _lines(s)
    s.back(mark)
    both, either = (joined.join(pair[n] for pair in tests) for n, joined in enumerate((" and ", " or ")))
    form = s.pick("if if else else negated not return nested".split())
    if form == "if":
        return [f"    if {both}:", *inside]
    if form == "nested" and len(tests) > 1:
        rest = " and ".join(pair[0] for pair in tests[1:])
        return [f"    if {tests[0][0]}:", f"        if {rest}:", *("    " + line for line in inside)]
    if form == "return":
        return [f"    if {either}:", *outside, "        return", *(line[4:] for line in inside)]
    if form == "not":
        return [f"    if not ({both}):", *outside, "    else:", *inside]
    if form == "negated":
        return [f"    if {either}:", *outside, "    else:", *inside]
    return [f"    if {both}:", *inside, "    else:", *outside]


def _lines(s: Scope) -> list[str]:
    """What is done at the edge or within it, mostly without a loop: with one, threads are not cut."""
    if s.chance(4):
        s.budget = 3
        return block(s, "        ", 2, None)
    return [line for _ in range(s.number(1, 2)) for line in assigned(s, "        ")]
