"""Labelling an error with the user's expression, from the frames that it passed through."""

from __future__ import annotations

import ast
import functools
import sys
import typing
from itertools import pairwise
from types import CodeType, FrameType, TracebackType

from weft.compiler.frontend import access, pybuiltins
from weft.compiler.frontend.room import has_room
from weft.compiler.frontend.stage import DEEPER, is_staged
from weft.diagnostics import (
    CompileError,
    Diagnostic,
    Location,
    WeftError,
    caller_location,
    frame_location,
    is_internal,
    unfit,
)
from weft.diagnostics.wrote import argument_of, side_of
from weft.lang import places
from weft.record import replace

_LONGEST = 8
"""A longer chain of calls is cut in the middle, as recursion makes them endless."""


_RIGHT_THERE = (pybuiltins.__file__, access.__file__, places.__file__, unfit.__file__, typing.__file__)
"""Where builtins, indices and attributes of staged code are: what Python raises there is the user's."""


def _frames(tb: TracebackType | None) -> list[TracebackType]:
    out: list[TracebackType] = []
    while tb is not None:
        out.append(tb)
        tb = tb.tb_next
    return out


@functools.cache
def _library() -> tuple[str, ...]:
    """The folders of Python's library and of installed packages."""
    import sysconfig

    return tuple({sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")})


def _users(frames: list[TracebackType]) -> list[TracebackType]:
    """The frames of the user's own code from the staged function on, outermost first."""
    first = next((n for n, f in enumerate(frames) if is_staged(f.tb_frame.f_code)), len(frames))
    out: list[TracebackType] = []
    for f in frames[first:]:
        file = f.tb_frame.f_code.co_filename
        if is_staged(f.tb_frame.f_code) or not file.startswith((*_library(), "<frozen")):
            if not is_internal(file) and not _generated(f.tb_frame.f_code):
                out.append(f)
    return out


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def _generated(code: CodeType) -> bool:
    """Whether the user did not write this frame: the ``__init__`` of a struct."""
    return (code.co_filename, code.co_name) == ("<string>", "__init__")


def _called(frame: FrameType) -> str:
    name = frame.f_code.co_name
    return "the lambda" if name == "<lambda>" else name


def _chain(users: list[TracebackType]) -> tuple[str, ...]:
    """How the innermost of the frames was reached, innermost call first."""
    chain: list[str] = []
    for outer, inner in pairwise(users):
        at = frame_location(outer)
        if inner.tb_frame.f_code.co_name not in _COMPREHENSIONS and not (
            is_staged(inner.tb_frame.f_code)
            and inner.tb_frame.f_code.co_name in ("<lambda>", DEEPER)
            and inner.tb_frame.f_code in outer.tb_frame.f_code.co_consts
        ):
            chain.append(f"{_called(inner.tb_frame)} was called from {at.file}:{at.line}")
    chain.reverse()
    if len(chain) > _LONGEST:
        half = _LONGEST // 2
        chain[half:-half] = ["... more calls ..."]
    return tuple(chain)


def located(error: BaseException, file: str, line: int, name: str) -> CompileError:
    """``error`` as a CompileError whose diagnostics have places, and say how they were reached.

    ``name`` is that of the function under elaboration, ``file`` and ``line`` are for want of better.

    Raises:
        RecursionError: there is more room than this.
    """
    if isinstance(error, RecursionError) and not has_room():
        raise error
    from weft.compiler.frontend.translate import refined, translated
    from weft.diagnostics.wrote import resolved

    frames = _frames(error.__traceback__)
    users = _users(frames)
    place = frame_location(users[-1]) if users else _whole(file, line)
    frame = users[-1].tb_frame if users else None
    helper = "" if frame is None or is_staged(frame.f_code) else _called(frame)
    chain = _chain(users)
    if not isinstance(error, WeftError):
        deepest = frames[-1].tb_frame if frames else None
        if deepest is not None and (
            deepest.f_code.co_filename in _RIGHT_THERE or deepest.f_code.co_name == "__getattr__"
        ):
            deepest = frame
        inside = (
            deepest is not None and is_internal(deepest.f_code.co_filename) and not is_staged(deepest.f_code)
        )
        found, part = translated(error, place, frame, direct=deepest is frame, inside=inside, helper=helper)
        found = resolved(found, place, part)
        return _within(CompileError(replace(found, notes=(*found.notes, *chain))), name if users else "")
    if error.within and users:  # it was placed in a function that this one calls
        chain = (f"{error.within} was called from {place.file}:{place.line}", *chain)
    known: bool | None = None
    if error.asked is not None and users:
        called = (f.tb_frame for f in frames[frames.index(users[-1]) + 1 :])
        known = next(f for f in called if f.f_code.co_filename not in _RIGHT_THERE) is error.asked
    out: list[Diagnostic] = []
    for diagnostic in error.diagnostics:
        if not diagnostic.labels:
            diagnostic, part = refined(diagnostic, error.part, place, frame, helper, known)
            given = (
                None if error.about is None or not users else _given(error.about, frames, users[-1], place)
            )
            diagnostic = resolved(diagnostic, place, part, given=given)
        elif not error.within and not helper:
            out.append(diagnostic)
            continue
        out.append(replace(diagnostic, notes=_cut((*diagnostic.notes, *chain))))
    return _within(CompileError(out), error.within if not users else name)


def _given(
    value: object, frames: list[TracebackType], user: TracebackType, place: Location
) -> ast.AST | None:
    """The argument of the user's call that gave this value to the function of weft's which it calls.

    Of a comparison the side, as Python may have turned it round.
    """
    inside = [f.tb_frame for f in frames[frames.index(user) + 1 :]]
    called = next((f for f in inside if f.f_code.co_filename not in _RIGHT_THERE), None)
    if called is None:
        return None
    from inspect import getargvalues

    names, _, _, held = getargvalues(called)
    bound = names[:1] in (["self"], ["cls"])
    at = next((n for n, name in enumerate(names) if held.get(name) is value), None)
    if at is None:
        return None
    return side_of(place, called.f_code.co_name, at == 0) or argument_of(place, (names[at], at - bound))


def _whole(file: str, line: int) -> Location:
    """A function as a place; of a function of weft's own, what uses it."""
    own = is_internal(file)
    return (caller_location() if own else None) or Location(file, line)


def located_here(error: CompileError, file: str, line: int, name: str) -> CompileError:
    """``error`` as ``located`` has it where it is raised by the caller, without raising it."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    tb: TracebackType | None = None
    while frame is not None:
        tb = TracebackType(tb, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return located(error.with_traceback(tb), file, line, name)


def _within(error: CompileError, name: str) -> CompileError:
    error.within = name
    return error


def _cut(notes: tuple[str, ...]) -> tuple[str, ...]:
    """The notes, where there are too many without those before the last."""
    return notes if len(notes) <= 2 * _LONGEST else (*notes[: 2 * _LONGEST - 2], "...", notes[-1])
