"""Tiles against NumPy: memory and its edges, arithmetic, reductions, scans, and threads beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Comptime, Float32, Int32, func, tile, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.layout import Layout, LayoutTensor
from weft.math import exp, max
from weft.memory import AddressSpace, stack_allocation

from .conftest import Launch

THREADS = (32, 128, 512)


def kernel_of(fn: Any, threads: int, kept: dict[Any, Any] = {}) -> Any:  # noqa: B006
    """The tile kernel of a function for so many threads: one object each time, compiled once."""
    if (fn, threads) not in kept:
        kept[fn, threads] = tile.tile_kernel(threads=threads)(fn)
    return kept[fn, threads]


def data(shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(sum(shape))
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 100, shape).astype(kind)


def copied(x: LayoutTensor[Any], out: LayoutTensor[Any], *, shape: Comptime[Any]):
    at = block_idx.y, block_idx.x
    tile.store(out, at, tile.load(x, at, shape, other=7) + 1)


@settings(max_examples=25)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 70),
    shape=st.tuples(st.sampled_from([1, 2, 8, 32]), st.sampled_from([1, 4, 16, 64])),
    threads=st.sampled_from(THREADS),
    dtype=st.sampled_from(["float32", "int8", "float64", "float16", "uint16"]),
    dynamic=st.booleans(),
)
def test_a_tile_keeps_to_the_edges(
    launch: Launch,
    rows: int,
    columns: int,
    shape: tuple[int, int],
    threads: int,
    dtype: str,
    dynamic: bool,
) -> None:
    x = data((rows, columns), dtype)
    grid = -(-columns // shape[1]), -(-rows // shape[0])
    around = np.zeros((rows, columns), dtype)
    _, out = launch(kernel_of(copied, threads), x, around, shape=shape, grid_dim=grid, dynamic=dynamic)
    np.testing.assert_array_equal(out, x + np.asarray(1, dtype))


def padded(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, shape: Comptime[Any]):
    tile.store(out, (0, 0), tile.load(x, (0, 0), shape, other=-3.5))


@pytest.mark.parametrize("threads", THREADS)
def test_beyond_the_edge_is_what_other_says(launch: Launch, threads: int) -> None:
    x = data((5, 9), "float32")
    _, out = launch(kernel_of(padded, threads), x, np.zeros((8, 16), np.float32), shape=(8, 16), grid_dim=1)
    expected = np.full((8, 16), -3.5, np.float32)
    expected[:5, :9] = x
    np.testing.assert_array_equal(out, expected)


def down(x: LayoutTensor[Any], out: LayoutTensor[Any], *, shape: Comptime[Any]):
    columns = x.transpose()
    there = tile.load(columns.tile[shape](block_idx.x, 0))
    tile.store(out, (block_idx.x, 0), there)
    tile.store(out, (block_idx.x, 1), tile.load(x, (0, block_idx.x), shape[::-1]).T)


@pytest.mark.parametrize("threads", THREADS)
def test_columns_are_read_as_rows(launch: Launch, threads: int) -> None:
    x = data((16, 40), "float32")
    _, out = launch(kernel_of(down, threads), x, np.zeros((40, 32), np.float32), shape=(8, 16), grid_dim=5)
    np.testing.assert_array_equal(out, np.concatenate([x.T, x.T], axis=1))


def reduced(x: LayoutTensor[Any], out: LayoutTensor[Any], *, shape: Comptime[Any], axis: Comptime[int]):
    t = tile.load(x, (0, 0), shape)
    for n, one in enumerate((t.sum(axis), t.max(axis), t.min(axis), t.reduce(lambda a, b: a ^ b, axis))):
        tile.store(out, (n, 0) if axis == 0 else (0, n), one)
    where = [t.argmax(axis), t.argmin(axis), (t > 50).sum(axis), (t > 97).any(axis), (t > 1).all(axis)]
    for n, one in enumerate(where, 4):
        tile.store(out, (n, 0) if axis == 0 else (0, n), one.cast(Int32))


@settings(max_examples=20)
@given(
    shape=st.sampled_from([(1, 512), (4, 32), (32, 4), (64, 64), (2048, 1), (16, 128)]),
    threads=st.sampled_from(THREADS),
    axis=st.sampled_from([0, 1]),
)
def test_reductions(launch: Launch, shape: tuple[int, int], threads: int, axis: int) -> None:
    x = data(shape, "int32")
    ways = [
        x.sum(axis),
        x.max(axis),
        x.min(axis),
        np.bitwise_xor.reduce(x, axis),
        x.argmax(axis),
        x.argmin(axis),
        (x > 50).sum(axis),
        (x > 97).any(axis),
        (x > 1).all(axis),
    ]
    expected = np.stack(ways, axis=axis)
    given_ = np.zeros(expected.shape, np.int32)
    _, out = launch(kernel_of(reduced, threads), x, given_, shape=shape, axis=axis, grid_dim=1)
    np.testing.assert_array_equal(out, expected)


def places_of_numbers(x: LayoutTensor[Float32], out: LayoutTensor[Int32], *, shape: Comptime[Any]):
    t = tile.load(x, (0, 0), shape)
    for n, one in enumerate((t.argmax(1), t.argmin(1))):
        tile.store(out, (0, n), one)
    greatest, least = t.argmax(), t.reshape((1, -1)).argmin(axis=1)[:, 0]
    if thread_idx.x == 0:
        out[0, 2] = greatest
    tile.store(out[1], 2, least)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("shape", [(8, 1), (8, 2), (4, 32), (2, 512)])
def test_places_of_nan_are_left_out(launch: Launch, shape: tuple[int, int], threads: int) -> None:
    """Wherever it stands, as ``max`` and ``min`` leave it out; of nan alone the first."""
    x = np.random.default_rng(shape[1]).permutation(shape[0] * shape[1]).reshape(shape).astype(np.float32)
    x[:, :: shape[1] // 2 + 1] = np.nan
    _, out = launch(
        kernel_of(places_of_numbers, threads), x, np.zeros((shape[0], 3), np.int32), shape=shape, grid_dim=1
    )
    low, high = np.where(np.isnan(x), -1, x), np.where(np.isnan(x), 9999, x)
    np.testing.assert_array_equal(out[:, 0], low.argmax(1))
    np.testing.assert_array_equal(out[:, 1], high.argmin(1))
    assert out[:2, 2].tolist() == [low.argmax(), high.argmin()]


NUMPYS: Any = np.float32(3.0), np.int64(2)


def with_numpys_numbers(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    t = tile.load(x, 0, 64)
    tile.store(out, 0, tile.where(NUMPYS[0] < t, NUMPYS[0] * t - NUMPYS[1], NUMPYS[1] + t))


def test_numbers_of_numpy_stand_on_either_side(launch: Launch) -> None:
    x = np.arange(64, dtype=np.float32)
    _, out = launch(kernel_of(with_numpys_numbers, 32), x, np.zeros_like(x), grid_dim=1)
    np.testing.assert_array_equal(out, np.where(x > 3, 3 * x - 2, x + 2))


def totals(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    t = tile.load(x, (0, 0), (8, 64), other=1)
    total, greatest = t.sum(), t.max()
    if thread_idx.x == 0:
        out[0], out[1] = total, greatest


@pytest.mark.parametrize("threads", THREADS)
def test_a_reduction_of_all_is_a_number(launch: Launch, threads: int) -> None:
    x = np.arange(8 * 60, dtype=np.float32).reshape(8, 60)
    _, out = launch(kernel_of(totals, threads), x, np.zeros(2, np.float32), grid_dim=1)
    assert out.tolist() == [x.sum() + 32, x.max()]


def scans(x: LayoutTensor[Any], out: LayoutTensor[Any], *, shape: Comptime[Any], axis: Comptime[int]):
    t = tile.load(x, (0, 0), shape)
    tile.store(out, (0, 0), t.cumsum(axis))
    tile.store(out, (1, 0), t.scan(max, axis))
    tile.store(out, (2, 0), t.scan(lambda a, b: 3 * a * 0 + b, axis))  # associative, and not commutative


@settings(max_examples=15)
@given(
    shape=st.sampled_from([(1, 512), (4, 32), (32, 4), (64, 16), (1, 2048)]),
    threads=st.sampled_from(THREADS),
    axis=st.sampled_from([0, 1, -1]),
)
def test_scans(launch: Launch, shape: tuple[int, int], threads: int, axis: int) -> None:
    x = data(shape, "int64")
    expected = np.concatenate([x.cumsum(axis), np.maximum.accumulate(x, axis), x])
    _, out = launch(kernel_of(scans, threads), x, np.zeros_like(expected), shape=shape, axis=axis, grid_dim=1)
    np.testing.assert_array_equal(out, expected)


def arithmetic(x: LayoutTensor[Float32], y: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    t, v = tile.load(x, (0, 0), (16, 32)), tile.load(y, 0, 32)
    column = t.max(axis=1)
    row = tile.arange(32, Float32, axis=1, rank=2)
    total = t * v - column / 2.0 + row * column
    total = tile.where(t > v, total, -t) ** 2 + 1.0 - exp(-abs(t))
    tile.store(out, (0, 0), total + tile.full((16, 1), 2.0) * tile.zeros((1, 32)))


@pytest.mark.parametrize("threads", THREADS)
def test_arithmetic_spreads_as_numpy_does(launch: Launch, threads: int) -> None:
    x, y = data((16, 32), "float32"), data((32,), "float32")
    *_, out = launch(kernel_of(arithmetic, threads), x, y, np.zeros_like(x), grid_dim=1)
    column: Any = x.max(axis=1, keepdims=True)
    total: Any = x * y - column / 2 + np.arange(32, dtype=np.float32) * column
    choose: Any = np.where
    expected = choose(x > y, total, -x) ** 2 + 1 - np.exp(-abs(x))
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@func
def collatz(n: Int32) -> Int32:
    steps = Int32(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def mixed(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    t = tile.load(x, (0, 0), (8, 64))
    here = stack_allocation(Int32, Layout.row_major(8, 64), address_space=AddressSpace.SHARED)
    places = t.indices()
    for n in unroll(range(len(t))):
        row, column = places[n]
        here[7 - row, column] = t[n]
    barrier()
    turned = tile.load(here)
    tile.store(out, (0, 0), turned.map(collatz))


@pytest.mark.parametrize("threads", [32, 256, 512])
def test_code_of_threads_stands_beside_tiles(launch: Launch, threads: int) -> None:
    x = data((8, 64), "int32")
    _, out = launch(kernel_of(mixed, threads), x, np.zeros_like(x), grid_dim=1)

    def steps(n: int) -> int:
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    np.testing.assert_array_equal(out, np.vectorize(steps)(x[::-1]))


def carried(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    first = tile.load(x, (0, 0), (4, 32))
    total, greatest = tile.zeros((4, 32), like=first), first.max(axis=1)
    for k in range(x.dim(1) // 32):
        t = tile.load(x, (0, k), (4, 32))
        total += t
        greatest = max(greatest, t.max(axis=1))
    if x.dim(0) > 2:
        total = total * 2.0
    tile.store(out, (0, 0), total - greatest)


@pytest.mark.parametrize("threads", THREADS)
def test_loops_and_branches_carry_tiles(launch: Launch, threads: int) -> None:
    x = data((4, 320), "float32")
    _, out = launch(kernel_of(carried, threads), x, np.zeros((4, 32), np.float32), dynamic=True, grid_dim=1)
    total = 2 * x.reshape(4, 10, 32).sum(axis=1)
    np.testing.assert_allclose(out, total - x.max(axis=1, keepdims=True), rtol=1e-5, atol=1e-5)


def by_index(
    x: LayoutTensor[Float32], at: LayoutTensor[Int32], out: LayoutTensor[Float32], counts: LayoutTensor[Int32]
):
    index = tile.load(at, 0, 256)
    values = tile.gather(x, index, mask=index != 3, other=-1.0)
    tile.store(out, 0, values)
    tile.scatter(out, tile.arange(256, like=index) + 256, values * 2.0, mask=index > 10)
    tile.atomic_add(counts, index, 1)


@pytest.mark.parametrize("threads", THREADS)
def test_gather_scatter_and_atomics(launch: Launch, threads: int) -> None:
    x, at = data((40,), "float32"), np.random.default_rng(0).integers(0, 40, 256).astype(np.int32)
    blank = np.full(512, 9, np.float32)
    *_, out, counts = launch(kernel_of(by_index, threads), x, at, blank, np.zeros(40, np.int32), grid_dim=1)
    expected = np.where(at != 3, x[at], -1)
    np.testing.assert_array_equal(out[:256], expected)
    np.testing.assert_array_equal(out[256:], np.where(at > 10, 2 * expected, 9))
    np.testing.assert_array_equal(counts, np.bincount(at, minlength=40))


def shapes(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    t = tile.load(x, 0, 512)
    tile.store(out, (0, 0), t.reshape(16, 32) * 2)
    turned = t.reshape(16, 32).T
    tile.store(out, (1, 0), turned.reshape(16, 32).distributed(t.reshape(16, 32)))


@pytest.mark.parametrize("threads", THREADS)
def test_reshape_and_transpose(launch: Launch, threads: int) -> None:
    x = data((512,), "int32")
    _, out = launch(kernel_of(shapes, threads), x, np.zeros((32, 32), np.int32), grid_dim=1)
    np.testing.assert_array_equal(out[:16], 2 * x.reshape(16, 32))
    np.testing.assert_array_equal(out[16:], x.reshape(16, 32).T.reshape(16, 32))


def cubes(x: LayoutTensor[Any], out: LayoutTensor[Any], sums: LayoutTensor[Any]):
    t = tile.load(x, (0, block_idx.x, 0), (4, 8, 16), other=3)
    tile.store(out, (0, block_idx.x, 0), t * 2 + t.max(axis=1))
    tile.store(sums, (0, block_idx.x, 0), t.sum(axis=2))


@pytest.mark.parametrize("threads", THREADS)
def test_tiles_of_three_axes(launch: Launch, threads: int) -> None:
    x = data((3, 14, 13), "int32")
    given_ = np.zeros_like(x), np.zeros((3, 14, 1), np.int32)
    _, out, sums = launch(kernel_of(cubes, threads), x, *given_, grid_dim=2)
    padded = np.full((4, 16, 16), 3, np.int32)
    padded[:3, :14, :13] = x
    most = np.concatenate(
        [padded[:, n : n + 8].max(axis=1, keepdims=True).repeat(8, 1) for n in (0, 8)], axis=1
    )
    np.testing.assert_array_equal(out, (2 * padded + most)[:3, :14, :13])
    np.testing.assert_array_equal(sums[..., 0], padded.sum(axis=2)[:3, :14])


def stored(x: LayoutTensor[Float32], out: LayoutTensor[Any], *, shape: Comptime[tuple[int, int]]):
    at = 0, block_idx.x
    tile.store(out, at, tile.load(x, at, shape).distributed(tile.zeros(shape)))


@pytest.mark.parametrize("threads", [32, 64, 128, 256])
@pytest.mark.parametrize("shape", [(32, 32), (64, 32), (16, 64), (32, 128)])
def test_sums_become_vectors_as_far_as_lanes_can(
    launch: Launch, threads: int, shape: tuple[int, int]
) -> None:
    """A store swaps what lanes hold until a vector is whole, which may end after the first of its bits."""
    x = np.arange(shape[0] * 90, dtype=np.float32).reshape(shape[0], 90) % 997
    for kind in (np.float16, np.float32, np.int8):
        source = x % 100 if kind is np.int8 else x
        given_ = np.zeros(x.shape, kind)
        grid = -(-90 // shape[1])
        _, out = launch(kernel_of(stored, threads), source, given_, shape=shape, grid_dim=grid)
        assert np.array_equal(out, source.astype(kind))
