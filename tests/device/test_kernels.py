"""Kernels give the same on every device, and what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import (
    Comptime,
    Float16,
    Float32,
    Float64,
    Int,
    Int8,
    Int32,
    Int64,
    Pointer,
    UInt64,
    kernel,
    struct,
    unroll,
)
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.layout import Layout, LayoutTensor


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    idx = block_idx.x * block_dim.x + thread_idx.x
    if idx < size:
        vector[idx] += scalar


@kernel
def grayscale(width: Int, height: Int, image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    if col < width and row < height:
        out[row, col] = 0.299 * image[row, col, 0] + 0.587 * image[row, col, 1] + 0.114 * image[row, col, 2]


@kernel
def downsample(image: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int]):
    row, col = global_idx.y, global_idx.x
    for channel in unroll(range(3)):
        total = 0.0
        for dy in range(factor):
            for dx in range(factor):
                total += image[row * factor + dy, col * factor + dx, channel]
        out[row, col, channel] = total / (factor * factor)


@struct
class Affine:
    scale: Float64
    offset: Int32

    def apply(self, x: Float64) -> Float64:
        return x * self.scale + self.offset


@kernel
def apply_affine(x: Pointer[Float64], n: Int, affine: Affine):
    i = global_idx.x
    if i < n:
        x[i] = affine.apply(x[i])


@kernel
def extents(out: Pointer[Int32]):
    out[0] = Int32(grid_dim.x)
    out[1] = Int32(grid_dim.y)
    out[2] = Int32(grid_dim.z)
    out[3] = Int32(block_dim.x)
    out[4] = Int32(block_dim.y)
    out[5] = Int32(block_dim.z)


@kernel
def where(out: Pointer[Int32], width: Int, height: Int):
    x, y, z = global_idx.x, global_idx.y, global_idx.z
    out[x + width * (y + height * z)] += Int32(x + 1000 * y + 1000000 * z)


@kernel
def greet(n: Int):
    if thread_idx.x < n:
        print("block:", block_idx.x, "thread:", thread_idx.x)


def copied(ctx: DeviceContext, values: np.ndarray[Any, Any]) -> Any:
    buffer = ctx.enqueue_create_buffer(values.dtype.name, values.size)
    ctx.enqueue_copy(dst=buffer, src=np.ascontiguousarray(values))
    return buffer


def back(ctx: DeviceContext, buffer: Any) -> np.ndarray[Any, Any]:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out


@pytest.mark.parametrize("over", [0, (0,), (0, 5), (5, 0), (2, 0, 3)])
def test_an_empty_range_launches_nothing(any_context: DeviceContext, over: int | tuple[int, ...]) -> None:
    @kernel
    def one(x: Pointer[Float32]):
        x[0] = 1.0

    ctx = any_context
    buffer = ctx.enqueue_create_buffer(Float32, 1)
    buffer.enqueue_fill(7.0)
    for _ in range(12):  # also past the first launches, which Python makes
        ctx.enqueue_function(one, buffer, over=over)
    with buffer.map_to_host() as host:
        assert list(host) == [7.0]
    with pytest.raises(LaunchError, match="negative"):
        ctx.enqueue_function(one, buffer, over=-1)


def test_scalar_add(any_context: DeviceContext) -> None:
    ctx = any_context
    host = ctx.enqueue_create_host_buffer(Float32, 20)
    host[:] = range(20)
    device = ctx.enqueue_create_buffer(Float32, 20)
    ctx.enqueue_copy(dst=device, src=host)
    ctx.enqueue_function(scalar_add, device, 20, 20.0, grid_dim=1, block_dim=20)
    ctx.enqueue_copy(dst=host, src=device)
    ctx.synchronize()
    assert repr(host) == f"HostBuffer([{', '.join(f'{i}.0' for i in range(20, 40))}])"


@pytest.mark.parametrize(("height", "width"), [(1, 1), (37, 53), (512, 384)])
def test_grayscale(any_context: DeviceContext, height: int, width: int) -> None:
    ctx = any_context
    image = np.random.default_rng(0).random((height, width, 3), np.float32)
    source, gray = copied(ctx, image), ctx.enqueue_create_buffer("float32", height * width)
    ctx.enqueue_function(
        grayscale,
        width,
        height,
        source.tensor(Layout.row_major(height, width, 3)),
        gray.tensor(Layout.row_major(height, width)),
        grid_dim=(-(-width // 16), -(-height // 16)),
        block_dim=(16, 16),
    )
    expected = image @ np.array([0.299, 0.587, 0.114], np.float32)
    np.testing.assert_allclose(back(ctx, gray).reshape(height, width), expected, rtol=1e-6)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (37, 53), (100, 700)])
def test_downsample_over(any_context: DeviceContext, height: int, width: int, factor: int) -> None:
    ctx = any_context
    image = np.random.default_rng(0).random((height * factor, width * factor, 3), np.float32)
    source, small = copied(ctx, image), ctx.enqueue_create_buffer("float32", height * width * 3)
    ctx.enqueue_function(
        downsample,
        source.tensor(Layout.row_major(height * factor, width * factor, 3)),
        small.tensor(Layout.row_major(height, width, 3)),
        factor=factor,
        over=(height, width),
    )
    expected = image.reshape(height, factor, width, factor, 3).astype(np.float64).mean(axis=(1, 3))
    np.testing.assert_allclose(back(ctx, small).reshape(height, width, 3), expected, rtol=1e-5)


def test_struct(any_context: DeviceContext) -> None:
    values = np.random.default_rng(0).random(1000)
    buffer = copied(any_context, values)
    any_context.enqueue_function(
        apply_affine, buffer, 1000, Affine(Float64(2.5), Int32(-7)), grid_dim=4, block_dim=256
    )
    np.testing.assert_allclose(back(any_context, buffer), values * 2.5 - 7, rtol=1e-15)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    grid=st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 4)),
    block=st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(1, 4)),
)
def test_every_thread_runs_once(
    any_context: DeviceContext, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    ctx = any_context
    width, height, depth = (g * b for g, b in zip(grid, block, strict=True))
    out, sizes = (
        ctx.enqueue_create_buffer("int32", width * height * depth),
        copied(ctx, np.zeros(6, np.int32)),
    )
    out.enqueue_fill(0)
    ctx.enqueue_function(where, out, width, height, grid_dim=grid, block_dim=Dim(*block))
    ctx.enqueue_function(extents, sizes, grid_dim=grid, block_dim=block)
    z, y, x = np.indices((depth, height, width))
    assert np.array_equal(back(ctx, out).reshape(depth, height, width), x + 1000 * y + 1000000 * z)
    assert tuple(back(ctx, sizes)) == (*grid, *block)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(1, 70), min_size=1, max_size=3))
def test_over_covers_the_range(any_context: DeviceContext, sizes: list[int]) -> None:
    ctx = any_context
    depth, height, width = [1] * (3 - len(sizes)) + sizes
    out = ctx.enqueue_create_buffer("int32", width * height * depth)
    out.enqueue_fill(0)
    ctx.enqueue_function(where, out, width, height, over=tuple(sizes))
    z, y, x = np.indices((depth, height, width))
    assert np.array_equal(back(ctx, out).reshape(depth, height, width), x + 1000 * y + 1000000 * z)


def test_prints_arrive_at_the_wait(any_context: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    any_context.enqueue_function(greet, 2, grid_dim=2, block_dim=4)
    any_context.synchronize()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [f"block: {b} thread: {t}" for b in range(2) for t in range(2)]


@kernel
def tell(x: Pointer[Float32], y: Pointer[Float16], z: Pointer[Float64], n: Int8, u: UInt64):
    print("values", x[0], y[0], z[0], n, u, n < 0, sep=", ", end=";\n", flush=True)
    print(f"{x[0]:.2f} {n:5d} {u:x} 100%")


def test_print_says_the_same(any_context: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    x, y, z = (copied(any_context, np.array([0.1], t)) for t in (np.float32, np.float16, np.float64))
    any_context.enqueue_function(tell, x, y, z, -5, 2**64 - 1, grid_dim=1, block_dim=1)
    any_context.synchronize()
    assert capsys.readouterr().out == (
        "values, 0.1, 0.1, 0.1, -5, 18446744073709551615, True;\n0.10    -5 ffffffffffffffff 100%\n"
    )


def test_many_prints(any_context: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    """More than the console holds at once, in several waits."""
    for _ in range(12):
        any_context.enqueue_function(greet, 128, grid_dim=256, block_dim=128)
        any_context.synchronize()
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(set(lines)) == 256 * 128


@pytest.mark.gpu
def test_lost_prints_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with DeviceContext(api="cuda") as ctx:
        ctx.enqueue_function(greet, 1024, grid_dim=500, block_dim=1024)
        ctx.synchronize()
        lines = capsys.readouterr().out.splitlines()
        lost = 500 * 1024 - (len(lines) - 1)
        assert lines[-1].startswith(f"[weft: {lost} prints are missing here")
        ctx.enqueue_function(greet, 1, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert capsys.readouterr().out == "block: 0 thread: 0\n"


@kernel
def claims(x: Pointer[Int32], n: Int):
    assert global_idx.x < n, "more threads than elements"
    x[global_idx.x] += 1


def test_assert_ends_threads_and_nothing_else(any_context: DeviceContext) -> None:
    buffer = copied(any_context, np.zeros(300, np.int32))
    any_context.enqueue_function(claims, buffer, 300, grid_dim=3, block_dim=100)
    any_context.synchronize()
    any_context.enqueue_function(claims, buffer, 250, grid_dim=3, block_dim=100)
    with pytest.raises(DeviceError) as failed:
        any_context.synchronize()
    [found] = failed.value.diagnostics
    assert found.message == "assertion failed in kernel 'claims': more threads than elements"
    assert found.location is not None
    assert found.location.file == __file__
    assert "assert global_idx.x < n" in str(failed.value)
    assert "failed in block (2, 0, 0), thread (" in found.labels[0].text
    any_context.synchronize()
    assert back(any_context, buffer).tolist() == [2] * 250 + [1] * 50


def test_limits(any_context: DeviceContext) -> None:
    buffer = any_context.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0)
    with pytest.raises(LaunchError) as refused:
        any_context.enqueue_function(scalar_add, buffer, 4, 1.0, grid_dim=1, block_dim=1025)
    assert f"block_dim=(1025, 1, 1) has 1025 threads; {any_context.name} allows 1024 per block" in str(
        refused.value
    )
    with pytest.raises(LaunchError, match="allows 65535 there"):
        any_context.enqueue_function(scalar_add, buffer, 4, 1.0, grid_dim=(1, 70_000), block_dim=1)
    with pytest.raises(LaunchError, match="of shared memory"):
        any_context.enqueue_function(
            scalar_add, buffer, 4, 1.0, grid_dim=1, block_dim=1, shared_mem_bytes=10 << 20
        )
    any_context.enqueue_function(scalar_add, buffer, 4, 1.0, grid_dim=1, block_dim=4, shared_mem_bytes=60_000)
    any_context.synchronize()


def test_streams_run_kernels(any_context: DeviceContext) -> None:
    ctx = any_context
    with ctx.create_stream() as stream:
        buffer = copied(ctx, np.zeros(100, np.float32))
        stream.wait(_event(ctx))
        for _ in range(10):
            ctx.enqueue_function(scalar_add, buffer, 100, 1.0, grid_dim=1, block_dim=128, stream=stream)
        out = np.empty(100, np.float32)
        ctx.enqueue_copy(dst=out, src=buffer, stream=stream)
        stream.synchronize()
        assert (out == 10).all()


def _event(ctx: DeviceContext) -> Any:
    from weft.runtime.streams import DeviceEvent

    return DeviceEvent(ctx.stream.record())


@kernel
def shifts(x: Pointer[Int64], u: Pointer[UInt64], by: Pointer[Int64], out: Pointer[Int64]):
    i = global_idx.x
    out[4 * i] = x[i] << by[i]
    out[4 * i + 1] = x[i] >> by[i]
    out[4 * i + 2] = Int64(u[i] << UInt64(by[i]))
    out[4 * i + 3] = Int64(u[i] >> UInt64(by[i]))


def test_shifts_by_more_than_the_width(any_context: DeviceContext) -> None:
    """PTX shifts read 32 bits of the count."""
    by = [0, 1, 63, 64, 65, 1 << 32, (1 << 32) + 1, -1, -(2**63) + 1]
    x = np.full(len(by), -20056)
    out = copied(any_context, np.zeros(4 * len(by), np.int64))
    buffers = (copied(any_context, a) for a in (x, x.view(np.uint64), np.array(by)))
    any_context.enqueue_function(shifts, *buffers, out, grid_dim=1, block_dim=len(by))  # pyright: ignore[reportCallIssue]
    unsigned = 2**64 - 20056
    expected = [
        [-20056 << n, -20056 >> n, unsigned << n, unsigned >> n] if 0 <= n < 64 else [0, -1, 0, 0] for n in by
    ]
    wrapped = np.array([[v & 2**64 - 1 for v in row] for row in expected], np.uint64).view(np.int64)
    assert np.array_equal(back(any_context, out).reshape(-1, 4), wrapped)


def test_barrier_orders_a_block(any_context: DeviceContext) -> None:
    @kernel
    def rotate(values: Pointer[Int32]):
        mine = values[thread_idx.x]
        barrier()
        values[(thread_idx.x + 1) % block_dim.x] = mine

    buffer = copied(any_context, np.arange(200, dtype=np.int32))
    any_context.enqueue_function(rotate, buffer, grid_dim=1, block_dim=200)
    assert np.array_equal(back(any_context, buffer), np.roll(np.arange(200), 1))
