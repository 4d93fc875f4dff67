"""Threads of a block that part before a barrier: where, and what is said of it.

Compiled code carries the place as text, and gives it to the runtime where it happens.
"""

from __future__ import annotations

import ast

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location
from weft.diagnostics.reports import Other, Report
from weft.diagnostics.reports import Place as Indices
from weft.record import record

_NOTE = "all threads of a block come to a barrier, or none; those that have returned are not waited for"
_HINT = "move the barrier out, or decide by something that all threads of the block share"

Place = tuple[str, int, int]
"""File, line, and column in bytes."""


@record
class Parting:
    """A decision that all threads of a block must take alike, and the barrier that follows."""

    decision: Place
    barrier: Place

    def text(self) -> str:
        """All of it."""
        return "\n".join(str(part) for place in (self.decision, self.barrier) for part in place)

    @staticmethod
    def of(text: str) -> Parting:
        """What ``text`` gave."""
        one, line, column, two, line2, column2 = text.split("\n")
        return Parting((one, int(line), int(column)), (two, int(line2), int(column2)))

    def certain(self) -> Diagnostic:
        """What is said at compile time."""
        return Diagnostic(
            "barrier-diverged",
            "not all threads of a block come to this barrier",
            (Label(_place(self.barrier)), Label(_place(self.decision), "threads of a block part here")),
            (_NOTE,),
            (_HINT,),
        )

    def happened(self, kernel: str, block: Indices, thread: Indices, where: str) -> Report:
        """What is said of a launch in which it happened."""
        return Report(
            "barrier-diverged",
            f"threads of a block part before a barrier of kernel {kernel!r}",
            _place(self.decision),
            kernel,
            block,
            thread,
            other=Other(_place(self.barrier), "the barrier"),
            said=where,
            notes=(_NOTE,),
            hints=(_HINT,),
        )


def _place(at: Place) -> Location:
    """The condition or the range of a statement, or what else stands there."""
    from weft.diagnostics.wrote import statement_place

    def decision(found: ast.stmt) -> ast.AST:
        if isinstance(found, (ast.If, ast.While)):
            return found.test
        return found.iter if isinstance(found, ast.For) else found

    return statement_place(*at, decision)
