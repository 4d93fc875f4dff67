"""Tiles in shared memory, as tensor cores read them: rows of up to 128 bytes, swizzled, panel behind panel.

Of row r the 16 bytes number c lie at ``c ^ (r % 8)`` in lines of 128 bytes, so that eight rows that are read
together meet all banks; it is what ``ldmatrix``, ``wgmma`` and ``cp.async`` all want.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from weft.dtype import DType
from weft.gpu.lanes import lane_id
from weft.gpu.mma import ld_matrix
from weft.gpu.sync import barrier
from weft.gpu.wgmma import async_proxy_fence
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.intrinsics import Feature, current_target
from weft.lang.pointer import Pointer
from weft.lang.spec import Leaf, Spec, leaves_of, spec_of
from weft.record import record
from weft.tile.distribution import Distribution, Shape, first_of
from weft.tile.registers import joined, pieces
from weft.tile.room import CHUNK, for_the_kernel
from weft.tile.running import settle
from weft.tile.tile import Tile

__all__ = ["LINE", "Staged", "place", "staged"]

LINE = 128
"""Bytes of a row of a panel, at most."""
T = TypeVar("T")


def place(shape: Shape, itemsize: int, row: Any, column: Any) -> Any:
    """Where an element lies in swizzled panels of rows, in elements.

    Args:
        shape: rows and columns, powers of two.
        itemsize: bytes of an element.
        row: a number, known at compile time or not.
        column: likewise.
    """
    rows, wide = shape[0], min(shape[1], LINE // itemsize)
    each = max(1, CHUNK // itemsize)
    chunks = wide // each
    within, offset = column % wide, row * wide
    if chunks > 1:
        turned = row // (LINE // (wide * itemsize)) % chunks
        within = ((within // each) ^ turned) * each + within % each
    if shape[1] > wide:
        offset = offset + column // wide * (rows * wide)
    return offset + within


class Staged(Generic[T]):
    """A matrix in the block's shared memory, an operand of ``weft.tile.dot``; what ``pipeline`` gives."""

    __slots__ = ("pointer", "ring", "rows", "turned")

    def __init__(self, pointer: Pointer[T], rows: Shape, turned: bool = False, ring: int = 0) -> None:
        self.pointer: Pointer[T] = pointer
        self.rows: Shape = rows
        """Extents as the rows lie in memory."""
        self.turned: bool = turned
        self.ring: int = ring
        """Which memory it lies in that others take after it; 0 for none."""

    def __weft_spec__(self) -> Spec:
        return StagedSpec(Staged, spec_of(self.pointer), self.rows, self.turned, self.ring)

    def __weft_leaves__(self) -> list[Any]:
        return leaves_of(self.pointer)

    @property
    def shape(self) -> Shape:
        """Rows and columns."""
        return self.rows[::-1] if self.turned else self.rows

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        return self.pointer.dtype

    @property
    def T(self) -> Staged[T]:
        """The matrix with its axes the other way round; nothing moves."""
        return Staged(self.pointer, self.rows, not self.turned, self.ring)

    def at(self, row: Any, column: Any) -> Pointer[T]:
        """The address of an element."""
        if self.turned:
            row, column = column, row
        return self.pointer + place(self.rows, self.dtype.itemsize, row, column)

    def read(self, distribution: Distribution, row: int = 0, column: int = 0) -> Any:
        """A thread's elements of the part that begins at a row and a column."""
        first, size = distribution.of_thread(), self.dtype.itemsize
        width = min(distribution.vector(0 if self.turned else 1), max(1, CHUNK // size))
        every = [distribution.of_register(n) for n in range(0, distribution.count, width)]
        places = [self.at(row + first[0] + more[0], column + first[1] + more[1]) for more in every]
        return joined([place.load(0, width=width, alignment=width * size) for place in places])

    def tile(self) -> Tile[T]:
        """The elements in registers."""
        from weft.tile.making import usual

        distribution = usual(self.shape, self.dtype.itemsize)
        return Tile(distribution, self.read(distribution))

    def matrices(self, row: Any, column: Any, by_rows: bool) -> Any:
        """16 x 16 elements of 16 bits in the lanes of a warp, as ``mma`` has them: one ``ldmatrix``.

        Args:
            row: the first.
            column: the first.
            by_rows: as a left operand, of which lanes have rows; else as two right ones, columns.
        """
        number = lane_id() // 8
        low, high = number % 2 * 8, number // 2 * 8
        along = lane_id() % 8
        if by_rows != self.turned:  # the 8 rows of a matrix are those of memory that the first bit parts
            down, across = (low + along, high) if by_rows else (high + along, low)
        else:
            down, across = (high + along, low) if by_rows else (low + along, high)
        first = (column, row) if self.turned else (row, column)
        offset = place(self.rows, self.dtype.itemsize, first[0] + down, first[1] + across)
        return ld_matrix(self.pointer + offset, 8, transpose=by_rows == self.turned)


@record
class StagedSpec:
    """What the compiler knows of a staged matrix."""

    cls: type[Any]
    pointer: Spec
    rows: Shape
    turned: bool
    ring: int

    def leaves(self) -> Sequence[Leaf]:
        """The address."""
        return self.pointer.leaves()

    def build(self, leaves: Sequence[Any]) -> Any:
        """The matrix, from its address."""
        return self.cls(self.pointer.build(leaves), self.rows, self.turned, self.ring)

    def describe(self) -> str:
        """How a message names it."""
        return f"Staged {self.rows[0]} x {self.rows[1]}"


def staged(tile: Tile[Any]) -> Staged[Any]:
    """A matrix put into shared memory, as ``dot`` reads it: an operand that a loop multiplies many times.

    All threads of the block come here. A line that runs again, in a loop say, writes to the same memory.
    """
    memory = for_the_kernel(tile.shape, tile.dtype, alignment=1024)
    _store(memory, tile.values, distribution=tile.distribution)
    return Staged(memory, tile.shape)


@func
def _store(memory: Any, values: Any, *, distribution: Comptime[Distribution]) -> None:
    settle()
    barrier()  # what was there before has been read
    if first_of(distribution.replicas):
        _fill(memory, values, distribution)
    fence()
    barrier()


def _fill(memory: Any, values: Any, distribution: Distribution) -> None:
    size = memory.dtype.itemsize
    width = min(distribution.vector(1), max(1, CHUNK // size))
    first = distribution.of_thread()
    for n, piece in enumerate(pieces(values, width)):
        more = distribution.of_register(n * width)
        at = place(distribution.shape, size, first[0] + more[0], first[1] + more[1])
        memory.store(at, piece, alignment=width * size)


def fence() -> None:
    """What this thread has written to shared memory is there for ``wgmma``, behind the next barrier."""
    if current_target().supports(Feature.WGMMA):
        async_proxy_fence()
