"""Attention of up to 16 queries to a long cache: each warp has keys of its own, and waits for no other.

Algorithm: Flash-Decoding (Dao, Haziza, Massa, Sizov 2023), also within a block: a warp goes through 16 keys
of each of its stages by products of 16 rows, keeps its own greatest scores and sums, and joins the others at
the end; where parts are few, so do the blocks of a cluster. The hardware copies keys and values.
"""

from __future__ import annotations

from typing import Any

from weft.gpu import (
    barrier,
    block_idx,
    block_rank_in_cluster,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    lane_id,
    launch_bounds,
    launch_dependent_grids,
    map_shared_rank,
    thread_idx,
    warp,
    warp_id,
    wgmma,
)
from weft.gpu.mma import ld_matrix, mma
from weft.gpu.pipeline import Pipeline
from weft.gpu.sync import named_barrier
from weft.kernels.flash.decoding import KEYS, bring, part_of
from weft.kernels.flash.hopper import LINE, finish, masked, weighed
from weft.kernels.flash.tiles import LOG2_E, NEVER
from weft.lang import Comptime, func, kernel, unroll
from weft.lang.number import number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int, Int32, UInt32, UInt64
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.math import log2
from weft.math import max as greater
from weft.math import min as lesser
from weft.math.machine import exp2
from weft.memory import dynamic_shared_memory, stack_allocation

ROWS, WIDEST = 16, 128
"""Of a product, which are queries at most; and features that registers have room for."""
OWN = 16
"""Keys of a stage that a warp has."""
WARPS = 8
"""That compute; another one copies."""
SIDES = WARPS * OWN // KEYS
"""Stages that are used at the same time."""
THREADS = 32 * (WARPS + 1)
STAGES = 6


def shared_bytes(width: int) -> int:
    """Shared memory that a block takes: keys and values, in whose place the warps' parts come."""
    return 4 * width * STAGES * KEYS


