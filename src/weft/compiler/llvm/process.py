"""A Python process with pipes: started without ``subprocess``, whose import takes longer than the start.

No other process that this one starts or forks holds the pipes, so the process sees its input end when
this one ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from weft.config import environment

_CHUNK = 1 << 16


class Process:
    """``python -I -S -c code``, in a process group of its own: a terminal's interrupt does not reach it.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, code: str) -> None:
        self._fds: list[int]
        line = [sys.executable, "-I", "-S", "-c", code]
        if sys.platform == "win32":
            import subprocess

            group = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
            self._started = subprocess.Popen(
                line, stdin=-1, stdout=-1, stderr=-1, bufsize=0, creationflags=group
            )
            pipes = (self._started.stdin, self._started.stdout, self._started.stderr)
            self._fds = [os.dup(pipe.fileno()) for pipe in pipes if pipe is not None]
            for pipe in pipes:
                if pipe is not None:
                    pipe.close()
        else:
            theirs, self._fds = _pipes()
            try:
                actions = [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate(theirs)]
                defaults = [signal.SIGPIPE, signal.SIGCHLD]
                self._pid = os.posix_spawn(
                    sys.executable,
                    line,
                    environment(),
                    file_actions=actions,
                    setpgroup=0,
                    setsigmask=[],
                    setsigdef=defaults,
                )
            except BaseException:
                self.forget()
                raise
            finally:
                for fd in theirs:
                    os.close(fd)
        self._open: list[int] = self._fds[1:]
        self.status: int | None = None
        """How it ended, as ``subprocess`` says it; none while it runs or where nobody knows."""
        self.ended = False

    def write(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: the process does not listen any more.
        """
        if self.look():
            raise BrokenPipeError  # a signal that ends this process may be set for writing to it
        view = memoryview(data)
        while view:
            view = view[os.write(self._fds[0], view) :]

    def read(self, limit: float) -> tuple[bytes, bytes] | None:
        """What it has written to its output and to its errors, as soon as there is something.

        Where both come back empty, both have ended. None: nothing came within so many seconds.
        """
        while self._open:
            ready = _ready(self._open, limit)
            if not ready:
                return None
            parts = {fd: os.read(fd, _CHUNK) for fd in ready}
            self._open = [fd for fd in self._open if parts.get(fd, b"more")]
            _, out, errors = self._fds
            said, told = parts.get(out, b""), parts.get(errors, b"")
            if said or told:
                return said, told
        return b"", b""

    def look(self) -> bool:
        """Whether it has ended."""
        if not self.ended:
            self._wait(block=False)
        return self.ended

    def kill(self) -> None:
        """End it, and wait until it has."""
        if not self.look():
            if sys.platform == "win32":
                self._started.kill()
            else:
                with contextlib.suppress(OSError):
                    os.kill(self._pid, signal.SIGKILL)
        self.finish()

    def finish(self) -> None:
        """Wait until it has ended, and give back what it took here."""
        if not self.ended:
            self._wait(block=True)
        self.forget()

    def forget(self) -> None:
        """Close the pipes: for a process that has forked, whose parent goes on with it."""
        while self._fds:
            os.close(self._fds.pop())

    def _wait(self, *, block: bool) -> None:
        if sys.platform == "win32":
            self.status = self._started.wait() if block else self._started.poll()
            self.ended = self.status is not None
            return
        try:
            pid, status = os.waitpid(self._pid, 0 if block else os.WNOHANG)
        except ChildProcessError:  # somebody waits for all children, or nobody is to
            self.ended = True
            return
        if pid:
            self.ended, self.status = True, os.waitstatus_to_exitcode(status)


def _pipes() -> tuple[list[int], list[int]]:
    """Three pipes: the process's ends, in the order of its descriptors, and this one's."""
    import fcntl

    theirs: list[int] = []
    ours: list[int] = []
    for n in range(3):
        ends = os.pipe()
        for here, fd in zip((theirs, ours) if n == 0 else (ours, theirs), ends, strict=True):
            if fd < 3:  # this process has closed its own
                above = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
                os.close(fd)
                fd = above
            here.append(fd)
    return theirs, ours


def _ready(fds: list[int], limit: float) -> list[int]:
    """Which of the pipes can be read, or have ended; none where nothing happens for so many seconds."""
    if sys.platform == "win32":
        import _winapi
        import msvcrt

        end = time.monotonic() + limit
        while True:
            ready: list[int] = []
            for fd in fds:
                try:
                    if _winapi.PeekNamedPipe(msvcrt.get_osfhandle(fd), 0)[0]:
                        ready.append(fd)
                except OSError:
                    ready.append(fd)
            if ready or time.monotonic() > end:
                return ready
            time.sleep(0.0005)
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(limit * 1000)]
