"""The CPU as a device: asynchronous, in order, and with the limits of a GPU.

Each stream is a queue served by one thread; the blocks of a launch are spread over a pool of as
many threads as its context has, in native code that holds no interpreter lock.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from weft.abi.artifact import FAULTS, Artifact, KernelInfo, LoadedCode
from weft.abi.cpu_launch import DirectLaunch
from weft.abi.cpu_limits import MOST_THREADS
from weft.config import processors, settings
from weft.diagnostics import calling_frame
from weft.runtime.clocks import Clock, StreamClock, host_knows
from weft.runtime.cpu import crashed, perf_map, pieces
from weft.runtime.cpu.beside import Touched
from weft.runtime.cpu.memory import PAGES_FROM, Block
from weft.runtime.cpu.native import (
    CodePlace,
    CpuFunction,
    compared,
    direct_launch,
    ends_soon,
    externals,
    run_launch,
)
from weft.runtime.cpu.new_memory import add, around, copied, forget, wrote
from weft.runtime.cpu.queue import MOST_BYTES, Lane, busy_lanes, wait_for_lanes
from weft.runtime.cpu.shared import provide
from weft.runtime.driver import (
    Copy,
    Device,
    DeviceInfo,
    Event,
    Function,
    Kept,
    Launch,
    LoadObject,
    NativeLauncher,
    NativeStream,
    OutOfMemory,
    Stream,
    Tiled,
    anew,
)
from weft.runtime.forks import after_fork
from weft.runtime.host_event import HostEvent
from weft.runtime.recorded import Held, RecordedCapture
from weft.targets import TARGETS

_FILL_BYTES = 1 << 18
_AT_ONCE = 1 << 16
"""Bytes that the thread that asks for a copy or a fill writes itself."""
_NO_MEMORY = (MemoryError, OSError, OverflowError, ValueError)


_pointed_at: list[LoadedCode] = []
"""Code that C's functions may have been given the address of: it stays as long as the process."""


class CpuDriver:
    """The driver of the API ``cpu``, which has one device."""

    api = "cpu"

    def __init__(self, load_object: LoadObject) -> None:
        self._load_object = load_object

    def device_count(self) -> int:
        """One."""
        return 1

    def device_info(self, device_id: int) -> DeviceInfo:
        """This machine's processor, with the limits on a block that GPUs have."""
        return _info()

    def open(self, device_id: int, threads: int | None = None) -> CpuDevice:
        """A handle with its own streams and memory, whose launches take so many threads."""
        return CpuDevice(self._load_object, threads)


