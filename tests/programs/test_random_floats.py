"""Random float expressions: compiled they give the very bits that Python and NumPy compute step by step."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

ROWS = 48
NAMES = "xyzw"
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.0, math.inf, -math.inf, math.nan, 1e-3, 1e30, -7.25, 1e-38]
KINDS: dict[str, Any] = {"Float64": np.float64, "Float32": np.float32, "Float16": np.float16}

Bits = tuple[str, bytes]


class Step:
    """A float on which NumPy does each operation in the kind's own precision."""

    def __init__(self, value: Any, kind: Any) -> None:
        self.kind = kind
        self.value = kind(value)

    def operate(self, f: Callable[[Any, Any], Any], other: Any, reverse: bool) -> Step:
        c = other.value if isinstance(other, Step) else self.kind(other)
        return Step(f(c, self.value) if reverse else f(self.value, c), self.kind)


def _floor_divide(a: Any, c: Any) -> Any:
    return type(a)(math.nan) if c == 0 else np.floor_divide(a, c)


def _remainder(a: Any, c: Any) -> Any:
    return type(a)(math.nan) if c == 0 else np.remainder(a, c)


RULES: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": _floor_divide,
    "mod": _remainder,
}


def _install() -> None:
    def binary(f: Callable[[Any, Any], Any], reverse: bool) -> Callable[[Step, Any], Step]:
        return lambda self, other: self.operate(f, other, reverse)

    def compare(name: str) -> Callable[[Step, Any], bool]:
        def result(self: Step, other: Any) -> bool:
            c = other.value if isinstance(other, Step) else self.kind(other)
            return bool(getattr(self.value, f"__{name}__")(c))

        return result

    for name, rule in RULES.items():
        setattr(Step, f"__{name}__", binary(rule, False))
        setattr(Step, f"__r{name}__", binary(rule, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Step, f"__{name}__", compare(name))
    unary: dict[str, Callable[[Step], Step]] = {
        "neg": lambda self: Step(-self.value, self.kind),
        "pos": lambda self: self,
        "abs": lambda self: Step(abs(self.value), self.kind),
    }
    for name, f in unary.items():
        setattr(Step, f"__{name}__", f)


_install()


@st.composite
def expressions(draw: st.DrawFn, operators: str, depth: int = 4) -> str:
    if depth == 0 or draw(st.integers(0, 7)) == 0:
        return draw(st.sampled_from(NAMES))
    text = draw(expressions(operators, depth - 1))
    form = draw(st.sampled_from("unary literal pair pair pair choice extreme flag".split()))
    if form == "unary":
        return draw(st.sampled_from([f"(-{text})", f"abs({text})", f"(+{text})"]))
    op = draw(st.sampled_from(operators.split()))
    if form == "literal":
        literal = draw(st.sampled_from("0.5 1.0 2.0 3.0 10.0 0.1 7 2 1 1e3 (-1.5) (-3)".split()))
        return draw(st.sampled_from([f"({text} {op} {literal})", f"({literal} {op} {text})"]))
    other = draw(expressions(operators, depth - 1))
    if form == "pair":
        return f"({text} {op} {other})"
    if form == "extreme":
        return f"{draw(st.sampled_from(['min', 'max']))}({text}, {other})"
    condition = f"{text} {draw(st.sampled_from('< <= > >= == !='.split()))} {other}"
    if form == "flag":
        return f"({other} + ({condition}))"
    return f"({text} if {condition} else {draw(expressions(operators, max(depth - 2, 0)))})"


def values(kind: str) -> dict[str, Any]:
    random = np.random.default_rng(11)
    out: dict[str, Any] = {}
    for name in NAMES:
        normal = random.normal(0, 4, ROWS)
        wide = random.normal(0, 1, ROWS) * 10.0 ** random.integers(-12, 12, ROWS)
        whole = random.integers(-20, 20, ROWS).astype(float)
        edge = np.array([EDGES[int(i)] for i in random.integers(0, len(EDGES), ROWS)])
        choice = random.integers(0, 4, ROWS)
        picked = [(normal, wide, whole, edge)[int(c)][n] for n, c in enumerate(choice)]
        with np.errstate(all="ignore"):
            out[name] = np.array(picked).astype(KINDS[kind])
    return out


TABLES = {kind: values(kind) for kind in KINDS}


HEAD = """
from weft import *
from weft.gpu import global_idx
from weft.lang import no_contraction

def times(a, b):
    with no_contraction():  # a GPU makes one fma of a product and a sum
        return a * b

@kernel
"""


class Products(ast.NodeTransformer):
    """Products become calls of ``times``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mult):
            return node
        return ast.Call(ast.Name("times", ast.Load()), [node.left, node.right], [])


def with_exact_products(text: str) -> str:
    return ast.unparse(Products().visit(ast.parse(text, mode="eval")))


def kernel_text(kind: str, texts: list[str]) -> str:
    pointers = ", ".join(f"{name}_: Pointer[{kind}]" for name in NAMES)
    lines = [f"    {name} = {name}_[row]" for name in NAMES]
    lines += [
        f"    out[row * {len(texts)} + {n}] = {with_exact_products(text)}" for n, text in enumerate(texts)
    ]
    return "\n".join(
        [
            f"{HEAD}def compute(n: Int, {pointers}, out: Pointer[{kind}]):",
            "    row = global_idx.x",
            "    if row >= n:",
            "        return",
            *lines,
            "",
        ]
    )


def check(load: Callable[[str], ModuleType], launch: Callable[..., Any], kind: str, texts: list[str]) -> None:
    module = load(kernel_text(kind, texts))
    table = TABLES[kind]
    results = launch(module.compute, list(table.values()), np.zeros((ROWS, len(texts)), KINDS[kind]))
    for row in range(ROWS):
        python = {"abs": abs, "min": min, "max": max}
        scope = {**python, **{name: Step(table[name][row], KINDS[kind]) for name in NAMES}}
        for n, text in enumerate(texts):
            with np.errstate(all="ignore"):
                wanted = eval(text, dict(scope)).value
            got = results[row, n]
            same = got.tobytes() == wanted.tobytes() or (np.isnan(got) and np.isnan(wanted))
            if not same:
                inputs = {name: float(table[name][row]) for name in NAMES if name in text}
                pytest.fail(f"{kind}: {text} with {inputs} gives {got!r}, NumPy {wanted!r}")


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
ALL = "+ - * / // %"


@pytest.mark.parametrize("kind", ["Float64", "Float32"])
@settings(derandomize=True, max_examples=40, deadline=None, suppress_health_check=QUIET)
@given(texts=st.lists(expressions(ALL), min_size=3, max_size=6))
def test_float_expressions(
    load: Callable[[str], ModuleType], launch: Callable[..., Any], kind: str, texts: list[str]
) -> None:
    check(load, launch, kind, texts)


@settings(derandomize=True, max_examples=25, deadline=None, suppress_health_check=QUIET)
@given(texts=st.lists(expressions("+ - * /"), min_size=3, max_size=6))
def test_half_expressions(
    load: Callable[[str], ModuleType], launch: Callable[..., Any], texts: list[str]
) -> None:
    check(load, launch, "Float16", texts)


def test_numpy_and_python_agree() -> None:
    """The reference for Float64 is Python's own arithmetic."""
    table = TABLES["Float64"]
    for a, c in zip(table["x"].tolist(), table["y"].tolist(), strict=True):
        if c == 0:
            continue
        with np.errstate(all="ignore"):
            pairs = [(a // c, _floor_divide(np.float64(a), c)), (a % c, _remainder(np.float64(a), c))]
        for python, numpy in pairs:
            assert repr(python) == repr(float(numpy))
