"""The native code of launches: compiled once on a machine, and brought into a process beside its launches."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import LoadedCode
from weft.compiler.cache import kept_object
from weft.diagnostics import CompileError
from weft.lang.decorators import Func


class Native(NamedTuple):
    """The addresses of the stubs, the readers of arrays and the CPU's pool, and what keeps them there."""

    stub: int
    wait: int
    """Of the wait for a stream of the CPU."""
    replay: int
    interface: int
    buffer: int
    pool: Sequence[int]
    """Of ``weft_pool_make``, ``queue``, ``leave``, ``release``, ``serve``, ``wait``, ``run``; or none."""
    keep: object


_SYMBOLS = "make queue leave release serve wait run" if os.name == "posix" else ""  # it takes pthreads
_POOL = [f"weft_pool_{name}" for name in _SYMBOLS.split()]
_made: list[Native] = []
_under_way: list[threading.Thread] = []


def _functions() -> Sequence[Func[..., Any]]:
    from weft.launch.native import pool
    from weft.launch.native.arrays import weft_read_buffer, weft_read_interface
    from weft.launch.native.replay import weft_replay
    from weft.launch.native.stub import weft_enqueue
    from weft.launch.native.wait import weft_synchronize

    stubs = weft_enqueue, weft_synchronize, weft_replay, weft_read_interface, weft_read_buffer
    return *stubs, *[getattr(pool, name) for name in _POOL]


def load_object(code: bytes, entries: Sequence[str], symbols: dict[str, int]) -> LoadedCode:
    """Link an object file for this machine into the process, as ``driver.LoadObject`` says.

    Raises:
        CompileError: it calls what is not there.
    """
    from weft.compiler.llvm import emit

    return emit.load_object(code or kept_object(_of_crashes), entries, symbols)


def _of_crashes() -> Sequence[Func[..., Any]]:
    from weft.launch.native.crash import weft_crash, weft_crash_words

    return weft_crash, weft_crash_words


def native_code() -> Native:
    """The code; compiled first, if it is not in the cache."""
    if not _made:
        _load(kept_object(_functions))
    return _made[0]


def prepared() -> Native | None:
    """The code once it is here; the first call begins to load or compile it, on a thread of its own."""
    if not _made and not _under_way:
        # no daemon: a short program that ends before it leaves the code to the next one
        _under_way.append(threading.Thread(target=_prepare, name="weft's launches"))
        with contextlib.suppress(RuntimeError):  # the process ends
            _under_way[0].start()
    return _made[0] if _made else None


def _prepare() -> None:
    from weft.launch.native import install  # which also takes its time

    with contextlib.suppress(CompileError):  # launches go on through Python
        if install.supported():
            native_code()


def _load(code: bytes) -> None:
    stubs = "weft_enqueue weft_synchronize weft_replay weft_read_interface weft_read_buffer".split()
    loaded = load_object(code, [*stubs, *_POOL], {})
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))  # threads run it when the interpreter has ended
    stub, wait, replay, interface, buffer, *pool = loaded.addresses
    _made.append(Native(stub, wait, replay, interface, buffer, pool, loaded))
