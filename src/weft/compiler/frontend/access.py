"""Places in staged functions: ``p[i].a[k]`` is read, written and addressed where it lies in memory.

Of what is no memory, such as a list known at compile time, these expressions mean what they do in Python.
What Python raises here is said of the user's expression.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from weft.compiler.frontend.changes import Changes
from weft.compiler.frontend.variables import UNDEFINED
from weft.compiler.ir.core import Value
from weft.diagnostics import refuse
from weft.lang.enums import EnumValue
from weft.lang.inline_array import InlineArray
from weft.lang.objects import is_of_program, note_copy
from weft.lang.places import Place
from weft.lang.pointer import Pointer
from weft.lang.structs import is_struct, is_value, struct_fields, with_part
from weft.lang.tables import TABLES, is_late, table_at
from weft.lang.told_apart import is_array

Path = tuple[Any, ...]
"""What leads on from a variable: names of fields, and indices, each in a tuple."""


def is_changed_as_value(value: Any, way: tuple[str, ...]) -> bool:
    """Whether a variable of this value holds another where an item of what the fields lead to is set."""
    for name in way:
        if not is_value(value):
            return False
        value = getattr(value, name, None)
    return is_value(value)


def _is_field(cls: type[Any], step: Any) -> bool:
    return isinstance(step, str) and step in struct_fields(cls)


def _check_once(held: Any, item: Any) -> None:
    """Refuse to set a part of an item of a list or dict that has it twice."""
    kind = type(cast("object", held))
    if kind in (list, dict) and sum(one is item for one in (held.values() if kind is dict else held)) > 1:
        refuse(
            "shared-value",
            f"two items of this {kind.__name__} are the same {type(item).__name__} in Python",
            notes=("both would change there, but each is a value here, as a number is",),
            hint="make each for itself: [P(1) for _ in range(n)] rather than [P(1)] * n",
        )


class Access:
    """A builder with places."""

    def item(self, held: Any, index: Any) -> Any:
        """``held[index]``, of memory not read yet."""
        if isinstance(held, Place):
            return held.item(index)
        place = self._place_of(held, index)
        return held[index] if place is None else place

    def _place_of(self, held: Any, index: Any) -> Any:
        """Where ``held[index]`` lies in memory; None of all else."""
        place_of = None if isinstance(cast("object", held), type) else getattr(held, "__weft_place__", None)
        place = None if place_of is None else place_of(index)
        if place is None and is_late(index) and (type(held) in TABLES or is_array(held)):
            place = table_at(held, index)
        if place is None and type(held) is dict and is_late(index):
            items = cast("dict[Any, Any]", held)
            if all(type(key) is int and 0 <= key < len(items) for key in items):  # which is a table
                place = table_at([items[key] for key in range(len(items))], index)
        if place is None and isinstance(index, EnumValue) and isinstance(held, dict):
            place = table_at(index.along(cast("dict[Any, Any]", held)), index.place)
        return place

    def index(self, held: Any, index: Any) -> Any:
        """``held[index]``, by an index that may be known only at run time."""
        if type(held) in (*TABLES, dict) or is_array(held) or isinstance(index, EnumValue):
            return self.read(self.item(held, index))
        return held[index]

    def attribute(self, held: Any, name: str) -> Any:
        """``held.name``, of memory not read yet."""
        return held.attribute(name) if isinstance(held, Place) else getattr(held, name)

    def value_of(self, held: Any) -> Any:
        """``held.value``: of a number of run time itself, as the member of an IntEnum has been chosen."""
        found = held.value
        return held if isinstance(found, Value) else found

    def read(self, held: Any) -> Any:
        """The value of what may be a place."""
        return held.load() if isinstance(held, Place) else held

    def changing(self, held: Any) -> Any:
        """``read`` for an augmented assignment, which changes parts of tensors where they lie."""
        found = self.read(held)
        in_place = getattr(cast("type[Any]", type(found)), "__weft_in_place__", None)
        return found if in_place is None else in_place(found)

    def along(self, held: Any, path: Path) -> Any:
        """``held[index].a[k]``, not read yet; an index is in a tuple."""
        *way, last = path
        for step in way:
            held = self.attribute(held, step) if isinstance(step, str) else self.item(held, step[0])
        if isinstance(last, str):
            return self.attribute(held, last)
        return self.item(held, last[0]) if way else held[last[0]]

    def own(self, value: Any) -> Any:
        """A parameter of which items are set: of an array, its copy in memory."""
        return type(value)(*value) if isinstance(value, InlineArray) else value

    def put(self, value: Any, held: Any, path: Path, name: str, at: Any = None) -> Any:
        """``held[index].a = value``: what the variable ``name`` is to hold then, if that is something else.

        In memory that alone is written; ``at`` is its place if known. A list holds another item. A value
        with parts is replaced as a whole, so ``held`` has to be a variable, or in a list that is one.
        """
        if hasattr(cast("type[Any]", type(value)), "__weft_changed__"):  # where it lies
            return UNDEFINED
        changes = Changes(held, path)
        if isinstance(at, Place):
            at.store(value)
            made = held
        else:
            made = self._with_part(held, path, value, changes)
        if changes.kind is not None:
            changes.check(cast("Any", self), sys._getframe(1), name, made is not held)  # pyright: ignore[reportPrivateUsage]
            changes.check_new(name)
        return UNDEFINED if made is held else made

    def _with_part(self, held: Any, path: Path, value: Any, changes: Changes) -> Any:
        """``held`` with a part set: itself, where it is memory or a list, which has changed."""
        step, rest = path[0], path[1:]
        kind = cast("type[Any]", type(held))
        if isinstance(held, Place):
            return self._put_at(held, step, rest, value, changes)
        if rest and not isinstance(step, str) and (place := self._place_of(held, step[0])) is not None:
            self._with_part(place, rest, value, changes)
            return held
        if rest:
            inner = getattr(held, step) if isinstance(step, str) else held[step[0]]
            if is_struct(kind) and hasattr(kind, "__weft_with__") and not _is_field(kind, step):
                note_copy(inner)  # as the row of a matrix is
            made = self._with_part(inner, rest, value, changes)
            if made is inner:
                return held
            _check_once(held, inner)
            value = made
        if isinstance(step, str) or is_value(held):
            made = with_part(held, step if isinstance(step, str) else step[0], value)
            if is_struct(kind):
                if cast("Any", self).change(held, made):  # the one object of all its names
                    return held
                changes.of_program = changes.of_program or is_of_program(held)
                cast("Any", self).elaborator.changed_by_value.add(kind)
                note_copy(held)  # which other names may still be of
                note_copy(made)
            changes.note(kind)
            return made
        held[step[0]] = value
        return held

    def _put_at(self, place: Place, step: Any, rest: Path, value: Any, changes: Changes) -> Place:
        """``_with_part`` of what lies in memory."""
        if not isinstance(step, str) or place.has(step):
            inner = place.field(step) if isinstance(step, str) else place.item(step[0])
            made = inner
            if isinstance(inner, Place) and not rest:
                inner.store(value)
            elif rest:
                made = self._with_part(inner, rest, value, changes)
            if made is inner and (rest or isinstance(inner, Place)):
                return place
            value = made if rest else value
        elif rest:
            value = self._with_part(getattr(place.load(), step), rest, value, changes)
        now = place.load()
        made = self._with_part(now, (step,), value, Changes(now, (step,)))
        if made is not now:
            place.store(made)
        return place

    def to(self, made: Any, held: Any) -> Any:
        """``Pointer(to=p[i].a)``: where that is; of another function the value."""
        if isinstance(held, Place) and (getattr(made, "__origin__", made) is Pointer):
            return held.pointer()
        return made(to=self.read(held))
