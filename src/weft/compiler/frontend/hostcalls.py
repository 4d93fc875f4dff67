"""Calls to the host in the text of a function: found by name, before any of it runs."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any, cast

from weft.compiler.source.definition import MISSING, Scope
from weft.lang.decorators import Compiled
from weft.lang.host import host_object, instead_of

Names = Callable[[str], Any]
"""What a name stands for outside of the function; ``MISSING`` for what is only known when it runs."""


def names_of(scope: Scope, local: set[str]) -> Names:
    """The globals and captured variables of a function, ``local`` ones hidden."""
    cells = scope.captured()
    names = scope.globals

    def look(name: str) -> Any:
        return cells.get(name, MISSING) if name in cells or name in local else names.get(name, MISSING)

    return look


def host_call(call: ast.Call, names: Names) -> str:
    """What to write instead of a call to the host; empty for all other calls."""
    callee = found(call.func, names)
    return "" if callee is MISSING or isinstance(callee, Compiled) else instead_of(callee)


def found(node: ast.expr, names: Names) -> Any:
    """What names stand for, without running anything; for a method of a host object, its class."""
    if isinstance(node, ast.Name):
        return names(node.id)
    if not isinstance(node, ast.Attribute):
        return MISSING
    held = found(node.value, names)
    if held is MISSING:
        return MISSING
    if isinstance(held, types.ModuleType):
        try:
            return getattr(held, node.attr, MISSING)
        except Exception:  # a module that loads lazily, and cannot
            return MISSING
    cls = cast("type[Any]", held if isinstance(held, type) else type(held))
    if held is not cls and (host_object(held) or instead_of(cls)):
        return cls
    own: Any = inspect.getattr_static(held, node.attr, MISSING)
    return cast("Any", own).__func__ if isinstance(own, (staticmethod, classmethod)) else own
