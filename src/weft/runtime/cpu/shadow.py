"""What checked launches note of memory: where it is, and what it says of an access that is wrong."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import KernelInfo
from weft.abi.cpu_limits import MOST_THREADS
from weft.abi.shadow import (
    ADDRESS,
    CELL_BYTES,
    FENCES,
    FRESH,
    READ,
    SITE,
    SITES,
    THREAD,
    TICK,
    UNDER_WAY,
    WORD,
    Copy,
    Entry,
    Piece,
    Shadow,
)
from weft.runtime.cpu.beside import Touched
from weft.runtime.cpu.memory import Block
from weft.runtime.cpu.new_memory import New, around, forget, wrote
from weft.runtime.cpu.pieces import NULL, pieces
from weft.runtime.forks import after_fork

_SHARED_BYTES = 320 << 10
"""More than a block's shared memory has, each byte of which may have a cell."""
_SPARE = 4
"""So many blocks of cells wait to be used again."""
_LOGGED = 1 << 20
"""Blocks of a launch whose ticks are known afterwards."""


_COPIES = 1 << 18
"""Copies of a launch that may be under way at once; further ones count as made."""


class Noticed(NamedTuple):
    """An access: its site, the number of its block, if that is known, that of its thread.

    ``under_way``: it is a copy that nobody has waited for.
    """

    site: int
    block: int | None
    thread: int
    under_way: bool


class Memory(NamedTuple):
    """What a pointer argument is for: its address, bytes from, to, and whether they are written."""

    address: int
    low: int
    high: int
    written: bool


def memory_of(kernel: KernelInfo, arguments: Any) -> list[Memory]:
    """The memory of a checked kernel's pointers; what it writes without notes is from now on not new."""
    pointers = [(n, p.written) for n, p in enumerate(kernel.signature.parameters) if p.pointer]
    count, end = len(pointers), len(kernel.signature.parameters)
    if kernel.granule:
        end -= count + 2
    ends = [ctypes.c_int64(arguments[n]).value for n in range(end - 2 * count, end)]
    each = zip(pointers, ends[::2], ends[1::2], strict=True)
    found = [
        Memory(arguments[n], arguments[n] + low, arguments[n] + high, written)
        for (n, written), low, high in each
    ]
    if not kernel.notes_all:
        for memory in found:
            if memory.written:
                wrote(memory.low, memory.high - memory.low)
    return found


