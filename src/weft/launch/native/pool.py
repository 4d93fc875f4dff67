"""The threads that take blocks of launches on a CPU, in weft itself: they look for work, spin, sleep.

Python makes the threads, and each calls ``weft_pool_serve`` for ever, without the interpreter's lock. A
launch is in a queue (``queues.py``); a thread joins it, calls the kernel's entry, which takes chunks of
blocks until none are left, and leaves. The last to leave ends the launch.
"""

from __future__ import annotations

import os
import time

from weft.lang.atomics import atomic_load, atomic_rmw, atomic_store, compare_exchange
from weft.lang.decorators import func
from weft.lang.external import FunctionPointer, external_call
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float64, Int, Int32
from weft.launch.native import queues
from weft.launch.native.queues import Job
from weft.launch.native.tables import LaunchBlock
from weft.memory import stack_allocation

CLOCK: int | None = getattr(time, "CLOCK_MONOTONIC", None)
HERE = os.name == "posix" and CLOCK is not None
"""Whether the system has pthreads, and so this."""
_REAL = 0
"""``CLOCK_REALTIME``, by which conditions of pthreads wait."""
_SPIN = 50_000
"""Nanoseconds that a thread looks for more work before it sleeps."""
_SHORT = 40_000
"""Nanoseconds that a launch on the thread that asks for it should take at most."""
_SECOND = 1_000_000_000


@func
def now(times: Pointer[Int]):
    """Nanoseconds; ``times`` is room for two words."""
    external_call["clock_gettime", Int32](Int32(CLOCK or 0), times)
    return times[0] * _SECOND + times[1]


@func
def _get(at: Pointer[Int]):
    return atomic_load(at, "seq_cst", "device")


@func
def _add(at: Pointer[Int], value: Int):
    return atomic_rmw("fetch_add", "add", at, value, "seq_cst", "device")


@func
def _set(at: Pointer[Int], value: Int):
    atomic_store(at, value, "seq_cst", "device")


@func
def _swap(at: Pointer[Int], expected: Int, desired: Int):
    return compare_exchange(at, expected, desired, "seq_cst", "device")


@func
def job_of(queue: Pointer[Int], number: Int):
    """The place of a launch in a queue."""
    return (queue + queues.JOB_AT).bitcast(Job) + (number & (queues.MOST_JOBS - 1))


@func
def weft_pool_make(spinners: Int):
    """A new pool, of which so many threads may look for work without a pause; 0 where there is no memory."""
    pool = Pointer.from_address(
        external_call["calloc", Int](queues.QUEUES + Int(queues.MOST_QUEUES), Int(8)), Int
    )
    if Int(pool) != 0:
        pool[queues.MOST_SPINNERS] = spinners
        external_call["pthread_mutex_init", Int32](pool + queues.MUTEX, Int(0))
        external_call["pthread_cond_init", Int32](pool + queues.WORK, Int(0))
        external_call["pthread_cond_init", Int32](pool + queues.DONE, Int(0))
    return Int(pool)


@func
def weft_pool_queue(pool: Pointer[Int]):
    """A queue for a stream; 0 where there is none. Under the interpreter's lock, as ``weft_pool_leave``."""
    used = pool[queues.USED]
    for n in range(used):
        known = Pointer.from_address(pool[queues.QUEUES + n], Int)
        if known[queues.FREE] != 0:
            known[queues.FREE] = 0
            return Int(known)
    if used == queues.MOST_QUEUES:
        return Int(0)
    made = external_call["calloc", Int](Int(queues.JOB_AT + 64 * queues.MOST_JOBS), Int(8))
    if made != 0:
        Pointer.from_address(made, Int)[queues.POOL] = Int(pool)
        pool[queues.QUEUES + used] = made
        _set(pool + queues.USED, used + 1)
    return made


@func
def weft_pool_leave(queue: Pointer[Int]):
    """Give a queue back whose launches have all ended."""
    weft_pool_release(queue)
    queue[queues.FREE] = 1


@func
def weft_pool_release(queue: Pointer[Int]):
    """Let go what launches keep alive that have ended. Under the interpreter's lock."""
    for n in range(queues.MOST_JOBS):
        job = job_of(queue, n)
        if (job[0].word >> queues.NUMBER) < _get(queue + queues.ENDED):
            release(job)


