"""Places, diagnostics, their text, and the exceptions that carry them. The bottom room."""

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.errors import CompileError, DeviceError, LaunchError, WeftError, nearest
from weft.diagnostics.location import (
    Location,
    caller_location,
    character_column,
    frame_location,
    is_internal,
)
from weft.diagnostics.render import render, render_all

__all__ = [
    "CompileError",
    "DeviceError",
    "Diagnostic",
    "Label",
    "LaunchError",
    "Location",
    "WeftError",
    "caller_location",
    "character_column",
    "frame_location",
    "is_internal",
    "nearest",
    "render",
    "render_all",
]
