"""What is told of a variable without a value where it is read: unassigned, on some paths, or deleted."""

from __future__ import annotations

import ast
from typing import NoReturn

from weft.compiler.ir.core import Loc
from weft.diagnostics import Location, refuse
from weft.diagnostics.wrote import Source, deleted_before, source_of

_AGAIN = "leave the `del` out, or assign it again before"


def unassigned(name: str, node: ast.AST | None, source: Source | None) -> tuple[str, str, tuple[str, ...]]:
    """What is wrong with a variable that no path gives a value, what to write, and notes."""
    gone = None if node is None or source is None else deleted_before(source, node, name)
    if gone is None:
        return f"`{name}` is used before it is assigned", f"assign `{name}` before", ()
    return f"`{name}` is used after it is deleted", _AGAIN, (f"`del {name}` stands at line {gone}",)


def refuse_unassigned(name: str, file: str, loc: Loc) -> NoReturn:
    """The same, of the statement at hand."""
    source = source_of(file)
    message, hint, notes = unassigned(name, source and source.statement(*loc[:2]), source)
    refuse("undefined", message, hint, notes=notes)


def refuse_undefined(name: str, file: str, loc: Loc, assigned: Location | None) -> NoReturn:
    """A variable that some paths give a value, or leave it, is read in the statement at hand."""
    source = source_of(file)
    here = source and source.statement(*loc[:2])
    gone = source and here and deleted_before(source, here, name)
    notes, hint = (), f"give `{name}` a value before the branch or loop that assigns it"
    if gone:
        notes, hint = (f"`del {name}` stands at line {gone}, on a path that leads here",), _AGAIN
    elif assigned is not None:
        notes = (f"it is assigned at line {assigned.line}, but not on every path that leads here",)
    refuse("undefined", f"`{name}` may be undefined here", notes=notes, hint=hint)
