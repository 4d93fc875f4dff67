"""Short rows sorted by lanes of a warp, each of which holds some of their elements.

A bitonic network whose merges begin by a mirror, so that the lesser always goes to the front (Batcher:
"Sorting Networks and Their Applications", 1968): steps over short distances stay within a lane's registers,
others are shuffles. What is compared has an element's place in its low bits, so that equals keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.algorithm.onesweep import digit_bits
from weft.dtype import DType
from weft.gpu import block_idx, launch_bounds, thread_idx, warp
from weft.kernels.operands import Operand, Operands
from weft.lang import Comptime, Int, Pointer, UInt32, UInt64, func, kernel, unroll
from weft.math import max as most
from weft.math import min as least
from weft.memory import AddressSpace, stack_allocation

_THREADS, _OWN = 128, 8
"""Threads of a block; elements of a lane where a warp need not have more."""
_MOST = {1: 32, 2: 32, 4: 32, 8: 16}
"""Elements of a lane at most, by the bytes of a key: such as fit into its registers."""
_BANKS = 32
"""Behind so many words of shared memory one is left out, so that lanes come to banks of their own."""


def is_short(dtype: DType, n: int) -> bool:
    """Whether lanes of a warp hold a row of so many elements."""
    return n <= _MOST[dtype.itemsize] * warp.WARP_SIZE


@kernel
def sort_in_lanes(
    src: Pointer[Any],
    out: Any,
    others: Any,
    moved: Any,
    rows: Int,
    n: Int,
    *,
    descending: Comptime[bool],
    threads: Comptime[int],
    lanes: Comptime[int],
    each: Comptime[int],
):
    """Rows of ``n`` elements, each by ``lanes`` threads that hold ``each`` so many.

    ``out`` has the elements then, ``moved`` those of ``others`` that go with them, or their places.
    """
    launch_bounds(threads)
    group, lane = thread_idx.x // lanes, thread_idx.x % lanes
    row = block_idx.x * (threads // lanes) + group
    first = least(row, rows - 1) * n
    held = tuple([stack_allocation(word, each) for word in _words(src)])
    for i in unroll(range(each)):
        at = i * lanes + lane
        bits = digit_bits(src[first + least(at, n - 1)], descending)
        _keep(held, i, _item(bits, at.cast(UInt32), at < n))
    _sort(held, lane, lanes=lanes, each=each)
    area = stack_allocation(
        UInt32, threads * each * (_BANKS + 1) // _BANKS, address_space=AddressSpace.SHARED
    )
    mine = group * (lanes * each)
    for i in unroll(range(each)):
        area[_slot(mine + lane * each + i)] = _place(held, i)
    warp.syncwarp()
    ats = [i * lanes + lane for i in unroll(range(each))]
    froms = [least(Int(area[_slot(mine + at)]), n - 1) for at in ats]
    sorted_keys = [None if out is None else src[first + place] for place in froms]
    beside = [place if others is None else others.start[first + place] for place in froms]
    warp.syncwarp()  # the elements may go where they were
    for i in unroll(range(each)):
        if row < rows and ats[i] < n:
            if out is not None:
                out.start[first + ats[i]] = sorted_keys[i]
            if moved is not None:
                moved.start[first + ats[i]] = beside[i].cast(moved.start.element_type)


def _words(src: Any) -> list[Any]:
    """The classes of what is compared: keys of up to 32 bits have their place within."""
    return {1: [UInt32], 2: [UInt32], 4: [UInt64], 8: [UInt64, UInt32]}[src.dtype.itemsize]


def _item(bits: Any, place: Any, there: Any) -> tuple[Any, ...]:
    """What is compared of an element; of none it is the last."""
    if bits.dtype.bits == 64:
        return there.select(bits, ~UInt64(0)), there.select(place, ~UInt32(0))
    word = UInt32 if bits.dtype.bits <= 16 else UInt64
    both = bits.cast(word) << (word.dtype.bits // 2) | place.cast(word)
    return (there.select(both, ~word(0)),)


def _place(held: Any, i: int) -> Any:
    """The place of an element of a lane."""
    last = held[-1][i]
    within = len(held) == 1 and last.dtype.bits == 32
    return last & 0xFFFF if within else last.cast(UInt32)


def _keep(held: Any, i: int, item: Sequence[Any]) -> None:
    """Have an element of a lane be another."""
    for words, word in zip(held, item, strict=True):
        words[i] = word


def _slot(at: Any) -> Any:
    return at + at // _BANKS


@func
def _sort(held: Any, lane: Int, *, lanes: Comptime[int], each: Comptime[int]) -> None:
    """Let the elements of ``lanes`` lanes be in order, a lane's behind those of the one before."""
    for power in unroll(range(1, each.bit_length())):
        _cleaned(held, each, [(1 << power) - 1, *[1 << k for k in reversed(range(power - 1))]])
    span = Int(1)
    while span < lanes:
        _exchanged(held, each, lane & span == 0, 2 * span - 1, each - 1)
        step = span // 2
        while step > 0:
            _exchanged(held, each, lane & step == 0, step, 0)
            step //= 2
        _cleaned(held, each, [1 << k for k in reversed(range(each.bit_length() - 1))])
        span *= 2


def _cleaned(held: Any, each: int, masks: list[int]) -> None:
    """Within a lane let the lesser of two be in front whose numbers differ by a mask, one after the other."""
    for mask in masks:
        for i in range(each):
            if i < i ^ mask:
                one, other = [[words[k] for words in held] for k in (i, i ^ mask)]
                if len(held) == 1:
                    low, high = [least(one[0], other[0])], [most(one[0], other[0])]
                else:
                    is_less = _precedes(other, one)
                    low = [is_less.select(b, a) for a, b in zip(one, other, strict=True)]
                    high = [is_less.select(a, b) for a, b in zip(one, other, strict=True)]
                _keep(held, i, low)
                _keep(held, i ^ mask, high)


def _exchanged(held: Any, each: int, in_front: Any, lanes: Any, mask: int) -> None:
    """Keep the lesser or the greater of each element and another lane's, whose number differs by a mask."""
    for i in range(each):
        if i <= i ^ mask:  # both of a pair are sent before one is kept
            pair = (i, i ^ mask) if mask else (i,)
            own = {k: [words[k] for words in held] for k in pair}
            theirs = {k: [warp.shuffle_xor(word, lanes) for word in own[k ^ mask]] for k in pair}
            for k in pair:
                takes = _precedes(theirs[k], own[k]) == in_front
                _keep(held, k, [takes.select(b, a) for a, b in zip(own[k], theirs[k], strict=True)])


def _precedes(one: list[Any], other: list[Any]) -> Any:
    if len(one) == 1:
        return one[0] < other[0]
    return (one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1]))


def sort_short_rows(op: Operands, source: Operand, n: int, descending: bool, memory: Sequence[Any]) -> None:
    """Sort rows of ``n`` elements, which lie side by side wherever they are.

    Args:
        op: the operation.
        source: the keys.
        n: elements of a row.
        descending: whether the greatest comes first; nan comes last anyway.
        memory: ``Memory`` where the keys go, of what goes with them, and where that goes; None for what is
            not asked for, in the second place for each element's place in its row. Each may be what is read.
    """
    rows, whole = source.size // n, 1 << max(1, (n - 1).bit_length())
    each = max(min(_OWN, whole), whole // warp.WARP_SIZE)
    lanes = whole // each
    known = {"descending": descending, "threads": _THREADS, "lanes": lanes, "each": each}
    op.launch(sort_in_lanes, -(-rows * lanes // _THREADS), _THREADS, source, *memory, rows, n, **known)
