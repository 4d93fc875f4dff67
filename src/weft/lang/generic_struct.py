"""Structs over types and sizes: ``Vec[Float32, 4]`` is a class, made once."""

from __future__ import annotations

from types import GenericAlias, SimpleNamespace
from typing import Any, Literal, cast, get_args, get_origin

from weft.compiler.source.definition import Parameter
from weft.diagnostics import refuse
from weft.dtype import as_dtype
from weft.lang.bracketed import Bracketed
from weft.lang.decorators import Func
from weft.lang.elaboration import maybe_current
from weft.lang.generic import describe_annotation, has_variables, type_meant
from weft.lang.number import Number
from weft.lang.pointer import Pointer
from weft.lang.spec import Spec, spec_of
from weft.lang.structs import struct_fields
from weft.lang.type_variables import assumed, refused, settle

__all__ = ["make_generic"]


def make_generic(cls: Any) -> None:
    """Let a struct that has type variables be given types, or find them out of its fields' values."""
    made: dict[tuple[object, ...], type[Any]] = {}

    def of(item: Any) -> Any:
        given = cast("tuple[Any, ...]", item) if type(item) is tuple else (item,)
        given = tuple(map(_argument, given))
        _check(cls, given)
        if any(map(has_variables, given)):
            return GenericAlias(cls, given)
        key = *map(type, cast("list[object]", given)), *given
        if key not in made:
            made[key] = _specialised(cls, given)
        return made[key]

    def new(owner: Any, *args: Any, **named: Any) -> Any:
        return object.__new__(of(_found(cls, args, named)) if owner is cls else owner)

    def arguments(found: Any) -> tuple[Any, ...]:
        if isinstance(found, type) and issubclass(found, cls):
            return tuple(cast("Any", found).__weft_types__.values())
        return get_args(found) if get_origin(found) is cls else ()

    cls.__class_getitem__, cls.__weft_arguments__ = of, staticmethod(arguments)
    cls.__new__ = new


def _argument(given: Any) -> Any:
    """What stands in brackets: a type, a size, a function."""
    if get_origin(given) is Literal:
        (given,) = get_args(given)
    return int(given) if isinstance(given, Number) else type_meant(given)


def _check(cls: Any, given: tuple[Any, ...]) -> None:
    variables = cls.__parameters__
    names = ", ".join(v.__name__ for v in variables)
    if len(given) != len(variables):
        message = f"{cls.__name__}[...] takes {len(variables)} of types and sizes, but {len(given)} are given"
        refuse("argument-count", message, hint=f"write {cls.__name__}[{names}]")
    for variable, meant in zip(variables, given, strict=True):
        wrong = None if has_variables(meant) else refused(variable, meant)
        if wrong is not None:
            found = describe_annotation(meant)
            message = f"`{variable.__name__}` of {cls.__name__} is {wrong[0]}, not {found}"
            refuse("argument-type", message, hint=wrong[1])


def _specialised(cls: Any, given: tuple[Any, ...]) -> type[Any]:
    """The class for these types, whose methods know them."""
    types = {v.__name__: one for v, one in zip(cls.__parameters__, given, strict=True)}
    name = describe_annotation(GenericAlias(cls, given))

    def reduced(self: Any) -> Any:
        return _rebuilt, (cls, given, self.__dict__)

    members: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": name,
        "__doc__": cls.__doc__,
        "__weft_struct__": True,
        "__weft_types__": types,
        "__weft_brackets__": (cls, given),
        "__reduce__": reduced,
    }
    for key, item in list(cls.__dict__.items()):
        held: Any = getattr(item, "__func__", item)
        if isinstance(held, Func):
            bound: Any = cast("Func[..., Any]", held).bind(**types)
            members[key] = bound if held is item else staticmethod(bound)
    kind = Bracketed if type(cls) is type else type  # a protocol's class is of a kind of its own
    return kind(name, (cls,), members)


def _rebuilt(cls: Any, given: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    """A struct from what was pickled of it."""
    made: Any = object.__new__(cls[given])
    made.__dict__.update(fields)
    return made


def _found(cls: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The types and sizes that values of the fields say."""
    import dataclasses

    fields = struct_fields(cls)
    given: dict[str, Any] = {**dict(zip(fields, args, strict=False)), **named}
    for field in dataclasses.fields(cls):
        if field.name not in given and field.default is not dataclasses.MISSING:
            given[field.name] = field.default
    if given.keys() != fields.keys() or len(args) + len(named) > len(given):
        cls.__init__(object.__new__(cls), *args, **named)  # which says what is missing, or too much

    def take(p: Parameter, value: Any) -> Spec:
        try:  # of memory on the host, the elements
            dtype = None if maybe_current() is not None else as_dtype(value.dtype)
        except (TypeError, AttributeError):
            dtype = None
        if dtype is None or isinstance(value, Number):
            return spec_of(value)
        return cast("Spec", SimpleNamespace(cls=get_origin(p.annotation) or Pointer, dtype=dtype))

    def note(message: str, hint: str, name: str = "") -> None:
        refuse("field-type", message.replace("argument `", "the field `"), hint=hint)

    params = [Parameter(name, annotation) for name, annotation in fields.items()]
    params += [Parameter(v.__name__, v, True, True, variable=True) for v in cls.__parameters__]
    types = settle(cls.__name__, params, given, take, assumed, note)
    return tuple([types[v.__name__] for v in cls.__parameters__])
