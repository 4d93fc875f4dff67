"""The native side of a launch on the CPU: the entry is called, and calls back (``abi/cpu_launch.py``)."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

from weft.abi.artifact import FOUND, FaultSite, KernelInfo, PrintSite
from weft.abi.console import IDS
from weft.abi.cpu_launch import CALLS, DirectLaunch, LaunchBlock
from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.shadow import Shadow
from weft.diagnostics import Diagnostic, Report
from weft.diagnostics.endless import Waiting, endless_wait
from weft.diagnostics.parted import Parting
from weft.diagnostics.reports import Indices, merged
from weft.record import replace
from weft.runtime.clocks import Clock
from weft.runtime.cpu.beside import Done, Touched, races
from weft.runtime.cpu.pieces import explained
from weft.runtime.cpu.pool import pool
from weft.runtime.cpu.queue import Failed, Lane
from weft.runtime.cpu.shadow import memory_of, noted
from weft.runtime.cpu.threads import main_thread
from weft.runtime.cpu.turns import Turns
from weft.runtime.cpu.waiting import MOST_THREADS as MOST_BLOCKS
from weft.runtime.cpu.waiting import Blocks, stay
from weft.runtime.driver import Launch
from weft.runtime.faults import Noted, report, signed
from weft.runtime.printing import Console, format_print, value_count

_SMALL = 2048
"""A first launch of fewer threads stays on the stream's own thread."""
_SMALL_SECONDS = 4e-5
"""Later launches do where all the work would take less than this: waking others costs about half. Where the
stream has nothing to do, the thread that asks for them runs them itself."""
_FEW, _MORE = 64, 4
"""Integers up to the first, or so many times those of a short launch, are thought to make no launch long."""
_CHUNKS_PER_WORKER = 8
_BY_PYTHON = frozenset({"waits", "grid_sync", "clusters"})
"""What kernels use that only Python launches: they may wait, or need what it fills in."""


_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
CodePlace = tuple[CodeType, int]
"""Code, and which instruction of it."""


