"""Which variables of a function stand for numbers, whatever they are assigned."""

from __future__ import annotations

import ast
import functools
from types import FrameType

from weft.compiler.frontend.holding import has_no_parts, has_no_parts_of
from weft.compiler.frontend.implied import class_of_operand
from weft.compiler.frontend.tree import assigned_each, stored_in, walk
from weft.compiler.source.definition import Definition


def numbers_of(fn: Definition, frame: FrameType) -> frozenset[str]:
    """The variables of a function that stand for numbers and addresses, whatever they have been assigned."""
    numbers = {name for name, value in frame.f_locals.items() if has_no_parts(value)}
    before = len(numbers) + 1
    given = _given(fn, fn.version)
    while len(numbers) < before:
        before = len(numbers)
        numbers -= {
            name
            for target, value in given
            for name in stored_in(target)
            if not _is_number(value, numbers, frame, fn)
        }
    return frozenset(numbers)


def assigned_in(fn: Definition) -> set[str]:
    """The names that a function assigns."""
    return {name for target, _ in _given(fn, fn.version) for name in stored_in(target)}


def _is_number(node: ast.expr, numbers: set[str], frame: FrameType, fn: Definition) -> bool:
    """Whether an expression gives a number, if these variables are."""
    if isinstance(node, ast.Name) and node.id in frame.f_locals:
        return node.id in numbers
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.NamedExpr)):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):  # an element of memory
        return node.value.id in numbers
    else:
        cls = class_of_operand(node, frame, fn)
        return isinstance(cls, type) and has_no_parts_of(cls)
    return all(_is_number(part, numbers, frame, fn) for part in parts)


@functools.lru_cache(maxsize=64)
def _given(fn: Definition, _: object) -> list[tuple[ast.expr, ast.expr]]:
    """What a function assigns, each with what it is assigned."""
    out: list[tuple[ast.expr, ast.expr]] = []
    for node in walk(fn.body()):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                out += assigned_each(target, node.value)
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            out.append((node.target, node.value))
        elif isinstance(node, (ast.For, ast.comprehension)):
            out.append((node.target, node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            out.append((node.optional_vars, node.context_expr))
    return out