@func
def release(job: Pointer[Job]):
    """Let go what a launch keeps alive. That may run code of Python."""
    for n in range(queues.MOST_HELD):
        held = job[0].held[n]
        job[0].held[n] = 0
        if held != 0:
            external_call["Py_DecRef", None](held)


@func
def put(queue: Pointer[Int], job: Pointer[Job], number: Int):
    """Have a launch run whose record is complete; it is the next of its queue."""
    job[0].joined = 0
    _set(job.bitcast(Int), number << queues.NUMBER)
    _set(queue + queues.QUEUED, number + 1)
    pool = Pointer.from_address(queue[queues.POOL], Int)
    _add(pool + queues.GENERATION, 1)
    if _get(pool + queues.SPINNERS) == 0:
        _set(pool + queues.COMING, 0)
        _wake(pool)


@func
def _wake(pool: Pointer[Int]):
    """Wake one thread, if any sleeps."""
    if _get(pool + queues.SLEEPERS) > 0:
        external_call["pthread_mutex_lock", Int32](pool + queues.MUTEX)
        _add(pool + queues.COMING, 1)
        external_call["pthread_cond_signal", Int32](pool + queues.WORK)
        external_call["pthread_mutex_unlock", Int32](pool + queues.MUTEX)


@func
def _open(job: Pointer[Job], word: Int, number: Int):
    """Whether a launch takes one more."""
    return (
        word >> queues.NUMBER == number and word & queues.CLOSED == 0 and word & queues.ACTIVE < job[0].width
    )


@func
def _join(job: Pointer[Job], number: Int):
    """Take part in the launch of this number, if it is still the one and takes one more."""
    word = _get(job.bitcast(Int))
    while _open(job, word, number):
        found, done = _swap(job.bitcast(Int), word, word + 1)
        if done:
            return True
        word = found
    return False


@func
def _run(queue: Pointer[Int], job: Pointer[Job], number: Int, times: Pointer[Int], waiter: Int):
    """Run a launch that this thread has joined, as far as others leave it; and end it, if it is the last."""
    pool, job_word = Pointer.from_address(queue[queues.POOL], Int), job.bitcast(Int)
    if _add(job_word + 1, 1) == 0:
        job[0].began = now(times)
    if _get(pool + queues.SLEEPERS) > 0 and _wanted(pool, 1 - waiter):
        _wake(pool)
    job[0].entry(job[0].arguments, job[0].block)
    word, left = _get(job_word), False
    while not left:
        word, left = _swap(job_word, word, (word - 1) | queues.CLOSED)
    if word & queues.ACTIVE == 1:
        _took(job, now(times) - job[0].began)
        if job[0].joined < job[0].width:
            queue[queues.HELPED] = 0
        _set(queue + queues.ENDED, number + 1)
        if _get(queue + queues.WAITERS) > 0:
            external_call["pthread_mutex_lock", Int32](pool + queues.MUTEX)
            external_call["pthread_cond_broadcast", Int32](pool + queues.DONE)
            external_call["pthread_mutex_unlock", Int32](pool + queues.MUTEX)
        if _get(queue + queues.QUEUED) > number + 1:
            _add(pool + queues.GENERATION, 1)
            if _get(pool + queues.SPINNERS) == 0:
                _wake(pool)


@func
def _wanted(pool: Pointer[Int], more: Int):
    """Whether a launch has room beside who is on the way, and so many (0 or 1) that may come and wait for it.

    One thread too many would share a core with another, and leave the one that is meant for it idle.
    """
    coming = _get(pool + queues.COMING)
    for n in range(_get(pool + queues.USED)):
        queue = Pointer.from_address(pool[queues.QUEUES + n], Int)
        number = _get(queue + queues.ENDED)
        if number < _get(queue + queues.QUEUED):
            job = job_of(queue, number)
            if _open(job, _get(job.bitcast(Int)) + coming + queue[queues.HELPED] * more, number):
                return True
    return False


@func
def _took(job: Pointer[Job], elapsed: Int):
    """Note how many threads of such a launch take a short time, and for which integers that is known."""
    most = job[0].most
    if Int(most) == 0:
        return
    share = Float64(max(Int(1), elapsed * job[0].joined))
    few, known = (
        Int(min(_SHORT * job[0].threads / share, Float64(1 << 60))),
        min(job[0].largest, Int(1 << 60)) * 4,
    )
    most[0] = few
    most[2] = max(most[2], known, 64)
    if job[0].threads <= Float64(few):
        most[1] = max(most[1], known, 64)


