"""Checked contexts on a CPU: what warps and grids have waited for is in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planted import found
from weft import Comptime, Float32, Int, Pointer, kernel
from weft.gpu import barrier, block_idx, cluster_sync, global_idx, grid_sync, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

SHARED = AddressSpace.SHARED


@kernel
def swaps(x: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[t]
    for _ in range(n):
        warp.syncwarp()
        v = s[t ^ 1]
        warp.syncwarp()
        s[t] = v + 1.0
    barrier()
    x[t] = s[t ^ 32]


@kernel
def tree(x: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    for _ in range(n):
        barrier()
        s[t] = x[t]
        for power in range(5):
            warp.syncwarp()
            v = s[t ^ (16 >> power)]
            warp.syncwarp()
            s[t] += v
        barrier()
        x[t] = s[(t + 32) % 64] / 32.0


@kernel
def each_warp_its_own_rounds(x: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = 0.0
    for i in range(n + t // 32):
        warp.syncwarp()
        if t % 32 == i:
            for k in range(32):
                s[t // 32 * 32 + k] += 1.0
        warp.syncwarp()
        x[t] = s[t // 32 * 32 + (t + 1) % 32]
    barrier()
    x[t] += s[63 - t]


@pytest.mark.parametrize("program", [swaps, tree, each_warp_its_own_rounds], ids=lambda k: k.__name__)
def test_what_waits_is_in_order(program: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    plain = x.copy()
    assert found(DeviceContext(api="cpu", checked=True), program, x, 3, grid=1) == []
    assert found(DeviceContext(api="cpu"), program, plain, 3, grid=1) == []
    assert x.tolist() == plain.tolist()


@kernel
def rounds(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 32, address_space=SHARED)
    i, t = global_idx.x, thread_idx.x
    for k in range(n):
        s[t] = x[63 - i]
        barrier()
        v = s[31 - t]
        grid_sync()
        x[i] = v + Float32(k)
        barrier()
        if t == 0 and block_idx.x == k % 2:
            y[0] = x[i]
        grid_sync()
        x[i] += y[0]
        grid_sync()


def test_what_the_grid_waited_for_is_in_order() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    plain, y2 = x.copy(), y.copy()
    own = {"grid": 2, "block": 32, "cooperative": True}
    assert found(DeviceContext(api="cpu", checked=True), rounds, x, y, 4, **own) == []
    assert found(DeviceContext(api="cpu"), rounds, plain, y2, 4, **own) == []
    assert x.tolist() == plain.tolist()


@kernel
def meet_in_a_branch(x: Pointer[Float32], n: Int, *, meets: Comptime[Any], apart: Comptime[bool]):
    """Whichever way is taken, blocks go on one after the other behind it."""
    s = stack_allocation(Float32, 32, address_space=SHARED)
    i, t = global_idx.x, thread_idx.x
    s[t] = x[i]
    barrier()
    if n > 2:
        barrier()
        x[i] = s[31 - t]
        barrier()
    else:
        for _ in range(n):
            meets()
            x[i] += s[31 - t]
    x[i] += s[t]
    barrier()
    if apart:
        x[0] = Float32(i)


@kernel
def warps_meet_behind(x: Pointer[Float32], n: Int, *, meets: Comptime[Any], apart: Comptime[bool]):
    s = stack_allocation(Float32, 32, address_space=SHARED)
    i, t = global_idx.x, thread_idx.x
    s[t] = x[i]
    if n > 2:
        meets()
        x[i] += warp.sum(s[t])
    x[i] += s[t]
    warp.syncwarp()
    v = s[t ^ 1]
    warp.syncwarp()
    s[t] = v
    if apart:
        x[0] = Float32(i)


@pytest.mark.parametrize("meets", [grid_sync, cluster_sync], ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", [meet_in_a_branch, warps_meet_behind], ids=lambda k: k.__name__)
@pytest.mark.parametrize("n", [2, 3])
def test_blocks_that_may_meet_in_a_branch(program: Any, meets: Any, n: int) -> None:
    own = {"grid": 2, "block": 32, "cooperative": True} if meets is grid_sync else {"grid": 2, "block": 32}
    own |= {"cluster_dim": 2} if meets is cluster_sync else {}
    x = np.arange(64, dtype=np.float32)
    plain = x.copy()
    checked = DeviceContext(api="cpu", checked=True)
    assert found(checked, program, x, n, meets=meets, apart=False, **own) == []
    assert found(DeviceContext(api="cpu"), program, plain, n, meets=meets, apart=False, **own) == []
    assert x.tolist() == plain.tolist()
    reports = found(checked, program, x, n, meets=meets, apart=True, **own)
    assert {report.code for report in reports} == {"data-race"}
