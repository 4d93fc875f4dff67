"""weft.kernels.rope against its definition in NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from placed_arrays import Array, found, placed
from weft import LaunchError
from weft.gpu.host import DeviceContext
from weft.kernels import rope


def expected(x: Array, cos: Array, sin: Array, axis: int, interleaved: bool) -> Array:
    k = cos.shape[1]
    shape = [1] * (x.ndim - 1) + [k]
    shape[axis] = cos.shape[0]
    c, s = cos.reshape(shape), sin.reshape(shape)
    one = (..., slice(0, 2 * k, 2)) if interleaved else (..., slice(0, k))
    other = (..., slice(1, 2 * k, 2)) if interleaved else (..., slice(k, 2 * k))
    result = x.astype(np.float64)
    result[one], result[other] = x[one] * c - x[other] * s, x[other] * c + x[one] * s
    return result


@pytest.mark.parametrize(
    ("shape", "axis", "half"), [((2, 5, 3, 16), 1, 8), ((2, 3, 5, 16), 2, 4), ((7, 10), 0, 3)]
)
@pytest.mark.parametrize("interleaved", [False, True])
def test_pairs_are_turned(
    device: DeviceContext, shape: tuple[int, ...], axis: int, half: int, interleaved: bool
) -> None:
    generator = np.random.default_rng(half)
    x = generator.normal(size=shape).astype(np.float32)
    angles = generator.normal(size=(shape[axis], half)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    right = expected(x, cos, sin, axis, interleaved)
    for given, c in ((x, cos), (np.asfortranarray(x), np.asfortranarray(cos))):
        tensor = placed(device, given)
        result = rope(tensor, placed(device, c), placed(device, sin), axis=axis, interleaved=interleaved)
        np.testing.assert_allclose(found(result), right, rtol=1e-5, atol=1e-6)
        rope(
            tensor,
            placed(device, c),
            placed(device, sin),
            axis=axis,
            interleaved=interleaved,
            out=tensor,
        )
        np.testing.assert_allclose(found(tensor), right, rtol=1e-5, atol=1e-6)


def test_angles_that_do_not_fit_are_refused() -> None:
    x, angles = np.zeros((3, 4), np.float32), np.zeros((3, 3), np.float32)
    with pytest.raises(LaunchError, match="cos is of 3 angles a position"):
        rope(x, angles, angles)
    with pytest.raises(
        LaunchError, match="cos is of shape \\(2, 3\\), and for the positions of x it is \\(3, 3\\)"
    ):
        rope(x, angles[:2], angles)
    for wrong in (np.zeros((1, 3, 2), np.float32), np.zeros(2, np.float32), np.zeros((), np.float32)):
        told = f"sin is of shape {wrong.shape}, and takes two axes: positions and angles"
        with pytest.raises(LaunchError, match=re.escape(told)) as error:
            rope(x, angles[:, :2], wrong)
        hint = "pass one of shape (3, k), with 1 to 2 angles for all of x"
        assert error.value.diagnostics[0].hints == (hint,)
