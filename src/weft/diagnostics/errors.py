"""The exception tree. Every error that weft raises on purpose is a ``WeftError``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, Self

from weft.diagnostics import hook
from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location, caller_location, is_internal
from weft.record import replace

if TYPE_CHECKING:
    from weft.diagnostics.reports import Report


class WeftError(Exception):
    """Base of all errors of weft; holds the diagnostics that it prints."""

    __module__ = "weft"
    diagnostics: tuple[Diagnostic, ...]
    part: object = None
    """Which part of the expression under evaluation is meant, until it is placed: a mark or a literal."""
    about: object = None
    """Which value is meant, until it is placed: where a function of weft's was given it, that argument."""
    asked: FrameType | None = None
    """The call in which Python asked a number for a value that it has only at run time."""
    within: str = ""
    """The function in which it was placed while that was elaborated for a caller."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)
        hook.install(WeftError)
        hook.hide_frames()

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

    @classmethod
    def here(
        cls,
        code: str,
        message: str,
        hint: str | Sequence[str] = "",
        *,
        notes: Iterable[str] = (),
        at: tuple[str, int] | None = None,
        label: str = "",
    ) -> Self:
        """An error about the call that the user's program is making.

        ``at`` names the argument of it that is meant, and its position.
        """
        place = caller_location()
        if place is not None and at is not None:
            from weft.diagnostics.wrote import argument_place

            named = argument_place(place, at[0])
            place = named if named is not place else argument_place(place, at[1])
        return cls.at(code, message, place, label, notes, _hints(hint))

    def __str__(self) -> str:
        from weft.diagnostics.rendering import render_all

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


class CompileWarning(UserWarning):
    """Something in a kernel is legal, and hardly meant so. It is given once, at its line."""

    __module__ = "weft"


class PerformanceWarning(UserWarning):
    """Something is right, but much slower than it need be. It is given once, where it was noticed."""

    __module__ = "weft"


def note_slow(message: str, place: Location | None) -> None:
    """Give a ``PerformanceWarning`` at a place of the user's program."""
    import warnings

    if place is None:
        warnings.warn(message, PerformanceWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, PerformanceWarning, place.file, place.line)


class DeviceError(WeftError):
    """A device is missing, or its driver reported a failure; or kernels have failed.

    ``reports`` has what kernels of checked contexts have found, each as a ``Report``
    (``weft.diagnostics``): file, line, block, thread, buffer and what else a program may want to know.
    """

    __module__ = "weft"
    reports: tuple[Report, ...] = ()

    @classmethod
    def of(cls, reports: Iterable[Report], diagnostics: Iterable[Diagnostic] = ()) -> Self:
        """An error with reports, and what else has failed.

        What lies within weft, as an assertion of a ready kernel, is shown where the program waits for it.
        """
        from weft.diagnostics.reports import merged, placed, shown

        found = placed(merged(reports))
        made = cls([_of_the_user(each) for each in (*shown(found), *diagnostics)])
        made.reports = found
        return made


def _of_the_user(told: Diagnostic) -> Diagnostic:
    """The same at the call under way, where its own place is within weft."""
    main, *others = told.labels or (None,)
    place = caller_location() if main is not None and is_internal(main.location.file) else None
    if main is None or place is None:
        return told
    return replace(told, labels=(replace(main, location=place), *others))


def _hints(hint: str | Sequence[str]) -> Sequence[str]:
    return ((hint,) if hint else ()) if isinstance(hint, str) else hint


class _Elaborating(threading.local):
    """Whether this thread elaborates a kernel, so that its errors are placed by who knows the line."""

    now = False

    def __reduce__(self) -> str:
        return "elaborating"  # a name, for cloudpickle, which sends what a struct's `__init__` reads


elaborating: _Elaborating = _Elaborating()
"""Of this thread, see ``now``."""


def refuse(
    code: str,
    message: str,
    hint: str | Sequence[str] = "",
    *,
    notes: Iterable[str] = (),
    part: object = None,
    about: object = None,
) -> NoReturn:
    """Stop with a diagnostic at the user's expression: how the language and its library say no.

    Message, notes and hint may hold ``LEFT``, ``VALUE`` and so on, which become what the user wrote
    there. ``part`` says what of the expression to underline: one of these, or a literal in it. ``about`` is
    the value that is meant: where the expression calls what refuses it, the argument that gave it.

    Raises:
        CompileError: always. In a kernel it has no place yet.
    """
    diagnostic = Diagnostic(code, message, notes=tuple(notes), hints=tuple(_hints(hint)))
    if not elaborating.now:
        from weft.diagnostics.wrote import resolved

        raise CompileError(resolved(diagnostic, caller_location(), part))
    error = CompileError(diagnostic)
    error.part, error.about = part, about
    raise error


def nearest(name: str, candidates: Iterable[str], alike: float = 0.6) -> str | None:
    """The candidate that a misspelt name most likely meant, ``alike`` by so much of 1: "did you mean"."""
    import difflib

    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    if not found:  # `add` is `fetch_add` where nothing else adds
        held = [lower for lower in by_lower if name.lower() in lower.split("_")]
        found = held if len(held) == 1 else []
    return by_lower[found[0]] if found else None


_MOST_BITS = 256
"""Of integers that messages write out."""
_ADVICE: list[Callable[[str, str], str | None]] = []
_ON_IMPORT: list[Callable[[str], str]] = []


def advised_by(advice: Callable[[str, str], str | None], on_import: Callable[[str], str]) -> None:
    """Say who knows what to write for a name that is not defined, or that is imported and not there."""
    _ADVICE[:], _ON_IMPORT[:] = [advice], [on_import]


def advised_on_import(name: str) -> str:
    """What to write for a name that a module has not, or for a module (``weft.gpu.id``); or nothing."""
    return next((found for advice in _ON_IMPORT if (found := advice(name))), "")


def advised(name: str, asked: str = "") -> str:
    """What to write for a name that is not there, and what is asked of it; empty where nobody knows."""
    return next((found for advice in _ADVICE if (found := advice(name, asked))), "")


def undefined(error: Exception, text: str, scope: Iterable[str], otherwise: str) -> str:
    """The hint where a text could not be evaluated: for a name that is not there, what is meant by it."""
    name = getattr(error, "name", None) or "" if isinstance(error, NameError) else ""
    if not name:
        return otherwise
    asked = text.partition(f"{name}.")[2]
    asked = asked[: next((n for n, c in enumerate(asked) if not c.isidentifier()), len(asked))]
    if found := advised(name, asked):
        if f"{name}[:" in text and (kind := found.removeprefix("write ")).isidentifier():
            return f"write Pointer[{kind}], or LayoutTensor[{kind}] for an array of several axes"
        return found
    guess = nearest(name, scope)
    return f"did you mean `{guess}`?" if guess else otherwise


def in_digits(value: object) -> str:
    """A value as Python writes it, but of a very long integer only how long it is."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def a_(name: str) -> str:
    """The name behind the article that it takes: ``an Int``, ``a UInt``."""
    return f"{'an' if name[:1] in 'AEIOaeio' or name == 'ndarray' else 'a'} {name}"
