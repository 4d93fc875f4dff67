"""A device API that no room of weft has heard of: its driver is all that has to be written.

That driver is ``tests/support/device_played.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from device_played import MEMORY, PlayedDevice, PlayedDriver
from weft import Float32, Int, LaunchError, Pointer, Tensor, cpu, func, kernel
from weft.diagnostics import DeviceError
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.runtime import drivers
from weft.sys import has_accelerator


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
