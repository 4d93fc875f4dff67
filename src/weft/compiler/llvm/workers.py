"""The processes that LLVM works in: started ahead, used again, replaced when they end or grow old.

A thread that compiles takes one that is idle, or starts one while there are fewer than ``most``. After
``_JOBS`` jobs a worker is replaced, for LLVM keeps some 100 KB of each. A process that has forked has none
of its parent's.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import marshal
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.compiler.llvm.process import Process
from weft.compiler.llvm.worker import serve
from weft.compiler.llvm.worker.serve import HEAD, packed

_USUAL = min(4, os.cpu_count() or 1)
"""Workers at once; a program's kernels may be told to take more."""
_JOBS = 200
_START = 60.0
"""A worker that has not come up after so many seconds will not."""


class Refused(Exception):
    """LLVM refuses the job; the text is its reason."""


class Ended(Exception):
    """The worker ended in the midst of the job: at which stage, how, and what it told."""

    def __init__(self, stage: str, how: str, told: str) -> None:
        super().__init__(stage, how, told)
        self.stage, self.how, self.told = stage, how, told


class Late(Exception):
    """The job took longer than it may; the stage that it was in."""


class Unavailable(Exception):
    """No worker can be had here."""


class _Worker:
    def __init__(self) -> None:
        self.process = Process(_program())
        self.jobs = 0
        self.stage = ""
        """What it is at with its job; empty before that has begun."""
        self.ready = False
        self._buffer = b""

    def ask(
        self,
        job: tuple[Any, ...],
        limit: float,
        meanwhile: Callable[[], object] | None,
        begin: Callable[[str], object],
    ) -> tuple[Any, str]:
        """What became of a job, and what LLVM printed about it; ``begin`` is told of each stage.

        Raises:
            Refused: LLVM does not take it.
            Ended, Late: it was not done; the worker is of no more use.
            Unavailable: the worker did not come up.
        """
        self.begin(job)
        self.stage = ""
        if meanwhile is not None:
            meanwhile()
        told = b""
        end = time.monotonic() + (limit if self.ready else _START)
        while True:
            while (message := self._message()) is None:
                part = self.process.read(max(0.0, end - time.monotonic()))
                if part is None:
                    raise Late(self.stage) if self.ready else Unavailable("it did not start")
                told += part[1]
                if part == (b"", b""):
                    self.process.finish()
                    text = told.decode(errors="replace").strip()
                    raise (
                        Ended(self.stage, _how(self.process.status), text)
                        if self.ready
                        else Unavailable(text)
                    )
                self._buffer += part[0]
            match message:
                case ("ready",):
                    self.ready = True
                    end = time.monotonic() + limit
                case ("stage", stage):
                    self.stage = stage
                    begin(stage)
                case ("refused", reason):
                    raise Refused(reason)
                case _:
                    return message[1], told.decode(errors="replace").strip()

    def begin(self, job: tuple[Any, ...]) -> None:
        """Hand it a job."""
        self.jobs += 1
        with contextlib.suppress(OSError):  # it has ended, which reading shows
            self.process.write(packed(job))

    def _message(self) -> tuple[Any, ...] | None:
        """The next message, if all of it has come."""
        size = HEAD + int.from_bytes(self._buffer[:HEAD], "little")
        if len(self._buffer) < max(size, HEAD):
            return None
        data, self._buffer = self._buffer[HEAD:size], self._buffer[size:]
        return marshal.loads(data)


