"""Functions for other processes: by name where they can be imported there, else by their source.

What goes by source takes along its code, the text of its file, and what its code and annotations name; what a
library has stays a name. A process keeps what it was given, so that a function that comes again is the same.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import marshal
import sys
import uuid
import weakref
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.source.written import give_text
from weft.diagnostics import CompileError, caller_location

if TYPE_CHECKING:
    from weft.compiler.source.python import PythonFunction

_MAINS = ("__main__", "__mp_main__")
_MOST = 512
_tokens: weakref.WeakKeyDictionary[FunctionType, str] = weakref.WeakKeyDictionary()
_made: weakref.WeakSet[FunctionType] = weakref.WeakSet()
_given: dict[str, FunctionType] = {}
"""Functions that came by their source, by what stands for each in all processes."""


def by_name(module: str, qualname: str, made: object) -> bool:
    """Whether other processes find something under its name."""
    if module in _MAINS or "<" in qualname:
        return False
    try:
        found = _found(module, qualname)
    except (ImportError, AttributeError):
        return False
    return found is made or getattr(found, "definition", found) is made


def _found(module: str, qualname: str) -> Any:
    place: Any = sys.modules.get(module) or importlib.import_module(module)
    for name in qualname.split("."):
        place = getattr(place, name)
    return place


def find(module: str, qualname: str) -> Any:
    """What a name stands for, for who unpickles it.

    Raises:
        CompileError: it stands for nothing here.
    """
    try:
        return _found(module, qualname)
    except (ImportError, AttributeError) as error:
        raise CompileError.at(
            "unpickle",
            f"{module}.{qualname} comes from another process, and is not here: {error}",
            caller_location(),
            hints=(f"put {module} where this process imports from (sys.path, PYTHONPATH)",),
        ) from None


def _definition_named(module: str, qualname: str) -> PythonFunction:
    found = find(module, qualname)
    return found.definition


def reduced(definition: PythonFunction) -> tuple[Any, ...]:
    """How a definition is pickled: by name, or as a function without what it names, then that."""
    module, qualname = definition.module, definition.qualname
    if by_name(module, qualname, definition):
        return _definition_named, (module, qualname)
    function = definition.function
    token = _tokens.get(function)
    if token is None:
        token = _tokens[function] = uuid.uuid4().hex
        _remember(token, function)
    code = function.__code__
    about = (function.__module__, function.__name__, function.__qualname__, function.__doc__)
    return (
        _anew,
        (
            token,
            sys.version_info[:2],
            marshal.dumps(code),
            _text(function),
            about,
            (definition.fast_math, definition.threads),
            _sends_classes(),
        ),
        _state(definition),
    )


def _sends_classes() -> bool:
    """Whether it is cloudpickle that pickles, which sends the program's classes, where pickle names them."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if str(frame.f_globals.get("__name__")).endswith("cloudpickle"):
            return True
        frame = frame.f_back
    return False


def _text(function: FunctionType) -> str:
    """The text that weft compiles a function from; a helper in Python needs none."""
    from weft.compiler.source.find import text_of

    try:
        return text_of(function)
    except CompileError:
        return ""


def _state(definition: PythonFunction) -> dict[str, Any]:
    from weft.compiler.source.python import named_in

    function = definition.function
    reads = definition.reads()
    names = {chain[0] for chain in reads.globals} | set(reads.strings) | _in_annotations(definition)
    scope = {n: v for n, v in function.__globals__.items() if n in names}
    scope.update(named_in(function.__annotations__.values(), function.__globals__))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return {
        "globals": {n: sent(v) for n, v in scope.items()},
        "cells": {n: sent(c.cell_contents) for n, c in cells.items() if not _is_empty(c)},
        "defaults": tuple(map(sent, function.__defaults__ or ())),
        "named_defaults": {n: sent(v) for n, v in (function.__kwdefaults__ or {}).items()},
        "annotations": dict(function.__annotations__),
        "locals": {n: sent(v) for n, v in function.__dict__.get("__weft_locals__", {}).items()},
        "variables": function.__dict__.get("__weft_variables__", ())
        + getattr(function, "__type_params__", ()),
    }


