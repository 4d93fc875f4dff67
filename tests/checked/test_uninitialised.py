"""Checked contexts on a CPU: reads of what nobody has written are found, and no others."""

from __future__ import annotations

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
