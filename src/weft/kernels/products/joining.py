"""Sums of the parts into which k was split, joined by whichever warp comes last, in the order of the parts.

A warp keeps what it has of a part in memory and counts itself; the last of eight adds them all up, from the
first to the last, so the bits are the same whoever it is. Of more than eight parts eights are added up
first. Nobody waits (stream-k, Osama et al.: "Work-centric Parallel Decomposition for Dense Matrix-Matrix
Multiplication on the GPU", 2023, has the first one wait).

Counters need not be cleared before: a count is one only beside a number that the process drew by lot, and
the last of a count takes it away.
"""

from __future__ import annotations

import secrets
from typing import Any

from weft.atomic import Atomic, fence
from weft.gpu import lane_id, warp
from weft.lang import Bool, Int, Pointer, UInt64, func
from weft.lang.number import number_class

TOKEN = secrets.randbits(48) | 1 << 47
"""What stands beside this process's counts."""
EIGHT, FOUR = 8, 4
"""Parts that are added up at once; numbers that a lane reads at once."""


def counters(splits: Any) -> Any:
    """Counters that a warp has for each tile."""
    return 1 + (splits + (EIGHT - 1)) // EIGHT


@func
def joined(sums: Any, own: Any, part: Int, splits: Int, size: Int, counts: Any, token: UInt64) -> Any:
    """The sums of all parts, if this warp is the last of its tile, and whether it is.

    Args:
        sums: what each lane has of this part: tuples of numbers, as many as fours.
        own: where the lane keeps fours of the tile's first part, ``warp.WARP_SIZE`` of them apart.
        part: the part's number.
        splits: how many there are.
        size: how far parts lie apart.
        counts: the warp's counters of the tile.
        token: what stands beside counts.
    """
    eight = part // EIGHT
    begin = eight * EIGHT
    count = Int((splits - begin < EIGHT).select(splits - begin, Int(EIGHT)))
    _keep(sums, own + part * size)
    last = _counted(counts + (1 + eight), token, count)
    if last:
        sums = _total(sums, own + begin * size, count, size)
        if count < splits:
            _keep(sums, own + begin * size)
            eights = (splits + (EIGHT - 1)) // EIGHT
            last = _counted(counts, token, eights)
            if last:
                sums = _total(sums, own, eights, EIGHT * size)
    return sums, last


def put(sums: Any, own: Any) -> None:
    """Write a lane's sums in fours, ``warp.WARP_SIZE`` of them apart."""
    place = 0
    for some in sums:
        for i in range(0, len(some), FOUR):
            vector = number_class(some[i].dtype, FOUR)(*some[i : i + FOUR])
            own.store(place, vector, alignment=16)
            place += warp.WARP_SIZE * FOUR


def _keep(sums: Any, own: Any) -> None:
    """Write a lane's sums, and let others see them."""
    put(sums, own)
    fence()
    warp.syncwarp()


@func
def _total(sums: Any, own: Any, count: Int, size: Int) -> Any:
    """The sums of two parts and more, from the first part on."""
    total = sums
    if count <= 2:
        total = _added(sums, own, count, size, 2)
    else:
        total = _added(sums, own, count, size, EIGHT)
    return total


def _added(sums: Any, own: Any, count: Any, size: Any, most: int) -> Any:
    """As many as ``sums``, of up to so many parts; all are read at once, or one reading waits for another."""
    parts = [own + (count > part).select(Int(part), Int(0)) * size for part in range(most)]
    place, found = 0, list[Any]()
    for some in sums:
        made = list[Any]()
        for _ in range(0, len(some), FOUR):
            fours = [part.load(place, width=FOUR, alignment=16) for part in parts]
            total = fours[0]
            for part in range(1, most):
                total = (count > part).select(total + fours[part], total)
            made += [total[i] for i in range(FOUR)]
            place += warp.WARP_SIZE * FOUR
        found.append(tuple(made))
    return tuple(found)


@func
def _counted(word: Pointer[UInt64], token: UInt64, count: Int) -> Bool:
    """Whether this warp is the last of so many; what they wrote may be read then."""
    place = UInt64(0)
    if lane_id() == 0:
        seen, done = Atomic.load(word), Bool(False)
        while ~done:
            place = (seen >> 8 == token).select(seen & 255, UInt64(0)) + 1
            following = (place == count.cast(UInt64)).select(UInt64(0), token << 8 | place)
            seen, done = Atomic.compare_exchange(word, seen, following)
    last = warp.shuffle_idx(place, 0) == count.cast(UInt64)
    fence()
    return last
