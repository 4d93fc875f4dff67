"""Random conditional literals, literal returns and annotated returns, compared with Python and NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

ROWS = 32
FLOATS = {"Float16": np.float16, "Float32": np.float32, "Float64": np.float64}
INTEGERS = {
    "Int8": np.int8,
    "UInt8": np.uint8,
    "Int16": np.int16,
    "Int32": np.int32,
    "UInt32": np.uint32,
    "Int64": np.int64,
    "UInt64": np.uint64,
}
TENTHS: list[str] = ["0.1", "0.2", "0.3", "-0.7", "1.1", "2.5", "1e-3", "3", "0", "-1", "7"]
HEAD = "from weft import *\nfrom weft.gpu import global_idx\n\n"
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
UNSHRUNK = (Phase.explicit, Phase.generate)  # a failing program compiles anew at each step of shrinking


@st.composite
def conditions(draw: st.DrawFn) -> str:
    limit = draw(st.sampled_from("-0.5 0.0 0.25 1.0".split()))
    return f"x {draw(st.sampled_from('< <= > >='.split()))} {limit}"


@st.composite
def choices(draw: st.DrawFn, literals: list[str], depth: int = 2) -> str:
    """A literal, or one of several."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(literals))
    first, second = draw(choices(literals, depth - 1)), draw(choices(literals, depth - 1))
    return f"({first} if {draw(conditions())} else {second})"


@st.composite
def functions(draw: st.DrawFn, literals: list[str], name: str, annotation: str, inner_kind: str) -> str:
    """A function that gives one of several literals, in one of the ways there are."""
    way = draw(st.sampled_from("choice returns variable loop tuple call".split()))
    values = [draw(choices(literals, 1)) for _ in range(3)]
    lines = {
        "choice": [f"return {draw(choices(literals, 2))}"],
        "returns": [
            f"if {draw(conditions())}:",
            f"    return {values[0]}",
            f"if {draw(conditions())}:",
            f"    return {values[1]}",
            f"return {values[2]}",
        ],
        "variable": [f"r = {values[0]}", f"if {draw(conditions())}:", f"    r = {values[1]}", "return r"],
        "loop": [
            f"r = {values[0]}",
            f"while {draw(conditions()).replace('>', '<')} and x < 4.0:",
            f"    r = {values[1]}",
            "    x += 1.0",
            "return r",
        ],
        "tuple": [
            f"a, b = ({values[0]}, {values[1]}) if {draw(conditions())} else ({values[2]}, {values[0]})",
            f"return a if {draw(conditions())} else b",
        ],
        "call": [f"return {name}_inner(x)"],
    }[way]
    inner = [
        "@func",
        f"def {name}_inner(x: Float64) -> {inner_kind}:",
        f"    if {draw(conditions())}:",
        f"        return {values[0]}",
        f"    return {values[1]}",
    ]
    head = ["@func", f"def {name}(x: Float64){annotation}:"]
    return "\n".join([*(inner if way == "call" else []), *head, *[f"    {line}" for line in lines], ""])


def _itself(f: Any) -> Any:
    return f


def python_of(text: str) -> dict[str, Any]:
    """The functions of a text as Python's own."""
    scope: dict[str, Any] = {"func": _itself}
    exec("from __future__ import annotations\n" + text, scope)
    return scope


ARGUMENTS = [-1.5, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 3.5]
INPUT = np.resize(np.array(ARGUMENTS), ROWS)


def same(got: Any, wanted: Any) -> bool:
    return got.tobytes() == wanted.tobytes() or bool(np.isnan(got) and np.isnan(wanted))


def check(
    load: Callable[[str], ModuleType],
    launch: Callable[..., Any],
    kinds: dict[str, Any],
    kind: str,
    text: str,
    count: int,
) -> None:
    """The functions of a text, stored into memory of a kind; floats also multiplied by one of the kind."""
    dtype = kinds[kind]
    lines = [f"    out[row * {count} + {n}] = f{n}(x_[row])" for n in range(count)]
    kernel = [
        "@kernel",
        f"def compute(n: Int, x_: Pointer[Float64], out: Pointer[{kind}]):",
        "    row = global_idx.x",
        "    if row < n:",
        *[f"    {line}" for line in lines],
        "",
    ]
    module = load("\n".join([HEAD, text, *kernel]))
    results = launch(module.compute, [INPUT], np.zeros((ROWS, count), dtype))
    python = python_of(text)
    for row in range(len(ARGUMENTS)):
        for n in range(count):
            wanted = dtype(python[f"f{n}"](ARGUMENTS[row]))
            if not same(results[row, n], wanted):
                pytest.fail(f"{kind}: f{n}({ARGUMENTS[row]}) is {results[row, n]!r}, not {wanted!r}:\n{text}")


