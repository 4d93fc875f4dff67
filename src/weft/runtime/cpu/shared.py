"""The threads that share the blocks of launches natively: one set for the process, where there are pthreads.

What they do is native code (``launch/native/pool.py``), which comes into the process some time after the
first launches; until then ``pool.py`` has threads of Python share them.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Sequence

from weft.abi.cpu_launch import QueueWords
from weft.config import processors
from weft.diagnostics import DeviceError
from weft.runtime.cpu.threads import main_thread, start_thread
from weft.runtime.forks import after_fork

_SLICE = 50_000_000
"""Nanoseconds after which a wait looks whether the user wants to stop."""
_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int64


class SharedPool:
    """Threads that take blocks of launches from the queues of streams.

    Args:
        functions: The addresses of what ``launch/native/pool.py`` has: ``make``, ``queue``, ``leave``,
            ``release``, ``serve``, ``wait`` and ``run``.
    """

    def __init__(self, functions: Sequence[int]) -> None:
        make, queue, leave, release, serve, wait, run = functions
        locked = ctypes.PYFUNCTYPE  # these are called with the interpreter's lock
        self._queue = locked(_INT, _ADDRESS)(queue)
        self.leave = locked(None, _ADDRESS)(leave)
        self.release = locked(None, _ADDRESS)(release)
        self._serve = ctypes.CFUNCTYPE(None, _ADDRESS, _INT)(serve)
        self.wait = ctypes.CFUNCTYPE(ctypes.c_int32, _ADDRESS, _INT, _INT, _INT)(wait)
        self.run = ctypes.CFUNCTYPE(None, *[_ADDRESS] * 4, _INT, _INT)(run)
        self._address: int = ctypes.CFUNCTYPE(_INT, _INT)(make)(processors() - 1)
        self._started = 0
        self.queues: dict[int, None] = {}
        """Where all are that were ever in use."""
        self._lock = threading.Lock()

    def queue(self, workers: int) -> SharedQueue | None:
        """A queue for a stream whose launches take so many threads; None where the system has no room."""
        with self._lock, contextlib.suppress(DeviceError):
            while self._address and self._started < workers:
                start_thread(self._serve, f"weft-cpu-{self._started}", self._address, self._started)
                self._started += 1
        address = self._queue(self._address) if self._started else 0
        if address:
            self.queues[address] = None
        return SharedQueue(self, address) if address else None


class SharedQueue:
    """Launches of one stream, put there by native code, and run one after the other by the pool."""

    def __init__(self, pool: SharedPool, address: int) -> None:
        self._pool = pool
        self.address = address
        self.words: QueueWords = QueueWords.from_address(address)
        self._released = self.words.ended

    def run(self, entry: int, arguments: int, launch: int, width: int, waits: bool) -> None:
        """Run a launch behind the others, on this thread and those of the pool, so many in all."""
        self._pool.run(self.address, entry, arguments, launch, width, waits)

    def wait(self) -> None:
        """Wait until what is there now has ended. The main thread, whose stack is large, takes part."""
        until, pool = self.words.queued, self._pool
        helps = threading.get_ident() == main_thread()
        while not pool.wait(self.address, until, helps, _SLICE):
            pass  # handlers of signals run here
        if self._released != self.words.ended:
            self._released = self.words.ended
            pool.release(self.address)

    def leave(self) -> None:
        """Give it back. All that was there must have ended."""
        self._pool.leave(self.address)


_functions: Sequence[int] = ()
_pool: SharedPool | None = None


def provide(functions: Sequence[int]) -> None:
    """From now on there is native code for it."""
    global _functions
    _functions = functions


def shared_queue(workers: int) -> SharedQueue | None:
    """A queue of this process's pool, where there can be one now."""
    global _pool
    if _pool is None and _functions:
        _pool = SharedPool(_functions)
    return None if _pool is None else _pool.queue(workers)


def queues() -> Sequence[int]:
    """Where all queues of this process's pool are."""
    return () if _pool is None else tuple(_pool.queues)


def _after_fork() -> None:
    """A forked child makes a pool of its own, as threads do not survive a fork."""
    global _pool
    _pool = None


after_fork(_after_fork)