class CpuFunction:
    """A kernel loaded into this process."""

    def __init__(
        self,
        kernel: KernelInfo,
        address: int,
        keep: object,
        workers: int,
        faults: int = 0,
        schedule: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.max_threads_per_block: int = kernel.max_threads or MOST_THREADS
        self.schedule = schedule
        """The seed of the order of blocks, or None for theirs."""
        self.workers = workers
        """How many threads may take the blocks of a launch."""
        self.faults = (
            (ctypes.c_int64 * (1 + max(kernel.sites, default=0))).from_address(faults) if faults else None
        )
        """Of a checked kernel: how often each of its sites has told of a fault in a launch."""
        self.entry = _named(kernel, _ENTRY(address))
        self.waits: bool = "waits" in kernel.uses
        """Whether it may wait for other launches."""
        self.looks: bool = "looks" in kernel.uses
        """Whether its blocks may wait for each other by loops of their own."""
        self.by_python: bool = not kernel.uses.isdisjoint(_BY_PYTHON)
        """Whether Python makes all launches of it."""
        self.counts: dict[int, int] = {number: value_count(site) for number, site in kernel.sites.items()}
        self.most = -1
        """Threads that would take ``_SMALL_SECONDS``, as the last launch took; -1 before the first."""
        self.direct = (ctypes.c_int64 * 3)(-1, 0, 0)
        """The same for launches on the thread that asks; none of a kernel that may wait for others. And the
        largest integer that they may have among their arguments: it may be how often a loop runs. And the
        largest for which it is known how long a launch takes."""
        known = [
            None if p.pointer or not p.dtype.is_integer else p.dtype for p in kernel.signature.parameters
        ]
        self._integers = [(8 * n, dtype) for n, dtype in enumerate(known) if dtype is not None]
        self.address = address
        self._keep = keep

    def residency(self, threads: int, shared: int) -> None:
        """Nothing: a CPU has no such limits."""

    def took(self, seconds: float, threads: int, workers: int, arguments: bytes) -> None:
        """So long took a launch."""
        self.most: int = int(_SMALL_SECONDS * threads / max(1e-9, seconds * workers))
        if not self.by_python:
            known = min(2**62, max(_FEW, _MORE * self.largest(arguments)))
            self.direct[0], self.direct[2] = self.most, max(self.direct[2], known)
            if threads <= self.most:
                self.direct[1] = max(self.direct[1], known)

    def largest(self, arguments: bytes) -> int:
        """The largest integer among the arguments of a launch, whatever its sign."""
        size = [(at, at + dtype.itemsize, dtype.is_signed) for at, dtype in self._integers]
        return max((abs(int.from_bytes(arguments[a:e], "little", signed=s)) for a, e, s in size), default=0)


def _named(kernel: KernelInfo, entry: Callable[[int, int], None]) -> Callable[..., None]:
    """The entry, called by a function that has the kernel's name and place.

    Where a kernel ends the process by a wild access, the stacks that Python shows name it.
    """
    file, line = kernel.place

    def call(first: int, second: int, run: Callable[[int, int], None] = entry) -> None:
        run(first, second)

    call.__code__ = call.__code__.replace(
        co_name=kernel.signature.name, co_filename=file or "<kernel>", co_firstlineno=max(0, line - 1)
    )
    return call


class _Running:
    """What the callbacks of one launch need, and what they found."""

    def __init__(
        self,
        function: CpuFunction,
        console: Console,
        block: Sequence[int],
        grid: Sequence[int] = (1, 1, 1),
        cluster: Sequence[int] = (1, 1, 1),
    ) -> None:
        self.function = function
        self.block, self.grid, self.cluster = block, grid, cluster
        self.shadow: Shadow | None = None
        """What is noted of memory, where it is."""
        self.order: tuple[int, Clock] | None = None
        """Its stream, and what it comes behind, where there are several streams."""
        self.place: CodePlace | None = None
        """Where it was launched, if that is not where the main thread is."""
        self.console = console
        self.failure: Diagnostic | None = None
        self.reports: dict[int | str, Report] = {}
        """Of a checked kernel, by the sites' numbers or the place where threads part."""
        self.blocks: Blocks | None = None
        """Its blocks, where they may wait for each other by loops of their own."""
        self.stuck: dict[int, list[Waiting]] = {}
        """By worker, threads that wait for ever, of which more are to be told of."""

    @property
    def under_way(self) -> bool:
        """Whether it runs."""
        return True

    def tell(self, where: int | str, found: Report) -> None:
        """Take what a kernel tells: the first, or of a checked one the first of each site."""
        if self.function.kernel.checked:
            self.reports.setdefault(where, found)
        else:
            self.fail(found.diagnostic())

    def access_of(self, record: int) -> Noted | None:
        """The access that a record of this launch is of."""
        assert self.shadow is not None
        (x, y, _), (gx, gy, _) = self.block, self.grid
        number, b, n, under_way = noted().access_of(self.shadow, record)
        site = self.function.kernel.sites.get(number)
        block = None if b is None else (b % gx, b // gx % gy, b // (gx * gy))
        thread = n % x, n // x % y, n // (x * y)
        return Noted(site, block, thread, under_way) if isinstance(site, FaultSite) else None

    def has_failed(self) -> bool:
        """Whether nothing more is to be said of it."""
        return self.failure is not None

    def fail(self, failure: Diagnostic) -> None:
        """Take the first failure."""
        self.failure = failure

    def counted(self) -> list[Report]:
        """The reports, with how often each happened; from now on they are counted anew."""
        counts, found = self.function.faults, list[Report]()
        races = [each for each in self.reports.values() if each.code == "data-race"]
        raced = {place for each in races for place in (each.location, each.other and each.other.location)}
        for where, each in self.reports.items():
            if each.code == "uninitialised" and each.location in raced:  # it came too early
                continue
            count = 1
            if counts is not None and isinstance(where, int):
                count, counts[where] = counts[where], 0
            found.append(replace(each, count=max(1, count)))
        return sorted(merged(found), key=lambda r: (r.location.file, r.location.line, r.location.column))


class _Direct(_Running):
    """The same of launches by native code, of which one fails between two looks at the stream."""

    def __init__(self, function: CpuFunction, lane: Lane, block: Sequence[int]) -> None:
        super().__init__(function, lane.console, block)
        self.lane = lane
        self.failed_among: object = None

    @property
    def under_way(self) -> bool:
        return bool(self.lane.words.inside)

    def has_failed(self) -> bool:
        return self.failed_among is self.lane.failures

    def fail(self, failure: Diagnostic) -> None:
        self.lane.failed(Failed(failure))
        self.failed_among = self.lane.failures


_running: dict[int, _Running] = {}
_ids = itertools.count(1)


def running() -> list[tuple[KernelInfo, int, CodePlace | None]]:
    """The launches under way, but for those that native code has queued: kernel, address, where launched.

    They are launched where the main thread is, if nothing else is known.
    """
    each = [r for r in tuple(_running.copy().values()) if r.under_way]
    return [(r.function.kernel, r.function.address, r.place) for r in each]


def found_meanwhile() -> list[Report]:
    """What the checked launches under way have found so far."""
    return [found for each in tuple(_running.copy().values()) for found in each.counted()]


def _on_tell(state: int, number: int, words: Any) -> None:
    running = _running[state]
    kernel, count = running.function.kernel, running.function.counts[number]
    site = kernel.sites[number]
    if isinstance(site, PrintSite):
        running.console.write(format_print(site, words[:count]))
    elif not running.has_failed():
        race = running.shadow is not None and isinstance(site, FaultSite) and site.kind == "data-race"
        other = running.access_of(words[IDS]) if race else None
        found = report(kernel, number, words[: IDS + count], other)
        if isinstance(site, FaultSite) and site.name == FOUND:
            found = explained(found, site, signed(words[IDS : IDS + count])[-4])
        running.tell(number, found)


def _on_parted(state: int, *what: Any) -> None:
    """A thread takes a decision before a barrier otherwise than the first one of its block or its group."""
    running = _running[state]
    if running.has_failed():
        return
    *ids, first, one, other, flag, place = what
    parting = Parting.of(place.decode())
    if parting.group in ("block", "warp"):
        at = _three(ids), _three(ids[3:])
        begin, thread, where = _place(first, running.block), at[1], f"in block {at[0]} "
    else:
        one_of, at = (_in_group(running, parting.group, ids[:3], n) for n in (first, ids[3]))
        (begin, thread), where = (f"{place} of block {block}" for block, place in (one_of, at)), ""
    if flag:
        yes, no = (begin, thread) if one else (thread, begin)
        where += f"it holds for thread {yes} and not for thread {no}"
    else:
        where += f"it is {one} for thread {begin} and {other} for thread {thread}"
    name = running.function.kernel.signature.name
    running.tell(place.decode(), parting.happened(name, *at, where))


def _on_stuck(state: int, *what: Any) -> None:
    """A thread waits for ever, as do so many more of those that go on in turn; all are told of one by one."""
    running = _running[state]
    *ids, number, left, place = what
    way, file, line, column = place.decode().split("\n")
    thread = _place(number, running.block)
    found = running.stuck.setdefault(threading.get_ident(), [])
    found.append(Waiting(_three(ids), thread, way, (file, int(line), int(column))))
    if left == 0:
        del running.stuck[threading.get_ident()]
        if not running.has_failed():
            running.tell("endless-wait", endless_wait(running.function.kernel.signature.name, found))


def _on_looks(state: int, *what: Any) -> None:
    """A thread has looked often for what others may write."""
    running = _running.get(state)
    *ids, number, looks, digest, place = what
    if running is None or running.blocks is None:
        stay()
        return
    _, file, line, column = place.decode().split("\n")
    thread = _place(number, running.block)
    waiting = Waiting(_three(ids), thread, "loop", (file, int(line), int(column)))
    running.blocks.looks(waiting, looks, digest)


def _three(ids: Sequence[int]) -> Indices:
    x, y, z, *_ = ids
    return x, y, z


def _place(number: int, extents: Sequence[int]) -> Indices:
    """What has that number in extents along x, y and z."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _in_group(running: _Running, group: str, origin: Sequence[int], number: int) -> tuple[Indices, Indices]:
    """Block and thread, by the thread's number in a grid or in the cluster that begins at ``origin``."""
    sizes = running.cluster
    block, thread = divmod(number, math.prod(running.block))
    whole, rank = divmod(block, math.prod(sizes))
    if group == "grid":
        clusters = [n // size for n, size in zip(running.grid, sizes, strict=True)]
        origin = [n * size for n, size in zip(_place(whole, clusters), sizes, strict=True)]
    at = _three([o + n for o, n in zip(origin, _place(rank, sizes), strict=True)])
    return at, _place(thread, running.block)


_told = {
    "weft$tell": _on_tell,
    "weft$parted": _on_parted,
    "weft$stuck": _on_stuck,
    "weft$looks": _on_looks,
}
_callbacks = {name: CALLS[name](call) for name, call in _told.items()}


def _rest() -> Any:
    """What gives the processor to others for a moment."""
    if os.name == "nt":
        return ctypes.windll.kernel32.SwitchToThread
    return ctypes.CDLL(None).sched_yield


@cache
def externals() -> dict[str, int]:
    """The addresses of the functions that compiled kernels may call, by symbol."""
    called = {
        **_callbacks,
        "weft$take_memory": ctypes.pythonapi.PyMem_RawMalloc,
        "weft$give_memory": ctypes.pythonapi.PyMem_RawFree,
        "weft$rest": _rest(),
    }
    return {name: ctypes.cast(call, ctypes.c_void_p).value or 0 for name, call in called.items()}


def run_launch(
    queued: Launch,
    console: Console,
    lane: Lane | None = None,
    place: CodePlace | None = None,
    order: tuple[int, Clock] | None = None,
) -> Failed | None:
    """Run all blocks, for a lane whose task this is, launched there; what has failed, or None."""
    function, grid, block, arguments, shared_bytes, over, attributes = queued
    assert isinstance(function, CpuFunction)
    total = grid[0] * grid[1] * grid[2]
    threads = total * block[0] * block[1] * block[2]
    small = threads < _SMALL if function.most < 0 else threads <= function.most
    workers, pooled = _workers(queued, total, small=small)
    chunk = total if workers == 1 else max(1, total // (workers * _CHUNKS_PER_WORKER))
    chunk = 1 if function.looks else chunk
    state = next(_ids)
    cluster = (attributes and attributes.cluster) or (1, 1, 1)
    launch = LaunchBlock(
        (ctypes.c_int32 * 3)(*grid),
        (ctypes.c_int32 * 3)(*block),
        0,
        total,
        chunk,
        state,
        shared_bytes,
        (ctypes.c_int64 * 3)(*over),
        (ctypes.c_int64 * 3)(*cluster),
    )
    packed = ctypes.create_string_buffer(arguments, max(8, len(arguments)))
    first, second = ctypes.addressof(packed), ctypes.addressof(launch)
    running = _running[state] = _Running(function, console, block, grid, cluster)
    running.place, running.order = place, order
    start = time.perf_counter()
    try:
        shared = lane.shared(function.workers) if pooled and lane is not None else None
        if function.kernel.checked and not function.kernel.granule:
            memory_of(function.kernel, (ctypes.c_uint64 * (len(packed) // 8)).from_buffer(packed))
        entry = function.entry
        if function.schedule is not None and attributes is None:
            entry = _shuffled(function, launch, total)
        if function.looks:
            entry = _waiting(running, launch, entry, workers, packed)
        if function.kernel.granule:
            _run_noting(running, packed, entry, first, second)
        elif workers == 1 or function.looks:
            entry(first, second)
        elif shared is not None:

            def run(first: int, second: int) -> None:
                shared.run(function.address, first, second, workers, function.waits)

            function.entry(first, second, run)
        else:
            pool().run(lambda: entry(first, second), workers - 1)
        function.took(time.perf_counter() - start, threads, workers, arguments)
    finally:
        del _running[state]
    if running.failure is None and not running.reports:
        return None
    return Failed(running.failure, running.counted())


def _workers(launch: Launch, total: int, *, small: bool) -> tuple[int, bool]:
    """How many threads of the host take its blocks, and whether those of the stream's native queue may."""
    function = launch.function
    assert isinstance(function, CpuFunction)
    one = small or function.kernel.granule or function.schedule is not None
    return 1 if one else min(function.workers, total), not small


def _waiting(
    running: _Running, launch: LaunchBlock, entry: Callable[[int, int], None], workers: int, packed: object
) -> Callable[[int, int], None]:
    """The entry, by so many threads, and more where they wait."""
    function = running.function
    name, uses = function.kernel.signature.name, function.kernel.uses
    alone = function.kernel.granule and not uses.isdisjoint({"grid_sync", "clusters"})

    def run(first: int, second: int) -> None:
        turns = Turns(running.shadow) if running.shadow is not None and not alone else None
        most, keep = 1 if alone else MOST_BLOCKS, (function, launch, packed)
        made = running.blocks = Blocks(name, launch, lambda: entry(first, second), most, turns, keep)
        made.run(workers)
        if made.report is not None:
            running.tell("endless-wait", made.report)

    return run


def _shuffled(function: CpuFunction, launch: LaunchBlock, total: int) -> Callable[[int, int], None]:
    """The entry for all blocks one by one, in an order that a seed gives."""
    from random import Random

    order = list(range(total))
    Random(function.schedule).shuffle(order)
    taken = iter(order)

    def run(first: int, second: int) -> None:
        for block in taken:
            launch.next += 1
            one = LaunchBlock.from_buffer_copy(launch)
            one.next, one.total = block, block + 1
            function.entry(first, ctypes.addressof(one))

    return run


def _run_noting(
    running: _Running, packed: Any, entry: Callable[[int, int], None], first: int, second: int
) -> None:
    """Run all blocks one after the other, so that they can note what they do to memory."""
    function, memory = running.function, noted()
    words = (ctypes.c_uint64 * (len(packed) // 8)).from_buffer(packed)
    with memory.lock:
        blocks = math.prod(running.grid if "grid_sync" in function.kernel.uses else running.cluster)
        running.shadow = memory.begin(function.kernel, words, blocks, several=running.order is not None)
        try:
            entry(first, second)
            if running.order is not None:
                _beside(running, memory.touched())
        finally:
            memory.end(running.shadow)


def _beside(running: _Running, touched: Sequence[Touched]) -> None:
    """Compare what a launch has done with the work of other streams."""
    assert running.order is not None
    kernel = running.function.kernel
    called = f"kernel {kernel.signature.name!r}"
    done = Done(called, *running.order, running.place, touched, kernel, running.block)
    for where, found in races(done):
        running.tell(where, found)


def compared(called: str, order: tuple[int, Clock], place: CodePlace | None, *used: Touched) -> None:
    """Compare a copy or a fill that has run with the work of other streams.

    Raises:
        Failed: with the reports.
    """
    with noted().lock:
        found = [report for _, report in races(Done(called, *order, place, used))]
    if found:
        raise Failed(None, found)


def direct_launch(launch: Launch, lane: Lane) -> DirectLaunch:
    """What native code needs to make such launches on the thread that asks for them."""
    function = launch.function
    assert isinstance(function, CpuFunction)
    made = DirectLaunch(
        function.address,
        ctypes.addressof(lane.words),
        ctypes.addressof(function.direct),
        main_thread(),
        next(_ids),
        launch.over,
        width=0 if function.by_python else function.workers,
    )
    made.object, made.keep = id(made), function
    _running[made.state] = _Direct(function, lane, made.block)
    weakref.finalize(made, _running.pop, made.state).atexit = False
    return made


def ends_soon(launch: Launch) -> bool:
    """Whether it would take the thread that asks for it no longer than it takes to wake another."""
    function, (x, y, z), block = launch.function, launch.grid, launch.block
    assert isinstance(function, CpuFunction)
    most, largest, _ = function.direct
    few = x * y * z * block[0] * block[1] * block[2] <= most
    return few and function.largest(launch.arguments) <= largest
