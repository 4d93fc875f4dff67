"""What kernels of Triton write, of tiles: numbers first, added axes, lists of extents."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Comptime, Float32, Int, Int16, Int32, UInt8, func, tile
from weft.compile import compile_info
from weft.gpu import block_idx
from weft.layout import Layout, LayoutTensor
from weft.math import max, pow, sincos
from weft.random import rand

from .conftest import Launch


@tile.tile_kernel(threads=64)
def _numbers_first(x: LayoutTensor[Int32], out: LayoutTensor[Int32], n: Int32):
    t = tile.load(x, 0, 128)
    made = (7 % t, 100 // t, 2**t, 1 << t, 6 & t, 9 | t, 5 ^ t, 1000 >> t, n % t, n << t)
    for row, one in enumerate(made):
        tile.store(out[row], 0, one)
    tile.store(out[len(made)], 0, ((n > 2) & (t < 3)).cast(Int32))


def test_numbers_stand_first(launch: Launch) -> None:
    x = np.random.default_rng(0).integers(1, 9, 128).astype(np.int32)
    _, out = launch(_numbers_first, x, np.zeros((11, 128), np.int32), 77, grid_dim=1)
    n = np.int32(77)
    expected: list[Any] = [7 % x, 100 // x, 2**x, 1 << x, 6 & x, 9 | x, 5 ^ x, 1000 >> x, n % x, n << x]
    np.testing.assert_array_equal(out, [*expected, (x < 3).astype(np.int32)])


@tile.tile_kernel(threads=64)
def _with_axes(x: LayoutTensor[Float32], out: LayoutTensor[Float32], *, rows: Comptime[int]):
    start = tile.zeros([rows], Float32) + 1.0
    column = tile.load(x, [0], [rows])
    row = tile.arange(0, 16)[None, :] - tile.arange(16, 32)[None, ...]
    tile.store(out, [0, 0], (column * start)[:, None] * row.cast(Float32))


def test_axes_are_added_and_extents_given_as_lists(launch: Launch) -> None:
    x = np.arange(32, dtype=np.float32)
    _, out = launch(_with_axes, x, np.zeros((32, 16), np.float32), rows=32, grid_dim=1)
    np.testing.assert_array_equal(out, np.repeat(-16 * x[:, None], 16, axis=1))


@tile.tile_kernel(threads=64)
def _without_axes(x: LayoutTensor[Float32], rows: LayoutTensor[Float32], columns: LayoutTensor[Float32]):
    t = tile.load(x, (0, 0), (16, 32))
    tile.store(rows, 0, t.sum(axis=1)[:, 0])
    tile.store(columns, 0, t.max(axis=0)[-1, :])


def test_axes_of_one_element_are_taken_away(launch: Launch) -> None:
    x = np.random.default_rng(5).integers(0, 99, (16, 32)).astype(np.float32)
    made = launch(_without_axes, x, np.zeros(16, np.float32), np.zeros(32, np.float32), grid_dim=1)
    np.testing.assert_array_equal(made[1], x.sum(axis=1))
    np.testing.assert_array_equal(made[2], x.max(axis=0))


@tile.tile_kernel(threads=64)
def _functions(x: LayoutTensor[Float32], out: LayoutTensor[Float32], a: Float32):
    t = tile.load(x, 0, 128)
    sines, cosines = sincos(t)
    made = (sines, cosines, pow(t, a), max(a, t), tile.where(a > 1.0, t, 0.0), tile.where(a > 9.0, t, -t))
    for row, one in enumerate(made):
        tile.store(out[row], 0, one)


def test_functions_take_numbers_of_run_time(launch: Launch) -> None:
    x = np.random.default_rng(0).random(128, np.float32) * 4
    _, out = launch(_functions, x, np.zeros((6, 128), np.float32), 1.5, grid_dim=1)
    a = np.float32(1.5)
    np.testing.assert_allclose(out, [np.sin(x), np.cos(x), x**a, np.maximum(a, x), x, -x], rtol=1e-6)


@func
def _uniform(i: Int, seed: Int) -> Float32:
    return rand(seed, i)


@tile.tile_kernel(threads=32)
def _dropout(x: LayoutTensor[Float32], out: LayoutTensor[Float32], p: Float32, seed: Int):
    offsets = block_idx.x * 64 + tile.arange(64)
    keep = offsets.map(_uniform, seed) > p
    tile.store(out, block_idx.x, tile.where(keep, tile.load(x, block_idx.x, 64) / (1 - p), 0.0))


def test_dropout(launch: Launch) -> None:
    x = np.random.default_rng(0).random(200, np.float32)
    _, out = launch(_dropout, x, np.zeros(200, np.float32), 0.5, 3, grid_dim=4)
    keep = np.array([rand(3, i) > 0.5 for i in range(200)])
    np.testing.assert_array_equal(out, np.where(keep, x * 2, np.float32(0)))


REFUSED = {
    "y[0] = t.sum(axis=0)": (
        "a Float32 is needed here, not a Tile",
        r"t.sum\(axis=0\)\[0\]; a reduction without",
    ),
    "s = t.max(axis=0) if n > 2 else 0.0": ("Tile", "a reduction without axis= is a number"),
    "s = 0.0\n    for _ in range(n):\n        s = t.max(axis=0)\n    y[0] = s": (
        "becomes",
        "a reduction without axis= is a number",
    ),
    "s = 1 if t.max(axis=0) > 0.5 else 2": ("also with one element", "a reduction without axis= is one"),
    "s = (t > 0.0) and (t < 1.0)": ("is no condition", "`a & b`"),
    "s = rand(1, tile.arange(64))": ("is an Int, not a Tile", r"tile.arange\(64\).map\(lambda"),
    "s = pop_count(tile.arange(64))": ("pop_count takes integers", r".map\(pop_count\)"),
    "s = t @ t": ("cannot combine a Tile with a Tile", r"tile.dot\(a, b\)"),
    "s = tile.load(p + tile.arange(64))": ("not a Tile", r"tile.gather\(x, "),
    "s = tile.load(x + tile.arange(64))": ("not with a LayoutTensor", r"tile.load\(x, i, 128\)"),
    "s = tile.load(x, tile.arange(64))": ("which tile it is and its extents", r"tile.gather\(x, t\)"),
    "s = tile.load(x, 0, 64, mask=tile.arange(64) < n)": ("mask", "leave it out: beyond the edges is other="),
    "tile.store(x, 0, tile.zeros((4, 64)).sum(axis=0))": ("more axes than the tensor", r"\.reshape\(64\)"),
    "for v in t:\n        pass": ("a loop cannot run over a Tile", r"unroll\(range\(len\(t\)\)\)"),
    "s = max(t)": ("a Tile cannot be looped over", r"t.sum\(\), t.max\(\)"),
    "s = sum(t)": ("a Tile cannot be looped over", r"t.sum\(\), t.max\(\)"),
    "s = float(t)": (r"float\(\) takes one number, not a Tile", r"t.sum\(\)"),
    "s = int(t[:, None])": (r"int\(\) takes one number, not a Tile", "reduce it"),
    "t[0] = 1.0": ("items of a Tile cannot be assigned", r"tile.where\(tile.arange\(n\) == i, x, t\)"),
    "s = np.exp(t)": ("is Python's and computes at compile time", r"weft.math.exp\(t\)"),
    "s = t.exp()": ("no attribute `exp`", r"weft.math.exp\(t\)"),
    "s = t.size": ("no attribute `size`", "x.shape"),
    "assert t > 0.0": ("many elements, and is no condition", r"\.all\(\)"),
    "s = tile.where(t, t, 0.0)": ("chooses by a tile of Bools, not of Float32", "t != 0"),
    "s = t.where(t, 0.0)": ("chooses by a tile of Bools, not of Float32", "t != 0"),
    "s = tile.load(x, 0, 64, other=Float32(n))": ("other= is a Float32, no number", r"tile.where\(\)"),
    "s = tile.load(x, 0, 64, other='nan')": ("other= is a str", "other=0.0"),
    "tile.store(x, 0, 1.0)": ("given a float, which says no extents", r"tile.full\("),
    "for i in range(len(t)):\n        s = t[i]": ("not an Int", r"unroll\(range\(len"),
    "s = t[0:32]": ("brackets of a tile take a number", "tile.load"),
    "s = t[:, 1]": ("brackets of a tile take a number", "tile.load"),
    "s = t[None, :][:, 0]": ("stands for an axis of extent 1, not one of 64", "reduce it first"),
    "s = t[:, :]": ("2 axes are named of a tile of 1", "for each axis"),
    "s = tile.make_block_ptr(x)": ("no attribute", r"tile.load\(x, \(i, j\)"),
    "tile.debug_barrier()": ("no attribute", r"barrier\(\), from weft.gpu"),
    "s = tile.where(n > 2, 1.0, 2.0)": ("none of these is a tile", "a if condition else b"),
}
SOURCE = """
import numpy as np
from weft import Float32, Int, Pointer, tile
from weft.bit import pop_count
from weft.layout import LayoutTensor
from weft.random import rand

