"""The threads on which the CPU runs kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft.diagnostics import DeviceError
from weft.runtime.forks import after_fork

STACK = 16 << 20
"""Bytes of stack of every thread that runs kernels. The system takes them only as they are touched."""

_here = threading.local()
_lock = threading.Lock()


def serves_lane(now: bool | None = None) -> bool:
    """Whether this thread serves a stream, and so must not wait for one; ``now`` says so."""
    if now is not None:
        _here.serves = now
    return getattr(_here, "serves", False)


def main_thread() -> int:
    """The number of the process's first thread."""
    return threading.main_thread().ident or 0


def start_thread(work: Callable[..., object], name: str, *args: Any) -> threading.Thread:
    """A daemon thread with the stack that kernels need, whatever the process has set for others.

    Raises:
        DeviceError: the system has no room for it.
    """
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
    with _lock:  # the size is one of the process, so two threads must not set it at once
        before = threading.stack_size(STACK)
        try:
            thread.start()
        except RuntimeError as error:
            raise _no_thread() from error
        finally:
            threading.stack_size(before)
    return thread


def _no_thread() -> DeviceError:
    return DeviceError.here(
        "no-thread",
        f"the system gives no further thread with a stack of {STACK >> 20} MiB, on which kernels run",
        "`ulimit -u` and `ulimit -v` limit threads and memory; close contexts that are done with",
    )


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


after_fork(_after_fork)
