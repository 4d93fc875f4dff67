"""Variables that a function assigns and never reads, wherever in its text: code that is not taken counts."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, cast
from weakref import WeakKeyDictionary

from weft.compiler.frontend.tree import walk
from weft.compiler.source.definition import Definition, Scope
from weft.diagnostics import Diagnostic, Label, is_internal
from weft.diagnostics.instead import said_by_module
from weft.diagnostics.wrote import node_location
from weft.lang.number import Number

_ALL = frozenset({"eval", "exec", "locals", "vars"})
"""Who calls these may read anything."""
_OF_PYTHON: frozenset[Any] = frozenset(
    (abs, bool, divmod, float, int, len, max, min, pow, range, round, sum, tuple)
)


def computes(module: str) -> bool:
    """Whether the functions of a module do nothing but compute: Python's own, or what says so."""
    return module == math.__name__ or said_by_module(module, "__weft_computes__") is True


_known: WeakKeyDictionary[Definition, tuple[Diagnostic, ...]] = WeakKeyDictionary()


def unread(fn: Definition) -> tuple[Diagnostic, ...]:
    """One for each such variable of a function that was staged, at the first place that assigns it."""
    return _known.get(fn, ())


def note_unread(fn: Definition, body: ast.FunctionDef, nodes: Sequence[ast.AST]) -> None:
    """Find them, in the nodes of the statements as they were written.

    Nothing is said of names that begin with ``_``, of parameters, of what is unpacked, of loops' variables,
    and where a call that makes the value may do something besides.
    """
    _known.pop(fn, None)
    stored, read = set[str](), set[str]()
    for node in nodes:
        if node.__class__ is ast.Name:
            name = cast("ast.Name", node)
            (stored if name.ctx.__class__ is ast.Store else read).add(name.id)
    if any(name[0] != "_" for name in stored - read) and not is_internal(fn.file):
        _known[fn] = _found(fn, body, nodes)


def _found(fn: Definition, body: ast.FunctionDef, nodes: Sequence[ast.AST]) -> tuple[Diagnostic, ...]:
    assigned, added = dict[str, list[ast.Name]](), dict[str, list[ast.Name]]()
    values, changes = dict[str, list[ast.expr]](), dict[str, list[ast.expr]]()
    known = set[ast.AST]()
    for node in nodes:
        into = (added, changes) if isinstance(node, ast.AugAssign) else (assigned, values)
        for target, value in _plain(node):
            into[0].setdefault(target.id, []).append(target)
            into[1].setdefault(target.id, []).append(value)
            known.add(target)
    names = [node for node in nodes if isinstance(node, ast.Name)]
    elsewhere = _named_elsewhere([*nodes, *walk(body.args)])
    other = elsewhere | {node.id for node in names if node not in known}
    if other & _ALL:
        return ()
    calls = _Calls(fn.scope, elsewhere | {node.id for node in names if isinstance(node.ctx, ast.Store)})
    return tuple(
        Diagnostic(
            "unused-variable",
            f"`{name}` is given a value, and nothing reads it",
            (Label(node_location(min(places, key=lambda n: (n.lineno, n.col_offset)), fn.file)),),
            (),
            (f"leave it out; or call it `_{name}` if that is meant",),
        )
        for name, places in assigned.items()
        if name not in other
        and not name.startswith("_")
        and all(map(calls.only_compute, values[name] + changes.get(name, [])))
        and (name not in added or all(map(calls.is_number, values[name])))
    )


def _plain(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names that a statement assigns as they are, and what it gives them."""
    targets: Sequence[ast.expr] = ()
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        targets = [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target, getattr(node, "value", None) or ast.Constant(None)


def _named_elsewhere(nodes: Sequence[ast.AST]) -> set[str]:
    """What functions take, share and declare, and what annotations that are texts name."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        note = getattr(node, "annotation", None) or getattr(node, "returns", None)
        if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(note, ast.AST):
            texts = [n.value for n in ast.walk(note) if isinstance(n, ast.Constant)]
            found.update(*(re.findall(r"\w+", text) for text in texts if isinstance(text, str)))
    return found


class _Calls:
    """What is known of the functions that expressions call."""

    def __init__(self, scope: Scope, own: set[str]) -> None:
        self.scope = scope
        self.own = own
        """The names that the function gives a meaning."""

    def only_compute(self, value: ast.expr) -> bool:
        """Whether nothing is lost but a value if an expression is not evaluated."""
        return all(self._computes(node) for node in walk(value) if isinstance(node, ast.Call)) and not any(
            isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) for node in walk(value)
        )

    def is_number(self, value: ast.expr) -> bool:
        """Whether an expression is a number: of others ``+=`` may change the object, which others hold."""
        if isinstance(value, ast.UnaryOp):
            return self.is_number(value.operand)
        if isinstance(value, ast.Call):
            found = self._found(value.func)
            return isinstance(found, type) and issubclass(found, (Number, int, float))
        return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))

    def _computes(self, call: ast.Call) -> bool:
        found = self._found(call.func)
        if isinstance(found, type):
            return issubclass(cast("type[Any]", found), Number) or _in(found, _OF_PYTHON)
        return _in(found, _OF_PYTHON) or computes(str(getattr(found, "__module__", "")))

    def _found(self, called: ast.expr) -> Any:
        """What an expression names outside of the function; None where that is not known."""
        if isinstance(called, ast.Attribute):
            holder = self._found(called.value)
            return getattr(holder, called.attr, None) if isinstance(holder, ModuleType) else None
        if not isinstance(called, ast.Name) or called.id in self.own:
            return None
        for names in (self.scope.captured(), self.scope.globals, self.scope.builtins):
            if called.id in names:
                return names[called.id]
        return None


def _in(found: Any, known: frozenset[Any]) -> bool:
    return any(found is one for one in known)
