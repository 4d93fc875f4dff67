"""Swizzled memory, and copies of tiles between memories, against layouts as functions and NumPy's slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, Comptime, Float16, Float32, Int, Int32, kernel
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.gpu.memory import async_copy_wait_all
from weft.layout import (
    ComposedLayout,
    Layout,
    LayoutTensor,
    Swizzle,
    copy_dram_to_local,
    copy_dram_to_sram,
    copy_dram_to_sram_async,
    copy_local_to_dram,
    copy_local_to_shared,
    copy_sram_to_dram,
    copy_sram_to_local,
)
from weft.layout.tensor_core import TensorCore
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
SHARED = AddressSpace.SHARED


@kernel
def scattered(
    x: LayoutTensor[Int32],
    raw: LayoutTensor[Int32],
    out: LayoutTensor[Int32],
    *,
    layout: Comptime[ComposedLayout],
    tile: Comptime[tuple[int, int]],
    vector: Comptime[tuple[int, int]],
):
    """Into swizzled memory by vectors of tiles; the memory as it lies; back by places, rows and vectors."""
    here = stack_allocation(Int32, layout, address_space=SHARED)
    start = here.storage
    for n in range(raw.dim(0)):
        start[n] = -1
    for i in range(x.dim(0) // tile[0]):
        for j in range(x.dim(1) // tile[1]):
            into = here.tile[tile](i, j).vectorize[vector]()
            into.copy_from(x.tile[tile](i, j).vectorize[vector]())
    for n in range(raw.dim(0)):
        raw[n] = start[n]
    here[0, 1] += 100
    for i in range(x.dim(0)):
        row = here[i, :]
        for j in range(x.dim(1)):
            out[0, i, j] = here[i, j]
            out[1, i, j] = row[j] + 1
            out[2, i, j] = here.transpose()[j, i] + here.address(i, j)[0]
        out[3, i, :] = here[i, ...]
    vectors = here.vectorize[vector]().distribute[Layout.row_major(1, 1)](0)
    out[4, :, :].vectorize[vector]().copy_from(vectors)
    some = here.load(0, 0, width=2)
    out[0, 0, 0] += some[1] - some[0]


@given(
    extents=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    fields=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4)),
    start=st.integers(0, 5),
    column_major=st.booleans(),
    tile=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    vector=st.tuples(st.integers(0, 1), st.integers(0, 2)),
)
@settings(max_examples=12)
def test_swizzled_memory(
    launch: Launch,
    extents: tuple[int, int],
    fields: tuple[int, int, int],
    start: int,
    column_major: bool,
    tile: tuple[int, int],
    vector: tuple[int, int],
) -> None:
    bits, base, shift = fields
    shape = 2 ** extents[0], 2 ** extents[1]
    tiles = min(2 ** tile[0], shape[0]), min(2 ** tile[1], shape[1])
    lanes = min(2 ** vector[0], tiles[0]), min(2 ** vector[1], tiles[1])
    plain = Layout.col_major(*shape) if column_major else Layout.row_major(*shape)
    layout = ComposedLayout(plain, Swizzle(min(bits, abs(shift)), base, shift), start)
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
    raw, out = np.zeros(layout.cosize(), np.int32), np.zeros((5, *shape), np.int32)
    sizes = {"layout": layout, "tile": tiles, "vector": lanes}
    found, lay, got = launch(scattered, x, raw, out, grid_dim=1, block_dim=1, **sizes)
    expected = np.full(layout.cosize(), -1, np.int32)
    for i in range(shape[0]):
        for j in range(shape[1]):
            expected[swizzled(layout.swizzle, start + plain(i, j))] = x[i, j]
    assert lay.tolist() == expected.tolist()
    after = x.copy()
    after[0, 1] += 100
    first = after.copy()
    first[0, 0] += after[0, 1] - after[0, 0]
    assert found.tolist() == x.tolist()
    assert got.tolist() == [a.tolist() for a in (first, after + 1, 2 * after, after, after)]


def swizzled(swizzle: Swizzle, offset: int) -> int:
    """CuTe's words: the bits above go into those below, or the other way round."""
    shift = abs(swizzle.shift)
    low, high = swizzle.base, swizzle.base + shift
    mask = 2**swizzle.bits - 1
    if swizzle.shift > 0:
        return offset ^ ((offset >> high & mask) << low)
    return offset ^ ((offset >> low & mask) << high)


