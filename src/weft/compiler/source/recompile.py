"""Compiling a definition as Python did, to see whether a function was made of it."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, cast

from weft.compiler.source.scopes import compile_as, in_scopes

NESTED = 0x10
"""The flag of code within a function, which may be defined long after its file was read."""

_LOADS = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
_METHOD_FLAG = sys.version_info >= (3, 12)
"""Whether the call of a method begins with the instruction for attributes, with a flag."""


def is_source_of(node: ast.stmt, text: str, fn: Callable[..., Any]) -> bool:
    """Whether ``fn`` is what Python makes of the definition ``node`` in ``text``."""
    code = fn.__code__
    for imported in _imported(fn):
        tree = in_scopes(node, code.co_qualname, code.co_freevars, bool(code.co_flags & NESTED))
        if imported:
            names = [ast.alias(name) for name in sorted(imported)]
            tree.body.insert(0, ast.copy_location(ast.Import(names), node))
            ast.fix_missing_locations(tree.body[0])
        if _makes(compile_as(tree, code), code):
            return True
        if any(_makes(made, code) for made in _rewritten(tree, text, fn)):
            return True
    return False


def _imported(fn: Callable[..., Any]) -> Iterator[set[str]]:
    """The names that the module imports, of which Python calls methods in another way.

    A guess from what the names are; then what the code says, whose other names make no difference.
    """
    own = fn.__globals__.get("__name__")
    names = _names(fn.__code__)
    guess: set[str] = set()
    for name in names & fn.__globals__.keys():
        value = fn.__globals__[name]
        if isinstance(value, ModuleType) or (hasattr(value, "__qualname__") and value.__module__ != own):
            guess.add(name)
    yield guess
    yield names - _with_methods(fn.__code__)


def _with_methods(code: CodeType) -> set[str]:
    """The names of which methods are called as those of an object."""
    import dis

    found: set[str] = set()
    before: Any = None
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            continue
        method = step.opname == "LOAD_METHOD" or (
            _METHOD_FLAG and step.opname == "LOAD_ATTR" and (step.arg or 0) % 2
        )
        if method and before is not None and before.opname.startswith(_LOADS):
            name: Any = before.argval
            found.add(name if isinstance(name, str) else name[-1])
        before = step
    return found.union(*(_with_methods(const) for const in code.co_consts if isinstance(const, CodeType)))


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}.union(*inner)


def _makes(made: CodeType, code: CodeType) -> bool:
    """Whether ``code`` is what a definition in the compiled text gives."""
    for const in made.co_consts:
        if isinstance(const, CodeType):
            if const.co_firstlineno == code.co_firstlineno and _alike(const, code):
                return True
            if _makes(const, code):
                return True
    return False


def _alike(a: CodeType, b: CodeType) -> bool:
    """Whether two pieces of code do the same at the same places.

    Python's own comparison sees to instructions, names, constants with their types, and places. A
    Python that was told to keep no columns may load code that has them; then the lines decide.
    """
    return a == b or ((_no_columns(a) or _no_columns(b)) and _by_lines(a) == _by_lines(b))


def _no_columns(code: CodeType) -> bool:
    return all(column is None for *_, column in code.co_positions())


def _by_lines(code: CodeType) -> tuple[object, ...]:
    inner = [_by_lines(c) for c in code.co_consts if isinstance(c, CodeType)]
    consts = tuple(None if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=consts), [*code.co_lines()], inner


def _rewritten(tree: ast.Module, text: str, fn: Callable[..., Any]) -> Iterator[CodeType]:
    """What a tool that rewrites modules as they are imported makes of the text, now as then."""
    code = fn.__code__
    loader: Any = fn.__globals__.get("__loader__")
    own: Any = getattr(cast("type[Any]", type(loader)), "source_to_code", None)
    try:
        if "@pytest_ar" in fn.__globals__:
            changed = copy.deepcopy(tree)
            rewrite: Any = sys.modules["_pytest.assertion.rewrite"]
            rewrite.rewrite_asserts(changed, text.encode(), code.co_filename, getattr(loader, "config", None))
            yield compile_as(changed, code)
        elif own is not None and own is not SourceFileLoader.source_to_code:
            yield loader.source_to_code(text.encode(), code.co_filename)
    except RecursionError:  # here is too little room
        raise
    except Exception:
        return  # it cannot be asked: then the code is not known to be that of the text
