"""Launches whose blocks may wait for each other by loops of their own, each on a thread while it waits.

Blocks begin in their order, on as many threads as there are cores. Where all of those wait that have begun,
further threads begin further blocks. Where there are no more and nobody sees anything new for a while, they
wait for ever: the launch fails, and its threads are left where they are.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from weft.abi.cpu_launch import LaunchBlock
from weft.diagnostics import DeviceError, Report
from weft.diagnostics.endless import Waiting, endless_wait
from weft.diagnostics.rendering import render
from weft.runtime import host_event
from weft.runtime.cpu import queue
from weft.runtime.cpu.queue import busy_lanes
from weft.runtime.cpu.threads import start_thread
from weft.runtime.cpu.turns import Turns
from weft.runtime.forks import after_fork

MOST_THREADS = 4096
"""Blocks of a launch that are under way at once."""
_PATIENCE = 2.0
"""Seconds in which nobody sees anything new, before threads are said to wait for ever."""
_NOTE = 10.0
"""The same where somebody else may write what they wait for: that is only said."""
_SETTLED = 3
"""A thread has told so many times of what it sees since there was anything new."""
_KEPT = 16
"""Idle threads that stay."""
_EXIT_SECONDS = 1.0
_WAITS = frozenset(
    [(queue.__file__, name) for name in ("wait", "join", "synchronize", "_wait_for_room")]
    + [(host_event.__file__, name) for name in ("pause", "synchronize")]
)
"""Where threads of the program wait for work that they have queued."""


class _Seen:
    """What a thread waits for, and what it saw last."""

    __slots__ = ("digest", "epoch", "since", "times", "waiting")

    def __init__(self, waiting: Waiting, digest: int) -> None:
        self.waiting = waiting
        self.digest = digest
        self.since = time.monotonic()
        self.times = self.epoch = 0


class Blocks:
    """The blocks of one launch, which ``work`` takes from its record until there are none."""

    def __init__(
        self,
        kernel: str,
        launch: LaunchBlock,
        work: Callable[[], None],
        most: int,
        turns: Turns | None,
        keep: object,
    ) -> None:
        self.report: Report | None = None
        """That they wait for ever."""
        self._kernel, self._launch, self._work, self._keep = kernel, launch, work, keep
        self._turns = turns
        self._most = self._room = min(most, MOST_THREADS)
        self._changed = threading.Condition(threading.Lock())
        self._active = self._parked = 0
        """Threads that are under way; those of them that are left."""
        self._seen: dict[int, _Seen] = {}
        """Of those that wait, by their numbers."""
        self._epoch, self._settled, self._news = 0, 0, time.monotonic()
        """How often there was anything new, who has seen nothing new since, and when that was."""
        self._noted = self._over = False

    def run(self, workers: int) -> None:
        """Run them, on so many threads at first."""
        _under_way.add(self)
        self._begin(max(1, min(workers, self._room)))
        with self._changed:
            while self._active and not (self._over and self._parked == self._active):
                self._changed.wait()
        if self._active:
            _left.append(self)
        _under_way.discard(self)

    def looks(self, waiting: Waiting, looks: int, digest: int) -> None:
        """The thread that calls has looked so many times, and sees what gives this number; 0: it goes on."""
        me, more = threading.get_ident(), 0
        with self._changed:
            if looks == 0 and not self._over:
                if self._seen.pop(me, None) is not None:
                    self._is_new()
                return
            if not self._over:
                self._note(me, waiting, digest)
                if len(self._seen) == self._active:
                    more = min(self._active, self._not_begun(), self._room - self._active)
                    if more <= 0:
                        self._end_or_say()
            if self._over:
                self._parked = self._active if self._turns else self._parked + 1
                self._changed.notify_all()
        if self._over:
            stay()
        if self._turns is not None:
            self._turns.let_others((lambda: self._begin(1)) if more > 0 else None)
        else:
            self._begin(more)

    def leave(self) -> None:
        """Leave all threads where they are."""
        with self._changed:
            self._over = True

    def is_left(self) -> bool:
        """Whether none of its threads runs."""
        return self._parked == self._active

    def _not_begun(self) -> int:
        return max(0, self._launch.total - self._launch.next)

    def _begin(self, count: int) -> bool:
        """Begin so many more threads, or as many as the system has room for; whether there was any."""
        for n in range(count):
            with self._changed:
                self._active += 1
            try:
                _begin(self._serve)
            except DeviceError:
                with self._changed:
                    self._active -= 1
                    self._room = max(1, self._active)
                if self._active == 0:
                    raise
                return n > 0
        return count > 0

    def _serve(self) -> None:
        try:
            self._work()
        finally:
            with self._changed:
                self._active -= 1
                self._seen.pop(threading.get_ident(), None)
                self._is_new()
                self._changed.notify_all()
            if self._turns is not None:
                self._turns.next()

    def _is_new(self) -> None:
        self._epoch += 1
        self._settled, self._news = 0, time.monotonic()

    def _note(self, me: int, waiting: Waiting, digest: int) -> None:
        seen = self._seen.get(me)
        if seen is None or seen.digest != digest or seen.waiting != waiting:
            self._seen[me] = _Seen(waiting, digest)
            self._is_new()
            return
        if seen.epoch != self._epoch:
            seen.epoch, seen.times = self._epoch, 0
        seen.times += 1
        self._settled += seen.times == _SETTLED

    def _end_or_say(self) -> None:
        """Where nobody sees anything new: end the launch, or say so, if others could write it."""
        quiet = time.monotonic() - self._news
        if self._settled < self._active or quiet < _PATIENCE:
            return
        if _nobody_writes():
            self.report, self._over = self._found(), True
        elif quiet > _NOTE and not self._noted:
            self._noted = True
            print(render(self._found().diagnostic(), kind="warning"), file=sys.stderr)

    def _found(self) -> Report:
        waiting = [seen.waiting for _, seen in sorted(self._seen.items(), key=lambda s: s[1].waiting.block)]
        return endless_wait(self._kernel, waiting, self._cures())

    def _cures(self) -> tuple[str, ...]:
        left = self._not_begun()
        if not left and max(self._launch.block) == 1:
            return ()
        if not left:
            return (
                "threads of a block go one after the other on a CPU: where one waits for a later one, have it"
                " look at shared memory alone, or meet at a barrier",
            )
        who = f"{left} block{'s have' if left > 1 else ' has'} not begun: "
        if self._most == 1:
            who += "where races are checked and blocks meet they go one by one, in their order"
        else:
            who += f"{self._room} run at once here"
        return (f"{who}; have a block wait for earlier ones alone, or meet by `grid_sync()`",)


def stay() -> None:
    """Stay here for ever."""
    held = threading.Lock()
    held.acquire()
    held.acquire()


def _nobody_writes() -> bool:
    """Whether all other threads of the program wait, and no other stream has work."""
    if len(busy_lanes()) > 1:
        return False
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    others = [t.ident for t in threading.enumerate() if not t.name.startswith("weft-")]
    for frame in [frames.get(ident or 0) for ident in others]:
        while frame is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        if frame is None or (frame.f_code.co_filename, frame.f_code.co_name) not in _WAITS:
            return False
    return True


# -- their threads ------------------------------------------------------------------------------
_idle: list[SimpleQueue[Callable[[], None]]] = []
_under_way: weakref.WeakSet[Blocks] = weakref.WeakSet()
_left: list[Blocks] = []
"""What threads that are left may still hold."""


def _begin(work: Callable[[], None]) -> None:
    try:
        _idle.pop().put(work)
    except IndexError:
        start_thread(_go_on, "weft-blocks", work)


def _go_on(work: Callable[[], None]) -> None:
    mine = SimpleQueue[Callable[[], None]]()
    while True:
        work()
        del work
        if len(_idle) >= _KEPT:
            return
        _idle.append(mine)
        work = mine.get()


def _at_exit() -> None:
    """Have threads that wait stay where they are: none may ask for Python when that has ended."""
    end = time.monotonic() + _EXIT_SECONDS
    for blocks in tuple(_under_way):
        blocks.leave()
        while not blocks.is_left() and time.monotonic() < end:
            time.sleep(0.001)


atexit.register(_at_exit)  # before there are streams, so that it comes after these have ended
after_fork(_idle.clear)
after_fork(_under_way.clear)
