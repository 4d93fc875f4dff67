"""Calls of functions of the host whose arguments do not fit: told as those of kernels are.

Python compares arguments with parameters before any line of a function runs, and its ``TypeError`` says
neither what there is nor what was meant. What is ``told_of`` is called through a function that says so. A
call that fits pays 0.1 to 0.2 µs; waits, with which little can be wrong, pay nothing.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any, TypeVar, cast

from weft.diagnostics.errors import LaunchError, WeftError, elaborating, refuse
from weft.diagnostics.fitting import MISSING, fit
from weft.diagnostics.hook import hush
from weft.diagnostics.location import is_internal
from weft.diagnostics.problems import Problems
from weft.record import record

F = TypeVar("F", bound=Callable[..., Any])


_LONGEST = 100
"""A signature of more characters than this is shown without types."""


_ANY = re.compile("Any|object|[A-Z]|[A-Z][a-z]+T")
"""Annotations that say nothing: type variables, too."""


_TELLING = (TypeError, AttributeError, ValueError, LookupError)
"""What Python raises where a value is of another kind."""


_TOLD_THERE = re.compile("must be real number|is not an element type")
"""What Python says of arguments that a kernel's own words are better for."""


class UnfitCall(LaunchError, TypeError):
    """A call whose arguments do not fit; who expects Python's own error catches it too."""

    __module__, __qualname__ = "weft", "LaunchError"  # as which it is shown and caught


def told_of(function: F) -> F:
    """The function, of whose calls that do not fit is told what is wrong, and what it takes.

    So it is of arguments of another kind than their annotations say, where weft fails over them. Within a
    kernel what is no number and no element type stays Python's ``TypeError``, which is told there.
    """
    if hasattr(function, "__weft_told__"):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _TELLING as error:
            unfit = isinstance(error, TypeError) and not elaborating.now
            found = _unfit(function, args, kwargs) if unfit else None
            found = found or _of_another_kind(error, function, args, kwargs)
            if found is None:
                if type(error).__module__ == "builtins" and _ended_in_weft(error):
                    hush(error)
                raise
            raise found from None

    vars(call)["__weft_told__"] = True
    return cast("F", call)


def frame_above(depth: int) -> FrameType:
    """The frame so many calls above the caller's, as ``sys._getframe`` counts, without those that tell."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and (depth > 0 or frame.f_code.co_filename == __file__):
        depth -= frame.f_code.co_filename != __file__
        frame = frame.f_back
    return frame


def tell_of_methods(cls: type) -> None:
    """Have the constructor and the public methods of a class told of, where they take anything."""
    held: Any
    for name, held in list(vars(cls).items()):
        bound = isinstance(held, (staticmethod, classmethod))
        function: Any = held.__func__ if bound else held
        if isinstance(function, FunctionType) and (name == "__init__" or _is_public(function)):
            told = told_of(function)
            setattr(cls, name, type(held)(told) if bound else told)


_HOT = frozenset({"synchronize"})
"""Methods without parameters that programs call where microseconds count."""


def _is_public(method: FunctionType) -> bool:
    """Whether users call it by its name, and a call may pay for what tells of it."""
    return not method.__name__.startswith("_") and bool(method.__doc__) and method.__name__ not in _HOT


@record
class _Parameter:
    name: str
    keyword_only: bool
    default: Any
    comptime: bool = False
    variable: bool = False


def _unfit(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> UnfitCall | None:
    """What is wrong with a call of the user's, at its place; None where it fits, and its body has raised."""
    from inspect import signature

    from weft.diagnostics.location import caller_location

    try:
        signature(function).bind(*args, **named)
    except TypeError:
        pass
    else:
        return None
    name, params, given = _as_called(function, args)
    problems = misfits(name, params, given, named)
    return UnfitCall(problems.placed(caller_location(), len(given))) if problems else None


def _as_called(function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, list[Any], Sequence[Any]]:
    """The name, the parameters and the values of a call as somebody writes it: without ``self``."""
    from inspect import signature

    params = [*signature(function).parameters.values()]
    within = function.__qualname__.rpartition(".")[0]
    if within and not within.endswith(">") and params and params[0].name in ("self", "cls", "_cls"):
        params, args = params[1:], args[1:]
    name = function.__name__
    return function.__qualname__.split(".")[-2] if name in ("__init__", "__new__") else name, params, args


def _ended_in_weft(error: Exception) -> bool:
    """Whether it was raised by weft's own code, or by what that calls of Python's."""
    end = error.__traceback__
    while end is not None and end.tb_next is not None:
        end = end.tb_next
    return end is not None and is_internal(end.tb_frame.f_code.co_filename)


def _of_another_kind(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> UnfitCall | None:
    """Where weft has failed over an argument of the user's that an annotation does not allow: that."""
    from weft.diagnostics.kinds import misfit
    from weft.diagnostics.location import caller_location

    told = isinstance(error, WeftError) or (elaborating.now and _TOLD_THERE.search(str(error)))
    if told or not _ended_in_weft(error):
        return None
    name, params, given = _as_called(function, args)
    by_user = not is_internal(frame_above(0).f_code.co_filename)
    found = misfit(error, function, params, given, named) if by_user else None
    if found is None:
        return None
    text = f"`{found.name}` of {name} takes {found.wanted}, not {found.value}"
    hint = f"it is {_shown(name, params)}"
    if elaborating.now:
        refuse("argument-type", text, hint)
    problems = Problems()
    problems.add("argument-type", text, hint, at=found.at)
    return UnfitCall(problems.placed(caller_location(), len(given)))


def misfits(name: str, params: Sequence[Any], args: Sequence[Any], named: Mapping[str, Any]) -> Problems:
    """What is wrong with the arguments of a call, given the parameters as ``inspect`` has them."""
    plain = [
        _Parameter(p.name, p.kind is p.KEYWORD_ONLY, MISSING if p.default is p.empty else p.default)
        for p in params
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if any(p.kind is p.VAR_KEYWORD for p in params):
        named = {p.name: named[p.name] for p in plain if p.name in named}
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        args = args[: sum(not p.keyword_only for p in plain)]
    return fit(name, lambda: _shown(name, params), plain, args, named, otherwise="leave it out")[1]


def _shown(name: str, params: Sequence[Any]) -> str:
    """The signature: with types where that stays readable."""
    whole = f"{name}({', '.join(_words(params, typed=True))})"
    return whole if len(whole) <= _LONGEST else f"{name}({', '.join(_words(params, typed=False))})"


def _words(params: Sequence[Any], *, typed: bool) -> list[str]:
    words: list[str] = []
    for p in params:
        if p.kind is p.KEYWORD_ONLY and not any(w.startswith("*") for w in words):
            words.append("*")
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = f": {_type(p.annotation)}" if typed and p.annotation is not p.empty else ""
        kind = "" if _ANY.fullmatch(kind[2:]) else kind
        default = "" if p.default is p.empty else f" = {p.default!r}" if kind else f"={p.default!r}"
        words.append(f"{stars}{p.name}{kind}{default}")
    return words


def _type(annotation: Any) -> str:
    """An annotation as somebody wrote it: a text, a class, or what ``typing`` made of a text."""
    return (
        getattr(annotation, "__forward_arg__", None)
        or getattr(annotation, "__name__", None)
        or str(annotation)
    )
