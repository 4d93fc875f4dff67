"""Products of Float32 without tensor cores: sides along k and across it, copied before or not, and split."""

from __future__ import annotations

import numpy as np
import pytest

from placed_arrays import found, placed
from weft.gpu.host import DeviceContext
from weft.kernels.operands import Operands
from weft.kernels.products.choice import ACROSS, LANES, Shape, turns
from weft.kernels.products.problem import Ends, Problem, as_side, turned
from weft.kernels.products.tiles import by_lanes
from weft.lang.intrinsics import Feature
from weft.targets import find_target

SMALL, LARGE = LANES[-1], LANES[0]
CASES = [
    ("", SMALL, 1, False),
    ("ab", SMALL, 1, False),
    ("", SMALL, 1, True),
    ("b", SMALL, 2, True),
    ("a", LARGE, 1, False),
    ("b", ACROSS[0], 1, True),
]


@pytest.mark.parametrize(("across", "shape", "splits", "turn"), CASES)
def test_sides(device: DeviceContext, across: str, shape: Shape, splits: int, turn: bool) -> None:
    if not device.info.shares_host and not find_target(device.target).supports(Feature.TENSOR_MEMORY_ACCESS):
        pytest.skip("this GPU copies no tiles")
    m, n, k = 131, 270, 103
    generator = np.random.default_rng(m)
    a, b = (generator.integers(-3, 4, x).astype(np.float32) for x in ((m, k), (k, n)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    a, b = (np.asfortranarray(x) if name in across else x for name, x in (("a", a), ("b", b)))
    out = placed(device, np.full((m, n), np.nan, np.float32))
    op = Operands("matmul", a=placed(device, a), b=placed(device, b))
    target = op.result((m, n), op["a"].dtype, out)
    sides = as_side(op, op["a"], (), (m, k)), turned(as_side(op, op["b"], (), (k, n)))
    into = as_side(op, target, (), (m, n), fill=False)
    by_lanes(Problem(op, *sides, into, Ends(1.0, [], None)), shape, splits, turn=turn)
    op.give(target)
    np.testing.assert_array_equal(found(out), expected)


def test_sides_are_copied_where_that_pays() -> None:
    units, side = 132, 4096 * 4096
    assert turns((4096, 4096, 4096, 1), 2 * side, 4, units)
    assert not turns((16, 4096, 4096, 1), side, 4, units)
    assert not turns((256, 256, 256, 1), 256 * 256, 4, units)
