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
    in_digits,
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
from weft.diagnostics.modules import present

if TYPE_CHECKING:
    from weft.diagnostics.rendering import render, render_all
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
    "in_digits",
    "is_internal",
    "nearest",
    "note_slow",
    "refuse",
    "render",
    "render_all",
    "undefined",
]

present(
    globals(),
    {
        "Report": "weft.diagnostics.reports",
        "render": "weft.diagnostics.rendering",
        "render_all": "weft.diagnostics.rendering",
    },
)
