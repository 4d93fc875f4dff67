"""What has ended before what, among launches of several streams: as far as the program has ordered them.

Vector clocks (F. Mattern, 1989) of streams, of events and of the host: of each stream, how many of its
launches come before. All threads of the host count as one, so what only some have waited for goes unnoticed.
Streams without such launches have empty clocks, and pay nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

Clock = Mapping[int, int]
_numbers = itertools.count()
_NOTHING: Clock = {}
_host: dict[int, int] = {}
pending: set[tuple[int, int]] = set()
"""Launches that have not run, by their stream and their number there."""


def _join(clock: dict[int, int], other: Clock) -> None:
    for stream, count in other.items():
        if clock.get(stream, 0) < count:
            clock[stream] = count


def host_knows(clock: Clock) -> None:
    """The host has waited for something."""
    if clock:
        _join(_host, clock)


def host_clock() -> Clock:
    """What the host has waited for."""
    return _host


class StreamClock:
    """The clock of one stream."""

    def __init__(self) -> None:
        self.number: int = next(_numbers)
        self.now: dict[int, int] = {}

    def launched(self) -> Clock:
        """One more launch; what it comes behind, and itself."""
        _join(self.now, _host)
        self.now[self.number] = self.now.get(self.number, 0) + 1
        pending.add((self.number, self.now[self.number]))
        return self.reached()

    def reached(self) -> Clock:
        """All that what is queued now comes behind."""
        return dict(self.now) if self.now else _NOTHING

    def waits(self, clock: Clock) -> None:
        """What is queued from now on comes behind that."""
        _join(self.now, clock)
