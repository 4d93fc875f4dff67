"""Blocks of a checked launch that wait for each other: one goes on at a time, as all note in one place.

What is noted of a block alone is kept while others go on. What ran before a block goes on is in order with
all that comes then (``compiler/shadow.py``).
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable

from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.shadow import FENCES, TICK, WORD, Shadow

_OWN = "block phase passed whose entry acquired fenced gathered cluster turn seen unordered".split()


class Turns:
    """Who goes on next."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._parts = [(shadow.shared, shadow.stride), (shadow.threads, FENCES * WORD * MOST_THREADS)]
        self._line: deque[threading.Lock] = deque()

    def let_others(self, begin: Callable[[], bool] | None) -> None:
        """Have a further block begin, if it can, or else one go on that waits longest."""
        if begin is None and not self._line:
            return
        shadow = self._shadow
        words = [getattr(shadow, name) for name in _OWN]
        parts = [ctypes.string_at(address, size) for address, size in self._parts]
        mine = threading.Lock()
        mine.acquire()
        self._line.append(mine)
        if begin is None or not begin():
            self.next()
        mine.acquire()
        for name, word in zip(_OWN, words, strict=True):
            setattr(shadow, name, word)
        for (address, size), part in zip(self._parts, parts, strict=True):
            ctypes.memmove(address, part, size)
        shadow.launch = shadow.last + (1 << TICK)

    def next(self) -> None:
        """Have one go on."""
        if self._line:
            self._line.popleft().release()