@kernel
def decoding_warps(
    q: LayoutTensor[Any],
    k: TMATensorTile[Any],
    v: TMATensorTile[Any],
    out: LayoutTensor[Any],
    lse: LayoutTensor[Float32],
    lengths: Any,
    table: Any,
    scale: Float32,
    keys: Int32,
    part: Int32,
    *,
    width: Comptime[int],
    blocks: Comptime[int],
):
    """A block for each part, head of the keys and batch; its rows are up to 16 heads of ``q``.

    Args:
        q: batch, head of the keys, row, feature.
        k: tiles of (batch or page, head, row, feature): as many rows as a page has, or ``KEYS``; 64 features.
        v: likewise.
        out: cluster of a sequence and batch in one, head, row, feature.
        lse: cluster and batch, head, row.
        lengths: a tensor that has how many keys each batch has; else None.
        table: a tensor of the pages of each batch; else None.
        scale: of scores.
        keys: how many there are at most.
        part: how many of them a block goes through: a multiple of ``KEYS``.
        width: the features, filled up with zeros: 64 or 128.
        blocks: of a cluster, which join their parts.
    """
    launch_bounds(THREADS)
    launch_dependent_grids()  # which join what clusters made
    here_k = dynamic_shared_memory(k.tensor.element_type, alignment=1024)
    here_v = here_k + STAGES * KEYS * width
    words = stack_allocation(UInt64, 4 * STAGES, address_space=AddressSpace.SHARED)
    of_k, of_v = Pipeline[STAGES](words), Pipeline[STAGES](words + 2 * STAGES)
    of_k.init(consumers=WARPS // SIDES, meets=False)
    of_v.init(consumers=WARPS // SIDES)
    own, logs = parts_at(here_k.bitcast(Float32), width)
    head, batch = Int32(block_idx.y), Int32(block_idx.z)
    begin, end, steps = part_of(lengths, batch, keys, part)
    if warp_id() == WARPS:
        if lane_id() == 0:
            pipes, memory, span = (of_k, of_v), (here_k, here_v), (begin, end, steps)
            bring(k, v, pipes, memory, (batch, head), span, table, width=width)
        warp.syncwarp()
    else:
        queries = tuple([fragment(q, batch, head, Int(c)) for c in range(width // 16)])
        mine = Int32(warp_id()) % (WARPS // SIDES) * OWN
        most, total = (Float32(NEVER), Float32(NEVER)), (Float32(0), Float32(0))
        made = (Float32.splat(4, 0.0),) * (width // 8)
        for step in range(Int32(warp_id()) // (WARPS // SIDES), steps, SIDES):
            n, first = UInt32(step), begin + step * KEYS + mine
            scores = scored(queries, here_k + of_k.consumer_wait(n) * (KEYS * width), mine)
            release(of_k, n)
            if first + OWN > end:
                scores = masked(scores, first, Int32(0), end, end)
            most, total, shrunk, weights = weighed(scores, most, total, scale * LOG2_E, k.tensor.element_type)
            by = number_class(Float32.dtype, 4)(shrunk[0], shrunk[0], shrunk[1], shrunk[1])
            values = here_v + of_v.consumer_wait(n) * (KEYS * width)
            if first + OWN > end:
                clear(values, mine, end - first, width=width)
            made = valued(weights[0], values, mine, tuple([x * by for x in made]))
            release(of_v, n)
        named_barrier(1, 32 * WARPS)  # all is read, in whose place the parts come
        flat = tuple([x[i] for x in made for i in range(4)])
        finish(
            flat, most, total, scale, own, logs, Int32(warp_id()), Int32(0), Int32(lane_id() // 4), q.dim(2)
        )
    at = Int32(block_idx.x // blocks) * Int32(q.dim(0)) + batch
    join(own, logs, out, lse, at, head, blocks=blocks, width=width)


def parts_at(start: Any, width: int) -> tuple[Any, Any]:
    """The parts of the warps, and the logarithms of their sums, behind which the block's come."""
    own = Layout.row_major(WARPS, 1, ROWS, width).tensor(start)
    return own, Layout.row_major(WARPS + 1, 1, ROWS).tensor(start + WARPS * ROWS * width)


@func
def fragment(q: LayoutTensor[Any], batch: Int32, head: Int32, c: Int) -> Any:
    """Of 16 features of all rows what a lane has for a product; what is none is the last one again."""
    each, row, column = q.dtype.itemsize, lane_id() // 4, c * 16 + lane_id() % 4 * 2
    starts = [q.address(batch, head, lesser(row + 8 * half, q.dim(2) - 1), 0) for half in range(2)]
    columns = [lesser(column + 8 * half, q.dim(3) - 2) for half in range(2)]  # where keys have 0
    pairs = [starts[i % 2].load(columns[i // 2], width=2, alignment=2 * each) for i in range(4)]
    return number_class(q.dtype, 8)(*[x[i] for x in pairs for i in range(2)])


@func
def scored(queries: Any, stage: Pointer[Any], mine: Int32) -> Any:
    """The scores of a warp's keys: of a lane's two rows by turns two and two."""
    zero = Float32.splat(4, 0.0)
    left, right, lane = zero, zero, Int32(lane_id())
    row = mine + lane % 8 + lane // 16 * 8
    for c, x in enumerate(queries):
        pair = ld_matrix(stage + place(stage, row, c * 16 + lane // 8 % 2 * 8), 8)
        left, right = mma(x, pair.slice(4, offset=0), left), mma(x, pair.slice(4, offset=4), right)
    return tuple([x[i] for x in (left, right) for i in range(4)])


@func
def valued(weights: Any, stage: Pointer[Any], mine: Int32, made: Any) -> Any:
    """The sums with a warp's values, as much as they weigh."""
    found, lane = list[Any](), Int32(lane_id())
    for c in unroll(range(len(made) // 2)):
        at = place(stage, mine + lane % 16, c * 16 + lane // 16 * 8)
        pair = ld_matrix(stage + at, 8, transpose=True)
        for i in unroll(range(2)):
            found.append(mma(weights, pair.slice(4, offset=4 * i), made[2 * c + i]))
    return tuple(found)


def place(stage: Any, row: Any, column: Any) -> Any:
    """Where a stage has an element: 64 features after the other, whose rows are swizzled."""
    return column // LINE * (KEYS * LINE) + wgmma.swizzled(stage.dtype, row, column % LINE)


@func
def release(pipe: Any, n: UInt32) -> None:
    """Let a stage be filled again, as far as this warp goes."""
    warp.syncwarp()
    if lane_id() == 0:
        pipe.consumer_release(n)


@func
def clear(stage: Pointer[Any], mine: Int32, count: Int32, *, width: Comptime[int]) -> None:
    """Zero for a warp's values from a row on, which may be no numbers."""
    for i in range(greater(count, Int32(0)) * LINE + lane_id(), OWN * LINE, 32):
        for c in unroll(range(width // LINE)):
            stage[c * (KEYS * LINE) + mine * LINE + i] = 0.0
    warp.syncwarp()


@func
def join(
    own: Any,
    logs: Any,
    out: LayoutTensor[Any],
    lse: LayoutTensor[Float32],
    at: Int32,
    head: Int32,
    *,
    blocks: Comptime[int],
    width: Comptime[int],
) -> None:
    """Attention to all keys from that to the parts of a block's warps, and then of a cluster's blocks."""
    barrier()
    count = out.dim(2) * width
    for i in range(thread_idx.x, count, THREADS):
        row, d = i // width, i % width
        parts = [own[w, 0, row, d] for w in range(WARPS)]
        found, log = joined(parts, [logs[w, 0, row] for w in range(WARPS)])
        if blocks > 1:
            own[0, 0, row, d], logs[WARPS, 0, row] = found, log
        else:
            put(out, lse, (at, head, row, d), found, log)
    if blocks > 1:
        cluster_sync()
        first, step = block_rank_in_cluster() * THREADS + thread_idx.x, blocks * THREADS
        mine = [first + n * step for n in range(-(-ROWS * width // step))]
        results = [over_cluster(own, logs, lesser(i, count - 1), blocks, width) for i in mine]
        cluster_arrive()  # no block ends while another reads its memory
        for i, (found, log) in zip(mine, results, strict=True):
            if i < count:
                put(out, lse, (at, head, i // width, i % width), found, log)
        cluster_wait()


def over_cluster(own: Any, logs: Any, i: Any, blocks: int, width: int) -> tuple[Any, Any]:
    """An element from the parts of a cluster's blocks."""
    row, d = i // width, i % width
    parts: list[Any] = [map_shared_rank(own, n)[0, 0, row, d] for n in range(blocks)]
    return joined(parts, [map_shared_rank(logs, n)[WARPS, 0, row] for n in range(blocks)])


def joined(parts: list[Any], logs: list[Any]) -> tuple[Any, Any]:
    """An element of the result, and the logarithm of its row's sum, from those of parts."""
    most = logs[0]
    for x in logs[1:]:
        most = greater(most, x)
    base, total, made = (most > NEVER).select(most, Float32(0)), Float32(0), Float32(0)
    for part, x in zip(parts, logs, strict=True):
        weight = exp2((x - base) * LOG2_E)
        total += weight
        made += part * weight
    return made * (total > 0.0).select(1.0 / total, Float32(0)), base + log2(total) / LOG2_E


@func
def put(out: LayoutTensor[Any], lse: LayoutTensor[Float32], place: Any, found: Float32, log: Float32) -> None:
    """Write an element, and by the first of a row also the logarithm."""
    at, head, row, d = place
    if d < out.dim(3):
        out[at, head, row, d] = found.cast(out.element_type)
    if d == 0:
        lse[at, head, row] = log
