"""Attention of few queries to a long cache, by the tensor cores of Hopper, of Float16 and BFloat16.

Algorithm: Flash-Decoding (Dao, Haziza, Massa, Sizov 2023), with what FlashAttention-3 does for it: the heads
that share keys are the rows of one product. A block goes through its part of the keys; one thread has the
hardware copy pages into stages of shared memory, and one warpgroup computes. What bounds it is how fast keys
and values are read: most rows of the products are empty.
"""

from __future__ import annotations

from typing import Any

from weft.gpu import (
    block_idx,
    lane_id,
    launch_bounds,
    launch_dependent_grids,
    thread_idx,
    warp_id,
    wgmma,
)
from weft.gpu.mbarrier import SharedMemBarrier
from weft.gpu.pipeline import Pipeline
from weft.gpu.sync import named_barrier
from weft.kernels.flash.hopper import LINE, PIECE, ROWS, finish, masked, scored, valued, weighed
from weft.kernels.flash.tiles import LOG2_E, NEVER, count_of, page_of
from weft.lang import Comptime, func, kernel, unroll
from weft.lang.number import number_class
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Float32, Int32, UInt32, UInt64
from weft.layout import LayoutTensor
from weft.layout.tma_async import TMATensorTile
from weft.math import min as lesser
from weft.memory import dynamic_shared_memory, stack_allocation

STAGES = {64: 3, 128: 3, 256: 2}
"""By features."""
KEYS = 64
"""Of a stage."""


def shared_bytes(width: int) -> int:
    """Shared memory that a block takes: queries, keys and values."""
    return 2 * width * (ROWS + 2 * STAGES[width] * KEYS)


