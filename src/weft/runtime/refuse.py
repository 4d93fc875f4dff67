"""How this room says no: a launch error at the user's line."""

from __future__ import annotations

from collections.abc import Iterable

from weft.diagnostics import (
    DeviceError,
    Diagnostic,
    Label,
    LaunchError,
    Location,
    caller_location,
    frame_location,
    is_internal,
)

__all__ = ["missing", "raised", "refuse"]


def refuse(
    code: str,
    message: str,
    *,
    label: str = "",
    notes: Iterable[str] = (),
    hints: Iterable[str] = (),
    at: tuple[str, int] | None = None,
) -> LaunchError:
    """The :class:`LaunchError` for a request that weft will not pass on, at the user's line.

    ``at`` names the argument of the user's call that is meant, and its position.
    """
    return LaunchError.at(code, message, _place(at), label, notes, hints)


def missing(
    code: str,
    message: str,
    *,
    label: str = "",
    notes: Iterable[str] = (),
    hints: Iterable[str] = (),
    at: tuple[str, int] | None = None,
) -> DeviceError:
    """The :class:`DeviceError` for something that this machine does not have; otherwise as above."""
    return DeviceError.at(code, message, _place(at), label, notes, hints)


def raised(failure: BaseException, what: str) -> Diagnostic:
    """What is said of an exception of Python's in queued work, at the innermost line of the user's."""
    import sysconfig

    library = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
    place: Location | None = None
    trace = failure.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_internal(file) and not file.startswith((*library, "<frozen")):
            place = frame_location(trace)
        trace = trace.tb_next
    text = f"{what} raised {type(failure).__name__}: {failure}".removesuffix(": ")
    return Diagnostic("queued-work", text, () if place is None else (Label(place),))


def _place(at: tuple[str, int] | None) -> Location | None:
    call = caller_location()
    if call is None or at is None:
        return call
    from weft.diagnostics.wrote import argument_place

    named = argument_place(call, at[0])
    return named if named is not call else argument_place(call, at[1])
