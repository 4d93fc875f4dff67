"""Random control flow: the same text run by Python and compiled gives the same results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

ROWS = 16
INPUTS = "abc"


class Word:
    """Python's int, cut to 64 bits with sign after every operation."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        value &= (1 << 64) - 1
        self.value = value - (1 << 64) if value >> 63 else value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _install() -> None:
    names = "add sub mul floordiv mod and or xor lshift rshift".split()

    def binary(name: str, reverse: bool) -> Callable[[Word, Any], Word]:
        rule = getattr(int, f"__{name}__")
        if reverse:
            return lambda self, other: Word(rule(int(other), self.value))
        return lambda self, other: Word(rule(self.value, int(other)))

    def compare(name: str) -> Callable[[Word, Any], bool]:
        rule = getattr(int, f"__{name}__")
        return lambda self, other: rule(self.value, int(other))

    def unary(name: str) -> Callable[[Word], Word]:
        rule = getattr(int, f"__{name}__")
        return lambda self: Word(rule(self.value))

    for name in names:
        setattr(Word, f"__{name}__", binary(name, False))
        setattr(Word, f"__r{name}__", binary(name, True))
    for name in "lt le gt ge eq ne".split():
        setattr(Word, f"__{name}__", compare(name))
    for name in "neg abs".split():
        setattr(Word, f"__{name}__", unary(name))


_install()


class Scope:
    """What the statement being drawn may use."""

    def __init__(self, draw: st.DrawFn, names: list[str]) -> None:
        self.draw = draw
        self.names = names  # assigned on every path to here
        self.flags: list[str] = []
        self.count = 0
        self.budget = 22

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def pick(self, items: Sequence[str]) -> str:
        return self.draw(st.sampled_from(items))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1


FORMS: list[str] = [
    *(f"({{0}} {op} {{1}})" for op in "+ - * & | ^ + -".split()),
    "({0} - <3>)",
    "({0} * <7>)",
    "({0} // (({1} & <7>) + <1>))",
    "({0} % (({1} & <7>) - <9>))",
    "({0} << ({1} & <7>))",
    "({0} >> ({1} & <15>))",
    "(-{0})",
    "abs({0})",
    "min({0}, {1})",
    "max({0}, {1}, <1>)",
    "({0} if {2} else {1})",
    "({0} if {2} else {1})",
    "helper({0}, {1})",
    "pair({0}, {1})[0]",
]
ITEMS = ["unroll(range(3))", "(0, 1, 2)", "[3, 1, 2, 0]", "unroll([2, 0, 1])", "unroll(range(4, 0, -2))"]
COMPARISONS = "< <= > >= == !=".split()
LOGIC = ["({0} and {1})", "({0} or {1})", "(not {0})", "({0} and not {1})", "({1} or {0} and {1})"]


def expression(s: Scope, depth: int = 2) -> str:
    if depth <= 0 or s.chance(3):
        return s.pick(s.names) if not s.chance(4) else f"<{s.draw(st.integers(-5, 9))}>"
    form = s.pick(FORMS)
    a = expression(s, depth - 1)
    c = expression(s, depth - 1) if "{1}" in form else ""
    return form.format(a, c, condition(s, depth - 1) if "{2}" in form else "")


def condition(s: Scope, depth: int = 1) -> str:
    if s.flags and s.chance(4):
        return s.pick(s.flags)
    if depth > 0 and s.chance(3):
        return s.pick(LOGIC).format(condition(s, depth - 1), condition(s, depth - 1))
    a, c = expression(s, depth), expression(s, 0)
    if s.chance(6):
        return f"{a} < {c} <= {expression(s, 0)}"
    return f"{a} {s.pick(COMPARISONS)} {c}"


BOUNDS = [
    "3",
    "{0} & <3>",
    "1, ({0} & <3>) + <2>",
    "{0} & <3>, {1} & <3>",
    "{0} & <3>, -2, -1",
    "0, {0} & <3>, ({1} & <1>) + <1>",
    "{0} & <3>, {1} & <3>, ({2} & <1>) * <3> - <2>",
    "{0} & <3>, -3, -({1} & <1>) - <1>",
]


