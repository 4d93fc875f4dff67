"""What to write instead, where that is seen from what stands around a place in the source."""

from __future__ import annotations

import ast

from weft.compiler.frontend.nonlocals import variables
from weft.diagnostics.wrote import Source


def shared_by_nonlocal(name: str, node: ast.AST | None, source: Source | None) -> str:
    """The cure where a function in a kernel's changes a variable of one around it; nothing of all others.

    Of a part, Python asks for no ``nonlocal``: it changes the object that all names have.
    """
    own = None if node is None or source is None else source.function_of(node)
    if own is None or source is None or own.decorator_list or _assigns(own, name, source):
        return ""
    around = source.function_of(own)
    while around is not None and name not in variables(around) and not around.decorator_list:
        around = source.function_of(around)
    if around is None or name not in variables(around):
        return ""
    return f"`{name}` is {around.name}'s: write `nonlocal {name}` in {own.name}"


def _assigns(function: ast.FunctionDef, name: str, source: Source) -> bool:
    """Whether it gives a variable of its own a value, not only another one in place of what it has."""
    stored = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return any(n.id == name and not isinstance(source.parents.get(n), ast.AugAssign) for n in stored)


def loop_for_next(node: ast.AST | None, source: Source | None) -> str:
    """The loop in place of ``next(items, default)``, at the call or what it is given; nothing of all else."""
    call = node
    if node is not None and source is not None and not _is_next(node):
        call = source.parents.get(node)
    if (
        not isinstance(call, ast.Call)
        or not _is_next(call)
        or (node is not call and node is not call.args[0])
    ):
        return ""
    items, otherwise = call.args[0], ast.unparse(call.args[1]) if call.args[1:] else ""
    if isinstance(items, ast.GeneratorExp):
        (each, *more), item = items.generators, ast.unparse(items.elt)
        if more:
            behind = otherwise or "what is meant where there is none"
            return f"write a @func with loops that return the first, and behind them return {behind}"
        target, over = ast.unparse(each.target), ast.unparse(each.iter)
        asked = "".join(f"if {ast.unparse(condition)}: " for condition in each.ifs[:1])
        if each.ifs[1:]:
            asked = f"if {' and '.join(f'({ast.unparse(condition)})' for condition in each.ifs)}: "
    elif isinstance(items, ast.Call) and isinstance(items.func, ast.Name):
        target, item, asked, made_by = "item", "item", "", items.func.id
        if made_by in ("map", "filter"):  # which are Python's in a loop too
            return ""
        over = ast.unparse(items.args[0] if made_by == "iter" and items.args else items)
    else:
        return ""
    begin = f"write `found = {otherwise}`" if otherwise else "give `found` a value for where there is none"
    return f"{begin}, and a loop: `for {target} in {over}:` `{asked}found = {item}; break`"


def _is_next(node: ast.AST) -> bool:
    name = node.func if isinstance(node, ast.Call) and node.args else None
    return isinstance(name, ast.Name) and name.id == "next"
