"""A place in a queue that the host works through."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from weft.diagnostics import LaunchError
from weft.runtime.clocks import Clock, host_knows
from weft.runtime.driver import Event


class HostEvent:
    """An event that a thread of the host reaches; streams of the CPU record such."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or {}
        """What comes before it."""
        self._reached = threading.Event()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._followers: list[Callable[[], object]] = []
        self.time = 0.0

    @property
    def done(self) -> bool:
        """Whether the place has been reached."""
        done = self._reached.is_set()
        if done:
            host_knows(self.clock)
        return done

    def reach(self) -> None:
        """Note the time, and let those go on that wait."""
        self.time: float = time.perf_counter()
        with self._lock:
            self._reached.set()
            followers, self._followers = self._followers, []
        for follower in followers:
            follower()

    def then(self, function: Callable[[], object]) -> None:
        """Call a short function once the place has been reached, on whichever thread that is."""
        with self._lock:
            if not self._reached.is_set():
                self._followers.append(function)
                return
        function()

    def synchronize(self) -> None:
        """Wait until the place has been reached; the host knows then what came before it.

        Raises:
            LaunchError: the process has forked since, and the work before the place is its parent's.
        """
        host_knows(self.clock)
        self.pause()

    def pause(self) -> None:
        """The same for a thread that serves a stream."""
        if not self._reached.is_set() and self._pid != os.getpid():
            raise LaunchError.here(
                "forked",
                "this event was recorded before the process forked, and its work runs in the parent",
                "wait for it before the fork, or record one in the child",
            )
        self._reached.wait()

    def seconds_since(self, earlier: Event) -> float:
        """Seconds between two events that have been reached."""
        assert isinstance(earlier, HostEvent)
        return self.time - earlier.time
