"""Warnings of what the threads of a block do together: races, memory read far apart, banks."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from weft import CompileError, Float16, Float32, Float64, Int, Int32, Kernel, Pointer, func, kernel, struct
from weft.atomic import Atomic
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.layout import ComposedLayout, Layout, LayoutTensor, Swizzle
from weft.memory import AddressSpace, stack_allocation

WIDE = Layout.row_major(64, 100)
NARROW = Layout.row_major(1000, 3)
TURNED = Layout.col_major(64, 100)


def found(fn: Kernel[...], target: str = "sm_90", **types: Any) -> list[tuple[str, int]]:
    """The codes of the warnings about a kernel, and their lines below its ``def``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        info = compile_info(fn, target=target, emission_kind="ir", **types)
    first = fn.definition.line + 1
    return [(d.code, d.location.line - first) for d in info.warnings if d.location is not None]


# -- memory that neighbouring threads read far apart ---------------------------------------------------


@struct
class Wide:
    at: Float64
    speed: Float64
    force: Float64
    mass: Float64


@kernel
def turned(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, column = global_idx.x, global_idx.y
    if row < 64 and column < 100:
        out[row, column] = x[row, column] * 2.0


@kernel
def turned_pointer(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    i, j, _ = global_idx
    if i >= 64 or j >= n:
        return
    out[i * 64 + j] = 2.0 * x[j * 64 + i]


@kernel
def row_sums(x: LayoutTensor[Float32], out: Pointer[Float32], rows: Int):
    row = global_idx.x
    if row < rows:
        total = 0.0
        for column in range(100):
            total += x[row, column]
        out[row] = total


@kernel
def over_range(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, j, _ = global_idx
    out[i, j] = x[i, j] + 1.0


def test_threads_next_to_each_other_far_apart() -> None:
    assert found(turned, x=WIDE, out=WIDE) == [("uncoalesced", 3)] * 2
    assert found(turned_pointer) == [("uncoalesced", 4)]
    assert found(row_sums, x=WIDE) == [("uncoalesced", 5)]
    assert found(over_range, x=WIDE, out=WIDE, over=2) == [("uncoalesced", 2)] * 2
    assert found(turned, "native", x=WIDE, out=WIDE) == []  # a CPU's threads are no warp


@func
def summed_row(x: Pointer[Float32], row: Int, n: Int) -> Float32:
    total = Float32(0.0)
    for k in range(n):
        total += x[row * 1024 + k]
    return total


@func
def stored(x: Pointer[Float32], at: Int, value: Float32) -> None:
    x[at] = value


@func
def both(x: Pointer[Float32], out: Pointer[Float32], i: Int, row: Int) -> None:
    stored(out, i, summed_row(x, row, 1024))


@kernel
def row_sums_by_function(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        both(x, out, i, i)


@kernel
def one_row_by_function(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        both(x, out, i, block_idx.x)
        both(x + n, out, 4 * i, block_idx.y)


def test_functions_are_looked_into() -> None:
    line = summed_row.definition.line + 4 - (row_sums_by_function.definition.line + 1)
    assert found(row_sums_by_function) == [("uncoalesced", line)]
    assert found(one_row_by_function) == []


@kernel
def straight(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, column = global_idx.y, global_idx.x
    if row < 64 and column < 100:
        out[row, column] = x[row, column] * 2.0


@kernel
def channels(x: LayoutTensor[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        for c in range(3):
            out[3 * i + c] = x[i, c]


@kernel
def any_channels(x: Pointer[Float32], out: Pointer[Float32], n: Int, count: Int):
    i = global_idx.x
    if i < n:
        for c in range(count):
            out[i * count + c] = x[i * count + c]


@kernel
def any_stride(x: LayoutTensor[Float32], out: Pointer[Float32], n: Int):
    i, c, _ = global_idx
    if i < n:
        out[i * n + c] = x[i, c]


@kernel
def of_one_thread(x: LayoutTensor[Float32], out: Pointer[Float32]):
    if thread_idx.x == 0:
        for j in range(100):
            out[global_idx.x] += x[global_idx.x, j]


@kernel
def by_lanes(x: LayoutTensor[Float32], out: Pointer[Float32]):
    row, lane = thread_idx.x // 32, thread_idx.x % 32
    for j in range(3):
        out[0] = x[row, lane + 32 * j]


@kernel
def transposed(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    tile = stack_allocation(Float32, Layout.row_major(16, 17), address_space=AddressSpace.SHARED)
    i, j = thread_idx.x, thread_idx.y
    tile[i, j] = x[16 * block_idx.y + j, 16 * block_idx.x + i]
    barrier()
    out[16 * block_idx.x + j, 16 * block_idx.y + i] = tile[j, i]


@kernel
def strided(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    for i in range(global_idx.x, n, block_dim.x * grid_dim.x):
        out[i] = x[i]


@struct
class Body:
    x: Float32
    y: Float32
    mass: Float32


@kernel
def records(bodies: Pointer[Body], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        for j in range(n):
            out[i] += bodies[i].mass * bodies[j].mass


@kernel
def gathered(x: Pointer[Float32], at: Pointer[Int32], out: Pointer[Float32]):
    for j in range(100):
        out[global_idx.x] += x[Int(at[global_idx.x]) + j]


def test_what_lies_side_by_side_or_is_not_known() -> None:
    assert found(straight, x=WIDE, out=WIDE) == []
    assert found(turned, x=TURNED, out=TURNED) == []
    assert found(channels, x=NARROW) == []
    assert found(any_stride, x=NARROW) == []
    assert found(any_channels) == found(strided) == found(records) == found(gathered) == []
    assert found(of_one_thread, x=WIDE) == found(by_lanes, x=WIDE) == []
    assert found(transposed, x=WIDE, out=WIDE) == []


@kernel
def one_of_many(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i * 32] = 1.0
        x[(i + 1) * 32] += 2.0
    for j in range(i, n, block_dim.x * grid_dim.x):
        y[8 * j + 3] = 1.0


def test_one_element_of_many() -> None:
    assert found(one_of_many) == [("uncoalesced", line) for line in (3, 4, 6)]
    assert found(one_of_many, "native") == []


@kernel
def neighbours_too(
    a: Pointer[Float32], b: Pointer[Float32], c: Pointer[Float32], d: Pointer[Float32], e: Pointer[Float32]
):
    i = global_idx.x
    a[32 * i] = a[32 * i + 1]
    b[32 * i + block_idx.y] = 1.0
    first, rest = c + 8 * i, c + 1
    first[0] = rest[8 * i]
    d[8 * i] = 1.0
    if thread_idx.x == 0:
        d[1] = 2.0
    Atomic.fetch_add(e + 1, e[8 * i])


@kernel
def of_data(x: LayoutTensor[Float32], rows: LayoutTensor[Float32], w: Pointer[Wide], y: Pointer[Float64]):
    i = global_idx.x
    x[i] = rows[i, 0]
    w[i].mass = 1.0
    y[4 * i] = y[4 * i] + rows[i, i]


@kernel
def wide_or_near(x: Pointer[Float32], y: Pointer[Float32], z: Pointer[Float32], n: Int):
    i = global_idx.x
    x[4 * i] = 1.0
    y.store(32 * i, Float32.simd(1.0, 2.0, 3.0, 4.0))
    z[n * i] = 1.0


def test_what_lies_between_is_wanted_or_the_data_is_so() -> None:
    column = Layout((64,), (32,))
    assert found(neighbours_too) == found(wide_or_near) == []
    assert found(of_data, x=column, rows=WIDE) == [("uncoalesced", 4)] * 2  # y alone


# -- races ----------------------------------------------------------------------------------------------


@kernel
def summed(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        out[0] += x[i]


@kernel
def greatest(x: Pointer[Float32], out: LayoutTensor[Float32], n: Int):
    if global_idx.x >= n:
        return
    out[block_idx.x] = max(out[block_idx.x], x[global_idx.x])


@kernel
def shared_sum(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    here = stack_allocation(Float32, Layout.row_major(1), address_space=AddressSpace.SHARED)
    mine = 0.0
    for i in range(global_idx.x, n, block_dim.x):
        mine += x[i]
    here[0] += mine
    barrier()
    if thread_idx.x == 0:
        out[block_idx.x] = here[0]


def test_all_threads_change_one_element() -> None:
    for target in ("native", "sm_90"):
        assert found(summed, target) == [("race", 3)]
        assert found(greatest, target, out=Layout.row_major(64)) == [("race", 3)]
        assert found(shared_sum, target) == [("race", 5)]
    assert found(summed, over=1) == [("race", 3)]


@kernel
def atomic_sum(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    if global_idx.x < n:
        Atomic.fetch_add(out, x[global_idx.x])


@kernel
def first_thread(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    if thread_idx.x == 0:
        out[0] += x[global_idx.x]
    if global_idx.x < 1:
        out[1] += x[global_idx.x]
    if thread_idx.x != 0:
        return
    out[2] += x[global_idx.x]


@kernel
def in_turn(x: Pointer[Float32], out: Pointer[Float32]):
    for turn in range(block_dim.x):
        if turn == thread_idx.x:
            out[block_idx.x] += x[global_idx.x]
        barrier()


@kernel
def own_memory(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    here = stack_allocation(Float32, Layout.row_major(2))
    here[0] = 0.0
    here[0] += x[global_idx.x]
    out[global_idx.x] += here[0]
    out[n] = x[global_idx.x]


@kernel
def one_thread(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    for i in range(n):
        out[0] += x[i]


@kernel
def locked(x: Pointer[Float32], lock: Pointer[Int32], out: Pointer[Float32]):
    while not Atomic.compare_exchange(lock, Int32(0), Int32(1))[1]:
        pass
    out[0] += x[global_idx.x]
    Atomic.exchange(lock, Int32(0))


@kernel
def chosen(x: Pointer[Float32], out: Pointer[Float32], n: Int):
    if x[global_idx.x] > 2.0:
        out[0] += x[global_idx.x]


@kernel
def half_waits(x: Pointer[Float32]):
    if thread_idx.x < 16:
        barrier()
    x[thread_idx.x] = 1.0


@kernel
def each_waits_otherwise(x: Pointer[Float32]):
    for _ in range(thread_idx.x):
        barrier()
    x[thread_idx.x] = 1.0


def test_barriers_that_some_threads_do_not_reach_are_refused() -> None:
    for fn in (half_waits, each_waits_otherwise):
        for target in ("native", "sm_90"):
            with pytest.raises(CompileError, match=r"^error\[barrier-diverged\]: not all threads"):
                compile_info(fn, target=target)


@kernel
def all_wait(x: Pointer[Float32], n: Int):
    for k in range(n):
        if block_idx.x > k:
            barrier()
    if thread_idx.x >= n:
        return
    if global_idx.x < n:
        barrier()
    x[thread_idx.x] = 1.0


RIGHT: list[Kernel[...]] = [
    atomic_sum,
    first_thread,
    in_turn,
    own_memory,
    one_thread,
    locked,
    chosen,
    all_wait,
]


@pytest.mark.parametrize("fn", RIGHT)
def test_threads_in_turn_or_of_their_own(fn: Kernel[...]) -> None:
    for target in ("native", "sm_90"):
        assert found(fn, target) == []


# -- banks of shared memory ------------------------------------------------------------------------


def through_shared(layout: Layout | ComposedLayout, dtype: Any = Float32) -> Kernel[...]:
    @kernel
    def columns(out: Pointer[Float32]):
        here = stack_allocation(dtype, layout, address_space=AddressSpace.SHARED)
        row, column = thread_idx.y, thread_idx.x
        here[row, column] = dtype(1.0)
        barrier()
        out[row * 32 + column] = Float32(here[column, row])

    return columns


@kernel
def by_eights(out: Pointer[Float32]):
    here = stack_allocation(Float32, 256, address_space=AddressSpace.SHARED)
    here[8 * thread_idx.x] = 1.0
    barrier()
    out[thread_idx.x] = here[thread_idx.x] + here[3 * thread_idx.x] + here[0]


@kernel
def vectors_of_rows(out: Pointer[Float32]):
    here = stack_allocation(Float32, Layout.row_major(32, 32), address_space=AddressSpace.SHARED)
    rows = here.vectorize[1, 4]()
    rows[thread_idx.x, 0] = 1.0
    barrier()
    out[thread_idx.x] = rows[thread_idx.x // 8, thread_idx.x % 8].reduce_add()


def test_bank_conflicts() -> None:
    square = Layout.row_major(32, 32)
    assert found(through_shared(square)) == [("bank-conflicts", 5)]
    assert found(through_shared(Layout.row_major(32, 64), Float16)) == [("bank-conflicts", 5)]
    assert found(through_shared(square, Float16)) == []  # in blocks of 8 x 4 threads only four wait
    assert found(through_shared(square), "native") == []
    for layout in (Layout((32, 32), (33, 1)), ComposedLayout(square, Swizzle(5, 0, 5))):
        assert found(through_shared(layout)) == []
    assert found(by_eights) == [("bank-conflicts", 2)]
    assert found(vectors_of_rows) == [("bank-conflicts", 3)]
