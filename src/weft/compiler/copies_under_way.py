"""What checked kernels note of copies that go on beside their threads, written in weft.

The hardware may write what a thread copies (``cp.async``) at any time until that thread has waited for it, or
what it copies in bulk until somebody has waited for the barrier that counts the bytes. Where threads are
loops, copies are made where they begin. So that a wait which is missing or comes too late is found here too,
the cells of what is copied say ``UNDER_WAY``, and any other access of it is told. Each thread has a list of
its copies, the latest first; those in bulk are in one list. Behind the wait they are writes: of a thread's
own, made there; of those in bulk where they began, since the barrier hands them over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.abi.shadow import ADDRESS, CELL, CELL_BYTES, TICK, UNDER_WAY, WORD, Copy, Shadow
from weft.lang.comptime import Comptime
from weft.lang.decorators import Func, func
from weft.lang.pointer import Pointer
from weft.lang.scalars import UInt64

_ENDED, _FRESH, _FULL, _BULK = (
    getattr(Shadow, name).offset // WORD for name in ("copies", "fresh", "full", "bulk")
)
_BEFORE, _CELL, _COUNT, _RECORD, _GROUP = (getattr(Copy, name).offset // WORD for name, *_ in Copy._fields_)
_BYTES = Copy.group.offset + WORD


@func
def copy(
    shadow: Pointer[UInt64],
    cells: UInt64,
    at: UInt64,
    me: UInt64,
    latest: UInt64,
    group: UInt64,
    count: UInt64,
    shift: UInt64,
) -> UInt64:
    """A thread begins a copy to so many cells, which has just been noted; gives the latest of its list."""
    first, record = (cells & ADDRESS) + (at >> shift) * CELL_BYTES, me | UNDER_WAY
    if latest != 0:
        last = Pointer.from_address(latest, UInt64)
        goes_on = (last[_RECORD] == record) & (last[_GROUP] == group)
        if goes_on and last[_CELL] + last[_COUNT] * CELL_BYTES == first:
            last[_COUNT] += count
            mark(first, count, record)
            return latest
    made = shadow[_ENDED]
    if made != 0:
        shadow[_ENDED] = Pointer.from_address(made, UInt64)[_BEFORE]
    else:
        made = shadow[_FRESH]
        if made == shadow[_FULL]:  # it counts as made
            return latest
        shadow[_FRESH] = made + _BYTES
    one = Pointer.from_address(made, UInt64)
    one[_BEFORE], one[_CELL], one[_COUNT] = latest, first, count
    one[_RECORD], one[_GROUP] = record, group
    mark(first, count, record)
    return made


@func
def mark(first: UInt64, count: UInt64, record: UInt64) -> None:
    """Say of so many cells that they are written."""
    cell = Pointer.from_address(first, UInt64)
    for n in range(count):
        cell[CELL * n] = record


@func
def bulk(
    shadow: Pointer[UInt64],
    cells: UInt64,
    at: UInt64,
    me: UInt64,
    barrier: UInt64,
    count: UInt64,
    shift: UInt64,
) -> None:
    """A thread begins a copy to so many cells, whose bytes a barrier counts."""
    shadow[_BULK] = copy(shadow, cells, at, me, shadow[_BULK], barrier, count, shift)


@func
def wait(shadow: Pointer[UInt64], me: UInt64, latest: UInt64, until: UInt64) -> UInt64:
    """A thread waits for its copies of the groups before ``until``; gives the latest that is left."""
    return ended(shadow, me, latest, until, own=True)


@func
def arrived(shadow: Pointer[UInt64], barrier: UInt64) -> None:
    """A thread has waited for a barrier that counts bytes."""
    shadow[_BULK] = ended(shadow, UInt64(0), shadow[_BULK], barrier, own=False)


@func
def ended(
    shadow: Pointer[UInt64], me: UInt64, latest: UInt64, group: UInt64, *, own: Comptime[bool]
) -> UInt64:
    """End copies of a list: of the groups before one, if they are a thread's ``own``, else of that alone."""
    left, one, last = latest, latest, UInt64(0)
    while one != 0:
        copied = Pointer.from_address(one, UInt64)
        before = copied[_BEFORE]
        if copied[_GROUP] < group if own else copied[_GROUP] == group:
            if last == 0:
                left = before
            else:
                Pointer.from_address(last, UInt64)[_BEFORE] = before
            cell, record = Pointer.from_address(copied[_CELL], UInt64), copied[_RECORD]
            there = record & ~UInt64(UNDER_WAY)
            if own:
                there = me >> TICK << TICK | there & ((1 << TICK) - 1)
            for n in range(copied[_COUNT]):
                if cell[CELL * n] == record:
                    cell[CELL * n] = there
            copied[_BEFORE] = shadow[_ENDED]
            shadow[_ENDED] = one
        else:
            last = one
        one = before
    return left


COPIES: Mapping[str, Func[..., Any]] = {"copy": copy, "bulk": bulk, "wait": wait, "arrived": arrived}
"""By the name that checks have for them; behind it stands how many numbers they take."""
