"""Work in order on a thread of its own: what a stream is on the CPU.

The garbage collector may run finalizers on any thread at any allocation, so what a finalizer calls
(``Lane.post``, ``Lane.abandon``, ``busy_lanes``) takes no lock.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from weft.abi.cpu_launch import LaneWords, QueueWords
from weft.diagnostics import DeviceError, Diagnostic, LaunchError, Report, WeftError
from weft.diagnostics.reports import to_raise
from weft.runtime.cpu.shared import SharedQueue, shared_queue
from weft.runtime.cpu.threads import main_thread, serves_lane, start_thread
from weft.runtime.forks import after_fork
from weft.runtime.last_words import last_words
from weft.runtime.printing import Console
from weft.runtime.raised import raised

Task = Callable[[], object]

MOST_TASKS = 1024
"""Tasks of one lane that wait; who submits more waits until half of them are done."""
MOST_BYTES = 1 << 30
"""Likewise bytes that waiting tasks hold, of copies from arrays for example."""
_POSTED = -1
_EXIT_SECONDS = 2.0
"""How long the process waits at its end for work that nobody waited for."""
_LOOK_SECONDS = 0.1
"""A signal that comes to another thread does not end a wait of the main thread: it looks so often."""
_SHOWN = 5
_exiting = False


class Failed(Exception):
    """A task failed in a way that has its diagnostic; or a checked launch has found what is wrong."""

    def __init__(self, diagnostic: Diagnostic | None, reports: Sequence[Report] = ()) -> None:
        super().__init__(diagnostic, reports)
        self.diagnostic = diagnostic
        self.reports = reports


class Lane:
    """A queue and the thread that serves it, which starts with the first task."""

    def __init__(self) -> None:
        self.words: LaneWords = LaneWords()
        """Tasks submitted and finished, whether one is run by ``run``, whether this is closed."""
        self._abandoned = False
        self.begin()
        _lanes.add(self)

    def begin(self) -> None:
        """Start with an empty queue: at first, and in a forked child, whose parent does the work."""
        self.console: Console = Console(partial(setattr, self.words, "told", 1))  # no cycle with this
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._queue: SimpleQueue[tuple[Task, int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._failures: list[BaseException] = []
        self.words.submitted = self.words.finished = self.words.inside = self.words.queue = 0
        self._shared: SharedQueue | None = None
        self._native = QueueWords()
        """Launches that native code has put into ``_shared``, where there is one, and that have ended."""
        self._taken = self._given = 0
        self.waiting = 0
        """Threads that wait for room."""

    @property
    def idle(self) -> bool:
        """Whether all that was submitted until now has ended."""
        words = self.words
        finished = words.finished
        native = self._native
        return finished == words.submitted and not words.inside and native.ended == native.queued

    def shared(self, workers: int) -> SharedQueue | None:
        """The queue of native launches, for the task that runs; so many threads take from it."""
        if self._shared is None and self._thread is not None and not self._ended:
            made = self._shared = shared_queue(workers)
            if made is not None:
                self._native, self.words.queue = made.words, made.address
        return self._shared

    @property
    def tasks(self) -> int:
        """How many tasks wait or run."""
        return self.words.submitted - self.words.finished

    @property
    def nbytes(self) -> int:
        """Bytes that they hold."""
        return self._taken - self._given

    def submit(self, task: Task, nbytes: int = 0) -> None:
        """Queue a task that holds so many bytes. What it raises surfaces at the next ``synchronize``.

        Where too much waits already, this waits too; not so on a thread that serves a lane, since
        what it would wait for may wait for itself.

        Raises:
            LaunchError: the lane is closed.
            DeviceError: the system has no thread for it.
        """
        with self._lock:
            waiting = self.tasks
            if waiting and (waiting > MOST_TASKS or self._taken - self._given > MOST_BYTES):
                self._wait_for_room()
            if self.words.closed:
                raise LaunchError.here(
                    "stream-closed",
                    "this stream is closed and takes no more work",
                    "use it before close(), or make another: ctx.create_stream()",
                )
            if _exiting:
                return
            if self._thread is None:
                self._start()
            self.words.submitted += 1
            self._taken += nbytes
            self._queue.put((task, nbytes))

    def _is_half_full(self) -> bool:
        tasks = self.tasks
        return tasks > 0 and (tasks * 2 > MOST_TASKS or self.nbytes * 2 > MOST_BYTES)

    def _wait_for_room(self) -> None:
        if serves_lane():
            return
        self.waiting += 1  # before the look: the server looks here after it has counted
        try:
            while self._is_half_full() and not _exiting:
                self._room.wait(_LOOK_SECONDS)
        finally:
            self.waiting -= 1

    def run(self, task: Task) -> bool:
        """Run a task at once, on this thread, if all others have ended: it must be short. Whether it was run.

        Only the main thread does that, whose stack is large.
        """
        words, ran = self.words, False
        if not self.idle or threading.get_ident() != main_thread():
            return False
        try:
            with self._lock:
                if words.submitted == words.finished and not words.closed and self._thread and not _exiting:
                    ran, words.inside = True, 1
            if ran:
                task()
        except Exception as error:
            self.failed(error)
        finally:
            words.inside = 0
        return ran

    def failed(self, error: BaseException) -> None:
        """Keep what a task raised until somebody waits."""
        self._failures.append(error)
        self.words.told = 1

    @property
    def failures(self) -> list[BaseException]:
        """What failed since the last ``synchronize``."""
        return self._failures

    def post(self, task: Task) -> None:
        """Queue a task behind what is there, where the thread runs or has run. It must not raise."""
        self._queue.put((task, _POSTED))
        if self._ended:
            self._drain()

    def synchronize(self) -> None:
        """Wait until the queue is empty; write what was printed; raise what failed.

        Raises:
            DeviceError: a task failed.
            LaunchError: called by a task of this lane, which would wait for itself.
        """
        words, native = self.words, self._native  # as in ``idle``: after idle each call takes microseconds
        if words.finished != words.submitted or words.inside or native.ended != native.queued:
            if self._thread is threading.current_thread():
                raise LaunchError.here(
                    "stream-deadlock",
                    "a function that a stream calls cannot wait for that stream, so for itself",
                    "wait outside of the function, or queue the function on another stream",
                )
            self.wait()
        words.told = 0
        if self.console.parts:
            self.console.flush()
        if self._failures:
            failures, self._failures = self._failures, []
            error, cause = _as_error(failures)
            if error is not None:
                raise error from cause

    def wait(self) -> None:
        """Wait until all that is queued has ended."""
        if self.idle:
            return
        if self._shared is not None and self.words.submitted == self.words.finished and not _exiting:
            self._shared.wait()
        if not self.idle:
            reached = threading.Lock()  # lighter than an Event, and released by another thread
            reached.acquire()
            self.post(reached.release)
            reached.acquire(timeout=_EXIT_SECONDS if _exiting else -1)

    def close(self) -> None:
        """Take no more tasks; the thread ends after those that are queued. Idempotent."""
        with self._room:
            if not self.words.closed:
                self.words.closed = 1
                self._queue.put(None)

    def abandon(self) -> None:
        """Close where nobody is left to synchronize: what is printed and fails is shown at the end."""
        self._abandoned = True
        self.words.closed = 1
        self._queue.put(None)

    def _start(self) -> None:
        _register_exit()
        self._thread = start_thread(self._serve, "weft-stream", self._queue)
        _active.add(self)

    def _serve(self, queue: SimpleQueue[tuple[Task, int] | None]) -> None:
        serves_lane(True)
        while (entry := queue.get()) is not None:
            self._run(*entry)
            del entry  # what the task held is free while this waits for the next
            if queue is not self._queue:
                return
        self._ended = True
        self._drain()
        self._leave()
        _active.discard(self)
        if self._abandoned and not _exiting:
            self.farewell()

    def _run(self, task: Task, nbytes: int) -> None:
        queue = self._queue
        while self.words.inside:
            time.sleep(0)  # such a task is short
        if self._native.queued != self._native.ended:
            assert self._shared is not None
            self._shared.wait()
        try:
            task()
        except BaseException as error:
            self.failed(error)
        if nbytes == _POSTED or queue is not self._queue:  # the task forked, and this is the child
            return
        self._given += nbytes
        self.words.finished += 1
        if self.waiting and not self._is_half_full():
            with self._room:
                self._room.notify_all()

    def _leave(self) -> None:
        """Put no more into the queue of native launches, and give it back when what is there has ended."""
        shared, self.words.queue = self._shared, 0
        if shared is not None:
            shared.wait()
            self._shared, self._native = None, QueueWords()
            shared.leave()

    def _drain(self) -> None:
        """Run what was posted behind the end: by then all tasks have ended."""
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
        if self._thread is not None:
            self._thread.join(seconds)

    def farewell(self) -> None:
        """Show what nobody will ask for any more: text printed, and failures on ``sys.stderr``."""
        self.console.flush()
        failures, self._failures = self._failures, []
        if failures:
            error, _ = _as_error(failures)
            if error is not None:
                last_words(error, at_exit=_exiting)


_lanes: weakref.WeakSet[Lane] = weakref.WeakSet()
_active: set[Lane] = set()
"""Those whose thread runs, which keeps them alive."""
_registered = False


def busy_lanes() -> list[Lane]:
    """The lanes of the process on which work is queued or runs."""
    return [lane for lane in tuple(_active) if not lane.idle]


def wait_for_lanes() -> None:
    """Wait until all that is queued now has ended; what failed surfaces later. Not on a lane's thread."""
    if not serves_lane():
        for lane in busy_lanes():
            lane.wait()


