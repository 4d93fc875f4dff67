"""How a debugger shows a variable: its leaves, put together as the user knows them."""

from __future__ import annotations

from collections.abc import Iterator
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
    if kind == "parts":
        name, names, parts = rest
        each = ", ".join([shown(part, leaves) for part in parts])
        if not name:
            return f"({each},)" if parts else "()"
        return f"__parts({name!r}, {tuple(names)!r}, {each})"
    if kind == "array":
        name, *sides = rest
        address = next(leaves)
        shape, stride = [[next(leaves) if n is None else str(n) for n in side] for side in sides]
        return f"__array({address}, {name!r}, ({', '.join(shape)},), ({', '.join(stride)},))"
    text, count = rest
    each = ", ".join([next(leaves) for _ in range(count)])
    return f"__opaque({text!r}, {each})"
