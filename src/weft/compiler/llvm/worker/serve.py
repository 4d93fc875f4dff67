"""A worker's life: jobs come in, what LLVM made of them goes out.

A message is its length in 8 bytes and a tuple as ``marshal`` writes it. The worker says ``stage`` before
each step, so that who waits knows what it was at if it ends; ``done`` with the code, or ``refused`` with
LLVM's reason. It ends when nobody holds the other end of its input, whatever LLVM is doing then.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import queue
import signal
import sys
import threading
import types
from typing import Any

HEAD = 8


def packed(message: tuple[Any, ...]) -> bytes:
    """A message as it travels."""
    data = marshal.dumps(message)
    return len(data).to_bytes(HEAD, "little") + data


def main() -> None:
    """Serve until the input ends."""
    quietly()
    out = os.dup(1)
    os.dup2(2, 1)  # what LLVM prints is no message
    jobs: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    Job, compile = _llvm()
    keep_memory()

    def begin(stage: str) -> None:
        say("stage", stage)

    def say(*message: Any) -> None:
        data = packed(message)
        while data:
            data = data[os.write(out, data) :]

    say("ready")
    while True:
        job: Any = Job(*jobs.get())
        if job.kind == "warm":  # of which nothing is told
            with contextlib.suppress(Exception):
                compile(job, str, alone=True)
            continue
        try:
            made = compile(job, begin, alone=True)
        except Exception as error:
            say("refused", f"{error}")
        else:
            say("done", made)


def _llvm() -> tuple[Any, Any]:
    """What does the work.

    Half of the time that llvmlite takes to load goes into two modules of which a worker needs little: one
    that finds a file beside another, and one that builds IR.
    """
    resources, ir = types.ModuleType("importlib.resources"), types.ModuleType("llvmlite.ir")
    vars(resources).update(files=_Beside.module, as_file=contextlib.nullcontext)
    vars(ir).update(__getattr__=_some_class)
    replaced = {module.__name__: module for module in (resources, ir)}
    sys.modules.update(replaced)
    try:
        backend: Any = importlib.import_module("backend")
    except Exception:  # an llvmlite that uses more of them
        for name in list(sys.modules):
            if name in replaced or name.partition(".")[0] in ("llvmlite", "backend"):
                del sys.modules[name]
        backend = importlib.import_module("backend")
    return backend.Job, backend.compile


def _some_class(name: str) -> type:
    return type(name, (), {})


class _Beside(str):
    """The path of a folder, to which ``/`` adds."""

    __slots__ = ()

    @classmethod
    def module(cls, name: str) -> _Beside:
        """The folder of a module."""
        return cls(os.path.dirname(sys.modules[name].__file__ or ""))

    def __truediv__(self, name: str) -> str:
        return os.path.join(self, name)


def _listen(jobs: queue.SimpleQueue[tuple[Any, ...]]) -> None:
    """Take in jobs; end the process with the input, also in the middle of one."""
    source = open(0, "rb", buffering=1 << 16, closefd=False)  # noqa: SIM115
    while True:
        head = source.read(HEAD)
        data = source.read(int.from_bytes(head, "little"))
        if len(head) < HEAD or not data:
            os._exit(0)
        jobs.put(marshal.loads(data))


def keep_memory() -> None:
    """Have C's allocator keep what LLVM lets go, as it takes as much again for the next job; glibc's can."""
    import ctypes

    trim, pad, large = -1, -2, -3  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD
    with contextlib.suppress(AttributeError, OSError, TypeError):
        for option, size in ((trim, 1 << 28), (pad, 1 << 24), (large, 1 << 25)):
            ctypes.CDLL(None).mallopt(option, size)


def quietly() -> None:
    """No core file and no dialogue if LLVM aborts; an interrupt is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.kernel32.SetErrorMode(0x8007)
    else:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
