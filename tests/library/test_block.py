"""Operations of blocks, of one to three axes, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from weft import (
    Comptime,
    DeviceError,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    Pointer,
    UInt16,
    UInt32,
    kernel,
    unroll,
)
from weft.gpu import block, block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

from .conftest import Launch

SHAPES = [32, 96, (8, 4, 3), (16, 40), 1024]


def threads_of(shape: Any) -> int:
    return math.prod(shape) if isinstance(shape, tuple) else int(shape)  # pyright: ignore[reportUnknownArgumentType]


def data(kind: Any, size: int) -> Any:
    rng: Any = np.random.default_rng(size)
    if np.dtype(kind).kind == "f":
        return rng.standard_normal(size).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)


def number() -> Int:
    within = thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)
    return within + block_idx.x * block_dim.x * block_dim.y * block_dim.z


@kernel
def reductions(x: LayoutTensor[Any], out: LayoutTensor[Any]):
    i = number()
    out[i, 0] = block.sum(x[i])
    out[i, 1] = block.min(x[i])
    out[i, 2] = block.max(x[i])
    out[i, 3] = block.reduce(x[i], lambda a, b: a * b)
    out[i, 4] = block.prefix_sum(x[i])
    out[i, 5] = block.prefix_sum(x[i], exclusive=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(launch: Launch, shape: Any) -> None:
    size = threads_of(shape)
    x = data(np.int32, 2 * size)
    _, out = launch(reductions, x, np.zeros((2 * size, 6), np.int32), grid_dim=2, block_dim=shape)
    blocks = x.reshape(2, size)
    before = np.cumsum(blocks, axis=1, dtype=np.int32)
    columns = [
        blocks.sum(axis=1, dtype=np.int32, keepdims=True),
        blocks.min(axis=1, keepdims=True),
        blocks.max(axis=1, keepdims=True),
        blocks.prod(axis=1, dtype=np.int32, keepdims=True),
        before,
        before - blocks,
    ]
    expected = [np.broadcast_to(column, blocks.shape).reshape(-1) for column in columns]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))


@kernel
def float_sums(x: LayoutTensor[Float32], out: LayoutTensor[Float32], rounds: Int):
    """In a loop, each round from what the last one gave."""
    i = number()
    value = x[i]
    for _ in range(rounds):
        value = value - block.sum(value) * 0.001
    out[i, 0] = value
    out[i, 1] = block.prefix_sum(value)
    out[i, 2] = block.prefix_sum(value, exclusive=True)


def test_sums_of_floats_in_a_loop(launch: Launch) -> None:
    x = data(np.float32, 96)
    _, out = launch(float_sums, x, np.zeros((96, 3), np.float32), 3, grid_dim=1, block_dim=96)
    value = x
    for _ in range(3):
        tree = value.reshape(3, 32)
        for step in (1, 2, 4, 8, 16):
            tree = tree + tree[:, np.arange(32) ^ step]
        total = tree[0, 0] + tree[1, 0] + tree[2, 0]
        value = value - total * np.float32(0.001)
    np.testing.assert_allclose(out[:, 0], value, rtol=1e-6)
    np.testing.assert_allclose(out[:, 1], np.cumsum(value), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out[1:, 2], np.cumsum(value)[:-1], rtol=1e-4, atol=1e-5)
    x[40], x[64] = np.inf, 1.0
    _, out = launch(float_sums, x, np.zeros((96, 3), np.float32), 0, grid_dim=1, block_dim=96)
    assert np.isfinite(out[:40, 1]).all()
    assert np.isfinite(out[:41, 2]).all()
    assert np.isinf(out[40:, 1]).all()
    assert np.isinf(out[41:, 2]).all()


@kernel
def moves(x: LayoutTensor[Int32], out: LayoutTensor[Int32], counts: LayoutTensor[UInt32]):
    i = number()
    size = block_dim.x * block_dim.y * block_dim.z
    out[i, 0] = block.broadcast(x[i], 35)
    out[i, 1] = block.exchange(x[i], (i * 7 + 3) % size)
    out[i, 2] = block.count(x[i] > 0)
    out[i, 3] = block.any(x[i] > 98).select(1, 0) + block.all(x[i] > -100).select(2, 0)
    bins = block.histogram(x[i] + 50, bins=60)
    if i < 60:
        counts[i] = bins[i]


@pytest.mark.parametrize("shape", [96, (4, 8, 2)], ids=str)
def test_values_move(launch: Launch, shape: Any) -> None:
    size = threads_of(shape)
    x = np.random.default_rng(2).integers(-99, 100, size).astype(np.int32)
    _, out, counts = launch(
        moves, x, np.zeros((size, 4), np.int32), np.zeros(60, np.uint32), grid_dim=1, block_dim=shape
    )
    i = np.arange(size)
    flags = int((x > 98).any()) + 2 * int((x > -100).all())
    expected = [
        np.full(size, x[35]),
        x[(i * 7 + 3) % size],
        np.full(size, (x > 0).sum()),
        np.full(size, flags),
    ]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))
    inside = x[(x >= -50) & (x < 10)] + 50
    np.testing.assert_array_equal(counts, np.bincount(inside, minlength=60))


@kernel
def sorts(x: LayoutTensor[Any], out: LayoutTensor[Any], *, descending: Comptime[bool]):
    i = number()
    out[i] = block.radix_sort(x[i], descending=descending, most=256)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float32, np.int64])
@pytest.mark.parametrize("descending", [False, True])
def test_radix_sort(launch: Launch, kind: Any, descending: bool) -> None:
    x = data(kind, 256)
    if np.dtype(kind).kind == "f":
        x[:4] = [np.inf, -np.inf, 0.0, 1e-40]
    _, out = launch(sorts, x, np.zeros_like(x), descending=descending, grid_dim=2, block_dim=128)
    rows = np.sort(x.reshape(2, 128), axis=1)
    np.testing.assert_array_equal(out.reshape(2, 128), rows[:, ::-1] if descending else rows)


@pytest.mark.parametrize(("threads", "most"), [(96, 1024), (256, 256)])
def test_what_gpus_sort_by_has_no_races(monkeypatch: pytest.MonkeyPatch, threads: int, most: int) -> None:
    """It runs on a CPU too, where another way is taken, and is checked there."""
    monkeypatch.setattr("weft.gpu.sorting.threads_are_loops", lambda: False)

    @kernel
    def as_on_a_gpu(x: Pointer[UInt16], out: Pointer[UInt16]):
        out[thread_idx.x] = block.radix_sort(x[thread_idx.x], most=most)

    numbers = np.random.default_rng(threads).integers(0, 500, threads).astype(np.uint16)
    with DeviceContext(api="cpu", checked=True) as ctx:
        x, out = (ctx.enqueue_create_buffer(UInt16, threads) for _ in range(2))
        ctx.enqueue_copy(dst=x, src=numbers)
        ctx.enqueue_function(as_on_a_gpu, x, out, grid_dim=1, block_dim=threads)
        with out.map_to_host() as host:
            np.testing.assert_array_equal(host.numpy(), np.sort(numbers))


@kernel
def sorts_pairs(
    x: LayoutTensor[Any], out: LayoutTensor[Any], places: LayoutTensor[Float64], *, descending: Comptime[bool]
):
    i = number()
    out[i], places[i] = block.radix_sort(x[i], Float64(i), descending=descending, most=1024)


@pytest.mark.parametrize("shape", [32, (8, 4, 3), 1024], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_values_go_with_their_keys(launch: Launch, shape: Any, descending: bool) -> None:
    """In the order that they came in, where keys are the same."""
    size = threads_of(shape)
    x = np.random.default_rng(3).integers(-20, 20, 2 * size).astype(np.int16)
    found, places = np.zeros_like(x), np.zeros(2 * size)
    _, found, places = launch(
        sorts_pairs, x, found, places, descending=descending, grid_dim=2, block_dim=shape
    )
    rows = x.reshape(2, size)
    order = np.argsort(-rows if descending else rows, axis=1, kind="stable")
    np.testing.assert_array_equal(found.reshape(2, size), np.take_along_axis(rows, order, axis=1))
    np.testing.assert_array_equal(places.reshape(2, size), order + np.array([[0], [size]]))


@kernel
def rearranges(
    x: LayoutTensor[Int32],
    striped: LayoutTensor[Int32],
    blocked: LayoutTensor[Int32],
    *,
    count: Comptime[int],
):
    thread = number()
    threads = block_dim.x * block_dim.y * block_dim.z
    items = InlineArray[Int32, count](*[x[thread * count + n] for n in range(count)])
    moved = block.blocked_to_striped(items, most=256)
    back = block.striped_to_blocked(moved, most=256)
    for n in unroll(range(count)):
        striped[n * threads + thread] = moved[n]
        blocked[thread * count + n] = back[n]


@pytest.mark.parametrize(("count", "shape"), [(1, 64), (3, 96), (4, (8, 8, 4)), (8, 32)])
def test_items_of_threads_are_rearranged(launch: Launch, count: int, shape: Any) -> None:
    x = data(np.int32, count * threads_of(shape))
    found = launch(
        rearranges, x, np.zeros_like(x), np.zeros_like(x), count=count, grid_dim=1, block_dim=shape
    )
    np.testing.assert_array_equal(found[1], x)
    np.testing.assert_array_equal(found[2], x)


@kernel
def rearranges_lanes(x: Pointer[Int32], striped: Pointer[Int32]):
    thread = thread_idx.x
    striped.store(thread * 4, block.blocked_to_striped(x.load(thread * 4, width=4), most=64))


def test_lanes_of_threads_are_rearranged(launch: Launch) -> None:
    x = data(np.int32, 4 * 64)
    _, found = launch(rearranges_lanes, x, np.zeros_like(x), grid_dim=1, block_dim=64)
    np.testing.assert_array_equal(found.reshape(64, 4), x.reshape(4, 64).T)


def test_the_interpreter_gives_the_same_bits(cpu: DeviceContext) -> None:
    found: list[Any] = []
    for ctx in (cpu, DeviceContext(api="interpreter")):
        x, out = data(np.float32, 64), np.zeros((64, 3), np.float32)
        arrays = [ctx.enqueue_create_buffer(Float32, a.size) for a in (x, out)]
        ctx.enqueue_copy(dst=arrays[0], src=x)
        tensors = arrays[0].tensor(Layout.row_major(64)), arrays[1].tensor(Layout.row_major(64, 3))
        ctx.enqueue_function(float_sums, *tensors, 2, grid_dim=1, block_dim=(16, 4))
        ctx.enqueue_copy(dst=out.reshape(-1), src=arrays[1])
        ctx.synchronize()
        found.append(out.tobytes())
    assert found[0] == found[1]
    assert any(found[0])


@kernel
def takes_from(x: Pointer[Float32], thread: Int, each: Int):
    i = thread_idx.x
    x[i] = block.exchange(x[i], thread) if each else block.broadcast(x[i], thread)


@pytest.mark.parametrize("each", [0, 1])
@pytest.mark.parametrize("thread", [-1, 64, 300, 1 << 40])
def test_a_thread_that_the_block_lacks(cpu: DeviceContext, thread: int, each: int) -> None:
    x = np.arange(64, dtype=np.float32)
    cpu.enqueue_function(takes_from, x, thread, each, grid_dim=1, block_dim=64)
    with pytest.raises(DeviceError, match="the block has no such thread"):
        cpu.synchronize()
    cpu.enqueue_function(takes_from, x, 63, each, grid_dim=1, block_dim=64)
    cpu.synchronize()
    assert set(x.tolist()) == {63.0}
