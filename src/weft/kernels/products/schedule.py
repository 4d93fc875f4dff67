"""Which tiles of a product blocks multiply, and in what order."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft import Comptime, Int, UInt32, func
from weft.gpu import block_idx
from weft.lang import struct


class Form(NamedTuple):
    """What a kernel by ``warpgroups`` is compiled for."""

    tile: tuple[int, int]
    """Rows and columns."""
    beside: int
    """Warpgroups that share a tile's columns, side by side; the others share its rows."""
    stages: int
    band: int
    """Rows of tiles that blocks go through from left to right together."""
    cluster: int
    """Blocks with tiles beneath each other, each of which brings its part of the columns' side to all."""
    majors: tuple[Any, Any]
    """Along what the sides lie: ``k``, ``m`` or ``n``."""
    shared: tuple[bool, bool]
    """Which of the sides all batches have in common."""
    split: bool = False
    """Whether k is split."""
    along: int = 1
    """Blocks of a cluster that share what of k a unit has, and the columns of its sums."""
    groups: int = 2
    """Warpgroups that multiply."""

    @property
    def held(self) -> int:
        """Columns that a stage has room for: whole panels where they lie across k."""
        return self.tile[1] if self.majors[1] == "k" else -(-self.tile[1] // 64) * 64

    @property
    def blocks(self) -> int:
        """Blocks of a cluster."""
        return self.cluster * self.along


@struct
class Schedule:
    """Units of work: the first ``whole`` tiles are one each, the others as many as k has parts."""

    rows: Int
    """Of the result."""
    down: Int
    """Rows of tiles, of a cluster's where there are clusters."""
    across: Int
    steps: Int
    """Stages along k."""
    splits: Int
    whole: Int
    rest: Int
    """Tiles of which k is split."""
    rank: Int
    """The block's number in its cluster of tiles beneath each other."""
    share: Int
    """The block's number in its cluster along k."""

    @property
    def units(self) -> Int:
        """How many there are."""
        return self.whole + self.rest * self.splits

    def part(self, unit: Any) -> tuple[Any, Any]:
        """Of a unit that is a part: which of the split tiles it is of, and which part."""
        some, rest = UInt32(unit - self.whole), UInt32(self.rest)
        return Int(some % rest), Int(some // rest)

    def found(self, unit: Any, table: Any, form: Form) -> Any:
        """The matrices of a unit, its first row and column, the end of its rows, and its steps along k."""
        tile, first, last = unit, Int(0), self.steps
        if form.split:
            each = Int(UInt32(self.steps + self.splits - 1) // UInt32(self.splits))
            splits = unit >= self.whole
            own, part = self.part(unit)
            tile = splits.select(self.whole + own, unit)
            first = splits.select(part * each, Int(0))
            last = (splits & (first + each < self.steps)).select(first + each, self.steps)
        if form.along > 1:
            each = -(-(last - first) // form.along)
            first = min(first + self.share * each, last)
            last = min(first + each, last)
        one, count, (bm, bn) = UInt32(tile), UInt32(self.down * self.across), form.tile
        row, col = place(Int(one % count), self.down, self.across, form.band)
        if table:
            z, begin, end = (table[0][3 * row + i].cast(Int) for i in range(3))
            return z, begin, col * bn, end, Int(0), (begin < end).select(self.steps, Int(0))
        return Int(one // count), (row * form.cluster + self.rank) * bm, col * bn, self.rows, first, last


@func
def place(tile: Int, down: Int, across: Int, band: Comptime[int]) -> tuple[Int, Int]:
    """Row and column of a tile of the result, counted in tiles: bands of rows, from left to right.

    Numbers of tiles have 32 bits, as divisions of 64 take long.
    """
    one, wide = UInt32(tile), UInt32(across * band)
    first = one // wide * band
    high = min(UInt32(down) - first, UInt32(band))
    return Int(first + one % wide % high), Int(one % wide // high)


@func
def own_part(
    extents: Any,
    batches: Int,
    splits: Int,
    *,
    tile: Comptime[tuple[int, int]],
    deep: Comptime[int],
    band: Comptime[int],
) -> tuple[Int, Int, Int, Int, Int, Int]:
    """The block's part of k, matrix, first row and column, and of the part's steps the first and how many."""
    m, n, k = extents
    down, across, steps = -(-m // tile[0]), -(-n // tile[1]), -(-k // deep)
    other, unit = block_idx.x // (down * across), block_idx.x % (down * across)
    row, col = place(unit, down, across, band)
    part, each = other // batches, -(-steps // splits)
    first = part * each
    return part, other % batches, row * tile[0], col * tile[1], first, max(0, min(each, steps - first))
