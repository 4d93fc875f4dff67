"""Loops over tiles of memory, some of which are on their way to shared memory while others are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count
from math import prod
from typing import Any

from weft.diagnostics import a_, refuse
from weft.gpu.indices import thread_idx
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.sync import barrier
from weft.gpu.warp import WARP_SIZE
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.generic import written
from weft.lang.scalars import Int, UInt8
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import modes
from weft.layout.tensor.edge import edge_of
from weft.layout.tensor.iterator import LayoutTensorIter
from weft.memory import dynamic_shared_memory
from weft.tile.bulk import Way, arrived, begin, rounds_by_hardware
from weft.tile.distribution import Shape
from weft.tile.making import block_threads
from weft.tile.running import settle
from weft.tile.shapes import checked
from weft.tile.staged import CHUNK, Staged, fence, place

__all__ = ["Staging", "Stream", "pipeline", "shapes_of", "streams"]

_ALIGNMENT = 1024
_rings = count(1)


class Staging:
    """What ``for`` runs over, as ``pipeline`` makes it."""

    def __init__(
        self, tiles: Sequence[LayoutTensorIter[Any]], stages: int, running: int = 0, rounds: Any = None
    ) -> None:
        self.tiles = tiles
        self.stages = stages
        self.running = running
        """Rounds before this one whose tiles may still be read: by products that run on."""
        self.start = 0
        """Where in the launch's shared memory it begins."""
        self.ring: int = next(_rings)
        self.rounds = rounds
        """What the hardware is to copy, if it does: ``bulk.Rounds``."""

    def __weft_loop__(self) -> tuple[Any, Callable[[Any], Any]]:
        """How many rounds, and what each gives; the copies of the first are begun here."""
        return self._by_threads(*self._room())

    def __weft_whole_loop__(self) -> tuple[Any, Callable[[Any], Any]]:
        """Likewise, where no round is left: what the hardware copies ahead would come later on."""
        room = self._room()
        return self._by_threads(*room) if self.rounds is None else self._by_hardware(*room)

    def _room(self) -> tuple[list[Any], list[Shape], list[int], Any, Any]:
        """The first tiles, their extents, where in a stage each begins, the memory, and how many rounds."""
        firsts = [tile.get() for tile in self.tiles]
        shapes = shapes_of(self.tiles)
        sizes = [rows * columns * f.dtype.itemsize for f, (rows, columns) in zip(firsts, shapes, strict=True)]
        starts = [0, *accumulate([-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes])]
        memory = dynamic_shared_memory(UInt8, self.start + self.stages * starts[-1], alignment=_ALIGNMENT)
        count = Int(self.tiles[0].__weft_loop__()[0])
        return firsts, shapes, starts, memory + self.start, count

    def _staged(self, room: Any, stage: Any) -> list[Staged[Any]]:
        """The tiles of a round, which lies in a stage."""
        firsts, shapes, starts, memory, _ = room
        return [
            Staged[Any](
                (memory + (stage * starts[-1] + start)).bitcast(written(first.dtype)), shape, ring=self.ring
            )
            for first, shape, start in zip(firsts, shapes, starts[:-1], strict=True)
        ]

    def _settle(self) -> None:
        """What rounds before multiply has ended, where a round is about to be written over."""
        if not self.running:
            settle(self.ring)

    def _by_hardware(self, *room: Any) -> tuple[Any, Callable[[Any], Any]]:
        _, shapes, starts, memory, count = room
        warps = block_threads() // WARP_SIZE
        way = Way(self.stages, tuple(starts), tuple(shapes), warps, self.running)
        words = begin(self.rounds, memory, count, way=way)

        def at(round: Any) -> Any:
            self._settle()
            stage = arrived(self.rounds, memory, words, Int(round), count, way=way)
            return _given(self._staged(room, stage))

        return count, at

    def _by_threads(self, *room: Any) -> tuple[Any, Callable[[Any], Any]]:
        _, shapes, _, _, count = room
        threads, ahead = block_threads(), self.stages - 1 - self.running

        def fetch(round: Any) -> None:
            parts = self._staged(room, round % self.stages)
            for tile, part, shape in zip(self.tiles, parts, shapes, strict=True):
                _fetch(tile, part.pointer, round, round < count, shape=shape, threads=threads)
            async_copy_commit_group()

        def at(round: Any) -> Any:
            self._settle()
            async_copy_wait_group(max(0, ahead - 1))
            fence()
            barrier()  # this round's tiles are there, and all have used those of the round before
            if ahead:
                fetch(Int(round) + ahead)
            return _given(self._staged(room, round % self.stages))

        settle()
        barrier()
        for round in range(ahead):
            fetch(Int(round))
        return count, at

    def __iter__(self) -> Iterator[Any]:
        length, at = self.__weft_loop__()
        return map(at, range(length))


def _given(tiles: list[Staged[Any]]) -> Any:
    """What a round gives: a tile, or a tuple of several."""
    return tuple(tiles) if len(tiles) > 1 else tiles[0]


