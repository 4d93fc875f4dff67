"""Records: classes of named fields as ``dataclasses`` makes them, for a tenth of what those cost at import.

A dataclass compiles six functions when its class is made. Here all but ``__init__`` serve every class, and
that is compiled when the first instance is made. For ``dataclasses`` itself records are dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")


class _Field:
    """What is said of a field."""

    __slots__ = ("compare", "factory", "repr")

    def __init__(self, factory: Callable[[], Any] | None, compare: bool, repr: bool) -> None:
        self.factory = factory
        self.compare = compare
        self.repr = repr


def field(
    *, default_factory: Callable[[], Any] | None = None, compare: bool = True, repr: bool = True
) -> Any:
    """A field whose default is made for each instance, or that is no part of ``==`` or of the ``repr``."""
    return _Field(default_factory, compare, repr)


def replace(value: T, **changes: Any) -> T:
    """A record like another but for some fields."""
    fields: tuple[str, ...] = cast("Any", value).__match_args__
    for name in fields:
        if name not in changes:
            changes[name] = getattr(value, name)
    return type(value)(**changes)


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = True, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Any] | None = None, /, *, frozen: bool = True, eq: bool = True) -> Any:
    """Make a class with annotated fields a record, with slots. What the class defines itself stays.

    ``frozen``: its fields cannot be assigned. ``eq``: records of a class are equal where their fields are,
    and hashed by them where they are frozen; else each is only itself.
    """

    def make(cls: type[Any]) -> type[Any]:
        return _record(cls, frozen, eq)

    return make if cls is None else make(cls)


def _record(cls: type[Any], frozen: bool, eq: bool) -> type[Any]:
    names = tuple([n for n, of in cls.__annotations__.items() if not str(of).startswith("ClassVar")])
    space: dict[str, Any] = {n: v for n, v in cls.__dict__.items() if n not in ("__dict__", "__weakref__")}
    given = {n: space.pop(n) for n in names if n in space}
    said: dict[str, _Field] = {n: v for n, v in given.items() if type(v) is _Field}
    shown = [n for n in names if n not in said or said[n].repr]
    compared = tuple([n for n in names if n not in said or said[n].compare])

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{n}={getattr(self, n)!r}' for n in shown])})"

    space = {"__getstate__": _values, "__setstate__": _set_values, "__repr__": __repr__, **space}
    if eq and "__eq__" not in space:
        space |= _equality(compared, frozen)
    if frozen:
        space["__setattr__"] = space["__delattr__"] = _refuse
    space |= {"__slots__": names, "__match_args__": names, "__dataclass_fields__": _Fields(given)}
    meta: Any = type(cls)
    result: Any = meta(cls.__name__, cls.__bases__, space)
    result.__qualname__ = cls.__qualname__
    if "__init__" not in space:

        def __init__(self: Any, *args: Any, **named: Any) -> None:
            result.__init__ = _initializer(result, given, frozen)
            result.__init__(self, *args, **named)

        result.__init__ = __init__
    return result


def _initializer(cls: Any, given: dict[str, Any], frozen: bool) -> Callable[..., None]:
    """``__init__`` of a record: a parameter for each field."""
    scope: dict[str, Any] = {"MADE": object()}
    parameters: list[str] = []
    lines: list[str] = []
    for name in cls.__match_args__:
        value, default = name, given.get(name, _Field(None, True, True))
        if type(default) is not _Field:
            parameters.append(f"{name}=DEFAULT_{name}")
            scope[f"DEFAULT_{name}"] = default
        elif default.factory is None:
            parameters.append(name)
        else:
            parameters.append(f"{name}=MADE")
            scope[f"NEW_{name}"] = default.factory
            value = f"NEW_{name}() if {name} is MADE else {name}"
        if frozen:
            scope[f"SET_{name}"] = getattr(cls, name).__set__
        lines.append(f" SET_{name}(SELF, {value})" if frozen else f" SELF.{name} = {value}")
    text = f"def __init__(SELF, {', '.join(parameters)}):\n" + "\n".join(lines)
    exec(compile(text, "<weft record>", "exec"), scope)
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _equality(names: tuple[str, ...], frozen: bool) -> dict[str, Any]:
    content: Callable[[Any], Any] = attrgetter(*names)

    def __eq__(self: Any, other: object) -> Any:
        return content(self) == content(other) if self.__class__ is other.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(content(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _values(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _set_values(self: Any, values: list[Any]) -> None:
    for name, value in zip(self.__match_args__, values, strict=True):
        object.__setattr__(self, name, value)


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


class _Fields:
    """What ``dataclasses`` asks of a dataclass, made when it asks."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def __get__(self, _: object, cls: Any) -> Any:
        import dataclasses

        space: dict[str, Any] = {"__annotations__": {n: cls.__annotations__[n] for n in cls.__match_args__}}
        for name, value in self.given.items():
            if type(value) is _Field:
                factory: Any = value.factory or dataclasses.MISSING
                value = dataclasses.field(default_factory=factory, compare=value.compare, repr=value.repr)
            space[name] = value
        found = dataclasses.dataclass(eq=False, repr=False)(type(cls.__name__, (), space))
        cls.__dataclass_fields__ = found.__dataclass_fields__
        return found.__dataclass_fields__
