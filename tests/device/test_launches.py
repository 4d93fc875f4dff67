"""Repeated launches: those that the native stub makes do what the first ones did."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Float32, Float64, Int, Int8, Int32, Pointer, UInt64, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.layout import Layout, LayoutTensor


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    idx = block_idx.x * block_dim.x + thread_idx.x
    if idx < size:
        vector[idx] += scalar


@kernel
def store(out: Pointer[Float64], a: Int8, b: UInt64, c: Float64, d: Int32, *, e: Comptime[int]):
    if global_idx.x == 0:
        out[0] = Float64(a)
        out[1] = Float64(b)
        out[2] = c
        out[3] = Float64(d)
        out[4] = Float64(e)
        out[5] = Float64(grid_dim.x * 1000 + block_dim.x)


@kernel
def claims(n: Int):
    assert global_idx.x < n, "too many threads"


@kernel
def tell(n: Int):
    print("n is", n)


def read(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out


def test_many_launches(any_context: DeviceContext) -> None:
    ctx = any_context
    buffers = [ctx.enqueue_create_buffer(Float32, 1000) for _ in range(3)]
    for buffer in buffers:
        buffer.enqueue_fill(0)
    for n in range(100):
        for number, buffer in enumerate(buffers):
            ctx.enqueue_function(scalar_add, buffer, 500 + n, number + 0.5, grid_dim=4, block_dim=256)
    expected = np.array([max(0, min(100, 599 - i)) for i in range(1000)], np.float32)
    for number, buffer in enumerate(buffers):
        np.testing.assert_array_equal(read(ctx, buffer), expected * np.float32(number + 0.5))


def test_all_kinds_of_arguments(any_context: DeviceContext) -> None:
    ctx = any_context
    out = ctx.enqueue_create_buffer(Float64, 6)
    rng = random.Random(0)
    for n in range(60):
        a, d = rng.randrange(-128, 128), rng.randrange(-(2**31), 2**31)
        b = rng.randrange(2**64)
        c = rng.gauss() if n % 3 else n
        e, grid, block = n % 4, 1 + n % 7, 32 * (1 + n % 5)
        dims: tuple[Any, Any] = (grid, block) if n % 2 else ((grid,), Dim(block))
        if n % 5 == 0:
            ctx.enqueue_function(store, out, a, b, c, d=d, e=e, grid_dim=dims[0], block_dim=dims[1])
        else:
            ctx.enqueue_function(store, out, a, b, c, d, grid_dim=dims[0], block_dim=dims[1], e=e)
        assert read(ctx, out).tolist() == [a, float(b), c, d, e, grid * 1000 + block]


@kernel
def shift(source: LayoutTensor[Float32], out: LayoutTensor[Float32], by: Float32):
    out[global_idx.y, global_idx.x] = source[global_idx.y, global_idx.x] + by


def test_tensors_over_a_range(any_context: DeviceContext) -> None:
    ctx = any_context
    layout = Layout.row_major(37, 53)
    one, two, three = (ctx.enqueue_create_buffer(Float32, 37 * 53 + 4) for _ in range(3))
    one.enqueue_fill(0)
    a, b = one.tensor(layout), two.tensor(layout)
    for n in range(30):
        ctx.enqueue_function(shift, a, b, 1.0, over=(37, 53))
        a, b = b, a
        if n % 7 == 0:
            ctx.enqueue_function(shift, a, a, 0.5, over=(37, 53))
        if n % 5 == 0:
            moved = three[n % 3 :].tensor(layout)
            ctx.enqueue_function(shift, a, moved, 0.0, over=(37, 53))
            ctx.enqueue_function(shift, moved, a, 0.0, over=(37, 53))
    assert read(ctx, one[: 37 * 53]).tolist() == [32.5] * (37 * 53)


def test_refusals_stay(any_context: DeviceContext) -> None:
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 10)
    buffer.enqueue_fill(0)

    def launch(*args: Any, grid: Any = 1, block: Any = 16) -> None:
        ctx.enqueue_function(scalar_add, *args, grid_dim=grid, block_dim=block)

    for _ in range(20):
        launch(buffer, 10, 1.0)
    closed = ctx.enqueue_create_buffer(Float32, 10)
    closed.close()
    wrong = ctx.enqueue_create_buffer(Float64, 10)
    for args, dims, message in [
        ((closed, 10, 1.0), {}, "is closed"),
        ((wrong, 10, 1.0), {}, "takes a buffer of Float32"),
        ((buffer, 1.5, 1.0), {}, "takes Int"),
        ((buffer, 2**63, 1.0), {}, "9223372036854775808"),
        ((buffer, 10), {}, "scalar"),
        ((buffer, 10, 1.0), {"block": 1025}, "has 1025 threads"),
        ((buffer, 10, 1.0), {"grid": 0}, "grid_dim"),
        ((buffer, 10, 1.0), {"grid": 2**31}, "in x"),
    ]:
        with pytest.raises(LaunchError, match=message):
            launch(*args, **dims)
    with DeviceContext(api=ctx.api) as other:
        foreign = other.enqueue_create_buffer(Float32, 10)
        with pytest.raises(LaunchError, match="another"):
            launch(foreign, 10, 1.0)
    assert read(ctx, buffer).tolist() == [20.0] * 10
    ctx.close()
    with pytest.raises(LaunchError, match="closed"):
        launch(buffer, 10, 1.0)


def test_prints_and_assertions(any_context: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(30):
        any_context.enqueue_function(tell, n, grid_dim=1, block_dim=1)
        any_context.enqueue_function(claims, 32, grid_dim=1, block_dim=32)
    any_context.synchronize()
    assert capsys.readouterr().out.splitlines() == [f"n is {n}" for n in range(30)]
    any_context.enqueue_function(claims, 31, grid_dim=1, block_dim=32)
    with pytest.raises(DeviceError, match="too many threads"):
        any_context.synchronize()


def test_threads_launch_at_once(any_context: DeviceContext) -> None:
    ctx = any_context
    buffers = [ctx.enqueue_create_buffer(Float32, 64) for _ in range(4)]
    for buffer in buffers:
        buffer.enqueue_fill(0)

    def work(buffer: Any) -> None:
        for _ in range(300):
            ctx.enqueue_function(scalar_add, buffer, 64, 1.0, grid_dim=1, block_dim=64)

    threads = [threading.Thread(target=work, args=(buffer,)) for buffer in buffers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for buffer in buffers:
        assert read(ctx, buffer).tolist() == [300.0] * 64


@pytest.mark.host_waits
def test_a_full_queue_lets_other_threads_go_on(any_context: DeviceContext) -> None:
    """A function that the stream waits for needs the interpreter, which the launches must not keep."""
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 64)
    buffer.enqueue_fill(0)
    for _ in range(20):
        ctx.enqueue_function(scalar_add, buffer, 64, 1.0, grid_dim=1, block_dim=64)
    release = threading.Event()
    ctx.stream.call(release.wait)
    threading.Timer(0.2, release.set).start()
    for _ in range(5000):
        ctx.enqueue_function(scalar_add, buffer, 64, 1.0, grid_dim=1, block_dim=64)
    assert read(ctx, buffer).tolist() == [5020.0] * 64


def test_streams_and_threads_without_a_context(any_context: DeviceContext) -> None:
    """Launches on further streams, and of threads in which nothing was done on the device before."""
    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 64)
    buffer.enqueue_fill(0)
    ctx.synchronize()
    streams = [ctx.create_stream() for _ in range(3)]

    def work(stream: Any) -> None:
        for _ in range(100):
            ctx.enqueue_function(scalar_add, buffer, 64, 1.0, grid_dim=1, block_dim=64, stream=stream)
        stream.synchronize()

    for stream in streams:
        thread = threading.Thread(target=work, args=(stream,))
        thread.start()
        thread.join()
    assert read(ctx, buffer).tolist() == [300.0] * 64
    streams[0].close()
    with pytest.raises(LaunchError, match="closed"):
        work(streams[0])
    work(streams[1])
    assert read(ctx, buffer).tolist() == [400.0] * 64


@kernel
def add_twice(x: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = x[i] + 1.0
    out[i] += x[i]


def test_arguments_that_share_memory(any_context: DeviceContext) -> None:
    """A kernel compiled for distinct buffers is not used for one buffer given twice, or for its parts."""
    ctx = any_context
    ctx.compile_function(add_twice)
    one, two = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
    for _ in range(12):
        for x, out, expected in ((one, two, 11.0), (one, one, 12.0), (one[:32], one[:32], 12.0)):
            x.enqueue_fill(5)
            ctx.enqueue_function(add_twice, x, out, grid_dim=1, block_dim=len(x))
            assert read(ctx, out).tolist() == [expected] * len(out)
