"""What a compilation has read of the program around it, and whether that is still so.

A name in a namespace (of a module, a class, an instance), a captured variable, a function's own parts, the
items of a container: each is noted with the very object that was found, and compared by identity. What is
another object counts as unchanged where it leads to the same code, as an equal number does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, is_
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any, cast

from weft.compiler.source.definition import Definition
from weft.lang.told_apart import same, told_apart

__all__ = ["NOTHING", "Held", "Reads", "annotations_of", "content_of", "in_slot", "parts_of_function"]


class _Nothing:
    def __repr__(self) -> str:
        return "<nothing>"


NOTHING: Any = _Nothing()
"""What a name stands for that is not there, and a captured variable that is not set."""


_GET: Callable[[dict[str, Any], str, Any], Any] = dict[str, Any].get
_PARTS = attrgetter("__code__", "__defaults__", "__kwdefaults__", "__annotations__")
_CONTENT = attrgetter("cell_contents")


class Held:
    """A container with its items, or an array with its bytes, as they were."""

    __slots__ = ("items", "key", "of")

    def __init__(self, of: Any) -> None:
        self.of: Any = of
        self.items = _items(of)
        self.key: tuple[object, ...] | None = None if self.items is not None else told_apart(of)

    def put_back(self) -> None:
        """Make one of Python's own containers what it was."""
        items: Any = self.items or []
        half, of, kind = len(items) // 2, self.of, self.of.__class__
        of.clear()
        if kind is dict:
            items = zip(items[:half], items[half:], strict=True)
        (of.extend if kind is list else of.update)(items)

    def holds(self) -> bool:
        """Whether all is still in it, and nothing else."""
        items = self.items
        if items is None:
            return told_apart(self.of) == self.key
        now = _items(self.of)
        if now is None or len(now) != len(items):
            return False
        if not all(map(is_, now, items)):
            if not all(map(same, now, items)):
                return False
            self.items = now
        return True


def _items(of: Any) -> list[Any] | None:
    """The items of one of Python's own containers, in order; None for what has to be looked into."""
    kind = cast("type[Any]", type(of))
    if kind is list or kind is set:
        return list(of)
    return [*of, *of.values()] if kind is dict else None


