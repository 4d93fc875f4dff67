"""Attention by tiles of shared memory and no tensor cores: any type of floats.

Algorithm: FlashAttention-2 (Dao 2023, arXiv:2307.08691). A block has some rows of queries and goes through
the keys tile by tile; of each row it keeps the greatest score, the sum of exponentials and the weighted sum
of values, and scales the last two when the first one grows.
"""

from __future__ import annotations

from typing import Any, cast

from weft.gpu import (
    barrier,
    block_dim,
    block_idx,
    launch_bounds,
    launch_dependent_grids,
    thread_idx,
    wait_on_dependent_grids,
    warp,
)
from weft.lang import Comptime, func, kernel, unroll
from weft.lang.number import number_class
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float32, Float64, Int, Int32
from weft.layout import LayoutTensor
from weft.math import log2
from weft.math import max as greater
from weft.math import min as lesser
from weft.math.machine import exp2
from weft.memory import dynamic_shared_memory

ACROSS = 8
"""Threads that have a row of queries together: neighbours in a warp."""
DOWN = 16
"""Rows of threads."""
LOG2_E = 1.4426950408889634
NEVER = float("-inf")


def sums_of(x: Any) -> Any:
    """The type that sums are of."""
    return Float64 if x.dtype.bits == 64 else Float32


