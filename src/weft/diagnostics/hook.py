"""Tracebacks of weft's errors without weft's own frames.

Nothing happens at import: the first weft error that is made wraps ``sys.excepthook``. The wrapper
prunes and then calls the hook that was there before, so other tools keep their say.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TypeVar, cast

from weft.diagnostics.location import is_internal

_pruned: tuple[type[BaseException], ...] = ()
"""Which exceptions are shown without weft's frames."""
_installed = False
alone = False
"""Whether the command line runs the program, so that what weft says of a crash is all that is to be said."""


def install(*errors: type[BaseException]) -> None:
    """Have uncaught exceptions of these classes, and what they chain, shown without weft's frames."""
    global _pruned, _installed
    _pruned += tuple(kind for kind in errors if kind not in _pruned)
    if _installed:
        return
    _installed = True
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not any(isinstance(link, _pruned) or _HUSHED in vars(link) for link in _links(error)):
            previous(kind, error, trace)
            return
        with _pruned_chain(error):
            previous(kind, error, error.__traceback__)
        tell_more(error)

    sys.excepthook = hook


_HUSHED = "__weft_hushed__"
E = TypeVar("E", bound=Exception)


def hush(error: E) -> E:
    """The error, one of Python's own that weft lets a program have, to be shown without weft's frames."""
    vars(error)[_HUSHED] = True
    install()
    hide_frames()
    return error


def tell_more(error: BaseException) -> None:
    """On a terminal, name the command that explains an error of weft which has just been shown there."""
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics and sys.stderr is not None and sys.stderr.isatty():
        print(f"\n`weft explain {diagnostics[0].code}` tells more", file=sys.stderr)


def hide_frames() -> None:
    """Have pytest leave out the frames of weft's that the error passes which is being made."""
    if "_pytest" not in sys.modules:
        return
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        names = frame.f_globals
        if names.get("__name__", "").partition(".")[0] == "weft":
            names["__tracebackhide__"] = True
        frame = frame.f_back


def formatted(error: BaseException) -> list[str]:
    """The lines that Python would print for the error, without weft's frames."""
    import traceback

    with _pruned_chain(error):
        return "".join(traceback.format_exception(error)).splitlines()


def pruned(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the entries of weft's own files."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not is_internal(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def _links(error: BaseException) -> list[BaseException]:
    """The error and all that its causes and contexts lead to."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is None or any(link is known for known in found):
            continue
        found.append(link)
        waiting += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", link).exceptions
    return found


@contextmanager
def _pruned_chain(error: BaseException) -> Generator[None]:
    """Within the context the error and its chain hold pruned tracebacks; afterwards their own.

    A link that arose and ended within weft says nothing to a user, so it leaves the chain.
    """
    links = _links(error)
    saved = [
        (link, link.__traceback__, link.__cause__, link.__context__, link.__suppress_context__)
        for link in links
    ]
    inner = [link for link in links if link.__traceback__ is not None and pruned(link.__traceback__) is None]

    def visible(link: BaseException | None) -> BaseException | None:
        return None if any(link is hidden for hidden in inner) else link

    try:
        for link, trace, cause, context, suppress in saved:
            link.__cause__, link.__context__ = visible(cause), visible(context)
            link.__suppress_context__ = suppress
            link.__traceback__ = pruned(trace)
        yield
    finally:
        for link, trace, cause, context, suppress in saved:
            link.__cause__, link.__context__ = cause, context
            link.__suppress_context__ = suppress
            link.__traceback__ = trace
