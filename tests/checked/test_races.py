"""Checked contexts on a CPU: programs with one race each are found with both its lines, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planted import found, marked
from weft import DeviceError, Float32, Int, Int32, Pointer, UInt8, func, kernel
from weft.atomic import Atomic
from weft.gpu import barrier, block_idx, global_idx, thread_idx, warp
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
SHARED = AddressSpace.SHARED


# Each of these is launched with 2 blocks of 64 threads; its race is between the lines marked ``#!``.


@kernel
def no_barrier(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]  #!
    x[global_idx.x] = s[63 - t]  #!


@kernel
def in_order_as_it_happens(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]  #!
    if t > 0:
        x[global_idx.x] = s[t - 1]  #!


@kernel
def no_barrier_before_reuse(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]
    barrier()
    x[global_idx.x] = s[63 - t]  #!
    s[t] = 0.0  #!


@kernel
def no_barrier_in_loop(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]
    barrier()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]  #!
        step //= 2
    barrier()
    x[global_idx.x] = s[0]


@kernel
def all_write_one(x: Pointer[Float32]):
    s = stack_allocation(Float32, 1, address_space=SHARED)
    s[0] = Float32(thread_idx.x)  #!
    barrier()
    x[global_idx.x] = s[0]


@kernel
def read_by_all_written_by_last(x: Pointer[Float32]):
    s = stack_allocation(Float32, 1, address_space=SHARED)
    t = thread_idx.x
    if t == 0:
        s[0] = 1.0
    barrier()
    x[global_idx.x] = s[0]  #!
    if t == 63:
        s[0] = 2.0  #!


@func
def put(p: Pointer[Float32], i: Any, value: Any) -> None:
    p[i] = value  #!


@kernel
def in_a_helper(x: Pointer[Float32]):
    s = stack_allocation(Float32, 65, address_space=SHARED)
    t = thread_idx.x
    put(s, t, 1.0)
    put(s, t + 1, 2.0)
    barrier()
    x[global_idx.x] = s[t]


@kernel
def blocks_write_one(x: Pointer[Float32]):
    x[thread_idx.x] = Float32(block_idx.x)  #!


@kernel
def block_reads_what_other_wrote(x: Pointer[Float32]):
    t = thread_idx.x
    x[64 * block_idx.x + t] = 1.0  #!
    barrier()
    if block_idx.x == 1:
        x[64 + t] = x[t]  #!


@kernel
def in_place_stencil(x: Pointer[Float32]):
    i = global_idx.x
    left = x[i - 1] if i > 0 else x[i]  #!
    barrier()
    x[i] = left  #!


@kernel
def barrier_for_other_blocks(x: Pointer[Float32]):
    i = global_idx.x
    x[i] = 1.0 + Float32(i)  #!
    barrier()
    if i == 63:
        x[i] = x[i + 1]  #!


@kernel
def sum_without_atomic(x: Pointer[Float32]):
    x[0] += 1.0  #!


@kernel
def atomic_and_plain(x: Pointer[Float32]):
    Atomic.fetch_add(x, 1.0)  #!
    if global_idx.x == 5:
        x[1] = x[0]  #!


@kernel
def bytes_beside(x: Pointer[Float32]):
    s = stack_allocation(UInt8, 65, address_space=SHARED)
    t = thread_idx.x
    s[t] = UInt8(t)  #!
    s[t + 1] = UInt8(7)  #!
    barrier()
    x[global_idx.x] = Float32(s[t])


@kernel
def two_names_of_one(x: Pointer[Float32]):
    y = x + 1
    x[global_idx.x] = 1.0  #!
    y[global_idx.x] = 2.0  #!


@kernel
def read_then_written(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]
    barrier()
    before = s[t]
    s[t] = before + 1.0  #!
    x[global_idx.x] = s[63 - t]  #!


@kernel
def read_then_written_behind_a_barrier(x: Pointer[Float32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]
    barrier()
    before = s[t]  #!
    s[63 - t] = 2.0  #!
    barrier()
    s[t] = before


@kernel
def read_by_many_then_written(x: Pointer[Float32]):
    s = stack_allocation(Float32, 1, address_space=SHARED)
    t = thread_idx.x
    if t == 0:
        s[0] = 1.0
    barrier()
    x[global_idx.x] = s[0]
    if t == 40:
        s[0] = 2.0  #!
    if t > 50:
        x[global_idx.x] = s[0]  #!


RACES = [
    no_barrier,
    read_then_written,
    read_then_written_behind_a_barrier,
    read_by_many_then_written,
    in_order_as_it_happens,
    no_barrier_before_reuse,
    no_barrier_in_loop,
    all_write_one,
    read_by_all_written_by_last,
    in_a_helper,
    blocks_write_one,
    block_reads_what_other_wrote,
    in_place_stencil,
    barrier_for_other_blocks,
    sum_without_atomic,
    atomic_and_plain,
    bytes_beside,
    two_names_of_one,
]


@pytest.fixture(scope="module")
def ctx() -> DeviceContext:
    return DeviceContext(api="cpu", checked=True)


@pytest.mark.parametrize("program", RACES, ids=lambda k: k.__name__)
def test_a_race_is_found_with_both_lines(ctx: DeviceContext, program: Any) -> None:
    reports = found(ctx, program, np.ones(130, np.float32))
    assert [report.code for report in reports] == ["data-race"] * len(reports)
    lines = marked(put) if program is in_a_helper else marked(program)
    assert lines in [report.lines for report in reports], reports


@kernel
def all_well(x: Pointer[Float32], count: Pointer[Int32]):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    t = thread_idx.x
    s[t] = x[global_idx.x]
    barrier()
    step = 32
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        barrier()
        step //= 2
    x[global_idx.x] = s[0]
    Atomic.fetch_add(count, 1)
    count[1] = 7  # all write the same


def test_no_race_no_report(ctx: DeviceContext) -> None:
    for _ in range(3):
        x, count = np.ones(128, np.float32), np.zeros(2, np.int32)
        assert found(ctx, all_well, x, count) == []
        assert x.tolist() == [64.0] * 128
        assert count.tolist() == [128, 7]


@kernel
def warps_in_rounds(x: Pointer[Int32], out: Pointer[Int32], one: Int):
    i = thread_idx.x
    value = Int32(0)
    x[i + 1] = Int32(i)  #!
    if i == one:
        value += x[i + 2]  #!
    for _ in range(3):
        warp.syncwarp()
    value += x[i]
    out[i] = value


def test_telling_leaves_registers_alone(ctx: DeviceContext) -> None:
    """LLVM cleared the upper halves of the caller's vectors: half of the waits behind were not counted."""
    x, out = np.zeros(64, np.int32), np.zeros(32, np.int32)
    (report,) = found(ctx, warps_in_rounds, x, out, 20, grid=1, block=32)
    assert report.lines == marked(warps_in_rounds)
    assert np.delete(out, 20).tolist() == [0, *range(19), *range(20, 31)]


