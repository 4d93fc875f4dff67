"""Diagnostics as data: what is wrong, where, and what to write instead."""

from __future__ import annotations

from weft.diagnostics.location import Location
from weft.record import record

LEFT, RIGHT, VALUE, STORED, INDEX, OBJECT = (
    f"\ue000{part}\ue001" for part in ("left", "right", "value", "stored", "index", "object")
)
"""Marks for parts of the expression under evaluation: the operands of an operator; the value of an
assignment or condition, or the first argument of a call; the value that is stored, where that is
certain; the index and the object of a subscript. Before anyone reads a message that holds one, the
user's own words take its place."""


@record
class Label:
    """A place that takes part in a diagnostic, and what is to be said about it."""

    location: Location
    text: str = ""


@record
class Diagnostic:
    """One problem.

    ``code`` is a short kebab-case slug under which the documentation explains the problem. The
    first label is the primary place. ``notes`` say what is allowed and why, ``hints`` what to write
    instead. It stands for ``count`` problems, where further ones are not shown.
    """

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    count: int = 1

    @property
    def location(self) -> Location | None:
        """The primary place, where there is one."""
        return self.labels[0].location if self.labels else None
