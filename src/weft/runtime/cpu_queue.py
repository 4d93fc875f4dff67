"""Work in order on a thread of its own: what a stream is on the CPU.

The garbage collector may run finalizers on any thread at any allocation, so what a finalizer calls
(``Lane.post``, ``Lane.abandon``) takes no lock.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue

from weft.diagnostics import DeviceError, Diagnostic, WeftError
from weft.runtime.printing import Console
from weft.runtime.refuse import raised, refuse

__all__ = ["Failed", "Lane"]

Task = Callable[[], object]

_EXIT_SECONDS = 2.0
"""How long the process waits at its end for work that nobody waited for."""
_SHOWN = 5
_exiting = False


class Failed(Exception):
    """A task failed in a way that has its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


class Lane:
    """A queue and the thread that serves it, which starts with the first task.

    Args:
        active: Where the lane enters itself while its thread runs.
    """

    def __init__(self, active: set[Lane]) -> None:
        self.console = Console()
        self._active = active
        self._closed = False
        self._abandoned = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._queue: SimpleQueue[tuple[Task, bool] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._failures: list[BaseException] = []
        self._submitted = 0
        self._finished = 0

    @property
    def idle(self) -> bool:
        """Whether all that was submitted until now has ended."""
        finished = self._finished
        return finished == self._submitted

    def submit(self, task: Task) -> None:
        """Queue a task. What it raises surfaces at the next ``synchronize``.

        Raises:
            LaunchError: the lane is closed.
        """
        if self._pid != os.getpid():
            self._reset()  # a forked child has the object but not the thread
        with self._lock:
            if self._closed:
                raise refuse(
                    "stream-closed",
                    "this stream is closed and takes no more work",
                    hints=["use it before close(), or make another: ctx.create_stream()"],
                )
            if _exiting:
                return
            self._submitted += 1
            self._queue.put((task, True))
            if self._thread is None:
                self._start()

    def post(self, task: Task) -> None:
        """Queue a task behind what is there, where the thread runs or has run. It must not raise."""
        self._queue.put((task, False))
        if self._ended:
            self._drain()

    def synchronize(self) -> None:
        """Wait until the queue is empty; write what was printed; raise what failed.

        Raises:
            DeviceError: a task failed.
            LaunchError: called by a task of this lane, which would wait for itself.
        """
        if self._thread is threading.current_thread():
            raise refuse(
                "stream-deadlock", "a function that a stream calls cannot wait for that stream, so for itself"
            )
        if self._pid == os.getpid() and not self.idle:
            reached = threading.Lock()  # lighter than an Event, and released by another thread
            reached.acquire()
            self.post(reached.release)
            reached.acquire(timeout=_EXIT_SECONDS if _exiting else -1)
        self.console.flush()
        failures, self._failures = self._failures, []
        if failures:
            error, cause = _as_error(failures)
            raise error from cause

    def close(self) -> None:
        """Take no more tasks; the thread ends after those that are queued. Idempotent."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)

    def abandon(self) -> None:
        """Close where nobody is left to synchronize: what is printed and fails is shown at the end."""
        self._abandoned = True
        self._queue.put(None)

    def _start(self) -> None:
        _register_exit()
        _live.add(self)
        self._active.add(self)
        self._thread = threading.Thread(target=self._serve, name="weft-stream", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while (entry := self._queue.get()) is not None:
            self._run(*entry)
            del entry  # what the task held is free while this waits for the next
        self._active.discard(self)
        self._ended = True
        self._drain()
        if self._abandoned and not _exiting:
            self.farewell()

    def _run(self, task: Task, counts: bool) -> None:
        try:
            task()
        except BaseException as error:
            self._failures.append(error)
        if counts:
            self._finished += 1

    def _drain(self) -> None:
        while True:
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return
            if entry is not None:
                self._run(*entry)

    def join(self, seconds: float) -> None:
        """End the thread after what is queued, waiting no longer than this."""
        self._queue.put(None)
        if self._pid == os.getpid() and self._thread is not None:
            self._thread.join(seconds)

    def farewell(self) -> None:
        """Show what nobody will ask for any more: text printed, and failures on ``sys.stderr``."""
        self.console.flush()
        failures, self._failures = self._failures, []
        if failures and sys.stderr is not None:
            print(f"weft: after the last synchronize():\n{_as_error(failures)[0]}", file=sys.stderr)


_live: weakref.WeakSet[Lane] = weakref.WeakSet()
_registered = False


def _register_exit() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)


def _at_exit() -> None:
    """Give queued work a moment to end, so that a forgotten synchronize() loses no output."""
    global _exiting
    _exiting = True
    deadline = time.monotonic() + _EXIT_SECONDS
    for lane in list(_live):
        lane.join(max(0.0, deadline - time.monotonic()))
        lane.farewell()


def _as_error(failures: list[BaseException]) -> tuple[DeviceError, BaseException | None]:
    diagnostics: list[Diagnostic] = []
    cause: BaseException | None = None
    for failure in failures:
        if isinstance(failure, Failed):
            diagnostics.append(failure.diagnostic)
        elif isinstance(failure, WeftError):
            diagnostics.extend(failure.diagnostics)
        else:
            cause = cause or failure
            diagnostics.append(raised(failure, "work queued on the CPU"))
    if len(diagnostics) > _SHOWN:
        more = len(diagnostics) - _SHOWN
        diagnostics[_SHOWN:] = [Diagnostic("more-failures", f"{more} more launches failed")]
    return DeviceError(diagnostics), cause
