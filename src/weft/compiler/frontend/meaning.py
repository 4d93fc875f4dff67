"""What names stand for where a function runs, as far as it is known before it does."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from types import FrameType, ModuleType
from typing import Any, cast

from weft.compiler.frontend.tree import walk
from weft.compiler.frontend.variables import Var
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import CompileError
from weft.lang.number import number_class
from weft.lang.spec import NumberSpec


def class_of_variable(value: Any) -> Any:
    """The class of what a variable holds, as far as it is known; else MISSING."""
    if type(value) is not Var:
        return cast("type[Any]", type(value))
    spec = value.spec
    if isinstance(spec, NumberSpec):
        return number_class(spec.dtype, spec.lanes)
    return getattr(spec, "cls", MISSING)


def meaning(node: ast.expr, frame: FrameType | None, fn: Definition) -> Any:
    """What a name or an attribute of one stands for where a function runs; MISSING if not known."""
    if isinstance(node, ast.Name):
        found: Any = MISSING if frame is None else frame.f_locals.get(node.id, MISSING)
        if type(found) is Var:
            return class_of_variable(found)
        if found is MISSING and node.id not in _own_names(fn, fn.version):
            names = {**vars(builtins), **fn.scope.globals, **fn.scope.captured()}
            found = names.get(node.id, MISSING)
        return found
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return MISSING
    held = meaning(node.value, frame, fn)
    if held is MISSING:
        return MISSING
    if isinstance(node, ast.Subscript):  # of a class, its parameters; of a variable, an item
        if isinstance(node.value, ast.Name) and frame and type(frame.f_locals.get(node.value.id)) is Var:
            return MISSING
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        given = [p.value if isinstance(p, ast.Constant) else meaning(p, frame, fn) for p in parts]
        if not isinstance(held, type) or MISSING in given:
            return MISSING
        return cast("Any", held)[given[0] if len(given) == 1 else tuple(given)]
    cls = cast("type[Any]", held if isinstance(held, type) else type(held))
    found = inspect.getattr_static(cls, node.attr, MISSING)
    if found is MISSING:
        found = inspect.getattr_static(held, node.attr, MISSING)  # of a module
    return getattr(found, "__func__", found)


@functools.lru_cache(maxsize=1024)
def _own_names(fn: Definition, _: object) -> frozenset[str]:
    """The names of a function's own things, or of one within it, which hide what is around."""
    try:
        nodes = walk(fn.body())
    except CompileError:  # its source is not known
        return frozenset(fn.names())
    own = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own.update(node.arg for node in nodes if isinstance(node, ast.arg))
    own.update(node.asname or node.name for node in nodes if isinstance(node, ast.alias))
    own.update(
        node.name for node in nodes[1:] if isinstance(node, (ast.FunctionDef, ast.MatchAs)) and node.name
    )
    return frozenset(own)


def class_of(value: object) -> type[object]:
    """The class of a value, to type checkers that of an object."""
    return type(value)


def value_of(node: ast.AST, frame: FrameType | None) -> Any:
    """What a name, or an attribute of one, stood for; None where that would take running code."""
    if frame is None:
        return None
    if isinstance(node, ast.Name):
        scope = frame.f_locals if node.id in frame.f_locals else frame.f_globals
        found = scope.get(node.id)
        return None if type(found) is Var else found
    if isinstance(node, ast.Attribute):
        held: Any = value_of(node.value, frame)
        if held is None:
            return None
        owner = held if isinstance(held, (ModuleType, type)) else cast("type[Any]", type(held))
        return getattr(cast("Any", owner), node.attr, None)
    if isinstance(node, ast.Subscript):  # of a class with its types: the class
        generic = value_of(node.value, frame)
        return generic if isinstance(generic, type) else None
    return None
