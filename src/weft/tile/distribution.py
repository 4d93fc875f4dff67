"""Who has what of a tile: which element each thread of a block holds in each of its registers.

Extents and threads are powers of two, so a distribution is a table of bits: each bit of a register's number
and of a thread's says one bit of an index, or nothing, where threads hold the same. What tensor cores hold,
what memory is read by, and what a reduction leaves are all such tables (after Triton's linear layouts: Zhou
et al., "Linear Layouts", 2025, of which these are those without sums of bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.gpu.indices import thread_idx
from weft.lang.scalars import Int
from weft.record import record

Bit = tuple[int, int]
"""An axis, and a bit of the index along it."""
Shape = tuple[int, ...]
LANE_BITS = 5
"""Bits of a thread's number that count the lanes of a warp."""


def bits_of(extent: int) -> int:
    """The bits of an index below a power of two."""
    return extent.bit_length() - 1


@record
class Distribution:
    """How the elements of a tile lie in the registers of a block's threads.

    ``str()`` shows the bits of registers and of threads, from the lowest on, each as the bit of the index
    that it is: in ``[j0 j1 | j2 i0 -]`` registers count neighbours in a row.
    """

    shape: Shape
    """The extents of the tile, powers of two."""
    registers: tuple[Bit, ...]
    """Of a register's number, from its lowest bit on."""
    threads: tuple[Bit | None, ...]
    """Of a thread's number; None where threads that differ in it hold the same."""

    def __str__(self) -> str:
        def shown(bits: Sequence[Bit | None]) -> str:
            return " ".join("-" if bit is None else f"{'ijklmn'[bit[0]]}{bit[1]}" for bit in bits)

        return f"[{shown(self.registers)} | {shown(self.threads)}]"

    @property
    def count(self) -> int:
        """How many elements a thread holds."""
        return 1 << len(self.registers)

    def of_register(self, number: int) -> tuple[int, ...]:
        """What a register adds to the index of its thread."""
        index = [0] * len(self.shape)
        for n, (axis, bit) in enumerate(self.registers):
            index[axis] |= (number >> n & 1) << bit
        return tuple(index)

    def of_thread(self) -> tuple[Any, ...]:
        """The index of this thread's first register: of each axis the bits that threads say."""
        thread = thread_idx.x
        index: list[Any] = [0] * len(self.shape)
        for start, length, axis, bit in self._runs():
            part = thread >> start if start else thread
            if start + length < len(self.threads):
                part = part & ((1 << length) - 1)
            part = part << bit if bit else part
            index[axis] = part if isinstance(index[axis], int) else index[axis] | part
        return tuple(index)

    def _runs(self) -> list[tuple[int, int, int, int]]:
        """Thread bits in a row that are bits in a row of one axis: first, number, axis and its first bit."""
        runs: list[tuple[int, int, int, int]] = []
        for n, found in enumerate(self.threads):
            if found is None:
                continue
            start, length, axis, bit = runs[-1] if runs else (0, 0, -1, 0)
            if (start + length, axis, bit + length) == (n, *found):
                runs[-1] = (start, length + 1, axis, bit)
            else:
                runs.append((n, 1, *found))
        return runs

    @property
    def replicas(self) -> int:
        """The thread bits in which threads hold the same, as a mask."""
        return sum(1 << n for n, found in enumerate(self.threads) if found is None)

    def vector(self, axis: int) -> int:
        """How many registers from the first on follow each other along an axis."""
        length = 0
        while length < len(self.registers) and self.registers[length] == (axis, length):
            length += 1
        return 1 << length

    def reduced(self, axis: int) -> Distribution:
        """What is left where an axis is reduced to one element."""
        shape = tuple([1 if n == axis else extent for n, extent in enumerate(self.shape)])
        registers = tuple([found for found in self.registers if found[0] != axis])
        return Distribution(
            shape, registers, tuple([f if f and f[0] != axis else None for f in self.threads])
        )

    def moved(self, axes: Sequence[int], shape: Shape) -> Distribution:
        """The same with each axis n as axis ``axes[n]`` of another shape."""

        def bit(found: Bit) -> Bit:
            return axes[found[0]], found[1]

        threads = tuple([None if found is None else bit(found) for found in self.threads])
        return Distribution(shape, tuple(map(bit, self.registers)), threads)


def blocked(shape: Shape, threads: int, vector: int, order: Sequence[int] | None = None) -> Distribution:
    """As memory is read best: vectors, side by side in threads that follow each other.

    Args:
        shape: of the tile.
        threads: of the block.
        vector: how many neighbours a thread reads at once, at most.
        order: the axes, that along which memory runs first; by default the last first.
    """
    order = tuple(reversed(range(len(shape)))) if order is None else order
    free = [(axis, bit) for axis in order for bit in range(bits_of(shape[axis]))]
    fast = bits_of(shape[order[0]]) if order else 0
    spare = max(0, len(free) - bits_of(threads))  # bits that registers must have
    width = min(bits_of(vector), fast, spare)
    own, rest = free[:width], free[width:]
    some = rest[: bits_of(threads)]
    held = (*own, *rest[bits_of(threads) :])
    return Distribution(shape, tuple(held), (*some, *([None] * (bits_of(threads) - len(some)))))


def sums_of(shape: Shape, threads: int, itemsize: int) -> Distribution:
    """As tensor cores have the sums of a product: warps one below the other, each with rows of its own.

    What is too small for that, and what has no two axes, is as memory has it.
    """
    if len(shape) != 2 or shape[0] < 16 or shape[1] < 16:
        return blocked(shape, threads, 16 // itemsize)
    rows, columns = bits_of(shape[0]), bits_of(shape[1])
    warps = bits_of(threads) - LANE_BITS
    down = min(warps, rows - 4)
    across = min(warps - down, columns - 4)
    lanes = ((1, 1), (1, 2), (0, 0), (0, 1), (0, 2))
    bands = tuple([(0, 4 + n) for n in range(down)])
    parts = tuple([(1, columns - across + n) for n in range(across)])
    held = [(1, 0), (0, 3), *[(1, n) for n in range(3, columns - across)]]
    held += [(0, n) for n in range(4 + down, rows)]
    return Distribution(shape, tuple(held), (*lanes, *bands, *parts, *([None] * (warps - down - across))))


def first_of(replicas: int) -> Any:
    """Whether this is the first of the threads that hold the same."""
    return (thread_idx.x & replicas) == Int(0)
