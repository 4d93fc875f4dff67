"""Places in staged functions: ``p[i].a[k]`` is read, written and addressed where it lies in memory.

Of what is no memory, such as a list known at compile time, these expressions mean what they do in Python.
What Python raises here is said of the user's expression.
"""

from __future__ import annotations

from typing import Any, cast

from weft.compiler.ir.core import Value
from weft.diagnostics import a_, refuse
from weft.lang.enums import EnumValue
from weft.lang.places import Place
from weft.lang.pointer import Pointer
from weft.lang.structs import is_struct, replace_field, unassigned_lane
from weft.lang.tables import is_late, table_at
from weft.lang.told_apart import is_array


class Access:
    """A builder with places."""

    def item(self, held: Any, index: Any) -> Any:
        """``held[index]``, of memory not read yet."""
        if isinstance(held, Place):
            return held.item(index)
        place_of = None if isinstance(cast("object", held), type) else getattr(held, "__weft_place__", None)
        place = None if place_of is None else place_of(index)
        if place is None and is_late(index) and (type(held) in (list, tuple) or is_array(held)):
            place = table_at(held, index)
        if place is None and isinstance(index, EnumValue) and isinstance(held, dict):
            place = table_at(index.along(cast("dict[Any, Any]", held)), index.place)
        return held[index] if place is None else place

    def index(self, held: Any, index: Any) -> Any:
        """``held[index]``, by an index that may be known only at run time."""
        if type(held) in (list, tuple) or is_array(held) or isinstance(index, EnumValue):
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

    def along(self, held: Any, index: Any, steps: tuple[Any, ...]) -> Any:
        """``held[index].a[k]``, not read yet; an index among the steps is in a tuple."""
        held = self.item(held, index)
        for step in steps:
            held = self.attribute(held, step) if isinstance(step, str) else self.item(held, step[0])
        return held

    def put(self, items: Any, index: Any, steps: tuple[Any, ...], value: Any, at: Any = None) -> None:
        """``items[index].a[k] = value``: of memory, that alone is written; ``at`` is its place if known."""
        place = at if isinstance(at, Place) else self._target(items, index, steps)
        if place is not None:
            place.store(value)
            return
        held = items[index]
        changed = self._changed(held, steps, value)
        if changed is not held:
            items[index] = changed

    def to(self, made: Any, held: Any) -> Any:
        """``Pointer(to=p[i].a)``: where that is; of another function the value."""
        if isinstance(held, Place) and (getattr(made, "__origin__", made) is Pointer):
            return held.pointer()
        return made(to=self.read(held))

    def _target(self, items: Any, index: Any, steps: tuple[Any, ...]) -> Place | None:
        """The place in memory that is to be written; None where it is a list's, say."""
        held = self.item(items, index)
        for step in steps:
            if not isinstance(held, Place):
                return None
            held = held.field(step) if isinstance(step, str) else held.item(step[0])
        return held if isinstance(held, Place) else None

    def _changed(self, held: Any, steps: tuple[Any, ...], value: Any) -> Any:
        """What ``held`` becomes where a part of it is set: itself, or another struct."""
        step, *rest = steps
        if not isinstance(step, str):
            if rest:
                self.put(held, step[0], tuple(rest), value)
            elif is_struct(kind := cast("type[Any]", type(held))) and hasattr(held, "insert"):
                message, note, hint = unassigned_lane(a_(kind.__name__))
                refuse("item-assignment", message, notes=(note,), hint=hint)
            else:
                held[step[0]] = value
            return held
        if rest:
            inner = getattr(held, step)
            value = self._changed(inner, tuple(rest), value)
            if value is inner:
                return held
        return replace_field(held, step, value)
