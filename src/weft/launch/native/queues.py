"""Launches that threads of the CPU's pool take, as ``pool.py`` and the stub see them.

A queue is a stream's: its launches run one after the other, each by as many threads as it may have. Only one
thread at a time puts launches there; whoever ends one makes way for the next. Memory of queues and of
the pool stays as long as the process, as threads may look at it.
"""

from __future__ import annotations

from weft.abi.cpu_launch import MOST_JOBS as MOST_JOBS
from weft.lang.external import FunctionPointer
from weft.lang.inline_array import InlineArray
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float64, Int
from weft.lang.structs import struct
from weft.launch.native.tables import MOST_SLOTS, LaunchBlock

MOST_QUEUES = 64
MOST_HELD = 8
"""Objects of Python that a launch keeps alive."""
RECORD = 11
"""Words of a launch's record up to those of kernels that Python launches."""
OWN = RECORD + MOST_SLOTS
"""Words of that and of a launch's arguments."""
JOB_AT, OWN_AT = 32, 21
"""Words of a queue before its launches, and of a launch before ``own``."""
GENERATION, SLEEPERS, SPINNERS, MOST_SPINNERS, USED, COMING, MUTEX, WORK, DONE, QUEUES = (
    0,
    8,
    16,
    24,
    25,
    26,
    32,
    48,
    64,
    80,
)
"""Words of a pool: how often there was something new, who sleeps, who looks again and again, how many may,
queues in use, how many were woken and are on their way; a mutex and two conditions of pthreads, with room for
those of any system; the queues."""
QUEUED, ENDED, WAITERS, HELPED, POOL, FREE = 0, 8, 16, 17, 18, 19
"""Words of a queue: how many launches were put there and have ended, threads that sleep until more have,
whether the last one was helped by who waited for it, the pool, whether no stream has it."""
NUMBER, CLOSED, ACTIVE = 16, 1 << 15, (1 << 15) - 1
"""In a launch's first word: its number in the queue from that bit on, whether it takes nobody more, how many
are at it."""


@struct
class Job:
    """A launch in a queue. Its first word says who may run it."""

    word: Int
    joined: Int
    """How many have run it."""
    entry: FunctionPointer[[Pointer[Int], Pointer[LaunchBlock]], None]
    arguments: Pointer[Int]
    block: Pointer[LaunchBlock]
    width: Int
    """Threads that it may have."""
    waits: Int
    """Whether it may wait for other launches, so that one thread must be left for these."""
    brief: Int
    """Whether a thread may help that the user can interrupt."""
    began: Int
    threads: Float64
    """Of all blocks."""
    most: Pointer[Int]
    """What is known of how long it takes: ``DirectLaunch.most``."""
    largest: Int
    """The largest integer among its arguments, about."""
    instruction: Int
    """Where in the code of the caller, ``held[1]``, it was launched."""
    held: InlineArray[Int, MOST_HELD]
    """Objects that it keeps alive until ``release``, 0 for none: the ``DirectLaunch``, the caller's code, and
    arrays."""
    own: InlineArray[Int, OWN]
    """Where its record and arguments lie if nobody else has them."""
