"""Places, diagnostics, their text, and the exceptions that carry them. The bottom room."""

from typing import TYPE_CHECKING

from weft.diagnostics.diagnostic import INDEX, LEFT, OBJECT, RIGHT, STORED, VALUE, Diagnostic, Label
from weft.diagnostics.errors import (
    CompileError,
    CompileWarning,
    DeviceError,
    LaunchError,
    PerformanceWarning,
    WeftError,
    a_,
    advised_by,
    elaborating,
    nearest,
    note_slow,
    refuse,
    undefined,
)
from weft.diagnostics.location import (
    Location,
    caller_location,
    calling_frame,
    character_column,
    code_location,
    frame_location,
    is_internal,
)

if TYPE_CHECKING:
    from weft.diagnostics.render import render, render_all
    from weft.diagnostics.reports import Report

__all__ = [
    "INDEX",
    "LEFT",
    "OBJECT",
    "RIGHT",
    "STORED",
    "VALUE",
    "CompileError",
    "CompileWarning",
    "DeviceError",
    "Diagnostic",
    "Label",
    "LaunchError",
    "Location",
    "PerformanceWarning",
    "Report",
    "WeftError",
    "a_",
    "advised_by",
    "caller_location",
    "calling_frame",
    "character_column",
    "code_location",
    "elaborating",
    "frame_location",
    "is_internal",
    "nearest",
    "note_slow",
    "refuse",
    "render",
    "render_all",
    "undefined",
]

if not TYPE_CHECKING:  # what is needed where something is wrong

    def __getattr__(name: str) -> object:
        if name not in ("Report", "render", "render_all"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from weft.diagnostics.render import render, render_all
        from weft.diagnostics.reports import Report

        globals().update(Report=Report, render=render, render_all=render_all)
        return globals()[name]