class Reads:
    """What was read; ``hold`` says whether it is the same now."""

    __slots__ = (
        "_columns",
        "_seen",
        "builtins",
        "cells",
        "definitions",
        "foreign",
        "functions",
        "held",
        "names",
        "proved",
        "slots",
        "whole",
    )

    def __init__(self) -> None:
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[CellType, Any]] = []
        self.functions: list[tuple[FunctionType, tuple[Any, ...]]] = []
        self.definitions: list[Definition] = []
        """Those of which nothing can be replaced."""
        self.foreign: list[FunctionType] = []
        """Functions of installed packages that are named: what they read does not count."""
        self.builtins: set[Any] = set()
        """Functions of Python's own that are reached by whatever way."""
        self.held: list[Held] = []
        self.slots: list[tuple[Any, MemberDescriptorType, Any]] = []
        self._seen: set[object] = set()
        self._columns: tuple[tuple[Any, ...], ...] | None = None
        """What ``hold`` compares, column by column; None where that has changed."""
        self.whole: bool = False
        """Whether what the parameters of the compiled function depend on is among it."""
        self.proved: set[object] = set()
        """What was found out of these parameters, and holds where this does."""

    def name(self, space: dict[str, Any], name: str) -> Any:
        """Read a name: what it stands for, or NOTHING."""
        value = space.get(name, NOTHING)
        if (id(space), name) not in self._seen:
            self._seen.add((id(space), name))
            self.names.append((space, name, value))
        return value

    def cell(self, cell: CellType) -> Any:
        """Read a captured variable: its value, or NOTHING."""
        value = content_of(cell)
        if id(cell) not in self._seen:
            self._seen.add(id(cell))
            self.cells.append((cell, value))
        return value

    def slot(self, of: Any, member: MemberDescriptorType) -> Any:
        """Read what an instance has in a place of ``__slots__``, or NOTHING."""
        value = in_slot(of, member)
        if (id(of), id(member)) not in self._seen:
            self._seen.add((id(of), id(member)))
            self.slots.append((of, member, value))
        return value

    def function(self, fn: FunctionType) -> None:
        """Read a function: its code, defaults and annotations."""
        self.functions.append((fn, parts_of_function(fn)))

    def container(self, of: Any) -> None:
        """Read all items of a container or an array."""
        self.held.append(Held(of))

    def hold(self) -> bool:
        """Whether all of it is still what it was."""
        columns = self._columns
        if columns is None:
            names, functions = self.names, self.functions
            columns = self._columns = (
                tuple([space for space, _, _ in names]),
                tuple([name for _, name, _ in names]),
                (NOTHING,) * len(names),
                tuple([value for _, _, value in names]),
                tuple([cell for cell, _ in self.cells]),
                tuple([value for _, value in self.cells]),
                tuple([fn for fn, _ in functions]),
                tuple([part for _, parts in functions for part in parts]),
            )
        spaces, keys, nothings, values, cells, contents, fns, parts = columns
        try:
            same_objects = (
                all(map(is_, map(_GET, spaces, keys, nothings), values))
                and all(map(is_, map(_CONTENT, cells), contents))
                and all(map(is_, chain.from_iterable(map(_PARTS, fns)), parts))
            )
        except (ValueError, NameError):  # an empty cell, an annotation that names nothing yet
            same_objects = False
        if same_objects and all(in_slot(*one[:2]) is one[2] for one in self.slots):
            return all(map(Held.holds, self.held))
        self._columns = None
        return self._hold()

    def _places_read(self) -> tuple[tuple[list[Any], Callable[..., Any]], ...]:
        """The places that hold one value, each with it, and how such a place is read."""
        return (self.names, _in_space), (self.cells, content_of), (self.slots, in_slot)

    def _hold(self) -> bool:
        """``hold`` one by one; another object that leads to the same code takes the place of the first."""
        for held, read in self._places_read():
            for n, (*where, value) in enumerate(held):
                now = read(*where)
                if now is not value:
                    if not same(now, value):
                        return False
                    held[n] = (*where, now)
        for fn, parts in self.functions:
            code, defaults, kwdefaults, annotations = parts
            if fn.__code__ is not code or fn.__defaults__ is not defaults:
                return False
            if fn.__kwdefaults__ is not kwdefaults or annotations_of(fn) is not annotations:
                return False
        return all(one.holds() for one in self.held)

    def variables(self) -> dict[int, str]:
        """The names of the captured variables, by the address of their cells."""
        return {
            id(cell): name
            for fn, (code, *_) in self.functions
            for cell, name in zip(fn.__closure__ or (), code.co_freevars, strict=False)
        }

    def defaults(self) -> list[tuple[str, Any]]:
        """The defaults of the functions, each with the name of its parameter."""
        found: list[tuple[str, Any]] = []
        for _, (code, defaults, named, _) in self.functions:
            found += zip(code.co_varnames[: code.co_argcount][::-1], (defaults or ())[::-1], strict=False)
            found += (named or {}).items()
        return found

    def reaches(self, definition: Definition) -> bool:
        """Whether a function is among what was read."""
        function = definition.function
        return any(fn is function for fn, _ in self.functions) or definition in self.definitions

    def has_any(self, objects: Sequence[Any]) -> bool:
        """Whether one of these objects is among what was read, or what they hold."""
        ids = {*map(id, objects), *map(id, map(vars, objects))}
        read: list[Any] = [space for space, _, _ in self.names]
        read += [value for *_, value in (*self.names, *self.cells)]
        read += [one.of for one in self.held]
        return not ids.isdisjoint(map(id, read))

    def covers(self, other: Reads) -> bool:
        """Whether what others have read is among it, so that it holds only where that does."""
        return other._places() <= self._places()

    def _places(self) -> set[object]:
        found: set[object] = {(id(space), name) for space, name, _ in self.names}
        found.update((id(of), id(member)) for of, member, _ in self.slots)
        found.update(id(part) for part, _ in (*self.cells, *self.functions))
        found.update(id(one.of) for one in self.held)
        return found

    def unchanged(self) -> Reads:
        """What of it is still so."""
        left = Reads()
        for (held, read), (still, _) in zip(self._places_read(), left._places_read(), strict=True):
            still += [one for one in held if same(read(*one[:-1]), one[-1])]
        left.functions, left.definitions = self.functions, self.definitions
        left.held = [one for one in self.held if one.holds()]
        return left


def parts_of_function(fn: FunctionType) -> tuple[Any, ...]:
    """What of a function can be replaced: code, defaults, annotations."""
    return fn.__code__, fn.__defaults__, fn.__kwdefaults__, annotations_of(fn)


def annotations_of(fn: FunctionType) -> dict[str, Any] | None:
    """The annotations; None where they name what is not defined yet, on Pythons that evaluate them late."""
    try:
        return fn.__annotations__
    except Exception:
        return None


def _in_space(space: dict[str, Any], name: str) -> Any:
    return space.get(name, NOTHING)


def in_slot(of: Any, member: MemberDescriptorType) -> Any:
    """What an instance has in a place of ``__slots__``, or NOTHING."""
    try:
        return member.__get__(of)
    except AttributeError:
        return NOTHING


def content_of(cell: CellType) -> Any:
    """What a captured variable is, or NOTHING."""
    try:
        return cell.cell_contents
    except ValueError:
        return NOTHING
