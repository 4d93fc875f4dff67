"""Tiles that do not divide their tensor, against NumPy's slices, which end at the edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import CompileError, Comptime, Int, Int32, Pointer, func, kernel
from weft.gpu import block_idx, global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]


def tiles_of(x: npt.NDArray[Any], height: int, width: int) -> list[list[npt.NDArray[Any]]]:
    """All tiles, two more than there are along each mode: these are empty."""
    rows, cols = (-(-n // size) + 2 for n, size in zip(x.shape, (height, width), strict=True))
    return [
        [x[i * height : (i + 1) * height, j * width : (j + 1) * width] for j in range(cols)]
        for i in range(rows)
    ]


@func
def extent(t: LayoutTensor[Int32], mode: Comptime[int]):
    return t.dim(mode)


@kernel
def measure(x: LayoutTensor[Int32], out: LayoutTensor[Int32], *, height: Comptime[int], width: Comptime[int]):
    """What each tile says of itself, and the sum of what it has."""
    i, j = global_idx.y, global_idx.x
    tile = x.tile[height, width](i, j)
    total = Int32(0)
    for a in range(tile.dim(0)):
        for b in range(tile.shape[1]):
            total += tile[a, b]
    inner = tile[1:, :]
    out[i, j, 0], out[i, j, 1] = Int32(extent(tile, 0)), Int32(tile.dim(1))
    out[i, j, 2], out[i, j, 3] = Int32(tile.size()), total
    out[i, j, 4], out[i, j, 5] = Int32(inner.dim(0)), Int32(tile[0, :].dim(0))


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    dynamic=st.booleans(),
)
@settings(max_examples=25)
def test_extents_of_tiles(
    launch: Launch, shape: tuple[int, int], height: int, width: int, dynamic: bool
) -> None:
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
    tiles = tiles_of(x, height, width)
    divides = [n % size == 0 and not dynamic for n, size in zip(shape, (height, width), strict=True)]
    rows, cols = (len(t) - 2 * whole for t, whole in zip((tiles, tiles[0]), divides, strict=True))
    out = np.zeros((rows, cols, 6), np.int32)
    sizes = {"height": height, "width": width}
    found = launch(measure, x, out, grid_dim=1, block_dim=(cols, rows), dynamic=dynamic, **sizes)[1]
    for i in range(rows):
        for j in range(cols):
            here = tiles[i][j]
            h, w = here.shape
            assert found[i, j].tolist() == [h, w, h * w, here.sum(), here[1:].shape[0], w if h else 0]


@kernel
def spread(x: LayoutTensor[Int32], *, height: Comptime[int], width: Comptime[int], threads: Comptime[Layout]):
    """Each thread marks what it has of a tile's vectors."""
    tile = x.tile[height, width](global_idx.z, global_idx.y)
    mine = tile.distribute[threads](global_idx.x)
    for a in range(mine.dim(0)):
        for b in range(mine.dim(1)):
            mine[a, b] += Int32(global_idx.x + 1)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (4, 9), (1, 1), (9, 3)])
