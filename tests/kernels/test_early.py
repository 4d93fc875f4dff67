"""Ready kernels that begin while those before them end: each needs what the one before it writes, and writes
over what that one reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from placed_arrays import found, placed
from weft.gpu.host import DeviceContext
from weft.kernels import gemv, matmul, sum, take, transpose


@pytest.mark.parametrize("n", [64, 1024])
def test_moved_again_and_again(device: DeviceContext, n: int) -> None:
    rounds, generator = 8, np.random.default_rng(n)
    order, other = generator.permutation(n), generator.permutation(n)
    right: Any = generator.integers(0, 3, (n, n)).astype(np.float16)
    a, b, c = placed(device, right.copy()), *(placed(device, np.zeros_like(right)) for _ in range(2))
    places, moved = placed(device, order), placed(device, np.eye(n, dtype=np.float16)[other])
    ones = placed(device, np.ones(n, np.float16))
    sums = [placed(device, np.zeros(n, np.float16)) for _ in range(2 * rounds)]
    rights = list[Any]()
    for i in range(rounds):
        transpose(a, (1, 0), out=b)
        take(b, places, 0, out=c)
        sum(c, 1, out=sums[2 * i])
        matmul(c, moved, out=a)
        gemv(a, ones, out=sums[2 * i + 1])
        right = right.T[order]
        rights.append(right.astype(np.float64).sum(1))
        right = right @ np.eye(n)[other]
        rights.append(right.sum(1))
    np.testing.assert_array_equal(found(a), right)
    for made, wanted in zip(sums, rights, strict=True):
        np.testing.assert_array_equal(found(made), wanted.astype(np.float16))
