"""Integers that meet float literals: floats of the type that they meet, and exact in comparisons."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

INTEGERS = ["Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"]
LITERALS = ["0.5", "255.0", "0.1", "2.5", "1e-3", "-3.0", "16777216.0", "9007199254740993.0", "-0.7"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
UNSHRUNK = (Phase.explicit, Phase.generate)  # a failing program compiles anew at each step of shrinking
SETTINGS = settings(
    derandomize=True,
    max_examples=2,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=UNSHRUNK,
)


@st.composite
def terms(draw: st.DrawFn) -> str:
    """An integer with a float literal, and perhaps with more of them."""
    literal = st.sampled_from(LITERALS)
    op = st.sampled_from(["+", "-", "*", "/", "//", "%"])
    form = draw(
        st.sampled_from(["({i} {op} {c})", "({c} {op} {i})", "({i} {op} {c})", "(({i} {op} {c}) - {d})"])
    )
    if draw(st.integers(0, 5)) == 0:
        form = draw(st.sampled_from(["min({i}, {c})", "max({c}, {i})", "({i} if {i} > {d} else {c})"]))
    return form.format(i="i", op=draw(op), c=draw(literal), d=draw(literal))


def program(kind: str, element: str, texts: list[str]) -> str:
    lines = [f"        out[row * {len(texts)} + {n}] = {text}" for n, text in enumerate(texts)]
    head = ["from weft import *", "from weft.gpu import global_idx", "", "@kernel"]
    head += [f"def compute(n: Int, values: Pointer[{kind}], out: Pointer[{element}]):"]
    head += ["    row = global_idx.x", "    if row < n:", "        i = values[row]"]
    return "\n".join([*head, *lines, ""])


def values_of(kind: str, data: st.DataObject) -> Any:
    info = np.iinfo(kind.lower())
    edges = [info.min, info.max, 0, 1, 2, 3, 7, min(info.max, 2**24 + 1), min(info.max, 2**53 + 1)]
    some = data.draw(st.lists(st.integers(int(info.min), int(info.max)), min_size=7, max_size=7))
    return np.resize(np.array([*edges, *some], kind.lower()), 32)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("element", ["Float32", "Float64"])
@SETTINGS
@given(data=st.data())
def test_an_integer_becomes_the_float_that_is_met(
    load: Any, launch: Any, kind: str, element: str, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(terms(), min_size=6, max_size=6))
    values = values_of(kind, data)
    dtype: Any = getattr(np, element.lower())
    found = launch(load(program(kind, element, texts)).compute, [values], np.zeros((32, len(texts)), dtype))
    for row, value in enumerate(values):
        scope = {"i": dtype(int(value)), "min": np.minimum, "max": np.maximum}
        for n, text in enumerate(texts):
            with np.errstate(all="ignore"):
                wanted = eval(text.replace("if i >", f"if {value} >"), scope)
            assert found[row, n] == dtype(wanted) or (found[row, n] != found[row, n] and wanted != wanted), (
                f"{text} of {kind}({value}): {found[row, n]!r}, not {wanted!r}"
            )


@pytest.mark.filterwarnings("ignore:.*is never negative:weft.CompileWarning")
@pytest.mark.parametrize("kind", INTEGERS)
@SETTINGS
@given(data=st.data())
def test_comparisons_are_pythons(load: Any, launch: Any, kind: str, data: st.DataObject) -> None:
    info = np.iinfo(kind.lower())
    near = [f"{float(v)!r}" for v in (info.min, info.max, 2**24, 2**53)] + ["1e300", "-1e300", "0.5", "-0.5"]
    texts: list[str] = []
    for _ in range(8):
        c, op = data.draw(st.sampled_from(LITERALS + near)), data.draw(st.sampled_from(COMPARISONS))
        texts.append(f"i {op} {c}" if data.draw(st.booleans()) else f"{c} {op} i")
    values = values_of(kind, data)
    found = launch(load(program(kind, "Bool", texts)).compute, [values], np.zeros((32, len(texts)), np.bool_))
    for row, value in enumerate(values):
        for n, text in enumerate(texts):
            wanted = eval(text, {"i": int(value)})
            assert found[row, n] == wanted, f"{text} of {kind}({value}): {found[row, n]!r}, not {wanted!r}"