class _Pool:
    """The workers of this process."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.idle: list[_Worker] = []
        self.busy: set[_Worker] = set()
        self.unavailable = False
        self.most = _USUAL

    def take(self) -> _Worker:
        """A worker for one job.

        Raises:
            Unavailable: none can be had.
        """
        with self.changed:
            while not self.idle and len(self.busy) >= self.most and not self.unavailable:
                self.changed.wait()
            while self.idle:
                worker = self.idle.pop()
                if not worker.process.look():
                    self.busy.add(worker)
                    return worker
                worker.process.finish()
            return self._started(self.busy.add)

    def warm(self, job: tuple[Any, ...] | None = None) -> None:
        """Have a worker that is idle or at work; one that has done nothing yet does this job, unasked."""
        with self.changed:
            if not self.idle and not self.busy:
                with contextlib.suppress(Unavailable):
                    self._started(self.idle.append)
            if job is not None and self.idle and not self.idle[-1].jobs:
                self.idle[-1].begin(job)

    def _started(self, add: Callable[[_Worker], object]) -> _Worker:
        try:
            if self.unavailable:
                raise OSError("tried before")
            worker = _Worker()
        except (OSError, NotImplementedError, ImportError) as error:
            self.unavailable = True
            self.changed.notify_all()
            raise Unavailable(f"{error}") from None
        add(worker)
        return worker

    def give(self, worker: _Worker, *, useful: bool) -> None:
        """Have a worker back after its job; replace one that has grown old."""
        with self.changed:
            self.busy.discard(worker)
            if useful and worker.jobs < _JOBS:
                self.idle.append(worker)
            self.changed.notify()
        if not useful or worker.jobs >= _JOBS:
            worker.process.kill()
            if useful:
                self.warm()

    def end(self) -> None:
        """End all that wait for work."""
        with self.changed:
            while self.idle:
                self.idle.pop().process.kill()


_pool = _Pool()
atexit.register(lambda: _pool.end())


def _forget() -> None:
    """In a process that has forked: the workers are the parent's, their pipes too."""
    global _pool
    parents, _pool = _pool, _Pool()
    for worker in (*parents.idle, *parents.busy):
        worker.process.forget()


if hasattr(os, "register_at_fork"):  # not in the midst of a start, whose pipes the child would hold
    os.register_at_fork(
        before=lambda: _pool.changed.acquire(),
        after_in_parent=lambda: _pool.changed.release(),
        after_in_child=_forget,
    )


def allow(count: int) -> None:
    """So many workers may be at work at once, or more where that was said before."""
    with _pool.changed:
        _pool.most = max(_pool.most, count)
        _pool.changed.notify_all()


def up() -> tuple[int, int]:
    """How many workers there are, at work or waiting, and how many of them are up."""
    with _pool.changed:
        workers = [*_pool.idle, *_pool.busy]
    return len(workers), sum(worker.ready for worker in workers)


def warm(job: tuple[Any, ...] | None = None) -> None:
    """Start a worker if there is none, without waiting until it is up.

    One that has done nothing yet does ``job``, of the kind ``warm``, of which it tells nothing.
    """
    _pool.warm(job)


def run(
    job: tuple[Any, ...],
    limit: float,
    meanwhile: Callable[[], object] | None = None,
    begin: Callable[[str], object] = str,
) -> tuple[Any, str]:
    """What LLVM made of a job in so many seconds at most, and what it printed.

    ``meanwhile`` is done here while the worker begins, and ``begin`` is told of each stage that LLVM
    comes to. If this thread is interrupted, the worker ends.

    Raises:
        Refused, Ended, Late: it was not done.
        Unavailable: no worker can be had.
    """
    for last in (False, True):
        pool = _pool
        worker = pool.take()
        useful = False
        try:
            answer = worker.ask(job, limit, meanwhile, begin)
            useful = True
            return answer
        except Refused:
            useful = True
            raise
        except Unavailable:
            pool.unavailable = True
            raise
        except Ended as ended:
            if ended.stage or last:  # else it ended before it had the job: by somebody else's hand
                raise
        finally:
            pool.give(worker, useful=useful)
    raise AssertionError


def _program() -> str:
    """What a worker runs."""
    found = importlib.util.find_spec("llvmlite")
    folder = Path(serve.__file__).parent
    name = Path(sys.executable or "").name.lower()
    if (
        found is None
        or found.origin is None
        or not folder.is_dir()
        or not name.startswith(("python", "pypy"))
    ):
        raise OSError("this program is not Python's own")  # sys.executable would start it once more
    places = [str(folder), str(Path(found.origin).parents[1])]
    return f"import sys; sys.path += {places!r}; import serve; serve.main()"


def _how(status: int | None) -> str:
    if status is None:
        return "ended"
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"
