"""Which members an Enum's value of run time can still be, behind the tests that it has passed."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.ir.core import Value

_NONE: frozenset[int] = frozenset()


class _Test(NamedTuple):
    """A condition that holds for some members: ``place`` is the value's, and ``of`` how many there are."""

    place: Value
    members: frozenset[int]
    of: int


class Members:
    """What the conditions of one function tell of members."""

    def __init__(self) -> None:
        self.tests: dict[Value, _Test] = {}
        self.parts: dict[Value, tuple[Value, Value, bool]] = {}
        """Of conditions that are others, joined: which, and whether by ``and``."""
        self.gone: dict[Value, frozenset[int]] = {}
        """The members that a value cannot be, where code is emitted now."""

    def known(self, place: Value, member: int, count: int) -> bool | None:
        """Whether a value is a member, where the tests before it say so."""
        gone = self.gone.get(place, _NONE)
        return False if member in gone else True if len(gone) == count - 1 else None

    def tests_for(self, test: Value, place: Value, members: frozenset[int], count: int) -> None:
        """Note that a condition holds for members."""
        self.tests[test] = _Test(place, members, count)

    def inverted(self, test: Value, made: Value) -> None:
        """Note that a condition is the contrary of another."""
        if (told := self.tests.get(test)) is not None:
            self.tests[made] = told._replace(members=frozenset(range(told.of)) - told.members)

    def joined(self, a: Value, c: Value, made: Value, both: bool) -> None:
        """Note that a condition is others, joined by ``and`` or ``or``."""
        self.parts[made] = a, c, both
        one, other = self.tests.get(a), self.tests.get(c)
        if one is not None and other is not None and one.place is other.place:
            members = one.members & other.members if both else one.members | other.members
            self.tests[made] = one._replace(members=members)

    def passed(self, test: Value, holds: bool) -> None:
        """From here on a condition is known."""
        if (parts := self.parts.get(test)) is not None and holds is parts[2]:
            self.passed(parts[0], holds)
            self.passed(parts[1], holds)
        if (told := self.tests.get(test)) is not None:
            wrong = frozenset(range(told.of)) - told.members if holds else told.members
            self.gone = {**self.gone, told.place: self.gone.get(told.place, _NONE) | wrong}
