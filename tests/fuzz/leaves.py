"""The ends of random expressions: literals, names and elements of memory."""

from __future__ import annotations

import math

from tests.fuzz.kinds import BOOL, FLOATS, INTEGERS, Kind, meet
from tests.fuzz.scope import Scope

__all__ = ["COMPARISONS", "leaf", "literal", "narrower", "operators", "real", "weak"]

COMPARISONS = "< <= > >= == !=".split()
REALS = "0.5 1.0 2.0 3.0 10.0 0.1 7 2 1 0 -1.5 -3 -0.0 100.25 1e3 0.3".split()


def literal(s: Scope, kind: Kind) -> str:
    """A literal that the format holds."""
    if kind is BOOL:
        return s.pick(["True", "False"])
    if kind.is_float:
        text = s.pick(REALS)
    else:
        edges = [kind.low, kind.high, kind.high - 1, 0, 1, 2, 3, 7, kind.high // 2]
        value = s.pick(edges) if s.chance(3) else s.number(max(kind.low, -9), 20)
        text = str(value)
    return f"({text})" if text.startswith("-") else text


def real(s: Scope, most: float = math.inf) -> str:
    """A float literal of at most that size, as a float also to Python."""
    text = s.pick([text for text in REALS if not text.lstrip("-").isdigit() and abs(float(text)) <= most])
    return f"({text})" if text.startswith("-") else text


def weak(s: Scope, kind: Kind) -> str:
    """A literal that takes its type from what it meets."""
    if s.constants and kind.is_integer and s.chance(3):
        return f"_{kind.name}({s.pick(s.constants)})"
    tables = [(at, size) for at, k, size in s.tables if k is kind]
    indices = [n for n, k in s.names + s.fixed if k.is_integer]
    if tables and indices and s.chance(2):
        at, size = s.pick(tables)
        return at.format(f"{s.pick(indices)} & {size - 1}")
    return f"_{kind.name}({literal(s, kind)})"


def leaf(s: Scope, kind: Kind) -> str:
    found = s.of(kind)
    if found and not s.chance(6):
        return s.pick(found)
    memories = [m for m in s.memories if m.kind is kind]
    if memories and s.chance(2):
        m = s.pick(memories)
        return m.form.format(s.number(0, m.size - 1))
    others = [(n, k) for n, k in s.names + s.fixed if k is not kind]
    if others and not s.chance(3):
        return f"{kind.name}({s.pick(others)[0]})"
    if kind is BOOL:
        return f"Bool({literal(s, BOOL)})"
    text = literal(s, s.pick(INTEGERS) if kind.is_integer and s.chance(3) else kind)  # wraps around
    return f"{kind.name}({text})"


def narrower(s: Scope, kind: Kind) -> Kind:
    """A type that meets ``kind`` in ``kind``."""
    return s.pick([k for k in [BOOL, *INTEGERS, *FLOATS] if k is not kind and meet(k, kind) is kind])


def operators(kind: Kind) -> list[str]:
    """The operators of two numbers that give a third."""
    return [*"+-*/", "*", "//", "%"] if kind.is_float else [*"+-*+-*&|^", "//", "%"]
