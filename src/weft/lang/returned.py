"""What ``-> T`` makes of a value that a ``@func`` returns: what ``x: T = value`` would."""

from __future__ import annotations

from typing import Any, NoReturn, cast, get_args, get_origin

from weft.compiler.source.definition import Definition
from weft.diagnostics import VALUE, CompileError, a_, refuse
from weft.lang.accept import element_dtype
from weft.lang.any_lanes import closed
from weft.lang.elaboration import current
from weft.lang.generic import describe_annotation
from weft.lang.maybe import Maybe, without_none
from weft.lang.number import Number, to_type
from weft.lang.products import all_parts, annotations_of, part_names, remade
from weft.lang.promote import fits
from weft.lang.remembered import remembered
from weft.lang.spec import spec_of


@remembered
def result_annotation(fn: Definition) -> Any:
    """What ``fn`` says that it returns, evaluated; MISSING where it says nothing.

    Raises:
        CompileError: the annotation does not evaluate.
    """
    return fn.result()


def ends_without(fn: Definition, annotation: Any) -> None:
    """Refuse a path that ends without ``return`` where ``annotation`` names a value."""
    if annotation is None or annotation is type(None) or not _says(annotation):
        return
    shown = describe_annotation(annotation)
    raise CompileError.at(
        "return-type",
        f"{fn.name} is annotated to return {a_(shown)}, but may end without `return`",
        fn.place(""),
        hints=(f"end every path with a `return` of {a_(shown)}, or annotate it `-> None`",),
    )


def _says(annotation: Any) -> bool:
    """Whether an annotation says a kind of value; ``Any``, a TypeVar, a union and ``str`` say none."""
    kind: Any = get_origin(annotation) or annotation
    if kind is None or kind in (type(None), tuple, int, float, bool):
        return True
    cls: Any = kind if isinstance(kind, type) else object
    return issubclass(cls, Number) or hasattr(cls, "__weft_leaves__") or part_names(cls) is not None


def returned(name: str, annotation: Any, value: Any) -> Any:
    """``value`` as the function ``name`` returns it, which is annotated ``-> annotation``.

    Python's own ``int`` and ``float`` name no width, and so convert nothing.
    """
    if (wanted := without_none(annotation)) is not None:
        return value if value is None or isinstance(value, Maybe) else returned(name, wanted, value)
    value = value.present() if isinstance(value, Maybe) and _says(annotation) else value
    kind: Any = get_origin(annotation) or annotation
    if kind is None or kind is type(None):
        if value is not None:
            _refuse(name, "nothing", value, "leave the value out, or annotate what it is")
        return None
    if not _says(annotation):
        return value
    if kind is tuple:
        return _tuple(name, annotation, value)
    if part_names(kind) is not None:
        return _parts(name, kind, value)
    if issubclass(kind, Number) or kind in (int, float, bool):
        if not isinstance(value, (Number, bool, int, float)):
            instead = "one of them" if type(value) is tuple else "a number"
            _refuse(name, a_(kind.__name__), value, f"return {instead}, or annotate what it is")
        return _number(kind, value) if issubclass(kind, Number) else value
    if not is_one(annotation, value):
        shown = describe_annotation(annotation)
        _refuse(name, a_(shown), value, f"return {a_(shown)}, or annotate what it is")
    return value


def _number(kind: type[Number], value: Any) -> Number:
    cls = closed(kind, value)
    if cls is Number:  # any of them
        return value
    if isinstance(value, Number):
        return cls.of(to_type(value, cls, current()))
    fits(value, cls)
    return cls(value)  # still known at compile time


def _tuple(name: str, annotation: Any, value: Any) -> Any:
    items = get_args(annotation)
    if type(value) is not tuple:
        _refuse(name, a_(describe_annotation(annotation)), value, "return the items in parentheses")
    found = cast("tuple[Any, ...]", value)
    if not items:
        return found
    if len(items) == 2 and items[1] is Ellipsis:
        items = items[:1] * len(found)
    if len(items) != len(found):
        _refuse(name, f"{len(items)} values", value, "return as many, or annotate as many")
    return tuple(returned(name, item, v) for item, v in zip(items, found, strict=True))


def _parts(name: str, kind: type[Any], value: Any) -> Any:
    """A named tuple or a dataclass, whose parts are what they are annotated with."""
    parts, types = all_parts(value), annotations_of(kind)
    if not isinstance(value, kind) or parts is None:
        _refuse(name, a_(kind.__name__), value, f"return {a_(kind.__name__)}, or annotate what it is")
    names = part_names(kind) or ()
    wanted = [types.get(part, Any) for part in names]
    return remade(kind, [returned(name, t, part) for t, part in zip(wanted, parts, strict=True)])


def is_one(annotation: Any, value: Any) -> bool:
    """Whether a value is what an annotation says of structs, pointers and tensors: of which elements too."""
    kind: Any = get_origin(annotation) or annotation
    if not isinstance(kind, type) or not hasattr(kind, "__weft_leaves__"):
        return True
    wanted = element_dtype(annotation)
    dtype = getattr(value, "dtype", wanted)
    return isinstance(value, kind) and (wanted is None or dtype is wanted)


def _refuse(name: str, wanted: str, value: Any, hint: str) -> NoReturn:
    found = "but returns nothing here" if value is None else f"not {_described(value)}"
    message = f"{name} is annotated to return {wanted}, {found}"
    refuse("return-type", message, hint=hint, part=VALUE)


def _described(value: Any) -> str:
    if type(value) is tuple:
        return f"the tuple ({', '.join(_described(v) for v in cast('tuple[Any, ...]', value))})"
    if isinstance(value, (bool, int, float)):
        return repr(value)
    return spec_of(value).describe() if spec_of(value).leaves() else type(value).__name__
