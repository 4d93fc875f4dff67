"""Products by warpgroups whose k is split, of all tiles or of the last, and which clusters make."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from placed_arrays import found, placed
from weft.dtype import as_dtype
from weft.gpu.host import DeviceContext
from weft.kernels.operands import Operands
from weft.kernels.products import tiles
from weft.kernels.products.choice import Shape
from weft.kernels.products.problem import Ends, Problem, as_side, turned
from weft.kernels.products.tiles import by_warpgroups
from weft.lang.intrinsics import Feature
from weft.targets import find_target

WAYS: list[tuple[tuple[int, int, int], Shape, int, int]] = [
    ((300, 130, 700), Shape((128, 128), 1, 3, 1, 1, cluster=2), 3, 0),
    ((500, 200, 1300), Shape((128, 64), 1, 3, 1, 1), 10, 2),  # more parts than are added up at once
    ((300, 130, 700), Shape((128, 128), 1, 3, 1, 1, along=4), 1, 0),
    ((130, 70, 1300), Shape((64, 128), 2, 4, 1, 1, along=2), 9, 0),
    ((200, 300, 100), Shape((128, 256), 1, 3, 1, 1, along=8), 1, 0),  # more blocks than steps
]


BARE: list[tuple[tuple[int, int, int], Shape, int, int]] = [
    ((130, 400, 300), Shape((128, 192), 1, 4, 1, 1), 1, 0),
    ((130, 128, 600), Shape((128, 128), 1, 3, 1, 1, along=2), 3, 0),
    ((150, 240, 200), Shape((128, 72), 1, 3, 1, 1), 1, 0),  # the result's last piece lies over the one before
    ((300, 350, 200), Shape((256, 152), 1, 3, 1, 1), 1, 0),
    ((150, 40, 400), Shape((64, 16), 1, 4, 2, 1, groups=1), 3, 0),
    ((100, 250, 200), Shape((64, 208), 1, 4, 1, 1, groups=1), 1, 0),
    ((70, 100, 600), Shape((64, 64), 1, 6, 1, 1, along=4, groups=1), 2, 0),
]


def _shifted(x: Any, i: Any, j: Any) -> Any:
    return x + i - j


@pytest.mark.parametrize(
    ("extents", "shape", "splits", "whole", "bare"),
    [*((*way, False) for way in WAYS), *((*way, True) for way in BARE)],
)
def test_parts_are_joined(
    device: DeviceContext, extents: tuple[int, int, int], shape: Shape, splits: int, whole: int, bare: bool
) -> None:
    if not device.info.shares_host and not find_target(device.target).supports(Feature.WGMMA):
        pytest.skip("this GPU has no wgmma")
    m, n, k = extents
    generator = np.random.default_rng(m)
    a, b = (generator.integers(-3, 4, x).astype(np.float16) for x in ((m, k), (k, n)))
    out = placed(device, np.full((m, n), np.nan, np.float32))
    for _ in range(2):  # the counters of the first time are of no harm
        op = Operands("matmul", a=placed(device, a), b=placed(device, b))
        target = op.result((m, n), Operands("sum", x=out).first.dtype, out)
        sides = as_side(op, op["a"], (), (m, k)), turned(as_side(op, op["b"], (), (k, n)))
        into = as_side(op, target, (), (m, n), fill=False)
        ends = Ends(1.0, [], None) if bare else Ends(0.5, [], _shifted)
        by_warpgroups(Problem(op, *sides, into, ends), shape, splits, whole)
        op.give(target)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        if not bare:
            expected = expected / 2 + np.arange(m)[:, None] - np.arange(n)
        np.testing.assert_array_equal(found(out), expected)


@pytest.mark.parametrize("m", [5, 32])
def test_few_rows_are_a_tiles_columns(device: DeviceContext, m: int) -> None:
    if not device.info.shares_host and not find_target(device.target).supports(Feature.WGMMA):
        pytest.skip("this GPU has no wgmma")
    n, k = 520, 256
    generator = np.random.default_rng(m)
    a, b, bias, rows = (
        generator.integers(-3, 4, x).astype(np.float16) for x in ((2, m, k), (2, k, n), (n,), (m, 1))
    )
    op = Operands(
        "matmul", a=placed(device, a), b=placed(device, b), c=placed(device, bias), d=placed(device, rows)
    )
    out = placed(device, np.full((2, m, n), np.nan, np.float32))
    target = op.result((2, m, n), Operands("sum", x=out).first.dtype, out)
    terms = [("*", as_side(op, op["d"], (2,), (m, n))), ("+", as_side(op, op["c"], (2,), (m, n)))]
    sides = as_side(op, op["a"], (2,), (m, k)), turned(as_side(op, op["b"], (2,), (k, n)))
    problem = Problem(op, *sides, target, Ends(0.5, terms, None))
    by_warpgroups(problem.turned(), Shape((64, 16), 1, 4, 1, 1, along=2, groups=1))
    op.give(target)
    expected = a.astype(np.float64) @ b.astype(np.float64) / 2 * rows + bias
    np.testing.assert_array_equal(found(out), expected)


@pytest.mark.parametrize(
    ("m", "n", "epilogue", "turns"),
    [(16, 4096, None, True), (4096, 16, None, False), (16, 4096, _shifted, False), (500, 4096, None, False)],
)
def test_which_products_are_turned(m: int, n: int, epilogue: Any, turns: bool) -> None:
    info = SimpleNamespace(multiprocessors=132)
    problem = SimpleNamespace(
        extents=(m, n, 4096, 1),
        groups=None,
        a=SimpleNamespace(dtype=as_dtype("bfloat16")),
        ends=Ends(1.0, [], epilogue),
        op=SimpleNamespace(context=SimpleNamespace(info=info)),
    )
    (shape, _, _), turned = tiles.chosen(cast("Problem", problem), 64, (1, 1))
    assert turned == turns
    assert (shape.tile == (64, 16)) == (16 in (m, n) and epilogue is None)
