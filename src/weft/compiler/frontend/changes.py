"""Assignments to parts of values: refused where another name would have to see them."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from weft.compiler.frontend.aliases import aliases_of, caller_of
from weft.compiler.frontend.holding import holds, seen
from weft.diagnostics import a_, refuse
from weft.lang.inline_array import InlineArray
from weft.lang.structs import is_struct, lost_field, struct_fields

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging


class Changes:
    """What one assignment to a part changes."""

    def __init__(self, held: Any, path: Sequence[Any]) -> None:
        self.kind: type[Any] | None = None
        """The class of the innermost value of which a part is set."""
        self.field = path[0] if len(path) > 1 and isinstance(path[0], str) else ""
        """That of the variable's within which it lies."""
        self.held: Any = None
        """An array in memory, all names of which see what is set."""
        if isinstance(held, InlineArray) and held.in_memory:
            self.held, self.kind = held, _class_along(type(held), path[:-1])

    def note(self, kind: type[Any]) -> None:
        """A part of a value of this class is set."""
        self.kind = self.kind or kind

    def check(self, b: Staging, frame: FrameType, name: str, changed: bool) -> None:
        """Refuse it where another name would have to see it; a variable ``name`` is to hold another value."""
        kind = self.kind
        assert kind is not None
        if changed and not name:
            refuse(
                "item-assignment",
                f"a part is set of {a_(kind.__name__)} that no variable of this function holds",
                notes=(f"{a_(kind.__name__)} is a value, as a number is: a copy would be changed",),
                hint="assign it to a variable and change that; "
                "one of the function around needs `nonlocal` here",
            )
        draft = b.draft
        f, fn = draft.function, draft.definition
        aliases = aliases_of(fn, f.kernel or f.element, frame, (kind,))
        assert aliases is not None
        at = aliases.at.get(b.loc[:2])
        if at is None or not b.live:
            return
        if name and name not in aliases.own:  # of a function around, which may have other names for it
            draft.changed[name] = kind
            return
        for other in at.others(name, kind, frame, fn, self.field):
            if other[0] == "<" and other[1:-1] not in aliases.own:
                if holds(seen(other[1:-1], frame, fn), kind):
                    refuse_shared(name, other[1:-1], kind, "lies outside of this function")
                continue
            if other[0] == "<":
                if name in at.lost and other == caller_of(name):
                    lost_field(name, "" if f.kernel or f.element else fn.name)
                draft.changed[other[1:-1]] = kind
            elif other == name or holds(frame.f_locals.get(other), kind, self.held):
                refuse_shared(name, other, kind)
        if name in at.lost:
            lost_field(name, "" if f.kernel or f.element else fn.name)


def refuse_shared(
    name: str, other: str, kind: type[Any], why: str = "is used after this assignment"
) -> NoReturn:
    """Say no to set a part where another name would have to see it."""
    both = f"`{name}` and `{other}` may be"
    if name == other:
        both, other, why = f"two parts of `{name}` may be", "the other part", "would change with it"
    else:
        other = f"`{other}`"
    refuse(
        "shared-value",
        f"{both} the same {kind.__name__} in Python, and {other} {why}",
        notes=(f"{a_(kind.__name__)} is a value here, as a number is: {other} would not change",),
        hint="where one is made of the other, write copy.copy(...) of it",
    )


def _class_along(cls: type[Any], path: Sequence[Any]) -> type[Any]:
    """The class of what fields and indices lead to."""
    for step in path:
        parts: Any = (
            struct_fields(cls).get(step) if is_struct(cls) else getattr(cls, "__weft_items__", (None,))[0]
        )
        if not isinstance(parts, type):
            return cls
        cls = parts
    return cls
