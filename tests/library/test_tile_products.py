"""Products of tiles against NumPy: edges, types, both ways round, and loops whose copies run ahead."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Comptime, Float32, Int, Int32, tile
from weft.gpu import block_idx
from weft.layout import LayoutTensor
from weft.math import exp, max

from .conftest import Launch
from .test_tiles import kernel_of

pytestmark = pytest.mark.filterwarnings("ignore:product has been compiled")  # for each shape, on purpose

Precision = Literal["exact", "tf32"]


def product(
    a: LayoutTensor[Any],
    b: LayoutTensor[Any],
    out: LayoutTensor[Any],
    *,
    shape: Comptime[tuple[int, int, int]],
    turned: Comptime[tuple[bool, bool]],
    stages: Comptime[int],
    precision: Comptime[Precision],
):
    (m, n, k), (i, j) = shape, (block_idx.y, block_idx.x)
    left = a.tiled_iterator[k, m](0, i, axis=0) if turned[0] else a.tiled_iterator[m, k](i, 0, axis=1)
    right = b.tiled_iterator[n, k](j, 0, axis=1) if turned[1] else b.tiled_iterator[k, n](0, j, axis=0)
    acc = tile.zeros((m, n), out.element_type)
    for x, y in tile.pipeline(left, right, stages=stages):
        one, other = x.T if turned[0] else x, y.T if turned[1] else y
        acc = tile.dot(one, other, acc, precision=precision)
    tile.store(out, (i, j), acc)


def data(shape: tuple[int, ...], dtype: str) -> Any:
    rng: Any = np.random.default_rng(sum(shape))
    low = 0 if dtype == "uint8" else -8
    return rng.integers(low, 9, shape).astype(dtype)  # whose products and sums are exact in all types


@settings(max_examples=8)
@given(
    extents=st.tuples(st.integers(1, 150), st.integers(1, 150), st.integers(1, 200)),
    shape=st.sampled_from([(16, 16, 16), (64, 32, 32), (128, 128, 64), (64, 64, 64), (8, 32, 16)]),
    threads=st.sampled_from([32, 128, 256]),
    turned=st.tuples(st.booleans(), st.booleans()),
    stages=st.sampled_from([2, 3, 4]),
)
def test_products_of_halves(
    launch: Launch,
    extents: tuple[int, int, int],
    shape: tuple[int, int, int],
    threads: int,
    turned: tuple[bool, bool],
    stages: int,
) -> None:
    check(launch, extents, shape, threads, turned, stages, "float16", "float32", "exact")


@pytest.mark.parametrize(
    ("dtype", "sums", "precision"),
    [
        ("float32", "float32", "exact"),
        ("float32", "float32", "tf32"),
        ("float64", "float64", "exact"),
        ("int8", "int32", "exact"),
        ("int32", "int32", "exact"),
        ("uint8", "int32", "exact"),
    ],
)
@pytest.mark.parametrize("threads", [32, 128])
def test_products_of_other_types(
    launch: Launch, dtype: str, sums: str, precision: Precision, threads: int
) -> None:
    check(launch, (50, 70, 37), (32, 32, 16), threads, (False, False), 2, dtype, sums, precision)
    check(launch, (32, 40, 64), (32, 32, 32), threads, (True, True), 3, dtype, sums, precision)


@pytest.mark.parametrize("shape", [(64, 64, 64), (128, 64, 64), (64, 128, 128), (128, 256, 64)], ids=str)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_products_by_warpgroups(
    launch: Launch, shape: tuple[int, int, int], turned: tuple[bool, bool]
) -> None:
    extents = shape[0] + 8, shape[1], 2 * shape[2] + 8
    check(launch, extents, shape, 128 if shape[0] == 64 else 256, turned, 2, "float16", "float32", "exact")


@pytest.mark.parametrize("turned", [(False, True), (False, False)], ids=str)
@pytest.mark.parametrize(("dtype", "precision"), [("float32", "tf32"), ("int8", "exact"), ("uint8", "exact")])
def test_products_of_other_types_by_warpgroups(
    launch: Launch, turned: tuple[bool, bool], dtype: str, precision: Precision
) -> None:
    sums = "float32" if dtype == "float32" else "int32"
    check(launch, (70, 48, 272), (64, 64, 128), 128, turned, 2, dtype, sums, precision)


def check(
    launch: Launch,
    extents: tuple[int, int, int],
    shape: tuple[int, int, int],
    threads: int,
    turned: tuple[bool, bool],
    stages: int,
    dtype: str,
    sums: str,
    precision: Precision,
) -> None:
    m, n, k = extents
    a, b = data((m, k), dtype), data((k, n), dtype)
    expected = a.astype("int64") @ b.astype("int64")
    given_ = a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b
    grid = -(-n // shape[1]), -(-m // shape[0])
    known = {"shape": shape, "turned": turned, "stages": stages, "precision": precision}
    *_, out = launch(kernel_of(product, threads), *given_, np.zeros((m, n), sums), **known, grid_dim=grid)
    np.testing.assert_array_equal(out, expected)


def of_registers(a: LayoutTensor[Any], b: LayoutTensor[Any], out: LayoutTensor[Any]):
    x, y = tile.load(a, (0, 0), (32, 64)), tile.load(b, (0, 0), (64, 16))
    twice = tile.dot(x, y) + tile.dot(x, y)
    tile.store(out, (0, 0), tile.dot(twice.cast(a.element_type), y.T))


@pytest.mark.parametrize("threads", [32, 128, 512])
def test_products_of_tiles_in_registers(launch: Launch, threads: int) -> None:
    a, b = data((32, 64), "float16") % 3, data((64, 16), "float16") % 3
    *_, out = launch(kernel_of(of_registers, threads), a, b, np.zeros((32, 64), np.float32), grid_dim=1)
    whole = a.astype("int64"), b.astype("int64")
    np.testing.assert_array_equal(out, (2 * whole[0] @ whole[1]) @ whole[1].T)


def attention(
    q: LayoutTensor[Any],
    k: LayoutTensor[Any],
    v: LayoutTensor[Any],
    out: LayoutTensor[Any],
    scale: Float32,
    *,
    rows: Comptime[int],
    keys: Comptime[int],
):
    i, width, first = block_idx.x, q.dim(1), Int(0)
    queries = tile.load(q, (i, 0), (rows, width))
    acc = tile.zeros((rows, width))
    total = acc.sum(axis=1)
    top = total - 1e30
    for x, y in tile.pipeline(k.tiled_iterator[keys, width](0, 0), v.tiled_iterator[keys, width](0, 0)):
        scores = tile.dot(queries, x.T) * scale
        column = tile.arange(keys, axis=1, rank=2, like=scores) + Int32(first)
        scores = tile.where(column < k.dim(0), scores, float("-inf"))
        now = max(top, scores.max(axis=1))
        powers, fade = exp(scores - now), exp(top - now)
        total = total * fade + powers.sum(axis=1)
        acc = tile.dot(powers.cast(v.dtype), y, acc * fade)
        top, first = now, first + keys
    tile.store(out, (i, 0), acc / total)


@pytest.mark.parametrize(("rows", "keys", "threads"), [(32, 32, 64), (64, 64, 128), (128, 64, 256)])
def test_attention(launch: Launch, rows: int, keys: int, threads: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for n in (90, 150, 150))
    *_, out = launch(
        kernel_of(attention, threads),
        *(q, k, v, np.zeros_like(q), 0.125),
        rows=rows,
        keys=keys,
        grid_dim=-(-90 // rows),
    )
    scores = 0.125 * q.astype(np.float64) @ k.astype(np.float64).T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out, expected, atol=2e-3)


def whole(
    a: LayoutTensor[Any],
    b: LayoutTensor[Any],
    out: LayoutTensor[Any],
    *,
    shape: Comptime[tuple[int, int, int]],
    turned: Comptime[tuple[bool, bool]],
    stages: Comptime[int],
):
    (m, n, k), (i, j) = shape, (block_idx.y, block_idx.x)
    left = a.tiled_iterator[k, m](0, i, axis=0) if turned[0] else a.tiled_iterator[m, k](i, 0, axis=1)
    right = b.tiled_iterator[n, k](j, 0, axis=1) if turned[1] else b.tiled_iterator[k, n](0, j, axis=0)
    sums = tile.matmul(left, right, stages=stages, transpose_a=turned[0], transpose_b=turned[1])
    tile.store(out, (i, j), sums)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize(
    ("shape", "threads", "stages"),
    [((64, 64, 32), 128, 3), ((128, 128, 64), 256, 4), ((64, 128, 64), 128, 2)],
)
def test_the_loop_of_a_product(
    launch: Launch, turned: tuple[bool, bool], shape: tuple[int, int, int], threads: int, stages: int
) -> None:
    for k in (1, 330):
        a, b = data((shape[0] + 5, k), "float16"), data((k, shape[1] + 8), "float16")
        given_ = a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b
        known = {"shape": shape, "turned": turned, "stages": stages}
        sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
        *_, out = launch(kernel_of(whole, threads), *given_, sums, **known, grid_dim=(2, 2))
        np.testing.assert_array_equal(out, a.astype("int64") @ b.astype("int64"))


def twice(a: LayoutTensor[Any], out: LayoutTensor[Any]):
    left = tile.staged(tile.load(a, (0, 0), (32, 32)))
    sums = tile.zeros((32, 32))
    for _ in range(3):
        sums = tile.dot(left, left.T, sums)
    tile.store(out, (0, 0), sums + left.tile().cast(Float32))


@pytest.mark.parametrize("threads", [32, 128])
def test_a_staged_tile_is_multiplied_many_times(launch: Launch, threads: int) -> None:
    a = data((32, 32), "float16")
    _, out = launch(kernel_of(twice, threads), a, np.zeros((32, 32), np.float32), grid_dim=1)
    exact = a.astype("int64")
    np.testing.assert_array_equal(out, 3 * exact @ exact.T + exact)
