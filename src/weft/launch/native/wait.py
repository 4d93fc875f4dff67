"""A wait for the CPU's stream that finds nothing to tell: as a launch after idle, each call of Python on the
way takes microseconds.

Python calls it as a builtin in place of a context's ``synchronize``. Where tasks of Python are queued, text
or failures are there, a capture is under way or other streams have to be waited for, it goes on to Python.
"""

from __future__ import annotations

from weft.lang.decorators import func
from weft.lang.external import external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Int, Int32
from weft.launch.native import queues, tables
from weft.launch.native.pool import HERE, weft_pool_release, weft_pool_wait
from weft.launch.native.tables import LaneWords, Table

_SLICE = 50_000_000
"""Nanoseconds after which Python waits on, since there the user can stop it."""


@func
def weft_synchronize(self: Int, nothing: Int):
    """A builtin of Python's (``METH_NOARGS``), of which ``self`` is the table."""
    table = Pointer.from_address(Pointer.from_address(self + tables.MEMORY_AT, Int)[0], Table)
    lane = table[0].lane
    if table[0].paused == 0 and _plain(lane) and _nothing_else(table):
        if _ended(table, lane) and _plain(lane) and lane[0].told == 0:
            external_call["Py_IncRef", None](table[0].none)
            return table[0].none
    return external_call["PyObject_CallNoArgs", Int](table[0].slow_wait)


@func
def _plain(lane: Pointer[LaneWords]):
    """Whether Python has nothing in the stream, which is open."""
    return lane[0].submitted == lane[0].finished and lane[0].inside == 0 and lane[0].closed == 0


@func
def _nothing_else(table: Pointer[Table]):
    """Whether nobody else has to know of the wait."""
    nothing = True
    for n in range(tables.EMPTIES):
        nothing = nothing and external_call["PyObject_Size", Int](table[0].empties[n]) == 0
    return nothing


@func
def _ended(table: Pointer[Table], lane: Pointer[LaneWords]):
    """Wait for native launches, not for long; whether they have ended."""
    queue, ended = lane[0].queue, True
    if Int(queue) != 0 and queue[queues.QUEUED] != queue[queues.ENDED]:
        ended = False
        if HERE:
            here = external_call["PyThread_get_thread_ident", Int]() == table[0].main
            until, help = queue[queues.QUEUED], Int(here)
            state = external_call["PyEval_SaveThread", Int]()
            ended = weft_pool_wait(queue, until, help, Int(_SLICE)) != Int32(0)
            external_call["PyEval_RestoreThread", None](state)
            if ended:
                weft_pool_release(queue)
    return ended
