"""Loops that threads of rows begin one behind the other, along x, y or through all of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Int, Pointer, func, kernel
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
MOST = 256
BLOCKS = [(16, 4, 1), (5, 3, 2), (1, 7, 1), (33, 2, 1), (4, 4, 4)]


@func
def flat() -> Int:
    return (thread_idx.z * block_dim.y + thread_idx.y) * block_dim.x + thread_idx.x


@func
def size() -> Int:
    return block_dim.x * block_dim.y * block_dim.z


@kernel
def whole(x: Pointer[Int], n: Int, sums: Pointer[Int], first: Pointer[Int], *, way: Comptime[str]):
    """All threads of a block go through memory one behind the other."""
    shared = stack_allocation(Int, MOST, address_space=AddressSpace.SHARED)
    t, total, last = flat(), 0, -1
    begin = block_idx.x * size() + t
    if way == "grid":
        for i in range(begin, n, size() * grid_dim.x):
            total += x[i]
            last = i
    elif way == "while":
        i = begin
        while i < n:
            if x[i] % 5 != 1:
                total += x[i]
            last = i
            i += grid_dim.x * size()
    elif way == "constant":
        for i in range(thread_idx.y * 40 + thread_idx.x + 3, n, 100):
            total += x[i]
            last = i
    elif way == "backwards":
        for i in range((2 - thread_idx.y) * 8 + thread_idx.x, n, 50):
            total += 3 * i
            last = i
    elif way == "within":
        for i in range(t, n, size()):
            for k in range(t, i, 3 * size()):
                total += x[k] + i
            for k in range(thread_idx.x, i % 50, block_dim.x):
                total += 7 * k
            for k in range(t + 1, n - 5, 2 * size()):
                total += x[k] * i
            last = i
    else:
        for y in range(thread_idx.y, n // 9, block_dim.y):
            for i in range(t, y, size()):
                total += x[i] * y
            last = y
    shared[t] = total
    barrier()
    sums[block_idx.x * size() + t] = shared[size() - 1 - t]
    first[block_idx.x * size() + t] = last


def through(way: str, x: Any, n: int, block: int, at: tuple[int, int, int], dims: Sequence[int]) -> Any:
    """The same of one thread."""
    (tx, ty, tz), (w, h, _) = at, dims
    t, size = (tz * h + ty) * w + tx, int(np.prod(dims))
    if way == "constant":
        rounds = range(ty * 40 + tx + 3, n, 100)
        return sum(x[i] for i in rounds), max(rounds, default=-1)
    if way == "backwards":
        rounds = range((2 - ty) * 8 + tx, n, 50)
        return sum(3 * i for i in rounds), max(rounds, default=-1)
    if way == "within":
        total = 0
        for i in range(t, n, size):
            total += sum(x[k] + i for k in range(t, i, 3 * size))
            total += sum(7 * k for k in range(tx, i % 50, w))
            total += sum(x[k] * i for k in range(t + 1, n - 5, 2 * size))
        return total, max(range(t, n, size), default=-1)
    if way == "y":
        rounds = range(ty, n // 9, h)
        return sum(x[i] * y for y in rounds for i in range(t, y, size)), max(rounds, default=-1)
    rounds = range(block * size + t, n, size * 2)
    total = sum(x[i] for i in rounds if way == "grid" or x[i] % 5 != 1)
    return total, max(rounds, default=-1)


WAYS = ["grid", "while", "constant", "backwards", "within", "y"]
"""How rounds go; by the last two Python takes long."""


@pytest.fixture
def cpu() -> Iterator[DeviceContext]:
    with DeviceContext(api="cpu") as ctx:
        yield ctx


@pytest.mark.parametrize("dims", BLOCKS)
@pytest.mark.parametrize(
    ("way", "n"),
    [(way, n) for way in WAYS for n in (0, 1, 63, 64, 500, 3000) if n <= 500 or way in WAYS[:4]],
)
def test_all_of_a_block(cpu: DeviceContext, way: str, n: int, dims: tuple[int, int, int]) -> None:
    x, each = np.random.default_rng(n).integers(0, 1000, max(n, 1)), int(np.prod(dims))
    sums, first = np.zeros((2, each), np.int64), np.zeros((2, each), np.int64)
    cpu.enqueue_function(whole, x, n, sums, first, grid_dim=2, block_dim=dims, way=way)
    cpu.synchronize()
    for block in range(2):
        for t in range(each):
            at = t % dims[0], t // dims[0] % dims[1], t // dims[0] // dims[1]
            wanted = through(way, x.tolist(), n, block, at, dims)
            assert (sums[block, each - 1 - t], first[block, t]) == wanted


@kernel
def two_axes(a: Pointer[Int], b: Pointer[Int], rows: Int, columns: Int, depth: Int):
    """Rows and columns with the grid's stride each, and slices with the block's."""
    z = thread_idx.z
    while z < depth:
        y = global_idx.y
        while y < rows:
            x = global_idx.x
            while x < columns:
                at = (z * rows + y) * columns + x
                b[at] = 3 * a[at] + x + 100 * y
                x += block_dim.x * grid_dim.x
            y += block_dim.y * grid_dim.y
        z += block_dim.z


@pytest.mark.parametrize("dims", BLOCKS)
@pytest.mark.parametrize("shape", [(3, 1, 1), (2, 50, 70), (1, 13, 29)])
def test_rows_and_columns(
    cpu: DeviceContext, shape: tuple[int, int, int], dims: tuple[int, int, int]
) -> None:
    a = np.random.default_rng(1).integers(0, 1000, shape)
    b, (depth, rows, columns) = np.zeros_like(a), shape
    cpu.enqueue_function(two_axes, a, b, rows, columns, depth, grid_dim=(2, 3), block_dim=dims)
    cpu.synchronize()
    np.testing.assert_array_equal(b, 3 * a + np.arange(columns) + 100 * np.arange(rows)[:, None])


@kernel
def to_the_end(seen: Pointer[Int], last: Int):
    """What is behind the last row leaves 64 bits."""
    shared = stack_allocation(Int, MOST, address_space=AddressSpace.SHARED)
    t, count = thread_idx.y * block_dim.x + thread_idx.x, 0
    for i in range(t, last, 1 << 62):
        count += 1 + i // (1 << 61)
    shared[t] = count
    barrier()
    seen[t] = shared[t]


@pytest.mark.parametrize("last", [(1 << 63) - 1, (1 << 62) + 20, 1 << 62, 7, -(1 << 63)])
def test_ends_at_extremes(cpu: DeviceContext, last: int) -> None:
    seen = np.zeros(64, np.int64)
    cpu.enqueue_function(to_the_end, seen, last, grid_dim=1, block_dim=(16, 4))
    cpu.synchronize()
    assert seen.tolist() == [sum(1 + (i >> 61) for i in range(t, last, 1 << 62)) for t in range(64)]


@kernel
def under(x: Pointer[Int], n: Int, rows: Int, out: Pointer[Int], log: Pointer[Int]):
    """Some threads come to the loops, who do something before, between and behind them."""
    shared = stack_allocation(Int, MOST, address_space=AddressSpace.SHARED)
    t, total = flat(), x[flat()] % 10
    row = block_idx.x * block_dim.y + thread_idx.y
    if row < rows and x[t] % 3 != 1:
        total += 1
        for i in range(thread_idx.x, n, block_dim.x):
            total += x[i] * (row + 1)
            for k in range(t, n // 4, 2 * size()):
                if k % 2 == 0:
                    total += x[k] % 5
        total *= 2
        log[block_idx.x * size() + t] = total
        for i in range(t, n + rows, size()):
            total -= i
            log[block_idx.x * size() + t] += 1
        total += 7
    if t % 2 == 0:
        for i in range(t, n, size()):
            total += i
    else:
        total += 3
    shared[t] = total
    barrier()
    if row < rows:
        if thread_idx.x == 2:
            log[block_idx.x * size() + t] += 1000
        for y in range(thread_idx.y, n // 7, block_dim.y):
            total += y * shared[(t + y) % size()]
    out[block_idx.x * size() + t] = total


@pytest.mark.parametrize("dims", BLOCKS)
@pytest.mark.parametrize(("n", "rows"), [(0, 0), (40, 5), (100, 7), (300, 100)])
def test_loops_under_branches(cpu: DeviceContext, n: int, rows: int, dims: tuple[int, int, int]) -> None:
    x, (w, h, _), each = np.random.default_rng(n).integers(0, 1000, 512).tolist(), dims, int(np.prod(dims))
    out, log = np.zeros((2, each), np.int64), np.zeros((2, each), np.int64)
    given = np.array(x)
    cpu.enqueue_function(under, given, n, rows, out, log, grid_dim=2, block_dim=dims)
    cpu.synchronize()
    for block in range(2):
        totals, logs = list[int](), list[int]()
        for t in range(each):
            total, noted, row, tx = x[t] % 10, 0, block * h + t // w % h, t % w
            if row < rows and x[t] % 3 != 1:
                inner = sum(x[k] % 5 for k in range(t, n // 4, 2 * each) if k % 2 == 0)
                total = 2 * (total + 1 + sum(x[i] * (row + 1) + inner for i in range(tx, n, w)))
                last = range(t, n + rows, each)
                total, noted = total - sum(last) + 7, total + len(last)
            totals.append(total + (3 if t % 2 else sum(range(t, n, each))))
            logs.append(noted + 1000 * (row < rows and tx == 2))
        assert log[block].tolist() == logs
        for t in range(each):
            more = sum(y * totals[(t + y) % each] for y in range(t // w % h, n // 7, h))
            assert out[block, t] == totals[t] + more * (block * h + t // w % h < rows)
