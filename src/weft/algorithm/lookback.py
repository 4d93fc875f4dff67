"""How blocks that run in any order hand each other what those before them have: decoupled look-back.

Each tile of a row posts what it has alone, and looks at what those before it have posted, so that a row is
read once (Merrill, Garland: "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). Tiles take
their number from a counter, so those that one waits for run already. Here the order in which values are
combined is fixed by their places, so floats have the same sums each time: tiles form groups of 32, for which
the last of them posts. A warp reads what the tiles of its own group have, and beside it what the 32 groups
before have; the groups' values are joined from the left, from whichever of them is known to be complete:
((P + G) + G) + G is the same sum wherever it is taken up.

What is posted is cut into words of 32 bits, each of which has its state beside it in one of 64, so
neither order nor fences are needed: a value is there when all its words are in the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.atomic import Atomic
from weft.bit import count_trailing_zeros
from weft.dtype import as_dtype
from weft.gpu import block_dim, global_idx, grid_dim, lane_id, thread_idx, warp
from weft.gpu.sync import barrier
from weft.lang import Bool, Int, Pointer, UInt32, UInt64, func, kernel, unroll
from weft.lang.number import number_class
from weft.memory import AddressSpace, stack_allocation

PART, WHOLE = 1, 2
"""States of what is posted: of a tile or group alone; of all up to its end."""
GROUP = 32


def words(kind: Any) -> int:
    """Words that a number is posted as."""
    return max(1, kind.dtype.itemsize // 4)


def posts_of(tiles: Any) -> Any:
    """Numbers that so many tiles of a row post, and their groups."""
    return tiles + (tiles + GROUP - 1) // GROUP


def post(posts: Pointer[UInt64], slot: Any, value: Any, state: Any) -> None:
    """Let others see a value."""
    bits = value.bitcast(number_class(as_dtype(f"uint{value.dtype.bits}")))
    count = words(type(value))
    for n in range(count):
        word = (bits >> (32 * n)).cast(UInt32) if count > 1 else bits.cast(UInt32)
        Atomic.store(posts + (slot * count + n), word.cast(UInt64) << 32 | UInt64(state))


def peek(posts: Pointer[UInt64], slot: Any, kind: Any) -> tuple[Any, Any]:
    """What is posted there, and its state; 0: nothing yet, or not all of it."""
    count = words(kind)
    found = [Atomic.load(posts + (slot * count + n)) for n in range(count)]
    word: Any = number_class(as_dtype(f"uint{kind.dtype.bits}"))
    state = found[0].cast(UInt32)
    bits = (found[0] >> 32).cast(word)
    if count > 1:
        state = (found[1].cast(UInt32) == state).select(state, UInt32(0))
        bits |= (found[1] >> 32 << 32).cast(word)
    return bits.bitcast(kind), state


@func
def counter(scratch: Pointer[Any]) -> Int:
    """The number of the block's tile, of a counter in the first word: those before it have been taken."""
    place = stack_allocation(UInt32, 1, address_space=AddressSpace.SHARED)
    if thread_idx.x == 0:
        place[0] = Atomic.fetch_add(scratch.bitcast(UInt32), 1)
    barrier()
    return Int(place[0])


@kernel
def clear(scratch: Pointer[Any], n: Int):
    """Nothing is posted, and no tile taken."""
    for i in range(global_idx.x, n, grid_dim.x * block_dim.x):
        scratch[i] = 0


@func
def tell(
    function: Callable[..., Any], own: Any, tile: Int, tiles: Pointer[UInt64], groups: Pointer[UInt64]
) -> None:
    """Post what a tile has, by a warp; of the last of a group also what that has.

    ``tile`` is its number in its row; ``tiles`` and ``groups`` are where those of the row post.
    """
    group, place = tile // GROUP, tile % GROUP
    if lane_id() == 0:
        post(tiles, tile, own, UInt32(PART))
    if place == GROUP - 1:
        total = of_group(function, own, tile, tiles)
        if lane_id() == 0:
            post(groups, group, function(total, own), (group == 0).select(UInt32(WHOLE), UInt32(PART)))


@func
def before_tile(
    function: Callable[..., Any], own: Any, tile: Int, tiles: Pointer[UInt64], groups: Pointer[UInt64]
) -> Any:
    """What all tiles before this of its row have, joined, in all lanes of a warp; ``own``: what this one has.

    ``tile`` is not 0, and others have been told of it (``tell``), whose parameters are these.
    """
    lane, kind = lane_id(), type_of(own)
    group, place = tile // GROUP, tile % GROUP
    total, behind, ahead = own, group - 1 - lane, (own, UInt32(0))
    if behind >= 0:  # on its way while the group's tiles are joined
        ahead = peek(groups, behind, kind)
    if place > 0:
        total = of_group(function, own, tile, tiles)
    if group > 0:
        before = of_groups(function, group, groups, ahead)
        if place == GROUP - 1 and lane == 0:
            post(groups, group, function(before, function(total, own)), UInt32(WHOLE))
        total = function(before, total) if place > 0 else before
    return total


@func
def of_group(function: Callable[..., Any], own: Any, tile: Int, tiles: Pointer[UInt64]) -> Any:
    """What the tiles before this of its group have, joined; there is one at least."""
    lane, kind, place = lane_id(), type_of(own), tile % GROUP
    value, state = own, UInt32(PART)
    if lane < place:
        value, state = peek(tiles, tile - place + lane, kind)
        while state == 0:
            value, state = peek(tiles, tile - place + lane, kind)
    warp.syncwarp()
    return warp.shuffle_idx(of_lanes(function, value), place - 1)


def type_of(value: object) -> Any:
    """The class of a value, for type checkers any."""
    return type(value)


@func
def of_lanes(function: Callable[..., Any], value: Any) -> Any:
    """The values of the lanes up to this joined."""
    lane, total = lane_id(), value
    for n in unroll(range(5)):
        before = warp.shuffle_up(total, 1 << n)
        if lane >= 1 << n:
            total = function(before, total)
    return total


@func
def of_groups(function: Callable[..., Any], group: Int, groups: Pointer[UInt64], ahead: Any) -> Any:
    """What all groups before this have, joined; ``ahead``: what the lane has seen already."""
    value, state = ahead
    behind, kind = group - 1 - lane_id(), type_of(value)
    first, waits = Int(0), Bool(True)
    while waits:
        if behind >= 0 and state != WHOLE:
            value, state = peek(groups, behind, kind)
        warp.syncwarp()
        complete, missing = warp.ballot(state == WHOLE), warp.ballot(state == 0)
        first = Int(count_trailing_zeros(complete))
        waits = (complete == 0) | ((missing & ~complete & (complete - 1)) != 0)
    total = warp.shuffle_idx(value, first)
    for n in range(first - 1, -1, -1):
        total = function(total, warp.shuffle_idx(value, n))
    return total
