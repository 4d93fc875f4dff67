"""How the language refuses: in a kernel without a place, which elaboration knows and adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from weft.compiler.ir.builder import maybe_current
from weft.diagnostics import (
    INDEX,
    LEFT,
    OBJECT,
    RIGHT,
    STORED,
    VALUE,
    CompileError,
    Diagnostic,
    a_,
    caller_location,
)

__all__ = ["INDEX", "LEFT", "OBJECT", "RIGHT", "STORED", "VALUE", "a_", "refuse"]


def refuse(
    code: str, message: str, *, notes: Sequence[str] = (), hint: str = "", part: object = None
) -> NoReturn:
    """Stop with a diagnostic at the user's expression.

    Message, notes and hint may hold ``LEFT``, ``VALUE`` and so on, which become what the user wrote
    there. ``part`` says what of the expression to underline: one of these, or a literal in it.

    Raises:
        CompileError: always.
    """
    diagnostic = Diagnostic(code, message, notes=tuple(notes), hints=(hint,) if hint else ())
    if maybe_current() is None:
        from weft.diagnostics.wrote import resolved

        raise CompileError(resolved(diagnostic, caller_location(), part))
    error = CompileError(diagnostic)
    error.part = part
    raise error
