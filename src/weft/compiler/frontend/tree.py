"""Walking and making syntax trees, faster than ``ast`` does: staging is on the way of every compilation."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from typing import Any, cast

B = "__weft_b"
"""The builder's name in staged code."""

_PLAIN = {"arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops"}
"""Fields that never hold a node with a place: names, numbers, contexts and operators."""

DISPLAYS = (ast.Tuple, ast.List)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


@functools.cache
def children(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node below which there may be names, statements and places."""
    if kind is ast.Constant:
        return ()
    return tuple(name for name in kind._fields if name not in _PLAIN)


def walk(node: ast.AST) -> list[ast.AST]:
    """``node`` and all nodes below, each before those below it; without contexts and operators."""
    out = [node]
    for item in out:  # grows while it runs
        kind = item.__class__
        if kind is ast.Name or kind is ast.Constant:  # most are
            continue
        for name in children(kind):
            value = getattr(item, name, None)
            if value is None:
                continue
            if type(value) is list:
                out += [v for v in value if isinstance(v, ast.AST)]  # pyright: ignore[reportUnknownVariableType]
            elif isinstance(value, ast.AST):
                out.append(value)
    return out


def has(nodes: Iterable[ast.AST], *kinds: type[ast.AST]) -> bool:
    """Whether there is a node of one of these kinds."""
    return not set(map(type, nodes)).isdisjoint(kinds)


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that a function of these nodes gives a meaning of its own, its inner ones included."""
    out: set[str | None] = set()
    for node in nodes:
        kind = node.__class__
        if kind is ast.Name:
            if cast("ast.Name", node).ctx.__class__ is not ast.Load:
                out.add(cast("ast.Name", node).id)
        elif kind in _NAMED_BY:
            out.add(getattr(node, _NAMED_BY[kind]))
        elif isinstance(node, ast.alias):
            out.add((node.asname or node.name).partition(".")[0])
    out.discard(None)
    return cast("set[str]", out)


_NAMED_BY: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), "name"),
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar), "name"),
    ast.arg: "arg",
    ast.MatchMapping: "rest",
}
"""Which field of a kind of node is a name that it gives a meaning."""


def stored_in(node: ast.AST) -> set[str]:
    """The names that are assigned in a target or an expression."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def assigned_each(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each single target of an assignment with what it is given: a part of ``value``, or something of it."""
    if isinstance(target, DISPLAYS):
        values = value.elts if isinstance(value, DISPLAYS) else []
        if len(values) != len(target.elts):
            values = [value] * len(target.elts)
        pairs = zip(target.elts, values, strict=True)
        return [each for one, part in pairs for each in assigned_each(one, part)]
    return [(target.value if isinstance(target, ast.Starred) else target, value)]


def root_of(node: ast.AST) -> str:
    """``p`` of ``p[i].a[k]``; nothing where it begins with no name."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def arguments_of(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters, in order; that of ``*args`` is the last."""
    return parameter_names(function.args)


def parameter_names(arguments: ast.arguments) -> list[str]:
    """The same, of a lambda too."""
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg)
    return [a.arg for a in named if a is not None]


def place(node: Any, like: Any) -> Any:
    """Give a new node the place of ``like``; what is new below it follows by ``fill_places``."""
    if not hasattr(node, "lineno"):
        node.lineno = like.lineno
        node.col_offset = like.col_offset
        node.end_lineno = like.end_lineno
        node.end_col_offset = like.end_col_offset
    return node


def fill_places(node: Any, above: Any) -> None:
    """Give every node without a place that of the node above it."""
    nodes: list[Any] = [place(node, above)]
    for one in nodes:  # grows while it runs
        own: dict[str, Any] = one.__dict__
        spot: dict[str, int] | None = None
        for name in children(one.__class__):
            value: Any = own.get(name)
            if value is None:
                continue
            for item in value if value.__class__ is list else (value,):
                kind = item.__class__
                if kind is not ast.Name and kind is not ast.Constant:
                    if not isinstance(item, ast.AST):
                        continue
                    nodes.append(item)
                held = item.__dict__
                if "lineno" not in held:  # also what needs none: those below take it from there
                    spot = spot or {field: own[field] for field in _PLACE}
                    held.update(spot)


def var(name: str, store: bool = False) -> ast.Name:
    """A name, to be read or assigned."""
    return ast.Name(name, ast.Store() if store else ast.Load())


def b_attribute(name: str) -> ast.Attribute:
    """Something that the builder has."""
    return ast.Attribute(var(B), name, ast.Load())


def b_call(method: str, *args: ast.expr) -> ast.Call:
    """A call of one of the builder's methods."""
    return ast.Call(b_attribute(method), list(args), [])


def function_of(parameters: Sequence[str], body: ast.expr) -> ast.Lambda:
    """A function that is an expression."""
    return ast.Lambda(ast.arguments([], [*map(ast.arg, parameters)], None, [], [], None, []), body)


def thunk(body: ast.expr) -> ast.Lambda:
    """A function without parameters."""
    return function_of([], body)


def tuple_of(items: Sequence[ast.expr], store: bool = False) -> ast.Tuple:
    """A tuple, to be made or unpacked to."""
    return ast.Tuple(list(items), ast.Store() if store else ast.Load())
