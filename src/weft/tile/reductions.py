"""Tiles along an axis: first each thread's registers, then lanes by shuffles, then warps by shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from weft.diagnostics import refuse
from weft.gpu import warp
from weft.gpu.indices import thread_idx
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.elaboration import current
from weft.lang.generic import written
from weft.lang.scalars import Int32, UInt8
from weft.tile.distribution import LANE_BITS, Distribution, Shape
from weft.tile.registers import halves, joined
from weft.tile.room import CHUNK, between_barriers
from weft.tile.tile import Tile

__all__ = ["axis_of", "best", "reduced"]

Values = tuple[Any, ...]
"""Vectors of as many lanes, that are reduced together."""


def axis_of(tile: Tile[Any], axis: int) -> int:
    """An axis counted from the first.

    Raises:
        CompileError: the tile has no such axis.
    """
    rank = len(tile.shape)
    if not isinstance(axis, int) or not -rank <= axis < rank:  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = f"its axes are {', '.join(map(str, range(rank)))}"
        refuse("rank", f"axis={axis!r} is none of a tile with {rank} axes", hint=hint)
    return axis % rank


def reduced(tile: Tile[Any], function: Callable[[Any, Any], Any], axis: int | None) -> Any:
    """As ``Tile.reduce`` has it."""
    if axis is None:
        for each in reversed(range(len(tile.shape))):
            tile = reduced(tile, function, each)
        return tile.values
    given = axis_of(tile, axis)

    def combine(a: Values, b: Values) -> Values:
        return (function(a[0], b[0]),)

    to, (values,) = _along(tile.distribution, (tile.values,), combine, given)
    return Tile[Any](to, values)


def best(tile: Tile[Any], axis: int | None, better: Callable[[Any, Any], Any]) -> Any:
    """Where along an axis the value is that is ``better`` than all others; the first of several.

    That of a number where there is one, as ``max`` and ``min`` leave nan out.
    """
    if axis is None:
        return best(tile.reshape(-1), 0, better).values
    axis = axis_of(tile, axis)
    places = [Int32(index[axis]) for index in tile.indices()]

    def combine(a: Values, b: Values) -> Values:
        before = b[1] < a[1]
        takes = better(b[0], a[0]) | ((b[0] == a[0]) & before)
        if tile.dtype.is_float:
            takes |= (a[0] != a[0]) & ((b[0] == b[0]) | before)
        return takes.select(b[0], a[0]), takes.select(b[1], a[1])

    to, (_, found) = _along(tile.distribution, (tile.values, joined(places)), combine, axis)
    return Tile[Int32](to, found)


def _along(
    distribution: Distribution, values: Values, combine: Callable[[Values, Values], Values], axis: int
) -> tuple[Distribution, Values]:
    registers = list(distribution.registers)
    for bit in reversed(range(len(registers))):
        if registers[bit][0] == axis:
            clear, set_ = zip(*[halves(each, bit) for each in values], strict=True)
            values = combine(clear, set_)
            del registers[bit]
    b = current()
    b.reduced.append((b.region, values[0]))  # of each thread
    across: list[int] = []
    for bit, found in enumerate(distribution.threads):
        if found is None or found[0] != axis:
            continue
        if bit < LANE_BITS:
            values = combine(values, tuple([warp.shuffle_xor(each, 1 << bit) for each in values]))
        else:
            across.append(bit)
    if across:
        values = _of_warps(values, combine, distribution, axis, tuple(across))
    return distribution.reduced(axis), values


def _of_warps(
    values: Values,
    combine: Callable[[Values, Values], Values],
    distribution: Distribution,
    axis: int,
    across: tuple[int, ...],
) -> Values:
    """What warps have, combined in the order of their numbers, in all of them."""
    threads, count = len(distribution.threads), values[0].lanes
    each = [n for n in range(threads) if n not in across]
    own = [n for n in each if (found := distribution.threads[n]) is not None and found[0] != axis]
    replicas = sum(1 << n for n in each if n not in own)
    memories = _room(values, count << len(own) + len(across), distribution.shape)
    parts = _gathered(memories, values, own=tuple(own), across=across, replicas=replicas)
    total = parts[: len(values)]
    for n in range(1, 1 << len(across)):
        total = combine(total, parts[n * len(values) : (n + 1) * len(values)])
    return total


def _room(values: Values, count: int, shape: Shape) -> Values:
    """Shared memory for so many elements of each."""
    kinds = [written(each.dtype) for each in values]
    sizes = [-(-count * kind.dtype.itemsize // CHUNK) * CHUNK for kind in kinds]
    why, more = "warps combine there what each has", "or give the block fewer threads"
    memory = between_barriers(UInt8, sum(sizes), (shape, kinds[0].dtype), why, more)
    starts = accumulate(sizes[:-1], initial=0)
    return tuple([(memory + start).bitcast(kind) for start, kind in zip(starts, kinds, strict=True)])


def _packed(bits: Sequence[int]) -> Any:
    """Some bits of the thread's number, side by side."""
    total: Any = 0
    for n, bit in enumerate(bits):
        total = total + ((thread_idx.x >> bit & 1) << n)
    return total


@func
def _gathered(
    memories: Any,
    values: Any,
    *,
    own: Comptime[tuple[int, ...]],
    across: Comptime[tuple[int, ...]],
    replicas: Comptime[int],
) -> Any:
    """What each of several warps has, for all of them; the memory is scratch."""
    count = values[0].lanes
    ways, elements = 1 << len(across), count << len(own)
    here, part = _packed(own) * count, _packed(across) * elements
    if thread_idx.x & replicas == 0:
        for memory, each in zip(memories, values, strict=True):
            memory.store(here + part, each, alignment=memory.dtype.itemsize)
    barrier()
    found = tuple(
        [
            memory.load(here + n * elements, width=count, alignment=memory.dtype.itemsize)
            for n in range(ways)
            for memory in memories
        ]
    )
    barrier()
    return found
