"""Products of tiles by tensor cores: ``mma.sync`` of each warp, or ``wgmma`` of four warps together."""

from __future__ import annotations

from typing import Any, cast

from weft.gpu import warp
from weft.gpu.indices import thread_idx
from weft.gpu.mma import mma
from weft.gpu.wgmma import wgmma_async
from weft.lang.scalars import Int32
from weft.tile.distribution import Bit, Distribution, bits_of
from weft.tile.exchange import distributed, within_threads
from weft.tile.registers import joined, lane, picked, pieces
from weft.tile.staged import LINE, Staged, staged
from weft.tile.tile import Tile

__all__ = ["STEP", "by_warpgroups", "by_warps"]

STEP = 32
"""Bytes of columns that one instruction multiplies."""


def by_warps(left: Any, right: Staged[Any], sums: Any, to: Distribution) -> Any:
    """By ``mma.sync``: for each 32 bytes of columns of ``left`` all products of fragments."""
    slab = STEP // left.dtype.itemsize
    (_, n), k = to.shape, left.shape[1]
    wide = (n >> len(_of_axis(to, 1))) // 8
    rows, columns = _Rows(left, to, slab), _Columns(right, to, slab, wide)
    parts = pieces(sums, 4)
    for step in range(k // slab):
        a, b = rows.fragments(step), columns.fragments(step)
        parts = [mma(a[i // wide], b[i % wide], c) for i, c in enumerate(parts)]
    return joined(parts)


def _of_axis(to: Distribution, axis: int) -> list[int]:
    """The bits of a thread's number, beyond its warp's lanes, that are an axis's."""
    return [n for n, found in enumerate(to.threads) if n >= 5 and found is not None and found[0] == axis]


def _start(to: Distribution, axis: int) -> Any:
    """Where along an axis a warp begins."""
    first: Any = 0
    for n in _of_axis(to, axis):
        _, bit = _bit(to, n)
        first = first + ((thread_idx.x >> n & 1) << bit)
    return first


def _bit(to: Distribution, number: int) -> Bit:
    found = to.threads[number]
    assert found is not None
    return found


def left_of(to: Distribution, k: int, each: int) -> Distribution:
    """As warps hold the left operand of a product whose sums are held as ``to`` says.

    Args:
        to: the sums' distribution.
        k: columns of the operand.
        each: elements in 32 bits.
    """
    low = bits_of(each)
    lanes = (1, low), (1, low + 1), (0, 0), (0, 1), (0, 2)
    bands = [found if found is not None and found[0] == 0 else None for found in to.threads[5:]]
    blocks = [bit for bit in to.registers if bit[0] == 0 and bit[1] > 3]
    own = [*[(1, n) for n in range(low)], (0, 3), (1, low + 2), *blocks]
    own += [(1, n) for n in range(low + 3, bits_of(k))]
    return Distribution((to.shape[0], k), tuple(own), (*lanes, *bands))


class _Rows:
    """The left operand's fragments, of 16 rows each."""

    def __init__(self, x: Any, to: Distribution, slab: int) -> None:
        self.slab = slab
        self.high = 1 << len([bit for bit in to.registers if bit[0] == 0 and bit[1] > 3])
        self.step = 16 << len(_of_axis(to, 0))
        self.first = _start(to, 0)
        self.part = left_of(to, slab, 4 // x.dtype.itemsize)
        self.held = _fragments_of(x, to, slab)
        self.x: Any = staged(cast("Tile[Any]", x)) if isinstance(x, Tile) and not self.held else x

    def fragments(self, step: int) -> list[Any]:
        """Those of some columns."""
        if self.held:
            return self.held[step * self.high : (step + 1) * self.high]
        if self.slab == 16:
            rows = [self.first + i * self.step for i in range(self.high)]
            return [self.x.matrices(row, step * 16, True) for row in rows]
        return pieces(self.x.read(self.part, 0, step * self.slab), self.slab // 2)


class _Columns:
    """The right operand's fragments, of 8 columns each."""

    def __init__(self, x: Staged[Any], to: Distribution, slab: int, wide: int) -> None:
        self.x, self.slab, self.wide = x, slab, wide
        self.first = _start(to, 1)
        low = bits_of(4 // x.dtype.itemsize)
        lanes = (0, low), (0, low + 1), (1, 0), (1, 1), (1, 2)
        parts = [found if found is not None and found[0] == 1 else None for found in to.threads[5:]]
        blocks = [bit for bit in to.registers if bit[0] == 1 and bit[1] > 2]
        own = [*[(0, n) for n in range(low)], (0, low + 2), *blocks]
        self.way = Distribution((slab, to.shape[1]), tuple(own), (*lanes, *parts))

    def fragments(self, step: int) -> list[Any]:
        """Those of some rows."""
        if self.slab == 16:
            pairs = [self.x.matrices(step * 16, self.first + 16 * j, False) for j in range(self.wide // 2)]
            return [picked(pair, range(first, first + 4)) for pair in pairs for first in (0, 4)]
        return pieces(self.x.read(self.way, step * self.slab, 0), self.slab // 4)


def _fragments_of(x: Any, to: Distribution, slab: int) -> list[Any]:
    """A left operand's fragments, where its threads hold what they multiply; none of one in memory."""
    way = left_of(to, x.shape[1], 4 // x.dtype.itemsize)
    if not isinstance(x, Tile) or not within_threads(x.distribution, way):
        return []
    return pieces(distributed(x.distribution, x.values, way), slab // 2)


def by_warpgroups(
    left: Any, right: Staged[Any], sums: Any, to: Distribution, running: int | None = None
) -> tuple[Any, int]:
    """By ``wgmma``: for each 64 rows of a warpgroup the products of 128 bytes of columns at once, begun.

    Returns:
        the sums, which are the hardware's until they are waited for, and how many groups of products these
        are. With ``running`` all those before but so many rounds like this one have ended.
    """
    (m, n), k = to.shape, left.shape[1]
    groups = len(_of_axis(to, 0)) - 2
    first, step = (warp.broadcast(Int32(thread_idx.x) >> 7 << 6), 64 << groups) if groups else (0, 64)
    held = _fragments_of(left, to, STEP // left.dtype.itemsize)
    if isinstance(left, Tile) and not held:
        left = staged(cast("Tile[Any]", left))
    whole = bool(held) and not right.turned
    count = m // step * (1 if whole else k * left.dtype.itemsize // LINE)
    made: list[Any] = []
    for i, part in enumerate(pieces(sums, n // 2)):
        now = tuple([lane(part, number) for number in range(part.lanes)])
        rows: Any = held[i :: m // step] if held else (left, first + i * step)
        made.append(_chained(rows, right, now, (n, k), None if running is None else running * count))
    return joined([joined(now) for now in made]), count


def _chained(rows: Any, right: Staged[Any], sums: Any, extents: tuple[int, int], running: int | None) -> Any:
    """The products of 64 rows, fragments or where they lie, with all of the right operand, begun."""
    (n, k), major = extents, "k" if right.turned else "n"
    if isinstance(rows, list) and not right.turned:
        return wgmma_async(cast("Any", rows), right.pointer, sums, wait=running, b_major="n")
    deep = LINE // right.dtype.itemsize
    for panel in range(k // deep):
        there = right.pointer + (panel * n * deep if right.turned else 0)
        if isinstance(rows, list):
            some = cast("Any", rows)[4 * panel : 4 * panel + 4]
            sums = wgmma_async(some, there, sums, wait=running, b_major=major)
            continue
        left, row = rows
        here = left.pointer + _of_left(left, row, panel, deep)
        sums = wgmma_async(
            here, there, sums, wait=running, a_major="m" if left.turned else "k", b_major=major
        )
    return sums


def _of_left(left: Staged[Any], row: Any, panel: int, deep: int) -> Any:
    """Where the rows of a warpgroup begin."""
    if left.turned:
        return row // deep * (left.shape[1] * deep) + panel * deep * deep
    return panel * left.shape[0] * deep + row * deep