def pipeline(*tiles: LayoutTensorIter[Any], stages: int = 3) -> Any:
    """Tiles of memory one after the other, for ``dot``, copied some rounds ahead of their use.

    ``for a, b in tile.pipeline(x.tiled_iterator[64, 32](i, 0, axis=1), y.tiled_iterator[32, 64](0, j))`` is a
    loop of the device that gives each round the next tiles in shared memory (``Staged``). They are copied
    ``stages - 1`` rounds ahead; what lies beyond the edges is 0. A
    round's tiles hold until the next begins. All threads of the block run the loop. Shared memory is the
    launch's own (dynamic), which it gives without being asked; pipelines of a kernel have it in turn.

    Args:
        tiles: iterators over matrices, of extents that are powers of two; the first says how many rounds.
        stages: how many rounds' tiles there is room for, at least 2.

    Raises:
        CompileError: an operand is no iterator, or ``stages`` no such number.
    """
    for tile in tiles:
        if not isinstance(tile, LayoutTensorIter):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "write x.tiled_iterator[64, 32](i, 0, axis=1)"
            message = f"tile.pipeline() runs over iterators of tiles, not {a_(type(tile).__name__)}"
            refuse("operand", message, hint=hint)
        if len(tile.sizes) != 2:
            message = f"tile.pipeline() brings matrices, not tiles of {len(tile.sizes)} axes"
            refuse("rank", message, hint="take a part of the tensor first: x[z].tiled_iterator[64, 32](i, 0)")
    if type(stages) is not int or stages < 2 or not tiles:
        refuse("operand", f"tile.pipeline() has at least 2 stages, not {stages!r}", hint="write stages=3")
    return Staging(tiles, stages, rounds=rounds_by_hardware(tiles, shapes_of(tiles)))


class Stream:
    """The rounds of one operand, as ``streams`` makes them: ``stream[n]`` is round n, in shared memory."""

    def __init__(self, rounds: Any, at: Callable[[Any], Any]) -> None:
        self.rounds = rounds
        """How many there are."""
        self._at = at

    def __getitem__(self, number: Any) -> Any:
        return self._at(number)


def streams(*tiles: LayoutTensorIter[Any], stages: int = 2) -> tuple[Stream, ...]:
    """Tiles of several operands, each of which goes its own pace: one may be a round ahead of another.

    ``keys, values = tile.streams(k_tiles, v_tiles)`` begins to copy; ``keys[n]`` is round n of the first, in
    shared memory. Each operand's rounds are asked for once each and in order, all of them, by all threads of
    the block; a round's tile holds until the next of its operand is asked for.

    Args:
        tiles: iterators, as for ``pipeline``.
        stages: how many rounds of each operand there is room for in shared memory, at least 2.
    """
    made: list[Staging] = []
    start = 0
    for tile in tiles:
        staging = pipeline(tile, stages=stages)
        staging.start, (shape,) = start, shapes_of([tile])
        room = stages * prod(shape) * tile.tensor.dtype.itemsize
        start += -(-room // _ALIGNMENT) * _ALIGNMENT
        made.append(staging)
    return tuple([Stream(*staging.__weft_whole_loop__()) for staging in made])


def shapes_of(tiles: Sequence[LayoutTensorIter[Any]]) -> list[Shape]:
    """The extents of iterators' tiles.

    Raises:
        CompileError: they are no powers of two.
    """
    return [checked(tuple([extent for extent, _ in modes(tile.get().layout)])) for tile in tiles]


@func
def _fetch(
    tiles: Any, into: Any, round: Int, there: Any, *, shape: Comptime[Shape], threads: Comptime[int]
) -> None:
    if there:
        _copy(tiles[round], into, shape, threads)


def _copy(tensor: Any, into: Any, shape: Shape, threads: int) -> None:
    """Begin to copy a tile, 16 bytes a thread at once where memory lies so."""
    size = tensor.dtype.itemsize
    (_, down), (_, along) = modes(tensor.layout)
    each = max(1, CHUNK // size)
    whole = is_static(along) and along == 1 and shape[1] % each == 0
    whole = whole and tensor.alignment % CHUNK == 0 and is_static(down) and down * size % CHUNK == 0
    width = each if whole else 1
    across = shape[1] // width
    for first in range(0, shape[0] * across, threads):
        number = thread_idx.x + first
        if shape[0] * across < threads:
            _some(tensor, into, number, shape=shape, width=width, limit=shape[0] * across)
        else:
            _one(tensor, into, number // across, number % across * width, shape, width)


@func
def _some(
    tensor: Any,
    into: Any,
    number: Int,
    *,
    shape: Comptime[Shape],
    width: Comptime[int],
    limit: Comptime[int],
) -> None:
    if number < limit:
        across = shape[1] // width
        _one(tensor, into, number // across, number % across * width, shape, width)


def _one(tensor: Any, into: Any, row: Any, column: Any, shape: Shape, width: int) -> None:
    target = into + place(shape, tensor.dtype.itemsize, row, column)
    if width == 1:
        target[0] = tensor[row, column]
        return
    if tensor.edges is None:
        async_copy(tensor.address(row, column), target)
        return
    rows, columns = (edge_of(tensor.edges, tensor.layout, None, n).limit for n in (0, 1))
    left = (row < rows).select(_between(columns - column, width), 0)
    here = left > 0
    source = tensor.address(here.select(row, 0), here.select(column, 0))
    async_copy(source, target, src_size=left * tensor.dtype.itemsize)


def _between(count: Any, most: int) -> Any:
    from weft.math import max, min

    return max(min(Int(count), Int(most)), Int(0))
