"""The least elements of long rows by radix selection, without sorting all: what ``topk`` keeps.

From the highest digit on, elements that may be the k-th are counted by their next digit, and its bucket is
found, by the last block of a row to count (Alabi, Blanchard, Gordon, Steinbach: "Fast K-Selection Algorithms
for Graphics Processing Units", 2012). Then warps go through their shares of the row, once to count what stays
and once to write it in its order: so of equal elements the first stay, whichever warp comes first.
"""

from __future__ import annotations

from typing import Any

from weft.algorithm.lookback import clear
from weft.algorithm.onesweep import BITS, DIGITS, digit_bits
from weft.atomic import Atomic
from weft.bit import pop_count
from weft.dtype import DType
from weft.gpu import barrier, block, block_idx, lane_id, thread_idx, warp
from weft.kernels.operands import Operand, Operands
from weft.lang import Bool, Comptime, Int, Pointer, UInt32, UInt64, func, kernel, struct, unroll
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

LONG, SHARE = 1 << 14, 8
"""Elements of a row from which on it is selected from, and the greatest share of it that stays."""
_THREADS, _EACH, _PIECE, _BLOCKS = 256, 8, 1 << 14, 1056
"""Threads of a block, elements that each takes at once, that a block has at least, and blocks in all."""
_PREFIX, _LEFT, _DONE, _HEADER = 0, 1, 2, 3
"""Words of a row: the digits known of the last that stays, how many of its bucket do, blocks that counted;
then how often the bucket has each digit."""


@struct
class Part:
    """What a block goes through: elements ``begin`` to ``end`` of a row, and what is known of the row."""

    source: Pointer[Any]
    words: Pointer[UInt64]
    begin: Int
    end: Int


def _part(src: Any, words: Any, n: Int, parts: Int) -> Any:
    row, number = block_idx.x // parts, block_idx.x % parts
    span = (n + parts - 1) // parts
    begin = number * span
    return Part(src + row * n, words + row * (_HEADER + DIGITS), begin, least(begin + span, n))


@kernel
def find_digit(
    src: Pointer[Any],
    words: Pointer[UInt64],
    n: Int,
    k: Int,
    parts: Int,
    *,
    number: Comptime[int],
    largest: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
):
    """The next digit of the greatest element that stays, digit ``number`` from the lowest."""
    top: int = src.dtype.itemsize - 1
    part = _part(src, words, n, parts)
    here = stack_allocation(UInt32, DIGITS, address_space=AddressSpace.SHARED)
    for d in range(thread_idx.x, DIGITS, threads):
        here[d] = 0
    barrier()
    prefix = part.words[_PREFIX]
    for first in range(part.begin + thread_idx.x, part.end, threads * each):
        keys = tuple([part.source[least(first + m * threads, part.end - 1)] for m in unroll(range(each))])
        for m in unroll(range(each)):
            bits = digit_bits(keys[m], largest).cast(UInt64) >> (BITS * number)
            if first + m * threads < part.end and (number == top or bits >> BITS == prefix):
                Atomic.fetch_add(here + Int(bits & (DIGITS - 1)), 1, scope="block")
    barrier()
    counts, last = part.words + _HEADER, stack_allocation(Bool, 1, address_space=AddressSpace.SHARED)
    for d in range(thread_idx.x, DIGITS, threads):
        if here[d] > 0:
            Atomic.fetch_add(counts + d, here[d].cast(UInt64))
    barrier()
    if thread_idx.x == 0:
        done = Atomic.fetch_add(part.words + _DONE, 1, ordering="acq_rel")
        last[0] = done + 1 == (top + 1 - number) * UInt64(parts)
    barrier()
    if last[0]:
        left = k.cast(UInt64) if number == top else part.words[_LEFT]
        barrier()
        _choose(part.words, left, threads=threads)


@func
def _choose(words: Any, left: UInt64, *, threads: Comptime[int]) -> None:
    """Take the digit up to which as many elements are as are left; forget the counts."""
    counts, before = words + _HEADER, UInt64(0)
    for d in range(thread_idx.x, DIGITS, threads):
        here = Atomic.load(counts + d)
        if threads == DIGITS:
            before = block.prefix_sum(here, exclusive=True)
        if before < left and left <= before + here:
            words[_PREFIX] = words[_PREFIX] << BITS | UInt64(d)
            words[_LEFT] = left - before
        if threads != DIGITS:
            before += here
        counts[d] = 0


