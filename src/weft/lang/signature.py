"""A function's parameters, as its author wrote them, and how arguments meet them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from weft.compiler.source.definition import MISSING, Definition, Parameter
from weft.diagnostics import nearest
from weft.lang.comptime import comptime_type
from weft.lang.generic import describe_annotation, substitute
from weft.lang.problems import Problems
from weft.lang.remembered import remembered
from weft.record import replace

__all__ = [
    "MISSING",
    "Parameter",
    "argument_key",
    "bind",
    "describe_annotation",
    "describe_parameters",
    "is_generic",
    "parameters",
]


@remembered
def parameters(fn: Definition) -> tuple[Parameter, ...]:
    """The parameters of ``fn``: those annotated ``Comptime[T]`` are of the annotation ``T``.

    Raises:
        CompileError: an annotation does not evaluate, or the function takes ``*args``.
    """
    return tuple(_told(p) for p in fn.parameters())


def _told(p: Parameter) -> Parameter:
    if p.annotation is MISSING or p.variable:
        return p
    inner = comptime_type(p.annotation)
    if inner is not None:
        return replace(p, annotation=inner, comptime=True)
    known = substitute(p.annotation, {})
    return p if known is p.annotation else replace(p, annotation=known)


def is_generic(params: Iterable[Parameter]) -> bool:
    """Whether there are type variables among parameters."""
    return any(p.variable for p in params)


def bind(
    fn: Definition,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    bound: Mapping[str, Any],
    options: Iterable[str] = (),
) -> tuple[dict[str, Any], Problems]:
    """Arguments by parameter name, and what is wrong with them (all of it at once).

    ``options`` are the keywords that the call takes besides, which a misspelt name may have meant.
    """
    params, problems, name_of = parameters(fn), Problems(), fn.name

    def problem(code: str, message: str, hint: str, at: int | str | None = None) -> None:
        problems.add(code, message, hint, notes=(f"{name_of}{describe_parameters(fn)}",), at=at)

    values: dict[str, Any] = {}
    positional = [p for p in params if not p.keyword_only]
    if len(args) > len(positional):
        takes = f"{len(positional)} positional argument{'s' * (len(positional) != 1)}"
        extra = len(args) - len(positional)
        named = [p.name for p in params if p.keyword_only and not p.variable]
        hint = (
            f"give {named[0]}= by name" if named else "leave it out" if extra == 1 else "leave out the rest"
        )
        problem(
            "argument-count", f"{name_of} takes {takes}, but {len(args)} were given", hint, len(positional)
        )
    for p, value in zip(positional, args, strict=False):
        values[p.name] = value
    known = {p.name for p in params}
    meant: set[str] = set()
    for name, value in {**bound, **kwargs}.items():
        if name not in known:
            guess = nearest(name, [*known, *options])
            meant.update([guess] if guess else [])
            hint = f"did you mean `{guess}`?" if guess else "leave it out, or add the parameter"
            problem("argument-name", f"{name_of} has no parameter `{name}`", hint, name)
        elif name in values:
            message = f"`{name}` is given twice, by position and by name"
            problem("argument-name", message, "leave one of them out", name)
        else:
            values[name] = value
    given = {*values, *meant}
    _check_missing(fn, [p for p in params if p.name not in given], problem)
    for p in params:
        if p.name not in values and p.default is not MISSING:
            values[p.name] = p.default
    return values, problems


def _check_missing(fn: Definition, absent: Iterable[Parameter], problem: Callable[..., None]) -> None:
    """Say which parameters have no value; those absent are not given by the call."""
    missing, name_of = [p for p in absent if p.default is MISSING and not p.variable], fn.name
    for p in missing:
        if p.comptime:
            problem(
                "missing-comptime",
                f"{name_of} needs a compile-time value for `{p.name}`",
                f"pass {p.name}=..., or bind it before with .bind({p.name}=...)",
            )
    runtime = [p.name for p in missing if not p.comptime]
    if runtime:
        listed = ", ".join(f"`{n}`" for n in runtime)
        message = f"{name_of} misses {'an argument' if len(runtime) == 1 else 'arguments'}: {listed}"
        problem("argument-count", message, f"pass {'it' if len(runtime) == 1 else 'them in this order'}")


def argument_key(fn: Definition, name: str, count: int, named: Mapping[str, Any]) -> int | str | None:
    """How a call gave a parameter: its position among ``count`` values, its name, or not at all."""
    if name in named:
        return name
    positional = [p.name for p in parameters(fn) if not p.keyword_only]
    return positional.index(name) if name in positional[:count] else None


def describe_parameters(fn: Definition) -> str:
    """The parameters in parentheses, as their author would write them, after type variables in brackets."""
    words: list[str] = []
    types = [p.name for p in parameters(fn) if p.variable]
    for p in parameters(fn):
        if p.variable:
            continue
        if p.keyword_only and "*" not in words:
            words.append("*")
        kind = "" if p.annotation is MISSING else f": {describe_annotation(p.annotation)}"
        words.append(
            p.name + (kind if not p.comptime else f": Comptime[{describe_annotation(p.annotation)}]")
        )
    brackets = f"[{', '.join(types)}]" if types else ""
    return f"{brackets}({', '.join(words)})"


def bracketed(fn: Definition, bound: Mapping[str, Any], item: Any) -> dict[str, Any] | None:
    """What stands in brackets behind a function, by the names that it is for; None where it is too much."""
    given = cast("tuple[Any, ...]", item) if type(item) is tuple else (item,)
    known = [p for p in parameters(fn) if p.comptime and p.name not in bound]
    names = [p.name for p in sorted(known, key=lambda p: not p.variable)]
    return dict(zip(names, given, strict=False)) if len(given) <= len(names) else None
