"""A device API that no room of weft has heard of: its driver is all that has to be written.

The device played here has memory of its own, which only its copies reach, and runs the CPU's machine code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, LaunchError, Pointer, Tensor, cpu, func, kernel
from weft.abi.artifact import Artifact
from weft.diagnostics import DeviceError
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.runtime import drivers
from weft.runtime.cpu.native import CpuFunction, externals, run_launch
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
    anew,
)
from weft.runtime.host_event import HostEvent
from weft.runtime.printing import Console
from weft.runtime.recorded import RecordedCapture
from weft.sys import has_accelerator

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

    def open(self, device_id: int) -> PlayedDevice:
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

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[CpuFunction, ...]:
        [kernel] = artifact.kernels
        code = self.driver.load_object(artifact.code, [kernel.entry], externals())
        return (CpuFunction(kernel, code.addresses[0], code.keep),)

    def close(self) -> None: ...


class PlayedStream:
    native = None

    def __init__(self, device: PlayedDevice) -> None:
        self.device = device

    def copy(self, copy: Copy) -> None:
        ends = zip(copy.kind.split("2"), (copy.src, copy.dst), reversed(copy.devices or ()), strict=False)
        for letter, address, device in ends:
            assert isinstance(device, PlayedDevice)
            assert device.has(address) == (letter == "d")
        if copy.devices is None:
            assert self.device.has(copy.src) == (copy.kind[0] == "d")
            assert self.device.has(copy.dst) == (copy.kind[2] == "d")
        self.device.copies.append(copy.kind)
        ctypes.memmove(copy.dst, copy.src, copy.nbytes)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        ctypes.memmove(address, pattern * count, len(pattern) * count)

    def launch(self, launch: Launch) -> None:
        assert run_launch(launch, Console()) is None

    def call(self, function: Callable[[], object]) -> None:
        function()

    def record(self) -> HostEvent:
        event = HostEvent()
        event.reach()
        return event

    def wait(self, event: Event) -> None:
        event.synchronize()

    def follow(self, other: Stream) -> None:
        other.synchronize()

    def synchronize(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def apis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for api in ("toy", "other"):
        monkeypatch.setitem(drivers.DRIVERS, api, partial(PlayedDriver, api))
    yield
    drivers._made.cache_clear()  # pyright: ignore[reportPrivateUsage]


def played(ctx: DeviceContext) -> PlayedDevice:
    assert isinstance(ctx.device, PlayedDevice)
    return ctx.device


@kernel
def double(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] *= 2.0


@kernel
def add_one(x: LayoutTensor[Float32]):
    x[global_idx.y, global_idx.x] += 1.0


@func
def first(x: Pointer[Float32]) -> Float32:
    return x[0]


def values(count: int = 5) -> npt.NDArray[np.float32]:
    return np.arange(count, dtype=np.float32)


def test_buffers_copies_fills_and_launches() -> None:
    ctx = DeviceContext(1, api="toy")
    assert repr(ctx) == "<DeviceContext toy:1, Played 1 of toy>"
    buffer = ctx.enqueue_create_buffer(Float32, 5)
    ctx.enqueue_copy(dst=buffer, src=values())
    ctx.enqueue_function(double, buffer, 5, grid_dim=2, block_dim=4)
    ctx.enqueue_function(double, buffer, 5, over=5)
    with buffer.map_to_host() as host:
        assert list(host) == list(values() * 4)
    ctx.enqueue_fill(buffer, 7.0)
    found = values()
    ctx.enqueue_copy(dst=found, src=buffer)
    ctx.synchronize()
    assert list(found) == [7.0] * 5
    assert played(ctx).copies[0] == "h2d"
    assert played(ctx).copies[-1] == "d2h"


def test_many_launches_stay_launches_by_python() -> None:
    ctx = DeviceContext(api="toy")
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    ctx.enqueue_fill(buffer, 1.0)
    for _ in range(20):
        ctx.enqueue_function(double, buffer, 3, over=3)
    with buffer.map_to_host() as host:
        assert list(host) == [2.0**20] * 3


def test_streams_events_calls_and_graphs() -> None:
    ctx = DeviceContext(api="toy")
    called: list[int] = []
    buffer = ctx.enqueue_create_buffer(Float32, 2)
    ctx.enqueue_fill(buffer, 3.0)
    with ctx.create_stream() as stream:
        start = stream.record()
        ctx.enqueue_function(double, buffer, 2, over=2, stream=stream)
        stream.enqueue_host_call(lambda: called.append(1))
        ctx.enqueue_wait_for(stream)
        assert ctx.record_event().seconds_since(start) >= 0
    with ctx.capture() as graph:
        ctx.enqueue_function(double, buffer, 2, over=2)
        ctx.enqueue_host_call(lambda: called.append(2))
    assert called == [1]
    graph.replay()
    graph.replay()
    with buffer.map_to_host() as host:
        assert list(host) == [24.0, 24.0]
    assert called == [1, 2, 2]


@pytest.mark.parametrize(("one", "two"), [("toy", "cpu"), ("cpu", "toy"), ("toy", "other"), ("toy", "toy")])
def test_copies_between_devices(one: str, two: str) -> None:
    here, there = DeviceContext(0, api=one), DeviceContext(int(two == "toy"), api=two)
    src, dst = here.enqueue_create_buffer(Float32, 5), there.enqueue_create_buffer(Float32, 5)
    here.enqueue_copy(dst=src, src=values())
    here.enqueue_copy(dst=dst, src=src)
    with dst.map_to_host() as host:
        assert list(host) == list(values())
    pinned = here.enqueue_create_host_buffer(Float32, 5)
    there.enqueue_copy(dst=pinned, src=dst)
    there.synchronize()
    here.synchronize()
    assert list(pinned) == list(values())


def test_a_graph_holds_no_copy_between_two_apis_that_share_nothing() -> None:
    here, there = DeviceContext(api="toy"), DeviceContext(api="other")
    src, dst = here.enqueue_create_buffer(Float32, 5), there.enqueue_create_buffer(Float32, 5)
    with pytest.raises(LaunchError) as caught, here.capture():
        here.enqueue_copy(dst=dst, src=src)
    assert caught.value.diagnostics[0].code == "capture-copy"


def test_peers() -> None:
    one, two = DeviceContext(0, api="toy"), DeviceContext(1, api="toy")
    buffer = two.enqueue_create_buffer(Float32, 2)
    with pytest.raises(LaunchError, match="belongs to another context"):
        one.enqueue_function(double, buffer, 2, over=2)
    one.enable_peer_access(two)
    two.enqueue_fill(buffer, 1.0)
    one.enqueue_function(double, buffer, 2, over=2)
    with buffer.map_to_host() as host:
        assert list(host) == [2.0, 2.0]
    assert not one.can_access(DeviceContext(api="cpu"))
    assert not one.can_access(DeviceContext(api="other"))


def test_tensors() -> None:
    ctx = DeviceContext(api="toy")
    image = Tensor.from_numpy(values(6).reshape(2, 3)).to(ctx)
    ctx.enqueue_function(add_one, image, grid_dim=(3, 2), block_dim=1)
    assert np.array_equal(image.to(cpu()).numpy(), values(6).reshape(2, 3) + 1)
    with pytest.raises(LaunchError, match="reading elements needs them on the CPU"):
        image[0, 0]
    with pytest.raises(
        LaunchError, match="__dlpack__ needs them on the CPU; this tensor is on Played 0 of toy"
    ):
        image.__dlpack__()
    assert not hasattr(image, "__cuda_array_interface__")


def test_memory_of_the_host_is_not_its_own() -> None:
    ctx = DeviceContext(api="toy")
    with pytest.raises(LaunchError) as caught:
        ctx.enqueue_function(double, values(), 5, over=5)
    assert "NumPy array of Float32 on the host" in str(caught.value)
    assert "on toy:0" in str(caught.value)
    buffer = ctx.enqueue_create_buffer(Float32, 2)
    with pytest.raises(LaunchError, match="is memory of Played 0 of toy, but calls from Python run on the"):
        cast("Any", first)(buffer)


def test_it_is_an_accelerator_with_limits() -> None:
    assert has_accelerator()
    ctx = DeviceContext(api="toy")
    buffer = ctx.enqueue_create_buffer(Float32, 2)
    with pytest.raises(LaunchError, match="Played 0 of toy allows 64 per block"):
        ctx.enqueue_function(double, buffer, 2, grid_dim=1, block_dim=65)
    with pytest.raises(DeviceError, match="Played 0 of toy"):
        ctx.enqueue_create_buffer(Float32, MEMORY)