@kernel
def keep(
    src: Pointer[Any],
    words: Pointer[UInt64],
    counts: Pointer[UInt32],
    keys: Pointer[Any],
    places: Pointer[Any],
    n: Int,
    k: Int,
    parts: Int,
    *,
    write: Comptime[bool],
    largest: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
):
    """Count what stays of each warp's share of a row, or ``write`` it, where ``counts`` has what is before.

    ``counts`` has two rows for a row: of elements before the last that stays, and of those that equal it.
    """
    span = 1 if threads == 1 else warp.WARP_SIZE
    part, warps = _part(src, words, n, parts), threads // span
    row, slots = block_idx.x // parts, parts * warps
    slot = block_idx.x % parts * warps + thread_idx.x // span
    share = ((part.end - part.begin + warps - 1) // warps + span - 1) // span * span
    begin = part.begin + thread_idx.x // span * share
    end, prefix = least(begin + share, part.end), part.words[_PREFIX]
    less, same = counts + row * 2 * slots + slot, counts + (row * 2 + 1) * slots + slot
    before, equals = (less[0], same[0]) if write else (UInt32(0), UInt32(0))
    left = part.words[_LEFT].cast(UInt32)
    for first in range(begin + thread_idx.x % span, end, span * each):
        elements = tuple([part.source[least(first + m * span, end - 1)] for m in unroll(range(each))])
        for m in unroll(range(each)):
            i = first + m * span
            bits = digit_bits(elements[m], largest).cast(UInt64)
            is_less, is_same = (i < end) & (bits < prefix), (i < end) & (bits == prefix)
            rank, more = _ranked(is_less, span)
            other, alike = _ranked(is_same, span)
            at = is_less.select(before + rank, k.cast(UInt32) - left + equals + other)
            if write and (is_less or (is_same and equals + other < left)):
                keys[row * k + Int(at)] = elements[m]
                places[row * k + Int(at)] = places.element_type(i)
            before += more
            equals += alike
    if not write and thread_idx.x % span == 0:
        less[0], same[0] = before, equals


def _ranked(mine: Any, lanes: int) -> tuple[Any, Any]:
    """Of how many lanes before this one it is true, and of how many in all; in loops that all lanes take."""
    if lanes == 1:
        return UInt32(0), mine.cast(UInt32)
    votes = warp.ballot(mine)
    return pop_count(votes & ((UInt32(1) << lane_id().cast(UInt32)) - 1)), pop_count(votes)


@kernel
def sum_shares(counts: Pointer[UInt32], slots: Int, *, threads: Comptime[int]):
    """Let each count of a row be the sum of those before it."""
    here, total = counts + block_idx.x * slots, UInt32(0)
    if threads == 1:
        for i in range(slots):
            here[i], total = total, total + here[i]
        return
    for first in range(0, slots, threads):
        i = first + thread_idx.x
        own = here[least(i, slots - 1)] if i < slots else UInt32(0)
        before = block.prefix_sum(own, exclusive=True)
        if i < slots:
            here[i] = total + before
        total += block.broadcast(before + own, threads - 1)


def select_rows(
    op: Operands, source: Operand, n: int, k: int, largest: bool, keys: Operand, places: Operand
) -> None:
    """The ``k`` first of each row that lies side by side, in the row's order.

    Args:
        op: the operation.
        source: rows that lie side by side in memory.
        n: elements of a row.
        k: how many stay, from 1 to the row's length.
        largest: whether the first are the greatest.
        keys: where they go.
        places: where their places in their rows go.
    """
    rows = source.size // n
    threads, each = (1, 1) if op.threads_are_loops else (_THREADS, _EACH)
    parts = max(1, min(-(-n // _PIECE), -(-_BLOCKS // rows)))
    slots = parts * (1 if threads == 1 else threads // warp.WARP_SIZE)
    words = op.scratch(rows * (_HEADER + DIGITS), DType.uint64)
    counts = op.scratch(2 * rows * slots, DType.uint32)
    op.launch(clear, min(-(-words.size // _THREADS), 1024), _THREADS, words, words.size)
    known = (n, k, parts)
    shared = {"largest": largest, "threads": threads, "each": each}
    for number in reversed(range(source.dtype.itemsize)):
        op.launch(find_digit, rows * parts, threads, source, words, *known, number=number, **shared)
    for write in (False, True):
        op.launch(
            keep, rows * parts, threads, source, words, counts, keys, places, *known, write=write, **shared
        )
        if not write:
            op.launch(sum_shares, 2 * rows, threads, counts, slots, threads=threads)
