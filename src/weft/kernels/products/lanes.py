"""Products of Float32 without tensor cores: tiles that the hardware copies, and fused multiply-adds.

One thread has tiles copied into a ring of stages, some ahead; each thread has 8 rows and some columns of the
result in registers, and reads 4 of either side at once from shared memory (the register tiles of Volkov and
Demmel, "Benchmarking GPUs to tune dense linear algebra", 2008, with TMA where those had loads). What lies
along k comes swizzled, so that lanes that read rows beneath each other meet at no bank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from weft import Comptime, Float32, Int, UInt64, func, kernel, unroll
from weft.gpu import launch_bounds, thread_idx
from weft.gpu.pipeline import Pipeline
from weft.gpu.warp import syncwarp
from weft.kernels.products.finish import finished
from weft.kernels.products.schedule import own_part
from weft.lang import contraction
from weft.lang.number import number_class
from weft.layout.tma_async import TMATensorTile
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation

DEEP = 32
"""Elements along k of a stage: rows of 128 bytes."""
FOUR = 4
"""Elements that a lane reads at once."""
SLACK = 2
"""Steps from a stage's use until it is filled again, of which the first is the last warp's."""
LANES = (4, 8)
"""Lanes of a warp along rows and columns."""


@kernel
def product(
    a: TMATensorTile[Any],
    b: TMATensorTile[Any],
    out: Any,
    m: Int,
    n: Int,
    k: Int,
    batches: Int,
    splits: Int,
    alpha: Any,
    terms: Any,
    epilogue: Callable[..., Any],
    *,
    tile: Comptime[tuple[int, int]],
    each: Comptime[tuple[int, int]],
    stages: Comptime[int],
    band: Comptime[int],
    majors: Comptime[tuple[Any, Any]],
    shared: Comptime[tuple[bool, bool]],
    blocks: Comptime[int],
    ways: Comptime[Any],
):
    """As ``warpgroups.product``: a thread has ``each`` rows and columns, a block one tile."""
    (bm, bn), (high, wide) = tile, each
    threads = bm * bn // (high * wide)
    launch_bounds(threads * blocks)  # so that each thread has as many registers as of so many blocks
    tiles_a = cast("Any", dynamic_shared_memory)(a.dtype, alignment=1024)
    tiles_b = tiles_a + stages * bm * DEEP
    pipe = Pipeline[stages](stack_allocation(UInt64, 2 * stages, address_space=AddressSpace.SHARED))
    pipe.init(consumers=threads // 32)
    part, z, row, col, first, count = own_part((m, n, k), batches, splits, tile=tile, deep=DEEP, band=band)
    of_a, of_b = Int(0) if shared[0] else z, Int(0) if shared[1] else z

    def bring(step: Int) -> None:
        stage, full = pipe.producer_acquire(step), pipe.full(step)
        full.expect_bytes((bm + bn) * DEEP * a.dtype.itemsize)
        fetch(a, tiles_a + stage * (bm * DEEP), full, (of_a, row, (first + step) * DEEP), majors[0])
        fetch(b, tiles_b + stage * (bn * DEEP), full, (of_b, col, (first + step) * DEEP), majors[1])

    leads = thread_idx.x == 0
    if leads:
        a.prefetch_descriptor()
        b.prefetch_descriptor()
        for step in range(min(count, stages - SLACK)):
            bring(Int(step))
    own = places(tile, each, majors)
    sums = (Float32.splat(wide, 0.0),) * high
    for step in range(count):
        if leads and step + stages - SLACK < count:
            bring(Int(step + stages - SLACK))
        stage = pipe.consumer_wait(step)
        here = tiles_a + stage * (bm * DEEP), tiles_b + stage * (bn * DEEP)
        sums = multiplied(sums, here, own, tile=tile, majors=majors)
        syncwarp()
        if thread_idx.x % 32 == 0:
            pipe.consumer_release(step)
    at, ends = (z + part * batches, row, col), (alpha, terms, epilogue)
    write(sums, own, out, at, (m, n), ends, ways=ways)


def places(tile: Any, each: Any, majors: Any) -> tuple[tuple[Any, ...], ...]:
    """Which rows and columns of a tile a thread has."""
    (bm, bn), (high, wide) = tile, each
    warp, lane = thread_idx.x // 32, thread_idx.x % 32
    beside = bn // (LANES[1] * wide)
    # Lanes beside each other read the same of one side or the other, so that 16 are served at once.
    ty = warp // beside * LANES[0] + lane // 16 * 2 + lane % 2
    tx = warp % beside * LANES[1] + lane // 2 % LANES[1]
    return spread(ty, bm // high, high, majors[0]), spread(tx, bn // wide, wide, majors[1])


@func
def multiplied(sums: Any, here: Any, own: Any, *, tile: Comptime[Any], majors: Comptime[Any]) -> Any:
    """A thread's sums with the products of a stage.

    What the next place along k asks for is read before this one's products. Neighbours in the order of these
    have a number of one side in common, which the assembler then reads from registers once for both.
    """
    loaded = [Side(here[n], own[n], tile[n], majors[n]) for n in range(2)]
    ahead = 1 if "k" not in majors else 0  # what lies along k is in registers for four places as it is
    for k in unroll(range(DEEP)):
        left, right = [side.at(k, min(k + ahead, DEEP - 1)) for side in loaded]
        with contraction():
            sums = tuple([products(some, left[r], right, r % 2 == 1) for r, some in enumerate(sums)])
    return sums


def products(some: Any, one: Any, others: list[Any], backward: bool) -> Any:
    """A row of sums with the products of one number and others, begun at the last if ``backward``."""
    order = range(len(others))
    made = {c: some[c] + one * others[c] for c in (reversed(order) if backward else order)}
    return _vector([made[c] for c in order])


@func
def write(sums: Any, own: Any, out: Any, at: Any, extents: Any, ends: Any, *, ways: Comptime[Any]) -> None:
    """Write a thread's sums of the tile at a batch, row and column."""
    z, row, col = at
    for r in unroll(range(len(own[0]))):
        for c in unroll(range(len(own[1]))):
            i, j = row + own[0][r], col + own[1][c]
            if i < extents[0] and j < extents[1]:
                value = finished((sums[r][c],), (z, i, j), extents, ends, ways=ways)
                out.start[z * out.steps[0] + i * out.steps[1] + j * out.step] = value.cast(ways.type)


