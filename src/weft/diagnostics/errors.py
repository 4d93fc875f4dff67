"""The exception tree. Every error that weft raises on purpose is a ``WeftError``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

from weft.diagnostics import hook
from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location
from weft.diagnostics.render import render_all

__all__ = ["CompileError", "DeviceError", "LaunchError", "WeftError", "a_", "nearest"]


class WeftError(Exception):
    """Base of all errors of weft; holds the diagnostics that it prints."""

    __module__ = "weft"
    diagnostics: tuple[Diagnostic, ...]
    part: object = None
    """Which part of the expression under evaluation is meant, until it is placed: a mark or a literal."""
    within: str = ""
    """The function in which it was placed while that was elaborated for a caller."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)
        hook.install(WeftError)

    @classmethod
    def at(
        cls,
        code: str,
        message: str,
        location: Location | None,
        label: str = "",
        notes: Iterable[str] = (),
        hints: Iterable[str] = (),
    ) -> Self:
        """An error with one diagnostic that has one place, or none where none is known."""
        labels = () if location is None else (Label(location, label),)
        return cls(Diagnostic(code, message, labels, tuple(notes), tuple(hints)))

    def __str__(self) -> str:
        return render_all(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of its own traceback."""
        return hook.formatted(self)


class CompileError(WeftError):
    """The kernel cannot be compiled: its source says something that weft does not take."""

    __module__ = "weft"


class LaunchError(WeftError):
    """A kernel cannot be launched as asked: its arguments, its grid, its block."""

    __module__ = "weft"


class PerformanceWarning(UserWarning):
    """Something is right, but much slower than it need be. It is given once, where it was noticed."""


class DeviceError(WeftError):
    """A device is missing, or its driver reported a failure."""

    __module__ = "weft"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name most likely meant, for "did you mean"."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def a_(name: str) -> str:
    """The name behind the article that it takes: ``an Int``, ``a UInt``."""
    return f"{'an' if name[:1] in 'AEIOaeio' or name == 'ndarray' else 'a'} {name}"
