"""Attention by the tensor cores of Hopper, of Float16 and BFloat16.

Algorithm: FlashAttention-3 (Shah et al. 2024, arXiv:2407.08608). One thread has the hardware copy queries,
keys and values into stages of shared memory; each of two warpgroups has 64 rows of queries. While it
computes exponentials, the product of those before with their values runs, and so does what the other one
multiplies; turns between the two gained nothing. Exponentials stay in registers, as the left side of the
second product.
Blocks stay and take one tile of queries after the other, those with most keys first.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

from weft.gpu import block_idx, grid_dim, lane_id, launch_bounds, thread_idx, warp, warp_id, wgmma
from weft.gpu.pipeline import Pipeline
from weft.kernels.early import begin_early
from weft.kernels.flash.tiles import LOG2_E, NEVER
from weft.kernels.quads import whole
from weft.lang import Comptime, func, kernel, struct, unroll
from weft.lang.intrinsics import Feature, current_target, inline_asm
from weft.lang.number import number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int, Int32, UInt32, UInt64
from weft.layout import LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.math import fma
from weft.math import max as greater
from weft.math import min as lesser
from weft.math.machine import exp2, log2
from weft.memory import dynamic_shared_memory, stack_allocation

ROWS = 64
"""Rows of a warpgroup."""
LINE = 64
"""Elements of a swizzled row of 128 bytes."""
PIECE = ROWS * LINE
LN2 = 0.6931471805599453
CHAINS = 4
"""Of sums and maxima, whose instructions take four cycles each."""
KEYS = {64: 176, 128: 176, 256: 80}
"""That are met at once by features, at most: as many as registers and shared memory have room for."""
FEW, MANY = 128, 4096
"""Of less keys than many few are met at once, which fill tiles better: 1024 take 0.9 of the time."""
FEWEST, BRIEF = 64, 1 << 17
"""Where each block does one tile of so many numbers of keys at most it waits for instructions more than for
products: shorter loops stay in their cache."""
STAGES = 2
GROUPS = {1: (40, 216), 2: (40, 232)}
"""Warpgroups that compute, with the registers of a thread that copies and of one that computes.