class Loop:
    """The loop around: whether it is unrolled, and how much stands between."""

    def __init__(self, unrolled: str = "") -> None:
        self.unrolled = unrolled


def block(s: Scope, indent: str, depth: int, loop: Loop | None, returns: str) -> list[str]:
    """Statements; what is assigned only inside stays unknown outside."""
    names, flags = list(s.names), list(s.flags)
    out: list[str] = []
    for _ in range(s.draw(st.integers(1, 4))):
        if s.budget <= 0:
            break
        s.budget -= 1
        lines, ends = statement(s, indent, depth, loop, returns)
        out += lines
        if ends:
            break
    s.names, s.flags = names, flags
    return out or [f"{indent}pass"]


def assignment(s: Scope, indent: str) -> list[str]:
    known = [n for n in s.names if n not in INPUTS and n[0] == "v"]
    form = s.pick("new old augmented tuple flag helper chain".split())
    if form == "old" and known:
        return [f"{indent}{s.pick(known)} = {expression(s)}"]
    if form == "augmented" and known:
        op = s.pick("+= -= *= &= |= ^=".split())
        return [f"{indent}{s.pick(known)} {op} {expression(s)}"]
    if form == "tuple" and len(known) > 1:
        first, second = s.pick(known), s.pick(known)
        if first != second:
            return [f"{indent}{first}, {second} = {s.pick([second, expression(s)])}, {expression(s)}"]
    if form == "helper" and known:
        x, y = expression(s, 1), expression(s, 1)
        return [f"{indent}{s.pick(known)} = {s.pick([f'helper({x}, {y})', f'pair({x}, {y})[1]'])}"]
    if form == "chain" and len(known) > 1:
        return [f"{indent}{known[0]} = {known[-1]} = {expression(s)}"]
    if form == "flag":
        if s.flags and s.chance(2):
            return [f"{indent}{s.pick(s.flags)} = {s.pick(['True', 'False', condition(s, 1)])}"]
        made = s.fresh("f")
        line = f"{indent}{made} = {s.pick(['True', 'False', condition(s, 1)])}"
        s.flags.append(made)
        return [line]
    made = s.fresh("v")
    line = f"{indent}{made} = {expression(s)}"
    s.names.append(made)
    return [line]


