"""What a call of a ready kernel decides from where it is given a function: its code, and what that captures.

What else is known of a function at compile time, a global number say, is among what the compiled code has
read (``weft.lang.reads``), which plans compare. What launches take as arguments, as it is then, is read here:
captured variables, and globals that are arrays or weft's numbers. Attributes of the program's own modules and
objects may be such too: functions that name them are not told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from weft.compiler.source.names import named
from weft.compiler.source.python import scope_of
from weft.diagnostics import is_internal
from weft.lang.captured import is_library
from weft.lang.decorators import Func
from weft.lang.number import Number
from weft.lang.reads import content_of, parts_of_function
from weft.lang.told_apart import told_apart

Read = Callable[[Any], bool]
"""Adds what a key has of a value that is no function; whether it is told apart."""
_MOST = 4096
_CONSTANTS = (bool, int, float, str, type(None))


class _Code:
    """Code in a module: one object for all functions that are made of it, by which keys tell them apart."""

    __slots__ = ("code", "globals", "names", "space")

    def __init__(self, code: CodeType, space: dict[str, Any]) -> None:
        self.code, self.space = code, space  # kept, so that no others get their addresses
        self.globals: tuple[str, ...] = ()
        """The globals that it names; none where it is a library's, of which nothing is captured."""
        if not (is_internal(code.co_filename) or _is_foreign(str(space.get("__name__", "")))):
            self.globals = tuple(sorted({root for root, *_ in named(code).globals}))


_codes: dict[tuple[int, int], _Code] = {}


def read_function(value: Any, parts: list[Any], read: Read, under_way: tuple[_Code, ...] = ()) -> bool:
    """Add what a key has of a function, or of a ``@func``; whether it is told apart.

    Args:
        value: the function.
        parts: of the key so far.
        read: reads what is captured.
        under_way: the functions that are being read, which name this one.
    """
    function: Any = value
    if isinstance(value, Func):
        function = value.definition.function
        if value.bound or value.definition.overloads:
            return False
    if type(function) is not FunctionType:
        return False
    made, defaults, by_name, annotations = parts_of_function(function)
    scope = scope_of(function)
    code = _code(made, scope.globals)
    parts += isinstance(value, Func), code
    if code in under_way:
        return True
    if defaults or by_name or annotations:
        parts += told_apart([defaults, by_name, annotations])
    given = list(map(content_of, scope.cells.values()))
    given += [code.space[name] for name in code.globals if name in code.space]
    under_way = *under_way, code
    return all(_given(one, parts, read, under_way) for one in given)


def _given(value: Any, parts: list[Any], read: Read, under_way: tuple[_Code, ...]) -> bool:
    """Likewise what a function captures, or what stands for a global that it names."""
    if type(value) in _CONSTANTS:
        return read(value)
    if isinstance(value, (FunctionType, Func)):
        return read_function(value, parts, read, under_way)
    if isinstance(value, Number):
        parts += told_apart(value)
        return True
    if isinstance(value, ModuleType):
        parts.append(value)
        return _is_foreign(value.__name__)
    if isinstance(value, (type, BuiltinFunctionType)):
        parts.append(value)
        return True
    return read(value)


def _is_foreign(module: str) -> bool:
    """Whether a module is weft's or an installed package's."""
    top = module.partition(".")[0]
    return top == "weft" or is_library(top)


def _code(code: CodeType, space: dict[str, Any]) -> _Code:
    found = _codes.get((id(code), id(space)))
    if found is None:
        if len(_codes) >= _MOST:
            _codes.clear()
        found = _codes[id(code), id(space)] = _Code(code, space)
    return found
