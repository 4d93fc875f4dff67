"""Finding a function's source, with the lines and columns of its file.

A file says what a function was only until it is edited. So what is found is compiled once more, as
Python did it, and has to give the code that the function has; other text is not its source.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
from collections.abc import Callable, Iterator
from importlib.util import decode_source
from types import CodeType
from typing import Any, TypeVar

from weft.compiler.source.recompile import NESTED, is_source_of
from weft.compiler.source.scopes import no_type_parameters
from weft.compiler.source.written import texts_kept
from weft.diagnostics import CompileError, Location, caller_location
from weft.diagnostics.syntax import parsed

_Function = Callable[..., Any]
_Node = TypeVar("_Node", bound=ast.stmt)
_LAMBDA = "<lambda>"
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)


def find_function(fn: _Function) -> ast.FunctionDef:
    """The definition that ``fn`` was compiled from, its nodes placed as in the file.

    Raises:
        CompileError: there is no source (code from ``exec``), or it has changed since ``fn`` was defined.
    """
    return _found(fn)[0]


def places_in(fn: _Function, wanted: Callable[[ast.AST], bool]) -> Iterator[Location]:
    """Where in a function stands what is wanted; nowhere if it has no source."""
    try:
        node = find_function(fn)
    except CompileError:
        return
    from weft.diagnostics.wrote import node_location  # here, since only messages ask

    yield from (node_location(n, fn.__code__.co_filename) for n in ast.walk(node) if wanted(n))


def text_of(fn: _Function) -> str:
    """The text that has the definition.

    Raises:
        CompileError: as for ``find_function``.
    """
    return _found(fn)[1]


def _found(fn: _Function) -> tuple[ast.FunctionDef, str]:
    linecache.checkcache(fn.__code__.co_filename)  # messages quote from there
    known = False
    kept = [*filter(None, map(_decoded, texts_kept(fn)))]
    found: tuple[ast.FunctionDef, str] | None = None
    for text in kept:
        known = True
        node = _matching(text, fn)
        if found is not None and node is not None and ast.dump(node) != ast.dump(found[0]):
            raise _changed(fn)  # in what leaves no trace in code, such as the annotation of a local
        found = found or (None if node is None else (node, text))
        if found is not None and not fn.__code__.co_flags & NESTED:
            return found
    if found is not None:
        return found
    for read in (_from_linecache, _from_file):
        text = read(fn, fn.__code__.co_filename)
        if text and text not in kept:
            known = True
            kept.append(text)
            node = _matching(text, fn)
            if node is not None:
                return node, text
    file = fn.__code__.co_filename
    changed = file != "<string>" and (known or os.path.isfile(file))  # of -c, since Python 3.13
    raise _changed(fn) if changed else _missing(fn)


def _matching(text: str, fn: _Function) -> ast.FunctionDef | None:
    if fn.__code__.co_name == _LAMBDA:
        lambdas = (n for n in _lambdas(text, fn.__code__) if is_source_of(_placed(ast.Expr(n), n), text, fn))
        return next(map(_as_definition, lambdas), None)
    return next((node for node in _definitions(text, fn.__code__) if is_source_of(node, text, fn)), None)


def _lambdas(text: str, code: CodeType) -> Iterator[ast.Lambda]:
    try:
        nodes = [*ast.walk(parsed(text, ast.parse))][::-1]  # a lambda in a lambda before that
    except (SyntaxError, ValueError, MemoryError):
        return
    yield from (n for n in nodes if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno)


def _as_definition(node: ast.Lambda) -> ast.FunctionDef:
    """The definition that a lambda stands for."""
    body = _placed(ast.Return(node.body), node.body)
    return _placed(ast.FunctionDef("lambda", node.args, [body], [], None, **no_type_parameters()), node)


def _placed(node: _Node, like: ast.expr) -> _Node:
    return ast.copy_location(node, like)


def _missing(fn: _Function) -> CompileError:
    file = fn.__code__.co_filename
    return CompileError.at(
        "no-source",
        f"the source of {fn.__qualname__} cannot be found: {file} is not a file",
        caller_location() or Location(file, fn.__code__.co_firstlineno),
        notes=("weft compiles functions from their source text",),
        hints=("define it in a file or a notebook cell, not through exec or eval",),
    )


def _changed(fn: _Function) -> CompileError:
    file = fn.__code__.co_filename
    return CompileError.at(
        "source-changed",
        f"the source of {fn.__qualname__} is not what it was compiled from: "
        f"{file} has changed since it was imported",
        caller_location() or Location(file, fn.__code__.co_firstlineno),
        notes=("weft compiles functions from their source text, which must be that of the code Python runs",),
        hints=("restart, or reload the module; leave out tools that rewrite the code of functions",),
    )


def _from_linecache(fn: _Function, file: str) -> str:
    """Cells of notebooks, and what loaders have."""
    return "".join(linecache.getlines(file, fn.__globals__))


def _from_file(fn: _Function, file: str) -> str:
    """The file itself: other text of the same size, written within one tick of the clock, looks old."""
    try:
        with open(file, "rb") as opened:
            return _decoded(opened.read())
    except (OSError, ValueError):
        return ""


@functools.lru_cache(maxsize=8)
def _decoded(data: bytes | None) -> str:
    try:
        return decode_source(data) if data else ""
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return ""


def _definitions(text: str, code: CodeType) -> Iterator[ast.FunctionDef]:
    """The definitions that stand where the function's was.

    At first only its own lines are parsed: kept in place by blank lines before them and, where they
    are indented, by an ``if`` around them. Other lines can matter: of an indented block on one line, say.
    """
    lines = _lines(text)
    first = code.co_firstlineno
    if first > len(lines):
        return
    indented = lines[first - 1][:1] in " \t"
    pad = "\n" * (first - 1) if not indented else "\n" * (first - 2) + "if True:\n"
    for last in (_end_of_block(lines, first), len(lines)):
        yield from _defined(pad + "".join(lines[first - 1 : last]), code)
    yield from _defined(text, code)


@functools.lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")]


def _end_of_block(lines: list[str], first: int) -> int:
    """The last line of the definition that begins at a line, by indentation: nearly always right."""
    margin = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    in_body = False
    for number in range(first, len(lines) + 1):
        line = lines[number - 1]
        words = line.lstrip()
        if not words or words[0] == "#" or len(line) - len(words) > margin:
            continue
        if in_body and words[0] not in ")]}":
            return number - 1
        in_body = in_body or words.startswith(("def ", "async "))
    return len(lines)


def _defined(text: str, code: CodeType) -> Iterator[ast.FunctionDef]:
    try:
        tree = parsed(text, ast.parse)
    except (SyntaxError, ValueError, MemoryError):
        return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if code.co_firstlineno == min([d.lineno for d in node.decorator_list], default=node.lineno):
                yield node
        waiting += [n for n in ast.iter_child_nodes(node) if isinstance(n, _BLOCKS)]
