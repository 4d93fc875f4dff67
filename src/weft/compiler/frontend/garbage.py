"""Python collects garbage less often while something is compiled: nearly all that is made there is in use."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_MANY = 50_000
"""So many objects may be made without a search for garbage among them; usual are 700."""
_usual = gc.get_threshold()
_within = set[object]()
"""Who compiles: one within another, or several threads."""


@contextmanager
def rarely_collected() -> Generator[None]:
    """Within ``with``, until the last that compiles has done."""
    global _usual
    now = gc.get_threshold()
    if 0 < now[0] < _MANY:
        _usual = now
        gc.set_threshold(_MANY, *now[1:])
    this = object()
    _within.add(this)
    try:
        yield
    finally:
        _within.discard(this)
        if not _within and gc.get_threshold()[0] == _MANY:  # else somebody has chosen another meanwhile
            gc.set_threshold(*_usual)
