"""Sorting many numbers on a GPU by their digits: eight bits a pass from the lowest, keeping equals in order.

Each pass counts the digits of each tile, sums up where those of each digit and tile begin, and has a block
rank its tile in shared memory, from where neighbours go to neighbouring places (Merrill, Grimshaw: "High
Performance and Scalable Radix Sorting", 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from weft.algorithm.elements import at, put
from weft.algorithm.reduction import exclusive_sums
from weft.atomic import Atomic
from weft.bit import pop_count
from weft.gpu import barrier, block, block_idx, lane_id, thread_idx, warp, warp_id
from weft.gpu.sorting import ordered
from weft.lang import Comptime, Int, Pointer, UInt32, func, kernel, unroll
from weft.lang.elements import element_type
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

if TYPE_CHECKING:
    from weft.algorithm.places import RunsOn

A = TypeVar("A")
_BITS, _DIGITS = 8, 256
_WARPS = _DIGITS // warp.WARP_SIZE
_SHARED = 1 << 15
"""Bytes of a tile."""


def sort_by_digits(place: RunsOn, src: Any, kind: Any, n: int) -> None:
    """Sort numbers of 16 bits or more in place, by ``<``; nan comes last."""
    itemsize = element_type(kind).itemsize
    each = min(16, _SHARED // (_DIGITS * itemsize))
    tiles = -(-n // (_DIGITS * each))
    make = place.context.enqueue_create_buffer
    counts: Any = make(UInt32, _DIGITS * tiles)
    spare: Any = make(kind, n)
    into = src, spare
    for shift in range(0, 8 * itemsize, _BITS):  # as often there as back
        given = {"src": into[0], "counts": counts, "n": n, "tiles": tiles, "shift": shift, "each": each}
        place.launch(count_digits, tiles, _DIGITS, **given)
        exclusive_sums(place, counts, _DIGITS * tiles)
        place.launch(spread_digits, tiles, _DIGITS, dst=into[1], like=spare, **given)
        into = into[::-1]


def _digit(value: Any, shift: Int) -> Any:
    """Of a number in the order of ``<``: of floats, both zeros are one, and all nans the greatest."""
    if value.dtype.is_float:
        bits: Any = ordered((value == 0.0).select(0.0, value), False)
        bits = (value == value).select(bits, ~(bits ^ bits))
    else:
        bits = ordered(value, False)
    return (bits >> shift.cast(bits.dtype)).cast(UInt32) & (_DIGITS - 1)


@kernel
def count_digits(src: Any, counts: Pointer[UInt32], n: Int, tiles: Int, shift: Int, *, each: Comptime[int]):
    """How often each digit is in a tile; those of one digit follow each other."""
    here = stack_allocation(UInt32, _DIGITS, address_space=AddressSpace.SHARED)
    here[thread_idx.x] = 0
    barrier()
    first = block_idx.x * _DIGITS * each
    for i in range(first + thread_idx.x, least(n, first + _DIGITS * each), _DIGITS):
        Atomic.fetch_add(here + Int(_digit(at(src, i), shift)), 1, scope="block")
    barrier()
    counts[thread_idx.x * tiles + block_idx.x] = here[thread_idx.x]


@kernel
def spread_digits(
    src: Any,
    dst: Any,
    counts: Pointer[UInt32],
    like: Pointer[A],
    n: Int,
    tiles: Int,
    shift: Int,
    *,
    each: Comptime[int],
):
    """Put the elements of a tile where those of their digits are to lie, of which ``counts`` has the sums.

    A warp ranks elements that follow each other, 32 at a time; behind the last it finds the greatest digit.
    """
    ranks = stack_allocation(UInt32, _WARPS * _DIGITS, address_space=AddressSpace.SHARED)
    firsts = stack_allocation(UInt32, _DIGITS, address_space=AddressSpace.SHARED)
    begins = stack_allocation(UInt32, _DIGITS, address_space=AddressSpace.SHARED)
    here = stack_allocation(like.element_type, _DIGITS * each, address_space=AddressSpace.SHARED)
    thread, start = thread_idx.x, block_idx.x * _DIGITS * each
    row = ranks + warp_id() * _DIGITS
    for d in unroll(range(0, _DIGITS, warp.WARP_SIZE)):
        row[d + lane_id()] = 0
    warp.syncwarp()
    first = start + warp_id() * warp.WARP_SIZE * each + lane_id()
    values = tuple([at(src, least(first + k * warp.WARP_SIZE, n - 1)) for k in unroll(range(each))])
    there = [first + k * warp.WARP_SIZE < n for k in unroll(range(each))]
    digits = [t.select(_digit(v, shift), _DIGITS - 1) for t, v in zip(there, values, strict=True)]
    places = tuple([_rank(row, digit) for digit in digits])
    barrier()
    count = UInt32(0)
    for w in unroll(range(_WARPS)):
        of_warp = ranks[w * _DIGITS + thread]
        ranks[w * _DIGITS + thread] = count
        count += of_warp
    begin = block.prefix_sum(count, exclusive=True)
    firsts[thread] = begin
    begins[thread] = counts[thread * tiles + block_idx.x] - begin
    barrier()
    for value, digit, place in zip(values, digits, places, strict=True):
        here[firsts[digit] + row[digit] + place] = value
    barrier()
    for i in range(thread, least(n - start, _DIGITS * each), _DIGITS):
        put(dst, Int(begins[_digit(here[i], shift)] + UInt32(i)), here[i])


@func
def _rank(row: Pointer[UInt32], digit: UInt32) -> UInt32:
    """How many of the warp's elements before this have the same digit; it is counted for the next."""
    alike = UInt32(0xFFFFFFFF)
    for n in unroll(range(_BITS)):
        is_set = (digit >> n) & 1 == 1
        votes = warp.ballot(is_set)
        alike &= is_set.select(votes, ~votes)
    earlier = pop_count(alike & ((UInt32(1) << lane_id().cast(UInt32)) - 1))
    before = row[digit]
    warp.syncwarp()
    if earlier == 0:
        row[digit] = before + pop_count(alike)
    warp.syncwarp()
    return before + earlier
