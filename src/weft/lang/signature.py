"""A function's parameters, as its author wrote them, and how arguments meet them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.diagnostics import CompileError, Location, nearest
from weft.lang.captured import reads_of_signature, remembered
from weft.lang.comptime import comptime_type
from weft.lang.problems import Problems

__all__ = [
    "MISSING",
    "Parameter",
    "argument_key",
    "bind",
    "closure_values",
    "describe_parameters",
    "evaluated",
    "parameter_location",
    "parameters",
]


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


def parameter_location(fn: Callable[..., Any], name: str) -> Location:
    """Where ``fn`` declares a parameter; of no name, where it is named itself."""
    from weft.diagnostics.wrote import parameter_place

    return parameter_place(fn.__code__.co_filename, fn.__code__.co_firstlineno, name)


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


def evaluated(fn: Callable[..., Any], text: str, of: str, place: Callable[[], Location]) -> Any:
    """An annotation that is a string, as what it means where ``fn`` stands.

    Raises:
        CompileError: it does not evaluate; ``of`` and ``place`` say whose it is.
    """
    scope = {**getattr(fn, "__weft_locals__", {}), **closure_values(fn)}
    try:
        return eval(text, fn.__globals__, scope)
    except Exception as error:
        guess = nearest(error.name or "", fn.__globals__) if isinstance(error, NameError) else None
        hint = f"did you mean `{guess}`?" if guess else "define or import what it names before the launch"
        raise CompileError.at(
            "annotation",
            f"the annotation `{text}` of {of} does not evaluate: {error}",
            place(),
            hints=(hint,),
        ) from None


@remembered(reads_of_signature)
def parameters(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of ``fn``.

    Raises:
        CompileError: an annotation does not evaluate, or the function takes ``*args``.
    """
    code = fn.__code__
    if code.co_flags & 0x0C:
        stars = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        raise CompileError.at(
            "signature",
            f"{fn.__name__} takes {'*' if code.co_flags & 4 else '**'}{stars}, "
            "but a compiled function has a fixed list of parameters",
            parameter_location(fn, stars),
            hints=("name each parameter, or pass a tuple or a @struct",),
        )
    count, keyword = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: count + keyword]
    defaults = fn.__defaults__ or ()
    kwdefaults: Mapping[str, Any] = fn.__kwdefaults__ or {}
    out: list[Parameter] = []
    for n, name in enumerate(names):
        annotation: Any = fn.__annotations__.get(name, MISSING)
        if isinstance(annotation, str):
            at = functools.partial(parameter_location, fn, name)
            annotation = evaluated(fn, annotation, f"`{name}`", at)
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
    options: Iterable[str] = (),
) -> tuple[dict[str, Any], Problems]:
    """Arguments by parameter name, and what is wrong with them (all of it at once).

    ``options`` are the keywords that the call takes besides, which a misspelt name may have meant.
    """
    params = parameters(fn)
    problems = Problems()
    name_of = fn.__name__

    def problem(code: str, message: str, hint: str, at: int | str | None = None) -> None:
        problems.add(code, message, hint, notes=(f"{name_of}{describe_parameters(fn)}",), at=at)

    values: dict[str, Any] = {}
    positional = [p for p in params if not p.keyword_only]
    if len(args) > len(positional):
        takes = f"{len(positional)} positional argument{'s' * (len(positional) != 1)}"
        extra = len(args) - len(positional)
        named = [p.name for p in params if p.keyword_only]
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
    missing = [p for p in params if p.name not in values and p.default is MISSING and p.name not in meant]
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
    for p in params:
        if p.name not in values and p.default is not MISSING:
            values[p.name] = p.default
    return values, problems


def argument_key(fn: Callable[..., Any], name: str, count: int, named: Mapping[str, Any]) -> int | str | None:
    """How a call gave a parameter: its position among ``count`` values, its name, or not at all."""
    if name in named:
        return name
    positional = [p.name for p in parameters(fn) if not p.keyword_only]
    return positional.index(name) if name in positional[:count] else None


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
