"""Graphs: what is captured runs at each replay, and only then."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Int32, Pointer, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    if global_idx.x < size:
        vector[global_idx.x] += scalar


@kernel
def scale(vector: Pointer[Float32], size: Int, factor: Float32):
    if global_idx.x < size:
        vector[global_idx.x] *= factor


@kernel
def claims(n: Int):
    assert global_idx.x < n, "too many threads"


def read(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out.tolist()


def add(ctx: DeviceContext, buffer: Any, value: float, **options: Any) -> None:
    ctx.enqueue_function(scalar_add, buffer, len(buffer), value, grid_dim=1, block_dim=64, **options)


def test_capture_and_replay(any_context: DeviceContext) -> None:
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 50)
    buffer.enqueue_fill(0)
    with ctx.capture() as graph:
        for n in range(30):
            add(ctx, buffer, n)
    assert len(graph) == 30
    assert read(ctx, buffer) == [0.0] * 50
    for _ in range(3):
        graph.replay()
    assert read(ctx, buffer) == [3.0 * sum(range(30))] * 50


def test_native_launches_are_captured_and_come_back(any_context: DeviceContext) -> None:
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 50)
    buffer.enqueue_fill(0)
    launch = ctx.enqueue_function
    for _ in range(20):
        add(ctx, buffer, 1)
    with ctx.capture() as graph:
        add(ctx, buffer, 100)
        ctx.enqueue_function(scale, buffer, 50, 2.0, grid_dim=1, block_dim=64)
        ctx.enqueue_function(scale, buffer, 50, 1.0, grid_dim=1, block_dim=64)
    assert len(graph) == 3
    for _ in range(20):
        add(ctx, buffer, 1)
        launch(scalar_add, buffer, 50, 0.5, grid_dim=1, block_dim=64)
    assert read(ctx, buffer) == [50.0] * 50
    graph.replay()
    assert read(ctx, buffer) == [300.0] * 50


def test_copies_fills_and_calls(any_context: DeviceContext) -> None:
    ctx = any_context
    one, two = ctx.enqueue_create_buffer(Int32, 1000), ctx.enqueue_create_buffer(Int32, 1000)
    wide = ctx.enqueue_create_buffer("float64", 7)
    source, target = ctx.enqueue_create_host_buffer(Int32, 1000), ctx.enqueue_create_host_buffer(Int32, 1000)
    array, out, seen = np.arange(500, dtype=np.int32), np.zeros(500, np.int32), list[int]()
    with ctx.capture() as graph:
        ctx.enqueue_copy(dst=one, src=source)
        ctx.enqueue_copy(dst=two, src=one)
        ctx.enqueue_copy(dst=two[:500], src=array)
        ctx.enqueue_fill(two[999:], 7)
        ctx.enqueue_fill(wide, 0.1)
        ctx.enqueue_copy(dst=target, src=two)
        ctx.enqueue_copy(dst=out, src=two[500:])
        ctx.enqueue_host_call(lambda: seen.append(int(target[500])))
    array[:] = -1
    for n in (3, 4):
        source[:] = [n] * 1000
        graph.replay()
        ctx.synchronize()
        assert np.asarray(target).tolist() == [*range(500), *[n] * 499, 7]
        assert out.tolist() == [*[n] * 499, 7]
    assert seen == [3, 4]
    assert read(ctx, wide) == [0.1] * 7


def test_update(any_context: DeviceContext) -> None:
    ctx = any_context

    def broken(buffer: Any) -> None:
        add(ctx, buffer, 100)
        raise ZeroDivisionError

    buffer, other = (ctx.enqueue_create_buffer(Float32, 50) for _ in range(2))
    buffer.enqueue_fill(0)
    other.enqueue_fill(0)
    with ctx.capture() as graph:
        add(ctx, buffer, 1)
        ctx.enqueue_host_call(lambda: None)
    graph.replay()
    with graph.update() as same:  # the same form
        add(ctx, other, 2)
        ctx.enqueue_host_call(lambda: None)
    assert same is graph
    graph.replay()
    with graph.update():  # another form
        add(ctx, other, 4)
        ctx.enqueue_fill(buffer, 9)
        add(ctx, buffer, 4)
    graph.replay()
    with pytest.raises(ZeroDivisionError), graph.update():
        broken(other)
    graph.replay()
    assert read(ctx, buffer) == [13.0] * 50
    assert read(ctx, other) == [10.0] * 50


def test_a_graph_keeps_what_it_uses(any_context: DeviceContext) -> None:
    ctx = any_context
    out = ctx.enqueue_create_buffer(Float32, 50)
    buffer = ctx.enqueue_create_buffer(Float32, 50)
    buffer.enqueue_fill(1)
    with ctx.capture() as graph:
        add(ctx, buffer, 1)
        ctx.enqueue_copy(dst=out, src=buffer)
    buffer.close()
    del buffer
    gc.collect()
    ctx.synchronize()
    others = [ctx.enqueue_create_buffer(Float32, 50) for _ in range(20)]
    for other in others:
        other.enqueue_fill(5)
    graph.replay()
    assert read(ctx, out) == [2.0] * 50
    graph.replay()
    del graph  # while it may still run
    gc.collect()
    assert read(ctx, out) == [3.0] * 50
    assert all(read(ctx, other) == [5.0] * 50 for other in others)


def test_streams_within_a_capture(any_context: DeviceContext) -> None:
    ctx = any_context
    one, two = (ctx.enqueue_create_buffer(Float32, 50) for _ in range(2))
    with ctx.create_stream() as side, ctx.create_stream(priority=-1) as elsewhere:
        with ctx.capture() as graph:
            ctx.enqueue_fill(one, 1)
            ctx.enqueue_fill(two, 10, stream=side)
            side.enqueue_wait_for(ctx)
            add(ctx, one, 1, stream=side)
            event = side.record_event()
            add(ctx, two, 1, stream=side)
            ctx.enqueue_wait_for(event)
            add(ctx, one, 1)
        graph.replay(stream=elsewhere)
        ctx.enqueue_wait_for(elsewhere)
        assert read(ctx, one) == [3.0] * 50
        assert read(ctx, two) == [11.0] * 50
        with pytest.raises(LaunchError, match="reached only in replays"):
            event.synchronize()
        with pytest.raises(LaunchError, match="reached only in replays"):
            ctx.enqueue_wait_for(event)
        outside = side.record_event()
        with ctx.capture() as graph, pytest.raises(LaunchError, match="outside of it"):
            ctx.enqueue_wait_for(outside)
        add(ctx, two, 1, stream=side)
        side.synchronize()
        assert read(ctx, two) == [12.0] * 50


def test_refusals(any_context: DeviceContext) -> None:
    ctx = any_context

    def broken(buffer: Any) -> None:
        add(ctx, buffer, 100)
        raise ZeroDivisionError

    buffer = ctx.enqueue_create_buffer(Float32, 50)
    buffer.enqueue_fill(0)
    with ctx.capture() as graph:
        for message, act in [
            ("allocates no memory", lambda: ctx.enqueue_create_buffer(Float32, 5)),
            ("allocates no memory", lambda: ctx.enqueue_create_host_buffer(Float32, 5)),
            ("nothing to wait for", ctx.synchronize),
            ("nothing to wait for", lambda: ctx.execution_time(lambda ctx: None)),
            ("capturing a graph already", lambda: ctx.capture().__enter__()),
            ("not replayed within", graph.replay),
        ]:
            with pytest.raises(LaunchError, match=message):
                act()
        with pytest.raises(LaunchError, match="allocates no memory"), buffer.map_to_host():
            pass
        add(ctx, buffer, 1)
    graph.replay()
    assert read(ctx, buffer) == [1.0] * 50
    with pytest.raises(ZeroDivisionError), ctx.capture() as graph:
        broken(buffer)
    with pytest.raises(LaunchError, match="holds nothing"):
        graph.replay()
    graph.close()
    with pytest.raises(LaunchError, match="is closed"):
        graph.replay()
    with DeviceContext(api=ctx.api) as other, other.create_stream() as stream:
        with ctx.capture() as graph:
            add(ctx, buffer, 1)
        with pytest.raises(LaunchError, match="another context"):
            graph.replay(stream=stream)
    capture = ctx.capture()
    capture.__enter__()
    ctx.close()
    capture.__exit__(None, None, None)


def test_failures_surface_at_the_wait(any_context: DeviceContext) -> None:
    ctx = any_context
    with ctx.capture() as graph:
        ctx.enqueue_function(claims, 31, grid_dim=1, block_dim=32)
        ctx.enqueue_host_call(lambda: 1 // 0)
    for _ in range(2):
        graph.replay()
        with pytest.raises(DeviceError, match="ZeroDivisionError") as raised:
            ctx.synchronize()
        assert "too many threads" in str(raised.value)


def test_capture_in_a_context_that_is_busy(any_context: DeviceContext) -> None:
    """Another context of the same device allocates, frees and waits while this one captures."""
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 50)
    buffer.enqueue_fill(0)
    with DeviceContext(api=ctx.api) as other, ctx.capture() as graph:
        for _ in range(3):
            temporary = other.enqueue_create_buffer(Float32, 50)
            temporary.enqueue_fill(2)
            add(ctx, buffer, 1)
            add(other, temporary, 1)
            assert read(other, temporary) == [3.0] * 50
            del temporary
    graph.replay()
    assert read(ctx, buffer) == [3.0] * 50
