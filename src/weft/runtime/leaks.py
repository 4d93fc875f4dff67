"""Buffers of a context that are to be closed: once, and before it is. Contexts ask for it by ``leaks``."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from weft.diagnostics import DeviceError, LaunchError, Location, Report, caller_location
from weft.diagnostics.reports import to_raise


class Leaks:
    """The buffers of one context, and where they were made and closed."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], Location | None]] = {}
        self._closed: dict[int, tuple[weakref.ref[Any], Location | None]] = {}

    def made(self, buffer: Any) -> None:
        """There is a buffer, which is no part of another."""
        _note(self._made, buffer)

    def closes(self, buffer: Any) -> None:
        """A buffer is closed.

        Raises:
            LaunchError: it is closed already.
        """
        self._made.pop(id(buffer), None)
        if id(buffer) not in self._closed:
            _note(self._closed, buffer)
            return
        _, before = self._closed[id(buffer)]
        raise LaunchError.here(
            "double-close",
            f"this {buffer.called} is closed already",
            "close it once, or leave that to `with`",
            notes=() if before is None else (f"it was closed at {before.file}:{before.line}",),
        )

    def check(self, name: str) -> None:
        """The context of this name ends: who is still open has leaked.

        Raises:
            DeviceError: there are such.
        """
        gc.collect()
        open_yet = [(found(), place) for found, place in self._made.values()]
        reports = [_report(buffer, place, name) for buffer, place in open_yet if buffer is not None and place]
        reports.sort(key=lambda report: (report.location.file, report.location.line))
        if raised := to_raise(reports):
            raise DeviceError.of(raised)


def _note(places: dict[int, tuple[weakref.ref[Any], Location | None]], buffer: Any) -> None:
    """Note where the program is, for a buffer and while there is one: by its address, as none is compared."""
    key = id(buffer)
    places[key] = weakref.ref(buffer, lambda _: places.pop(key, None)), caller_location()


def _report(buffer: Any, place: Location, name: str) -> Report:
    what = f"{buffer.called} of {len(buffer)} {buffer.dtype}"
    return Report(
        "leak",
        f"a {what} is still open where its context is closed ({name})",
        place,
        "",
        (0, 0, 0),
        (0, 0, 0),
        size=buffer.nbytes,
        said="made here",
        hints=("close it: `with ctx.enqueue_create_buffer(...) as buffer:`, or `buffer.close()`",),
    )
