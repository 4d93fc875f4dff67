"""Places in the user's source, and how to find the one that is running now."""

from __future__ import annotations

import contextlib
import os
import sys
import typing
import weakref
from types import CodeType, FrameType, TracebackType

from weft.record import record

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@record
class Location:
    """A stretch of source text.

    Lines count from 1, columns from 0 and in characters; the end column is exclusive. Where no end
    is known the place is one character, or with ``column == 0`` the whole line.
    """

    file: str
    line: int
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None
    inlined_at: Location | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"


def character_column(file: str, line: int, byte_column: int) -> int:
    """The column in characters of a column in UTF-8 bytes, as ``ast`` and ``co_positions`` count."""
    from linecache import getline

    text = getline(file, line)
    if not text or text.isascii():
        return byte_column
    return len(text.encode()[:byte_column].decode(errors="ignore"))


_BETWEEN = (contextlib.__file__, typing.__file__, weakref.__file__)
"""Python's modules that call for who wrote something: ``with`` what is decorated, brackets, finalizers."""

_internal: dict[str, bool] = {}


def is_internal(filename: str) -> bool:
    """Whether code of this file name is weft's own, which no user should see."""
    known = _internal.get(filename)
    if known is None:
        known = filename.startswith("<weft") or os.path.abspath(filename).startswith(_PACKAGE)
        _internal[filename] = known
    return known


_Positions = list[tuple[int | None, int | None, int | None, int | None]]


@record(frozen=False)
class _Places:
    """The places of one code object. Holding the code keeps its ``id`` from being used again."""

    code: CodeType
    positions: _Positions
    found: dict[int, Location]


_places: dict[int, _Places] = {}
_PLACES_LIMIT = 4096


def code_location(code: CodeType, lasti: int, line: int | None = None) -> Location:
    """The exact expression of an instruction."""
    places = _places.get(id(code))
    if places is None:
        if len(_places) >= _PLACES_LIMIT:
            _places.clear()
        places = _places[id(code)] = _Places(code, list(code.co_positions()), {})
    location = places.found.get(lasti)
    if location is None:
        location = _position(code, places.positions, lasti, line)
        places.found[lasti] = location
    return location


def _position(code: CodeType, positions: _Positions, lasti: int, line: int | None) -> Location:
    file = code.co_filename
    index = lasti // 2
    if 0 <= index < len(positions):
        start, end, column, end_column = positions[index]
        if start is not None:
            if end is None or column is None or end_column is None:
                return Location(file, start)
            return Location(
                file,
                start,
                character_column(file, start, column),
                end,
                character_column(file, end, end_column),
            )
    return Location(file, line or code.co_firstlineno)


def frame_location(where: FrameType | TracebackType) -> Location:
    """The exact expression that a frame, or the frame of a traceback entry, is evaluating."""
    if isinstance(where, TracebackType):
        return code_location(where.tb_frame.f_code, where.tb_lasti, where.tb_lineno)
    return code_location(where.f_code, where.f_lasti, where.f_lineno)


def caller_location() -> Location | None:
    """The expression under evaluation in the innermost frame that is not weft's own."""
    frame = calling_frame()
    return None if frame is None else frame_location(frame)


def _is_pytorch(frame: FrameType) -> bool:
    """Whether code is PyTorch's, whose dispatcher calls operations."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "torch"


def calling_frame(innermost: FrameType | None = None) -> FrameType | None:
    """The innermost frame that is not weft's own, from a frame on: by default the caller's."""
    frame = innermost or sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        # those of dataclasses, and what Python's own modules call
        generated = code.co_filename == "<string>" and code.co_name == "__init__"
        generated |= code.co_filename in _BETWEEN
        if not is_internal(code.co_filename) and not generated and not _is_pytorch(frame):
            break
        frame = frame.f_back
    return frame
