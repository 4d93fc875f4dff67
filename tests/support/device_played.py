"""A device of an API that weft does not know: memory of its own, which only its copies reach.

It runs the CPU's machine code. Work is done at once, or where the device is ``late`` when it is waited for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from weft.abi.artifact import Artifact
from weft.diagnostics import DeviceError
from weft.runtime.cpu.native import CpuFunction, externals, run_launch
from weft.runtime.cpu.queue import Failed
from weft.runtime.driver import (
    Copy,
    Device,
    DeviceInfo,
    Event,
    Kept,
    Launch,
    LoadObject,
    OutOfMemory,
    Stream,
    Tiled,
    anew,
)
from weft.runtime.host_event import HostEvent
from weft.runtime.printing import Console
from weft.runtime.recorded import RecordedCapture

__all__ = ["MEMORY", "PlayedDevice", "PlayedDriver"]

MEMORY = 1 << 20


class PlayedDriver:
    """Two devices, whose work is done at once."""

    def __init__(self, api: str, load_object: LoadObject) -> None:
        self.api = api
        self.load_object = load_object
        self.devices: list[PlayedDevice] = []

    def device_count(self) -> int:
        return 2

    def device_info(self, device_id: int) -> DeviceInfo:
        name = f"Played {device_id} of {self.api}"
        return DeviceInfo(name, self.api, "native", 64, (64, 64, 64), (99, 99, 99), 1 << 14, 1, 1, MEMORY)

    def open(self, device_id: int, threads: int | None = None) -> PlayedDevice:
        self.devices.append(PlayedDevice(self, device_id))
        return self.devices[-1]


class PlayedDevice:
    def __init__(self, driver: PlayedDriver, number: int) -> None:
        self.driver = driver
        self.number = number
        self.info = driver.device_info(number)
        self.own: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.pinned: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.peers: set[Device] = set()
        self.copies: list[str] = []
        self.late = False
        """Whether work waits for ``synchronize``, as on a device that is busy."""

    def _take(self, blocks: dict[int, ctypes.Array[ctypes.c_char]], nbytes: int) -> int:
        if nbytes > MEMORY:
            raise OutOfMemory(nbytes, MEMORY)
        block = ctypes.create_string_buffer(nbytes + 256)
        address = -(-ctypes.addressof(block) // 256) * 256
        blocks[address] = block
        return address

    def alloc(self, nbytes: int) -> int:
        return self._take(self.own, nbytes)

    def host_alloc(self, nbytes: int) -> int:
        return self._take(self.pinned, nbytes)

    def free(self, address: int) -> None:
        del self.own[address]

    def host_free(self, address: int) -> None:
        del self.pinned[address]

    def has(self, address: int) -> bool:
        """Whether an address is in this device's own memory."""
        return any(start <= address < start + len(block) - 256 for start, block in self.own.items())

    def note(self, address: int, nbytes: int, *, written: bool) -> None: ...

    def hold(self, owner: object) -> None: ...

    def can_access(self, peer: Device) -> bool:
        return isinstance(peer, PlayedDevice) and peer.driver is self.driver

    def enable_access(self, peer: Device) -> None:
        self.peers.add(peer)

    def accesses(self, peer: Device) -> bool:
        return peer in self.peers

    def free_memory(self) -> int:
        return MEMORY

    def create_stream(self, priority: int = 0) -> PlayedStream:
        return PlayedStream(self)

    def adopt_stream(self, handle: int, owner: object) -> None: ...

    def owner_of(self, address: int) -> int:
        return self.number

    def priority_range(self) -> tuple[int, int]:
        return 0, 0

    def begin_capture(self, stream: Stream) -> RecordedCapture:
        return RecordedCapture()

    def write_at_once(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def describe_tiles(self, tiles: Tiled) -> None: ...

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[CpuFunction, ...]:
        [kernel] = artifact.kernels
        code = self.driver.load_object(artifact.code, [kernel.entry], externals())
        return (CpuFunction(kernel, code.addresses[0], code.keep, 1),)

    def close(self) -> None: ...


class PlayedStream:
    native = None

    def __init__(self, device: PlayedDevice) -> None:
        self.device = device
        self.waiting: list[Callable[[], object]] = []
        self.failed: list[Failed] = []

    def do(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)
        if not self.device.late:
            self.catch_up()

    def catch_up(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def copy(self, copy: Copy) -> None:
        ends = zip(copy.kind.split("2"), (copy.src, copy.dst), reversed(copy.devices or ()), strict=False)
        for letter, address, device in ends:
            assert isinstance(device, PlayedDevice)
            assert device.has(address) == (letter == "d")
        if copy.devices is None:
            for last in (0, copy.nbytes - 1):
                assert self.device.has(copy.src + last) == (copy.kind[0] == "d")
                assert self.device.has(copy.dst + last) == (copy.kind[2] == "d")
        self.device.copies.append(copy.kind)
        source: Any = copy.src if copy.src_owner is None else ctypes.string_at(copy.src, copy.nbytes)
        self.do(lambda: ctypes.memmove(copy.dst, source, copy.nbytes))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        self.do(lambda: ctypes.memmove(address, pattern * count, len(pattern) * count))

    def launch(self, launch: Launch) -> None:
        def run() -> None:
            failed = run_launch(launch, Console())
            if failed is not None:
                self.failed.append(failed)

        self.do(run)

    def call(self, function: Callable[[], object]) -> None:
        self.do(function)

    def record(self) -> HostEvent:
        self.catch_up()
        event = HostEvent()
        event.reach()
        return event

    def wait(self, event: Event) -> None:
        event.synchronize()

    def follow(self, other: Stream) -> None:
        other.synchronize()

    def synchronize(self) -> None:
        self.catch_up()
        failed, self.failed = self.failed, []
        if failed:
            reports = [report for one in failed for report in one.reports]
            raise DeviceError.of(reports, [one.diagnostic for one in failed if one.diagnostic is not None])

    def close(self) -> None: ...
