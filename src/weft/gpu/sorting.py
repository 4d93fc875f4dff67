"""How the threads of a block sort: by digits of words, from the lowest, keeping the order of equals."""

from __future__ import annotations

from typing import Any

from weft.bit import pop_count
from weft.dtype import as_dtype
from weft.gpu import warp
from weft.gpu.lanes import block_thread, block_threads, lane_id, warp_id
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.machine import threads_are_loops
from weft.lang.number import number_class
from weft.lang.pointer import AddressSpace
from weft.lang.scalars import Int, UInt32
from weft.memory import stack_allocation

_DIGIT = 5
"""Bits of a pass: a digit for each lane of a warp."""
_BYTE = 8
"""Bits of a pass where one thread sorts."""


def ordered(key: Any, descending: bool) -> Any:
    """The unsigned word of as many bits that is sorted as the key is."""
    kind = key.dtype
    word: Any = number_class(as_dtype(f"uint{kind.bits}"))
    top = word(1 << (kind.bits - 1))
    bits: Any = key.bitcast(word)
    if kind.is_float:
        bits ^= (bits >= top).select(~word(0), top)
    elif kind.is_signed:
        bits ^= top
    return ~bits if descending else bits


def unordered(bits: Any, kind: Any, descending: bool) -> Any:
    """The key of such a word."""
    word: Any = _type_of(bits)
    top = word(1 << (kind.dtype.bits - 1))
    bits = ~bits if descending else bits
    if kind.dtype.is_float:
        bits ^= (bits >= top).select(top, ~word(0))
    elif kind.dtype.is_signed:
        bits ^= top
    return bits.bitcast(kind)


@func
def sorted_keys(bits: Any, *, most: Comptime[int], sources: Comptime[bool] = False) -> tuple[Any, Any]:
    """The words of the block in order, and where each comes from, if asked; else that is nothing."""
    keys = stack_allocation(_type_of(bits), most, address_space=AddressSpace.SHARED)
    froms = stack_allocation(UInt32, most if sources else 1, address_space=AddressSpace.SHARED)
    thread = block_thread()
    source = thread.cast(UInt32)
    if threads_are_loops():
        keys[thread] = bits
        if sources:
            froms[thread] = source
        barrier()
        if thread == 0:
            _in_turn(keys, froms, most=most, sources=sources)
        barrier()
    else:
        span = 1 << (-(-most // warp.WARP_SIZE) - 1).bit_length()  # lanes that have a digit of all warps
        counts = stack_allocation(UInt32, span * _row(span), address_space=AddressSpace.SHARED)
        totals = stack_allocation(UInt32, 2**_DIGIT, address_space=AddressSpace.SHARED)
        for n in unroll(range(0, bits.dtype.bits, _DIGIT)):
            place = _place((bits >> n).cast(UInt32) & (2**_DIGIT - 1), counts, totals, span=span)
            keys[place] = bits
            if sources:
                froms[place] = source
            barrier()
            bits = keys[thread]
            if sources:
                source = froms[thread]
    found = keys[thread]
    if sources:
        source = froms[thread]
    barrier()
    return found, source


@func
def _place(digit: UInt32, counts: Any, totals: Any, *, span: Comptime[int]) -> Int:
    """Where a key goes in a pass: behind those of lesser digits, of earlier warps, of earlier lanes.

    Each warp has a row of counters, one for each digit. Those of a digit some lanes add up, at once.
    """
    lane, warps, each = lane_id(), block_threads() // warp.WARP_SIZE, warp.WARP_SIZE // span
    row = counts + warp_id() * _row(span)
    row[lane] = 0
    alike = UInt32(0xFFFFFFFF)
    for n in unroll(range(_DIGIT)):
        is_set = (digit >> n) & 1 == 1
        votes = warp.ballot(is_set)
        alike &= is_set.select(votes, ~votes)
    earlier = pop_count(alike & ((UInt32(1) << lane.cast(UInt32)) - 1))
    warp.syncwarp()
    if earlier == 0:
        row[digit] = pop_count(alike)
    barrier()
    of_warp = lane % span
    for first in range(warp_id() * each, 2**_DIGIT, warps * each):
        place, here = counts + of_warp * _row(span) + first + lane // span, UInt32(0)
        if of_warp < warps:
            here = place[0]
        through = warp.prefix_sum(here, width=span)
        if of_warp < warps:
            place[0] = through - here
        if of_warp == span - 1:
            totals[first + lane // span] = through
    barrier()
    begin = warp.prefix_sum(totals[lane], exclusive=True)
    return Int(warp.shuffle_idx(begin, digit) + row[digit] + earlier)


def _row(span: int) -> int:
    """Counters of a warp, and some more: what lanes add up is in different banks."""
    return 2**_DIGIT + warp.WARP_SIZE // span


@func
def _in_turn(keys: Any, froms: Any, *, most: Comptime[int], sources: Comptime[bool]) -> None:
    """One thread sorts what lies in shared memory."""
    kind = keys.element_type
    spare = stack_allocation(kind, most, address_space=AddressSpace.SHARED)
    other = stack_allocation(UInt32, most if sources else 1, address_space=AddressSpace.SHARED)
    counts = stack_allocation(UInt32, 2**_BYTE, address_space=AddressSpace.SHARED)
    threads = block_threads()
    for n in unroll(range(0, kind.dtype.bits, _BYTE)):
        for digit in range(2**_BYTE):
            counts[digit] = 0
        for t in range(threads):
            counts[(keys[t] >> n) & (2**_BYTE - 1)] += 1
        before = UInt32(0)
        for digit in range(2**_BYTE):
            here = counts[digit]
            counts[digit] = before
            before += here
        for t in range(threads):
            digit = (keys[t] >> n) & (2**_BYTE - 1)
            place = counts[digit]
            counts[digit] = place + 1
            spare[place] = keys[t]
            if sources:
                other[place] = froms[t]
        for t in range(threads):
            keys[t] = spare[t]
            if sources:
                froms[t] = other[t]


def _type_of(value: object) -> Any:
    return type(value)
