"""Random ``and``, ``or``, ``not`` and chained comparisons of mixed numbers, compared with Python's own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

HEAD = "from weft import *\n\n"
FUNCTIONS = 6
CALLS = [
    (0, 0, 0.0, 0.0, False),
    (0, 2, 0.5, -0.0, True),
    (-3, 0, 0.0, 1.5, True),
    (7, -1, -2.5, 0.0, False),
    (1, 5, 0.0, 3.0, True),
]
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
UNSHRUNK = (Phase.explicit, Phase.generate)  # a failing program compiles anew at each step of shrinking


NAMES = {"a b n 0 1 5 -2": "a b 3 0", "x y 2.5 0.0 -1.0": "x y 0.5"}
"""The values of one kind, and what they are compared with: integers meet no float literals by themselves."""


@st.composite
def conditions(draw: st.DrawFn, names: str, depth: int) -> str:
    """What is a Bool, or only tested."""
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind < 2:
        ends = [draw(st.sampled_from(NAMES[names].split())) for _ in range(3)]
        relation = draw(st.sampled_from("< <= == !=".split()))
        return draw(
            st.sampled_from(["p", f"{ends[0]} {relation} {ends[1]}", f"{ends[0]} < {ends[1]} < {ends[2]}"])
        )
    if kind == 2:
        return f"not {draw(values(names, depth - 1))}"
    first, second = draw(values(names, depth - 1)), draw(conditions(names, depth - 1))
    return (
        f"({first} {draw(st.sampled_from(['and', 'or']))} {second} {draw(st.sampled_from(['and', 'or']))} p)"
    )


@st.composite
def values(draw: st.DrawFn, names: str, depth: int) -> str:
    """A number or one of several; a division stands only where its divisor was tested."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind < 2:
        return draw(st.sampled_from(names.split()))
    first, second = draw(values(names, depth - 1)), draw(values(names, depth - 1))
    if kind < 6:
        return f"({first} {draw(st.sampled_from(['and', 'or']))} {second})"
    if kind == 6:
        return f"(p and {first})"
    if kind == 7:
        return f"(({first} and {second}) + {draw(values(names, 0))})"
    if kind == 8:
        divisor = names[0]
        return f"({divisor} and {second} // {divisor})"
    return f"({first} if {draw(conditions(names, depth - 1))} else {second})"


@st.composite
def programs(draw: st.DrawFn) -> str:
    out: list[str] = []
    for k in range(FUNCTIONS):
        names = draw(st.sampled_from(list(NAMES)))
        out += ["@func", f"def f{k}(a: Int, b: Int32, x: Float64, y: Float64, p: Bool):", "    n = 0"]
        out += ["    while n < 3 and n < a or n and n != 3:", "        n += 1"]
        out += [f"    if {draw(conditions(names, 3))}:", "        n += 10"]
        out += [f"    return n, {draw(values(names, 4))}, {draw(conditions(names, 2))}", ""]
    return "\n".join(out)


def itself(f: Any) -> Any:
    return f


@settings(max_examples=6, suppress_health_check=QUIET, phases=UNSHRUNK, deadline=None)
@given(text=programs())
def test_logic(text: str, load: Callable[[str], ModuleType]) -> None:
    python: dict[str, Any] = {"func": itself}
    exec(text, python)
    made = load(HEAD + text)
    for k in range(FUNCTIONS):
        for call in CALLS:
            got = getattr(made, f"f{k}")(*call)
            assert got == python[f"f{k}"](*call), (k, call)
