"""Ranges over numbers of every integer type count as Python's do, up to the ends of the types."""

import itertools
from typing import Any, TypeVar

import numpy as np
import pytest

from weft import Int, Int8, Int16, Int32, Int64, Pointer, UInt8, UInt16, UInt32, UInt64, kernel
from weft.gpu.host import DeviceContext

LIMIT = 6
T = TypeVar("T", Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)


@kernel
def numbers(start: T, stop: T, step: T, found: Pointer[T], count: Pointer[Int]):
    n = 0
    for i in range(start, stop, step):
        if n == LIMIT:
            break
        found[n] = Int(i).cast(start.dtype)
        n += 1
    count[0] = n
    total = 0
    for k, i in enumerate(range(start, stop, step)):
        if k == LIMIT:
            break
        total += (k + 1) * Int(Int(i).cast(start.dtype) & 15)
    count[1] = total


@kernel
def by_ones(start: T, stop: T, found: Pointer[T], count: Pointer[Int]):
    n = 0
    for i in range(start, stop):
        if n == LIMIT:
            break
        found[n] = Int(i).cast(start.dtype)
        n += 1
    count[0] = n


TYPES = T.__constraints__


@pytest.mark.parametrize("of", TYPES, ids=lambda t: t.__name__)
def test_bounds_of_every_type(device: DeviceContext, of: type[Int]) -> None:
    info = np.iinfo(of.dtype.name)
    low, high = int(info.min), int(info.max)
    edges = [low, low + 1, 0, 3, high // 2, high // 2 + 2, high - 1, high]
    steps = [1, 2, 7, high // 3] + ([-1, -2, low // 3] if low else [high - 1, high])
    found, count = device.enqueue_create_buffer(of, LIMIT), device.enqueue_create_buffer(Int, 2)

    def seen(n: int) -> list[int]:
        with found.map_to_host() as host:
            return host.numpy()[:n].tolist()

    for start, stop in itertools.product(edges, edges):
        wanted = list(itertools.islice(range(start, stop), LIMIT))
        device.enqueue_function(by_ones, of(start), of(stop), found, count, grid_dim=1, block_dim=1)
        with count.map_to_host() as host:
            assert host[0] == len(wanted), (start, stop)
        assert seen(len(wanted)) == wanted, (start, stop)
        for step in steps:
            if of.dtype.name == "int64" and not low <= stop + step <= high:
                continue
            wanted = list(itertools.islice(range(start, stop, step), LIMIT))
            device.enqueue_function(
                numbers, of(start), of(stop), of(step), found, count, grid_dim=1, block_dim=1
            )
            with count.map_to_host() as host:
                assert host[0] == len(wanted), (start, stop, step)
                assert host[1] == sum((k + 1) * (i & 15) for k, i in enumerate(wanted)), (start, stop, step)
            assert seen(len(wanted)) == wanted, (start, stop, step)


@kernel
def doubled(n: UInt8, m: Int16, out: Pointer[Int32]):
    for i in range(n):
        out[i * 2] = Int32(i)
    for j in range(m, m + 2):
        out[j * 2 - 65000] += 1


def test_an_index_is_wider_than_its_narrow_bound(device: DeviceContext) -> None:
    out = device.enqueue_create_buffer(Int32, 600)
    out.enqueue_fill(-1)
    device.enqueue_function(doubled, 200, 32765, out, grid_dim=1, block_dim=1)
    wanted = np.full(600, -1)
    wanted[:400:2] = np.arange(200)
    wanted[[2 * 32765 - 65000, 2 * 32766 - 65000]] += 1
    with out.map_to_host() as host:
        assert host.numpy().tolist() == wanted.tolist()


@kernel
def downwards(n: UInt64, m: UInt32, a: UInt8, b: Int8, out: Pointer[Int]):
    total = 0
    for i in range(n - 1, -1, -1):  # weft: ignore[countdown]  (launches give 1 at least)
        total = total * 3 + Int(i)
    out[0] = total
    total = 0
    for k, i in enumerate(range(n, -1, -2)):
        total = total * 3 + Int(i) + k
    out[1] = total
    out[2] = sum(Int(i) for i in range(m - 1, -1, -1))  # weft: ignore[countdown]
    out[3] = sum(1 for _ in range(n, -1))
    out[4] = sum(i for i in range(a, b, -1))
    out[5] = sum(i * i for i in range(b, a, 3))


@pytest.mark.parametrize("n", [0, 1, 7, 8])
def test_ranges_end_at_minus_one_and_narrow_bounds_meet(device: DeviceContext, n: int) -> None:
    out = device.enqueue_create_buffer(Int, 6)
    device.enqueue_function(downwards, n + 1, n + 1, n, -n - 5, out, grid_dim=1, block_dim=1)
    first = second = 0
    for i in range(n, -1, -1):
        first = first * 3 + i
    for k, i in enumerate(range(n + 1, -1, -2)):
        second = second * 3 + i + k
    squares = sum(i * i for i in range(-n - 5, n, 3))
    with out.map_to_host() as host:
        assert host.numpy().tolist() == [
            first, second, sum(range(n + 1)), 0, sum(range(n, -n - 5, -1)), squares
        ]  # fmt: skip


RANGES = """
from weft import Int, func


@func
def told(start: Int, stop: Int, step: Int, i: Int) -> tuple[Int, Int, Int, Int, Int, Int, Int]:
    r, up, down = range(start, stop, step), range(start, stop), range(stop, start, -3)
    some = 0
    if r:
        some = 1
    if not up:
        some += 2
    return len(r), len(up), len(down), r[i], r[-1], down[i] if i in down else up[1], some
"""


def test_what_a_run_time_range_tells(load: Any) -> None:
    told = load(RANGES).told
    for start, stop, step, i in itertools.product((-3, 0, 4), (-2, 0, 9), (1, 2, -1, -4), (0, 1, 5)):
        r, up, down = range(start, stop, step), range(start, stop), range(stop, start, -3)
        last = start + (len(r) - 1) * step  # as no index is checked
        fourth = stop - 3 * i if i in down else start + 1
        wanted = (len(r), len(up), len(down), start + i * step, last, fourth, bool(r) + 2 * (not up))
        assert tuple(told(start, stop, step, i)) == wanted