@tile.tile_kernel(threads=32)
def k(x: LayoutTensor[Float32], y: LayoutTensor[Float32], p: Pointer[Float32], n: Int):
    t = tile.load(x, 0, 64)
    {}
"""


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(SOURCE.format(line))
    made = runpy.run_path(str(file))["k"]
    layout = Layout.row_major(1000)
    with pytest.raises(CompileError, match=REFUSED[line][0]) as found:
        compile_info(made, layout, layout, target="cpu", emission_kind="ir")
    assert re.search(REFUSED[line][1], str(found.value))


@tile.tile_kernel(threads=64)
def _narrow_sums(x: LayoutTensor[UInt8], y: LayoutTensor[Int16], out: LayoutTensor[Int32]):
    u, v = tile.load(x, 0, 128), tile.load(y, 0, 128)
    tile.store(out[0], 0, u.cumsum().cast(Int32))
    tile.store(out[1], 0, v.cumsum())
    out[2, 0], out[2, 1] = Int32(u.sum()), v.sum()


def test_narrow_integers_are_summed_in_32_bits(launch: Launch) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, 128).astype(np.uint8), rng.integers(-(2**15), 2**15, 128).astype(np.int16)
    *_, out = launch(_narrow_sums, x, y, np.zeros((3, 128), np.int32), grid_dim=1)
    np.testing.assert_array_equal(out[:2], [np.cumsum(x), np.cumsum(y)])
    assert out[2, :2].tolist() == [x.sum(), y.sum()]
