"""Structs under elaboration as objects: which of them are one object for all their names, as Python has it.

A struct that code under elaboration has made is ``own`` as long as nobody holds a copy of it: all names,
lists and fields that lead to it hold the same object of Python's, so an assignment to a part changes that
object, and all see it. It ceases to be so where its values are taken apart: into a variable that branches or
loops assign, an argument that the function keeps, a result. What is made of values is none.

Where such variables lead to objects, too (``frontend/merged``), what they give is one of several objects, and
run time knows which. It has no fields of its own: each is that of one of them, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft.diagnostics import a_, refuse
from weft.lang.elaboration import maybe_current

if TYPE_CHECKING:
    from weft.compiler.ir.core import Region, Value

STATE = "__weft_object__"
"""The attribute of a struct that says what is known of it as an object."""


class State:
    """What is known of a struct that code under elaboration has made.

    ``own`` is None of one that was put together from values.
    """

    __slots__ = ("fields", "key", "led_to", "left", "number", "of_program", "own", "region", "slots")

    def __init__(self, region: Region, own: bool | None, key: object, fields: Sequence[str]) -> None:
        self.region = region
        self.fields = fields
        self.own = own
        self.number = 0
        """What a variable holds that leads to it."""
        self.key = key
        """Which it is of those that the function makes, the same in each pass."""
        self.of_program = False
        """Whether it is what a variable holds that may lead to an object of the program's."""
        self.led_to = False
        """Whether a function has had a field lead there, which the text at hand does not say."""
        self.left = False
        """Whether branches or loops assign parts of it that have no slot for the whole."""
        self.slots: dict[str, tuple[Any, object]] = {}
        """By field, the variable that branches and loops change, and the outermost of these."""


class Merged(State):
    """What is known of a struct that is one of several objects: these by their numbers, and its number.

    There are none of what nobody has assigned, which is of the class and spec ``blank``.
    """

    __slots__ = ("bases", "blank", "memo", "tag")

    def __init__(
        self, region: Region, fields: Sequence[str], bases: dict[int, Any], tag: Value | int, blank: Any
    ) -> None:
        self.bases = bases
        self.tag = tag
        self.blank = blank
        self.memo: tuple[object, dict[str, Any]] = (None, {})
        """Its fields as they were asked for last, and when that was."""
        super().__init__(region, True, None, fields)

    @property
    def own(self) -> bool | None:
        """Whether each of them is one object for all its names."""
        return all(map(is_own, self.bases.values()))

    @own.setter
    def own(self, own: bool | None) -> None:
        for base in self.bases.values() if own is False else ():
            note_copy(base)


def note_led_to(values: Iterable[Any]) -> None:
    """Note that these are where fields lead of which the text at hand does not say that they may."""
    for value in values:
        state = state_of(value) if hasattr(value, "__dict__") else None
        for base in () if state is None else bases_of(value):
            base.__dict__[STATE].led_to = True


def is_merged(value: Any) -> bool:
    """Whether a struct is one of several objects, of which run time knows which."""
    return isinstance(state_of(value), Merged)


def bases_of(value: Any) -> list[Any]:
    """The objects that a struct may be; most may be none but themselves."""
    state = state_of(value)
    return [*state.bases.values()] if isinstance(state, Merged) else [value]


def note_made(value: Any, own: bool = False) -> None:
    """Note where code under elaboration has made a struct, and whether it is an object of its own."""
    b = maybe_current()
    if b is not None:
        key = b.new_object(value) if own else None
        known = True if own and key not in b.by_value else None
        value.__dict__[STATE] = State(b.region, known, key, value.__weft_names__())


def state_of(value: Any) -> State | None:
    """What is known of a struct as an object; None of one that the host has made."""
    return value.__dict__.get(STATE)


def is_of_program(value: Any) -> bool:
    """Whether a struct is, or may be, one that the program made before."""
    state = state_of(value)
    return state is None or state.of_program


def note_copy(value: Any) -> None:
    """Note that a struct made by code under elaboration has a copy, which will not change with it."""
    b, state = maybe_current(), state_of(value)
    if b is not None and not b.looking and state is not None:
        if state.led_to:
            refuse(
                "shared-value",
                f"{a_(type(value).__name__)} that a function has put into a field is copied here",
                notes=("the copy would not change with it",),
                hint="copy it yourself: x = copy.copy(x)",
            )
        state.own = False


def is_own(value: Any) -> bool:
    """Whether a struct is one object for all its names."""
    state = state_of(value)
    return state is not None and state.own is True


def is_value(value: Any) -> bool:
    """Whether a struct was put together from values, or has a copy: any other may be the same in Python."""
    state = state_of(value)
    return state is not None and state.own is not True


def has_copy(value: Any) -> bool:
    """Whether a struct has a copy."""
    state = state_of(value)
    return state is not None and state.own is False


@contextmanager
def looking(only: bool = True) -> Generator[None]:
    """Look at values, of which nothing is kept; or do keep what is made of them after all."""
    b = maybe_current()
    if b is None:
        yield
        return
    before, b.looking = b.looking, only
    try:
        yield
    finally:
        b.looking = before
