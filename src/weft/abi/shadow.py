"""What checked launches note of memory, where threads are loops: who wrote and read it last.

Each ``granule`` bytes of a memory have a cell of ``CELL`` words: who wrote them last, who read them last, and
who beside that one. A word that says who is a *record*: from ``TICK`` on the tick, from ``SITE`` on the
number of the access's site, from ``THREAD`` on the thread's number in its block, and whether the access was
``ATOMIC``, and so for its block alone (``NARROW``), or is a copy ``UNDER_WAY``. Ticks number what all blocks
do between barriers, one after the other, over all launches; so a record of an earlier tick is less.

Where a pointer's cells are is one word: their address, to which the bits ``FRESH``, ``SHARED`` and ``READ``
are added; 0 where nothing is to be noted of what the pointer points to.
"""

from __future__ import annotations

import ctypes

WORD = ctypes.sizeof(ctypes.c_uint64)
CELL = 3
CELL_BYTES = CELL * WORD
TICK, SITE, THREAD, ATOMIC = 32, 12, 2, 2
"""Where the parts of a record are; ``ATOMIC`` is its bit."""
RELEASE = 1
"""Its bit: who sees what an atomic access wrote has seen all that came before it. In ``Entry.released``: more
than one thread released something between these barriers."""
NARROW = 1 << (TICK - 1)
"""Its bit: an atomic access of global memory whose scope is its block."""
UNDER_WAY = 1 << (TICK - 2)
"""Its bit: a copy that goes on beside its thread, which has not waited for it yet."""
FENCES = 3
"""How many words a launch keeps of each thread (``Shadow.threads``)."""
HOST = 1
"""The record of what the host wrote: of no tick."""
ROUND = 40
"""From this bit on the number of a block has how often the grid has met."""
SITES = 1 << (TICK - 2 - SITE)
"""How many sites a module may have."""
SAME = ((1 << 32) - 1) << TICK | ((1 << (SITE - THREAD)) - 1) << THREAD
"""The bits in which records of one thread agree, between two barriers."""
UNSET = 1
"""What a check gives where nobody wrote what is read; else it gives the record of the other access, or 0."""
BOTH_WRITE = 1
"""The bit of the record that it gives where it writes what the other access wrote."""
FRESH, SHARED, READ = 60, 61, 62
"""Bits: of memory that nobody has written of which no record says so; of shared memory; of memory that the
launch only reads, and somebody has written."""
ADDRESS = (1 << 56) - 1


class Piece(ctypes.Structure):
    """Memory of the process that a launch knows of: its ends, its size, where its cells are.

    Of memory that was given back, and around the null pointer, the size is 0. Pieces are in order; behind the
    last stands one for all other addresses.
    """

    _fields_ = [
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("cells", ctypes.c_uint64),
    ]


class Entry(ctypes.Structure):
    """What is known of a block: its first tick, its number, and the record of what it released last.

    What it did before the tick ``met`` was released with that. Behind these two stand the same of what was
    released to its own threads alone, and since when its threads were in no order as others began to run.
    """

    _fields_ = [
        (name, ctypes.c_uint64) for name in ("first", "number", "released", "met", "own", "own_met", "left")
    ]


class Copy(ctypes.Structure):
    """A copy that is under way, among those of its thread."""

    _fields_ = [
        ("before", ctypes.c_uint64),  # the address of the one that began before, or of the next free one
        ("cell", ctypes.c_uint64),  # the address of the first cell that it writes
        ("count", ctypes.c_uint64),  # how many
        ("record", ctypes.c_uint64),  # its own
        ("group", ctypes.c_uint64),  # how many groups its thread had ended before, or its barrier's address
    ]


class Shadow(ctypes.Structure):
    """What the checks of one launch share. Ticks stand where records have them."""

    _fields_ = [
        ("block", ctypes.c_uint64),  # the first of the block
        ("launch", ctypes.c_uint64),  # the first of the launch
        ("last", ctypes.c_uint64),  # the last that there is
        ("rounds", ctypes.c_uint64),  # how often the grid has met
        ("phase", ctypes.c_uint64),  # the first since the block's last barrier, where warps wait too
        ("passed", ctypes.c_uint64),  # how many barriers that was
        ("whose", ctypes.c_uint64),  # the block's number, and 1
        ("shared", ctypes.c_uint64),  # the address of the cells of shared memory
        ("log", ctypes.c_uint64),  # the address of its entries
        ("logged", ctypes.c_uint64),  # how many there are
        ("room", ctypes.c_uint64),  # for how many there is room
        ("entry", ctypes.c_uint64),  # the address of the block's, or of a spare one
        ("acquired", ctypes.c_uint64),  # when a thread of the block first acquired something, or 0
        ("fenced", ctypes.c_uint64),  # when one first came to a fence, or 0
        ("pieces", ctypes.c_uint64),  # the address of what is known of the process's memory
        ("count", ctypes.c_uint64),  # how many pieces
        (
            "threads",
            ctypes.c_uint64,
        ),  # of each thread, when it first acquired something, came to a fence, and
        # to one of its block
        ("began", ctypes.c_uint64),  # the first tick of all
        ("stride", ctypes.c_uint64),  # bytes between the cells of shared memory of blocks that meet
        ("gathered", ctypes.c_uint64),  # the cluster's number and how often it has met, and 1
        ("cluster", ctypes.c_uint64),  # the first of the cluster
        ("turn", ctypes.c_uint64),  # the first since the cluster has met
        ("seen", ctypes.c_uint64),  # whether one of the cluster has acquired something
        ("unordered", ctypes.c_uint64),  # the first since the block's last barrier, even if others ran since
        ("copies", ctypes.c_uint64),  # the address of a copy that has ended, or 0
        ("fresh", ctypes.c_uint64),  # where there is room for another
        ("full", ctypes.c_uint64),  # where that ends
        ("bulk", ctypes.c_uint64),  # the address of the latest copy that a barrier counts
    ]
