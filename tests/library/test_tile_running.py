"""Tiles that the hardware copies and products that run beside other code, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import tiles

from weft import Comptime, Float32, tile
from weft.gpu import block_idx
from weft.layout import LayoutTensor

from .conftest import Launch, Ptx
from .test_tile_products import data, product, whole
from .test_tiles import kernel_of


@pytest.mark.parametrize(("rows", "keys", "threads"), [(64, 32, 128), (128, 128, 256), (16, 32, 32)])
@pytest.mark.parametrize(("many", "width"), [(150, 64), (256, 128), (20, 32)])
def test_attention_of_several_heads(
    launch: Launch, rows: int, keys: int, threads: int, many: int, width: int
) -> None:
    rng = np.random.default_rng(many)
    q, k, v = (rng.standard_normal((3, n, width)).astype(np.float16) for n in (90, many, many))
    known = {"rows": rows, "keys": keys, "stages": 2, "grid_dim": (-(-90 // rows), 3)}
    *_, out = launch(kernel_of(tiles.attention, threads), q, k, v, np.zeros_like(q), 0.125, **known)
    exact = [x.astype(np.float64) for x in (q, k, v)]
    scores: Any = 0.125 * np.einsum("hid,hjd->hij", exact[0], exact[1])
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = np.einsum("hij,hjd->hid", powers / powers.sum(axis=2, keepdims=True), exact[2])
    np.testing.assert_allclose(out, expected, atol=3e-3)


def late(a: LayoutTensor[Any], b: LayoutTensor[Any], out: LayoutTensor[Any], *, asked: Comptime[bool]):
    left, right = tile.staged(tile.load(a, (0, 0), (64, 64))), tile.staged(tile.load(b, (0, 0), (64, 64)))
    first = tile.dot(left, right)
    second = tile.dot(left, right.T, first)  # goes on with sums that nobody has waited for
    third = tile.dot(right, left)
    if asked:
        tile.store(out, (0, 0), third)
    else:
        tile.store(out, (0, 0), first)  # read behind the product that has gone on with it
    tile.store(out, (1, 0), second)
    over = tile.dot(left, left)
    for n in range(2):  # what is read of a product is read again after it
        tile.store(out, (2 + n, 0), over * Float32(n + 1))


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("threads", [128, 64])
def test_products_are_read_late_and_in_any_order(launch: Launch, asked: bool, threads: int) -> None:
    a, b = data((64, 64), "float16"), data((64, 64), "float16")[::-1].copy()
    *_, out = launch(kernel_of(late, threads), a, b, np.zeros((256, 64), np.float32), asked=asked, grid_dim=1)
    x, y = a.astype("int64"), b.astype("int64")
    first = y @ x if asked else x @ y
    np.testing.assert_array_equal(out, np.concatenate([first, x @ y + x @ y.T, x @ x, 2 * x @ x]))


def overwritten(a: LayoutTensor[Any], out: LayoutTensor[Any]):
    total = tile.zeros((64, 64))
    for n in range(3):
        some = tile.staged(tile.load(a, (n, 0), (64, 64)))  # where that of the round before was
        made = tile.dot(some, some.T)
        total += tile.where(made > 0.0, made, 0.0)
    tile.store(out, (0, 0), total)


@pytest.mark.parametrize("threads", [128, 32])
def test_what_a_product_reads_stays_until_it_has_ended(launch: Launch, threads: int) -> None:
    a = data((192, 64), "float16")
    _, out = launch(kernel_of(overwritten, threads), a, np.zeros((64, 64), np.float32), grid_dim=1)
    parts = a.astype("int64").reshape(3, 64, 64)
    made = np.einsum("nij,nkj->nik", parts, parts)
    np.testing.assert_array_equal(out, np.maximum(made, 0).sum(axis=0))


def until(a: LayoutTensor[Any], b: LayoutTensor[Any], out: LayoutTensor[Any], most: Float32):
    acc = tile.zeros((64, 64))
    for x, y in tile.pipeline(
        a.tiled_iterator[64, 64](0, 0, axis=1), b.tiled_iterator[64, 64](0, 0), stages=3
    ):
        acc = tile.dot(x, y, acc)
        if acc.max() > most:
            break
    for x in tile.pipeline(a.tiled_iterator[64, 64](0, 0, axis=1)):  # in the same memory
        acc = tile.dot(x, x.T, acc)
    tile.store(out, (0, 0), acc)


@pytest.mark.parametrize("most", [0.0, 1000.0, 1e9])
def test_a_loop_over_a_pipeline_may_be_left(launch: Launch, most: float) -> None:
    a, b = data((64, 512), "float16"), data((512, 64), "float16")
    *_, out = launch(kernel_of(until, 128), a, b, np.zeros((64, 64), np.float32), most, grid_dim=1)
    x, y = a.astype("int64"), b.astype("int64")
    total = np.zeros((64, 64), np.int64)
    for n in range(0, 512, 64):
        total += x[:, n : n + 64] @ y[n : n + 64]
        if total.max() > most:
            break
    np.testing.assert_array_equal(out, total + x @ x.T)


def of_parts(a: LayoutTensor[Any], b: LayoutTensor[Any], out: LayoutTensor[Any], *, stages: Comptime[int]):
    z, i = block_idx.y, block_idx.x
    left, right = a[z], b[..., z]  # the second by a mode that is not the first
    acc = tile.zeros((64, 64))
    for x, y in tile.pipeline(
        left.tiled_iterator[64, 64](i, 0, axis=1), right.tiled_iterator[64, 64](0, 0), stages=stages
    ):
        acc = tile.dot(x, y, acc)
    tile.store(out[z], (i, 0), acc)


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_parts_of_tensors(launch: Launch, stages: int) -> None:
    a, b = data((2, 100, 200), "float16"), data((200, 64, 2), "float16")
    known = {"stages": stages, "grid_dim": (2, 2)}
    *_, out = launch(kernel_of(of_parts, 128), a, b, np.zeros((2, 100, 64), np.float32), **known)
    np.testing.assert_array_equal(out, np.einsum("zik,kjz->zij", a.astype("int64"), b.astype("int64")))


KNOWN = {"shape": (64, 64, 64), "turned": (False, False), "stages": 3}


def test_what_the_hardware_copies(ptx: Ptx) -> None:
    """Tiles of arguments whose layout is known; other tiles are copied by threads."""
    a, out = np.zeros((128, 128), np.float16), np.zeros((128, 128), np.float32)
    bulk = "cp.async.bulk.tensor"
    by_threads = "cp.async.cg"
    text = ptx(kernel_of(whole, 128), a, a, out, **KNOWN)
    assert bulk in text
    assert by_threads not in text
    assert bulk in ptx(kernel_of(product, 128), a, a, out, precision="exact", **KNOWN)
    assert bulk not in ptx(kernel_of(whole, 128), a, a, out, target="sm_80", **KNOWN)
    assert bulk not in ptx(kernel_of(whole, 128), a, a, out, dynamic=True, **KNOWN)
    odd = np.zeros((128, 129), np.float16)  # whose rows begin anywhere
    assert bulk not in ptx(kernel_of(whole, 128), odd, a, out, **KNOWN)
    text = ptx(kernel_of(until, 128), a, a, out, 1.0)
    assert by_threads in text
    assert bulk in text


@pytest.mark.parametrize("threads", [32, 64])
def test_blocks_without_a_warpgroup_ask_nothing_of_one(ptx: Ptx, threads: int) -> None:
    """They have fewer threads than all instructions of warpgroups want, the one that waits too."""
    a, out = np.zeros((192, 64), np.float16), np.zeros((64, 64), np.float32)
    assert "wgmma" in ptx(kernel_of(overwritten, 128), a, out)
    assert "wgmma" not in ptx(kernel_of(overwritten, threads), a, out)
    assert "wgmma" not in ptx(kernel_of(until, threads), a, a, out, 1.0)
