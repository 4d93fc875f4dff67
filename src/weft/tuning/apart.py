"""Measuring in a process of its own, which a kernel that faults or hangs takes along instead of the program.

The process gets compiled code, launches and the bytes that their memory held; of the program's text and of
the compiler it needs nothing. Where it ends, or is late, the launch that it was at is left out, and another
process goes on with the others.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from weft.config import environment
from weft.tuning.search import Failed
from weft.tuning.trial import Image, Job, Trials

_START = 60.0
"""Seconds in which a process comes up and has copied the arguments."""
_HEAD = 8


class Place(NamedTuple):
    """The device to measure on."""

    api: str
    number: int
    threads: int | None


class Apart:
    """``Trials`` in another process; to be closed.

    Args:
        process: one that was begun before.
        place: on which device.
        jobs: the launches.
        images: the memory that they are about.
        limit: seconds that one sample may take, the first one with the launches before it.

    Raises:
        Failed: no process can be had that does this.
    """

    def __init__(
        self, process: Process, place: Place, jobs: Sequence[Job], images: Sequence[Image], limit: float
    ) -> None:
        self._limit = limit
        self._new: Process | None = process
        self._running: Process | None = None
        handle, self._file = tempfile.mkstemp(prefix="weft-tuning-")
        try:
            with open(handle, "wb") as file:
                pickle.dump((place, list(jobs), list(images)), file, protocol=5)
            self._process()  # so that what is wrong with all of it is known
        except BaseException:
            self.close()
            raise

    def sample(self, n: int) -> float:
        """As ``Trials.sample``.

        Raises:
            Failed: it has failed, has ended the process, or took longer than it may.
        """
        process = self._process()
        process.send(n)
        answer = process.answer(self._limit)
        if isinstance(answer, float):
            return answer
        self._end()
        raise Failed(answer)

    def close(self) -> None:
        """End the process."""
        self._end()
        with contextlib.suppress(OSError):
            os.unlink(self._file)

    def _process(self) -> Process:
        if self._running is None:
            self._running, self._new = self._new or Process(), None
            self._running.send(self._file)
            answer = self._running.answer(_START)
            if answer != "ready":
                self._end()
                raise Failed(f"no process can be had to measure in: {answer}")
        return self._running

    def _end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running = None


class Process:
    """A process that is to measure, which comes up while the program goes on.

    Raises:
        Failed: none can be had.
    """

    def __init__(self) -> None:
        if not Path(sys.executable or "").name.lower().startswith(("python", "pypy")):
            raise Failed("this program is not Python's own, so no process can be started to measure in")
        code = f"import sys; sys.path[:] = {sys.path!r}; from weft.tuning.apart import main; main()"
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=os.name == "posix",  # a terminal's interrupt is for the program
            )
        except OSError as error:
            raise Failed(f"no process can be had to measure in: {error.strerror}") from None
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="weft's tuning", daemon=True).start()

    def send(self, message: object) -> None:
        """Tell it something."""
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, which its answer says
            _write(self._popen.stdin, message)

    def answer(self, limit: float) -> Any:
        """What it says within so many seconds; else why it says nothing, as a text."""
        try:
            found = self._answers.get(timeout=limit)
        except queue.Empty:
            return f"it took longer than {limit:g} s"
        if found is not None:
            return found
        status = self._popen.wait()
        return f"it ended its process by {_how(status)}"

    def kill(self) -> None:
        """End it."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := _read(self._popen.stdout)) is not None:
                self._answers.put(message)
        self._answers.put(None)


def _environment() -> Mapping[str, str]:
    """The program's, without what would have kernels do more than they are measured for."""
    settings = ("WEFT_CHECK", "WEFT_SCHEDULE", "WEFT_DEBUG", "WEFT_INTERPRET")
    return {name: value for name, value in environment().items() if name not in settings}


def _how(status: int) -> str:
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:
        return f"signal {-status}"


def _write(pipe: Any, message: object) -> None:
    data = pickle.dumps(message)
    pipe.write(len(data).to_bytes(_HEAD, "little") + data)
    pipe.flush()


def _read(pipe: Any) -> Any:
    """The next message; None where there is no more."""
    head = pipe.read(_HEAD)
    data = pipe.read(int.from_bytes(head, "little")) if len(head) == _HEAD else b""
    return pickle.loads(data) if data else None


def main() -> None:
    """What the process does: it makes samples of what it is asked for, until it is asked no more."""
    channel: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the kernels print is of no interest
    from weft.diagnostics import WeftError
    from weft.launch.native.code import load_object
    from weft.runtime.drivers import find_driver, open_device

    try:
        with open(_read(sys.stdin.buffer) or os.devnull, "rb") as source:
            place, jobs, images = pickle.load(source)
        device = open_device(find_driver(place.api, load_object), place.number, place.threads)[1]
        trials = Trials(device, jobs, images)
    except (WeftError, Failed, EOFError) as error:
        _write(channel, _text(error))
        return
    _write(channel, "ready")
    while (n := _read(sys.stdin.buffer)) is not None:
        try:
            _write(channel, trials.sample(n))
        except (WeftError, Failed) as error:
            _write(channel, _text(error))
    os._exit(0)  # a device that has failed would say so once more


def _text(error: Exception) -> str:
    from weft.diagnostics import WeftError

    return error.diagnostics[0].message if isinstance(error, WeftError) else str(error)
