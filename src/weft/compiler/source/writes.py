"""Whether a function may write to memory that it is given, as far as its own text says."""

from __future__ import annotations

import ast

from weft.compiler.source.definition import Definition

_ONLY_READ = frozenset({"dim", "dtype", "layout", "load", "rank", "shape", "size", "gather"})
"""Methods and attributes of memory that write nothing."""


def how_written(fn: Definition, name: str) -> str:
    """``writes`` or ``may write``, as a function does to a parameter's memory by its text; or nothing."""
    above = {below: node for node in ast.walk(fn.body()) for below in ast.iter_child_nodes(node)}

    def written(node: ast.AST) -> str:
        holder = above.get(node)
        if isinstance(holder, ast.Subscript) and holder.value is node:
            while isinstance(above.get(holder), (ast.Subscript, ast.Attribute)) and _of(
                above[holder], holder
            ):
                holder = above[holder]
            return "" if isinstance(getattr(holder, "ctx", None), ast.Load) else "writes"
        return "" if isinstance(holder, ast.Attribute) and holder.attr in _ONLY_READ else "may write"

    return max((written(n) for n in above if isinstance(n, ast.Name) and n.id == name), default="")


def _of(node: ast.AST, part: ast.AST) -> bool:
    return isinstance(node, (ast.Subscript, ast.Attribute)) and node.value is part
