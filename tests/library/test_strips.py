"""Blocks of any number of threads: those of whole strips have code of their own on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, Int32, Pointer, kernel, unroll
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code
from weft.launch.native.objects import supported
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation

N = 6 * 48


@kernel
def turned_round(x: Pointer[Int32], y: Pointer[Int32]):
    """Each block's elements from the last to the first, and each thread's own twice."""
    shared = stack_allocation(Int32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    t = thread_idx.x
    own = x[global_idx.x]
    shared[t] = own
    barrier()
    y[global_idx.x] = shared[Int32(block_dim.x) - 1 - t] + 2 * own


@pytest.mark.parametrize("blocks", [(48, 33, 1, 16), (33, 48, 1, 16)])
def test_blocks_of_any_size_in_any_order(device: DeviceContext, blocks: tuple[int, ...]) -> None:
    given = np.arange(N, dtype=np.int32) * 3
    ctx = device
    x, y = ctx.enqueue_create_buffer(Int32, N), ctx.enqueue_create_buffer(Int32, N)
    ctx.enqueue_copy(dst=x, src=given)
    if supported():
        native_code()  # so that the later launches go without Python
    for turn, block in enumerate((*blocks[:1] * 20, *blocks * 3)):
        y.enqueue_fill(-1)
        whole = N // block * block
        ctx.enqueue_function(turned_round, x, y, grid_dim=N // block, block_dim=block)
        with y.map_to_host() as found:
            expected = given[:whole].reshape(-1, block)[:, ::-1].reshape(-1) + 2 * given[:whole]
            assert np.array_equal(np.asarray(found)[:whole], expected), (turn, block)
            assert np.all(np.asarray(found)[whole:] == -1)


@kernel
def through_registers(x: Pointer[Float32], y: Pointer[Float32], rounds: Int32):
    """Sums of a thread in an array and in vectors: over barriers, and anew in each round."""
    kept = stack_allocation(Float32, Layout.row_major(3))
    lanes = stack_allocation(Float32, Layout.row_major(8)).vectorize[4]()
    t = global_idx.x
    kept.fill(0.0)
    for r in range(rounds):
        for k in unroll(range(2)):
            lanes[k] = x[t] + k if r % 2 == 0 else x[t] * k
        for k in unroll(range(3)):
            kept[k] += lanes[k % 2][k] + r
        barrier()
        kept[1] += kept[0]
        barrier()
    y[t] = kept[0] + 10.0 * kept[1] + 100.0 * kept[2]


@pytest.mark.parametrize("block", [16, 5])
def test_arrays_at_known_places(device: DeviceContext, block: int) -> None:
    given = np.arange(80, dtype=np.float32) % 7
    ctx = device
    x, y = ctx.enqueue_create_buffer(Float32, 80), ctx.enqueue_create_buffer(Float32, 80)
    ctx.enqueue_copy(dst=x, src=given)
    ctx.enqueue_function(through_registers, x, y, 5, grid_dim=80 // block, block_dim=block)
    kept = np.zeros((3, 80), np.float32)
    for r in range(5):
        for k in range(3):
            kept[k] += (given + k % 2 if r % 2 == 0 else given * (k % 2)) + r
        kept[1] += kept[0]
    with y.map_to_host() as found:
        assert np.array_equal(np.asarray(found), kept[0] + 10 * kept[1] + 100 * kept[2])


def test_what_is_shown_is_for_whole_strips() -> None:
    """There is no loop for single threads: each addition is of eight, or of sixteen."""
    text = str(compile_info(turned_round, emission_kind="llvm-opt", target="x86-64-v3"))
    body = text[text.index("define") :]
    assert "add <8 x i32>" in body.replace("nsw ", "").replace("nuw ", "")
    assert "add i32" not in body.replace("nsw ", "").replace("nuw ", "")
