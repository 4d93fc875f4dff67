"""Kernels whose blocks a CPU takes along y first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Int, Pointer, kernel
from weft.gpu import barrier, block_idx, thread_idx
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
TILE = 16


@kernel
def transposed(a: Pointer[Float32], b: Pointer[Float32], rows: Int, columns: Int):
    """Of matrices one behind the other, by blocks of 16 x 16 threads and the matrix along z."""
    tile = stack_allocation(Float32, Layout.row_major(TILE, TILE + 1), address_space=AddressSpace.SHARED)
    x, y, begin = thread_idx.x, thread_idx.y, block_idx.z * rows * columns
    column, row = block_idx.x * TILE + x, block_idx.y * TILE + y
    if row < rows and column < columns:
        tile[y, x] = a[begin + row * columns + column]
    barrier()
    column, row = block_idx.y * TILE + x, block_idx.x * TILE + y
    if row < columns and column < rows:
        b[begin + row * rows + column] = tile[x, y]


@pytest.mark.parametrize(("many", "rows", "columns"), [(1, 16, 16), (1, 100, 33), (3, 40, 90), (2, 1, 200)])
def test_each_block_is_run_once(launch: Launch, many: int, rows: int, columns: int) -> None:
    a = np.random.default_rng(rows).random((many, rows, columns), np.float32)
    grid = -(-columns // TILE), -(-rows // TILE), many
    given = a.reshape(-1), np.zeros(a.size, np.float32)
    _, b = launch(transposed, *given, rows, columns, grid_dim=grid, block_dim=(TILE, TILE))
    assert np.array_equal(b.reshape(many, columns, rows), a.transpose(0, 2, 1))