def test_shares_of_tiles(launch: Launch, shape: tuple[int, int], dynamic: bool) -> None:
    threads = Layout.row_major(2, 2)
    rows, cols = (-(-n // 4) for n in shape)
    found = launch(
        spread,
        np.zeros(shape, np.int32),
        height=4,
        width=4,
        threads=threads,
        grid_dim=1,
        block_dim=(4, cols, rows),
        dynamic=dynamic,
    )[0]
    i, j = np.indices(shape)
    assert found.tolist() == (i % 4 % 2 * 2 + j % 4 % 2 + 1).tolist()


@kernel
def through_registers(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Fills and copies keep to what exists; a tile of a tile knows its part, too."""
    i, j = global_idx.y, global_idx.x
    held = stack_allocation(Int32, Layout.row_major(4, 4))
    held.fill(-1)
    held.copy_from(x.tile[4, 4](i, j))
    target = out.tile[4, 4](i, j)
    target.fill(7)
    target.tile[2, 2](0, 0).copy_from(held.tile[2, 2](0, 0))
    target.tile[2, 3](1, 0).fill(9)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (4, 9), (1, 1), (9, 3)])
def test_fills_and_copies(launch: Launch, shape: tuple[int, int], dynamic: bool) -> None:
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
    rows, cols = (-(-n // 4) for n in shape)
    found = launch(
        through_registers, x, np.zeros_like(x), grid_dim=1, block_dim=(cols, rows), dynamic=dynamic
    )[1]
    expected = np.full(shape, 7, np.int32)
    for tiles, sources in zip(tiles_of(expected, 4, 4), tiles_of(x, 4, 4), strict=True):
        for tile, source in zip(tiles, sources, strict=True):
            tile[:2, :2] = source[:2, :2]
            tile[2:4, :3] = 9
    assert found.tolist() == expected.tolist()


@kernel
def vectors(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    tile = x.tile[2, 8](0, global_idx.x).vectorize[1, 4]()
    out[global_idx.x, 0], out[global_idx.x, 1] = Int32(tile.dim(0)), Int32(tile.dim(1))


@pytest.mark.parametrize("dynamic", [False, True])
def test_vectors_of_tiles(launch: Launch, dynamic: bool) -> None:
    x, out = np.zeros((2, 14), np.int32), np.zeros((2, 2), np.int32)
    found = launch(vectors, x, out, grid_dim=1, block_dim=2, dynamic=dynamic)[1]
    assert found.tolist() == [[2, 2], [2, 2]]  # of the last a half exists


@kernel
def everywhere(x: LayoutTensor[Int32], out: LayoutTensor[Int32], marks: LayoutTensor[Int32]):
    """Every index of a tile, whether it exists or not."""
    i, j = global_idx.y, global_idx.x
    tile, marked = x.tile[3, 4](i, j, default=-5), marks.tile[3, 4](i, j)
    for a in range(3):
        for b in range(4):
            out[3 * i + a, 4 * j + b] = tile[a, b]
            marked[a, b] = Int32(7 * a + b)
            marked[a, b] += 100
    row, column = tile[1, :], tile[:, 2:4]
    for b in range(4):
        out[12 + 3 * i, 4 * j + b] = row[b]
    for a in range(3):
        out[13 + 3 * i, 4 * j + a] = column[a, 1]
    out.store(14 + 3 * i, 4 * j, value=tile.load(1, 1, width=2))
    marked.store(0, 1, value=tile.load(0, 1, width=2))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(9, 12), (7, 5), (4, 9), (1, 1), (8, 11)])
def test_what_is_not_there(launch: Launch, shape: tuple[int, int], dynamic: bool) -> None:
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
    out, marks = np.full((24, 16), -9, np.int32), np.zeros(shape, np.int32)
    rows, cols = -(-shape[0] // 3), -(-shape[1] // 4)
    found = launch(everywhere, x, out, marks, grid_dim=1, block_dim=(cols, rows), dynamic=dynamic)
    padded = np.full((3 * rows, 4 * cols), -5, np.int32)
    padded[: shape[0], : shape[1]] = x
    assert np.array_equal(found[1][: 3 * rows, : 4 * cols], padded)
    a, b = np.indices(shape)
    expected = 7 * (a % 3) + b % 4 + 100
    for i, j in np.ndindex(rows, cols):
        here = padded[3 * i : 3 * i + 3, 4 * j : 4 * j + 4]
        assert found[1][12 + 3 * i, 4 * j : 4 * j + 4].tolist() == here[1].tolist()
        assert found[1][13 + 3 * i, 4 * j : 4 * j + 3].tolist() == here[:, 3].tolist()
        assert found[1][14 + 3 * i, 4 * j : 4 * j + 2].tolist() == here[1, 1:3].tolist()
        expected[3 * i : 3 * i + 1, 4 * j + 1 : 4 * j + 3] = x[3 * i : 3 * i + 1, 4 * j + 1 : 4 * j + 3]
    assert np.array_equal(found[2], expected)


@kernel
def in_vectors(
    x: LayoutTensor[Int32],
    marks: LayoutTensor[Int32],
    *,
    lanes: Comptime[tuple[int, int]],
    threads: Comptime[Layout | None],
):
    """Doubles each element by vectors, of tiles and dealt out to threads if there are some."""
    a, b = x.vectorize[lanes](), marks.vectorize[lanes]()
    if threads is not None:
        tile = global_idx.y, global_idx.z
        a, b = (v.tile[4, 4](*tile).distribute[threads](global_idx.x) for v in (a, b))
    for i in range(a.dim(0)):
        for j in range(a.dim(1)):
            b[i, j] += a[i, j] * 2
    if threads is None:
        b[0, a.dim(1)] = 5  # there is none


@pytest.mark.parametrize("threads", [None, Layout.row_major(2, 2)], ids=["whole", "threads"])
@pytest.mark.parametrize("lanes", [(1, 4), (4, 1), (2, 2)], ids=str)
@pytest.mark.parametrize("shape", [(9, 13), (8, 8), (3, 3), (1, 6)])
def test_vectors_at_the_edge(
    launch: Launch, shape: tuple[int, int], lanes: tuple[int, int], threads: Layout | None
) -> None:
    x = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int32).reshape(shape)
    found = launch(
        in_vectors,
        x,
        np.ones_like(x),
        lanes=lanes,
        threads=threads,
        grid_dim=1,
        block_dim=(4, 4, 4) if threads else 1,
        dynamic=True,
    )
    assert np.array_equal(found[1], 2 * x + 1)


def test_tiles_on_the_host() -> None:
    host = DeviceContext(api="cpu").enqueue_create_host_buffer(Int32, 35)
    host[:] = range(35)
    t = host.tensor(Layout.row_major(5, 7))
    expected = np.arange(35).reshape(5, 7)
    assert t.tile[2, 3](2, 2).numpy().tolist() == expected[4:, 6:].tolist()
    assert t.tile[2, 3](0, 1).numpy().tolist() == expected[:2, 3:6].tolist()
    assert not t.tile[2, 3](2, 2).masked
    t.tile[2, 3](2, 2).fill(-1)
    assert host[34] == -1
    assert host[33] == 33


@kernel
def fixed(x: LayoutTensor[Int32]):
    tile = x.tile[4, 4](0, 1)
    tile[0, 3] = 1


@kernel
def relaid(x: LayoutTensor[Int32], n: Int):
    x.tile[4, 4](0, n).reshape(Layout.row_major(16))[0] = 1


def test_what_is_known_to_be_outside(cpu: DeviceContext) -> None:
    x = cpu.enqueue_create_buffer(Int32, 24).tensor(Layout.row_major(4, 6))
    with pytest.raises(CompileError, match="index 3 is outside mode 1, which ends after 2 elements"):
        cpu.enqueue_function(fixed, x, grid_dim=1, block_dim=1)
    with pytest.raises(CompileError, match="a tile that may end at the edge has no other layout"):
        cpu.enqueue_function(relaid, x, 0, grid_dim=1, block_dim=1)


@kernel
def tiles_of_a_tile(t: LayoutTensor[Int32], sums: Pointer[Int32], i: Int, j: Int, *, inner: Comptime[Any]):
    part, n = t.tile[5, 4](i, j), Int(0)
    for tile in part.tiles(*inner):
        total = Int32(0)
        for row in range(tile.dim(0)):
            for column in range(tile.dim(1)):
                total += tile[row, column]
        sums[n] = total
        n += 1


@pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
@pytest.mark.parametrize("inner", [(3, 4), (2, 3), (5, 4), (1, 2)])
@pytest.mark.parametrize("at", [(0, 0), (1, 1), (2, 2), (2, 0)])
def test_tiles_of_a_tile_end_with_it(
    device: DeviceContext, inner: tuple[int, int], at: tuple[int, int]
) -> None:
    """Behind a tile's own end the tensor goes on, which is none of its tiles' business."""
    t = np.arange(11 * 9, dtype=np.int32).reshape(11, 9)
    rows, columns = inner
    part = t[5 * at[0] :][:5, 4 * at[1] :][:, :4]
    expected = [
        int(part[r : r + rows, c : c + columns].sum())
        for r in range(0, part.shape[0], rows)
        for c in range(0, part.shape[1], columns)
    ]
    sums = np.full(32, -1, np.int32)
    device.enqueue_function(tiles_of_a_tile, t, sums, *at, inner=inner, grid_dim=1, block_dim=1)
    device.synchronize()
    assert sums[: len(expected)].tolist() == expected


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_a_tensor_of_no_elements_has_no_tile_to_write(shape: tuple[int, int]) -> None:
    """0 is divided by every size, but a grid has one block at least, which would write beside it."""

    @kernel
    def mark(x: LayoutTensor[Int32]):
        tile = x.tile[2, 2](block_idx.y, block_idx.x)
        tile.fill(1)
        tile[1, 1] = tile[0, 0] + Int32(tile.dim(0) * tile.dim(1))
        x.tile[2, 2](0, 0).fill(1)

    memory = np.full((8, 8), 7, np.int32)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(mark, memory[2 : 2 + shape[0], 2 : 2 + shape[1]], grid_dim=(2, 2), block_dim=1)
    ctx.synchronize()
    assert (memory == 7).all()
