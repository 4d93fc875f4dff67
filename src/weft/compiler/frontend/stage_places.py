"""Staging of ``p[i].a[k]``: of memory, that alone is read, written or asked for its address."""

from __future__ import annotations

import ast
from typing import Any

from weft.compiler.frontend.stage_expressions import Expressions
from weft.compiler.frontend.tree import b_call, bound_names, place, root_of, tuple_of, walk

ITEM = "[]"
"""Behind fields, an item of what they lead to."""


class Places(Expressions):
    """Stages expressions, of which some name places."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        to = [keyword.value for keyword in node.keywords if keyword.arg == "to"]
        if to and len(node.keywords) == 1 and not node.args and _is_indexed(to[0]) and not _is_sliced(to[0]):
            return place(b_call("to", self.visit(node.func), self.held(to[0])), node)
        return super().visit_Call(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._read(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._read(node)

    def _read(self, node: Any) -> ast.expr:
        """``p[i].a``, ``p[i].a[k]``: what lies there, and nothing beside it."""
        if isinstance(node.ctx, ast.Load) and _is_indexed(node.value) and not _is_sliced(node):
            return place(b_call("read", self.held(node)), node)
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if isinstance(node, ast.Subscript) and _is_variable(node):
            return place(b_call("index", node.value, node.slice), node)
        if isinstance(node, ast.Attribute) and node.attr == "value":
            return place(b_call("value_of", node.value), node)
        return node

    def held(self, node: Any) -> ast.expr:
        """The staged place that ``p[i].a`` or ``p[i]`` names."""
        if not _is_indexed(node) or _is_sliced(node):
            return self.visit(node)
        held = self.held(node.value)
        if isinstance(node, ast.Attribute):
            return place(b_call("attribute", held, ast.Constant(node.attr)), node)
        return place(b_call("item", held, self.visit(node.slice)), node)

    def path(self, target: Any) -> tuple[ast.expr, list[ast.expr]]:
        """Of ``p[i].a[k]`` as a target: ``p`` to be read, and staged what leads on; indices are in tuples."""
        path: list[ast.expr] = []
        node = target
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                path.append(ast.Constant(node.attr))
            else:
                path.append(tuple_of([self.visit(node.slice)]))
            node = node.value
        return node, path[::-1]

    def ways(self, name: str, node: ast.stmt) -> tuple[tuple[str, ...], ...]:
        """The fields of a variable that lead to what has its items set within a statement."""
        inside = set(walk(node))
        targets = [t for t in self.item_targets if t in inside and root_of(t) == name]
        return tuple(sorted({_fields(t) for t in targets}))

    def parts(self, node: ast.stmt) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The variables of which a statement sets parts alone, and the fields that lead to these."""
        if not self.part_targets:
            return {}
        nodes = walk(node)
        inside, whole = set(nodes), bound_names(nodes)
        found: dict[str, set[tuple[str, ...]]] = {}
        for target in self.part_targets:
            if target in inside and (name := root_of(target)) in self.own and name not in whole:
                item = any(isinstance(n, ast.Subscript) for n in walk(target))
                found.setdefault(name, set()).add((*_fields(target), *[ITEM] * item))
        return {name: tuple(sorted(ways)) for name, ways in found.items()}


def is_item(node: ast.AST) -> bool:
    """Whether it begins with ``p[i]``."""
    return _fields(node) == ()


def _fields(node: ast.AST) -> tuple[str, ...]:
    """``a``, ``b`` of ``p.a.b[i].c[k]``: what stands before the first index."""
    found: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        found = [*found, node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    return tuple(reversed(found))


def _is_indexed(node: ast.expr) -> bool:
    """Whether it is ``p[i]``, or leads on from there by attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Subscript)


def _is_sliced(node: ast.expr) -> bool:
    """Whether an index on the way to it is a slice, which names a part and no place."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(part, ast.Slice) for part in parts):
                return True
        node = node.value
    return False


def _is_variable(node: ast.Subscript) -> bool:
    """Whether an index may be known only at run time."""
    return not _is_sliced(node) and not isinstance(node.slice, ast.Constant)


def is_deep(target: ast.Subscript) -> bool:
    """Whether an index leads on from ``p[i]``."""
    return _is_indexed(target.value)
