"""Between barriers only some threads do something: those a CPU goes through are no fewer than these."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Int, Pointer, kernel
from weft.gpu import barrier, block_dim, thread_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, stack_allocation

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")
THREADS = 80
FORMS = 12
FAR = (1 << 63) - 1


@kernel
def marks(seen: Pointer[Int], factor: Int, limit: Int):
    """Each form has a row, of which each thread marks its own place, two of those of ``y``."""
    shared = stack_allocation(Int, FORMS * THREADS, address_space=AddressSpace.SHARED)
    t, y = thread_idx.x, thread_idx.y
    at, row = y * block_dim.x + t, THREADS
    for form in range(FORMS):
        shared[form * row + at] = 0
    barrier()
    if factor * t < limit:
        shared[0 * row + at] = 1
    barrier()
    if limit > t * factor:
        shared[1 * row + at] = 1
    barrier()
    if t % factor == 0:
        shared[2 * row + at] = 1
    barrier()
    if t < 70:
        shared[10 * row + at] = 1
    barrier()
    if (0 if limit > 10 else t % factor) == 0:
        shared[11 * row + at] = 1
    barrier()
    if t % factor == 0 and t < limit:
        shared[3 * row + at] = 1
    barrier()
    if t * factor < limit and t < 30 and t != 3:
        shared[4 * row + at] = 1
    barrier()
    if t < 40 and t + factor < limit:
        shared[5 * row + at] = 1
    barrier()
    if factor % (t + 1) == 0 or t * factor < limit:
        shared[6 * row + at] = 1
    barrier()
    if (t + 1) % factor == 0:
        shared[7 * row + at] = 1
    barrier()
    if t % factor == 0 and t % 3 == 0 and y < 1:
        shared[8 * row + at] = 1
    barrier()
    if 0 == (-t) % factor and 0 < t * factor:
        shared[9 * row + at] = 1
    barrier()
    for form in range(FORMS):
        seen[form * row + at] = shared[form * row + at]


def rest(n: int, by: int) -> int:
    """Python's, and 0 of a division by 0."""
    return n % by if by else 0


def wrapped(n: int) -> int:
    """As 64 bits hold it."""
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


@pytest.mark.parametrize("factor", [-FAR - 1, -3, -1, 0, 1, 2, 7, 79, 300, 1 << 57, FAR])
@pytest.mark.parametrize("limit", [-FAR - 1, -1, 0, 1, 14, 15, 1000, 1 << 62, FAR])
@pytest.mark.parametrize("dims", [(THREADS, 1), (20, 4)])
def test_those_that_do_something(factor: int, limit: int, dims: tuple[int, int]) -> None:
    seen = np.zeros((FORMS, dims[1], dims[0]), np.int64)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(marks, seen, factor, limit, grid_dim=1, block_dim=dims)
        ctx.synchronize()
    for y in range(dims[1]):
        for t in range(dims[0]):
            less, divides = wrapped(t * factor) < limit, rest(t, factor) == 0
            assert seen[:, y, t].tolist() == [
                less,
                less,
                divides,
                divides and t < limit,
                less and t < 30 and t != 3,
                t < 40 and wrapped(t + factor) < limit,
                factor % (t + 1) == 0 or less,
                rest(t + 1, factor) == 0,
                divides and t % 3 == 0 and y < 1,
                rest(-t, factor) == 0 and wrapped(t * factor) > 0,
                t < 70,
                limit > 10 or divides,
            ]
