"""Arrays of the host in launches on a GPU: copied there, and back where the kernel writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft import DeviceError, Float32, Float64, Int, LaunchError, PerformanceWarning, Pointer, Tensor, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:this launch copies")]


@kernel
def add(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32], n: Int):
    if global_idx.x < n:
        out[global_idx.x] = x[global_idx.x] + y[global_idx.x]


@kernel
def shift(x: Pointer[Float32], out: Pointer[Float32]):
    for i in range(4):
        out[i] = x[i] + 1.0


@kernel
def scale(x: LayoutTensor[Float32], by: Float32, out: LayoutTensor[Float32]):
    out[global_idx.y, global_idx.x] = x[global_idx.y, global_idx.x] * by


@kernel
def checked(x: Pointer[Float32], n: Int):
    x[global_idx.x] = -1.0
    assert global_idx.x < n, "too far"


@kernel
def slow(out: Pointer[Float64], rounds: Int):
    """One thread computes for a while."""
    value = Float64(1.0)
    for _ in range(rounds):
        value = value * 1.0000001 + 1e-9
    out[0] = value


@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cuda") as context:
        yield context


@pytest.mark.parametrize("count", [0, 1, 5, 1000, (1 << 24) + 3])
def test_there_and_back(ctx: DeviceContext, count: int) -> None:
    """The largest is copied in several pieces."""
    x, y = np.arange(count, dtype=np.float32), np.full(count, 0.5, np.float32)
    out = np.full(count + 1, 9.0, np.float32)
    for n in range(3):
        ctx.enqueue_function(add, x, y, out, count, over=count)
        assert np.array_equal(out[:count], x + np.float32(0.5))
        assert out[count] == 9.0
        x += np.float32(n)


@pytest.mark.gpu_memory
def test_many_launches_leave_no_memory(ctx: DeviceContext) -> None:
    x = np.zeros(1 << 22, np.float32)
    ctx.enqueue_function(add, x, x, x, len(x), over=len(x))
    before = ctx.memory_info()[0]
    for _ in range(50):
        ctx.enqueue_function(add, x, x, x, len(x), over=len(x))
    assert before - ctx.memory_info()[0] < 64 << 20


def test_overlapping_arrays(ctx: DeviceContext) -> None:
    base = np.arange(8, dtype=np.float32)
    ctx.enqueue_function(shift, base[3:7], base[1:5], grid_dim=1, block_dim=1)
    assert base.tolist() == [0.0, 4.0, 5.0, 6.0, 7.0, 5.0, 6.0, 7.0]
    ctx.enqueue_function(shift, base[0:4], base[1:5], grid_dim=1, block_dim=1)
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
def test_strides(ctx: DeviceContext) -> None:
    x, out = np.arange(48, dtype=np.float32).reshape(6, 8), np.full((4, 9), -1.0, np.float32)
    expected = out.copy()
    expected[1:3, ::3] = 2.0 * x[1::3, 2:5]
    ctx.enqueue_function(scale, x[1::3, 2:5], 2.0, out[1:3, ::3], over=(2, 3))
    assert np.array_equal(out, expected)
    before = x.copy()
    ctx.enqueue_function(scale, x.T, 0.5, x.T, over=(8, 6))
    assert np.array_equal(x, before / 2)


def test_in_the_order_of_its_stream(ctx: DeviceContext) -> None:
    """A copy into the array that is still waiting comes first; so does what a buffer gets."""
    buffer, out = ctx.enqueue_create_buffer(Float32, 1000), np.zeros(1000, np.float32)
    x, busy = np.zeros(1000, np.float32), ctx.enqueue_create_buffer(Float64, 1)
    for stream in (None, ctx.create_stream()):
        ctx.synchronize()
        x[:] = 0.0
        ctx.enqueue_function(slow, busy, 2_000_000, grid_dim=1, block_dim=1, stream=stream)
        if stream is None:
            ctx.enqueue_fill(buffer, 3.0)
            ctx.enqueue_copy(dst=x, src=buffer)
        else:
            ctx.enqueue_copy(dst=x, src=buffer, stream=stream)
        ctx.enqueue_function(
            add, x, buffer, out, 1000, over=1000
        ) if stream is None else ctx.enqueue_function(
            add, x, buffer, out, 1000, grid_dim=4, block_dim=256, stream=stream
        )
        assert out.tolist() == [6.0] * 1000


def test_what_is_only_read_may_change_at_once(ctx: DeviceContext) -> None:
    x, out = np.ones(1 << 20, np.float32), ctx.enqueue_create_buffer(Float32, 1 << 20)
    for _ in range(5):
        ctx.enqueue_function(add, x, x, out, len(x), over=len(x))
        x[:] = -5.0
        with out.map_to_host() as host:
            assert np.all(np.asarray(host) == 2.0)
        x[:] = 1.0


def test_what_a_kernel_that_fails_wrote_comes_back(ctx: DeviceContext) -> None:
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(DeviceError, match="too far"):
        ctx.enqueue_function(checked, x, 2, grid_dim=1, block_dim=4)
    assert x.tolist() == [-1.0] * 4


def test_beside_tensors_buffers_and_pinned_memory(ctx: DeviceContext) -> None:
    tensor, host = Tensor(Float32, 8, ctx), ctx.enqueue_create_host_buffer(Float32, 8)
    host[:] = range(8)
    x = np.full(8, 10.0, np.float32)
    ctx.enqueue_function(add, x, host, tensor, 8, over=8)
    assert tensor.numpy().tolist() == [10.0 + n for n in range(8)]
    ctx.enqueue_function(shift, host, np.asarray(host)[4:], grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert list(host) == [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0]


def test_beside_torch(ctx: DeviceContext) -> None:
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    there, here = torch.ones(64, device="cuda"), torch.full((64,), 2.0)
    out = np.zeros(64, np.float32)
    for _ in range(20):
        there.add_(1.0)
        ctx.enqueue_function(add, there, here, out, 64, over=64)
    assert out.tolist() == [23.0] * 64
    ctx.enqueue_function(add, there, out, here, 64, over=64)
    assert here.tolist() == [44.0] * 64


def test_captures_refuse(ctx: DeviceContext) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match="a graph copies no arrays"), ctx.capture():
        ctx.enqueue_function(add, x, x, x, 4, over=4)


def test_the_warning(ctx: DeviceContext) -> None:
    x = np.zeros(4, np.float32)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(20):  # more than a launch needs to become native
            ctx.enqueue_function(add, x, x, x, 4, over=4)
    assert [w.category for w in found] == [PerformanceWarning]