class Noted:
    """What is noted of all memory of the process; a launch uses it alone.

    Cells say nothing beyond their launch, so all launches use the same ones.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._cells = Block(0)
        self._shared = Block(_SHARED_BYTES * CELL_BYTES)
        self._log = Block(ctypes.sizeof(Entry) * (_LOGGED + 1))
        self._threads = Block(FENCES * WORD * MOST_THREADS)
        self._copies = Block(_COPIES * ctypes.sizeof(Copy))
        self._last = 0
        self._pieces: Any = None
        self._spare: list[Block] = []
        """For launches that follow those whose cells are held."""
        self._touched: list[Touched] = []
        """The memory that the launch uses."""
        self._held: list[New] = []
        """New memory that the launch uses."""

    def begin(self, kernel: KernelInfo, arguments: Any, blocks: int, *, several: bool) -> Shadow:
        """Give a launch what its kernel takes behind the ends of memory: in its arguments, words.

        ``blocks`` have shared memory at the same time. ``several``: there are launches beside it, so what
        only is read is noted too.
        """
        first = self._last + (1 << TICK)
        memory = memory_of(kernel, arguments)
        count, end = len(memory), len(kernel.signature.parameters)
        fixed, granule = kernel.shared_cells
        given = arguments[end - 3 - 3 * count]
        stride = (fixed + -(-given // granule)) * CELL_BYTES
        if blocks * stride > self._shared.nbytes:
            self._shared = Block(blocks * stride)
        shared, log = self._shared.address, self._log.address
        made = Shadow(first, first, first, shared=shared, log=log, room=_LOGGED, began=first, stride=stride)
        made.threads = self._threads.address
        made.fresh, made.full = self._copies.address, self._copies.address + self._copies.nbytes
        wholes = self._wholes(kernel, memory, several=several)
        if several:
            self._touched = [
                Touched(low, high, kernel.finds or _written(memory, low, high), cells, kernel.granule, first)
                for (low, high), cells in wholes
                if cells
            ]
        for n, known in enumerate(memory, end - 2 - count):
            (low, _), cells = wholes[bisect_right(wholes, known.low, key=lambda whole: whole[0][0]) - 1]
            arguments[n] = cells and cells + (known.address - low) // kernel.granule * CELL_BYTES
        if kernel.finds:
            self._pieces = _pieces_of(wholes)
            made.pieces, made.count = ctypes.addressof(self._pieces), len(self._pieces) - 1
        arguments[end - 2 : end] = shared, ctypes.addressof(made)
        return made

    def _wholes(
        self, kernel: KernelInfo, memory: Sequence[Memory], *, several: bool
    ) -> list[tuple[tuple[int, int], int]]:
        """The memory that a launch notes, by its ends, and where its cells are.

        What nobody writes has none, if somebody has written it before.
        """
        granule, ends = kernel.granule, [m[1:3] for m in memory]
        if kernel.finds:
            ends += [(low, high) for low, high, there in pieces() if there]
        wholes: list[tuple[int, int]] = []
        for low, high in sorted(ends):
            if wholes and low < wholes[-1][1]:
                wholes[-1] = wholes[-1][0], max(high, wholes[-1][1])
            else:
                wholes.append((low, high))
        new = [around(low, high) for low, high in wholes]
        needed = [kernel.finds or several or _written(memory, low, high) for low, high in wholes]
        sizes = [
            0 if known or not need else -(-(high - low) // granule) * CELL_BYTES
            for (low, high), need, known in zip(wholes, needed, new, strict=True)
        ]
        if sum(sizes) > self._cells.nbytes:
            self._cells = Block(sum(sizes))
        places = itertools.accumulate(sizes, initial=self._cells.address)
        only = [0 if kernel.finds or _written(memory, low, high) else 1 << READ for low, high in wholes]
        cells = [(place | read) * need for place, need, read in zip(places, needed, only, strict=False)]
        for n, known in enumerate(new):
            if known is not None:
                begin = (wholes[n][0] - known.address) // granule * CELL_BYTES
                cells[n] = known.cells(granule) + begin | 1 << FRESH
                self._held.append(known)
        return list(zip(wholes, cells, strict=True))

    def touched(self) -> list[Touched]:
        """What a launch beside others has used: its cells are held, and the next one takes others.

        Those of memory that was new stay with it, so of these there are copies, unless nothing is new now.
        """
        found: list[Touched] = []
        lent = _Lent()
        weakref.finalize(lent, self._spare.append, self._cells).atexit = False
        for each in self._touched:
            keeps, cells, size = lent, each.cells, -(-(each.high - each.low) // each.granule) * CELL_BYTES
            if cells >> FRESH & 1:
                keeps = next(new for new in self._held if new.address <= each.low < new.address + new.nbytes)
                if keeps.is_written():
                    forget(keeps.address)
                else:
                    keeps = Block(size)
                    ctypes.memmove(keeps.address, cells & ADDRESS, size)
                    cells = keeps.address
            found.append(each._replace(keeps=keeps, cells=cells, nbytes=size))
        self._cells = self._spare.pop() if self._spare else Block(0)
        del self._spare[_SPARE:]
        return found

    def end(self, shadow: Shadow) -> None:
        """The launch has ended."""
        self._last = shadow.last
        self._held.clear()
        self._touched.clear()

    def access_of(self, shadow: Shadow, record: int) -> Noticed:
        """The access that a record is of."""
        tick, block = record >> TICK, None
        entries = (Entry * shadow.logged).from_address(shadow.log)
        n = bisect_right(range(shadow.logged), tick, key=lambda k: entries[k].first >> TICK) - 1
        if 0 <= n < _LOGGED - 1:
            block = entries[n].number
        thread, under_way = (record & (1 << SITE) - 1) >> THREAD, bool(record & UNDER_WAY)
        return Noticed(record >> SITE & SITES - 1, block, thread, under_way)


class _Lent:
    """Stands for cells that are held: when nobody has it any more, they are given back."""


def _written(memory: Sequence[Memory], low: int, high: int) -> bool:
    return any(m.written and low < m.high and m.low < high for m in memory)


def _pieces_of(wholes: Sequence[tuple[tuple[int, int], int]]) -> Any:
    """What a launch knows of the memory of the process."""
    found = [(low, high, high - low, cells) for (low, high), cells in wholes]
    found += [(low, high, 0, 0) for low, high, there in pieces() if not there]
    each = [Piece(*one) for one in sorted([(0, NULL, 0, 0), *found])]
    return (Piece * (len(each) + 1))(*each, Piece(0, 1 << 62, 1 << 62, 0))


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
