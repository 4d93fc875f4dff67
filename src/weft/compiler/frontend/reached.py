"""What helpers reach of the program: what they may change while a kernel is compiled.

A helper runs once, when the kernel is compiled: what it changes under a run-time condition would be changed
whether or not that holds, and what it counts would be counted once for all launches. So names, captured
variables, places of ``__slots__`` and the containers in them are compared: at run-time branches and loops,
which may only add to them (a memo does; it is taken back, and put there again in the end), and when all has
been elaborated. What has changed then is left to :mod:`weft.compiler.pipeline`, which elaborates once more.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from types import CellType, MemberDescriptorType
from typing import Any, NamedTuple, NoReturn, cast

from weft.compiler.frontend.containers import Held, is_iterator, kind_of, noted, restored
from weft.compiler.frontend.containers import changed as differs
from weft.compiler.source.names import may_change
from weft.diagnostics import Location, a_, refuse
from weft.lang.captured import is_library, package_of
from weft.lang.reads import NOTHING, Reads, content_of, in_slot
from weft.lang.told_apart import same


class _Place(NamedTuple):
    """A name in a namespace, a captured variable, a place of an instance."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]


def _in_space(space: dict[str, Any], name: str) -> _Place:
    def write(value: Any) -> None:
        owner = next((v for v in gc.get_referrers(space) if isinstance(v, type)), None)
        if owner is not None:  # of which Python remembers what it has found
            type.__delattr__(owner, name) if value is NOTHING else type.__setattr__(owner, name, value)
        elif value is NOTHING:
            del space[name]
        else:
            space[name] = value

    return _Place(name, lambda: space.get(name, NOTHING), write)


def _in_cell(cell: CellType, name: str) -> _Place:
    def write(value: Any) -> None:
        if value is NOTHING:
            del cell.cell_contents
        else:
            cell.cell_contents = value

    return _Place(name, lambda: content_of(cell), write)


def _in_slot(of: Any, member: MemberDescriptorType) -> _Place:
    def write(value: Any) -> None:
        if value is NOTHING:
            member.__delete__(of)
        else:
            member.__set__(of, value)

    return _Place(member.__name__, lambda: in_slot(of, member), write)


def _is_of_library(space: dict[str, Any]) -> bool:
    """Whether names are those of a module that is not the program's."""
    return "__spec__" in space and is_library(package_of(space.get("__name__")))


class State(NamedTuple):
    """What helpers reach as it was."""

    values: list[Any]
    held: Held


class Reached:
    """What the helpers of one function reach, followed where one of them may change it."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.places: list[_Place] = []
        codes = [code for _, (code, *_) in reads.functions]
        values = [value for *_, value in (*reads.names, *reads.cells, *reads.slots)]
        if any(map(may_change, codes)) or any(map(is_iterator, values)):
            self.places = [*self._found()]
        self.added: list[tuple[Callable[[], Any], Callable[[Any], None], Any]] = []
        """What branches have added: how it is read, how it is set, and what it is to be."""

    def _found(self) -> Iterator[_Place]:
        reads = self.reads
        yield from (_in_space(space, name) for space, name, _ in reads.names if not _is_of_library(space))
        names = reads.variables()
        yield from (_in_cell(cell, names.get(id(cell), "a captured variable")) for cell, _ in reads.cells)
        yield from (_in_slot(of, member) for of, member, _ in reads.slots)

    def now(self) -> State | None:
        """As it is now; None where nobody changes it."""
        if not self.places:
            return None
        values, held = [place.read() for place in self.places], Held()
        for place, value in zip(self.places, values, strict=True):
            held += noted(place.name, value)
        for name, value in self.reads.defaults():
            held += noted(name, value)
        return State(values, held)

    def left(self, before: State, what: str) -> None:
        """A run-time branch or loop ends, which may only have added something: that is taken back."""
        for place, was in zip(self.places, before.values, strict=True):
            value = place.read()
            if value is was or (not _is_open(was) and same(value, was)):
                continue
            if not _is_open(was):
                _refuse(what, f"`{place.name}`, which exists", place.name)
            self.added.append((place.read, place.write, value))
            place.write(was)
        for name, now, then in before.held:
            if not differs(now, then):
                continue
            table = cast("dict[Any, Any]", now)
            if not isinstance(now, dict) or any(table.get(key, NOTHING) is not then[key] for key in then):
                _refuse(what, f"`{name}`, {a_(kind_of(now))} that exists", name)
            for key in [key for key in table if key not in then]:
                self._take_out(table, key)

    def _take_out(self, of: dict[Any, Any], key: Any) -> None:
        value = of.pop(key)
        self.added.append((lambda: of.get(key), functools.partial(of.__setitem__, key), value))

    def put_back(self) -> None:
        """Add again what branches have added, since a memo keeps it."""
        for read, write, value in self.added:
            if _is_open(read()):
                write(value)

    def restore(self, before: State) -> None:
        """Make all what it was."""
        for place, value in zip(self.places, before.values, strict=True):
            if place.read() is not value:
                place.write(value)
        restored(before.held)

    def change(self, before: State) -> str:
        """The name of the first that is another than it was; empty where none is."""
        for place, was in zip(self.places, before.values, strict=True):
            value = place.read()
            if value is not was and not same(value, was):
                return place.name
        return next((name for name, now, then in before.held if differs(now, then)), "")


class Change(NamedTuple):
    """What the helpers of a function have changed: a name, the first, and how they have left all."""

    name: str
    place: Location | None
    reached: Reached
    after: State | None

    def restore(self) -> None:
        """Make all what they had left."""
        if self.after is not None:
            self.reached.restore(self.after)


def _is_open(value: Any) -> bool:
    """Whether this stands for what is to be found out yet."""
    return value is None or value is NOTHING


def _refuse(what: str, changed: str, name: str) -> NoReturn:
    refuse(
        "compile-time-container",
        f"this run-time {what} changes {changed} at compile time only",
        notes=("a helper runs once, when this is compiled: whether the condition holds is not known then",),
        hint=f"have the helper return it, and assign it here to a variable: {name} = ...",
    )
