"""Compiling a function out of its place, so that its names mean what they mean there."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Sequence
from itertools import pairwise
from types import CodeType
from typing import Any

from weft.diagnostics.syntax import parsed

INNER = "__weft_staged"
"""The name under which ``compiled`` finds a function again: that of nothing around it."""
_FUTURES: int = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_LOCALS = "<locals>"


def compiled(
    node: ast.FunctionDef, file: str, qualname: str, free: Sequence[str], flags: int = 0
) -> CodeType:
    """The code of a function called ``INNER`` that captures ``free``, where ``qualname`` says that it stands.

    Of ``flags`` of code those hold that a module's ``__future__`` imports give.

    Raises:
        SyntaxError, MemoryError: it is more than Python's compiler takes.
    """
    code = compile(
        in_scopes(node, qualname, free, bool(free)), file, "exec", flags & _FUTURES, dont_inherit=True
    )
    while code.co_name != INNER:
        code = next(c for c in reversed(code.co_consts) if isinstance(c, CodeType))
    return code.replace(co_name=qualname.rpartition(".")[2], co_qualname=qualname)


def in_scopes(node: ast.stmt, qualname: str, free: Sequence[str], nested: bool) -> ast.Module:
    """A definition, or a lambda, within classes and functions like those that it stands in.

    They decide what its names mean: a variable of a function outside, a private name of a class.
    """
    outside = qualname.split(".")[:-1]
    free = list(free)
    if outside and outside[-1] != _LOCALS and "__class__" in free:
        free.remove("__class__")  # the class around it has that
    tree: ast.stmt = node
    for name, inner in reversed([*pairwise([*outside, ""])]):
        if name == _LOCALS:
            continue
        if inner == _LOCALS or name.startswith("<"):  # of a comprehension
            tree, free = _function(name, free, tree), []
        else:
            tree = ast.copy_location(ast.ClassDef(name, [], [], [tree], [], **no_type_parameters()), node)
    if nested and _LOCALS not in outside:
        tree = _function("outside", free, tree)  # it is called global there, or has type parameters
        name = outside[0] if outside else getattr(node, "name", "inside")
        tree.body.insert(0, ast.copy_location(ast.Global([name]), node))
    return ast.Module([tree], [])


def _function(name: str, free: list[str], inside: ast.stmt) -> ast.FunctionDef:
    arguments = [ast.copy_location(ast.arg(n), inside) for n in free]
    made = ast.arguments([], arguments, None, [], [], None, [])
    name = name if name.isidentifier() else "outside"
    return ast.copy_location(ast.FunctionDef(name, made, [inside], [], None, **no_type_parameters()), inside)


def no_type_parameters() -> dict[str, Any]:
    """What a function or class takes beside the rest, where this Python knows of type parameters."""
    return {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def compile_as(tree: ast.Module, code: CodeType) -> CodeType:
    """Compile a module as the file of ``code`` was."""
    return compile(tree, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)


def expression_in(annotation: ast.expr) -> ast.expr:
    """The expression that an annotation in quotation marks is; any other annotation as it is."""
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        found = parsed(annotation.value, lambda text: ast.parse(text, mode="eval")).body
    except SyntaxError:
        return annotation
    for node in ast.walk(found):
        ast.copy_location(node, annotation)
    return found
