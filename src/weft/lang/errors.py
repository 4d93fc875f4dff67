"""How the language refuses: without a place, which elaboration knows and adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from weft.diagnostics import CompileError, Diagnostic

__all__ = ["refuse"]


def refuse(code: str, message: str, *, notes: Sequence[str] = (), hint: str = "") -> NoReturn:
    """Stop the compilation with a diagnostic; the frontend labels it with the user's expression."""
    raise CompileError(Diagnostic(code, message, notes=tuple(notes), hints=(hint,) if hint else ()))