@kernel
def through(
    x: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    *,
    ways: Comptime[tuple[str, bool, int | None]],
    tile: Comptime[tuple[int, int]],
    vector: Comptime[tuple[int, int]],
    default: Comptime[float],
):
    """A tile to shared memory and back, with what is not there added in the first column of ``out[1]``."""
    way, swizzle, count = ways
    rows, columns = tile
    layout = Layout.row_major(rows, columns)
    mixed = ComposedLayout(layout, Swizzle(1, 2, 2)) if swizzle else layout
    here = stack_allocation(Float32, mixed, address_space=SHARED)
    there = stack_allocation(Float32, mixed, address_space=SHARED)
    source = x.tile[tile](block_idx.y, block_idx.x, default=default).vectorize[vector]()
    target = out[0, ...].tile[tile](block_idx.y, block_idx.x).vectorize[vector]()
    to, last = here.vectorize[vector](), there.vectorize[vector]()
    threads = Layout.row_major(rows // vector[0], 1)
    if way == "sync":
        copy_dram_to_sram(to, source, num_threads=count)
    elif way == "async":
        copy_dram_to_sram_async(to, source, thread_layout=threads, num_threads=count)
        async_copy_wait_all()
    else:
        share = (1, columns // vector[1])
        held = stack_allocation(Float32, Layout.row_major(vector[0], columns)).vectorize[vector]()
        assert held.shape == share
        copy_dram_to_local(held, source, thread_layout=threads)
        copy_local_to_shared(to, held, thread_layout=threads)
    barrier()
    if thread_idx.x == 0:
        there.copy_from(here)
        total = Float32(0.0)
        for i in range(rows):
            for j in range(columns):
                total += here[i, j]
        out[1, block_idx.y, block_idx.x] = total
    barrier()
    if way == "sync":
        copy_sram_to_dram(target, last, thread_layout=threads)
    elif way == "async":
        copy_sram_to_dram(target, last, num_threads=count)
    else:
        back = stack_allocation(Float32, Layout.row_major(vector[0], columns)).vectorize[vector]()
        copy_sram_to_local(back, last, thread_layout=threads)
        copy_local_to_dram(target, back, thread_layout=threads)


@given(
    shape=st.tuples(st.integers(1, 11), st.integers(1, 19)),
    way=st.sampled_from(["sync", "async", "local"]),
    swizzle=st.booleans(),
    dynamic=st.booleans(),
    vector=st.sampled_from([(1, 1), (1, 2), (1, 4), (2, 2), (1, 8)]),
    default=st.sampled_from([0.0, 2.5]),
    threads=st.sampled_from([(1, None), (3, 3), (4, None), (4, 4), (32, None), (40, None)]),
)
@settings(max_examples=12)
def test_tiles_go_through_shared_memory(
    launch: Launch,
    shape: tuple[int, int],
    way: str,
    swizzle: bool,
    dynamic: bool,
    vector: tuple[int, int],
    default: float,
    threads: tuple[int, int | None],
) -> None:
    rows, columns = 4, 8
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    grid = -(-shape[1] // columns), -(-shape[0] // rows)
    block, count = threads
    if way == "local" and block < rows // vector[0]:
        block = rows
    named = {"ways": (way, swizzle, count), "tile": (rows, columns), "vector": vector, "default": default}
    out = np.full((2, *shape), -1, np.float32)
    found = launch(through, x, out, grid_dim=grid, block_dim=block, dynamic=dynamic, **named)[1]
    padded = np.full((grid[1] * rows, grid[0] * columns), default, np.float32)
    padded[: shape[0], : shape[1]] = x
    sums = padded.reshape(grid[1], rows, grid[0], columns).sum((1, 3))
    assert found[0].tolist() == x.tolist()
    assert found[1, : grid[1], : grid[0]].tolist() == sums.tolist()
    found[1, : grid[1], : grid[0]] = -1
    assert (found[1] == -1).all()


def test_edges_are_kept_to() -> None:
    """Bounds are checked: nothing outside of the arrays is read or written."""
    ctx = DeviceContext(api="cpu", checked="bounds")
    x, out = np.ones((5, 9), np.float32), np.zeros((2, 5, 9), np.float32)
    named: Any = {"ways": ("sync", False, 4), "tile": (4, 8), "vector": (1, 4), "default": 0.0}
    ctx.enqueue_function(through, x, out, grid_dim=(2, 2), block_dim=4, **named)
    ctx.synchronize()
    assert out[0].tolist() == x.tolist()


@kernel
def own_copies(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    here = stack_allocation(Float32, Layout.row_major(6, 8), address_space=SHARED)
    threads = Layout.row_major(2, 2)
    mine = here.vectorize[1, 2]().distribute[threads](thread_idx.x)
    mine.copy_from_async(x.tile[6, 8](0, block_idx.x).vectorize[1, 2]().distribute[threads](thread_idx.x))
    async_copy_wait_all()
    barrier()
    copy_sram_to_dram(out.tile[6, 8](0, block_idx.x), here)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_thread_copies_its_own(launch: Launch, dynamic: bool) -> None:
    x = np.arange(5 * 21, dtype=np.float32).reshape(5, 21)
    found = launch(own_copies, x, np.zeros_like(x), grid_dim=3, block_dim=4, dynamic=dynamic)[1]
    assert found.tolist() == x.tolist()


@kernel
def by_warps(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    here = stack_allocation(Float32, Layout.row_major(2, 8, 16), address_space=SHARED)
    warp = thread_idx.x // 32
    copy_dram_to_sram(here[warp, ...], x[warp, ...], scope="warp")
    barrier()
    copy_sram_to_dram(out[1 - warp, ...].transpose(), here[warp, ...].transpose(), scope="warp")


def test_warps_copy(launch: Launch) -> None:
    x = np.arange(256, dtype=np.float32).reshape(2, 8, 16)
    found = launch(by_warps, x, np.zeros_like(x), grid_dim=1, block_dim=64)[1]
    assert found.tolist() == x[::-1].tolist()


@kernel
def swapped(x: LayoutTensor[Float32]):
    here = stack_allocation(Float32, Layout.row_major(4, 4), address_space=SHARED)
    copy_dram_to_sram(x, here)


@kernel
def unlike(x: LayoutTensor[Float32]):
    here = stack_allocation(Float32, Layout.row_major(4, 2), address_space=SHARED)
    copy_sram_to_dram(x, here)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (swapped, r"dst of copy_dram_to_sram\(\) is to be a tensor in SHARED memory, not GLOBAL"),
        (unlike, r"a tensor \(\(4, 4\):\(4, 1\)\) cannot be copied from one .*the shapes differ"),
    ],
)
def test_what_is_refused(cpu: DeviceContext, wrong: Any, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        cpu.enqueue_function(wrong, np.zeros((4, 4), np.float32), grid_dim=1, block_dim=4)


@kernel
def stages(x: LayoutTensor[Float32], out: LayoutTensor[Float32], n: Int):
    """Tiles of rows go round through three stages of shared memory."""
    buffer = stack_allocation(Float32, Layout.row_major(6, 4), address_space=SHARED)
    stage = buffer.tiled_iterator[2, 4](0, 0, circular=True)
    source = x.tiled_iterator[2, 4](0, 0, axis=1)
    if n > 2:
        source += 1
    for k in range(n):
        stage.get().copy_from(source[k])
        out[k, :, :] = stage.next(3).get()
        stage += 1
    for tile in source:
        out[0, 0, 0] += tile[1, 1]


@pytest.mark.parametrize("dynamic", [False, True])
def test_iterators(launch: Launch, dynamic: bool) -> None:
    x = np.arange(2 * 20, dtype=np.float32).reshape(2, 20)
    found = launch(stages, x, np.zeros((4, 2, 4), np.float32), 4, grid_dim=1, block_dim=1, dynamic=dynamic)[1]
    expected = np.stack([x[:, 4 * k + 4 : 4 * k + 8] for k in range(4)])
    expected[0, 0, 0] += x[1, 5::4].sum()
    assert found.tolist() == expected.tolist()


@kernel
def product_of_swizzled(a: LayoutTensor[Float16], b: LayoutTensor[Float16], out: LayoutTensor[Float32]):
    """Rows of 32 elements, of which eight stay together, as ``ldmatrix`` wants them."""
    core = TensorCore(Float32, Float16, (16, 8, 16))
    swizzle = Swizzle(2, 3, 3)
    left = stack_allocation(Float16, ComposedLayout(Layout.row_major(16, 32), swizzle), address_space=SHARED)
    right = stack_allocation(Float16, ComposedLayout(Layout.row_major(32, 8), swizzle), address_space=SHARED)
    copy_dram_to_sram(left.vectorize[1, 8](), a.vectorize[1, 8]())
    copy_dram_to_sram(right, b)
    barrier()
    sums = core.zero()
    for k in range(2):
        sums = core.mma_op(core.load_a(left.tile[16, 16](0, k)), core.load_b(right.tile[16, 8](k, 0)), sums)
    core.store_d(out, sums)


def test_tensor_cores_take_swizzled_tiles(launch: Launch, ptx: Callable[..., str]) -> None:
    a = (np.arange(16 * 32) % 13 - 6).astype(np.float16).reshape(16, 32)
    b = (np.arange(32 * 8) % 7 - 3).astype(np.float16).reshape(32, 8)
    found = launch(product_of_swizzled, a, b, np.zeros((16, 8), np.float32), grid_dim=1, block_dim=32)[2]
    assert found.tolist() == (a.astype(np.float32) @ b.astype(np.float32)).tolist()
    text = ptx(product_of_swizzled, a, b, np.zeros((16, 8), np.float32))
    assert text.count("ldmatrix.sync.aligned.m8n8.x4") >= 1


@kernel
def copied_by_one(x: LayoutTensor[Float32]):
    """What is read together in a branch is read again behind it."""
    here = stack_allocation(Float32, Layout.row_major(4, 2), address_space=SHARED)
    there = stack_allocation(Float32, Layout.row_major(4, 2), address_space=SHARED)
    copy_dram_to_sram(here, x)
    barrier()
    if thread_idx.x == 0:
        there.copy_from(here)
    barrier()
    x[thread_idx.x, 0] = there[thread_idx.x, 1]


def test_copies_are_right_under_all_checks() -> None:
    ctx = DeviceContext(api="cpu", checked=True)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    ctx.enqueue_function(copied_by_one, x, grid_dim=1, block_dim=4)
    ctx.synchronize()
    assert x[:, 0].tolist() == x[:, 1].tolist() == [1, 3, 5, 7]
