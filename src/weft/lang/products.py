"""Tuples, named tuples and dataclasses of Python: values of several parts, each with a type of its own."""

from __future__ import annotations

import functools
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, NoReturn, cast

from weft.compiler.source.quoted import text_of, unquoted
from weft.diagnostics import a_, refuse, undefined
from weft.lang.maybe import Maybe
from weft.lang.number import Number
from weft.lang.objects import bases_of, is_merged, is_value, note_made
from weft.lang.python_number import python_number


class _StandsFor(type):
    """The class of classes that the program knows by another: it is equal to that one."""

    def __eq__(cls, other: object) -> bool:
        return cls is other or plain_class(cls) is other

    def __hash__(cls) -> int:
        return hash(plain_class(cls))


def plain_class(cls: Any) -> Any:
    """The class that the program knows this one by; all else is itself."""
    return vars(cls).get("__weft_plain__", cls) if isinstance(cls, _StandsFor) else cls


class ListRow(list[Any], metaclass=_StandsFor):
    """A row of a table that is a list of lists: a list as any other, but a value, as it cannot be changed."""

    __slots__ = ()
    __weft_plain__ = list

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        refuse(
            "constant-table",
            "a row that an index of run time picks is a copy, and the table would not change with it",
            hint="make a list of your own of it: list(row)",
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = reverse = _refuse
    sort = _refuse  # pyright: ignore[reportAssignmentType]


ListRow.__name__ = "list"  # as messages name it


def part_names(cls: type[Any]) -> tuple[str, ...] | None:
    """The names of the parts that a named tuple or a dataclass has; None of all other classes."""
    if issubclass(cls, tuple):
        return getattr(cast("Any", cls), "_fields", None)
    if "__weft_struct__" in vars(cls) or hasattr(cls, "__weft_leaves__"):
        return None
    fields: dict[str, Any] | None = getattr(cls, "__dataclass_fields__", None)
    return None if fields is None else tuple(fields)


def names_of(cls: type[Any]) -> Sequence[str]:
    """The names of the parts that values of a class have, a struct's too; none of a tuple's or an array's."""
    return part_names(cls) or getattr(cls, "__weft_names__", tuple)()


@functools.lru_cache(maxsize=1024)
def annotations_of(cls: type[Any]) -> dict[str, Any]:
    """What the parts of a named tuple or a dataclass are annotated with, evaluated.

    Raises:
        CompileError: an annotation does not evaluate.
    """
    found: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):
        scope = vars(sys.modules.get(owner.__module__, sys))
        for name, annotation in vars(owner).get("__annotations__", {}).items():
            spaces = dict(scope), dict(vars(owner))
            try:
                found[name] = unquoted(annotation, lambda text, spaces=spaces: eval(text, *spaces))
            except NameError as error:
                text = text_of(annotation) or annotation
                refuse(
                    "annotation",
                    f"the type `{text}` of {cls.__name__}.{name} does not evaluate: {error}",
                    hint=undefined(error, str(text), scope, "define it outside of functions"),
                )
    return {name: found[name] for name in part_names(cls) or () if name in found}


def all_parts(value: Any) -> tuple[Any, ...] | None:
    """The parts of a tuple, a named tuple or a dataclass, whatever they are; None of all else."""
    kind = class_of(value)
    if kind is tuple or type(value) is ListRow:
        return tuple(value)
    names = part_names(kind)
    return None if names is None else tuple([getattr(value, name, None) for name in names])


def _parts_compared(value: Any, method: str) -> tuple[Any, ...] | None:
    """The parts that ``__eq__``, ``__lt__`` or the like of a value compares; None of a class with its own.

    So of a dataclass those with ``compare=True``, where ``dataclass`` made the method; of one without it
    (``eq=False``) it is ``object``'s own.
    """
    kind = class_of(value)
    owner = next(c for c in kind.__mro__ if method in vars(c))
    if owner is tuple:
        return value
    code = getattr(vars(owner)[method], "__code__", None)
    if "__dataclass_params__" not in vars(owner) or code is None or code.co_filename[0] != "<":
        return None
    fields: dict[str, Any] = vars(owner)["__dataclass_fields__"]
    return tuple([getattr(value, name) for name, field in fields.items() if field.compare])


def compared_parts(a: Any, c: Any, method: str) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """What a comparison of two values compares item by item; None where it does not."""
    if not (isinstance(a, tuple) and isinstance(c, tuple)):
        if class_of(a) is not class_of(c) or (parts_of(a) is None and parts_of(c) is None):
            return None
    sides = _parts_compared(a, method), _parts_compared(c, method)
    return None if sides[0] is None or sides[1] is None else cast("Any", sides)


def is_dataclass(value: Any) -> bool:
    """Whether it is a dataclass of the language's values."""
    return not isinstance(value, (tuple, ListRow)) and parts_of(value) is not None


def is_by_parts(value: Any) -> bool:
    """Whether it is one that compares its parts, and so equals none of other classes."""
    return is_dataclass(value) and _parts_compared(value, "__eq__") is not None


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """Likewise; but a dataclass without numbers of the language is an object as any other, and has none."""
    parts = all_parts(value)
    if parts is None or isinstance(value, (tuple, ListRow)) or any(map(_holds_numbers, parts)):
        return parts
    return None


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, Number) or hasattr(cast("type[Any]", type(value)), "__weft_leaves__"):
        return True
    return any(map(_holds_numbers, all_parts(value) or ()))


