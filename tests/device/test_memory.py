"""Buffers, copies, fills, streams and events, the same on every device."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from weft.diagnostics import DeviceError, LaunchError
from weft.gpu.host import DeviceContext

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


@pytest.fixture
def gpu() -> Iterator[DeviceContext]:
    with DeviceContext(api="cuda") as context:
        yield context


@pytest.mark.parametrize("name", TYPES)
def test_copies_of_every_direction_and_type(any_context: DeviceContext, name: str) -> None:
    ctx = any_context
    values = np.random.default_rng(1).integers(0, 2 if name == "bool" else 100, 77).astype(name)
    one, two = ctx.enqueue_create_buffer(name, 77), ctx.enqueue_create_buffer(name, 77)
    first, second = ctx.enqueue_create_host_buffer(name, 77), ctx.enqueue_create_host_buffer(name, 77)
    out, again = np.zeros_like(values), np.zeros_like(values)
    ctx.enqueue_copy(dst=first, src=values)
    ctx.enqueue_copy(dst=second, src=first)
    ctx.enqueue_copy(dst=one, src=second)
    ctx.enqueue_copy(two, one)
    two.enqueue_copy_to(out)
    first.enqueue_copy_from(two)
    first.enqueue_copy_to(again)
    ctx.synchronize()
    assert np.array_equal(out, values)
    assert np.array_equal(again, values)
    assert np.array_equal(np.asarray(first), values)
    assert one.address % 256 == 0


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("size", [0, 1, 5, 300_001])
def test_fill(any_context: DeviceContext, name: str, size: int) -> None:
    value = {"bool": True, "int8": -3, "float16": 1.5, "float32": -0.1, "float64": 0.1}.get(name, 77)
    host = any_context.enqueue_create_host_buffer(name, size)
    device = any_context.enqueue_create_buffer(name, size)
    host.enqueue_fill(value)
    device.enqueue_fill(value)
    out = np.empty(size, name)
    device.enqueue_copy_to(out)
    any_context.synchronize()
    assert np.array_equal(np.asarray(host), np.full(size, value, name))
    assert np.array_equal(out, np.full(size, value, name))


def test_fill_part(any_context: DeviceContext) -> None:
    device = any_context.enqueue_create_buffer("float64", 40_000)
    device.enqueue_fill(0.1)
    device[2:4].enqueue_fill(-2.5)
    device.sub_buffer(39_998, 2).enqueue_fill(0.7)
    with device.map_to_host() as host:
        assert list(host[:5]) == [0.1, 0.1, -2.5, -2.5, 0.1]
        assert list(host[-3:]) == [0.1, 0.7, 0.7]
        host[0] = 3
    with device.map_to_host() as host:
        assert host[0] == 3


@pytest.mark.parametrize("size", [1, 1000, 5_000_000, 13_000_000])
def test_array_may_change_after_the_call(any_context: DeviceContext, size: int) -> None:
    source = np.random.default_rng(2).random(size)
    expected = source.copy()
    device, out = any_context.enqueue_create_buffer("float64", size), np.empty(size)
    any_context.enqueue_copy(dst=device, src=source)
    source[:] = 0
    any_context.enqueue_copy(dst=out, src=device)
    any_context.synchronize()
    assert np.array_equal(out, expected)


def test_memory_is_used_again_only_when_it_is_free(any_context: DeviceContext) -> None:
    outs = [np.zeros(200_000, np.int32) for _ in range(50)]
    for number, out in enumerate(outs):
        buffer = any_context.enqueue_create_buffer("int32", out.size)
        buffer.enqueue_fill(number)
        buffer.enqueue_copy_to(out)
        del buffer
        if number % 7 == 0:
            gc.collect()
    any_context.synchronize()
    assert all((out == number).all() for number, out in enumerate(outs))


@pytest.mark.host_waits
def test_streams_and_events(any_context: DeviceContext) -> None:
    ctx = any_context
    order: list[str] = []
    release = threading.Event()
    buffer = ctx.enqueue_create_host_buffer("int32", 4)
    with ctx.create_stream() as first, ctx.create_stream(priority=-1) as second:
        ctx.enqueue_fill(buffer, 1, stream=first)
        first.native.call(release.wait)
        first.native.call(lambda: order.append("first"))
        event = first.record()
        second.wait(event)
        second.native.call(lambda: order.append("second"))
        assert not event.done
        release.set()
        second.synchronize()
        assert event.done
        assert first.record().seconds_since(event) >= 0
    assert order == ["first", "second"]
    assert list(buffer) == [1] * 4
    with pytest.raises(LaunchError, match="stream is closed"):
        ctx.enqueue_fill(buffer, 1, stream=first)


def test_function_on_a_stream_raises_at_the_wait(any_context: DeviceContext) -> None:
    any_context.stream.call(lambda: 1 // 0)
    with pytest.raises(DeviceError, match="ZeroDivisionError") as failed:
        any_context.synchronize()
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    any_context.stream.call(any_context.synchronize)
    with pytest.raises(DeviceError, match="cannot wait for that stream"):
        any_context.synchronize()
    any_context.synchronize()


def test_closing(any_context: DeviceContext) -> None:
    done: list[int] = []
    any_context.stream.call(lambda: done.append(1))
    any_context.close()
    any_context.close()
    assert done == [1]
    with pytest.raises(LaunchError, match="closed"):
        any_context.synchronize()


def test_no_memory(any_context: DeviceContext) -> None:
    with pytest.raises(DeviceError, match=r"no memory on .* for 8\.0 PiB; .* are free"):
        any_context.enqueue_create_buffer("float64", 1 << 50)


def test_many_threads(any_context: DeviceContext) -> None:
    ctx = any_context
    wrong: list[int] = []

    def work(number: int) -> None:
        with ctx.create_stream() as stream:
            out = np.zeros(1000, np.int32)
            for _ in range(50):
                buffer = ctx.enqueue_create_buffer("int32", 1000)
                ctx.enqueue_fill(buffer, number, stream=stream)
                ctx.enqueue_copy(dst=out, src=buffer, stream=stream)
                stream.synchronize()
                if not (out == number).all():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.gpu
@pytest.mark.gpu_memory
def test_free_memory_comes_back(gpu: DeviceContext, under_sanitizer: bool) -> None:
    """A pool keeps what buffers gave up, and gives it to whoever needs it in another size."""
    if under_sanitizer:
        pytest.skip("compute-sanitizer takes memory for what it notes of ours")
    free, total = gpu.memory_info()
    assert 0 < free <= total
    size = int(free * 0.6)
    first = gpu.enqueue_create_buffer("uint8", size)
    first.enqueue_fill(1)
    assert gpu.memory_info()[0] < free - size // 2
    with pytest.raises(DeviceError, match=r"no memory on NVIDIA .* GiB; .* GiB are free"):
        gpu.enqueue_create_buffer("uint8", size)
    first.close()
    second = gpu.enqueue_create_buffer("uint8", size // 2)
    third = gpu.enqueue_create_buffer("uint8", size // 2 + (64 << 20))
    second.enqueue_fill(2)
    third.enqueue_fill(3)
    gpu.synchronize()
    del second, third
    assert abs(gpu.memory_info()[0] - free) < 1 << 30


@pytest.mark.gpu
@pytest.mark.gpu_memory
def test_allocation_waits_for_memory_in_use(gpu: DeviceContext) -> None:
    free = gpu.memory_info()[0]
    size = int(free * 0.3)
    for number in range(8):
        buffer = gpu.enqueue_create_buffer("uint8", size)
        buffer.enqueue_fill(number)
        del buffer
    gpu.synchronize()


@pytest.mark.gpu
def test_copies_overlap_with_the_host(gpu: DeviceContext) -> None:
    host = gpu.enqueue_create_host_buffer("uint8", 1 << 28)
    device = gpu.enqueue_create_buffer("uint8", 1 << 28)
    gpu.synchronize()
    start = time.perf_counter()
    for _ in range(8):
        gpu.enqueue_copy(dst=device, src=host)
    queued = time.perf_counter() - start
    gpu.synchronize()
    ended = time.perf_counter() - start
    assert queued < ended / 4


@pytest.mark.gpu
def test_info(gpu: DeviceContext) -> None:
    info = gpu.info
    assert info.name.startswith("NVIDIA")
    assert info.target.startswith("sm_")
    assert info.warp_size == 32
    assert info.max_threads_per_block == 1024
    assert info.max_shared_bytes >= 64 << 10
    assert gpu.api == "cuda"
    assert DeviceContext.number_of_devices() >= 1
    assert DeviceContext().api == "cuda"
    with pytest.raises(DeviceError, match="there is no device 99 of api 'cuda'; this machine has"):
        DeviceContext(99, api="cuda")
