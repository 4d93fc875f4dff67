"""Conditions that C groups otherwise: ``i < n & j < m`` is ``i < (n & j) < m``, as in Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from weft.compiler.source.definition import Definition
from weft.diagnostics import Diagnostic, Label, is_internal
from weft.diagnostics.wrote import node_location

_WORDS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or"}
_known: WeakKeyDictionary[Definition, tuple[Diagnostic, ...]] = WeakKeyDictionary()


def chained(fn: Definition) -> tuple[Diagnostic, ...]:
    """One for each such condition of a function that was staged."""
    return _known.get(fn, ())


def note_chained(fn: Definition, nodes: Sequence[ast.AST]) -> None:
    """Find them: two comparisons with ``&`` or ``|`` in the middle, of what is no mask of bits."""
    _known.pop(fn, None)
    found = [node for node in nodes if node.__class__ is ast.Compare]
    if found and not is_internal(fn.file):
        told = tuple(diagnostic for node in found for diagnostic in _of(node, fn.file))
        if told:
            _known[fn] = told


def _of(node: ast.AST, file: str) -> Iterator[Diagnostic]:
    if not isinstance(node, ast.Compare) or len(node.ops) != 2:
        return
    middle = node.comparators[0]
    if isinstance(middle, ast.BinOp) and (word := _WORDS.get(type(middle.op))) and not _is_mask(middle.right):
        left = ast.unparse(ast.Compare(node.left, node.ops[:1], [middle.left]))
        right = ast.unparse(ast.Compare(middle.right, node.ops[1:], node.comparators[1:]))
        yield Diagnostic(
            "chained-condition",
            f"`{ast.unparse(middle)}` is compared with both sides: `&` and `|` bind closer than comparisons",
            (Label(node_location(node, file)),),
            (),
            (f"of two conditions write {left} {word} {right}",),
        )


def _is_mask(right: ast.expr) -> bool:
    """Whether it stands for bits: a number, or a name in capitals."""
    return isinstance(right, ast.Constant) or (isinstance(right, ast.Name) and right.id.isupper())
