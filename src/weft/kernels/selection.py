"""The least elements of long rows by radix selection, without sorting all: what ``topk`` keeps.

From the highest digit on, elements that may be the k-th are counted by their next digit, and its bucket is
found, by the last block of a row to count (Alabi, Blanchard, Gordon, Steinbach: "Fast K-Selection Algorithms
for Graphics Processing Units", 2012). Each warp has a share of a row. While it counts second digits it writes
down what may stay, of which there is little as first digits are long (AIR top-k of Zhang et al., "Parallel
Top-K Algorithms on GPU", 2023, reads a row so too), and goes through that from then on; where there is more
than it has room for, through its share again. At last warps count what stays and write it in its order: so of
equal elements the first stay, whichever warp comes first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.algorithm.lookback import clear
from weft.algorithm.onesweep import digit_bits
from weft.atomic import Atomic
from weft.bit import pop_count
from weft.dtype import DType
from weft.gpu import barrier, block, block_idx, lane_id, thread_idx, warp
from weft.kernels.operands import Operand, Operands
from weft.lang import Bool, Comptime, Int, Int32, Pointer, UInt32, UInt64, func, kernel, struct, unroll
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

LONG, SHARE = 1 << 14, 8
"""Elements of a row from which on it is selected from, and the greatest share of it that stays."""
_THREADS, _EACH, _PIECE, _BLOCKS = 256, 8, 1 << 14, 1056
"""Threads of a block, elements that each takes at once, that a block has at least, and blocks in all."""
_BITS, _FIRST, _COUNTED = 8, 12, 1 << 18
"""Bits of a digit; those of the first one of rows of so many elements, which are many beside its counts."""
_CHOSEN = 4
"""Counts that a thread has at once when a digit is taken."""
_ROOM, _LINE = 8, 16
"""What a warp has room for is its share divided by this, and a multiple of that: shares are of lines."""
_PREFIX, _LEFT, _DONE, _HEADER = 0, 1, 2, 3
"""Words of a row: the digits known of the last that stays, how many of its bucket do, blocks that counted;
then how often the bucket has each digit."""


class Digit(NamedTuple):
    """Which digit of the keys a pass is about."""

    number: int
    """From the highest."""
    bits: int
    shift: int


@struct
class Found:
    """What warps have written down: of each ``room`` elements and their places in its share, and how many."""

    keys: Pointer[Any]
    places: Pointer[UInt32]
    sizes: Pointer[UInt32]
    room: Int


@struct
class Share:
    """What a warp goes through: elements of its share of a row, or those that it has written down of them."""

    source: Pointer[Any]
    size: Int32
    begin: Int
    slot: Int
    short: Bool


def _span(threads: int) -> int:
    return 1 if threads == 1 else warp.WARP_SIZE


@func
def _share(
    src: Any, found: Any, n: Int, parts: Int, *, threads: Comptime[int], written: Comptime[bool]
) -> Any:
    """A warp's share, or, once it is ``written`` down and there was room, what it found there."""
    span, row = _span(threads), block_idx.x // parts
    slots = parts * (threads // span)
    slot = block_idx.x % parts * (threads // span) + thread_idx.x // span
    length = found.room * _ROOM
    begin = least(slot * length, n)
    source, size = src + (row * n + begin), least(length, n - begin).cast(Int32)
    slot, short = row * slots + slot, Bool(False)
    if written:
        kept = found.sizes[slot].cast(Int32)
        short = Int(kept) <= found.room
        if short:
            source, size = found.keys + slot * found.room, kept
    return Share(source, size, begin, slot, short)


@kernel
def find_digit(
    src: Pointer[Any],
    words: Pointer[UInt64],
    found: Any,
    n: Int,
    k: Int,
    parts: Int,
    *,
    digit: Comptime[Digit],
    largest: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
    header: Comptime[int],
):
    """The next digit of the greatest element that stays."""
    number, digits, span = digit.number, 1 << digit.bits, _span(threads)
    words = words + block_idx.x // parts * header
    here = stack_allocation(UInt32, digits, address_space=AddressSpace.SHARED)
    for d in range(thread_idx.x, digits, threads):
        here[d] = 0
    barrier()
    share = _share(src, found, n, parts, threads=threads, written=number > 1)
    prefix, kept, room = words[_PREFIX], UInt32(0), found.room.cast(UInt32)
    into, places = found.keys + share.slot * found.room, found.places + share.slot * found.room
    lane = (thread_idx.x % span).cast(Int32)
    for first in range(Int32(0), share.size, span * each):
        ats = [first + m * span + lane for m in unroll(range(each))]
        keys = tuple([share.source[least(at, share.size - 1)] for at in ats])
        for m in unroll(range(each)):
            bits, there = digit_bits(keys[m], largest) >> digit.shift, ats[m] < share.size
            known = prefix.cast(bits.dtype)
            high = bits >> digit.bits if number > 0 else known
            if there and high == known:
                Atomic.fetch_add(here + Int(bits & (digits - 1)), 1, scope="block")
            if number == 1:
                stays = there & (high <= known)
                rank, more = _ranked(stays, span)
                at = kept + rank
                if stays and at < room:
                    into[Int(at)], places[Int(at)] = keys[m], UInt32(ats[m])
                kept += more
    if number == 1 and thread_idx.x % span == 0:
        found.sizes[share.slot] = kept
    barrier()
    _counted(words, here, k, parts, number=number, bits=digit.bits, threads=threads)


@func
def _counted(
    words: Any,
    here: Any,
    k: Int,
    parts: Int,
    *,
    number: Comptime[int],
    bits: Comptime[int],
    threads: Comptime[int],
) -> None:
    """Add a block's counts to those of its row; the last block of the row takes the digit."""
    counts, last = words + _HEADER, stack_allocation(Bool, 1, address_space=AddressSpace.SHARED)
    for d in range(thread_idx.x, 1 << bits, threads):
        if here[d] > 0:
            Atomic.fetch_add(counts + d, here[d].cast(UInt64))
    barrier()
    if thread_idx.x == 0:
        done = Atomic.fetch_add(words + _DONE, 1, ordering="acq_rel")
        last[0] = done + 1 == (number + 1) * UInt64(parts)
    barrier()
    if last[0]:
        left = k.cast(UInt64) if number == 0 else words[_LEFT]
        barrier()
        _choose(words, left, bits=bits, threads=threads)


@func
def _choose(words: Any, left: UInt64, *, bits: Comptime[int], threads: Comptime[int]) -> None:
    """Take the digit up to which as many elements as are left; forget the counts."""
    counts, before, own, digits = words + _HEADER, UInt64(0), _CHOSEN if threads > 1 else 1, 1 << bits
    for first in range(0, digits, threads * own):
        ds = [first + thread_idx.x * own + i for i in unroll(range(own))]
        heights = tuple([Atomic.load(counts + d) if d < digits else UInt64(0) for d in ds])
        mine = UInt64(0)
        for height in heights:
            mine += height
        to_here = block.prefix_sum(mine) if threads > 1 else mine
        low = before + to_here - mine
        before += block.broadcast(to_here, threads - 1) if threads > 1 else mine
        for d, height in unroll(zip(ds, heights, strict=True)):
            if low < left and left <= low + height:
                words[_PREFIX] = words[_PREFIX] << bits | UInt64(d)
                words[_LEFT] = left - low
            low += height
            if d < digits:
                counts[d] = 0


@kernel
def keep(
    src: Pointer[Any],
    words: Pointer[UInt64],
    found: Any,
    counts: Pointer[UInt32],
    keys: Pointer[Any],
    places: Pointer[Any],
    n: Int,
    k: Int,
    parts: Int,
    *,
    write: Comptime[bool],
    written: Comptime[bool],
    largest: Comptime[bool],
    threads: Comptime[int],
    each: Comptime[int],
    header: Comptime[int],
):
    """Count what stays of each warp's share of a row, or ``write`` it, where ``counts`` has what is before.

    ``counts`` has two rows for a row: of elements before the last that stays, and of those that equal it.
    """
    span, row = _span(threads), block_idx.x // parts
    share, slots = _share(src, found, n, parts, threads=threads, written=written), parts * (threads // span)
    words = words + row * header
    prefix, left = words[_PREFIX], words[_LEFT].cast(UInt32)
    less = counts + (row * slots + share.slot)
    same = less + slots
    before, equals = (less[0], same[0]) if write else (UInt32(0), UInt32(0))
    lane = (thread_idx.x % span).cast(Int32)
    for first in range(Int32(0), share.size, span * each):
        ats = [first + m * span + lane for m in unroll(range(each))]
        elements = tuple([share.source[least(at, share.size - 1)] for at in ats])
        for m in unroll(range(each)):
            bits, there = digit_bits(elements[m], largest), ats[m] < share.size
            last = prefix.cast(bits.dtype)
            is_less, is_same = there & (bits < last), there & (bits == last)
            rank, more = _ranked(is_less, span)
            other, alike = _ranked(is_same, span)
            at = is_less.select(before + rank, k.cast(UInt32) - left + equals + other)
            if write and (is_less or (is_same and equals + other < left)):
                place = Int(ats[m])
                if share.short:
                    place = Int(found.places[share.slot * found.room + place])
                keys[row * k + Int(at)] = elements[m]
                places[row * k + Int(at)] = places.element_type(share.begin + place)
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
    slots = parts * (threads // _span(threads))
    digits = _digits(source.dtype.itemsize * 8, n)
    header, room = _HEADER + (1 << digits[0].bits), -(-n // (slots * _ROOM * _LINE)) * _LINE
    words = op.scratch(rows * header, DType.uint64)
    counts = op.scratch(2 * rows * slots, DType.uint32)
    found = Found(
        op.scratch(rows * slots * room, source.dtype).memory,
        op.scratch(rows * slots * room, DType.uint32).memory,
        op.scratch(rows * slots, DType.uint32).memory,
        Int(room),
    )
    op.launch(clear, min(-(-words.size // _THREADS), 1024), _THREADS, words, words.size)
    known = (n, k, parts)
    shared = {"largest": largest, "threads": threads, "each": each, "header": header}
    for digit in digits:
        op.launch(find_digit, rows * parts, threads, source, words, found, *known, digit=digit, **shared)
    shared["written"] = len(digits) > 1
    for write in (False, True):
        to = counts, keys, places
        op.launch(keep, rows * parts, threads, source, words, found, *to, *known, write=write, **shared)
        if not write:
            op.launch(sum_shares, 2 * rows, threads, counts, slots, threads=threads)


def _digits(bits: int, n: int) -> list[Digit]:
    """The digits of keys of so many bits, from the highest on."""
    made, left = list[Digit](), bits
    while left:
        own = min(left, _BITS if made or n < _COUNTED else _FIRST)
        left -= own
        made.append(Digit(len(made), own, left))
    return made
