"""Members of an Enum as values that a run-time condition chooses: by their place among the members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, cast

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I32
from weft.diagnostics import INDEX, OBJECT, VALUE, refuse
from weft.dtype import DType
from weft.lang.as_python import is_asked_by_program
from weft.lang.elaboration import current
from weft.lang.number import Number, number_class, value_of
from weft.lang.spec import Leaf, Spec
from weft.record import record


@record
class EnumSpec:
    """A member of an Enum that is no int."""

    cls: type[Enum]

    def leaves(self) -> Sequence[Leaf]:
        """The machine values that complete it, in order."""
        return (Leaf("", I32, DType.int32),)

    def build(self, leaves: Sequence[Value]) -> Any:
        """The value, from its leaves."""
        first: object = leaves[0]
        if isinstance(first, int):  # of the result of a function that Python calls
            return list(self.cls)[first]
        return EnumValue(self.cls, number_class(DType.int32).of(leaves[0]))

    def describe(self) -> str:
        """How a message names it."""
        return self.cls.__name__


class EnumValue:
    """One of the members, known at run time; ``==`` and ``is`` compare it with a member."""

    __slots__ = ("cls", "place")

    def __init__(self, cls: type[Enum], place: Number) -> None:
        self.cls: type[Enum] = cls
        self.place: Number = place

    if not TYPE_CHECKING:

        @property
        def __class__(self):
            return self.cls if is_asked_by_program() else EnumValue

    def __weft_spec__(self) -> Spec:
        return EnumSpec(self.cls)

    def __weft_leaves__(self) -> list[Value]:
        return [value_of(self.place, current())]

    def __eq__(self, other: object) -> Any:
        if self.cls.__eq__ is not object.__eq__:  # as of those that are texts too
            return self._by_class(other)
        return self.is_member(other)

    def is_member(self, other: object) -> Any:
        """``self is other``."""
        place = place_of(other) if isinstance(other, Enum) else getattr(other, "place", None)
        of = type(other) if isinstance(other, Enum) else getattr(other, "cls", None)
        if of is not self.cls:
            return False
        if not isinstance(place, int) or not isinstance(self.place.value, Value):
            return self.place == place
        here, count, told = self.place.value, len(self.cls), current().members
        known = told.known(here, place, count)
        if known is not None:
            return known
        found: Any = self.place == place
        told.tests_for(found.value, here, frozenset({place}), count)
        return found

    def _by_class(self, other: object) -> Any:
        """``==`` as the class has it: whether this is one of the members that equal the other."""
        found: Any = False
        for n, member in enumerate(self.cls):
            same = other == member if isinstance(other, EnumValue) else bool(member == other)
            if same is not False:
                found = found | ((self.place == n) & same)
        return found

    def __ne__(self, other: object) -> Any:
        same = self == other
        if not isinstance(same, Number):
            return not same
        other_way: Any = ~cast("Any", same)
        if isinstance(same.value, Value):
            current().members.inverted(same.value, value_of(other_way, current()))
        return other_way

    def __hash__(self) -> int:
        refuse(
            "not-compile-time",
            f"a key is known at compile time, but this member of {self.cls.__name__} only at run time",
            hint="write table[member], of a dict that has all of them, or compare it with each",
        )

    def along(self, table: Mapping[Any, Any]) -> list[Any]:
        """What a table has for each member."""
        missing = [str(member) for member in self.cls if member not in table]
        if missing:
            refuse(
                "not-compile-time",
                f"`{OBJECT}` has nothing for {', '.join(missing)}, which `{INDEX}` may be at run time",
                hint="give it an entry for each member",
            )
        return [table[member] for member in self.cls]

    def __bool__(self) -> bool:
        name = f"{self.cls.__name__}.{next(iter(self.cls)).name}"
        refuse(
            "condition",
            f"a member of {self.cls.__name__} is not a condition",
            hint=f"compare it: {VALUE} is {name}",
        )

    def __repr__(self) -> str:
        return f"<{self.cls.__name__} at run time>"

    @property
    def name(self) -> NoReturn:
        """The member's name, which is a text."""
        refuse(
            "not-compile-time",
            f"the name of a member of {self.cls.__name__} is a text, and only run time knows the member",
            hint=f"compare the member: {OBJECT} is {self.cls.__name__}.{next(iter(self.cls)).name}",
        )

    def __getattr__(self, name: str) -> Any:
        """A property or method that the Enum defines."""
        for kind in self.cls.__mro__:
            if not name.startswith("__") and name in vars(kind) and kind.__module__ != "enum":
                return vars(kind)[name].__get__(self, self.cls)
        raise AttributeError(name=name, obj=self)

    @property
    def value(self) -> Any:
        """The member's value, where all members have numbers."""
        values = [member.value for member in self.cls]
        if not all(isinstance(value, (bool, int, float)) for value in values):
            refuse(
                "not-compile-time",
                f"{self.cls.__name__} has values that are no numbers, and the member is known at run time",
                hint=f"compare it: {OBJECT} == {self.cls.__name__}.{next(iter(self.cls)).name}",
            )
        kind = DType.float32 if any(isinstance(value, float) for value in values) else DType.int64
        found: Any = number_class(kind)(values[0])
        for n, value in enumerate(values[1:], 1):
            found = (self.place == n).select(number_class(kind)(value), found)
        return found


def place_of(member: Enum) -> int:
    """Which of the members it is."""
    place = next((n for n, one in enumerate(type(member)) if one is member), None)
    if place is None:  # of a Flag
        cls = type(member).__name__
        refuse(
            "operand", f"{member} is no member of {cls}", hint=f"derive {cls} from IntFlag: it is an Int then"
        )
    return place


def at_run_time(member: Enum) -> EnumValue:
    """A member as a value that may become another."""
    return EnumValue(type(member), number_class(DType.int32)(place_of(member)))
