"""What checked kernels note of copies that go on beside their threads, written in weft.

The hardware may write what a thread copies (``cp.async``) at any time until that thread has waited for it.
Where threads are loops, copies are made where they begin. So that a wait which is missing or comes too late
is found here too, the cells of what is copied say ``UNDER_WAY``, and any other access of it is told. Each
thread has a list of its copies, the latest first. Behind the wait they are writes that it made there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.abi.shadow import ADDRESS, CELL, CELL_BYTES, TICK, UNDER_WAY, WORD, Copy, Shadow
from weft.lang.decorators import Func, func
from weft.lang.pointer import Pointer
from weft.lang.scalars import UInt64

_ENDED, _FRESH, _FULL = (getattr(Shadow, name).offset // WORD for name in ("copies", "fresh", "full"))
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
    """A thread begins a copy to so many cells, which has just been noted; gives its latest copy."""
    made = shadow[_ENDED]
    if made != 0:
        shadow[_ENDED] = Pointer.from_address(made, UInt64)[_BEFORE]
    else:
        made = shadow[_FRESH]
        if made == shadow[_FULL]:  # it counts as made
            return latest
        shadow[_FRESH] = made + _BYTES
    first = (cells & ADDRESS) + (at >> shift) * CELL_BYTES
    cell = Pointer.from_address(first, UInt64)
    one = Pointer.from_address(made, UInt64)
    one[_BEFORE], one[_CELL], one[_COUNT] = latest, first, count
    one[_RECORD], one[_GROUP] = me | UNDER_WAY, group
    for n in range(count):
        cell[CELL * n] = me | UNDER_WAY
    return made


@func
def wait(shadow: Pointer[UInt64], me: UInt64, latest: UInt64, until: UInt64) -> UInt64:
    """A thread waits for its copies of the groups before ``until``; gives the latest that is left."""
    left, one = latest, latest
    last = UInt64(0)
    while one != 0:
        copied = Pointer.from_address(one, UInt64)
        before = copied[_BEFORE]
        if copied[_GROUP] >= until:
            last = one
        else:
            if last == 0:
                left = before
            else:
                Pointer.from_address(last, UInt64)[_BEFORE] = before
            cell, record = Pointer.from_address(copied[_CELL], UInt64), copied[_RECORD]
            own = record & ((1 << TICK) - 1) & ~UInt64(UNDER_WAY)
            for n in range(copied[_COUNT]):
                if cell[CELL * n] == record:
                    cell[CELL * n] = me >> TICK << TICK | own
            copied[_BEFORE] = shadow[_ENDED]
            shadow[_ENDED] = one
        one = before
    return left


COPIES: Mapping[str, Func[..., Any]] = {"copy": copy, "wait": wait}
"""By the name that checks have for them; behind it stands how many numbers they take."""
