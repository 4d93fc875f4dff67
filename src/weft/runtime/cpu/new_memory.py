"""Memory that is new to checked launches: what of it the host or a kernel has written."""

from __future__ import annotations

import ctypes
import itertools
import threading
from array import array
from typing import Any

from weft.abi.shadow import CELL, CELL_BYTES, HOST, WORD
from weft.runtime.cpu.memory import Block
from weft.runtime.forks import after_fork


class New:
    """One allocation that the host has not written as a whole: its cells stay from launch to launch."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.address, self.nbytes = address, nbytes
        self.wrote: list[tuple[int, int]] = []
        """What the host has written: bytes from, to; of which the cells do not say it yet."""
        self._granule = 0
        self._cells: Block | None = None

    def cells(self, granule: int) -> int:
        """Where its cells are, one for so many bytes."""
        if self._granule != granule:
            before, old = self._cells, self._granule
            count = -(-self.nbytes // granule)
            self._cells, self._granule = Block(count * CELL_BYTES), granule
            if before is not None:
                records, made = _records(before), _records(self._cells)
                for n in range(count):
                    made[n] = records[n * granule // old]
        assert self._cells is not None
        while self.wrote:
            low, high = self.wrote.pop()
            low, high = low // granule, -(-high // granule)
            _records(self._cells)[low:high] = memoryview(array("Q", [HOST]) * (high - low))
        return self._cells.address

    def written(self) -> list[tuple[int, int]]:
        """Which bytes somebody has written, from, to."""
        if self._cells is None:
            return list(self.wrote)
        self.cells(self._granule)
        if self.is_written():
            return [(0, self.nbytes)]
        found: list[tuple[int, int]] = []
        begin = 0
        for record, run in itertools.groupby(_records(self._cells), bool):
            end = begin + sum(1 for _ in run) * self._granule
            if record:
                found.append((begin, end))
            begin = end
        return found

    def is_written(self) -> bool:
        """Whether somebody has written all of it."""
        return self._cells is not None and not self.wrote and 0 not in _records(self._cells)


def _records(cells: Block) -> Any:
    """Who wrote last, of each cell."""
    words = (ctypes.c_uint64 * (cells.nbytes // WORD)).from_address(cells.address)
    return memoryview(words).cast("B").cast("Q")[::CELL]


_known: dict[int, New] = {}
_lock = threading.Lock()


def add(address: int, nbytes: int) -> None:
    """An allocation is new, and nobody has written it."""
    if nbytes:
        with _lock:
            _known[address] = New(address, nbytes)


def forget(address: int) -> None:
    """It is gone, or another library may write it."""
    if address in _known:
        with _lock:
            _known.pop(address, None)


def wrote(address: int, nbytes: int) -> None:
    """The host writes this: sooner or later, which makes no difference where one waits for the other."""
    found = around(address, address + nbytes)
    if found is None:
        return
    low, high = address - found.address, address - found.address + nbytes
    with _lock:
        if low <= 0 and high >= found.nbytes:
            _known.pop(found.address, None)
        else:
            found.wrote.append((low, high))


def copied(dst: int, src: int, nbytes: int) -> None:
    """The host has copied this: what nobody has written of the source, nobody has of the copy."""
    found = around(src, src + nbytes)
    if found is None:
        wrote(dst, nbytes)
        return
    begins = src - found.address
    for low, high in found.written():
        low, high = max(low - begins, 0), min(high - begins, nbytes)
        if low < high:
            wrote(dst + low, high - low)


def around(low: int, high: int) -> New | None:
    """The allocation in which all of these bytes are, if it is new."""
    if not _known:
        return None
    with _lock:
        for new in _known.values():
            if new.address <= low and high <= new.address + new.nbytes:
                return new
    return None


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


after_fork(_after_fork)
