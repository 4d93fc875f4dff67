"""The native side of a launch on the CPU: the entry is called, and calls back (``abi/cpu_launch.py``)."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from weft.abi.artifact import AssertSite, KernelInfo
from weft.abi.console import IDS
from weft.abi.cpu_launch import CALLS, MOST_THREADS, LaunchBlock
from weft.diagnostics import Diagnostic
from weft.diagnostics.parted import Parting
from weft.runtime.cpu.pool import pool, processors
from weft.runtime.driver import Extents, Launch
from weft.runtime.printing import Console, assertion_failed, format_print, value_count

_SMALL = 2048
"""A first launch of fewer threads stays on the stream's own thread."""
_SMALL_SECONDS = 4e-5
"""Later launches do where all the work would take less than this: waking others costs about half."""
_CHUNKS_PER_WORKER = 8


_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class CpuFunction:
    """A kernel loaded into this process."""

    max_threads_per_block = MOST_THREADS

    def __init__(self, kernel: KernelInfo, address: int, keep: object) -> None:
        self.kernel = kernel
        self.entry = _named(kernel, _ENTRY(address))
        self.counts = {number: value_count(site) for number, site in kernel.sites.items()}
        self.thread_seconds: float | None = None
        """What one thread of the last launch took; it decides whether the next is shared."""
        self._keep = keep


def _named(kernel: KernelInfo, entry: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """The entry, called by a function that has the kernel's name and place.

    Where a kernel ends the process by a wild access, the stacks that Python shows name it.
    """
    file, line = kernel.place

    def call(first: int, second: int) -> None:
        entry(first, second)

    call.__code__ = call.__code__.replace(
        co_name=kernel.signature.name, co_filename=file or "<kernel>", co_firstlineno=max(0, line - 1)
    )
    return call


class _Running:
    """What the callbacks of one launch need, and what they found."""

    def __init__(self, function: CpuFunction, console: Console, block: Extents) -> None:
        self.function = function
        self.block = block
        self.console = console
        self.failures: list[Diagnostic] = []


_running: dict[int, _Running] = {}
_ids = itertools.count(1)


def _on_tell(state: int, number: int, words: Any) -> None:
    running = _running[state]
    kernel, count = running.function.kernel, running.function.counts[number]
    site = kernel.sites[number]
    if not isinstance(site, AssertSite):
        running.console.write(format_print(site, words[:count]))
    elif not running.failures:
        name, ids, values = kernel.signature.name, words[:IDS], words[IDS : IDS + count]
        running.failures.append(assertion_failed(name, site, ids[:3], ids[3:], values))


def _on_parted(state: int, *what: Any) -> None:
    """A thread takes a decision before a barrier otherwise than the block's first one."""
    running = _running[state]
    if running.failures:
        return
    x, y, _ = running.block
    *ids, first, one, other, flag, place = what
    block, thread = tuple(ids[:3]), tuple(ids[3:])
    begin = (first % x, first // x % y, first // (x * y))
    if flag:
        yes, no = (begin, thread) if one else (thread, begin)
        where = f"in block {block} it holds for thread {yes} and not for thread {no}"
    else:
        where = f"in block {block} it is {one} for thread {begin} and {other} for thread {thread}"
    parting = Parting.of(place.decode())
    running.failures.append(parting.happened(running.function.kernel.signature.name, where))


_callbacks = {"weft$tell": CALLS["weft$tell"](_on_tell), "weft$parted": CALLS["weft$parted"](_on_parted)}


@cache
def externals() -> dict[str, int]:
    """The addresses of the functions that compiled kernels may call, by symbol."""
    called = {
        **_callbacks,
        "weft$take_memory": ctypes.pythonapi.PyMem_RawMalloc,
        "weft$give_memory": ctypes.pythonapi.PyMem_RawFree,
    }
    return {name: ctypes.cast(call, ctypes.c_void_p).value or 0 for name, call in called.items()}


def run_launch(queued: Launch, console: Console) -> Diagnostic | None:
    """Run all blocks; the first assertion that failed, or None."""
    function, grid, block, arguments, shared_bytes, over, _ = queued
    assert isinstance(function, CpuFunction)
    total = grid[0] * grid[1] * grid[2]
    threads = total * block[0] * block[1] * block[2]
    known = function.thread_seconds
    small = threads < _SMALL if known is None else threads * known < _SMALL_SECONDS
    workers = 1 if small else min(processors(), total)
    chunk = total if workers == 1 else max(1, total // (workers * _CHUNKS_PER_WORKER))
    state = next(_ids)
    launch = LaunchBlock(
        (ctypes.c_int32 * 3)(*grid),
        (ctypes.c_int32 * 3)(*block),
        0,
        total,
        chunk,
        state,
        shared_bytes,
        (ctypes.c_int64 * 3)(*over),
    )
    packed = ctypes.create_string_buffer(arguments, max(8, len(arguments)))
    first, second = ctypes.addressof(packed), ctypes.addressof(launch)
    running = _running[state] = _Running(function, console, block)
    start = time.perf_counter()
    try:
        if workers == 1:
            function.entry(first, second)
        else:
            entry = function.entry
            pool().run(lambda: entry(first, second), workers - 1)
        function.thread_seconds = (time.perf_counter() - start) * workers / threads
    finally:
        del _running[state]
    return running.failures[0] if running.failures else None
