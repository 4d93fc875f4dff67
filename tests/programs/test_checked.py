"""Checked contexts: each access outside of memory is found, with its line and thread, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft import (
    DeviceError,
    Float32,
    Float64,
    Int,
    Int16,
    Int32,
    Pointer,
    UInt8,
    func,
    kernel,
    struct,
    unroll,
)
from weft.atomic import Atomic
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
TABLE = [3, 1, 2, 0]


@struct
class Pair:
    x: Float32
    n: Float64


@struct
class View:
    data: Pointer[Float32]
    size: Int


@func
def read(p: Pointer[Float32], i: Int) -> Float32:
    return p[i]


@func
def either(p: Pointer[Float32], q: Pointer[Float32], first: Int):
    if first > 0:
        return p + 1
    return q


@kernel
def one(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    out[0] = x[i]


@kernel
def through_helper(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    out[0] = read(x + 1, i - 1)


@kernel
def back_again(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    out[0] = ((x + 1000) - (1000 - i))[0]


@kernel
def walking(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    p = x
    for _ in range(i):
        p = p + 1
    out[0] = p[0]


@kernel
def chosen(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    out[0] = either(x, out, i)[i - 1]


@kernel
def field(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    view = View(x, i)
    out[0] = view.data[view.size]


@kernel
def local(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    mine = stack_allocation(Float32, 10)
    mine[i] = x[0]
    out[0] = mine[i]


@kernel
def shared(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    ours = stack_allocation(Float32, 10, address_space=AddressSpace.SHARED)
    ours[i] = x[0]
    barrier()
    out[0] = ours[i]


@kernel
def updated(x: Pointer[Float32], out: Pointer[Float32], i: Int):
    Atomic.fetch_add(x + i, 1.0)


KERNELS = [one, through_helper, back_again, walking, chosen, field, local, shared, updated]


@pytest.fixture
def ctx(device: DeviceContext) -> Iterator[DeviceContext]:
    with DeviceContext(api=device.api, checked=True) as made:
        yield made


@pytest.mark.parametrize("program", KERNELS, ids=lambda k: k.__name__)
def test_the_ends_of_memory(ctx: DeviceContext, program: Any) -> None:
    x, out = ctx.enqueue_create_buffer(Float32, 10), ctx.enqueue_create_buffer(Float32, 10)
    x.enqueue_fill(2.0)
    out.enqueue_fill(0.0)
    for i in (1, 5, 9):
        ctx.enqueue_function(program, x, out, i, grid_dim=1, block_dim=1)
        ctx.synchronize()
    with x.map_to_host() as given, out.map_to_host() as host:
        assert (given[5], host[0]) == ((3.0, 0.0) if program is updated else (2.0, 2.0))
    for i in (10, 12, 1 << 20):
        ctx.enqueue_function(program, x, out, i, grid_dim=1, block_dim=1)
        said = rf"out-of-bounds\]: kernel '{program.__name__}' (reads|writes|updates) element {i} of"
        with pytest.raises(DeviceError, match=said):
            ctx.synchronize()
    if program not in (walking, chosen):
        ctx.enqueue_function(program, x, out, -1, grid_dim=1, block_dim=1)
        with pytest.raises(DeviceError, match="element -1 of"):
            ctx.synchronize()


@kernel
def pairs(p: Pointer[Pair], i: Int):
    p[i].n += 1.0


@kernel
def bytes_of(p: Pointer[UInt8], i: Int):
    p.bitcast(Int32)[i] = 7


@kernel
def lanes(p: Pointer[Float32], i: Int):
    p.store(i, Float32.simd(1.0, 2.0, 3.0, 4.0))


@kernel
def cells(t: LayoutTensor[Float32], i: Int):
    t[thread_idx.x, i] = 1.0


@kernel
def table(out: Pointer[Int32], i: Int):
    out[0] = TABLE[i]


def outcome(ctx: DeviceContext, program: Any, *args: Any, block_dim: int = 1) -> str:
    """What is said of a launch; nothing where it is right."""
    try:
        ctx.enqueue_function(program, *args, grid_dim=1, block_dim=block_dim)
        ctx.synchronize()
    except DeviceError as error:
        return str(error)
    return ""


def test_elements_of_other_sizes(ctx: DeviceContext) -> None:
    records = ctx.enqueue_create_buffer(Pair, 3)
    records.enqueue_fill(Pair(0.0, 0.0))
    assert not outcome(ctx, pairs, records, 2)
    assert "element 3 of `p`, which has 3 elements of 16 bytes" in outcome(ctx, pairs, records, 3)
    data = ctx.enqueue_create_buffer(UInt8, 10)
    assert not outcome(ctx, bytes_of, data, 1)
    assert "writes element 2 of `p`, which has 2 elements of 4 bytes" in outcome(ctx, bytes_of, data, 2)
    floats = ctx.enqueue_create_buffer(Float32, 10)
    assert not outcome(ctx, lanes, floats, 6)
    assert "of `p`" in outcome(ctx, lanes, floats, 7)


def test_tensors(ctx: DeviceContext) -> None:
    tensor = ctx.enqueue_create_buffer(Float32, 12).tensor(Layout.row_major(3, 4))
    assert not outcome(ctx, cells, tensor, 3, block_dim=3)
    said = outcome(ctx, cells, tensor, 4, block_dim=3)
    assert "takes index 4 of a mode that counts from 0 to 3" in said
    assert "and 2 more times" in said


@kernel
def rows_read_twice(x: LayoutTensor[Int16], out: Pointer[Int], n: Int):
    row, total = x[n & 7, 2:6], Int(0)
    for _ in range(n):
        total += sum([row[k] for k in unroll(range(4))])
    out[0] = total + 10 * sum([row[k] for k in unroll(range(4))])


def test_elements_side_by_side_in_a_loop_and_behind_it() -> None:
    host, out = np.arange(99, dtype=np.int16), np.zeros(1, np.int64)
    with DeviceContext(api="cpu", checked=True) as ctx:
        x = ctx.enqueue_create_buffer(Int16, 99)
        ctx.enqueue_copy(dst=x, src=host)
        assert not outcome(ctx, rows_read_twice, x.tensor(Layout.row_major(9, 11)), out, 3)
    assert out.tolist() == [13 * int(host[35:39].sum())]


def test_parts_of_memory(ctx: DeviceContext) -> None:
    """A part of an array ends where it ends, not where the array does."""
    host = np.arange(20, dtype=np.float32)
    out = np.zeros(1, np.float32)
    assert not outcome(ctx, one, host[5:10], out, 4)
    assert out[0] == 9
    assert "reads element 5 of `x`, which has 5 elements" in outcome(ctx, one, host[5:10], out, 5)
    assert "element -1 of `x`" in outcome(ctx, one, host[5:10], out, -1)


@kernel
def doubled(x: Pointer[Float32], y: Pointer[Float32]):
    y[global_idx.x] = x[global_idx.x] * 2


def test_ranges_and_what_follows_a_failure(ctx: DeviceContext) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    ctx.enqueue_function(doubled, x, y, over=1000)
    ctx.synchronize()
    assert y.tolist() == (x * 2).tolist()
    with pytest.raises(DeviceError, match="element 1000 of `x`"):  # noqa: PT012  (which of both raises it)
        ctx.enqueue_function(doubled, x, y, over=1001)
        ctx.synchronize()
    y[:] = 0
    ctx.enqueue_function(doubled, x, y, over=1000)
    ctx.synchronize()
    assert y.tolist() == (x * 2).tolist()


def test_unchecked_and_checked_contexts_side_by_side(device: DeviceContext, ctx: DeviceContext) -> None:
    x, y = (device.enqueue_create_buffer(Float32, 100) for _ in range(2))
    x.enqueue_fill(3.0)
    device.enqueue_function(one, x[:50], y, 60, grid_dim=1, block_dim=1)  # within what was allocated
    device.synchronize()
    with y.map_to_host() as host:
        assert host[0] == 3.0
    assert "element 60" in outcome(ctx, one, *(ctx.enqueue_create_buffer(Float32, 50) for _ in range(2)), 60)


def test_tables(ctx: DeviceContext) -> None:
    out = ctx.enqueue_create_buffer(Int32, 1)
    assert not outcome(ctx, table, out, 3)
    assert "reads element 4 of `TABLE`, which has 4 elements" in outcome(ctx, table, out, 4)


@kernel
def several(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    i = thread_idx.x
    v = x[i + 6]
    assert v == 1.0, f"{v} is not one"
    y[i - 2] = v
    Atomic.fetch_add(y + n, 1.0)


def test_all_faults_are_collected(ctx: DeviceContext) -> None:
    x, y = ctx.enqueue_create_buffer(Float32, 10), ctx.enqueue_create_buffer(Float32, 10)
    x.enqueue_fill(1.0)
    y.enqueue_fill(0.0)
    for _ in range(2):
        ctx.enqueue_function(several, x, y, 10, grid_dim=1, block_dim=8)
    with pytest.raises(DeviceError) as caught:
        ctx.synchronize()
    read, failed, written, updated = sorted(caught.value.reports, key=lambda r: r.location.line)
    line = several.definition.line
    assert [r.location.line - line for r in (read, failed, written, updated)] == [3, 4, 5, 6]
    assert (read.code, read.verb, read.buffer, read.size, read.count) == ("out-of-bounds", "reads", "x", 4, 8)
    assert read.thread in [(n, 0, 0) for n in (4, 5, 6, 7)]
    index = 6 + read.thread[0]
    assert (read.index, read.address) == (index, x.address + 4 * index)
    # What is read there is 0, so the assertion fails, which ends the thread.
    assert (failed.code, failed.message.split(": ")[1], failed.count) == (
        "device-assert",
        "0.0 is not one",
        8,
    )
    assert (written.verb, written.buffer, written.index, written.count) == ("writes", "y", -2, 2 * 2)
    assert (updated.verb, updated.buffer, updated.index, updated.count) == ("updates", "y", 10, 8)
    assert str(caught.value).endswith("4 errors")
    assert "and 7 more times" in str(caught.value)
    with y.map_to_host() as host:
        assert list(host) == [1.0, 1.0, *[0.0] * 8]
    ctx.synchronize()  # all has been told


def test_a_second_wait_counts_anew(ctx: DeviceContext) -> None:
    x, out = ctx.enqueue_create_buffer(Float32, 10), ctx.enqueue_create_buffer(Float32, 10)
    for many in (1, 3):
        for _ in range(many):
            ctx.enqueue_function(one, x, out, 10, grid_dim=1, block_dim=1)
        with pytest.raises(DeviceError) as caught:
            ctx.synchronize()
        assert [r.count for r in caught.value.reports] == [many]