@func
def weft_pool_serve(pool: Pointer[Int], number: Int):
    """What a thread of the pool does for ever. The first leaves launches alone that may wait for others."""
    times, idle_since = stack_allocation(Int, 2), Int(0)
    spins = False
    while True:
        seen, found = _get(pool + queues.GENERATION), False
        for n in range(_get(pool + queues.USED)):
            queue = Pointer.from_address(pool[queues.QUEUES + n], Int)
            current = _get(queue + queues.ENDED)
            if current < _get(queue + queues.QUEUED):
                job = job_of(queue, current)
                if (number != 0 or job[0].waits == 0) and _join(job, current):
                    if spins:
                        _add(pool + queues.SPINNERS, -1)
                        spins = False
                    _run(queue, job, current, times, Int(0))
                    found = True
        if not found:
            if not spins:
                if _add(pool + queues.SPINNERS, 1) < pool[queues.MOST_SPINNERS]:
                    spins = True
                    idle_since = now(times)
                else:
                    _add(pool + queues.SPINNERS, -1)
            while spins and _get(pool + queues.GENERATION) == seen:
                if now(times) - idle_since > _SPIN:
                    _add(pool + queues.SPINNERS, -1)
                    spins = False
            if not spins:
                _sleep(pool, seen)


@func
def _sleep(pool: Pointer[Int], seen: Int):
    """Wait until there is something new."""
    external_call["pthread_mutex_lock", Int32](pool + queues.MUTEX)
    _add(pool + queues.SLEEPERS, 1)
    while _get(pool + queues.GENERATION) == seen:
        external_call["pthread_cond_wait", Int32](pool + queues.WORK, pool + queues.MUTEX)
    _add(pool + queues.SLEEPERS, -1)
    _set(pool + queues.COMING, max(_get(pool + queues.COMING) - 1, Int(0)))
    external_call["pthread_mutex_unlock", Int32](pool + queues.MUTEX)


@func
def weft_pool_wait(queue: Pointer[Int], until: Int, help: Int, nanoseconds: Int) -> Int32:
    """Wait until so many launches of a queue have ended, no longer than this; whether they have.

    ``help``: 1 takes part in brief ones meanwhile, 2 in all.
    """
    times, began = stack_allocation(Int, 2), Int(0)
    while began == 0 or now(times) - began < _SPIN:
        number = _get(queue + queues.ENDED)
        if number >= until:
            return Int32(1)
        if began == 0:
            began = now(times)
        job = job_of(queue, number)
        if help == 2 or (help == 1 and job[0].brief != 0):
            queue[queues.HELPED] = 1
            if _join(job, number):
                _run(queue, job, number, times, Int(1))
                began = 0
        elif job[0].brief == 0:
            break  # the core that this thread would spin on is for one that works
    pool = Pointer.from_address(queue[queues.POOL], Int)
    external_call["clock_gettime", Int32](Int32(_REAL), times)
    end = times[0] * _SECOND + times[1] + nanoseconds
    times[0], times[1] = end // _SECOND, end % _SECOND
    external_call["pthread_mutex_lock", Int32](pool + queues.MUTEX)
    _add(queue + queues.WAITERS, 1)
    status = Int32(0)
    while status == 0 and _get(queue + queues.ENDED) < until:
        status = external_call["pthread_cond_timedwait", Int32](
            pool + queues.DONE, pool + queues.MUTEX, times
        )
    _add(queue + queues.WAITERS, -1)
    external_call["pthread_mutex_unlock", Int32](pool + queues.MUTEX)
    return Int32(_get(queue + queues.ENDED) >= until)


@func
def weft_pool_run(
    queue: Pointer[Int],
    entry: FunctionPointer[[Pointer[Int], Pointer[LaunchBlock]], None],
    arguments: Pointer[Int],
    block: Pointer[LaunchBlock],
    width: Int,
    waits: Int,
):
    """Run a launch by this thread and others, once those before it in the queue have ended."""
    number = queue[queues.QUEUED]
    job = job_of(queue, number)
    job[0].entry, job[0].arguments, job[0].block = entry, arguments, block
    job[0].width, job[0].waits, job[0].brief = width, waits, Int(0)
    job[0].most = Pointer.from_address(Int(0), Int)
    put(queue, job, number)
    while weft_pool_wait(queue, number + 1, Int(2), Int(_SECOND)) == 0:
        pass
