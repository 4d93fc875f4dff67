"""``while i < n: ...; i += step`` in all its forms: a CPU makes loops of it as of a range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from weft import Comptime, Int, Pointer, func, kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
BLOCK, GRID = 32, 3
LARGEST = (1 << 63) - 1


@pytest.fixture
def cpu() -> Iterator[DeviceContext]:
    with DeviceContext(api="cpu") as ctx:
        yield ctx


@kernel
def walk(x: Pointer[Int], n: Int, sums: Pointer[Int], ends: Pointer[Int], *, form: Comptime[str]):
    """What each thread meets on the grid's way, what is left in its variable, and the block's turn round."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    stride = block_dim.x * grid_dim.x
    total = 0
    i = global_idx.x
    if form == "less":
        while i < n:
            total += x[i]
            i += stride
    elif form == "greater":
        while n > i:
            total += x[i]
            i = stride + i
    elif form == "at most":
        while i <= n - 1:
            total += x[i]
            i += stride
    elif form == "break first":
        while True:
            if i >= n:
                break
            total += x[i]
            i += stride
    elif form == "read behind the step":
        while i < n:
            before = i
            i += stride
            total += x[before] + (x[i] if i < n else 0)
    elif form == "twice as far":
        while i < n:
            total += x[i] + (x[i + stride] if i + stride < n else 0)
            i += stride * 2
    elif form == "left":
        while i < n:
            if x[i] % 7 == 3:
                break
            total += x[i]
            i += stride
    elif form == "left behind the step":
        while i < n:
            total += x[i]
            i += stride
            if total % 5 == 4:
                break
    elif form == "goes on":
        while i < n:
            i += stride
            if i % 3 == 1:
                continue
            total += x[i - stride]
    elif form == "once more":
        again = True
        while i < n:
            total += x[i]
            if again:
                again = False
                continue
            i += stride
    elif form == "ends nearer":
        most = n
        while i < most:
            total += x[i]
            most -= 9
            i += stride
    elif form == "under a branch":
        if n > 40:
            while i < n:
                total += x[i]
                i += stride
    shared[thread_idx.x] = total
    barrier()
    sums[global_idx.x] = shared[BLOCK - 1 - thread_idx.x]
    ends[global_idx.x] = i


