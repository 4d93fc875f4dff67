"""Sums of the blocks of a cluster that have parts of one tile's k, added up by all of them.

Each block puts its sums into its own shared memory, and adds up those of some columns from the memory of all,
in the order of their ranks: the same bits each time, and no memory but the multiprocessors' own.
"""

from __future__ import annotations

from typing import Any

from weft.atomic import fence
from weft.gpu import lane_id, thread_idx, warp, warp_id
from weft.gpu.cluster import map_shared_rank
from weft.gpu.mbarrier import SharedMemBarrier
from weft.kernels.products.joining import FOUR, put
from weft.lang import Comptime, UInt32, func


@func
def open_meetings(words: Any, warps: Comptime[int], along: Comptime[int]) -> None:
    """Make the two barriers of ``gathered``; all threads of the block meet before they are used."""
    if thread_idx.x == 0:
        SharedMemBarrier(words).init(warps)
        SharedMemBarrier(words + 1).init(warps * along)


def gathered(sums: Any, memory: Any, words: Any, rank: Any, along: int) -> Any:
    """Of each of a lane's tuples of sums, added up over the cluster, the part that is this block's.

    Args:
        sums: what each lane of warps 4 and later has: tuples of numbers, as many as ``along`` fours.
        memory: shared memory for them all, which these warps read until now.
        words: the barriers.
        rank: the block's number.
        along: blocks of the cluster.
    """
    own = memory + ((warp_id() - 4) * (sum(map(len, sums)) * warp.WARP_SIZE) + lane_id() * FOUR)
    arrive_and_wait(words)
    put(sums, own)
    show(words + 1, along=along)
    memories: list[Any] = [map_shared_rank(own, other) for other in range(along)]
    begin, made = 0, list[Any]()
    for some in sums:
        mine, count = list[Any](), len(some) // along
        for i in range(0, count, FOUR):
            at = (rank * count + (begin + i)) * warp.WARP_SIZE
            fours = [theirs.load(at, width=FOUR, alignment=16) for theirs in memories]
            total = fours[0]
            for other in range(1, along):
                total = total + fours[other]
            mine += [total[n] for n in range(FOUR)]
        made.append(tuple(mine))
        begin += len(some)
    return tuple(made)


@func
def arrive_and_wait(word: Any) -> None:
    """Meet the other warps of the block that multiply: none reads the stages any more."""
    warp.syncwarp()
    if lane_id() == 0:
        SharedMemBarrier(word).arrive()
    SharedMemBarrier(word).wait(UInt32(0))


@func
def show(word: Any, *, along: Comptime[int]) -> None:
    """Let all blocks of the cluster see what this warp wrote, and wait until all have done so."""
    warp.syncwarp()
    if lane_id() == 0:
        fence("release", scope="cluster")  # behind the meeting: it is for what all lanes wrote
        for other in range(along):
            SharedMemBarrier(word).arrive_cluster(other)
    SharedMemBarrier(word).wait(UInt32(0))
    fence("acquire", scope="cluster")
