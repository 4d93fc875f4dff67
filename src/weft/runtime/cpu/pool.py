"""The threads that share the blocks of a launch on the CPU: one set for the process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue

from weft.diagnostics import DeviceError
from weft.runtime.cpu.threads import start_thread
from weft.runtime.forks import after_fork


class Pool:
    """Helpers that call the same work as the thread that asks, until all of them are done.

    They start when first needed, as many as are asked for.
    """

    def __init__(self) -> None:
        self._started = 0
        self._lock = threading.Lock()
        self._queue: SimpleQueue[_Share] = SimpleQueue()

    def run(self, work: Callable[[], None], helpers: int) -> None:
        """Call ``work`` on this thread and on up to ``helpers`` others; return when all have ended.

        ``work`` takes from a supply that its callers share. So a helper that is still busy
        elsewhere when this thread's call returns has nothing left to do and is not waited for.
        """
        helpers = self._start(helpers)
        share = _Share(work)
        for _ in range(helpers):
            self._queue.put(share)
        try:
            work()
        finally:
            share.finish()
        if share.error is not None:
            raise share.error

    def _start(self, helpers: int) -> int:
        """How many of so many helpers there are: where the system has no room for more, fewer do it."""
        if self._started < helpers:
            with self._lock, contextlib.suppress(DeviceError):
                while self._started < helpers:
                    start_thread(_help, f"weft-cpu-{self._started}", self._queue)
                    self._started += 1
        return min(helpers, self._started)


class _Share:
    """One piece of work, open to helpers until its owner has done its own part."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._work: Callable[[], None] | None = work
        self._active = 0
        self._changed = threading.Condition(threading.Lock())

    def help(self) -> None:
        with self._changed:
            work = self._work
            if work is None:
                return
            self._active += 1
        try:
            work()
        except BaseException as error:
            self.error = error
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify()

    def finish(self) -> None:
        with self._changed:
            self._work = None
            while self._active:
                self._changed.wait()


def _help(queue: SimpleQueue[_Share]) -> None:
    while True:
        queue.get().help()


_pool: Pool | None = None


def pool() -> Pool:
    """The pool of this process."""
    global _pool
    if _pool is None:
        _pool = Pool()
    return _pool


def _after_fork() -> None:
    """A forked child makes a pool of its own, as threads do not survive a fork."""
    global _pool
    _pool = None


after_fork(_after_fork)
