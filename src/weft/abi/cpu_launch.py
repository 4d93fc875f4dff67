"""A launch where threads are loops: the record that an entry takes, and what compiled code calls.

A kernel is compiled to ``void ENTRY(uint64_t *arguments, LaunchBlock *launch)``. Each thread that takes
part calls it once with the same two pointers. It takes ``chunk`` blocks at a time from
``launch->next``, atomically, and returns when ``total`` are taken; block ``i`` is
``x + grid.x * (y + grid.y * z)``.
"""

from __future__ import annotations

import ctypes


class LaunchBlock(ctypes.Structure):
    """What an entry reads, and takes its blocks from.

    What stands behind ``over`` only kernels use whose blocks know of clusters or wait for each other:
    blocks of a ``cluster``, the first block of the one at hand (``origin``), where the blocks' shared memory
    begins and how far that of two lies apart, the group's memory, and whether it is to end. ``led`` says
    that a worker leads, ``piece`` with what the others may help, ``inside`` how many do, ``opened`` how many
    pieces have been.
    """

    _fields_ = [
        ("grid", ctypes.c_int32 * 3),
        ("block", ctypes.c_int32 * 3),
        ("next", ctypes.c_int64),
        ("total", ctypes.c_int64),
        ("chunk", ctypes.c_int64),
        ("state", ctypes.c_uint64),
        ("dynamic_shared", ctypes.c_int64),
        ("over", ctypes.c_int64 * 3),
        ("cluster", ctypes.c_int64 * 3),
        ("origin", ctypes.c_int64 * 3),
        ("shared", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("kept", ctypes.c_int64),
        ("stop", ctypes.c_int64),
        ("led", ctypes.c_int64),
        ("piece", ctypes.c_int64),
        ("inside", ctypes.c_int64),
        ("opened", ctypes.c_int64),
    ]


class LaneWords(ctypes.Structure):
    """A stream of the CPU, as native code sees it under the interpreter's lock.

    ``told`` says whether there is something that the next wait has to tell.
    """

    _fields_ = [
        ("submitted", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("inside", ctypes.c_int64),
        ("closed", ctypes.c_int64),
        ("queue", ctypes.c_int64),
        ("told", ctypes.c_int64),
    ]


class QueueWords(ctypes.Structure):
    """The beginning of a stream's queue of native launches: how many were put there, how many have ended."""

    _fields_ = [("queued", ctypes.c_int64), ("apart", ctypes.c_int64 * 7), ("ended", ctypes.c_int64)]


class JobWords(ctypes.Structure):
    """What is known of a launch in such a queue, of which ``MOST_JOBS`` lie behind ``JOBS_AT`` bytes.

    ``entry`` is called, ``instruction`` says where in the code of ``held[1]`` it was launched; ``held`` are
    objects of Python, the first its ``DirectLaunch``.
    """

    _fields_ = [
        ("word", ctypes.c_int64),
        ("joined", ctypes.c_int64),
        ("entry", ctypes.c_int64),
        ("apart", ctypes.c_int64 * 9),
        ("instruction", ctypes.c_int64),
        ("held", ctypes.c_int64 * 8),
        ("own", ctypes.c_int64 * 43),
    ]


JOBS_AT = 256
MOST_JOBS = 64
"""Launches of a queue that wait; what is more waits in Python."""


class DirectLaunch(ctypes.Structure):
    """What native code needs for launches of a kernel on the thread that asks for them.

    ``entry`` is the kernel's, ``lane`` the address of a stream's ``LaneWords``, ``most`` that of how many
    threads end soon enough, with what integers among the arguments, and with which it is known how long
    it takes; ``thread`` is which one may launch so, ``block`` what was launched last. Other launches go to
    the stream's queue, for ``width`` threads, unless that is 0; ``object`` is this, as Python has it.
    """

    _fields_ = [
        ("entry", ctypes.c_int64),
        ("lane", ctypes.c_int64),
        ("most", ctypes.c_int64),
        ("thread", ctypes.c_int64),
        ("state", ctypes.c_int64),
        ("over", ctypes.c_int64 * 3),
        ("block", ctypes.c_int64 * 3),
        ("width", ctypes.c_int64),
        ("object", ctypes.c_int64),
    ]

    def getPtr(self) -> int:
        """The address, as the driver's configurations of launches give theirs."""
        return ctypes.addressof(self)


class CrashWords(ctypes.Structure):
    """What the handler of wild accesses shares with Python.

    ``ranges`` is where the ``CrashRange``s are, so many (``count``) pieces of kernels' code; ``tell`` what
    tells of it; ``syscall`` C's function, and ``write`` the number by which that knows ``write``. In the
    machine's context ``pc_at`` is the word that has the place of the code, ``caller_at`` that of its
    caller's, or where that is stored (``caller_stored``). ``stage`` says how far the telling is, ``pc``,
    ``address`` and ``code`` what the signal told; ``before`` has by the signal's number the address of the
    ``sigaction`` that was there.
    """

    _fields_ = [
        ("ranges", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("tell", ctypes.c_int64),
        ("syscall", ctypes.c_int64),
        ("write", ctypes.c_int64),
        ("pc_at", ctypes.c_int64),
        ("caller_at", ctypes.c_int64),
        ("caller_stored", ctypes.c_int64),
        ("stage", ctypes.c_int64),
        ("pc", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("code", ctypes.c_int64),
        ("before", ctypes.c_int64 * 32),
    ]


class CrashRange(ctypes.Structure):
    """Kernels' code from an address to another, and what is said where Python can no longer say it.

    That is so many bytes of text, in which behind ``digits`` stands the address, in 16 digits. The first one
    is address 0, which stands for code that is nobody's.
    """

    _fields_ = [(name, ctypes.c_uint64) for name in ("low", "high", "text", "size", "digits")]


CRASH_FREE, CRASH_BUSY, CRASH_TOLD = 0, 1, 2
"""Stages."""

CALLS = {
    "weft$tell": ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64)),
    "weft$rest": ctypes.CFUNCTYPE(None),
    "weft$parted": ctypes.CFUNCTYPE(
        None, ctypes.c_uint64, *[ctypes.c_int64] * 9, ctypes.c_bool, ctypes.c_char_p
    ),
    "weft$stuck": ctypes.CFUNCTYPE(None, ctypes.c_uint64, *[ctypes.c_int64] * 5, ctypes.c_char_p),
    "weft$looks": ctypes.CFUNCTYPE(None, ctypes.c_uint64, *[ctypes.c_int64] * 6, ctypes.c_char_p),
}
"""What a kernel may call of the runtime: a launch's ``state``, the site's number, and values in words of 8
bytes, of an assertion the places of block and thread before them; or where threads part before a barrier, or
wait for ever, or for what others do (block and thread, how often it has looked, what it saw)."""

TOLD = 1024
"""From so many looks on the runtime is told that a thread waits: then, and each time they are twice as many,
but at least each ``TOLD_AGAIN``; with 0 looks that it waits no longer."""
TOLD_AGAIN = 1 << 16
