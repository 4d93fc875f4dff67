"""How this room says no: a launch error at the user's line."""

from __future__ import annotations

from collections.abc import Iterable

from weft.diagnostics import DeviceError, LaunchError, caller_location

__all__ = ["missing", "refuse"]


def refuse(
    code: str, message: str, *, label: str = "", notes: Iterable[str] = (), hints: Iterable[str] = ()
) -> LaunchError:
    """The ``LaunchError`` for a request that weft will not pass on, at the user's line."""
    return LaunchError.at(code, message, caller_location(), label, notes, hints)


def missing(
    code: str, message: str, *, label: str = "", notes: Iterable[str] = (), hints: Iterable[str] = ()
) -> DeviceError:
    """The ``DeviceError`` for something that this machine does not have, at the user's line."""
    return DeviceError.at(code, message, caller_location(), label, notes, hints)
