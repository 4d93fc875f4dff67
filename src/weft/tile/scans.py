"""Running sums along an axis of a tile, bit by bit of the index, whatever thread or register a bit is.

Of each block of 2^k neighbours every element knows what it and those before it give, and what all give. Two
blocks become one when the second's elements take in what all of the first give (Sklansky, 1960).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.gpu import warp
from weft.gpu.indices import thread_idx
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.number import number_class
from weft.lang.scalars import Bool
from weft.tile.distribution import LANE_BITS, bits_of
from weft.tile.reductions import axis_of
from weft.tile.registers import flipped
from weft.tile.room import between_barriers
from weft.tile.tile import Tile

__all__ = ["scanned"]


def scanned(tile: Tile[Any], function: Callable[[Any, Any], Any], axis: int) -> Tile[Any]:
    """As ``Tile.scan`` has it."""
    distribution = tile.distribution
    axis = axis_of(tile, axis)
    through = all_ = tile.values
    for bit in range(bits_of(tile.shape[axis])):
        if (axis, bit) in distribution.registers:
            place = distribution.registers.index((axis, bit))
            other = flipped(all_, place)
            flags = [bool(n >> place & 1) for n in range(len(tile))]
            second = number_class(Bool.dtype, len(tile))(*flags)
        else:
            number = distribution.threads.index((axis, bit))
            other = _of_thread(tile, all_, number)
            second = thread_idx.x >> number & 1 != 0
        through = second.select(function(other, through), through)
        all_ = second.select(function(other, all_), function(all_, other))
    return Tile[Any](distribution, through)


def _of_thread(tile: Tile[Any], values: Any, bit: int) -> Any:
    """What the thread has whose number differs in a bit."""
    if bit < LANE_BITS:
        return warp.shuffle_xor(values, 1 << bit)
    threads, why = 1 << len(tile.distribution.threads), "warps give each other there what each has"
    memory = between_barriers(type(values), threads, (tile.shape, values.dtype), why)
    return _exchanged(memory, values, by=1 << bit)


@func
def _exchanged(memory: Any, values: Any, *, by: Comptime[int]) -> Any:
    memory[thread_idx.x] = values
    barrier()
    found = memory[thread_idx.x ^ by]
    barrier()
    return found
