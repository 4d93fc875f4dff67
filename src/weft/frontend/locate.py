"""Labelling an error with the user's expression, from the frames that it passed through."""

from __future__ import annotations

import dataclasses
import sysconfig
from types import TracebackType

from weft.diagnostics import CompileError, Diagnostic, Label, Location, frame_location, is_internal
from weft.frontend.stage import is_staged

__all__ = ["located"]

_LIBRARY = tuple({sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")})


def _frames(tb: TracebackType | None) -> list[TracebackType]:
    out: list[TracebackType] = []
    while tb is not None:
        out.append(tb)
        tb = tb.tb_next
    return out


def _users(frames: list[TracebackType]) -> list[TracebackType]:
    """The frames of the user's own code from the staged function on, outermost first."""
    first = next((n for n, f in enumerate(frames) if is_staged(f.tb_frame.f_code)), len(frames))
    out: list[TracebackType] = []
    for f in frames[first:]:
        file = f.tb_frame.f_code.co_filename
        if is_staged(f.tb_frame.f_code) or not (file.startswith(_LIBRARY) or file.startswith("<frozen")):
            if not is_internal(file):
                out.append(f)
    return out


def located(error: BaseException, file: str, line: int) -> CompileError:
    """``error`` as a CompileError whose diagnostics have places, and say how they were reached.

    ``file`` and ``line`` are those of the function under elaboration, for want of better.
    """
    users = _users(_frames(error.__traceback__))
    place = frame_location(users[-1]) if users else Location(file, line)
    in_helper = bool(users) and not is_staged(users[-1].tb_frame.f_code)
    chain: list[str] = []
    for outer, inner in zip(users, users[1:], strict=False):
        at = frame_location(outer)
        chain.insert(0, f"{inner.tb_frame.f_code.co_name} was called from {at.file}:{at.line}")
    if not isinstance(error, CompileError):
        text = str(error) or type(error).__name__
        hints = ()
        if in_helper:
            hints = (f"{users[-1].tb_frame.f_code.co_name} is ordinary Python and runs at compile time",)
        code = "compile-time-error"
        message = f"{type(error).__name__} at compile time: {text}"
        return CompileError(Diagnostic(code, message, (Label(place),), tuple(chain), hints))
    out: list[Diagnostic] = []
    for diagnostic in error.diagnostics:
        if not diagnostic.labels:
            hints = diagnostic.hints
            if in_helper and diagnostic.code == "not-compile-time":
                name = users[-1].tb_frame.f_code.co_name
                hints = (
                    f"{name} is ordinary Python, so its `if` runs at compile time; decorate it with @func",
                )
            diagnostic = dataclasses.replace(diagnostic, labels=(Label(place),), hints=hints)
        elif users and diagnostic.labels[0].location.file == file and not chain:
            out.append(diagnostic)
            continue
        out.append(dataclasses.replace(diagnostic, notes=(*diagnostic.notes, *chain)))
    return CompileError(out)