def fetch(x: Any, into: Any, full: Any, at: Any, major: str) -> None:
    """Begin to copy a side's part of a stage."""
    z, row, k = at
    x.async_copy(into, full, (z, row, k) if major == "k" else (z, k, row))


def spread(t: Any, threads: int, count: int, major: str) -> tuple[Any, ...]:
    """Which rows or columns a thread has: every so many along k, fours across it."""
    if major == "k":
        return tuple([t + i * threads for i in range(count)])
    return tuple([i // FOUR * (FOUR * threads) + t * FOUR + i % FOUR for i in range(count)])


class Side:
    """What a thread reads of a side's part of a stage: of one place along k after the other."""

    def __init__(self, here: Any, own: tuple[Any, ...], extent: int, major: str) -> None:
        self.here: Any = here
        self.own: tuple[Any, ...] = own
        self.extent: int = extent
        self.major: str = major
        self.places: dict[int, list[Any]] = {}
        """What was read, by the place along k."""

    def at(self, k: int, last: int) -> list[Any]:
        """The numbers of the thread's rows or columns at a place; those up to another are read before."""
        while last not in self.places:
            self._read(len(self.places))
        return self.places[k]

    def _read(self, k: int) -> None:
        here, own = self.here, self.own
        if self.major == "k":  # swizzled by 16 bytes
            turned = (k // FOUR ^ own[0] % 8) * FOUR  # alike for all: they are multiples of 8 apart
            fours = [here.load(x * DEEP + turned, width=FOUR, alignment=16) for x in own]
            self.places |= {k + i: [four[i] for four in fours] for i in range(FOUR)}
        else:
            fours = [here.load(k * self.extent + x, width=FOUR, alignment=16) for x in own[::FOUR]]
            self.places[k] = [four[i] for four in fours for i in range(FOUR)]


def _vector(numbers: list[Any]) -> Any:
    return number_class(numbers[0].dtype, len(numbers))(*numbers)
