"""What checked launches note of memory: where it is, and what it says of an access that is wrong."""

from __future__ import annotations

import ctypes
import itertools
import threading
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import KernelInfo
from weft.abi.cpu_launch import MOST_THREADS
from weft.abi.shadow import CELL_BYTES, SITE, SITES, THREAD, TICK, WORD, Entry, Shadow
from weft.runtime.cpu.memory import Block
from weft.runtime.forks import after_fork

_SHARED_BYTES = 320 << 10
"""More than a block's shared memory has, each byte of which may have a cell."""
_LOGGED = 1 << 20
"""Blocks of a launch whose ticks are known afterwards."""


class Noticed(NamedTuple):
    """An access: its site, the number of its block, if that is known, and that of its thread."""

    site: int
    block: int | None
    thread: int


class Noted:
    """What is noted of all memory of the process; a launch uses it alone.

    Cells say nothing beyond their launch, so all launches use the same ones.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._cells = Block(0)
        self._shared = Block(_SHARED_BYTES * CELL_BYTES)
        self._log = Block(ctypes.sizeof(Entry) * (_LOGGED + 1))
        self._threads = Block(2 * WORD * MOST_THREADS)
        self._last = 0

    def begin(self, kernel: KernelInfo, arguments: Any) -> Shadow:
        """Give a launch what its kernel takes behind the ends of memory: in its arguments, words."""
        first = self._last + (1 << TICK)
        shared, log = self._shared.address, self._log.address
        made = Shadow(first, first, first, first, 0, shared, log, 0, _LOGGED)
        made.threads = self._threads.address
        count = sum(p.pointer for p in kernel.signature.parameters)
        end = len(kernel.signature.parameters)
        cells = end - count - 2
        pointers = [(n, p.written) for n, p in enumerate(kernel.signature.parameters) if p.pointer]
        starts = [arguments[n] for n, _ in pointers]
        ends = [ctypes.c_int64(arguments[n]).value for n in range(cells - 2 * count, cells)]
        ranges = [(at + low, at + high) for at, low, high in zip(starts, ends[::2], ends[1::2], strict=True)]
        written = [range for range, (_, written) in zip(ranges, pointers, strict=True) if written]
        arguments[cells : cells + count] = self._cells_of(kernel.granule, starts, ranges, written)
        arguments[end - 2 : end] = shared, ctypes.addressof(made)
        return made

    def _cells_of(
        self,
        granule: int,
        starts: Sequence[int],
        ranges: Sequence[tuple[int, int]],
        written: Sequence[tuple[int, int]],
    ) -> list[int]:
        """Where the cells of pointers are, whose memory is in these ranges; where it is one, they are.

        What nobody writes needs none.
        """
        wholes: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if wholes and low < wholes[-1][1]:
                wholes[-1] = wholes[-1][0], max(high, wholes[-1][1])
            else:
                wholes.append((low, high))
        needed = [any(low < end and begin < high for begin, end in written) for low, high in wholes]
        sizes = [
            -(-(high - low) // granule) * CELL_BYTES * need
            for (low, high), need in zip(wholes, needed, strict=True)
        ]
        if sum(sizes) > self._cells.nbytes:
            self._cells = Block(sum(sizes))
        places = [*itertools.accumulate(sizes, initial=self._cells.address)]
        found: list[int] = []
        for start, (low, _) in zip(starts, ranges, strict=True):
            n = bisect_right(wholes, low, key=lambda whole: whole[0]) - 1
            behind = (start - wholes[n][0]) // granule * CELL_BYTES
            found.append(places[n] + behind if needed[n] else 0)
        return found

    def end(self, shadow: Shadow) -> None:
        """The launch has ended."""
        self._last = shadow.last

    def access_of(self, shadow: Shadow, record: int) -> Noticed:
        """The access that a record is of."""
        tick, block = record >> TICK, None
        entries = (Entry * shadow.logged).from_address(shadow.log)
        n = bisect_right(range(shadow.logged), tick, key=lambda k: entries[k].first >> TICK) - 1
        if 0 <= n < _LOGGED - 1:
            block = entries[n].number
        return Noticed(record >> SITE & SITES - 1, block, (record & (1 << SITE) - 1) >> THREAD)


_noted: Noted | None = None


def noted() -> Noted:
    """What is noted in this process."""
    global _noted
    if _noted is None:
        _noted = Noted()
    return _noted


def _after_fork() -> None:
    if _noted is not None:
        _noted.lock = threading.Lock()


after_fork(_after_fork)