def _in_annotations(definition: PythonFunction) -> set[str]:
    """What annotations of variables name, which Python does not evaluate, and weft does."""
    body = definition.body() if _text(definition.function) else ast.Pass()
    wanted = [n.annotation for n in ast.walk(body) if isinstance(n, ast.AnnAssign)]
    return {n.id for annotation in wanted for n in ast.walk(annotation) if isinstance(n, ast.Name)}


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class _Module:
    """A module, pickled by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.name,)


class _Named:
    """Something of weft's, pickled by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.where = module, name

    def __reduce__(self) -> tuple[Any, ...]:
        return find, self.where


class _Helper:
    """A Python function that cannot be imported elsewhere, pickled as the functions of weft are."""

    def __init__(self, function: FunctionType) -> None:
        from weft.compiler.source.python import PythonFunction

        self.definition = PythonFunction(function)

    def __reduce__(self) -> tuple[Any, ...]:
        return _function_of, (self.definition,)


def _function_of(definition: PythonFunction) -> FunctionType:
    return definition.function


def sent(value: Any) -> Any:
    """A value as it is pickled."""
    if isinstance(value, ModuleType):
        return _Module(value.__name__)
    if isinstance(value, FunctionType) and not by_name(value.__module__, value.__qualname__, value):
        return _Helper(value)
    if issubclass(
        cast("type[Any]", type(value)),
        (type, BuiltinFunctionType, FunctionType, int, str, float, tuple, list, dict),
    ):
        return value
    for module in [m for n, m in tuple(sys.modules.items()) if n.partition(".")[0] == "weft"]:
        for name, known in tuple(vars(module).items()):
            if known is value:
                return _Named(module.__name__, name)
    return value


def _anew(
    token: str,
    version: tuple[int, int],
    code: bytes,
    text: str,
    about: tuple[str, str, str, str | None],
    options: tuple[bool, int],
    with_classes: bool = False,
) -> PythonFunction:
    """The function that was pickled, its state yet to come; ``with_classes`` that are not this program's."""
    from weft.compiler.source.python import definition_of

    module, name, qualname, doc = about
    if version != sys.version_info[:2]:
        this = ".".join(map(str, sys.version_info[:2]))
        raise CompileError.at(
            "unpickle",
            f"{qualname} was pickled by Python {version[0]}.{version[1]}; this is Python {this}",
            caller_location(),
            hints=(
                "run the same Python in both processes, or put the function into a module that both import",
            ),
        )
    function = _given.get(token)
    if function is None:
        made: CodeType = marshal.loads(code)
        function = None if with_classes else _of_main(module, qualname, made)
        if function is None:
            scope = {"__name__": module, "__builtins__": builtins}
            function = FunctionType(made, scope, name, None, tuple(CellType() for _ in made.co_freevars))
            function.__module__, function.__qualname__, function.__doc__ = module, qualname, doc
            give_text(function, text)
            _made.add(function)
        _tokens[function] = token
        _remember(token, function)
    return definition_of(function, fast_math=options[0], threads=options[1])


def _of_main(module: str, qualname: str, code: CodeType) -> FunctionType | None:
    """The same function of this process's program, which `multiprocessing` has imported again."""
    if module not in _MAINS or "<" in qualname:
        return None
    try:
        found = _found("__main__", qualname)
    except (ImportError, AttributeError):
        return None
    function = getattr(getattr(found, "definition", None), "function", found)
    return function if isinstance(function, FunctionType) and function.__code__ == code else None


def _remember(token: str, function: FunctionType) -> None:
    while len(_given) >= _MOST:
        del _given[next(iter(_given))]
    _given[token] = function


def fill(definition: PythonFunction, state: dict[str, Any]) -> None:
    """Give a function what its code names, if it has come to this process by its source."""
    function = definition.function
    if function not in _made:
        return
    _update(function.__globals__, state["globals"])
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in state["cells"]:
            held = {} if _is_empty(cell) else {name: cell.cell_contents}
            _update(held, {name: state["cells"][name]})
            cell.cell_contents = held[name]
    function.__defaults__ = state["defaults"] or None
    function.__kwdefaults__ = state["named_defaults"] or None
    function.__annotations__ = state["annotations"]
    function.__dict__["__weft_locals__"] = state["locals"]
    function.__dict__["__weft_variables__"] = state["variables"]


_PLAIN = (int, float, str, bytes, bool, type(None))


def _update(names: dict[str, Any], values: dict[str, Any]) -> None:
    """Assign what differs, so that what was compiled with the rest holds."""
    for name, value in values.items():
        old = names.get(name, names)
        if not (type(old) is type(value) and isinstance(value, _PLAIN) and repr(old) == repr(value)):
            names[name] = value
