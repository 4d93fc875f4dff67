"""How a debugger shows a variable: its leaves, put together as the user knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from weft.compiler.interpreted.expressions import unsigned


def shown(form: Any, leaves: Iterator[str]) -> str:
    """An expression for a value of such a form (``frontend/stepping.py``) with these leaves.

    >>> shown(["parts", "Pair", ["a", "b"], [["number", "uint8", 1], ["static", "4"]]], iter(["__1"]))
    "__parts('Pair', ('a', 'b'), (__1 & 0xff), 4)"
    """
    kind, *rest = form
    if kind == "static":
        return rest[0]
    if kind == "number":
        name, lanes = rest
        leaf = next(leaves)
        if not name.startswith("uint"):
            return leaf
        bits = int(name[4:])
        if lanes == 1:
            return unsigned(leaf, bits)
        return f"({', '.join([unsigned(f'{leaf}[{n}]', bits) for n in range(lanes)])},)"
    if kind == "pointer":
        return f"__pointer({next(leaves)}, {rest[0]!r})"
    if kind == "maybe":
        there, held = [shown(part, leaves) for part in rest[0]]
        return f"({held} if {there} else None)"
    if kind == "columns":
        return f"__columns({shown(rest[0], leaves)})"
    if kind == "parts":
        name, names, parts = rest
        each = ", ".join([shown(part, leaves) for part in parts])
        if not name:
            return f"({each},)" if parts else "()"
        return f"__parts({name!r}, {tuple(names)!r}, {each})"
    if kind == "array":
        name, shape, stride, *odd = rest
        given = [next(leaves), repr(name), _known(shape, leaves), _known(stride, leaves)]
        if not odd:
            return f"__array({', '.join(given)})"
        modes, lanes, edges = odd
        sides = [_known(side, leaves) for side in lanes or ()]
        ends = ["None" if edge is None else _known(edge, leaves) for edge in edges or ()]
        given += [repr(tuple(modes)), _known(sides, leaves), _known(ends, leaves)]
        return f"__values({', '.join(given)})"
    text, count = rest
    each = ", ".join([next(leaves) for _ in range(count)])
    return f"__opaque({text!r}, {each})"


def _known(numbers: Iterable[int | str | None], leaves: Iterator[str]) -> str:
    """A tuple of numbers; those that are not known are leaves."""
    return f"({''.join([f'{next(leaves) if n is None else n}, ' for n in numbers])})"
