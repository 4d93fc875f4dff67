"""Threads of a block that part before a barrier: where, and what is said of it.

Compiled code carries the place as text, and gives it to the runtime where it happens.
"""

from __future__ import annotations

import ast

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location
from weft.diagnostics.reports import Indices, Other, Report
from weft.record import record

_GROUPS = {
    "block": ("a block", "a barrier", "the block", "barrier"),
    "warp": ("a warp", "an operation of the warp", "the warp", "operation of the warp"),
    "cluster": ("a cluster", "cluster_wait() or cluster_sync()", "the cluster", "barrier"),
    "grid": ("the grid", "grid_sync()", "the grid", "barrier"),
}
"""Who waits for each other, at what, who that is once it has been named, and what it is called."""

SourcePlace = tuple[str, int, int]
"""File, line, and column in bytes."""


@record
class Parting:
    """A decision that all threads of a block must take alike, and the barrier that follows."""

    decision: SourcePlace
    barrier: SourcePlace
    group: str = "block"

    def text(self) -> str:
        """All of it."""
        parts = [str(part) for place in (self.decision, self.barrier) for part in place]
        return "\n".join([*parts, self.group])

    @staticmethod
    def of(text: str) -> Parting:
        """What ``text`` gave."""
        one, line, column, two, line2, column2, group = text.split("\n")
        return Parting((one, int(line), int(column)), (two, int(line2), int(column2)), group)

    def _advice(self) -> tuple[tuple[str], tuple[str]]:
        """The note and the hint."""
        group, meeting, same, name = _GROUPS[self.group]
        known = f"all threads of {group} come to {meeting}, or none"
        hint = f"move the {name} out, or decide by something that all threads of {same} share"
        if self.group == "warp":
            return (f"{known}; one that has returned hands over nothing",), (hint,)
        waited = "" if self.group == "grid" else "not "
        return (f"{known}; those that have returned are {waited}waited for",), (hint,)

    def certain(self) -> Diagnostic:
        """What is said at compile time."""
        group, _, _, name = _GROUPS[self.group]
        return Diagnostic(
            "barrier-diverged",
            f"not all threads of {group} come to this {name}",
            (
                Label(decision_place(self.barrier)),
                Label(decision_place(self.decision), f"threads of {group} part here"),
            ),
            *self._advice(),
        )

    def happened(self, kernel: str, block: Indices, thread: Indices, where: str) -> Report:
        """What is said of a launch in which it happened."""
        group, meeting, _, name = _GROUPS[self.group]
        before = meeting if self.group == "warp" else "a barrier"
        notes, hints = self._advice()
        return Report(
            "barrier-diverged",
            f"threads of {group} part before {before} of kernel {kernel!r}",
            decision_place(self.decision),
            kernel,
            block,
            thread,
            other=Other(decision_place(self.barrier), f"the {name}"),
            said=where,
            notes=notes,
            hints=hints,
        )


def decision_place(at: SourcePlace) -> Location:
    """The condition or the range of a statement, or what else stands there."""
    from weft.diagnostics.wrote import statement_place

    def decision(found: ast.stmt) -> ast.AST:
        if isinstance(found, (ast.If, ast.While)):
            return found.test
        return found.iter if isinstance(found, ast.For) else found

    return statement_place(*at, decision)