class CpuDevice:
    """One user of the CPU as a device."""

    def __init__(self, load_object: LoadObject, threads: int | None = None) -> None:
        self.info: DeviceInfo = _info(threads)
        self.schedule: int | None = settings().schedule
        """The seed of the order of blocks, where there is one."""
        self._load_object = load_object
        self._blocks: dict[int, Block] = {}
        self._leaving: dict[int, int] = {}
        """Bytes of the blocks that are free once queued work has ended, by their addresses."""
        self._lock = threading.Lock()
        self._closed = False
        self.noting = False
        """Whether checked launches note what they do to memory."""
        self._lanes: list[weakref.ref[Lane]] = []
        _devices.add(self)

    def alloc(self, nbytes: int) -> int:
        """The address of new memory, aligned to 256 bytes. Waits where much is about to be given back."""
        if nbytes >= PAGES_FROM and sum(self._leaving.copy().values()) > MOST_BYTES:  # freed within, perhaps
            wait_for_lanes()
        try:
            block = Block(nbytes)
        except _NO_MEMORY:
            wait_for_lanes()
            try:
                block = Block(nbytes)
            except _NO_MEMORY as error:
                raise OutOfMemory(nbytes, self.free_memory()) from error
        self._blocks[block.address] = block
        return block.address

    def free(self, address: int) -> None:
        """Give memory back once all work queued so far has ended."""
        pieces.leaves(address)
        busy = busy_lanes()
        if not busy:
            self._give_back(address)
            return
        self._leaving[address] = self._blocks[address].nbytes
        arrived, last = itertools.count(1), len(busy)

        def release() -> None:
            if next(arrived) == last:
                self._give_back(address)

        for lane in busy:
            lane.post(release)

    def _give_back(self, address: int) -> None:
        forget(address)
        self._leaving.pop(address, None)
        pieces.is_gone(address, self._blocks.pop(address, None))

    host_alloc = alloc
    host_free = free

    def note(self, address: int, nbytes: int, *, written: bool) -> None:
        """Have checked launches know what memory nobody has written."""
        self.noting: bool = True
        if written:
            wrote(address, nbytes)
        else:
            pieces.add(address, nbytes)
            add(address, nbytes)

    def hold(self, owner: object) -> None:
        """Keep an object until all work queued so far has ended."""
        for lane in busy_lanes():
            lane.post(lambda held=owner: held)

    def can_access(self, peer: Device) -> bool:
        """Whether that is the CPU too."""
        return isinstance(peer, CpuDevice)

    def enable_access(self, peer: Device) -> None:
        """Nothing has to be done: all memory of the process is one."""

    def accesses(self, peer: Device) -> bool:
        """There is no other CPU."""
        return False

    def free_memory(self) -> int:
        """Bytes of memory that the system says are available."""
        try:
            with open("/proc/meminfo", encoding="ascii") as table:
                for line in table:
                    if line.startswith("MemAvailable:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return self.info.total_memory

    def create_stream(self, priority: int = 0) -> CpuStream:
        """A new stream. The priority means nothing here."""
        return CpuStream(self.new_lane(), self)

    def new_lane(self) -> Lane:
        """A queue that ends with the device."""
        lane = Lane()
        with self._lock:
            self._lanes = [known for known in self._lanes if known() is not None]
            self._lanes.append(weakref.ref(lane))
            if self._closed:
                lane.close()
        return lane

    def adopt_stream(self, handle: int, owner: object) -> None:
        """Other libraries have no streams here."""

    def owner_of(self, address: int) -> int:
        """There is one CPU."""
        return 0

    def priority_range(self) -> tuple[int, int]:
        """One priority."""
        return 0, 0

    def begin_capture(self, stream: Stream) -> RecordedCapture:
        """Record work from now on."""
        assert isinstance(stream, CpuStream)
        stream.pause_launchers()
        return RecordedCapture(stream.resume_launchers)

    def write_at_once(self, address: int, data: bytes) -> None:
        """Write to memory that no queued work uses."""
        ctypes.memmove(address, data, len(data))

    def describe_tiles(self, tiles: Tiled) -> None:
        """Threads copy tiles here."""

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[Function, ...]:
        """Load an object file."""
        if artifact.format != "object":
            raise ValueError(f"the CPU runs object files, not {artifact.format}")
        kernels = artifact.kernels
        entries = [kernel.entry for kernel in kernels]
        counted = any(kernel.counts_faults for kernel in kernels)
        crashed.begin(self._load_object)
        loaded = self._load_object(artifact.code, [*entries, *[FAULTS] * counted], externals())
        crashed.watch(artifact.code, kernels[0], loaded.addresses[0])
        if settings().perf_map:
            perf_map.note(artifact.code, entries[0], loaded.addresses[0])
        if any("function_pointer" in kernel.uses for kernel in kernels):
            _pointed_at.append(loaded)
        *addresses, faults = loaded.addresses if counted else (*loaded.addresses, 0)
        found = zip(kernels, addresses, strict=True)
        return tuple(
            [
                CpuFunction(*one, loaded.keep, self.info.multiprocessors, faults, self.schedule)
                for one in found
            ]
        )

    def close(self) -> None:
        """Close all streams."""
        with self._lock:
            self._closed = True
            for known in self._lanes:
                lane = known()
                if lane is not None:
                    lane.close()

    def begin(self) -> None:
        """Start anew in a forked child, where nobody holds the lock and no work is under way."""
        self._lock = threading.Lock()
        for address in tuple(self._leaving):
            self._give_back(address)


class CpuStream:
    """One queue of work."""

    def __init__(self, lane: Lane, device: CpuDevice) -> None:
        self._lane, self._device = lane, device
        self._clock = StreamClock()
        _streams.add(self)
        self._launchers: weakref.WeakSet[NativeLauncher] = weakref.WeakSet()
        weakref.finalize(self, lane.abandon).atexit = False

    def copy(self, copy: Copy) -> None:
        """Queue a copy; from ordinary memory, take the source's bytes now."""
        lane, order, place = self._lane, self._order(), _caller()
        _, dst, src, nbytes, dst_owner, src_owner, _ = copy
        new = src_owner is None and around(src, src + nbytes) is not None
        if not new:
            wrote(dst, nbytes)
        taken: int | bytes = src
        if src_owner is not None:
            if lane.idle and order is None:
                ctypes.memmove(dst, src, nbytes)
                return
            taken = ctypes.string_at(src, nbytes)

        def task(owner: object | None = dst_owner) -> None:
            ctypes.memmove(dst, taken, nbytes)
            if new:
                copied(dst, src, nbytes)
            if order is not None:
                used = [Touched(dst, dst + nbytes, True)]
                if src_owner is None:
                    used.append(Touched(src, src + nbytes, False))
                compared("a copy", order, place, *used)

        self._submit(task, nbytes, 0 if src_owner is None else nbytes)

    def _submit(self, task: Callable[[], None], nbytes: int, held: int = 0) -> None:
        """Queue what writes so many bytes; few are written at once, where nothing goes before them."""
        if not (nbytes <= _AT_ONCE and self._lane.run(task)):
            self._lane.submit(task, held)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Queue a fill."""
        order, place, nbytes = self._order(), _caller(), len(pattern) * count
        wrote(address, nbytes)

        def task() -> None:
            _fill(address, pattern, count)
            if order is not None:
                compared("a fill", order, place, Touched(address, address + nbytes, True))

        self._submit(task, nbytes)

    def _order(self) -> tuple[int, Clock] | None:
        """The stream and what it comes behind, for one more task that others are compared with."""
        if self._device.noting and sum([stream._device.noting for stream in tuple(_streams)]) > 1:
            return self._clock.number, self._clock.launched()
        return None

    def launch(self, launch: Launch) -> None:
        """Queue a launch."""
        lane, console, place = self._lane, self._lane.console, _caller()
        assert isinstance(launch.function, CpuFunction)
        order: tuple[int, Clock] | None = None
        if launch.function.kernel.granule:
            self._device.noting = True
            order = self._order()

        def task() -> None:
            failed = run_launch(launch, console, lane, place, order)
            if failed is not None:
                raise failed

        if not (ends_soon(launch) and lane.run(task)):
            lane.submit(task)

    @property
    def native(self) -> NativeStream | None:
        """Native code runs short launches itself, where the queue is empty."""
        return self

    @property
    def number(self) -> int:
        """The address of what native code looks at."""
        return ctypes.addressof(self._lane.words)

    def launch_addresses(self) -> tuple[int, int]:
        """None: a launch is a call of the kernel's entry."""
        return 0, 0

    def launch_failed(self, status: int) -> None:
        """A call of an entry has no status."""

    def handles(self, launch: Launch) -> tuple[int, DirectLaunch]:
        """What the launch needs is in its configuration."""
        return 0, direct_launch(launch, self._lane)

    def note_launched(self, kernels: Mapping[str, KernelInfo]) -> None:
        """Nothing asks afterwards what was launched."""

    def provide(self, pool: Sequence[int]) -> None:
        """There are functions by which threads of the host share launches."""
        provide(pool)

    def add_launcher(self, launcher: NativeLauncher) -> None:
        """Take part in what native code launches here."""
        self._launchers.add(launcher)

    def empties(self) -> tuple[object]:
        """Launches of several streams that are compared, of which a wait tells that they have ended."""
        return (self._clock.now,)

    def pause_launchers(self) -> None:
        """Have Python see all launches until ``resume_launchers``."""
        for launcher in self._launchers:
            launcher.pause()

    def resume_launchers(self) -> None:
        """Let native code launch again."""
        for launcher in self._launchers:
            launcher.resume()

    def call(self, function: Callable[[], object]) -> None:
        """Queue a call of a host function."""
        clock: Clock = {} if isinstance(function, Held) else self._clock.reached()

        def task() -> None:
            function()
            host_knows(clock)

        self._lane.submit(task)

    def record(self) -> HostEvent:
        """An event at the present end of the queue."""
        event = HostEvent(self._clock.reached())
        self._lane.submit(event.reach)
        return event

    def wait(self, event: Event) -> None:
        """Hold later work until the event has been reached."""
        if isinstance(event, HostEvent):
            self._clock.waits(event.clock)
        self._lane.submit(event.pause if isinstance(event, HostEvent) else event.synchronize)

    def follow(self, other: Stream) -> None:
        """Hold later work until all that another stream holds now has ended."""
        self.wait(other.record())

    def synchronize(self) -> None:
        """Wait until all queued work has ended; print what it printed; raise what failed."""
        if self._clock.now:
            host_knows(self._clock.reached())
        self._lane.synchronize()

    def close(self) -> None:
        """Take no more work."""
        self._lane.close()
        for launcher in self._launchers:
            launcher.forget(self.number)


_devices: weakref.WeakSet[CpuDevice] = weakref.WeakSet()
_streams: weakref.WeakSet[CpuStream] = weakref.WeakSet()


def _caller() -> CodePlace | None:
    """Where the program is."""
    frame = calling_frame()
    return frame and (frame.f_code, frame.f_lasti)


def _after_fork() -> None:
    for device in list(_devices):
        device.begin()


after_fork(_after_fork)


def _fill(address: int, pattern: bytes, count: int) -> None:
    total = len(pattern) * count
    if len(set(pattern)) == 1:
        ctypes.memset(address, pattern[0], total)
        return
    head = pattern * min(count, _FILL_BYTES // len(pattern))
    for offset in range(0, total, len(head)):
        ctypes.memmove(address + offset, head, min(len(head), total - offset))


def _info(threads: int | None = None) -> DeviceInfo:
    return _info_of(threads or settings().cpu_threads or processors())


@cache
def _info_of(threads: int) -> DeviceInfo:
    target = TARGETS["native"]
    return DeviceInfo(
        name=_processor_name(),
        api="cpu",
        target=target.name,
        max_threads_per_block=MOST_THREADS,
        max_block_dim=(1024, 1024, 64),
        max_grid_dim=(2**31 - 1, 65535, 65535),
        max_shared_bytes=target.shared_limit,
        multiprocessors=threads,
        warp_size=target.warp_size,
        total_memory=_total_memory(),
        shares_host=True,
        dlpack=1,
    )


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as table:
            for line in table:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    import platform  # which takes a millisecond to load

    return platform.processor() or platform.machine()


def _total_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