def synchronize_lanes() -> None:
    """Wait until all that is queued has ended; raise what the first has to raise.

    Raises:
        DeviceError: a task failed.
    """
    for lane in list(_lanes):
        lane.synchronize()


def _after_fork() -> None:
    _active.clear()
    serves_lane(False)
    for lane in list(_lanes):
        lane.begin()


after_fork(_after_fork)


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
    for lane in list(_lanes):
        lane.join(max(0.0, deadline - time.monotonic()))
        lane.farewell()


def _as_error(failures: list[BaseException]) -> tuple[DeviceError | None, BaseException | None]:
    diagnostics: list[Diagnostic] = []
    reports: list[Report] = []
    cause: BaseException | None = None
    for failure in failures:
        if isinstance(failure, Failed):
            reports += failure.reports
            if failure.diagnostic is not None:
                diagnostics.append(failure.diagnostic)
        elif isinstance(failure, WeftError):
            diagnostics.extend(failure.diagnostics)
        else:
            cause = cause or failure
            diagnostics.append(raised(failure, "work queued on the CPU"))
    if len(diagnostics) > _SHOWN:
        more = len(diagnostics) - _SHOWN
        diagnostics[_SHOWN:] = [Diagnostic("more-failures", f"{more} more launches failed", count=more)]
    raised_for = to_raise(reports)
    error = DeviceError.of(raised_for, diagnostics) if raised_for or diagnostics else None
    traces = [failure.__traceback__ for failure in failures if isinstance(failure, Failed)]
    if error is not None and traces and traces[0] is not None:
        error = error.with_traceback(traces[0])  # a debugger that looks at it stands in the kernel
    return error, cause
