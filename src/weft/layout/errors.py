"""The one place through which the layout algebra refuses a request."""

from __future__ import annotations

from typing import NoReturn

from weft.diagnostics import CompileError, caller_location

__all__ = ["refuse"]


def refuse(message: str, hint: str = "") -> NoReturn:
    """Raises the error for a request that has no meaning: what is wrong, where, and what to do instead.

    Raises:
        CompileError: Always, at the innermost line that is not weft's own.
    """
    hints = [hint] if hint else []
    raise CompileError.at("layout", message, caller_location(), hints=hints)
