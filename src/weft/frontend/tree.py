"""Walking syntax trees, faster than :mod:`ast` does: staging is on the way of every compilation."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["fill_places", "place", "walk"]


def walk(node: ast.AST) -> list[ast.AST]:
    """``node`` and all nodes below, each before those below it."""
    out = [node]
    for item in out:  # grows while it runs
        for name in item._fields:
            value = getattr(item, name, None)
            if isinstance(value, ast.AST):
                out.append(value)
            elif isinstance(value, list):
                out.extend([v for v in value if isinstance(v, ast.AST)])  # pyright: ignore[reportUnknownVariableType]
    return out


def place(node: Any, like: Any) -> Any:
    """Give a new node the place of ``like``; what is new below it follows by :func:`fill_places`."""
    if not hasattr(node, "lineno"):
        node.lineno = like.lineno
        node.col_offset = like.col_offset
        node.end_lineno = like.end_lineno
        node.end_col_offset = like.end_col_offset
    return node


def fill_places(node: Any, above: Any) -> None:
    """Give every node without a place that of the node above it."""
    if "lineno" in node._attributes:
        if hasattr(node, "lineno"):
            above = node
        else:
            place(node, above)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            if value._fields or value._attributes:
                fill_places(value, above)
        elif isinstance(value, list):
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, ast.AST):
                    fill_places(item, above)