def is_numeric(value: Any) -> bool:
    """Whether a value is a number of any kind or a member of an Enum, or all of its parts are."""
    parts = all_parts(value)
    if parts is None:
        number = isinstance(python_number(value), (Number, bool, int, float, Enum))
        return number or hasattr(cast("type[Any]", type(value)), "__weft_leaves__")
    return all(map(is_numeric, parts))


def class_of(value: Any) -> type[Any]:
    """The class of a value, as the program knows it."""
    return plain_class(type(value))


@functools.lru_cache(maxsize=1024)
def _guarded(cls: type[Any]) -> type[Any]:
    """The class of a dataclass's values in compiled code: a method that changes them would change a copy."""
    if cast("Any", cls).__dataclass_params__.frozen:
        return cls

    def changed(self: object, name: str, value: object) -> NoReturn:
        refuse_change(self, name)

    members = {
        "__slots__": (),
        "__setattr__": changed,
        "__class__": property(lambda _: cls),
        "__weft_plain__": cls,
    }
    meta = type(_StandsFor.__name__, (_StandsFor, type(cls)), {}) if type(cls) is not type else _StandsFor
    return meta(cls.__name__, (cls,), members)


def refuse_change(value: object, name: str) -> NoReturn:
    """Say no to an assignment to a part of a named tuple or a dataclass."""
    cls = class_of(value)
    instead = "x._replace" if issubclass(cls, tuple) else "dataclasses.replace"
    given = f"{name}=..." if issubclass(cls, tuple) else f"x, {name}=..."
    refuse(
        "item-assignment",
        f"{a_(cls.__name__)} is a value here, as a number is: its .{name} cannot be assigned",
        notes=("other variables that hold it would change in Python, but not on the device",),
        hint=f"make a new one: x = {instead}({given}); or make {cls.__name__} a @struct",
    )


def remade(cls: type[Any], parts: Sequence[Any], *, plain: bool = False) -> Any:
    """What has these parts (a tuple, a dataclass, a struct, an array), made without its constructor."""
    if cls is list:
        return ListRow(parts)
    if issubclass(cls, tuple):
        return cast("Any", tuple).__new__(cls, parts)
    if cls is Maybe and plain:
        return parts[1] if parts[0] else None
    if hasattr(cls, "__weft_items__"):
        return cast("Any", cls).of(parts)
    of_struct = getattr(cls, "__weft_names__", None)
    made: Any = object.__new__(cls if plain or of_struct is not None else _guarded(cls))
    for name, part in zip(part_names(cls) or () if of_struct is None else of_struct(), parts, strict=True):
        object.__setattr__(made, name, part)
    if of_struct is not None:
        note_made(made)
    return made


def within(value: Any) -> Sequence[Any]:
    """What a value has in it: fields, items, elements of an array that is not in memory."""
    kind = cast("type[Any]", type(value))
    if "__weft_struct__" in vars(kind):
        return [getattr(value, name) for name in kind.__weft_names__()]
    if hasattr(kind, "__weft_items__"):
        return value.values
    if isinstance(value, dict):
        return [*cast("dict[Any, Any]", value).values()]
    if kind in (list, set):
        return [*value]
    return () if isinstance(value, Number) else all_parts(value) or ()


def structs_in(value: Any) -> Iterator[Any]:
    """The structs that a value is or has in it, each as often as it is there, and before those in it."""
    if value is None or isinstance(value, Number):  # as most are
        return
    if "__weft_struct__" in vars(cast("type[Any]", type(value))):
        yield value
    for part in within(value):
        yield from structs_in(part)


def objects_in(value: Any) -> Iterator[Any]:
    """Likewise, of one of several structs those of each: nothing is chosen, and so no code is made."""
    if value is None or isinstance(value, Number):
        return
    if "__weft_struct__" not in vars(cast("type[Any]", type(value))):
        parts = within(value)
    elif is_merged(value):
        parts = bases_of(value)
    else:
        yield value
        parts = within(value)
    for part in parts:
        yield from objects_in(part)


@contextmanager
def copying(value: Any, memo: Any) -> Generator[None]:
    """While a struct or an array is copied deep: say no where two of its parts may be one, which stay one.

    Objects are known by what they may be. Of values within one struct or array the names tell, which are
    looked into where a part changes; of those beside each other in a list or the like nothing does.
    """
    known, beside, around = memo.setdefault("weft", ({}, set(), []))
    objects = bases_of(value) if "__weft_struct__" in vars(cast("type[Any]", type(value))) else []
    parts = () if around else filter(is_value, objects_in(value))
    kinds: set[type[Any]] = {type(one) for one in parts}
    if any(known.setdefault(id(base), value) is not value for base in objects) or kinds & beside:
        refuse(
            "shared-value",
            f"two parts of what is copied here may be the same {type(value).__name__}",
            notes=("copy.deepcopy would make one copy of it",),
            hint="copy each part: copy.copy(...)",
        )
    beside |= kinds
    around.append(value)
    yield
    around.pop()


def settled(value: Any) -> Any:
    """A value as it is now: structs in it are other objects, which nothing changes."""
    parts = within(value)
    if not parts or type(value) in (list, dict, set):
        return value
    return remade(class_of(value), [settled(part) for part in parts])
