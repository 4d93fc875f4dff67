"""Random integer expressions of all widths: compiled they give Python's results, wrapped around."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

WIDTHS = {
    "Int8": (8, True),
    "Int16": (16, True),
    "Int32": (32, True),
    "Int64": (64, True),
    "UInt8": (8, False),
    "UInt16": (16, False),
    "UInt32": (32, False),
    "UInt64": (64, False),
}
NAMES = {
    "Int8": "ab",
    "Int16": "cd",
    "Int32": "ef",
    "Int64": "gh",
    "UInt8": "pq",
    "UInt16": "rs",
    "UInt32": "tu",
    "UInt64": "vw",
}

ROWS = 40


def limits(kind: str) -> tuple[int, int]:
    bits, signed = WIDTHS[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def meet(a: str, c: str) -> str | None:
    """The type in which two integers meet, as the language guide says."""
    (bits_a, signed_a), (bits_c, signed_c) = WIDTHS[a], WIDTHS[c]
    if signed_a == signed_c:
        return a if bits_a >= bits_c else c
    signed, unsigned = (a, c) if signed_a else (c, a)
    return signed if WIDTHS[signed][0] > WIDTHS[unsigned][0] else None


class Fixed:
    """Python's integers, cut to a width after every operation: what compiled code is compared with."""

    def __init__(self, kind: str, value: int) -> None:
        bits, signed = WIDTHS[kind]
        value &= (1 << bits) - 1
        self.value = value - (1 << bits) if signed and value >> bits - 1 else value
        self.kind = kind

    def both(self, other: Any, reverse: bool = False) -> tuple[str, int, int]:
        if isinstance(other, Fixed):
            kind = meet(self.kind, other.kind)
            assert kind is not None
        else:
            kind, other = self.kind, Fixed(self.kind, int(other))
        a, c = Fixed(kind, self.value).value, Fixed(kind, other.value).value
        return (kind, c, a) if reverse else (kind, a, c)


def _raise_to(kind: str, a: int, n: int) -> int:
    if n >= 0:
        return pow(a, n, 1 << 64) if a >= 0 else pow(a % (1 << 64), n, 1 << 64)
    return 1 if a == 1 else (-1) ** (n & 1) if a == -1 else 0


def _shift(kind: str, n: int) -> int:
    return n if 0 <= n < WIDTHS[kind][0] else WIDTHS[kind][0]


RULES: dict[str, Callable[[str, int, int], int]] = {
    "add": lambda k, a, c: a + c,
    "sub": lambda k, a, c: a - c,
    "mul": lambda k, a, c: a * c,
    "floordiv": lambda k, a, c: a // c if c else 0,
    "mod": lambda k, a, c: a % c if c else 0,
    "and": lambda k, a, c: a & c,
    "or": lambda k, a, c: a | c,
    "xor": lambda k, a, c: a ^ c,
    "lshift": lambda k, a, n: a << _shift(k, n),
    "rshift": lambda k, a, n: a >> _shift(k, n),
    "pow": _raise_to,
}


def _binary(rule: Callable[[str, int, int], int], reverse: bool) -> Callable[[Fixed, Any], Fixed]:
    def operator(self: Fixed, other: Any) -> Fixed:
        kind, a, c = self.both(other, reverse)
        return Fixed(kind, rule(kind, a, c))

    return operator


def _comparison(name: str) -> Callable[[Fixed, Any], bool]:
    rule: Callable[[int, int], bool] = getattr(int, name)

    def compare(self: Fixed, other: Any) -> bool:
        return rule(*self.both(other)[1:])

    return compare


def _unary(rule: Callable[[int], int]) -> Callable[[Fixed], Fixed]:
    def operator(self: Fixed) -> Fixed:
        return Fixed(self.kind, rule(self.value))

    return operator


for _name, _rule in RULES.items():
    setattr(Fixed, f"__{_name}__", _binary(_rule, False))
    setattr(Fixed, f"__r{_name}__", _binary(_rule, True))
for _name in "lt le gt ge eq ne".split():
    setattr(Fixed, f"__{_name}__", _comparison(f"__{_name}__"))
for _name in "neg pos invert abs".split():
    setattr(Fixed, f"__{_name}__", _unary(getattr(int, f"__{_name}__")))


def _maker(kind: str) -> Callable[[Any], Fixed]:
    return lambda x: Fixed(kind, x.value if isinstance(x, Fixed) else int(x))


def _least(f: Callable[..., Any]) -> Callable[..., Fixed]:
    def choose(x: Any, y: Any) -> Fixed:
        number = x if isinstance(x, Fixed) else y
        kind, a, c = number.both(y if number is x else x, number is y and number is not x)
        return Fixed(kind, f(a, c))

    return choose


PYTHON: dict[str, Any] = {
    **{kind: _maker(kind) for kind in WIDTHS},
    "min": _least(min),
    "max": _least(max),
    "abs": abs,
}

Typed = tuple[str, str]
KINDS = st.sampled_from(sorted(WIDTHS))


