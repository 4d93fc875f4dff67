"""Rounds of tiles that the hardware copies (TMA), for each of which one thread of the block asks.

What tiles are is described by the launch, so it is known of those of a kernel's arguments, and of parts of
these that indices name. Barriers in shared memory count the bytes of a round, words beside them the warps
that have used it: no thread waits for a round that it does not use, and a warp that is late delays the others
only where they are a round ahead of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from weft.atomic import Atomic
from weft.gpu import barrier, lane_id, thread_idx, warp
from weft.gpu.mbarrier import SharedMemBarrier, has_hardware
from weft.gpu.pipeline import Pipeline
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.elaboration import current
from weft.lang.generic import written
from weft.lang.machine import threads_are_loops
from weft.lang.pointer import AddressSpace, pointer_at
from weft.lang.scalars import Int, UInt32, UInt64
from weft.layout.algebra.values import add, mul
from weft.layout.tensor.access import modes
from weft.layout.tensor.iterator import LayoutTensorIter
from weft.layout.tensor.origin import origin_of
from weft.layout.tma_async import TensorMapSwizzle, TMATensorTile
from weft.memory import stack_allocation
from weft.record import record
from weft.tile.distribution import Shape
from weft.tile.running import settle
from weft.tile.staged import CHUNK, LINE, fence

__all__ = ["Way", "arrived", "begin", "rounds_by_hardware"]

_MOST_ROWS, _LONGEST, _FARTHEST = 256, 1 << 32, 1 << 40
"""Of what is copied at once; extents of a tensor, and bytes between neighbours, at most."""


@record
class Way:
    """How rounds lie in shared memory: known at compile time."""

    stages: int
    starts: tuple[int, ...]
    """Where in a stage each tile begins, in bytes; then what a stage takes."""
    shapes: tuple[Shape, ...]
    warps: int
    running: int
    """Rounds before the one at hand that warps may still use which have come to it."""


Rounds = tuple[tuple[TMATensorTile[Any], tuple[Any, ...], tuple[int, int], int], ...]
"""Of each operand its tiles, where the first begins, the modes of its rows and columns, and that along which
rounds follow each other."""


def rounds_by_hardware(tiles: Sequence[LayoutTensorIter[Any]], shapes: Sequence[Shape]) -> Any:
    """What the hardware is to copy for a loop over iterators; None where it copies none of them."""
    if threads_are_loops() or not has_hardware():
        return None
    found = [_described(tile, shape) for tile, shape in zip(tiles, shapes, strict=True)]
    return None if any(one is None for one in found) else tuple(found)


def _described(tile: LayoutTensorIter[Any], shape: Shape) -> Any:
    origin = origin_of(tile.tensor)
    if origin is None or tile.circular or len(origin.modes) != 2:
        return None
    whole, (down, along) = origin.whole, origin.modes
    size, line = whole.dtype.itemsize, min(shape[1] * whole.dtype.itemsize, LINE)
    extents, steps = zip(*modes(whole.layout), strict=True)
    strides = tuple([step * size for step in steps])
    plain = along == whole.rank - 1 and steps[-1] == 1 and whole.rank <= 5 and shape[0] <= _MOST_ROWS
    plain = plain and whole.dtype.is_number and line >= CHUNK and whole.alignment % CHUNK == 0
    plain = plain and all(1 <= n <= _LONGEST for n in extents)
    if not plain or any(stride % CHUNK or not 0 < stride < _FARTHEST for stride in strides[:-1]):
        return None
    box = tuple([shape[0] if n == down else line // size if n == along else 1 for n in range(whole.rank)])
    swizzle = TensorMapSwizzle(line if line > CHUNK else 0)
    b = current()
    found = b.elaborator.describe_tiles(whole.ptr.value, extents, strides, box, int(swizzle))
    if found is None:
        return None
    place = list(origin.start)
    for mode, position, extent in zip(origin.modes, tile.position, shape, strict=True):
        place[mode] = add(place[mode], mul(position, extent))
    pointer = pointer_at(found, UInt64.dtype, AddressSpace.GLOBAL)
    return (
        TMATensorTile[Any](whole, box, swizzle, pointer),
        tuple(place),
        (down, along),
        origin.modes[tile.axis],
    )


def begin(rounds: Any, memory: Any, count: Int, *, way: Way) -> Any:
    """Ask for the first rounds; the words of the barriers. All threads of the block come here."""
    words = stack_allocation(UInt64, 2 * way.stages, address_space=AddressSpace.SHARED)
    settle()
    fence()
    barrier()  # what was in this memory before is not used any more
    _begun(rounds, memory, words, count, way=way)
    return words


@func
def _begun(rounds: Any, memory: Any, words: Any, count: Int, *, way: Comptime[Way]) -> None:
    if thread_idx.x < way.stages:
        SharedMemBarrier(words + thread_idx.x).init()
        words[way.stages + thread_idx.x] = 0
    barrier()
    if thread_idx.x == 0:
        for tiles, *_ in rounds:
            tiles.prefetch_descriptor()
        for round in unroll(range(way.stages)):
            if round < count:
                _ask(rounds, memory, words, Int(round), way)


@func
def arrived(rounds: Any, memory: Any, words: Any, round: Int, count: Int, *, way: Comptime[Way]) -> Int:
    """The stage of a round, that has come.

    A warp that comes here has used the round before. The last of all warps asks for what comes in its place,
    so nobody waits for those behind.
    """
    pipe, used = Pipeline[way.stages](words), round - 1 - way.running
    warp.syncwarp()
    if lane_id() == 0 and used >= 0:
        users = (words + way.stages + pipe.stage(used)).bitcast(UInt32)
        before = Atomic.fetch_add(users, 1, ordering="acq_rel", scope="block")
        if before % way.warps == way.warps - 1 and used + way.stages < count:
            _ask(rounds, memory, words, used + way.stages, way)
    stage = pipe.consumer_wait(round)
    warp.syncwarp()  # products by warpgroups ask for all threads, and one comes from asking for copies
    return stage


def _ask(rounds: Any, memory: Any, words: Any, round: Int, way: Way) -> None:
    """Have the hardware copy a round, whose stage is free."""
    pipe = Pipeline[way.stages](words)
    stage, full = pipe.stage(round), pipe.full(round)
    full.expect_bytes(
        sum([prod(shape) * x[0].dtype.itemsize for x, shape in zip(rounds, way.shapes, strict=True)])
    )
    for (tiles, place, (down, along), axis), shape, start in zip(
        rounds, way.shapes, way.starts[:-1], strict=True
    ):
        into = (memory + (stage * way.starts[-1] + start)).bitcast(written(tiles.dtype))
        wide = tiles.box[along]
        first = list(place)
        first[axis] = first[axis] + round * shape[0 if axis == down else 1]
        for panel in range(shape[1] // wide):
            at = [n + panel * wide if mode == along else n for mode, n in enumerate(first)]
            tiles.async_copy(into + panel * (shape[0] * wide), full, tuple(at))