def expected(x: list[int], n: int, form: str) -> tuple[list[int], list[int]]:
    """The same by lists."""
    sums, ends, stride = list[int](), list[int](), BLOCK * GRID
    for t in range(stride):
        step = stride * (2 if form == "twice as far" else 1)
        way = [] if form == "under a branch" and n <= 40 else [*range(t, n, step)]
        total, end = 0, t + step * len(way)
        for at in way:
            after = x[at + stride] if at + stride < n else 0
            if form == "left" and x[at] % 7 == 3:
                end = at
                break
            if form == "goes on" and (at + stride) % 3 == 1:
                continue
            if form == "once more" and at == t:
                total += x[at]
            if form == "ends nearer" and at >= n - 9 * (at // stride):
                end = at
                break
            total += x[at] + (after if form in ("read behind the step", "twice as far") else 0)
            if form == "left behind the step" and total % 5 == 4:
                end = at + step
                break
        sums.append(total)
        ends.append(end)
    blocks = [sums[b : b + BLOCK][::-1] for b in range(0, stride, BLOCK)]
    return [one for block in blocks for one in block], ends


FORMS = (
    "less,greater,at most,break first,read behind the step,twice as far,left,left behind the step,goes on,"
    "once more,ends nearer,under a branch"
)


@pytest.mark.parametrize("form", FORMS.split(","))
@pytest.mark.parametrize("n", [0, 1, 31, 96, 97, 200, 1000])
def test_each_form(cpu: DeviceContext, form: str, n: int) -> None:
    x = np.random.default_rng(n).integers(0, 100, 1100)
    sums, ends = np.zeros(BLOCK * GRID, np.int64), np.zeros(BLOCK * GRID, np.int64)
    cpu.enqueue_function(walk, x, n, sums, ends, grid_dim=GRID, block_dim=BLOCK, form=form)
    cpu.synchronize()
    assert (sums.tolist(), ends.tolist()) == expected(x.tolist(), n, form)


@kernel
def up_to_the_end(seen: Pointer[Int], last: Int, rounds: Int, *, inclusive: Comptime[bool]):
    """Ends that a step beyond does not reach: the loop is left before."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    i, count = thread_idx.x, 0
    if inclusive:
        while i <= last:
            count += 1
            if count == rounds:
                break
            i += block_dim.x
    else:
        while i < last:
            count += 1
            if count == rounds:
                break
            i += block_dim.x
    shared[thread_idx.x] = count * 1000 + i
    barrier()
    seen[thread_idx.x] = shared[thread_idx.x]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("last", [LARGEST, LARGEST - 1, -LARGEST - 1, -1, 0, 31, 64])
def test_ends_at_extremes(cpu: DeviceContext, inclusive: bool, last: int) -> None:
    seen = np.zeros(BLOCK, np.int64)
    cpu.enqueue_function(up_to_the_end, seen, last, 4, grid_dim=1, block_dim=BLOCK, inclusive=inclusive)
    cpu.synchronize()
    for t in range(BLOCK):
        count = min(4, len(range(t, last + inclusive, BLOCK)))
        left = count == 4
        assert seen[t] == count * 1000 + t + BLOCK * (count - left)


@kernel
def round_the_end(seen: Pointer[Int], first: Int, last: Int, step: Int):
    """A step leaves 64 bits, and each loop goes on at their other end."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    i, count = thread_idx.x, 0
    while i < last:
        count += 1
        if count == 7:
            break
        i += step
    k = thread_idx.x
    while k < last:
        count += 10
        if count > 70:
            break
        k += 1 << 61
    j = first
    while j <= last:
        count += 100
        shared[thread_idx.x] = j
        if count > 700:
            break
        j += 1
    j = 5
    while j < (1 << 63) - 7:
        count += 1000
        if count > 7000:
            break
        j += 1 << 62
    shared[thread_idx.x] = count
    barrier()
    seen[thread_idx.x] = shared[thread_idx.x]


def wrapped(n: int) -> int:
    """As 64 bits hold it."""
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


@pytest.mark.parametrize("last", [LARGEST, LARGEST - 3, 100])
@pytest.mark.parametrize("step", [1 << 62, -(1 << 62), (1 << 62) + 1, 3, -1, 0])
def test_steps_that_leave_64_bits(cpu: DeviceContext, last: int, step: int) -> None:
    seen, first = np.zeros(BLOCK, np.int64), LARGEST - 2
    cpu.enqueue_function(round_the_end, seen, first, last, step, grid_dim=1, block_dim=BLOCK)
    cpu.synchronize()
    for t in range(BLOCK):
        count = 0
        for begin, end, by, more, most in (
            (t, last, step, 1, 6),
            (t, last, 1 << 61, 10, 70),
            (first, last + 1, 1, 100, 700),
            (5, LARGEST - 6, 1 << 62, 1000, 7000),
        ):
            i = begin
            while i < end:
                count += more
                if count > most:
                    break
                i = wrapped(i + by)
        assert seen[t] == count


@kernel
def row_by_row(
    x: Pointer[Int], rows: Int, columns: Int, out: Pointer[Int], held: Pointer[Int], *, behind: Comptime[bool]
):
    """One variable for three loops within another, each read or forgotten behind."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    row = block_idx.x
    i = 0
    while row < rows:
        if not behind:
            held[row * BLOCK + thread_idx.x] = i  # what the last row left
        most = 0
        i = thread_idx.x
        while i < columns:
            most = max(most, x[row * columns + i])
            i += BLOCK
        shared[thread_idx.x] = most
        barrier()
        k = 0
        while k < BLOCK:
            most = max(most, shared[k])
            k += 1
        barrier()
        i = thread_idx.x
        while i < columns:
            out[row * columns + i] = x[row * columns + i] - most + k
            i += BLOCK
        if most > 990:
            break
        if behind:
            i = 77
        row += grid_dim.x
    if behind:
        held[block_idx.x * BLOCK + thread_idx.x] = i


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("columns", [1, 32, 100, 1000])
def test_a_variable_of_several_loops(cpu: DeviceContext, columns: int, behind: bool) -> None:
    rows, blocks = 7, 2
    x = np.random.default_rng(columns).integers(0, 1000, (rows, columns))
    out, held = np.zeros_like(x), np.zeros((rows, BLOCK), np.int64)
    cpu.enqueue_function(
        row_by_row, x, rows, columns, out, held, grid_dim=blocks, block_dim=BLOCK, behind=behind
    )
    cpu.synchronize()
    most, wanted, i = x.max(axis=1), np.zeros_like(held), [0] * BLOCK
    for block in range(blocks):
        i = [0] * BLOCK
        for row in range(block, rows, blocks):
            if not behind:
                wanted[row] = i
            np.testing.assert_array_equal(out[row], x[row] - most[row] + BLOCK)
            i = [t + BLOCK * len(range(t, columns, BLOCK)) for t in range(BLOCK)]
            if most[row] > 990:
                break
            i = [77] * BLOCK if behind else i
        if behind:
            wanted[block] = i
    np.testing.assert_array_equal(held, wanted)


@func
def met(shared: Pointer[Int], value: Int) -> Int:
    barrier()
    shared[thread_idx.x] = value
    barrier()
    return shared[BLOCK - 1 - thread_idx.x]


@kernel
def meeting(out: Pointer[Int], n: Int):
    """Threads meet in a helper that a loop calls, though they begin one behind the other."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    i, total = thread_idx.x, 0
    while i < n:
        total += met(shared, i)
        i += BLOCK
    out[thread_idx.x] = total


def test_threads_that_meet_in_it(cpu: DeviceContext) -> None:
    out = np.zeros(BLOCK, np.int64)
    cpu.enqueue_function(meeting, out, 3 * BLOCK, grid_dim=1, block_dim=BLOCK)
    cpu.synchronize()
    assert out.tolist() == [sum(k * BLOCK + BLOCK - 1 - t for k in range(3)) for t in range(BLOCK)]


@kernel
def of_rows(starts: Pointer[Int], ends: Pointer[Int], own: Pointer[Int], x: Pointer[Int], out: Pointer[Int]):
    """Where a loop ends is read from memory in each round, and is the same in all, or is not."""
    shared = stack_allocation(Int, BLOCK, address_space=AddressSpace.SHARED)
    total, i = 0, starts[block_idx.x] + thread_idx.x
    while i < ends[block_idx.x]:
        total += x[i]
        i += BLOCK
    j = 0
    while j < own[global_idx.x]:
        own[global_idx.x] -= 1
        j += 1
    shared[thread_idx.x] = total
    barrier()
    out[global_idx.x] = shared[thread_idx.x] * 1000 + j


def test_ends_in_memory(cpu: DeviceContext) -> None:
    x = np.arange(200)
    starts, ends = np.array([0, 50, 70]), np.array([50, 70, 170])
    own, out = np.arange(3 * BLOCK), np.zeros((3, BLOCK), np.int64)
    cpu.enqueue_function(of_rows, starts, ends, own, x, out, grid_dim=3, block_dim=BLOCK)
    cpu.synchronize()
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for t in range(BLOCK):
            assert out[row, t] == x[start + t : end : BLOCK].sum() * 1000 + (row * BLOCK + t + 1) // 2
