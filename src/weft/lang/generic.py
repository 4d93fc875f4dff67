"""Annotations with type variables: what they say of a type, and what they become where these are known."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from weft.compiler.source.quoted import text_of, unquoted
from weft.diagnostics import refuse, undefined
from weft.dtype import DType, as_dtype, dtype_elsewhere, unaliased
from weft.lang.number import Number, number_class

if TYPE_CHECKING:  # before Python 3.13 a variable has no default
    from typing_extensions import TypeVar as _TypeVar

    K = _TypeVar("K", bound=Number, default=Any)
else:
    K = TypeVar("K", bound=Number)
"""A kind of number, where a parameter is ``type[K] | DType``: of a DType checkers do not know it."""


def written(dtype: DType) -> Any:
    """How a type of elements is written."""
    return number_class(dtype) if dtype.is_number else cast("Any", dtype).annotation


def type_meant(given: Any) -> Any:
    """The type that is given for a type variable, also by its name as NumPy has it."""
    if isinstance(given, str):
        try:
            return written(as_dtype(given))
        except TypeError:
            return given
    return substitute(given, {})


def substitute(annotation: Any, types: Mapping[str, Any]) -> Any:
    """An annotation with types in place of variables, by their names.

    A DType in it, and another library's type of elements, is the number type that it means.
    """
    annotation = unaliased(annotation)
    if isinstance(annotation, TypeVar):
        return types.get(annotation.__name__, annotation)
    dtype = annotation if isinstance(annotation, DType) else dtype_elsewhere(annotation)
    if dtype is not None:
        return written(dtype)
    origin: Any = get_origin(annotation)
    args = get_args(annotation)
    if origin is Literal or not args:
        return annotation
    made = tuple([substitute(arg, types) for arg in args])
    if all(one is other for one, other in zip(made, args, strict=True)):
        return annotation
    if origin is Annotated:
        return Annotated[made]
    if origin is UnionType:
        return functools.reduce(lambda one, other: one | other, made)
    return origin[made[0] if len(made) == 1 else made]


def said_of(variable: TypeVar, part: Any) -> Any:
    """A bound or a constraint of a type variable, which may be a text, evaluated where that stands."""
    scope = vars(sys.modules.get(variable.__module__, sys))
    try:
        return unquoted(part, lambda text: eval(text, scope))
    except NameError as error:
        text = str(text_of(part))
        refuse(
            "annotation",
            f"`{text}`, which the type variable {variable.__name__} names, does not evaluate: {error}",
            hint=undefined(error, text, scope, "define it outside of functions"),
        )


def variables_of(annotation: Any) -> Iterator[str]:
    """The names of the type variables in an annotation."""
    if isinstance(annotation, TypeVar):
        yield annotation.__name__
    for part in get_args(annotation):
        yield from variables_of(part)


def has_variables(annotation: Any) -> bool:
    """Whether there is a type variable in an annotation."""
    return any(variables_of(annotation))


def bound_of(annotation: Any) -> type[Any] | None:
    """What an annotation asks of a type that the value decides: a protocol, or a class of number types."""
    if not isinstance(annotation, type):
        return None
    cls: type[Any] = annotation
    numbers = issubclass(cls, Number) and not hasattr(cls, "dtype")
    return cls if numbers or getattr(cls, "_is_protocol", False) else None


def is_open_number(annotation: Any) -> bool:
    """Whether it is a type variable, or a ``SIMD`` with one."""
    return isinstance(annotation, TypeVar) or (
        getattr(get_origin(annotation), "__name__", "") == "SIMD" and has_variables(annotation)
    )


def unify(annotation: Any, found: Any) -> Iterator[tuple[TypeVar, Any]]:
    """What each variable of an annotation is where the whole is the type ``found``.

    A class says by ``__weft_arguments__`` with which arguments a type is one of its own.
    """
    if isinstance(annotation, TypeVar):
        yield annotation, found
        return
    origin, wanted = get_origin(annotation), get_args(annotation)
    arguments = getattr(origin, "__weft_arguments__", None)
    if arguments is not None:
        args = arguments(found)
    else:
        args = get_args(found) if get_origin(found) is origin else ()
    for one, other in zip(wanted, args or (), strict=False):
        yield from unify(one, other)


def describe_annotation(annotation: Any) -> str:
    """An annotation as its author would write it."""
    if isinstance(annotation, TypeVar):
        return annotation.__name__
    if isinstance(annotation, tuple):
        return ", ".join(map(describe_annotation, cast("tuple[Any, ...]", annotation)))
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " | ".join(["None" if arg is NoneType else describe_annotation(arg) for arg in args])
    if isinstance(origin, type) and args and not any(isinstance(arg, list) for arg in args):
        return f"{origin.__name__}[{', '.join(map(describe_annotation, args))}]"
    if isinstance(annotation, type):
        return annotation.__name__
    return "..." if annotation is ... else str(annotation).replace("typing.", "")
