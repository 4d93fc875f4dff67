"""The one place through which layouts and tensors refuse a request."""

from __future__ import annotations

from typing import NoReturn

from weft.diagnostics import CompileError, caller_location

__all__ = ["refuse"]


def refuse(message: str, hint: str = "", code: str = "layout") -> NoReturn:
    """Raises the error for a request that has no meaning: what is wrong, where, and what to do instead.

    Raises:
        CompileError: Always, at the innermost line that is not weft's own.
    """
    hints = [hint] if hint else []
    raise CompileError.at(code, message, caller_location(), hints=hints)
