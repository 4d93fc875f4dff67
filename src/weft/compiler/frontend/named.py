"""What ``:=`` assigns: in which statement, whether certainly, and what a condition tells of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from weft.compiler.frontend.tree import COMPREHENSIONS, children, has

_NONE: frozenset[str] = frozenset()


def note_named(nodes: Sequence[ast.AST]) -> None:
    """Note at each statement among the nodes what ``:=`` assigns in its own expressions."""
    if not has(nodes, ast.NamedExpr):
        return
    for node in nodes:
        if isinstance(node, ast.stmt):
            found = [*_found(node, False)]
            if found:
                held: Any = node
                held.weft_named = frozenset(name for name, _ in found)
                held.weft_late = frozenset(name for name, late in found if late)


def named(node: ast.stmt) -> frozenset[str]:
    """The variables that ``:=`` assigns in the statement's own expressions."""
    return getattr(node, "weft_named", _NONE)


def late_names(node: ast.stmt) -> frozenset[str]:
    """Those of them that it assigns where only what stands before decides whether that is reached."""
    return getattr(node, "weft_late", _NONE)


def _parts(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """What is evaluated with a node, and whether another part decides about it."""
    if isinstance(node, ast.BoolOp):
        yield from ((value, n > 0) for n, value in enumerate(node.values))
    elif isinstance(node, ast.IfExp):
        yield from ((node.test, False), (node.body, True), (node.orelse, True))
    elif isinstance(node, ast.Compare):
        yield node.left, False
        yield from ((value, n > 0) for n, value in enumerate(node.comparators))
    elif isinstance(node, ast.Assert):
        yield node.test, False
        if node.msg is not None:
            yield node.msg, True
    elif isinstance(node, ast.GeneratorExp):
        first = node.generators[0]
        yield first.iter, False
        yield from ((part, True) for part in (node.elt, *first.ifs, *node.generators[1:]))
    elif not isinstance(node, ast.Lambda):
        late = isinstance(node, ast.While)
        for field in children(type(node)):
            value: Any = getattr(node, field, None)
            for item in value if isinstance(value, list) else (value,):  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, ast.AST) and not isinstance(item, (ast.stmt, ast.match_case)):
                    yield item, late


def _found(node: ast.AST, late: bool) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.NamedExpr):
        yield node.target.id, late
    for part, later in _parts(node):
        yield from _found(part, late or later)


def decided(node: ast.expr, holds: bool = True) -> set[str]:
    """The variables that ``:=`` in a condition has assigned for certain where the condition is ``holds``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return decided(node.operand, not holds)
    if isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And) is holds
        return set[str]().union(*[decided(v, holds) for v in node.values[: None if every else 1]])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, items = node.func.id, node.args[0] if len(node.args) == 1 else None
        if isinstance(items, ast.GeneratorExp) and (name == "any" if holds else name == "all"):
            tests = [test for clause in items.generators for test in clause.ifs]
            return decided(items.elt, holds).union(*map(decided, tests))
    if isinstance(node, ast.Compare) and len(node.ops) > 1 and holds:
        return set[str]().union(*map(decided, (node.left, *node.comparators)))
    return _certain(node)


def _certain(node: ast.AST) -> set[str]:
    """The variables that an expression assigns whatever becomes of it."""
    if isinstance(node, COMPREHENSIONS):
        return set()
    own = {node.target.id} if isinstance(node, ast.NamedExpr) else set[str]()
    return own.union(*[_certain(part) for part, late in _parts(node) if not late])
