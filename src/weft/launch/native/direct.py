"""Launches of the CPU by the stub: a short one by the thread that asks for it, others by the pool's queue."""

from __future__ import annotations

from weft.lang.comptime import unroll
from weft.lang.decorators import func
from weft.lang.external import external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float64, Int, Int32
from weft.launch.native import queues, tables
from weft.launch.native.pool import HERE, job_of, now, put, release
from weft.launch.native.tables import Ask, DirectLaunch, LaunchBlock, Site, Table
from weft.memory import stack_allocation

_PYTHON = -1
_LONG = 200_000
"""Nanoseconds that a launch on the thread that asks for it should not take."""
_BRIEF = 250
"""How many times a short launch one may take that the thread helps with which the user interrupts."""
_CHUNKS = 8
"""Of blocks, for each thread."""


@func
def launch_direct(table: Pointer[Table], at: Pointer[Site], slots: Pointer[Int], args: Pointer[Int]) -> Int32:
    """Launch, if what the stream has goes before it; 0, or that Python is to do it."""
    direct = Pointer.from_address(at[0].config, DirectLaunch)
    if not HERE or not _free(direct):
        table[0].known = Int(HERE)
        return Int32(_PYTHON)
    threads, largest, entries = Float64(1.0), Int(0), at[0].entries
    for n in unroll(range(tables.ARGUMENTS)):
        threads *= Float64(slots[n])
    for n in range(at[0].total):
        entry = entries[n]
        packed = tables.ARGUMENTS <= entry.slot < at[0].slots  # what is only compared has no value here
        if packed and entry.kind & (tables.STAYS - 1) == Ask.INTEGER and entry.c == 0:
            largest = max(largest, max(slots[entry.slot], ~slots[entry.slot]))
    queue, most = direct[0].lane[0].queue, direct[0].most
    if Int(queue) == 0 or queue[queues.QUEUED] == queue[queues.ENDED]:
        here = external_call["PyThread_get_thread_ident", Int]() == direct[0].thread
        if here and threads <= Float64(most[0]) and largest <= most[1]:
            return _at_once(direct, at, slots)
    if Int(queue) == 0 or direct[0].width == 0:
        return Int32(_PYTHON)
    brief = threads <= Float64(most[0]) * _BRIEF and largest <= most[2]
    return _later(table, direct, at, slots, args, threads, largest, Int(brief))


@func
def _free(direct: Pointer[DirectLaunch]):
    """Whether Python has nothing in the stream."""
    lane = direct[0].lane
    return lane[0].submitted == lane[0].finished and lane[0].inside == 0 and lane[0].closed == 0


@func
def _fill(
    launch: Pointer[LaunchBlock], direct: Pointer[DirectLaunch], at: Pointer[Site], slots: Pointer[Int]
):
    """Write down a launch; how many blocks it has."""
    total = Int(1)
    for axis in range(3):
        total *= slots[axis]
        launch[0].grid[axis] = slots[axis].cast(Int32)
        launch[0].block[axis] = slots[3 + axis].cast(Int32)
        launch[0].over[axis] = direct[0].over[axis]
        direct[0].block[axis] = slots[3 + axis]
    launch[0].next = 0
    launch[0].total = total
    launch[0].chunk = total
    launch[0].state = direct[0].state
    launch[0].dynamic_shared = at[0].shared
    return total


@func
def _at_once(direct: Pointer[DirectLaunch], at: Pointer[Site], slots: Pointer[Int]) -> Int32:
    launch, times, lane = stack_allocation(LaunchBlock, 1), stack_allocation(Int, 2), direct[0].lane
    _fill(launch, direct, at, slots)
    lane[0].inside = 1
    state = external_call["PyEval_SaveThread", Int]()
    began = now(times)
    direct[0].entry(slots + tables.ARGUMENTS, launch)
    ended = now(times)
    external_call["PyEval_RestoreThread", None](state)
    lane[0].inside = 0
    if ended - began > _LONG:
        direct[0].most[0] = -1  # until others have seen how long it takes
    return Int32(0)


@func
def _later(
    table: Pointer[Table],
    direct: Pointer[DirectLaunch],
    at: Pointer[Site],
    slots: Pointer[Int],
    args: Pointer[Int],
    threads: Float64,
    largest: Int,
    brief: Int,
) -> Int32:
    """Put a launch into the queue of its stream."""
    queue, changes = direct[0].lane[0].queue, table[0].changes
    many = at[0].slots > tables.ARGUMENTS + tables.MOST_SLOTS
    if many or queue[queues.QUEUED] - queue[queues.ENDED] >= queues.MOST_JOBS:
        return Int32(_PYTHON)
    release(job_of(queue, queue[queues.QUEUED]))
    # which may have run code of Python, and that have done anything
    number = queue[queues.QUEUED]
    if table[0].changes != changes or not _free(direct) or number - queue[queues.ENDED] >= queues.MOST_JOBS:
        return Int32(_PYTHON)
    job = job_of(queue, number)
    if job[0].held[0] != 0 or not _same_block(direct, slots, queue) or not _hold(job, direct, at, args):
        return Int32(_PYTHON)
    launch = (job.bitcast(Int) + queues.OWN_AT).bitcast(LaunchBlock)
    total = _fill(launch, direct, at, slots)
    own = launch.bitcast(Int) + queues.RECORD
    for n in range(at[0].slots - tables.ARGUMENTS):
        own[n] = slots[tables.ARGUMENTS + n]
    width = min(direct[0].width, total)
    launch[0].chunk = total if width == 1 else max(Int(1), total // (width * _CHUNKS))
    job[0].entry, job[0].arguments, job[0].block = direct[0].entry, own, launch
    job[0].width, job[0].waits, job[0].brief = width, Int(0), brief
    job[0].threads, job[0].most, job[0].largest = threads, direct[0].most, largest
    put(queue, job, number)
    return Int32(0)


@func
def _same_block(direct: Pointer[DirectLaunch], slots: Pointer[Int], queue: Pointer[Int]):
    """Whether no launch is under way that has other blocks, whose threads would be named wrongly."""
    same = queue[queues.QUEUED] == queue[queues.ENDED]
    if not same:
        same = True
        for axis in range(3):
            same = same and direct[0].block[axis] == slots[3 + axis]
    return same


@func
def _hold(job: Pointer[queues.Job], direct: Pointer[DirectLaunch], at: Pointer[Site], args: Pointer[Int]):
    """Keep the code and arrays of other libraries alive; whether there is room for them."""
    entries, place, count = at[0].entries, Int(1), Int(2)
    for n in range(at[0].total):
        count += Int(entries[n].kind & (tables.STAYS - 1) == Ask.ARRAY)
    if count > queues.MOST_HELD:
        return False
    job[0].held[0] = direct[0].object
    frame = external_call["PyEval_GetFrame", Int]()
    if frame != 0:
        job[0].held[1] = external_call["PyFrame_GetCode", Int](frame)
        external_call["Py_DecRef", None](job[0].held[1])  # it is held below
        job[0].instruction = Int(external_call["PyFrame_GetLasti", Int32](frame))
    count = Int(2)
    for n in range(at[0].total):
        kind = entries[n].kind & (tables.STAYS - 1)
        if kind == Ask.ARRAY:
            job[0].held[count] = args[place]
            count += 1
        if kind < Ask.WORD and entries[n].kind < tables.STAYS:
            place += 1
    for n in range(count):
        external_call["Py_IncRef", None](job[0].held[n])  # or of none
    return True
