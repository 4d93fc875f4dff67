"""Functions of Python's and NumPy's that a program hands to what calls them with numbers of run time."""

from __future__ import annotations

import ast
import re
from types import BuiltinFunctionType, FrameType
from typing import Any, cast

from weft.compiler.frontend.meaning import value_of
from weft.compiler.frontend.names import MATH, RENAMED
from weft.compiler.frontend.operations import Found, problem
from weft.diagnostics.location import calling_frame

_ON_NUMBERS = frozenset({"math", "cmath", "numpy", "torch", "cupy"})


def handed_on(node: ast.AST | None, frame: FrameType | None) -> Found | None:
    """What is wrong with the first such argument of a call; without a frame of one on the host."""
    if not isinstance(node, ast.Call):
        return None
    for given in (*node.args, *(keyword.value for keyword in node.keywords)):
        function = value_of(given, frame or calling_frame())
        if _is_pythons(function):
            return _told(ast.unparse(given), function.__name__, ast.unparse(node.func))
    return None


def numpys(error: BaseException) -> Found | None:
    """What is wrong where one of NumPy's was called with numbers of run time, and no source says by what."""
    found = re.match(r"loop of ufunc does not support argument .* has no callable (\w+) method", str(error))
    return None if found is None else _told(f"np.{found[1]}", found[1], "what calls it")


def _told(written: str, name: str, caller: str) -> Found:
    name = RENAMED.get(name, name)
    shown = caller if " " in caller else f"`{caller}`"
    message = f"`{written}` is Python's and is not compiled, so {shown} cannot use it"
    hint = "see what weft.math has, or pass a @func"
    return problem("not-compile-time", message, f"pass weft.math.{name}" if name in MATH else hint)


def _is_pythons(value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    if kind is BuiltinFunctionType:
        return value.__module__ in _ON_NUMBERS
    return kind.__module__.partition(".")[0] in _ON_NUMBERS and kind.__name__ == "ufunc"
