"""Blocks along axes that a kernel does not ask for: threads with the same x each do all of its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Int32, Int64, Pointer, kernel
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code
from weft.launch.native.objects import supported
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
BLOCKS = [(8,), (8, 1, 1), (8, 3), (8, 1, 2), (8, 3, 2)]


@kernel
def along_x(counts: Pointer[Int64]):
    Atomic.fetch_add(counts + global_idx.x, 1)


@kernel
def meets_along_x(counts: Pointer[Int64]):
    shared = stack_allocation(Int32, Layout.row_major(8), address_space=AddressSpace.SHARED)
    shared[thread_idx.x] = 0
    barrier()
    Atomic.fetch_add(shared.ptr + thread_idx.x, 1)
    barrier()
    Atomic.fetch_add(counts + global_idx.x, Int64(shared[7 - thread_idx.x]))


@kernel
def along_x_and_y(counts: Pointer[Int64]):
    shared = stack_allocation(Int32, Layout.row_major(1), address_space=AddressSpace.SHARED)
    shared[0] = 0
    barrier()
    Atomic.fetch_add(shared.ptr + 0, Int32(1 + thread_idx.y))
    barrier()
    Atomic.fetch_add(counts + global_idx.x, Int64(shared[0]) * Int64(block_dim.y))


@kernel
def asks_how_many(counts: Pointer[Int64]):
    Atomic.fetch_add(counts + block_idx.x * block_dim.x + thread_idx.x, Int64(block_dim.z))


def _expected(name: str, block: tuple[int, ...]) -> int:
    """What each of the 16 places has after a launch of two blocks."""
    x, y, z = (*block, 1, 1)[:3]
    added = sum(1 + row for row in range(y)) * x * z * y
    one = {"along_x": 1, "meets_along_x": y * z, "along_x_and_y": added, "asks_how_many": z}[name]
    return one * y * z


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("kernel", [along_x, meets_along_x, along_x_and_y, asks_how_many])
def test_threads_beside_each_other_all_work(kernel: Any, block: tuple[int, ...], launch: Launch) -> None:
    (counts,) = launch(kernel, np.zeros(16, np.int64), grid_dim=2, block_dim=block)
    assert counts.tolist() == [_expected(kernel.__name__, block)] * 16


@pytest.mark.parametrize("more", [(), (1,)], ids=["pair", "triple"])
def test_launches_again_with_other_blocks(device: DeviceContext, more: tuple[int, ...]) -> None:
    """Also without Python: what was compiled for one shape is not used for another."""
    if supported():
        native_code()
    counts = device.enqueue_create_buffer("int64", 16)
    counts.enqueue_fill(0)
    rows = [1] * 12 + [3, 1, 2, 1, 1, 3] * 3
    for n in rows:
        device.enqueue_function(along_x, counts, grid_dim=2, block_dim=(8, n, *more))
        device.synchronize()
    with counts.map_to_host() as got:
        assert np.array(got).tolist() == [sum(rows)] * 16


def test_code_for_a_row_of_threads_has_no_loops_over_others() -> None:
    """A third of the loops, for nearly all kernels: those of a kernel that asks for y are one more."""
    loops = [
        str(compile_info(kernel, target="x86-64", emission_kind="llvm")).count("= phi i64")
        for kernel in (meets_along_x, along_x_and_y)
    ]
    assert loops == [3, 6]
