"""Checked contexts on a CPU: reads of what nobody has written are found, and no others."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from planted import found, marked
from weft import Float32, Int, Int32, Pointer, UInt8, func, kernel, struct
from weft.atomic import Atomic
from weft.gpu import barrier, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

SHARED = AddressSpace.SHARED


@struct
class Pair:
    x: Float32
    y: Float32


# Each is launched with one block of 64 threads, and reads in the line marked ``#!`` what nobody wrote.


@kernel
def own_array(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 8)
    for i in range(7):
        mine[i] = x[i]
    x[64 + thread_idx.x] = mine[n]  #!


@kernel
def first_round(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 8)
    for i in range(n):
        x[64 + thread_idx.x] = mine[i]  #!
        mine[i + 1] = 1.0


@func
def sum_of(p: Any, n: Any) -> Float32:
    total = Float32(0)
    for i in range(n):
        total += p[i]  #!
    return total


@kernel
def in_a_helper(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 8)
    for i in range(n):
        mine[i] = 1.0
    x[64 + thread_idx.x] = sum_of(mine, n + 1)


@kernel
def one_branch(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 1)
    if thread_idx.x != 17:
        mine[0] = 1.0
    x[64 + thread_idx.x] = mine[0]  #!


@kernel
def field(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Pair, 2)
    mine[0].x = 1.0
    x[64 + thread_idx.x] = mine[0].y  #!


@kernel
def bytes_of_a_word(x: Pointer[Float32], n: Int):
    mine = stack_allocation(UInt8, 4)
    for i in range(3):
        mine[i] = UInt8(i)
    x[64 + thread_idx.x] = Float32(mine.bitcast(Int32)[0])  #!


@kernel
def lanes(x: Pointer[Float32], n: Int):
    mine = stack_allocation(Float32, 4)
    for i in range(3):
        mine[i] = 1.0
    x[64 + thread_idx.x] = mine.load(0, width=4).reduce_add()  #!


@kernel
def shared_edge(x: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 66, address_space=SHARED)
    t = thread_idx.x
    s[t + 1] = x[t]
    barrier()
    x[64 + t] = s[t + 2]  #!


@kernel
def shared_counter(x: Pointer[Float32], n: Int):
    count = stack_allocation(Int32, 1, address_space=SHARED)
    Atomic.fetch_add(count, 1)  #!


@kernel
def shared_tile(x: Pointer[Float32], n: Int):
    tile = stack_allocation(Float32, Layout.row_major(8, 9), address_space=SHARED)
    t = thread_idx.x
    tile[t // 8, t % 8] = x[t]
    barrier()
    x[64 + t] = tile[t // 8, t % 8 + 1]  #!


@kernel
def dynamic(x: Pointer[Float32], n: Int):
    s = dynamic_shared_memory(Float32)
    t = thread_idx.x
    s[t] = x[t]
    barrier()
    x[64 + t] = s[t + 1]  #!


UNSET = [
    own_array,
    first_round,
    in_a_helper,
    one_branch,
    field,
    bytes_of_a_word,
    lanes,
    shared_edge,
    shared_counter,
    shared_tile,
    dynamic,
]


@pytest.fixture(scope="module")
def ctx() -> DeviceContext:
    return DeviceContext(api="cpu", checked=True)


@pytest.mark.parametrize("program", UNSET, ids=lambda k: k.__name__)
def test_a_read_of_nothing_is_found(ctx: DeviceContext, program: Any) -> None:
    more = {"shared_mem_bytes": 260} if program is dynamic else {}
    reports = found(ctx, program, np.ones(128, np.float32), 7, grid=1, **more)
    assert [report.code for report in reports] == ["uninitialised"]
    own = next(
        name
        for name in ("mine", "tile", "count", "s")
        if f"    {name} = " in inspect.getsource(program.definition.function)
    )
    assert f" of `{own}`, which nobody has written" in reports[0].text
    assert reports[0].lines == (marked(sum_of) if program is in_a_helper else marked(program))


@kernel
def all_written(x: Pointer[Float32], n: Int):
    s = stack_allocation(Float32, 64, address_space=SHARED)
    mine, pairs, small = stack_allocation(Float32, 8), stack_allocation(Pair, 2), stack_allocation(UInt8, 4)
    t = thread_idx.x
    for i in range(8):
        mine[i] = x[t]
    for i in range(4):
        small[i] = UInt8(0)
    pairs[1] = Pair(1.0, 2.0)
    s[t] = mine[n] + pairs[n // 7].y + Float32(small.bitcast(Int32)[0])
    barrier()
    x[64 + t] = s[63 - t]


def test_what_is_written_is_not_reported(ctx: DeviceContext) -> None:
    x = np.arange(128, dtype=np.float32)
    assert found(ctx, all_written, x, 7, grid=1) == []
    assert x[64:].tolist() == [65.0 - i for i in range(64)]


# The same of buffers that are new.


@kernel
def copied(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    i = thread_idx.x
    if i < n:
        y[i] = x[i]  #!


@kernel
def filled(y: Pointer[Float32], n: Int):
    if thread_idx.x < n:
        y[thread_idx.x] = 1.0


@kernel
def counted(count: Pointer[Int32]):
    Atomic.fetch_add(count, 1)  #!


@kernel
def lane_pairs(x: Pointer[Float32], n: Int):
    for i in range(n):
        x.store(2 * i, x.load(2 * i, width=2) + 1.0)  #!


def test_new_buffers(ctx: DeviceContext) -> None:
    x, y = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
    reports = found(ctx, copied, x, y, 64, grid=1)
    assert [(r.code, r.lines) for r in reports] == [("uninitialised", marked(copied))]
    assert "reads element 0 of `x`, which nobody has written" in reports[0].text
    x.enqueue_fill(1.0)
    assert found(ctx, copied, x, y, 64, grid=1) == []
    assert found(ctx, copied, y, x, 64, grid=1) == []
    count = ctx.enqueue_create_buffer(Int32, 1)
    assert [r.code for r in found(ctx, counted, count, grid=1)] == ["uninitialised"]
    assert found(ctx, counted, count, grid=1) == []


def test_parts_of_new_buffers(ctx: DeviceContext) -> None:
    x, y = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
    assert found(ctx, filled, x, 32, grid=1) == []
    assert found(ctx, copied, x, y, 32, grid=1) == []
    assert [r.code for r in found(ctx, copied, x, y, 33, grid=1)] == ["uninitialised"]
    assert found(ctx, lane_pairs, x, 16, grid=1, block=1) == []  # by cells of 8 bytes
    assert [r.code for r in found(ctx, lane_pairs, x, 17, grid=1, block=1)] == ["uninitialised"]
    z = ctx.enqueue_create_buffer(Float32, 64)
    z[8:24].enqueue_fill(2.0)
    ctx.enqueue_copy(dst=z[24:32], src=np.ones(8, np.float32))
    assert found(ctx, copied, z[8:32], y, 24, grid=1) == []
    assert [r.code for r in found(ctx, copied, z[7:32], y, 24, grid=1)] == ["uninitialised"]
    assert [r.code for r in found(ctx, copied, z[8:33], y, 25, grid=1)] == ["uninitialised"]


def test_copies_of_new_buffers(ctx: DeviceContext) -> None:
    x, y, z, out = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(4))
    ctx.enqueue_copy(dst=y, src=x)
    assert [r.code for r in found(ctx, copied, y, out, 64, grid=1)] == ["uninitialised"]
    assert found(ctx, filled, x, 32, grid=1) == []
    x[40:48].enqueue_fill(2.0)
    ctx.enqueue_copy(dst=z[8:], src=x[:56])
    assert found(ctx, copied, z[8:40], out, 32, grid=1) == []
    assert found(ctx, copied, z[48:56], out, 8, grid=1) == []
    for wrong in (slice(7, 40), slice(8, 41), slice(47, 56), slice(48, 57)):
        part = z[wrong]
        assert [r.code for r in found(ctx, copied, part, out, len(part), grid=1)] == ["uninitialised"]
    y, z = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
    ctx.enqueue_function(filled, y, 64, grid_dim=1, block_dim=64)  # not waited for
    ctx.enqueue_copy(dst=z, src=y)
    assert found(ctx, copied, z, out, 64, grid=1) == []


def test_what_is_written_elsewhere_is_not_new(ctx: DeviceContext) -> None:
    y = ctx.enqueue_create_buffer(Float32, 64)
    with ctx.enqueue_create_buffer(Float32, 64) as x:
        x.unsafe_ptr()
        assert found(ctx, copied, x, y, 64, grid=1) == []
    with ctx.enqueue_create_buffer(Float32, 64) as x, x.map_to_host() as host:
        host[:] = range(64)
    assert found(ctx, copied, y, y, 64, grid=1) == []
    for _ in range(3):  # memory that is used again is new again
        with ctx.enqueue_create_buffer(Float32, 1 << 19) as x:
            assert [r.code for r in found(ctx, copied, x, y, 64, grid=1)] == ["uninitialised"]
            assert found(ctx, filled, x, 64, grid=1) == []
            assert found(ctx, copied, x, y, 64, grid=1) == []