@pytest.mark.parametrize("kind", FLOATS)
@settings(derandomize=True, max_examples=8, deadline=None, suppress_health_check=QUIET, phases=UNSHRUNK)
@given(data=st.data())
def test_floats(load: Any, launch: Any, kind: str, data: st.DataObject) -> None:
    annotations = st.sampled_from(["", f" -> {kind}"] if kind == "Float32" else [f" -> {kind}"])
    texts = [data.draw(functions(TENTHS, f"f{n}", data.draw(annotations), kind)) for n in range(3)]
    check(load, launch, FLOATS, kind, "\n".join(texts), 3)


@pytest.mark.parametrize("kind", INTEGERS)
@settings(derandomize=True, max_examples=4, deadline=None, suppress_health_check=QUIET, phases=UNSHRUNK)
@given(data=st.data())
def test_integers(load: Any, launch: Any, kind: str, data: st.DataObject) -> None:
    info = np.iinfo(INTEGERS[kind])
    literals = [str(v) for v in (info.min, info.max, info.max // 2, 0, 1, 7)]
    texts = [data.draw(functions(literals, f"f{n}", f" -> {kind}", kind)) for n in range(3)]
    check(load, launch, INTEGERS, kind, "\n".join(texts), 3)


@settings(derandomize=True, max_examples=8, deadline=None, suppress_health_check=QUIET, phases=UNSHRUNK)
@given(data=st.data())
def test_calls_from_python(load: Any, data: st.DataObject) -> None:
    text = "\n".join(data.draw(functions(TENTHS, f"f{n}", "", "Float64")) for n in range(3))
    module, python = load(HEAD + text), python_of(text)
    for x in ARGUMENTS:
        for n in range(3):
            got, wanted = getattr(module, f"f{n}")(x), python[f"f{n}"](x)
            assert math.isclose(got, wanted, rel_tol=0.0, abs_tol=0.0), f"f{n}({x}) in {text}"


@st.composite
def products(draw: st.DrawFn) -> str:
    """Conditional literals that meet values of several types in one expression each."""
    choice = draw(choices(TENTHS[:7], 2))
    value = draw(st.sampled_from("h s d".split()))
    form = draw(st.sampled_from(["{v} * {c}", "{c} - {v}", "{v} / {c}", "max({v}, {c})", "{v} + -{c}"]))
    return form.format(v=value, c=choice)


@settings(derandomize=True, max_examples=15, deadline=None, suppress_health_check=QUIET, phases=UNSHRUNK)
@given(texts=st.lists(products(), min_size=2, max_size=4))
def test_choices_take_the_type_of_what_they_meet(load: Any, launch: Any, texts: list[str]) -> None:
    lines = [f"        out[row * {len(texts)} + {n}] = {text}" for n, text in enumerate(texts)]
    kernel = [
        "@kernel",
        "def compute(n: Int, x_: Pointer[Float64], out: Pointer[Float64]):",
        "    row = global_idx.x",
        "    if row < n:",
        "        x = x_[row]",
        "        h, s, d = Float16(x), Float32(x), x",
        *lines,
        "",
    ]
    module = load("\n".join([HEAD, *kernel]))
    results = launch(module.compute, [INPUT], np.zeros((ROWS, len(texts))))
    for row, x in enumerate(ARGUMENTS):
        for n, text in enumerate(texts):
            scope = {"x": x, "h": np.float16(x), "s": np.float32(x), "d": np.float64(x), "max": np.maximum}
            with np.errstate(all="ignore"):
                wanted = np.float64(eval(text, scope))
            assert same(results[row, n], wanted), f"{text} with x={x}: {results[row, n]!r}, not {wanted!r}"
