"""When each stage of a compilation began and ended, for who asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Span(NamedTuple):
    """A stage of what is compiled: from when to when, by ``time.perf_counter``, in seconds."""

    stage: str
    start: float
    end: float
    thread: int = 0
    """In which thread of this process."""


_noted: ContextVar[list[Span] | None] = ContextVar("weft_noted_spans", default=None)


@contextmanager
def noted() -> Generator[list[Span]]:
    """The stages that are gone through within, in the order of their ends; one may lie within another."""
    spans: list[Span] = []
    token = _noted.set(spans)
    try:
        yield spans
    finally:
        _noted.reset(token)


@contextmanager
def timed(stage: str) -> Generator[None]:
    """What is done within is this stage."""
    spans = _noted.get()
    if spans is None:
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        spans.append(Span(stage, start, time.perf_counter(), threading.get_ident()))


@contextmanager
def stages() -> Generator[Callable[[str], None]]:
    """What is told within of each stage that begins, with which the one before ends."""
    spans, last = _noted.get(), ""
    start = 0.0

    def begin(stage: str) -> None:
        nonlocal last, start
        now = time.perf_counter()
        if last and spans is not None:
            spans.append(Span(last, start, now, threading.get_ident()))
        last, start = stage, now

    try:
        yield begin
    finally:
        begin("")


def own_times(spans: list[Span]) -> dict[str, float]:
    """How long each stage took, in seconds, less what other stages within it took.

    >>> own_times([Span("stage", 1.0, 3.0), Span("elaborate", 0.0, 5.0), Span("lower", 5.0, 6.0)])
    {'elaborate': 3.0, 'stage': 2.0, 'lower': 1.0}
    """
    found: dict[str, float] = {}
    open_: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.thread, each.start, -each.end)):
        while open_ and (open_[-1].end <= span.start or open_[-1].thread != span.thread):
            open_.pop()
        if open_:
            found[open_[-1].stage] -= span.end - span.start
        found[span.stage] = found.get(span.stage, 0.0) + span.end - span.start
        open_.append(span)
    return found