@st.composite
def literals(draw: st.DrawFn, kind: str) -> str:
    low, high = limits(kind)
    edge = st.sampled_from([low, high, high - 1, 0, 1, -1 if low else 2, 7, high // 2])
    value = draw(edge | st.integers(low, high) | st.integers(max(low, -9), 9))
    return f"({value})" if value < 0 else str(value)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Typed:
    """A text and its type."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        kind = draw(KINDS)
        return draw(st.sampled_from(NAMES[kind])), kind
    text, kind = draw(expressions(depth - 1))
    form = draw(
        st.sampled_from("unary cast literal literal pair pair pair pair choice power extreme bool".split())
    )
    if form == "unary":
        return draw(st.sampled_from([f"(-{text})", f"(~{text})", f"abs({text})", f"(+{text})"])), kind
    if form == "cast":
        kind = draw(KINDS)
        return f"{kind}({text})", kind
    if form == "literal":
        op = draw(st.sampled_from("+ - * // % & | ^ << >>".split()))
        if op in ("<<", ">>"):
            return f"({text} {op} {draw(st.integers(0, WIDTHS[kind][0] + 3))})", kind
        literal = draw(literals(kind))
        return draw(st.sampled_from([f"({text} {op} {literal})", f"({literal} {op} {text})"])), kind
    if form == "power":
        return f"({text} ** {draw(st.integers(0, 5))})", kind
    other, other_kind = draw(expressions(depth - 1))
    met = meet(kind, other_kind)
    if met is None:
        other, other_kind, met = f"{kind}({other})", kind, kind
    if form == "extreme":
        return f"{draw(st.sampled_from(['min', 'max']))}({text}, {other})", met
    op = draw(st.sampled_from("+ - * // % & | ^ << >> **".split()))
    if form == "pair":
        return f"({text} {op} {other})", met
    condition = f"{text} {draw(st.sampled_from('< <= > >= == !='.split()))} {other}"
    if form == "bool":
        return f"({other} + ({condition}))", other_kind
    third, third_kind = draw(expressions(depth - 2 if depth > 1 else 0))
    third = third if third_kind == kind else f"{kind}({third})"
    return f"({text} if {condition} else {third})", kind


def rows() -> dict[str, list[int]]:
    """Values of all variables: edges, and small and large numbers in no order."""
    random = np.random.default_rng(7)
    out: dict[str, list[int]] = {}
    for kind, names in NAMES.items():
        low, high = limits(kind)
        edges = [low, high, 0, 1, high - 1, low + 1, 2, 3, 7, 31, 63]
        for name in names:
            small = [int(v) for v in random.integers(max(low, -9), 9, ROWS)]
            large = [int(v) for v in random.integers(low, high, ROWS, dtype=kind.lower(), endpoint=True)]
            mixed = [edges[int(i) % len(edges)] for i in random.integers(0, len(edges), ROWS)]
            choice = random.integers(0, 3, ROWS)
            out[name] = [(small, large, mixed)[int(c)][n] for n, c in enumerate(choice)]
    return out


TABLE = rows()
INPUTS = [np.array(TABLE[name], dtype=kind.lower()) for kind, names in NAMES.items() for name in names]
SCOPES = [
    {**PYTHON, **{name: Fixed(kind, TABLE[name][row]) for kind, names in NAMES.items() for name in names}}
    for row in range(ROWS)
]


def kernel_text(texts: list[str]) -> str:
    pointers = [f"{name}_: Pointer[{kind}]" for kind, names in NAMES.items() for name in names]
    reads = [f"    {name} = {name}_[row]" for name in itertools.chain(*NAMES.values())]
    lines = [f"    out[row * {len(texts)} + {n}] = Int64({text})" for n, text in enumerate(texts)]
    head = "from weft import *\nfrom weft.gpu import global_idx\n\n@kernel\n"
    return "\n".join(
        [
            f"{head}def compute(n: Int, {', '.join(pointers)}, out: Pointer[Int64]):",
            "    row = global_idx.x",
            "    if row >= n:",
            "        return",
            *reads,
            *lines,
            "",
        ]
    )


def expected(text: str, row: int) -> int:
    value = eval(text, SCOPES[row])
    return Fixed("Int64", value.value if isinstance(value, Fixed) else int(value)).value


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(
    derandomize=True,
    max_examples=150,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(st.lists(expressions(), min_size=3, max_size=6))
def test_integer_expressions(
    load: Callable[[str], ModuleType], launch: Callable[..., Any], found: list[Typed]
) -> None:
    texts = [text for text, _ in found]
    module = load(kernel_text(texts))
    results = launch(module.compute, INPUTS, np.zeros((ROWS, len(texts)), np.int64))
    for n, text in enumerate(texts):
        wanted = [expected(text, row) for row in range(ROWS)]
        got = results[:, n].tolist()
        if got != wanted:
            row = next(r for r in range(ROWS) if got[r] != wanted[r])
            values = {name: TABLE[name][row] for name in TABLE if name in text}
            pytest.fail(f"{text} with {values} gives {got[row]}, Python {wanted[row]}")
