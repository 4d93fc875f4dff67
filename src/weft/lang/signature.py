"""A function's parameters, as its author wrote them, and how arguments meet them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.diagnostics import CompileError, Diagnostic, Label, Location, nearest
from weft.lang.comptime import comptime_type

__all__ = ["MISSING", "Parameter", "bind", "closure_values", "describe_parameters", "parameters"]


class _Missing:
    def __repr__(self) -> str:
        return "<no value>"


MISSING: Any = _Missing()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: ``annotation`` is evaluated (MISSING where there is none)."""

    name: str
    annotation: Any
    comptime: bool
    keyword_only: bool
    default: Any


def closure_values(fn: Callable[..., Any]) -> dict[str, Any]:
    """The variables that ``fn`` captures, with their present values."""
    cells = fn.__closure__ or ()
    out: dict[str, Any] = {}
    for name, cell in zip(fn.__code__.co_freevars, cells, strict=True):
        try:
            out[name] = cell.cell_contents
        except ValueError:
            continue
    return out


@functools.lru_cache(maxsize=4096)
def parameters(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of ``fn``.

    Raises:
        CompileError: an annotation does not evaluate, or the function takes ``*args``.
    """
    code = fn.__code__
    place = Location(code.co_filename, code.co_firstlineno)
    if code.co_flags & 0x0C:
        raise CompileError.at(
            "signature",
            f"{fn.__name__} takes *args or **kwargs; a compiled function has a fixed list of parameters",
            place,
            hints=("name each parameter, or pass a tuple",),
        )
    count, keyword = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: count + keyword]
    defaults = fn.__defaults__ or ()
    kwdefaults: Mapping[str, Any] = fn.__kwdefaults__ or {}
    out: list[Parameter] = []
    scope: dict[str, Any] | None = None
    for n, name in enumerate(names):
        annotation: Any = fn.__annotations__.get(name, MISSING)
        if isinstance(annotation, str):
            scope = closure_values(fn) if scope is None else scope
            try:
                annotation = eval(annotation, fn.__globals__, scope)
            except Exception as error:
                raise CompileError.at(
                    "annotation", f"the annotation `{annotation}` of {name} does not evaluate: {error}", place
                ) from None
        default = kwdefaults.get(name, MISSING)
        if n < count and n >= count - len(defaults):
            default = defaults[n - (count - len(defaults))]
        inner = None if annotation is MISSING else comptime_type(annotation)
        out.append(
            Parameter(name, annotation if inner is None else inner, inner is not None, n >= count, default)
        )
    return tuple(out)


def bind(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    bound: Mapping[str, Any],
    place: Location | None,
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Arguments by parameter name, and what is wrong with them (all of it at once)."""
    params = parameters(fn)
    problems: list[Diagnostic] = []
    labels = (Label(place),) if place is not None else ()

    def problem(code: str, message: str, hint: str = "") -> None:
        problems.append(
            Diagnostic(
                code, message, labels, (f"{fn.__name__}{describe_parameters(fn)}",), (hint,) if hint else ()
            )
        )

    values: dict[str, Any] = {}
    positional = [p for p in params if not p.keyword_only]
    if len(args) > len(positional):
        takes = f"{len(positional)} positional argument{'s' * (len(positional) != 1)}"
        problem("argument-count", f"{fn.__name__} takes {takes}, but {len(args)} were given")
    for p, value in zip(positional, args, strict=False):
        values[p.name] = value
    known = {p.name for p in params}
    for name, value in {**bound, **kwargs}.items():
        if name not in known:
            guess = nearest(name, known)
            problem(
                "argument-name",
                f"{fn.__name__} has no parameter `{name}`",
                f"did you mean `{guess}`?" if guess else "",
            )
        elif name in values:
            problem("argument-name", f"`{name}` is given twice, by position and by name")
        else:
            values[name] = value
    missing = [p for p in params if p.name not in values and p.default is MISSING]
    for p in missing:
        if p.comptime:
            problem(
                "missing-comptime",
                f"{fn.__name__} needs a compile-time value for `{p.name}`",
                f"pass {p.name}=..., or bind it before with .bind({p.name}=...)",
            )
    runtime = [p.name for p in missing if not p.comptime]
    if runtime:
        listed = ", ".join(f"`{n}`" for n in runtime)
        problem(
            "argument-count",
            f"{fn.__name__} misses {'an argument' if len(runtime) == 1 else 'arguments'}: {listed}",
        )
    for p in params:
        if p.name not in values and p.default is not MISSING:
            values[p.name] = p.default
    return values, problems


def describe_parameters(fn: Callable[..., Any]) -> str:
    """The parameters in parentheses, as their author would write them."""
    words: list[str] = []
    for p in parameters(fn):
        if p.keyword_only and "*" not in words:
            words.append("*")
        kind = "" if p.annotation is MISSING else f": {describe_annotation(p.annotation)}"
        words.append(
            p.name + (kind if not p.comptime else f": Comptime[{describe_annotation(p.annotation)}]")
        )
    return f"({', '.join(words)})"


def describe_annotation(annotation: Any) -> str:
    """An annotation as its author would write it."""
    if isinstance(annotation, type):
        return annotation.__name__
    text = str(annotation)
    for prefix in (
        "weft.lang.scalars.",
        "weft.lang.pointer.",
        "weft.layout.tensor.",
        "weft.lang.",
        "typing.",
    ):
        text = text.replace(prefix, "")
    return text
