"""Arguments of another kind than a function's annotations say: looked for where its body has failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from weft.diagnostics.errors import a_

_SEQUENCES = (Sequence, Iterable, list, tuple)
_LONGEST = 24
"""Of a value that is shown as it is written, the characters."""
_TYPE = "an element type"
_SAID = {
    r"must be real number, not (\w+)": "a number",
    r"bad operand type for (?:abs\(\)|unary -): '([^']+)'": "a number",
    r"unsupported operand type\(s\) for .*: '([^']+)' and": "a number",
    r"could not convert string to float: (.*)": "a number",
    r"not supported between instances of '([^']+)' and": "a number",
    r"can't multiply sequence by non-int of type '([^']+)'": "a sequence of numbers",
    r"(.*) is not an element type": _TYPE,
    r"truth value of an array": "a number",
    r"only .* arrays can be converted": "a number",
    r"'([^']+)' object cannot be interpreted as an integer": "an integer",
    r"'([^']+)' object is not iterable": "a sequence",
}
"""What Python says of an argument of another kind, and what was wanted."""


class Misfit(NamedTuple):
    """An argument of another kind."""

    at: int | str
    """Its place among the values that came by position, or its keyword."""
    name: str
    value: str
    wanted: str


def misfit(
    error: Exception,
    function: Callable[..., Any],
    params: Sequence[Parameter],
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> Misfit | None:
    """The first argument of a call that its parameter's annotation, or Python's error, does not allow.

    None where all may be.
    """
    try:
        bound = Signature(params).bind(*args, **named)
    except TypeError:
        return None
    given = list[tuple[int | str, str, Any, Any]]()
    for place, (name, value) in enumerate(bound.arguments.items()):
        parameter = bound.signature.parameters[name]
        allowed = _evaluated(function, parameter.annotation)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            given += [(place + n, name, one, allowed) for n, one in enumerate(value)]
        elif parameter.kind is not Parameter.VAR_KEYWORD:
            given.append((name if name in named else place, name, value, allowed))
    values = [(at, name, value) for at, name, value, _ in given]
    return (
        _said(error, values)
        or _called(error, values)
        or next((Misfit(at, name, _shown(v), _words(k)) for at, name, v, k in given if not _fits(k, v)), None)
    )


def _said(error: Exception, given: list[tuple[int | str, str, Any]]) -> Misfit | None:
    """The argument that an error of Python's names, by its class or as it is written."""
    for pattern, wanted in _SAID.items() if isinstance(error, (TypeError, ValueError)) else ():
        said = re.search(pattern, str(error))
        meant = said and (said.groups() or ("ndarray",))[0]
        for at, name, value in given if meant else ():
            if meant == repr(value) or (wanted == _TYPE and len(given) == 1):
                return Misfit(at, name, str(meant), wanted)
            if meant == type(value).__name__:
                return Misfit(at, name, _shown(value), wanted)
    return None


def _called(error: Exception, given: list[tuple[int | str, str, Any]]) -> Misfit | None:
    """The function among the arguments that was called with more values than it takes."""
    said = re.match(r"(\S+)\(\) takes (\d+) positional arguments? but (\d+) w", str(error))
    for at, name, value in given if said else ():
        if said and said[1].rpartition(".")[2].strip("<>") in getattr(value, "__name__", ""):
            return Misfit(at, name, f"one of {said[2]}", f"a function of {said[3]} arguments")
    return None


def _shown(value: object) -> str:
    """What was given, in a few words."""
    plain = value is None or isinstance(value, (str, int, float))
    return repr(value) if plain and len(repr(value)) <= _LONGEST else a_(type(value).__name__)


def _evaluated(function: Any, annotation: Any) -> Any:
    """An annotation; Any where its names are known to type checkers alone."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)
    except Exception:
        return Any


def _alternatives(allowed: Any) -> list[Any]:
    if get_origin(allowed) in (Union, UnionType):
        return [one for part in get_args(allowed) for one in _alternatives(part)]
    if isinstance(allowed, TypeVar):
        return _alternatives(Any if allowed.__bound__ is None else allowed.__bound__)
    return [NoneType if allowed is None else allowed]


def _fits(allowed: Any, value: object) -> bool:
    return any(_is(one, value) for one in _alternatives(allowed))


def _is(allowed: Any, value: object) -> bool:
    """Whether a value may be of one kind, also where that cannot be told."""
    origin = get_origin(allowed)
    if origin is Literal:
        return value in get_args(allowed)
    cls = origin or allowed
    if cls is Parameter.empty or not isinstance(cls, type):
        return True
    if _is_number(cls) or cls in (int, float):
        if cls is int and isinstance(value, float):
            return False
        one = hasattr(value, "__float__") or hasattr(value, "__index__")
        return hasattr(value, "lanes") or (one and not hasattr(value, "__len__"))
    try:
        return isinstance(value, cast("type[Any]", cls))
    except TypeError:  # a protocol
        return True


def _is_number(cls: type) -> bool:
    """Whether it is a class of numbers, as Float32 is."""
    return hasattr(cls, "lanes")


def _words(allowed: Any) -> str:
    return " or ".join(dict.fromkeys(map(_word, _alternatives(allowed))))


def _word(allowed: Any) -> str:
    cls: Any = get_origin(allowed) or allowed
    if cls is Literal:
        return " or ".join(map(repr, get_args(allowed)))
    if not isinstance(cls, type):
        return str(cls)
    if cls is NoneType:
        return "None"
    if cls is float or _is_number(cls):
        return "a number"
    words: dict[Any, str] = {int: "an integer", str: "a text", type: "a class", Callable: "a function"}
    return "a sequence" if cls in _SEQUENCES else words.get(cls) or a_(cls.__name__)
