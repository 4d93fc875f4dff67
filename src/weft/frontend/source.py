"""Finding a function's source, with the lines and columns of its file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from weft.diagnostics import CompileError, Location, caller_location

__all__ = ["find_function"]


def _last_line(code: CodeType) -> int:
    last = code.co_firstlineno
    for _, end, _, _ in code.co_positions():
        if end is not None and end > last:
            last = end
    for const in code.co_consts:
        if isinstance(const, CodeType):
            last = max(last, _last_line(const))
    return last


def _definition(tree: ast.AST, code: CodeType, line: int) -> ast.FunctionDef | None:
    name = code.co_name
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([d.lineno for d in node.decorator_list], default=node.lineno)
            arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if line in (first, node.lineno) and [*names] == arguments:
                return node
    return None


def find_function(fn: Callable[..., Any]) -> ast.FunctionDef:
    """The definition of ``fn``, its nodes placed as in the file.

    Only the function's own lines are parsed: kept in place by blank lines before them and, where
    they are indented, by an ``if`` around them.

    Raises:
        CompileError: there is no source (code from ``exec``, a lambda, a changed file).
    """
    code = fn.__code__
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    place = Location(code.co_filename, code.co_firstlineno)
    if not lines:
        raise CompileError.at(
            "no-source",
            f"the source of {fn.__qualname__} cannot be found: {code.co_filename} is not a file",
            caller_location() or place,
            notes=("weft compiles functions from their source text",),
            hints=("define it in a file or a notebook cell, not through exec or eval",),
        )
    first = code.co_firstlineno
    for last in (_last_line(code), len(lines)):
        body = lines[first - 1 : last]
        indented = bool(body) and body[0][:1] in " \t"
        pad = "\n" * (first - 1) if not indented else "\n" * (first - 2) + "if True:\n"
        try:
            tree = ast.parse(pad + "".join(body))
        except SyntaxError:
            continue
        found = _definition(tree, code, first)
        if found is not None:
            return found
    try:  # the lines around it matter: a function on the first line of an indented block, say
        found = _definition(ast.parse("".join(lines)), code, first)
    except SyntaxError:
        found = None
    if found is None:
        raise CompileError.at(
            "no-source",
            f"{fn.__qualname__} is not at line {first} of {code.co_filename} any more",
            caller_location() or place,
            hints=("the file changed after it was imported: restart, or reload the module",),
        )
    return found
