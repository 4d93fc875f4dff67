"""Room for what is deep but ends: long chains of branches and terms, recursion at compile time.

Compilation walks over trees by recursion, and plain Python may recurse in it. The usual stack holds a
thousand calls. What needs more is done once more on a thread with a large stack.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

CALLS = 50_000
"""How many calls of Python's may be under way where there is room."""
_STACKS = (512 << 20, 64 << 20)
"""Bytes of stack, of which only what is used takes memory; the smaller where the larger cannot be had."""

_here = threading.local()
_one = threading.Lock()
"""The size of new stacks and the limit of calls are the process's."""


def has_room() -> bool:
    """Whether this thread has a large stack, so that a recursion that does not fit has no end."""
    return getattr(_here, "room", False)


def with_room(work: Callable[[], T]) -> T:
    """``work()``, once more and with more room where it did not fit; so it may begin twice."""
    if has_room():
        return work()
    with contextlib.suppress(RecursionError):
        return work()
    with _one:
        return _on_a_large_stack(work)


def _on_a_large_stack(work: Callable[[], T]) -> T:
    made: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        _here.room = True
        try:
            made.append(work())
        except BaseException as error:  # whatever it is, it belongs to who waits
            failed.append(error)
        finally:
            _here.room = False

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, CALLS))
    try:
        thread = _started(run)
        if thread is None:
            run()
        else:
            thread.join()
    finally:
        sys.setrecursionlimit(before)  # after Ctrl-C this ends the thread too
    if failed:
        raise failed[0]
    return made[0]


def _started(run: Callable[[], Any]) -> threading.Thread | None:
    """A thread that runs ``run`` on a large stack; None where none can be had."""
    for size in _STACKS:
        usual = threading.stack_size(size)
        try:
            thread = threading.Thread(target=run, name="weft-deep", daemon=True)
            thread.start()
        except RuntimeError:
            continue
        finally:
            threading.stack_size(usual)
        return thread
    return None


def _after_fork() -> None:
    """A fork while another thread compiles leaves no lock behind."""
    global _one
    _one = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
