"""Streams, events, waits across streams and contexts, host calls, and how long it all takes."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int64, Pointer, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext, DeviceStream
from weft.lang.intrinsics import inline_asm


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    if global_idx.x < size:
        vector[global_idx.x] += scalar


@kernel
def spin(out: Pointer[Int64], nanoseconds: Int64):
    """Note when it began and, after so long, when it ended."""
    if thread_idx.x == 0:
        begun = inline_asm("mov.u64 $0, %globaltimer;", Int64, constraints="=l")
        now = begun
        while now - begun < nanoseconds:
            now = inline_asm("mov.u64 $0, %globaltimer;", Int64, constraints="=l")
        out[0] = begun
        out[1] = now


def read(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out.tolist()


def test_priorities(any_context: DeviceContext) -> None:
    least, greatest = any_context.stream_priority_range()
    assert least >= greatest
    for priority in (least, greatest, -1000, 1000, 0):
        with any_context.create_stream(priority=priority) as stream:
            assert stream.priority == priority
            seen: list[int] = []
            stream.enqueue_host_call(lambda seen=seen: seen.append(1))
            stream.synchronize()
            assert seen == [1]
    wrong: Any = "high"
    with pytest.raises(LaunchError, match="priority is an int, not 'high'"):
        any_context.create_stream(priority=wrong)


@pytest.mark.host_waits
def test_waits_across_streams(any_context: DeviceContext) -> None:
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 100)
    ctx.compile_function(scalar_add)  # loading code may wait for what runs
    release = threading.Event()
    with ctx.create_stream() as first, ctx.create_stream() as second:
        buffer.enqueue_fill(0)
        first.enqueue_wait_for(ctx)
        first.enqueue_host_call(release.wait)
        ctx.enqueue_function(scalar_add, buffer, 100, 1.0, grid_dim=1, block_dim=128, stream=first)
        event = first.record_event()
        second.enqueue_wait_for(event)
        ctx.enqueue_fill(buffer[:50], 5, stream=second)
        ctx.enqueue_wait_for(second)
        ctx.enqueue_function(scalar_add, buffer, 100, 1.0, grid_dim=1, block_dim=128)
        last = ctx.record_event()
        time.sleep(0.02)
        assert not event.done
        assert not last.done
        release.set()
        assert read(ctx, buffer) == [6.0] * 50 + [2.0] * 50
        assert event.done
        assert last.seconds_since(event) >= 0


@pytest.mark.host_waits
@pytest.mark.parametrize("far", ["same", "cpu"])
def test_waits_across_contexts(any_context: DeviceContext, far: str) -> None:
    ctx = any_context
    with DeviceContext(api=ctx.api if far == "same" else "cpu") as other:
        order: list[str] = []
        release = threading.Event()
        other.enqueue_host_call(lambda: (release.wait(), order.append("first")))
        ctx.enqueue_wait_for(other)
        ctx.enqueue_host_call(lambda: order.append("second"))
        other.enqueue_wait_for(ctx)
        other.enqueue_host_call(lambda: order.append("third"))
        time.sleep(0.02)
        assert order == []
        release.set()
        other.synchronize()
        assert order == ["first", "second", "third"]


def test_host_calls(any_context: DeviceContext) -> None:
    ctx = any_context
    host = ctx.enqueue_create_host_buffer(Float32, 4)
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    seen: list[float] = []
    for n in range(3):
        buffer.enqueue_fill(n)
        ctx.enqueue_copy(dst=host, src=buffer)
        ctx.enqueue_host_call(lambda: seen.append(float(host[3])))
    ctx.synchronize()
    assert seen == [0.0, 1.0, 2.0]
    ctx.enqueue_host_call(lambda: 1 // 0)
    with pytest.raises(DeviceError, match="ZeroDivisionError"):
        ctx.synchronize()
    ctx.synchronize()


def test_refusals(any_context: DeviceContext) -> None:
    ctx = any_context
    wrong: Any = 3
    with pytest.raises(LaunchError, match="waits for an event, a stream or a context, not for 3"):
        ctx.enqueue_wait_for(wrong)
    with pytest.raises(LaunchError, match="takes a function without arguments, not 3"):
        ctx.enqueue_host_call(wrong)
    with pytest.raises(LaunchError, match="1 or more, not 0"):
        ctx.execution_time(lambda ctx: None, 0)
    with (
        DeviceContext(api=ctx.api) as other,
        other.create_stream() as stream,
        pytest.raises(LaunchError, match="another context"),
    ):
        ctx.record_event(stream=stream)


def test_execution_time(any_context: DeviceContext) -> None:
    ran: list[DeviceContext] = []

    def work(ctx: DeviceContext) -> None:
        ctx.enqueue_host_call(lambda: (ran.append(ctx), time.sleep(2e-3)))

    assert 10e6 <= any_context.execution_time(work, 5) < 10e9
    assert ran == [any_context] * 5


def test_two_streams_run_at_once(any_context: DeviceContext) -> None:
    """Each calls a function that returns once the other has been called."""
    barrier = threading.Barrier(2)
    if any_context.api == "cuda":
        pytest.skip("the driver calls host functions one after the other; kernels are tested below")
    with any_context.create_stream() as first, any_context.create_stream() as second:
        first.enqueue_host_call(lambda: barrier.wait(10))
        second.enqueue_host_call(lambda: barrier.wait(10))
        first.synchronize()
        second.synchronize()


@pytest.mark.gpu
def test_two_kernels_overlap() -> None:
    """By the GPU's own clock, kernels of two streams run at the same time, those of one do not."""
    with DeviceContext(api="cuda") as ctx, ctx.create_stream() as first, ctx.create_stream() as second:
        one, two = ctx.enqueue_create_buffer(Int64, 2), ctx.enqueue_create_buffer(Int64, 2)

        def together(streams: tuple[DeviceStream, DeviceStream]) -> int:
            """Nanoseconds for which both ran."""
            for buffer, stream in zip((one, two), streams, strict=True):
                ctx.enqueue_function(spin, buffer, 5_000_000, grid_dim=1, block_dim=32, stream=stream)
            for stream in streams:
                stream.synchronize()
            (a, b), (c, d) = read(ctx, one), read(ctx, two)
            return min(b, d) - max(a, c)

        together((first, second))
        assert together((first, second)) > 3_000_000
        assert together((first, first)) <= 0


@pytest.mark.gpu
def test_execution_time_is_the_gpu_s() -> None:
    with DeviceContext(api="cuda") as ctx:
        out = ctx.enqueue_create_buffer(Int64, 2)

        def launch(ctx: DeviceContext) -> None:
            ctx.enqueue_function(spin, out, 10_000_000, grid_dim=1, block_dim=32)

        ctx.execution_time(launch)
        assert 29e6 <= ctx.execution_time(launch, 3) < 60e6  # its clock may tick once a millisecond
