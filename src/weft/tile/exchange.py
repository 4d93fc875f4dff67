"""Tiles from one distribution to another: by registers alone, or through shared memory."""

from __future__ import annotations

from math import prod
from typing import Any

from weft.gpu import warp
from weft.gpu.indices import thread_idx
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.generic import written
from weft.tile.distribution import LANE_BITS, Bit, Distribution, Shape, bits_of, first_of
from weft.tile.registers import halves, joined, picked, pieces
from weft.tile.room import between_barriers

__all__ = ["distributed", "in_vectors", "within_threads"]

_LINE = 16
"""Bytes by which rows in shared memory are apart from a multiple of all banks."""


def distributed(source: Distribution, values: Any, to: Distribution) -> Any:
    """A thread's elements of a tile, as another distribution has them; axes of extent 1 are spread out."""
    if source == to:
        return values
    wanted = _without(to, source)
    chosen = _selections(source, wanted)
    if chosen is None:
        memory, pitch = _room(written(values.dtype), source.shape)
        values = _through(memory, values, source=source, to=wanted, pitch=pitch)
        return picked(values, _places(wanted.registers, to))
    registers = list(source.registers)
    for number, bit in chosen:
        position = registers.index(bit)
        clear, set_ = halves(values, position)
        values = ((thread_idx.x >> number & 1) != 0).select(set_, clear)
        del registers[position]
    return picked(values, _places(tuple(registers), to))


def within_threads(source: Distribution, to: Distribution) -> bool:
    """Whether each thread has what it would hold in another distribution."""
    return _selections(source, _without(to, source)) is not None


def in_vectors(distribution: Distribution, values: Any, axis: int, width: int) -> tuple[Distribution, Any]:
    """The elements held so that up to ``width`` neighbours along an axis are in one thread, if lanes can.

    What lanes of a warp hold of the neighbours is swapped for what they hold of others, by shuffles: a step
    of a transposition for each bit.
    """
    registers, threads = list(distribution.registers), list(distribution.threads)
    wanted = [(axis, bit) for bit in range(bits_of(width))]
    for bit in wanted:
        if bit in registers:
            continue
        other = next((own for own in registers if own[0] == axis and own not in wanted), None)
        if other is None or bit not in threads[:LANE_BITS]:
            break
        lane, place = threads.index(bit), registers.index(other)
        values = _swapped(values, place, lane)
        del registers[place]
        registers.append(bit)
        threads[lane] = other
    order = sorted(registers, key=lambda own: wanted.index(own) if own in wanted else width)
    to = Distribution(distribution.shape, tuple(order), tuple(threads))
    return to, picked(values, _places(tuple(registers), to))


def _swapped(values: Any, place: int, lane: int) -> Any:
    """A bit of registers' numbers for one of lanes': it is the highest then."""
    clear, set_ = halves(values, place)
    upper = (thread_idx.x >> lane & 1) != 0
    other = warp.shuffle_xor(upper.select(clear, set_), 1 << lane)
    return upper.select(other, clear).join(upper.select(set_, other))


def _without(to: Distribution, source: Distribution) -> Distribution:
    """What a distribution wants of a tile, some of whose axes have extent 1."""
    bits = {axis: extent.bit_length() - 1 for axis, extent in enumerate(source.shape)}
    threads = tuple([found if found and found[1] < bits[found[0]] else None for found in to.threads])
    registers = tuple([found for found in to.registers if found[1] < bits[found[0]]])
    return Distribution(source.shape, registers, threads)


def _selections(source: Distribution, wanted: Distribution) -> list[tuple[int, Bit]] | None:
    """By which bits of its number a thread chooses among its registers; None if others have what it wants."""
    chosen: list[tuple[int, Bit]] = []
    for number, (own, bit) in enumerate(zip(source.threads, wanted.threads, strict=True)):
        if own == bit:
            continue
        if own is not None or bit not in source.registers:
            return None
        chosen.append((number, bit))
    left = set(source.registers) - {bit for _, bit in chosen}
    return chosen if left >= set(wanted.registers) else None


def _places(registers: tuple[Bit, ...], to: Distribution) -> list[int]:
    """For each register of ``to`` the one that has its element."""
    places = {bit: n for n, bit in enumerate(registers)}
    return [
        sum((number >> n & 1) << places[bit] for n, bit in enumerate(to.registers) if bit in places)
        for number in range(to.count)
    ]


def _room(kind: Any, shape: Shape) -> tuple[Any, int]:
    """Shared memory for a tile, and how far apart its rows begin: at different banks."""
    pitch = shape[-1] + (_LINE // kind.dtype.itemsize if len(shape) > 1 and shape[0] > 1 else 0)
    why = "threads swap elements there: it is combined with a tile that they hold otherwise"
    return between_barriers(kind, prod(shape[:-1]) * pitch, (shape, kind.dtype), why), pitch


@func
def _through(
    memory: Any,
    values: Any,
    *,
    source: Comptime[Distribution],
    to: Comptime[Distribution],
    pitch: Comptime[int],
) -> Any:
    """By shared memory, which is scratch: nobody reads it any more behind the second barrier."""
    if first_of(source.replicas):
        _write(memory, values, source, pitch)
    barrier()
    found = _read(memory, to, pitch)
    barrier()
    return found


def _offsets(distribution: Distribution, pitch: int, width: int) -> list[Any]:
    """Where the vectors of a thread begin."""

    def place(index: Any) -> Any:
        total: Any = 0
        for at, extent in zip(index[:-1], distribution.shape[:-1], strict=True):
            total = total * extent + at
        return total * pitch + index[-1]

    first = place(distribution.of_thread())
    return [first + place(distribution.of_register(n)) for n in range(0, distribution.count, width)]


def _width(distribution: Distribution, itemsize: int) -> int:
    return min(distribution.vector(len(distribution.shape) - 1), max(1, _LINE // itemsize))


def _write(memory: Any, values: Any, distribution: Distribution, pitch: int) -> None:
    size = memory.dtype.itemsize
    width = _width(distribution, size)
    places = _offsets(distribution, pitch, width)
    for place, piece in zip(places, pieces(values, width), strict=True):
        memory.store(place, piece, alignment=size * width)


def _read(memory: Any, distribution: Distribution, pitch: int) -> Any:
    size = memory.dtype.itemsize
    width = _width(distribution, size)
    return joined(
        [
            memory.load(place, width=width, alignment=size * width)
            for place in _offsets(distribution, pitch, width)
        ]
    )
