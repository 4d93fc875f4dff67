"""Refuses assignments to fields of a parameter that is a copy, where the caller would not see them.

Python changes the caller's object, compiled code a copy of it. So a ``@func`` or a method that assigns
a field, or an item of an array, must hand the whole on: return it, or pass it to something. A kernel's copy
belongs to its thread, and there it is enough that something is read again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from weft.compiler.frontend.liveness import stored_names
from weft.compiler.frontend.tree import arguments_of, stored_in, walk

_Path = tuple[str, ...]
"""A variable and the fields that lead on from it."""
_Paths = frozenset[_Path]
_NONE: _Paths = frozenset()


def lost_writes(function: ast.FunctionDef, kernel: bool) -> set[ast.AST]:
    """The targets ``p.x``, ``p.a[i]`` of assignments that change nothing but a copy of a parameter's."""
    return _lost(function, set(arguments_of(function)) - assigned_whole(function), kernel)


def unread_writes(function: ast.FunctionDef) -> set[ast.AST]:
    """The same of variables that nothing reads again, as copies of memory may be."""
    return _lost(function, assigned_whole(function), True)


def assigned_whole(function: ast.FunctionDef) -> set[str]:
    """The names that a function itself assigns, not only a part of what they stand for."""
    return stored_in(function) & stored_names(function.body)


def _lost(function: ast.FunctionDef, names: Iterable[str], kernel: bool) -> set[ast.AST]:
    inner = [n for n in walk(function) if isinstance(n, (ast.Lambda, ast.FunctionDef)) and n is not function]
    found = _LostWrites(names, kernel, frozenset(p for f in inner for p in _reads(f)))
    found.block(function.body, _NONE, _NONE, _NONE)
    return {target for target, lost in found.lost.items() if lost}


def _path(node: ast.AST) -> _Path | None:
    fields: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        fields.append(node.attr if isinstance(node, ast.Attribute) else "[]")
        node = node.value
    return (node.id, *reversed(fields)) if isinstance(node, ast.Name) else None


def _reads(node: ast.AST | None) -> _Paths:
    """The paths that an expression or statement reads; a method reads all of its object."""
    found: set[_Path] = set()
    pending: list[ast.AST] = [] if node is None else [node]
    for item in pending:  # grows while it runs
        if isinstance(item, (ast.Name, ast.Attribute, ast.Subscript)):
            path = _path(item)
            if path is not None:
                if isinstance(item.ctx, ast.Load):
                    found.add(path)
                while isinstance(item, (ast.Attribute, ast.Subscript)):
                    pending += [item.slice] if isinstance(item, ast.Subscript) else []
                    item = item.value
                continue
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            pending.append(item.func.value)
            pending.extend([*item.args, *item.keywords])
            continue
        pending.extend(ast.iter_child_nodes(item))
    return frozenset(found)


def _targets(node: ast.stmt) -> list[ast.expr]:
    targets: list[ast.expr]
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        targets = [node.target]
    else:
        return []
    for target in targets:  # grows while it runs
        if isinstance(target, (ast.Tuple, ast.List)):
            targets.extend(target.elts)
    return targets


class _LostWrites:
    """Backward over the statements, as ``Liveness`` goes: what is read later, by paths."""

    def __init__(self, names: Iterable[str], kernel: bool, always: _Paths) -> None:
        self.names = frozenset(names)
        self.kernel = kernel
        self.always = always
        self.lost: dict[ast.AST, bool] = {}

    def block(self, body: Sequence[ast.stmt], live: _Paths, brk: _Paths, cont: _Paths) -> _Paths:
        """What is read from the beginning of the statements on, by what is read after them."""
        for node in reversed(body):
            live = self._statement(node, live, brk, cont)
        return live

    def _statement(self, node: ast.stmt, live: _Paths, brk: _Paths, cont: _Paths) -> _Paths:
        if isinstance(node, ast.Return):
            return _reads(node.value)
        if isinstance(node, ast.Break):
            return brk
        if isinstance(node, ast.Continue):
            return cont
        if isinstance(node, ast.If):
            then, other = (self.block(body, live, brk, cont) for body in (node.body, node.orelse))
            return _reads(node.test) | then | other
        if isinstance(node, ast.For):
            return self._loop(node, live, live) | _reads(node.iter)
        if isinstance(node, ast.While):
            test = _reads(node.test)
            forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
            return self._loop(node, test if forever else live | test, live)
        if isinstance(node, ast.With):
            return self.block(node.body, live, brk, cont).union(*map(_reads, node.items))
        return self._simple(node, live)

    def _loop(self, node: ast.For | ast.While, head: _Paths, live: _Paths) -> _Paths:
        while True:
            grown = head | self.block(node.body, head, live, head)
            if grown == head:
                return head
            head = grown

    def _simple(self, node: ast.stmt, live: _Paths) -> _Paths:
        reads = _reads(node)
        for target in _targets(node):
            path = _path(target)
            if path is None or len(path) == 1:
                continue
            if path[0] in self.names:
                self.lost[target] = lost = not any(self._hands_on(p, path) for p in live | self.always)
                if lost and not any(isinstance(n, ast.Call) for n in walk(node)):
                    reads = frozenset(
                        p for p in reads if p[0] != path[0]
                    )  # what it makes of them is lost too
        return live | reads

    def _hands_on(self, read: _Path, written: _Path) -> bool:
        """Whether what is read holds what was written, and so may take it out of the function."""
        if self.kernel:
            return read[0] == written[0]
        return len(read) < len(written) and written[: len(read)] == read
