"""Which launches are alike: on one device, with arguments of the same types, the same values of the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from weft.diagnostics import LaunchError, a_
from weft.record import record
from weft.tuning.config import refuse, shown

_PLAIN = (bool, int, float, str, type(None))


@record
class Class:
    """Launches that are tuned together."""

    device: str
    types: str
    """The types of the arguments."""
    key: tuple[tuple[str, Any], ...]
    """The values of the key, as JSON has them."""

    def __str__(self) -> str:
        values = ", ".join(f"{name}={_short(value)}" for name, value in self.key)
        return f"{values or 'all sizes'} of {self.types} on {self.device}"


def _short(value: Any) -> str:
    return "x".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)


Key = Mapping[str, Callable[[Any], Any] | None]
"""What makes a class: names of arguments, and what of each counts."""


def key_of(name: str, key: object, known: Sequence[str]) -> Key:
    """The key as a decorator has it: names, or a dict of names and functions.

    Raises:
        LaunchError: it names no parameter of the kernel.
    """
    example = 'write key=["n"]'
    if isinstance(key, str) or not isinstance(key, Iterable):
        refuse(f"the key of {name} is a list of names, not {key!r}", example, ("key", 9))
    pairs = cast("Mapping[Any, Any]", key) if isinstance(key, Mapping) else None
    found: dict[str, Callable[[Any], Any] | None] = {}
    for one in cast("Iterable[object]", key):
        if one not in known:
            has = ", ".join(known) or "nothing"
            message = f"the key of {name} has {one!r}, which is no run-time parameter of it"
            refuse(message, f"{name} takes {has}", ("key", 9))
        of = None if pairs is None else pairs[one]
        if of is not None and not callable(of):
            message = f"the key of {name} has {of!r} for {one!r}"
            refuse(message, f'write a function of the value: {{"{one}": int.bit_length}}', ("key", 9))
        found[str(one)] = of
    return found


def class_of(name: str, device: str, key: Key, values: Mapping[str, Any]) -> Class:
    """The class of a launch, by its arguments.

    Raises:
        LaunchError: an argument of the key has no value that could be remembered.
    """
    types = ", ".join(map(type_text, values.values()))
    found = tuple((n, counted(name, n, of, values[n])) for n, of in key.items() if n in values)
    return Class(device, types, found)


def counted(name: str, of: str, function: Callable[[Any], Any] | None, value: Any) -> Any:
    """What a class has of an argument.

    Raises:
        LaunchError: nothing that could be remembered.
    """
    found = size_of(value) if function is None else function(value)
    extents = isinstance(found, (tuple, list))
    each: list[Any] = [*cast("Iterable[Any]", found)] if extents else [found]
    if all(isinstance(one, _PLAIN) for one in each):
        return each if extents else found
    raise LaunchError.here(
        "autotune",
        f"the key of {name} has `{of}`, which is {a_(type(found).__name__)}: neither a number nor an array",
        f'say what of it counts: key={{"{of}": lambda x: x.rows}}',
    )


def size_of(value: Any) -> Any:
    """What of an argument a class goes by: a number itself, of memory the extents."""
    if isinstance(value, _PLAIN):
        return value
    if hasattr(value, "__index__") and not getattr(value, "shape", None):
        return int(value)
    shape = getattr(value, "shape", None)
    if shape is not None:
        return [int(extent) for extent in shape]
    try:
        return len(value)
    except TypeError:
        return value


def type_text(value: Any) -> str:
    """The type of an argument in one word, as it is in each process."""
    dtype = getattr(value, "dtype", None)
    kind = "Int" if type(value) is int else type(value).__name__
    if dtype is None or type(value).__module__ == "weft.lang.scalars":
        return kind
    return f"{kind} of {shown(dtype).rpartition('.')[2]}"
