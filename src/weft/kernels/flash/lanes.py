"""Attention on a CPU: a thread has some rows of queries, and vectors have features, or keys.

Algorithm: FlashAttention-2, as ``weft.kernels.flash.tiles`` has it. Features that no whole vector has are in
a last vector that begins among those before, where the queries have zeros.
"""

from __future__ import annotations

from typing import Any

from weft.gpu import block_idx
from weft.kernels.flash.tiles import LOG2_E, NEVER, count_of, page_of, sums_of
from weft.kernels.row_memory import by_pairs, load, type_of
from weft.lang import Comptime, func, iota, kernel, unroll
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float64, Int
from weft.math import exp2, log2
from weft.math import max as greater
from weft.math import min as lesser
from weft.memory import stack_allocation

KEYS, LANES, ROWS = 64, 16, 4
"""Keys at once; elements of vectors; rows whose sums are in registers together."""


@kernel
def attention_lanes(
    q: Pointer[Any],
    q_steps: Any,
    k: Pointer[Any],
    k_steps: Any,
    v: Pointer[Any],
    v_steps: Any,
    out: Pointer[Any],
    out_steps: Any,
    lse: Pointer[Any],
    lse_steps: Any,
    pages: Any,
    lengths: Any,
    table: Any,
    shape: Any,
    scale: Float64,
    diagonal: Int,
    keys: Int,
    part: Int,
    *,
    rows: Comptime[int],
    width: Comptime[int],
):
    """Of ``rows`` queries a block. What else is given is as of ``attention_tiles``.

    ``q``, ``k`` and ``v`` have their features side by side; their steps are of batches, heads and rows. There
    are ``pages`` so many, of so many rows; ``shape`` is batches, rows, and heads that share keys.
    """
    number, lanes, each = sums_of(q), min(LANES, 1 << width.bit_length() - 1), min(ROWS, rows)
    ats = [min(c * lanes, width - lanes) for c in range(-(-width // lanes))]
    (batches, lines, shared), vector = shape, type_of(number.splat(lanes, 0))
    first, head, batch = block_idx.x * rows, block_idx.y, block_idx.z % batches
    skipped = block_idx.z // batches * part
    end = lesser(count_of(lengths, batch, keys), skipped + part)
    factor, whole = (scale * LOG2_E).cast(number), lesser(Int(rows), lines - first)
    count = (whole + (each - 1)) // each * each  # rows behind the last are that once more
    asked, made = stack_allocation(vector, rows * len(ats)), stack_allocation(vector, rows * len(ats))
    most, total = stack_allocation(number, rows), stack_allocation(number, rows)
    weights = stack_allocation(number, rows * KEYS)
    k_at, v_at = stack_allocation(Int, KEYS), stack_allocation(Int, KEYS)
    for n in range(rows * KEYS):
        weights[n] = 0
    for row in range(rows):
        source = q + (batch * q_steps[0] + head * q_steps[1] + lesser(first + row, lines - 1) * q_steps[2])
        most[row], total[row] = number(NEVER), number(0)
        for c in unroll(range(len(ats))):
            new = iota(Int, lanes) + ats[c] >= c * lanes
            asked[row * len(ats) + c] = new.select(load(source, ats[c], 1, lanes, number) * factor, 0)
            made[row * len(ats) + c] = number.splat(lanes, 0)
    for begin in range(skipped, lesser(end, first + rows + diagonal), KEYS):
        near = lesser(end - begin, Int(KEYS))
        for key in range(near):
            place, page = begin + key, batch
            if table is not None:
                page, place = Int(page_of(table, batch, place // pages[1], pages[0])), place % pages[1]
            k_at[key] = page * k_steps[0] + head // shared * k_steps[1] + place * k_steps[2]
            v_at[key] = page * v_steps[0] + head // shared * v_steps[1] + place * v_steps[2]
        for key in range(near):
            ours = [load(k + k_at[key], at, 1, lanes, number) for at in ats]
            for row in range(count):
                parts = [asked[row * len(ats) + c] * one for c, one in enumerate(ours)]
                weights[row * KEYS + key] = by_pairs(_plus, parts).reduce_add()
        for row in range(count):
            limit = lesser(near, first + row + diagonal + 1 - begin)
            shrunk = _weigh(weights + row * KEYS, most + row, total + row, limit)
            for c in unroll(range(len(ats))):
                made[row * len(ats) + c] *= shrunk
        for row in range(0, count, each):
            for c in unroll(range(len(ats))):
                own = made + (row * len(ats) + c)
                _add(own, weights + row * KEYS, v + ats[c], v_at, near, apart=len(ats), rows=each)
    for row in range(whole):
        share = (total[row] > 0.0).select(1.0 / total[row], number(0))
        place = block_idx.z * lse_steps[0] + head * lse_steps[1] + (first + row) * lse_steps[2]
        lse[place] = (most[row] + log2(total[row])) / LOG2_E
        to = out + (block_idx.z * out_steps[0] + head * out_steps[1] + (first + row) * out_steps[2])
        for c in unroll(range(len(ats))):
            value = made[row * len(ats) + c] * share
            for w in unroll(range(c * lanes - ats[c], lanes)):
                one = value[w] if lanes > 1 else value
                to[(ats[c] + w) * out_steps[3]] = one.cast(out.element_type)


def _plus(a: Any, b: Any) -> Any:
    return a + b


@func
def _weigh(scores: Any, most: Any, total: Any, limit: Int) -> Any:
    """Make weights of a row's scores; what sums shrink by."""
    number = most.element_type
    held = [scores.load(at, width=LANES) for at in range(0, KEYS, LANES)]
    held = [
        (iota(Int, LANES) + at < limit).select(x, NEVER)
        for at, x in zip(range(0, KEYS, LANES), held, strict=True)
    ]
    above = greater(most[0], by_pairs(greater, held).reduce_max())
    base = (above > NEVER).select(above, number(0))
    held = [exp2(x - base) for x in held]
    for n in unroll(range(KEYS // LANES)):
        scores.store(n * LANES, held[n])
    shrunk = exp2(most[0] - base)
    total[0] = total[0] * shrunk + by_pairs(_plus, held).reduce_add()
    most[0] = above
    return shrunk


@func
def _add(
    made: Any, weights: Any, v: Any, v_at: Any, near: Any, *, apart: Comptime[int], rows: Comptime[int]
) -> None:
    """Add the values of some features, by their weights in each of ``rows`` rows."""
    number = weights.element_type
    lanes = made[0].lanes
    sums = tuple([made[i * apart] for i in range(rows)])
    for key in range(near):
        value = load(v + v_at[key], 0, 1, lanes, number)
        sums = tuple([x + value * weights[i * KEYS + key] for i, x in enumerate(sums)])
    for i in unroll(range(rows)):
        made[i * apart] = sums[i]