@kernel
def decoding_hopper(
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
):
    """A block for each part, head of the keys and batch; its rows are up to 64 heads of ``q``.

    Args:
        q: batch, head of the keys, row, feature.
        k: tiles of (batch or page, head, row, feature): as many rows as a page has, or ``KEYS``; 64 features.
        v: likewise.
        out: part and batch in one, head, row, feature.
        lse: part and batch, head, row.
        lengths: a tensor that has how many keys each batch has; else None.
        table: a tensor of the pages of each batch; else None.
        scale: of scores.
        keys: how many there are at most.
        part: how many of them a block goes through: a multiple of ``KEYS``.
        width: the features, filled up with zeros: 64, 128 or 256.
    """
    launch_bounds(256)
    launch_dependent_grids()  # which join the parts
    kind, stages = k.tensor.element_type, STAGES[width]
    here_q = dynamic_shared_memory(kind, alignment=1024)
    here_k = here_q + ROWS * width
    here_v = here_k + stages * KEYS * width
    words = stack_allocation(UInt64, 4 * stages + 1, address_space=AddressSpace.SHARED)
    cleared = SharedMemBarrier(words + 4 * stages)
    of_k, of_v = Pipeline[stages](words), Pipeline[stages](words + 2 * stages)
    if thread_idx.x == 0:
        cleared.init(128)
    of_k.init(meets=False)
    of_v.init()
    head, batch = Int32(block_idx.y), Int32(block_idx.z)
    begin, end, steps = part_of(lengths, batch, keys, part)
    if thread_idx.x >= 128:
        if thread_idx.x == 128:
            pipes, memory, span = (of_k, of_v), (here_k, here_v), (begin, end, steps)
            bring(k, v, pipes, memory, (batch, head), span, table, width=width)
    else:
        fetch_queries(here_q, q, batch, head, width=width)
        leads, row = thread_idx.x == 0, Int32(warp_id() % 4 * 16 + lane_id() // 4)
        factor = scale * LOG2_E
        most, total = (Float32(NEVER), Float32(NEVER)), (Float32(0), Float32(0))
        made = wgmma.warpgroup_zero(width)
        for step in range(steps):
            n, first = UInt32(step), begin + step * KEYS
            scores = scored(here_q, here_k + of_k.consumer_wait(n) * (KEYS * width), width=width, bn=KEYS)
            made, scores = wgmma.wgmma_wait(made), wgmma.wgmma_wait(scores)
            if leads:
                of_k.consumer_release(n)
                if step > 0:
                    of_v.consumer_release(n - 1)
            last = first + KEYS > end
            if last:
                scores = masked(scores, first, row, end, end)
            most, total, shrunk, weights = weighed(scores, most, total, factor, kind)
            made = tuple([x * shrunk[i // 2 % 2] for i, x in enumerate(made)])
            values = here_v + of_v.consumer_wait(n) * (KEYS * width)
            if last:
                clear(values, end - first, width=width)
                cleared.arrive()
                cleared.wait(0)
            made = valued(weights, values, made)
        made = wgmma.wgmma_wait(made)
        at = Int32(block_idx.x) * Int32(q.dim(0)) + batch
        finish(made, most, total, scale, out, lse, at, head, row, out.dim(2))


def part_of(lengths: Any, batch: Any, keys: Any, part: Any) -> tuple[Any, Any, Any]:
    """Where a block's part of the keys begins and ends, and how many stages that is."""
    begin = Int32(block_idx.x) * part
    end = lesser(count_of(lengths, batch, keys).cast(Int32), begin + part)
    return begin, end, lesser((part + (KEYS - 1)) // KEYS, (end - begin + (KEYS - 1)) // KEYS)


@func
def bring(
    k: TMATensorTile[Any],
    v: TMATensorTile[Any],
    pipes: Any,
    memory: Any,
    of: tuple[Int32, Int32],
    span: Any,
    table: Any,
    *,
    width: Comptime[int],
) -> None:
    """One thread has the hardware copy keys and values, stage by stage: as many rows at once as a box has."""
    (batch, head), (begin, end, steps) = of, span
    rows, page = k.box[2], Int32(k.tensor.dim(2))
    k.prefetch_descriptor()
    v.prefetch_descriptor()
    for step in range(steps):
        first, n = begin + step * KEYS, UInt32(step)
        pieces = lesser((end - first + (rows - 1)) // rows, Int32(KEYS // rows))
        for pipe, here, x in zip(pipes, memory, (k, v), strict=True):
            to = here + pipe.producer_acquire(n) * (KEYS * width)
            pipe.full(n).expect_bytes(pieces * (rows * width * 2))
            for piece in range(pieces):
                row = first + piece * rows
                at = (batch, head, row)
                if isinstance(table, LayoutTensor):
                    at = (page_of(table, batch, row // page, k.tensor.dim(0)), head, row % page)
                for c in range(width // LINE):
                    place = to + piece * (rows * LINE) + c * (KEYS * LINE)
                    x.async_copy(place, pipe.full(n), (*at, c * LINE))


@func
def fetch_queries(
    to: Pointer[Any], q: LayoutTensor[Any], batch: Int32, head: Int32, *, width: Comptime[int]
) -> None:
    """Copy the rows of queries, and zeros for what is none, by the warpgroup that multiplies."""
    each = 16 // q.dtype.itemsize
    for i in range(thread_idx.x, ROWS * width // each, 128):
        row, d = i * each // width, i * each % width
        held = number_class(q.dtype, each)(0)
        if row < q.dim(2) and d < q.dim(3):
            held = q.address(batch, head, row, d).load(width=each, alignment=16)
        to.store(d // LINE * PIECE + wgmma.swizzled(q.dtype, row, d % LINE), held, alignment=16)
    wgmma.async_proxy_fence()
    named_barrier(1, 128)


@func
def clear(values: Pointer[Any], count: Int32, *, width: Comptime[int]) -> None:
    """Zero for the values from a row on, which may be no numbers."""
    for i in range(count * LINE + Int32(thread_idx.x), KEYS * LINE, 128):
        for c in unroll(range(width // LINE)):
            values[c * (KEYS * LINE) + i] = 0.0
    wgmma.async_proxy_fence()