def test_the_report_names_threads_blocks_and_memory(ctx: DeviceContext) -> None:
    ctx.enqueue_function(blocks_write_one, np.ones(64, np.float32), grid_dim=2, block_dim=64)
    with pytest.raises(DeviceError) as raised:
        ctx.synchronize()
    text = str(raised.value)
    assert "kernel 'blocks_write_one' writes element 0 of `x` in one thread and writes it in another" in text
    assert "in block (1, 0, 0), thread (0, 0, 0), and 63 more times" in text
    assert "writes it in block (0, 0, 0), thread (0, 0, 0)" in text
    ctx.enqueue_function(no_barrier_before_reuse, np.ones(128, np.float32), grid_dim=2, block_dim=64)
    with pytest.raises(DeviceError, match="of `s` in one thread and"):
        ctx.synchronize()


@kernel
def shifted(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n - 1:
        x[i] = x[i + 1]


@pytest.mark.parametrize(
    ("launch", "cure"),
    [
        ({"over": 64}, "elements of a range have no order"),  # a barrier in one of them would not help
        ({"grid_dim": 1, "block_dim": 64}, "`barrier()`"),
        ({"grid_dim": 64, "block_dim": 1}, "blocks have no order"),
    ],
)
def test_the_cure_goes_by_what_gives_an_order(launch: dict[str, Any], cure: str) -> None:
    with DeviceContext(api="cpu", checked=True) as ctx:
        x = ctx.enqueue_create_buffer(Float32, 64)
        x.enqueue_fill(1.0)
        ctx.enqueue_function(shifted, x, 64, **launch)
        with pytest.raises(DeviceError, match="data-race") as told:
            ctx.synchronize()
        assert cure in told.value.reports[0].hints[0]
