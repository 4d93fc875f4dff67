"""Tiles that pass through one place in shared memory several times: beside NumPy, checked, and its size."""

from __future__ import annotations

import re
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from planted import found
from weft import Float32, Float64, InlineArray, Int, Int32, Pointer, kernel, tile
from weft.compile import compile_info
from weft.gpu import barrier, block, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor

from .conftest import Launch, Ptx


@tile.tile_kernel(threads=128)
def mixed(
    x: LayoutTensor[Float64],
    y: LayoutTensor[Float32],
    out: LayoutTensor[Float64],
    best: LayoutTensor[Int32],
    rounds: Int,
    choice: Int,
):
    """Exchanges of 32 x 32 x 8, 16 x 64 x 4 and 64 x 4 bytes, behind each other, in loops and branches."""
    a, b = tile.load(x, (0, 0), (32, 32)), tile.load(y, (0, 0), (16, 64))
    total = a * 0.0
    for n in range(rounds):
        total = total + a.T * Float64(n + 1)
        if choice > 0:
            total = a + total.T
        else:
            row = b.sum(axis=0)[0, :]
            total = total + row.sum().cast(Float64)
        b = b.cumsum(0)
    places = b.argmax(axis=0)
    tile.store(best, (0, 0), places)
    tile.store(out, (0, 0), total + total.T)


def expected(x: Any, y: Any, rounds: int, choice: int) -> tuple[Any, Any]:
    total = np.zeros_like(x)
    for n in range(rounds):
        total = total + x.T * (n + 1)
        total = total.T + x if choice > 0 else total + y.sum(dtype=np.float64)
        y = np.cumsum(y, axis=0)
    return total + total.T, y.argmax(axis=0)[None]


def numbers() -> tuple[Any, Any, Any, Any]:
    """Whole numbers, whose sums are exact."""
    rng = np.random.default_rng(7)
    x, y = rng.integers(-9, 9, (32, 32)).astype(np.float64), rng.integers(-9, 9, (16, 64)).astype(np.float32)
    return x, y, np.zeros_like(x), np.zeros((1, 64), np.int32)


@pytest.mark.parametrize("choice", [0, 1])
def test_several_beside_numpy(launch: Launch, choice: int) -> None:
    x, y, out, best = numbers()
    *_, out, best = launch(mixed, x, y, out, best, 3, choice, grid_dim=1)
    total, places = expected(x, y, 3, choice)
    np.testing.assert_array_equal(out, total)
    np.testing.assert_array_equal(best, places)


@pytest.mark.parametrize("kind", ["interpreter", "checked"])
@pytest.mark.parametrize("choice", [0, 1])
def test_several_by_python_and_checked(kind: str, choice: int) -> None:
    ctx = DeviceContext(api="cpu", checked=True) if kind == "checked" else DeviceContext(api=kind)
    x, y, out, best = numbers()
    ctx.enqueue_function(mixed, x, y, out, best, 2, choice, grid_dim=1)
    ctx.synchronize()
    total, places = expected(x, y, 2, choice)
    np.testing.assert_array_equal(out, total)
    np.testing.assert_array_equal(best, places)


def turned(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    a = tile.load(x, (0, 0), (32, 32))
    tile.store(out, (0, 0), a + (a + a.T).T)


def after_another(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    a = tile.load(x, (0, 0), (32, 32))
    total = a + a.T
    for n in range(3):
        total = a * Float32(n) + total.T
    tile.store(out, (0, 0), total)


def different(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    a = tile.load(x, (0, 0), (32, 32))
    b = a.cast(Float64)
    tile.store(out, (0, 0), a + a.T)
    tile.store(out, (0, 0), (b + b.T).cast(Float32))


@pytest.mark.parametrize("program", [turned, after_another, different])
@pytest.mark.parametrize("left", [0, 1], ids=["before", "behind"])
def test_a_barrier_that_is_left_out_is_told(monkeypatch: pytest.MonkeyPatch, program: Any, left: int) -> None:
    """Behind the reads of one exchange others write for the next: to one place, though of other types."""
    x = np.ones((32, 32), np.float32)

    def told() -> set[str]:
        ctx, made = DeviceContext(api="cpu", checked=True), tile.tile_kernel(threads=64)(program)
        return {one.code for one in found(ctx, made, x, np.zeros_like(x), grid=1)}

    assert not told()
    turns = cycle([left == 0, left == 1])
    monkeypatch.setattr("weft.tile.exchange.barrier", lambda: None if next(turns) else barrier())
    assert told() == {"data-race"}


# -- how much it is -----------------------------------------------------------------------------


def memory_of(text: str) -> list[int]:
    """The bytes of each shared array in PTX."""
    return [int(n) for n in re.findall(r"\.shared \.align \d+ \.b8 [^\[]+\[(\d+)\]", text)]


def summed(x: LayoutTensor[Float64], y: LayoutTensor[Float64], out: LayoutTensor[Float64]):
    a, b = tile.load(x, (0, 0), (64, 64)), tile.load(y, (0, 0), (64, 64))
    tile.store(out, (0, 0), (a + b.T) + (a.T + b).sum(axis=1))
    tile.store(out, (0, 0), a.cumsum(0))


def test_two_tiles_of_64_x_64_float64_go_to_a_gpu(ptx: Ptx) -> None:
    """Each exchange takes 64 rows that are two numbers longer, so that they begin at other banks."""
    x = np.zeros((64, 64))
    assert memory_of(ptx(tile.tile_kernel(threads=128)(summed), x, x, x)) == [64 * 66 * 8]


def test_as_much_as_the_largest_takes(ptx: Ptx) -> None:
    x, y, out, best = numbers()
    assert memory_of(ptx(mixed, x, y, out, best, 3, 1)) == [32 * 34 * 8]


@kernel
def by_blocks(x: Pointer[Float32], out: Pointer[Int32]):
    t = thread_idx.x
    total = block.sum(x[t]) + block.max(x[t])
    through = block.prefix_sum(Int32(t))
    out[t] = block.exchange(through, 63 - t, most=64) + block.broadcast(Int32(total), 3)


def test_operations_of_blocks_have_one_place() -> None:
    assert memory_of(str(compile_info(by_blocks, target="sm_90"))) == [64 * 4]


def product(a: Any, b: Any) -> Any:
    return a * b


@kernel
def by_function(x: Pointer[Float32]):
    x[thread_idx.x] = block.reduce(x[thread_idx.x], product)


def test_what_the_program_gives_runs_behind_the_last_barrier() -> None:
    """It may use the same place."""
    text = str(compile_info(by_function, target="sm_90"))
    assert text.count("bar.sync") + text.count("barrier.sync") == 2
    behind = re.split(r"bar(?:rier)?\.sync[^;]*;", text)[-1]
    assert "shfl" in behind
    assert "mul" in behind
    assert "shared" not in behind


@kernel
def too_many(x: Pointer[Int32]):
    t = thread_idx.x
    x[t] = block.exchange(Int32(t), t, most=256)
    items = block.blocked_to_striped(InlineArray[Int32, 1](x[t]), most=32)
    x[t] = items[0]


def test_an_access_beyond_its_own_part_is_told() -> None:
    """Though the place goes on, for the exchange of 256 numbers."""
    ctx, x = DeviceContext(api="cpu", checked=True), np.zeros(64, np.int32)
    assert "out-of-bounds" in {one.code for one in found(ctx, too_many, x, grid=1)}
