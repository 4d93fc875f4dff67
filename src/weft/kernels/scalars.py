"""Numbers that operations are given beside their arrays: of Python, NumPy or weft."""

from __future__ import annotations

import contextlib
from operator import index
from typing import Any, NoReturn

from weft.diagnostics import LaunchError, a_


def as_number(operation: str, name: str, value: Any, position: int) -> float:
    """A real number, as the argument of that name and position.

    Raises:
        LaunchError: it is none.
    """
    if hasattr(value, "__float__") and not getattr(value, "shape", None):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    _refuse(operation, name, value, "write a number", position)


def as_index(operation: str, name: str, value: Any, position: int, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``.

    Raises:
        LaunchError: it is none.
    """
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            found = index(value)
            if least <= found <= most:
                return found
    _refuse(operation, name, value, f"write an int from {least} to {most}", position)


def _refuse(operation: str, name: str, value: Any, hint: str, position: int) -> NoReturn:
    plain = value is None or isinstance(value, (bool, int, float, str))
    shown = repr(value) if plain else a_(type(value).__name__)
    raise LaunchError.here("argument-type", f"{operation}: {name} is {shown}", hint, at=(name, position))
