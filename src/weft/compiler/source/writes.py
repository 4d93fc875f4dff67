"""Whether a function may write to memory that it is given, as far as its own text says."""

from __future__ import annotations

import ast

from weft.compiler.source.definition import Definition

_ONLY_READ = frozenset({"dim", "dtype", "layout", "load", "rank", "shape", "size", "gather"})
"""Methods and attributes of memory that write nothing."""


def may_write(fn: Definition, name: str) -> bool:
    """Whether a function may write to the memory of a parameter, as far as its own text says."""
    above = {below: node for node in ast.walk(fn.body()) for below in ast.iter_child_nodes(node)}

    def writes(node: ast.AST) -> bool:
        holder = above.get(node)
        if isinstance(holder, ast.Subscript) and holder.value is node:
            while isinstance(above.get(holder), (ast.Subscript, ast.Attribute)) and _of(
                above[holder], holder
            ):
                holder = above[holder]
            return not isinstance(getattr(holder, "ctx", None), ast.Load)
        return not (isinstance(holder, ast.Attribute) and holder.attr in _ONLY_READ)

    return any(isinstance(node, ast.Name) and node.id == name and writes(node) for node in above)


def _of(node: ast.AST, part: ast.AST) -> bool:
    return isinstance(node, (ast.Subscript, ast.Attribute)) and node.value is part
