"""What a call of the library decides from where it is given a function: its code, and what that captures.

What else is known of a function at compile time, a global number say, is among what the compiled code has
read (``weft.lang.reads``), which plans compare. What launches take as arguments, as it is then, is read here:
captured variables, globals that are arrays or weft's numbers, and attributes of either, as ``self.x``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, cast

from weft.compiler.source.names import named
from weft.compiler.source.python import scope_of
from weft.diagnostics import is_internal
from weft.lang.captured import is_library
from weft.lang.decorators import Func
from weft.lang.host_closures import is_instance
from weft.lang.reads import content_of, parts_of_function
from weft.lang.structs import is_struct, struct_fields
from weft.lang.told_apart import told_apart

Read = Callable[[Any], bool]
"""Adds what a key has of a value that is no function; whether it is told apart."""
_MOST = 4096
_CONSTANTS = {bool, int, float, str, type(None)}
_CONTAINERS, _MOST_ITEMS = {list, dict, set}, 64


class _Code:
    """Code in a module: one object for all functions that are made of it, by which keys tell them apart."""

    __slots__ = ("chains", "code", "globals", "space")

    def __init__(self, code: CodeType, space: dict[str, Any]) -> None:
        self.code, self.space = code, space  # kept, so that no others get their addresses
        self.globals: tuple[str, ...] = ()
        """The globals that it names; none where it is a library's, of which nothing is captured."""
        self.chains: dict[str, list[tuple[str, ...]]] = {}
        """The attributes that are asked of a name, and of these."""
        if not (is_internal(code.co_filename) or _is_foreign(str(space.get("__name__", "")))):
            names = named(code)
            self.globals = tuple(sorted({root for root, *_ in names.globals}))
            for root, *attributes in sorted(names.globals | names.free):
                self.chains.setdefault(root, []).append(tuple(attributes))


class _Same:
    """An object that only it itself equals, and that goes when the program needs it no more."""

    __slots__ = ("hash", "of")

    def __init__(self, value: object) -> None:
        self.of, self.hash = weakref.ref(value), id(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and (found := self.of()) is not None and found is other.of()

    def __hash__(self) -> int:
        return self.hash


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
    if annotations:
        plain = all(map(_is_plain, annotations.values()))
        parts += (*annotations, *annotations.values()) if plain else told_apart(annotations)
    if defaults or by_name:
        parts += told_apart([defaults, by_name])
    given = [(name, content_of(cell)) for name, cell in scope.cells.items()]
    given += [(name, code.space[name]) for name in code.globals if name in code.space]
    under_way, chains = (*under_way, code), code.chains
    return all(_given(value, chains.get(name, ()), parts, read, under_way) for name, value in given)


def _given(
    value: Any, chains: Sequence[tuple[str, ...]], parts: list[Any], read: Read, under_way: tuple[_Code, ...]
) -> bool:
    """Likewise what a function captures, or what stands for a global that it names, by its attributes."""
    kind = cast("type[Any]", type(value))
    if kind in _CONSTANTS:
        return read(value)
    if kind is FunctionType or kind is Func:
        return read_function(value, parts, read, under_way)
    if isinstance(value, (type, BuiltinFunctionType)) or (kind is ModuleType and _is_foreign(value.__name__)):
        parts.append(value)
        return True
    if kind in _CONTAINERS:
        items = [*value, *value.values()] if kind is dict else [*value]
        plain = len(items) <= _MOST_ITEMS and {*map(type, items)} <= _CONSTANTS
        parts += told_apart(value) if plain else ()
        return plain
    if is_struct(kind):
        parts.append(kind)
        fields = [getattr(value, name) for name in struct_fields(kind)]
        return all(_given(field, (), parts, read, under_way) for field in fields)
    if not is_instance(value):
        return read(value)
    try:
        parts.append(_Same(value))
    except TypeError:  # there are no weak references to it
        return False
    state: dict[str, Any] = getattr(value, "__dict__", {})
    found = {chain[0]: state[chain[0]] for chain in chains if chain and chain[0] in state}
    parts += found
    further = {name: [chain[1:] for chain in chains if chain[:1] == (name,)] for name in found}
    return all(_given(one, further[name], parts, read, under_way) for name, one in found.items())


def _is_plain(annotation: object) -> bool:
    """Whether an annotation is a text, or a class."""
    return isinstance(annotation, (str, type))


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