Of one there are two blocks at once: while one of them begins and ends a tile the other computes."""


def filled(features: int) -> int:
    """How many features a kernel has for so many, of which those that are none are 0."""
    return next(width for width in KEYS if features <= width)


def warpgroups(keys: int, width: int, share: float) -> int:
    """How many compute in a block, by the share of the multiprocessors that blocks of two need."""
    return 1 if width == 64 and 4 * FEW <= keys <= MANY and not 0.75 < share <= 1 else 2


def keys_at_once(keys: int, width: int, groups: int, share: float) -> int:
    """How many keys a block meets at once: as even parts of all as may be, where they are not many."""
    if groups == 1 or keys > MANY:
        return FEW if groups == 1 else KEYS[width]
    most = min(FEWEST if share <= 1 and keys * width <= BRIEF else FEW, KEYS[width])
    return -(-keys // (-(-keys // most) * 16)) * 16


def shared_bytes(width: int, bn: int, groups: int) -> int:
    """Shared memory that a block takes: queries, and ``bn`` keys and values a stage."""
    return 2 * width * (groups * ROWS + 2 * STAGES * bn)


@struct
class Tiles:
    """Tiles of queries, as the host counts them: divisions cost a short kernel its beginning."""

    count: Int32
    down: Int32
    """Of a head."""
    heads: Int32
    """Of all batches."""
    of_batch: Int32
    """Heads of a batch."""
    shared_by: Int32
    """Heads that have the same keys."""
    keys: Int32
    band: Int32
    """How many heads are done side by side, so that what is read of them stays in the cache."""


@kernel
def attention_hopper(
    q: TMATensorTile[Any],
    k: TMATensorTile[Any],
    v: TMATensorTile[Any],
    out: LayoutTensor[Any],
    lse: LayoutTensor[Float32],
    scale: Float32,
    diagonal: Int32,
    tiles: Tiles,
    *,
    features: Comptime[int],
    bn: Comptime[int],
    groups: Comptime[int],
):
    """A block takes tiles of 64 or 128 queries until none is left.

    Args:
        q: tiles of (batch, head, row, feature): 64 rows of 64 features.
        k: likewise, of ``bn`` rows.
        v: likewise.
        out: batch, head, row, feature.
        lse: batch, head, row: logarithms of the sums of exponentials.
        scale: of scores, above 0.
        diagonal: row ``i`` meets the keys up to ``i + diagonal``.
        tiles: those of queries, a ``Tiles``.
        features: of a head: a multiple of 8, which is filled up with zeros to 64, 128 or 256.
        bn: keys that are met at once: a multiple of 16.
        groups: warpgroups that compute: 1 or 2.
    """
    launch_bounds(128 * (groups + 1), 2 if groups == 1 else 0)
    kind, bm, width = q.tensor.element_type, groups * ROWS, filled(features)
    here_q = dynamic_shared_memory(kind, alignment=1024)
    here_k = here_q + bm * width
    here_v = here_k + STAGES * bn * width
    words = stack_allocation(UInt64, 2 + 4 * STAGES, address_space=AddressSpace.SHARED)
    of_q, of_k, of_v = pipelines(words, groups)
    begin_early()
    group, n, tiles_done, keys = warp.broadcast(Int32(thread_idx.x) // 128), UInt32(0), UInt32(0), tiles.keys
    if group == 0:
        wgmma.set_max_registers(GROUPS[groups][0], more=False)
        if thread_idx.x == 0:
            for x in (q, k, v):
                x.prefetch_descriptor()
            for tile in range(Int32(block_idx.x), tiles.count, Int32(grid_dim.x)):
                first, head, batch = place(tile, tiles, bm)
                steps = steps_of(first, keys, diagonal, bm, bn)
                fetch(q, of_q, tiles_done, here_q, (batch, head, first), (groups, ROWS), width)
                tiles_done += 1
                shared = Int32(UInt32(head) // UInt32(tiles.shared_by))
                for step in range(steps):
                    begin = (steps - 1 - step) * bn
                    for pipe, here, x in ((of_k, here_k, k), (of_v, here_v, v)):
                        fetch(x, pipe, n, here, (batch, shared, begin), (1, bn), width)
                    n += 1
    else:
        wgmma.set_max_registers(GROUPS[groups][1], more=True)
        leads, factor = thread_idx.x % 128 == 0, scale * LOG2_E
        mine = here_q + (group - 1) * (ROWS * width)
        for tile in range(Int32(block_idx.x), tiles.count, Int32(grid_dim.x)):
            first, head, batch = place(tile, tiles, bm)
            steps = steps_of(first, keys, diagonal, bm, bn)
            begin = (steps - 1) * bn
            row = first + (group - 1) * ROWS + Int32(warp_id() % 4 * 16 + lane_id() // 4)
            of_q.consumer_wait(tiles_done)
            scores = first_scores(mine, of_k, n, here_k, leads, width, bn)
            # the last tiles reach over the diagonal, and ask for each score whether it counts
            edge = steps - lesser(keys, greater(first + diagonal + 1, Int32(0))) // bn
            if edge > 0:
                scores = masked(scores, begin, row, keys, diagonal)
            most, total, _, weights = weighed(scores, (Float32(NEVER),) * 2, (Float32(0),) * 2, factor, kind)
            made = wgmma.warpgroup_zero(width)
            for step in range(1, steps):
                here_next = here_k + of_k.consumer_wait(n + 1) * (bn * width)
                scores = scored(mine, here_next, width=width, bn=bn)
                values = here_v + of_v.consumer_wait(n) * (bn * width)
                made = valued(weights, values, made)
                scores = wgmma.wgmma_wait(scores, 1)
                release(of_k, n + 1, leads)
                if step < edge:
                    scores = masked(scores, begin - step * bn, row, keys, diagonal)
                most, total, shrunk, next_weights = weighed(scores, most, total, factor, kind)
                keep_before(total, words)
                made = wgmma.wgmma_wait(made)
                release(of_v, n, leads)
                made = tuple([x * shrunk[i // 2 % 2] for i, x in enumerate(made)])
                weights = next_weights
                n += 1
            release(of_q, tiles_done, leads)
            made = last_values(weights, of_v, n, here_v, made, leads, width, bn)
            tiles_done, n = tiles_done + 1, n + 1
            finish(made, most, total, scale, out, lse, batch, head, row, out.dim(2), features=features)


def pipelines(words: Pointer[UInt64], groups: int) -> tuple[Any, Any, Any]:
    """Those of queries, keys and values."""
    first, more = Pipeline[1](words), Pipeline[STAGES]
    made = first, more(words + 2), more(words + 2 + 2 * STAGES)
    for i, pipe in enumerate(made):
        pipe.init(consumers=groups, meets=i == 2)
    return made


@func
def release(pipe: Any, n: Any, leads: Any) -> None:
    """Let a stage be filled again."""
    if leads:
        pipe.consumer_release(n)


def fetch(x: Any, pipe: Any, n: Any, to: Any, at: Any, tiles: tuple[int, int], width: int) -> None:
    """Begin to copy to a stage so many tiles beneath each other, each of so many rows of whole features."""
    (batch, head, row), (count, rows), chunks = at, tiles, width // LINE
    stage = pipe.producer_acquire(n)
    pipe.full(n).expect_bytes(count * rows * width * 2)
    for c in range(count * chunks):
        place = batch, head, row + c // chunks * rows, c % chunks * LINE
        x.async_copy(to + (stage * chunks + c) * (rows * LINE), pipe.full(n), place)


@func
def place(tile: Int32, tiles: Tiles, bm: Comptime[int]) -> tuple[Int32, Int32, Int32]:
    """First row, head and batch of a tile, of those side by side the later rows first."""
    one, down, band = UInt32(tile), UInt32(tiles.down), UInt32(tiles.band)
    bands = one // (down * band)
    among = one - bands * (down * band)
    across = lesser(band, UInt32(tiles.heads) - bands * band)
    line = among // across
    pair = bands * band + (among - line * across)
    batch = pair // UInt32(tiles.of_batch)
    return Int32(down - 1 - line) * bm, Int32(pair - batch * UInt32(tiles.of_batch)), Int32(batch)


@func
def steps_of(first: Int32, keys: Int32, diagonal: Int32, bm: Comptime[int], bn: Comptime[int]) -> Int32:
    """How many tiles of keys a tile of queries meets: one at least."""
    return greater((lesser(keys, first + bm + diagonal) + (bn - 1)) // bn, Int32(1))


def keep_before(total: Any, words: Pointer[UInt64]) -> None:
    """Have the assembler leave the exponentials before what follows, which waits for products.

    It would wait first and compute then. A store that never happens, as no sum is below 0, needs their sum.
    """
    if current_target().supports(Feature.NVVM):
        text = "{ .reg .pred p; setp.lt.f32 p, $1, 0f00000000; @p st.volatile.shared.f32 [$0], $1; }"
        for x in total:
            inline_asm(text, None, UInt32(Int(words)), x, constraints="r,f", effects="write")


def scored(q: Pointer[Any], k: Pointer[Any], width: int, bn: int) -> tuple[Float32, ...]:
    """Begin the product of this warpgroup's queries with a tile of keys."""
    scores: Any = wgmma.warpgroup_zero(bn)
    for c in range(width // LINE):
        scores = wgmma.wgmma_async(q + c * PIECE, k + c * (bn * LINE), scores, wait=None)
    return scores


def first_scores(q: Any, pipe: Any, n: Any, keys: Any, leads: Any, width: int, bn: int) -> Any:
    """The products with a stage of keys, which is let go."""
    here = keys + pipe.consumer_wait(n) * (bn * width)
    scores = wgmma.wgmma_wait(scored(q, here, width=width, bn=bn))
    release(pipe, n, leads)
    return scores


def last_values(
    weights: Any, pipe: Any, n: Any, values: Any, made: Any, leads: Any, width: int, bn: int
) -> Any:
    """The sums with a stage of values, which is let go."""
    here = values + pipe.consumer_wait(n) * (bn * width)
    made = wgmma.wgmma_wait(valued(weights, here, made))
    release(pipe, n, leads)
    return made


def valued(weights: tuple[Any, ...], values: Pointer[Any], made: tuple[Float32, ...]) -> tuple[Float32, ...]:
    """Begin to add the values that exponentials weigh."""
    return wgmma.wgmma_async(weights, values, made, wait=None, b_major="n")


def masked(scores: tuple[Any, ...], begin: Any, row: Any, keys: Any, diagonal: Any) -> Any:
    """The scores, of which those count not that are beyond the last key or behind the diagonal."""
    column = begin + 2 * Int32(lane_id() % 4)
    limits = [lesser(keys, row + 8 * half + diagonal + 1) - column for half in range(2)]
    return tuple(
        [(limits[i // 2 % 2] > i // 4 * 8 + i % 2).select(x, Float32(NEVER)) for i, x in enumerate(scores)]
    )


def pair(x: Any, y: Any) -> Any:
    """Two neighbours as a vector."""
    return number_class(Float32.dtype, 2)(x, y)


def mine(numbers: Any, half: int) -> list[Any]:
    """This thread's numbers of one of its two rows."""
    return [x for i, x in enumerate(numbers) if i // 2 % 2 == half]


def joined(join: Callable[[Any, Any], Any], numbers: list[Any]) -> Any:
    """Numbers as one, by ``CHAINS`` that do not wait for each other."""
    found = numbers[:CHAINS]
    for i, x in enumerate(numbers[CHAINS:]):
        found[i % CHAINS] = join(found[i % CHAINS], x)
    while len(found) > 1:
        found = [join(found[i], found[i + 1]) for i in range(0, len(found), 2)]
    return found[0]


def weighed(
    scores: tuple[Any, ...], most: Any, total: Any, factor: Any, kind: Any
) -> tuple[Any, Any, Any, Any]:
    """The greatest scores so far, the sums, what sums shrink by, and exponentials as fragments."""
    above, totals, shrunk, lower = list[Any](), list[Any](), list[Any](), list[Any]()
    for half in range(2):
        found = warp.max(joined(greater, [most[half], *mine(scores, half)]), width=4)
        base = (found > NEVER).select(found, Float32(0))  # of no score that counts
        above.append(found)
        lower.append(base * factor)
        shrunk.append(exp2((most[half] - base) * factor))
    weights = [exp2(fma(x, factor, -lower[i // 2 % 2])) for i, x in enumerate(scores)]
    for half in range(2):
        totals.append(joined(add, [total[half] * shrunk[half], *mine(weights, half)]))
    eight = number_class(Float32.dtype, 8)
    parts = [eight(*weights[i : i + 8]).cast(kind) for i in range(0, len(weights), 8)]
    return tuple(above), tuple(totals), tuple(shrunk), tuple(parts)


@func
def finish(
    made: Any,
    most: Any,
    total: Any,
    scale: Float32,
    out: LayoutTensor[Any],
    lse: LayoutTensor[Float32],
    batch: Int32,
    head: Int32,
    row: Int32,
    rows: Int,
    *,
    features: Comptime[int] = 0,
) -> None:
    """Divide by the sums, and write what there is of this thread's two rows, of so many features if known."""
    kind, lane = out.element_type, lane_id() % 4
    for half in unroll(range(2)):
        at, summed = row + 8 * half, warp.sum(total[half], width=4)
        share = (summed > 0.0).select(1.0 / summed, Float32(0))
        some = [(pair(made[i], made[i + 1]) * share).cast(kind) for i in range(2 * half, len(made), 4)]
        if kind.dtype.itemsize == 2:  # whose pairs are not whole sectors of memory: four lanes' are
            chunks = [whole([x.bitcast(UInt32) for x in some[j : j + 4]]) for j in range(0, len(some), 4)]
            some = [x.bitcast(number_class(kind.dtype, 8)) for x in chunks]
        if at < rows:
            each = some[0].lanes
            to = out.address(batch, head, at, each * lane)
            for j, numbers in unroll(enumerate(some)):
                if 4 * each * (j + 1) <= features or each * (4 * j + lane) < (features or out.dim(3)):
                    to.store(4 * each * j, numbers, alignment=each * kind.dtype.itemsize)
            if lane == 0:
                lse[batch, head, at] = most[half] * scale + log2(summed) * LN2