def multiplied(
    left: tuple[Any, ...], keys: Any, first: Any, line: int, at: Any, sums: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Each sum with the product of some features of a row and of a key; keys are ``ACROSS`` lines apart."""
    made: list[Any] = []
    for j in range(len(sums) // len(left)):
        place = (first + ACROSS * j) * line + at
        right = keys.load(place, width=left[0].lanes).cast(left[0].dtype)
        for x, found in zip(left, sums[j * len(left) :], strict=False):
            for w in range(right.lanes):
                found = x[w] * right[w] + found
            made.append(found)
    return tuple(made)


def weighed(scores: tuple[Any, ...], most: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """The greatest score so far, what sums shrink by, and the exponentials of this thread's scores."""
    above = scores[0]
    for x in scores[1:]:
        above = greater(above, x)
    above = greater(most, warp.max(above, width=ACROSS))
    base = (above > NEVER).select(above, type(above)(0))
    return above, exp2(most - base), tuple([exp2(x - base) for x in scores])


def sum_of(numbers: tuple[Any, ...]) -> Any:
    """From left to right."""
    found = numbers[0]
    for x in numbers[1:]:
        found = found + x
    return found


def put(numbers: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    """The same with another number in a place."""
    return (*numbers[:at], value, *numbers[at + 1 :])


@func
def count_of(lengths: Any, batch: Any, most: Any) -> Int:
    """How many keys a sequence has: of a tensor of lengths, if there is one."""
    if not isinstance(lengths, LayoutTensor):
        return Int(most)
    count = Int(cast("LayoutTensor[Int32]", lengths)[batch,])
    assert 0 <= count <= most, "decode_attention: a length is below 0, or more than there are keys"
    return greater(lesser(count, Int(most)), Int(0))


@func
def page_of(table: Any, batch: Any, number: Any, pages: Any) -> Int32:
    """Which page of the cache a sequence's page is."""
    page = cast("LayoutTensor[Int32]", table)[batch, number]
    assert 0 <= page < pages, "decode_attention: page_table names a page that is not there"
    return greater(lesser(page, Int32(pages) - 1), Int32(0))


@func
def fetch(
    to: Pointer[Any],
    x: LayoutTensor[Any],
    table: Any,
    batch: Int,
    head: Int,
    first: Int,
    end: Int,
    *,
    count: Comptime[int],
    width: Comptime[int],
) -> None:
    """Copy rows to shared memory, with zeros for what is none; ``table`` says in which page they are."""
    each = 16 // x.dtype.itemsize
    pieces = width // each
    for n in range(thread_idx.x, count * pieces, ACROSS * DOWN):
        row, d = n // pieces, n % pieces * each
        held = number_class(x.dtype, each)(0)
        at, among = batch, first + row
        if among < end:
            if isinstance(table, LayoutTensor):
                at, among = Int(page_of(table, batch, among // x.dim(2), x.dim(0))), among % x.dim(2)
            for w in unroll(range(each)):
                if d + w < x.dim(3):
                    held[w] = x[at, head, among, d + w]
        to.store(row * (width + each) + d, held, alignment=16)


@kernel
def attention_tiles(
    q: LayoutTensor[Any],
    k: LayoutTensor[Any],
    v: LayoutTensor[Any],
    out: LayoutTensor[Any],
    lse: LayoutTensor[Any],
    lengths: Any,
    table: Any,
    scale: Float64,
    diagonal: Int,
    keys: Int,
    part: Int,
    *,
    rows: Comptime[int],
    cols: Comptime[int],
    width: Comptime[int],
):
    """Of ``DOWN * rows`` queries a block, ``ACROSS * cols`` keys at once.

    Args:
        q: batch, head, row, feature.
        k: batch or page, head, row, feature.
        v: likewise.
        out: part of the keys and batch in one, head, row, feature.
        lse: part and batch, head, row: logarithms of the sums of exponentials.
        lengths: a tensor that has how many keys each batch has; else None.
        table: a tensor of the pages of each batch; else None.
        scale: of scores.
        diagonal: row ``i`` meets the keys up to ``i + diagonal``.
        keys: how many there are at most.
        part: how many of them are a part: a multiple of ``ACROSS * cols``.
        rows: of a thread.
        cols: of a thread.
        width: the features, filled up with zeros to a multiple of 16 bytes for each of the threads of a row.
    """
    launch_bounds(ACROSS * DOWN)
    launch_dependent_grids()  # which join the parts
    kind, number = q.element_type, sums_of(q)
    each = 16 // q.dtype.itemsize
    bm, bn, line, per = DOWN * rows, ACROSS * cols, width + each, width // (ACROSS * each)
    here_q = dynamic_shared_memory(kind, alignment=16)
    here_k = here_q + bm * line
    here_v = here_k + bn * line
    here_p = (here_v + bn * line).bitcast(number)
    across, down = thread_idx.x % ACROSS, thread_idx.x // ACROSS * rows
    first, head, batch = block_idx.x * bm, block_idx.y, block_idx.z % q.dim(0)
    kv_head, skipped = head // (q.dim(1) // k.dim(1)), block_idx.z // q.dim(0) * part
    end = lesser(count_of(lengths, batch, keys), skipped + part)
    last = lesser(end, first + bm + diagonal)
    factor = (scale * LOG2_E).cast(number)
    fetch(here_q, q, None, batch, head, first, q.dim(2), count=bm, width=width)
    made = tuple([number_class(number.dtype, each)(0)] * (rows * per))
    most, total = (number(NEVER),) * rows, (number(0),) * rows
    for begin in range(skipped, last, bn):
        barrier()
        fetch(here_k, k, table, batch, kv_head, begin, end, count=bn, width=width)
        fetch(here_v, v, table, batch, kv_head, begin, end, count=bn, width=width)
        barrier()
        scores = (number(0),) * (rows * cols)
        for d in range(0, width, each):
            left = tuple([here_q.load((down + i) * line + d, width=each).cast(number) for i in range(rows)])
            scores = multiplied(left, here_k, across, line, d, scores)
        for i in unroll(range(rows)):
            limit = lesser(end, first + down + i + diagonal + 1)
            masked = tuple(
                [
                    (begin + across + ACROSS * j < limit).select(scores[j * rows + i] * factor, number(NEVER))
                    for j in range(cols)
                ]
            )
            above, shrunk, weights = weighed(masked, most[i])
            for j in unroll(range(cols)):
                here_p[(down + i) * (bn + 1) + across + ACROSS * j] = weights[j]
            total = put(total, i, total[i] * shrunk + sum_of(weights))
            most = put(most, i, above)
            made = tuple([x * shrunk if n // per == i else x for n, x in enumerate(made)])
        warp.syncwarp()
        for key in range(bn):
            at = key * line + across * each
            values = tuple([here_v.load(at + ACROSS * each * n, width=each).cast(number) for n in range(per)])
            by = tuple([here_p[(down + i) * (bn + 1) + key] for i in range(rows)])
            made = tuple([made[i * per + n] + values[n] * by[i] for i in range(rows) for n in range(per)])
    place = block_idx.z, head, first + down, across
    _finish(made, most, total, out, lse, place, q.dim(2), v.dim(3), each=each)


@func
def _finish(
    made: Any,
    most: Any,
    total: Any,
    out: LayoutTensor[Any],
    lse: LayoutTensor[Any],
    place: Any,
    lines: Any,
    features: Any,
    *,
    each: Comptime[int],
) -> None:
    """Divide by the sums, and write what there is of a thread's rows."""
    z, head, first, across = place
    rows, per = len(total), len(made) // len(total)
    for i in unroll(range(rows)):
        row = first + i
        whole = warp.sum(total[i], width=ACROSS)
        if row < lines:
            share = (whole > 0.0).select(1.0 / whole, type(whole)(0))
            for n in unroll(range(per)):
                for w in unroll(range(each)):
                    d = (across + ACROSS * n) * each + w
                    if d < features:
                        out[z, head, row, d] = (made[i * per + n][w] * share).cast(out.element_type)
            if across == 0:
                lse[z, head, row] = (most[i] + log2(whole)) / LOG2_E


@kernel
def combine(
    parts: LayoutTensor[Any],
    parts_lse: LayoutTensor[Any],
    out: LayoutTensor[Any],
    lse: LayoutTensor[Any],
    *,
    each: Comptime[int],
):
    """Attention to all keys from that to parts of them: a block for a row, a thread for some features.

    Args:
        parts: part and batch in one, head, row, feature.
        parts_lse: part and batch, head, row.
        out: batch, head, row, feature.
        lse: batch, head, row.
        each: parts that are read at once.
    """
    row, head, batch = block_idx.x, block_idx.y, block_idx.z
    number, batches = parts.element_type, out.dim(0)
    wait_on_dependent_grids()
    count = parts.dim(0) // batches
    weights = dynamic_shared_memory(number, alignment=16)
    most = number(NEVER)
    for part in range(thread_idx.x % warp.WARP_SIZE, count, warp.WARP_SIZE):
        most = greater(most, parts_lse[part * batches + batch, head, row])
    most = warp.max(most)
    base, total = (most > NEVER).select(most, number(0)), number(0)
    for part in range(thread_idx.x % warp.WARP_SIZE, count, warp.WARP_SIZE):
        weight = exp2((parts_lse[part * batches + batch, head, row] - base) * LOG2_E)
        weights[part] = weight  # by each warp the same
        total += weight
    total = warp.sum(total)
    barrier()
    share = (total > 0.0).select(1.0 / total, number(0))
    for d in range(thread_idx.x, out.dim(3), block_dim.x):
        made = number(0)
        for first in range(0, count, each):
            at = tuple([lesser(first + n, count - 1) for n in range(each)])
            some = tuple([parts[n * batches + batch, head, row, d] for n in at])
            for n in unroll(range(each)):
                if first + n < count:
                    made += some[n] * weights[first + n]
        out[batch, head, row, d] = (made * share).cast(out.element_type)
    if thread_idx.x == 0:
        lse[batch, head, row] = base + log2(total) / LOG2_E
