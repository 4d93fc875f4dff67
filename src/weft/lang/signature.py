"""A function's parameters, as its author wrote them, and how arguments meet them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from weft.compiler.source.definition import MISSING, Definition, Parameter
from weft.diagnostics.fitting import fit
from weft.diagnostics.problems import Problems
from weft.lang.comptime import comptime_type
from weft.lang.generic import describe_annotation, substitute
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

    def shown() -> str:
        return f"{fn.name}{describe_parameters(fn)}"

    return fit(
        fn.name, shown, parameters(fn), args, {**bound, **kwargs}, options, bound=bound.keys() - kwargs.keys()
    )


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
