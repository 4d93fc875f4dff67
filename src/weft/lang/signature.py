"""A function's parameters, as its author wrote them, and how arguments meet them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args, get_origin

from weft.compiler.source.definition import MISSING, Definition, Parameter
from weft.diagnostics import nearest
from weft.dtype import DType, dtype_elsewhere
from weft.lang.comptime import comptime_type
from weft.lang.problems import Problems
from weft.lang.remembered import remembered
from weft.record import replace

__all__ = [
    "MISSING",
    "Parameter",
    "argument_key",
    "bind",
    "describe_parameters",
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
    if p.annotation is MISSING:
        return p
    inner = comptime_type(p.annotation)
    if inner is not None:
        return replace(p, annotation=inner, comptime=True)
    known = as_annotation(p.annotation)
    return p if known is p.annotation else replace(p, annotation=known)


def as_annotation(annotation: Any) -> Any:
    """An annotation with weft's classes for a ``DType`` and for element types of other libraries."""
    origin, args = get_origin(annotation), get_args(annotation)
    if isinstance(origin, type) and origin.__module__.partition(".")[0] == "weft":
        known = tuple([as_annotation(arg) for arg in args])
        return annotation if known == args else cast("Any", origin)[known]
    dtype = annotation if isinstance(annotation, DType) else dtype_elsewhere(annotation)
    if dtype is None:
        return annotation
    from weft.lang.number import number_class

    return number_class(dtype) if dtype.is_number else cast("Any", dtype).annotation


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
    params = parameters(fn)
    problems = Problems()
    name_of = fn.name

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


def argument_key(fn: Definition, name: str, count: int, named: Mapping[str, Any]) -> int | str | None:
    """How a call gave a parameter: its position among ``count`` values, its name, or not at all."""
    if name in named:
        return name
    positional = [p.name for p in parameters(fn) if not p.keyword_only]
    return positional.index(name) if name in positional[:count] else None


def describe_parameters(fn: Definition) -> str:
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
        "weft.layout.tensor.tensor.",
        "weft.lang.",
        "typing.",
    ):
        text = text.replace(prefix, "")
    return text
