"""Loops over tiles of memory, some of which are on their way to shared memory while others are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.diagnostics import refuse
from weft.gpu.indices import thread_idx
from weft.gpu.memory import async_copy, async_copy_commit_group, async_copy_wait_group
from weft.gpu.sync import barrier
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.generic import written
from weft.lang.scalars import Int, UInt8
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import modes
from weft.layout.tensor.edge import edge_of
from weft.layout.tensor.iterator import LayoutTensorIter
from weft.memory import dynamic_shared_memory
from weft.tile.distribution import Shape
from weft.tile.making import block_threads
from weft.tile.shapes import checked
from weft.tile.staged import CHUNK, Staged, fence, place

__all__ = ["Staging", "pipeline"]

_ALIGNMENT = 1024


class Staging:
    """What ``for`` runs over, as ``pipeline`` makes it."""

    def __init__(self, tiles: Sequence[LayoutTensorIter[Any]], stages: int, running: int = 0) -> None:
        self.tiles = tiles
        self.stages = stages
        self.running = running
        """Rounds before this one whose tiles may still be read: by products that run on."""

    def __weft_loop__(self) -> tuple[Any, Callable[[Any], Any]]:
        """How many rounds, and what each gives; the copies of the first are begun here."""
        firsts = [tile.get() for tile in self.tiles]
        shapes = [checked(tuple([extent for extent, _ in modes(first.layout)])) for first in firsts]
        sizes = [rows * columns * f.dtype.itemsize for f, (rows, columns) in zip(firsts, shapes, strict=True)]
        sizes = [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes]
        memory = dynamic_shared_memory(UInt8, self.stages * sum(sizes), alignment=_ALIGNMENT)
        lengths = [tile.__weft_loop__()[0] for tile in self.tiles]
        count: Any = Int(lengths[0])
        threads, ahead = block_threads(), self.stages - 1 - self.running

        def part(stage: Any, number: int) -> Any:
            start = stage * sum(sizes) + sum(sizes[:number])
            return (memory + start).bitcast(written(firsts[number].dtype))

        def fetch(round: Any) -> None:
            stage = round % self.stages
            for number, (tile, shape) in enumerate(zip(self.tiles, shapes, strict=True)):
                _fetch(tile, part(stage, number), round, round < count, shape=shape, threads=threads)
            async_copy_commit_group()

        def at(round: Any) -> Any:
            async_copy_wait_group(max(0, ahead - 1))
            fence()
            barrier()  # this round's tiles are there, and all have used those of the round before
            if ahead:
                fetch(Int(round) + ahead)
            stage = round % self.stages
            found = [Staged[Any](part(stage, n), shape) for n, shape in enumerate(shapes)]
            return tuple(found) if len(found) > 1 else found[0]

        barrier()
        for round in range(ahead):
            fetch(Int(round))
        return count, at

    def __iter__(self) -> Iterator[Any]:
        length, at = self.__weft_loop__()
        return map(at, range(length))


def pipeline(*tiles: LayoutTensorIter[Any], stages: int = 3) -> Any:
    """Tiles of memory one after the other, for ``dot``, copied some rounds ahead of their use.

    ``for a, b in tile.pipeline(x.tiled_iterator[64, 32](i, 0, axis=1), y.tiled_iterator[32, 64](0, j))`` is a
    loop of the device that gives each round the next tiles in shared memory (``Staged``). They are copied
    ``stages - 1`` rounds ahead, by ``cp.async`` on GPUs that have it; what lies beyond the edges is 0. A
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
            refuse("operand", "tile.pipeline() runs over iterators of tiles", hint=hint)
    if type(stages) is not int or stages < 2 or not tiles:
        refuse("operand", f"tile.pipeline() has at least 2 stages, not {stages!r}", hint="write stages=3")
    return Staging(tiles, stages)


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
