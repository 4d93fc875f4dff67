"""Memory of the system's."""

from __future__ import annotations

import contextlib
import ctypes
import mmap

_ALIGNMENT = 256
PAGES_FROM = 1 << 20
"""Allocations of this many bytes and more come from the system as fresh pages."""


class Block:
    """Memory of the system's, and where in it the first aligned byte is."""

    __slots__ = ("_view", "address", "nbytes")

    def __init__(self, nbytes: int) -> None:
        # one more byte, so that no end of one block is where another begins
        memory = _pages(nbytes + 1) if nbytes >= PAGES_FROM else bytearray(nbytes + _ALIGNMENT)
        self._view = ctypes.c_char.from_buffer(memory)
        self.address: int = -(-ctypes.addressof(self._view) // _ALIGNMENT) * _ALIGNMENT
        self.nbytes: int = nbytes


def _pages(nbytes: int) -> mmap.mmap:
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, nbytes)
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