def statement(s: Scope, indent: str, depth: int, loop: Loop | None, returns: str) -> tuple[list[str], bool]:
    """Lines, and whether nothing may follow."""
    form = s.pick("assign assign assign if if for for while unroll jump return".split())
    inner = indent + "    "
    if form == "jump" and loop is not None:
        word = s.pick(["break", "continue"])
        if not loop.unrolled:
            return [f"{indent}{word}"], True
        test = f"{loop.unrolled} == {s.draw(st.integers(0, 3))}"
        return [f"{indent}if {test}:", f"{inner}{word}"], False
    if form == "return" and returns:
        return [f"{indent}return {returns.format(expression(s), expression(s, 1))}"], True
    if depth == 0 or form in ("assign", "jump", "return"):
        return assignment(s, indent), False
    guarded = None if loop is not None and loop.unrolled else loop
    if form == "if":
        out = [f"{indent}if {condition(s)}:", *block(s, inner, depth - 1, guarded, returns)]
        while s.chance(3):
            out += [f"{indent}elif {condition(s)}:", *block(s, inner, depth - 1, guarded, returns)]
        if s.chance(2):
            out += [f"{indent}else:", *block(s, inner, depth - 1, guarded, returns)]
        return out, False
    if form == "while":
        counter = s.fresh("w")
        test = f"{counter} < {s.draw(st.integers(1, 5))}"
        if s.chance(2):
            test = s.pick([f"{test} and {condition(s, 1)}", f"not ({condition(s, 1)}) and {test}"])
        body = [f"{inner}{counter} += 1"]
        if s.chance(4):
            body += [f"{inner}if {counter} > {s.draw(st.integers(1, 4))}:", f"{inner}    break"]
            test = "True"
        names = list(s.names)
        s.names.append(counter)
        out = [f"{indent}{counter} = 0", f"{indent}while {test}:", *body]
        out += block(s, inner, depth - 1, Loop(), returns)
        s.names = [*names, counter]
        return out, False
    index = s.fresh("i")
    names = list(s.names)
    if form == "unroll":
        items = s.pick(
            ["unroll(range(3))", "(0, 1, 2)", "[3, 1, 2, 0]", "unroll([2, 0, 1])", "unroll(range(4, 0, -2))"]
        )
        s.names.append(index)
        out = [f"{indent}for {index} in {items}:", *block(s, inner, depth - 1, Loop(index), returns)]
        s.names = names
        return out, False
    known = [n for n in s.names if n[0] == "v"]
    bounds = s.pick(BOUNDS).format(expression(s, 1), expression(s, 0), expression(s, 0))
    out: list[str] = []
    after = False
    if known and s.chance(5):
        index = s.pick(known)
    elif s.chance(2):
        out.append(f"{indent}{index} = <-1>")
        after = True
    s.names.append(index)
    out += [f"{indent}for {index} in range({bounds}):", *block(s, inner, depth - 1, Loop(), returns)]
    s.names = [*names, index] if after else names
    return out, False


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Two functions for others, and the main one; every literal is in angle brackets."""
    lines = ["from weft import *\n"]
    for name, returns in (("helper", "{0}"), ("pair", "{0}, {1}")):
        s = Scope(draw, ["x", "y"])
        s.budget = 6
        lines += ["@func", f"def {name}(x, y):"]
        text = "\n".join(block(s, "    ", 2, None, returns))
        lines += [
            text.replace("helper(", "max(").replace("pair(", "plain_pair("),
            f"    return {returns.format('x', 'y + <1>')}",
            "",
        ]
    s = Scope(draw, list(INPUTS))
    lines += ["@func", f"def program({', '.join(INPUTS)}):"]
    for name in ("v0", "v00"):
        lines.append(f"    {name} = {expression(s, 1)}")
        s.names.append(name)
    lines += block(s, "    ", 3, None, "{0}")
    lines += ["    return v0 + <3> * v00", ""]
    return "\n".join(lines)


HEAD = """
def plain_pair(x, y):
    return (x + y, x - y)
"""

KERNEL = """
from weft.gpu import global_idx

@kernel
def compute(n: Int, a: Pointer[Int], b: Pointer[Int], c: Pointer[Int], out: Pointer[Int]):
    row = global_idx.x
    if row < n:
        out[row] = program(a[row], b[row], c[row])
"""


def plain(text: str, literal: str) -> str:
    """The text with its marked literals written as ``literal``."""
    return re.sub(r"<(-?\d+)>", literal, text)


def values() -> list[Any]:
    random = np.random.default_rng(5)
    edges = np.array([0, 1, -1, 2**63 - 1, -(2**63), 5, -7, 3])
    out: list[Any] = []
    for _ in INPUTS:
        small = random.integers(-9, 10, ROWS)
        edge = edges[random.integers(0, len(edges), ROWS)]
        out.append(np.where(random.integers(0, 3, ROWS) > 0, small, edge).astype(np.int64))
    return out


TABLE = values()


QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(
    derandomize=True,
    max_examples=200,
    phases=[Phase.generate],  # finding a smaller one would take minutes
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(text=programs())
def test_control_flow(load: Callable[[str], ModuleType], launch: Callable[..., Any], text: str) -> None:
    source = text.replace("\n", HEAD, 1) + KERNEL
    compiled = load(plain(source, r"(\1)"))
    scope: dict[str, Any] = {"K": Word}
    exec(plain(text.replace("\n", HEAD, 1), r"K(\1)").replace("@func", ""), scope)
    got = launch(compiled.compute, TABLE, np.zeros(ROWS, np.int64)).tolist()
    for row in range(ROWS):
        wanted = int(scope["program"](*[Word(int(column[row])) for column in TABLE]))
        if Word(wanted).value != got[row]:
            shown = plain(text, r"(\1)")
            inputs = [int(column[row]) for column in TABLE]
            pytest.fail(f"program{tuple(inputs)} gives {got[row]}, Python {wanted}:\n{shown}")
