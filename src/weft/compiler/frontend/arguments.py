"""An argument of a call as the parameter takes it: converted to its annotation, or refused."""

from __future__ import annotations

from typing import Any, cast, get_args, get_origin

from weft.compiler.source.definition import MISSING
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.any_lanes import closed
from weft.lang.elaboration import current
from weft.lang.generic import bound_of, describe_annotation
from weft.lang.hints import number_hint
from weft.lang.maybe import Maybe, present, without_none
from weft.lang.number import Number, number_class, to_type
from weft.lang.python_number import python_number
from weft.lang.returned import is_one
from weft.lang.spec import spec_of
from weft.lang.type_variables import assumed, outside, type_of


def argument_as(name: str, annotation: Any, comptime: bool, value: Any, function: str) -> Any:
    """An argument as the parameter of a @func takes it."""
    if comptime:
        if spec_of(value).leaves():
            refuse(
                "not-compile-time",
                f"`{name}` of {function} is a Comptime parameter, "
                f"but this {type(value).__name__} exists only at run time",
                hint="give it a Python value, or make it a parameter without Comptime",
            )
        return value
    value = python_number(value)
    if (wanted := without_none(annotation)) is not None:
        none = value is None or isinstance(value, Maybe)
        return value if none else argument_as(name, wanted, comptime, value, function)
    value = value if any(annotation is open_ for open_ in (MISSING, Any, object)) else present(value)
    if get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,) and type(value) is tuple:
        of, items = get_args(annotation)[0], enumerate(cast("tuple[Any, ...]", value))
        return tuple([argument_as(f"{name}[{n}]", of, comptime, item, function) for n, item in items])
    bound = bound_of(annotation)
    if bound is not None:
        kind = assumed(value)
        found = type_of(spec_of(value)) if kind is None else number_class(kind)
        wrong = outside(bound, found)
        if wrong is not None:
            message = f"`{name}` of {function} is {wrong[0]}, not {a_(describe_annotation(found))}"
            refuse("argument-type", message, hint=wrong[1])
        return value
    if annotation is not MISSING and isinstance(annotation, type) and issubclass(annotation, Number):
        annotation = closed(annotation, value)
        if isinstance(value, (Number, int, float)) and annotation in (
            type(value),
            number_class(annotation.dtype, annotation.lanes),
        ):
            b = current()
            return annotation.of(to_type(value, annotation, b))
        if not isinstance(value, annotation):
            refuse(
                "argument-type",
                f"`{name}` of {function} is {a_(annotation.__name__)}, not {a_(type(value).__name__)}",
                hint=number_hint(value)
                or (
                    f"convert it: {annotation.__name__}(...)"
                    if isinstance(value, (Number, int, float))
                    else f"pass {a_(annotation.__name__)}"
                ),
                part=VALUE,
                about=value,
            )
    elif annotation is not MISSING and not is_one(annotation, value):
        shown, found = describe_annotation(annotation), describe_annotation(type_of(spec_of(value)))
        message = f"`{name}` of {function} is {a_(shown)}, not {a_(found)}"
        refuse("argument-type", message, hint=f"pass {a_(shown)}")
    return value
