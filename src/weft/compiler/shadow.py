"""The checks of a checked kernel for data races and for reads of what nobody wrote, written in weft.

The algorithm is FastTrack (C. Flanagan, S. Freund: FastTrack: efficient and precise dynamic race detection,
2009), which keeps of each variable the last write and the reads since, as epochs; for programs whose threads
meet at barriers, as in BARRACUDA (A. Eizenberg et al.: BARRACUDA: binary-level analysis of runtime races in
CUDA programs, 2017), an epoch is a thread and the stretch between two barriers of its block. A checked launch
runs its blocks one after the other, so stretches are numbered as they come (``tick``), and two accesses are

- in order, if one thread makes them, or if they are in two stretches of one block;
- not in order, though one ran after the other, if two threads make them in one stretch, or in two blocks.

Two accesses that are not in order, of which one writes and one is not atomic, are a data race. Of reads the
cell keeps two: the last, and one by another thread that was not in order with it, of another block if there
was such. So where many read, a race with one of them is found, though not with each. No order is taken for
none: what is told is a race on a GPU too.
"""

from __future__ import annotations

import functools
from typing import Any

from weft.abi.shadow import (
    ADDRESS,
    ATOMIC,
    BOTH_WRITE,
    CELL,
    CELL_BYTES,
    FRESH,
    SAME,
    TICK,
    UNSET,
    WORD,
    Shadow,
)
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.ir.core import Function
from weft.compiler.passes.inline_barriers import inline
from weft.dtype import DType
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import Func, func
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Bool, Int64, UInt64
from weft.lang.spec import NumberSpec, PointerSpec, Spec, StaticSpec
from weft.record import replace
from weft.targets import Target

_NOW, _BLOCK, _LAUNCH, _LAST, _WHOSE, _LOG, _LOGGED, _ROOM = (
    getattr(Shadow, name).offset // WORD
    for name in ("now", "block", "launch", "last", "whose", "log", "logged", "room")
)
_NEXT = 1 << TICK


@func
def enter(shadow: Pointer[UInt64], number: UInt64) -> None:
    """A thread of the block of this number begins."""
    if shadow[_WHOSE] != number + 1:
        first = shadow[_LAST] + _NEXT
        shadow[_WHOSE] = number + 1
        shadow[_BLOCK] = first
        shadow[_LAST] = first
        logged = shadow[_LOGGED]
        if logged < shadow[_ROOM]:
            entry = Pointer.from_address(shadow[_LOG], UInt64) + 2 * logged
            entry[0] = first
            entry[1] = number
            shadow[_LOGGED] = logged + 1
    shadow[_NOW] = shadow[_BLOCK]


@func
def meet(shadow: Pointer[UInt64], passed: UInt64) -> None:
    """A thread has passed so many barriers."""
    now = shadow[_BLOCK] + passed * _NEXT
    shadow[_NOW] = now
    if now > shadow[_LAST]:
        shadow[_LAST] = now


@func
def clash(other: UInt64, me: UInt64, floor: UInt64, block: UInt64) -> Bool:
    """Whether a record from ``floor`` on is not in order with this one, and one of both not atomic."""
    apart = ((other ^ me) >> TICK == 0).select((other ^ me) & SAME != 0, other < block)
    return (other >= floor) & apart & (other & me & ATOMIC == 0)


@func
def noted(
    shadow: Pointer[UInt64],
    cell: Pointer[UInt64],
    me: UInt64,
    floor: UInt64,
    since: UInt64,
    *,
    count: Comptime[int],
    reads: Comptime[bool],
    writes: Comptime[bool],
) -> UInt64:
    """Note an access of so many cells; gives 0, ``UNSET``, or the record of one that it clashes with."""
    block = shadow[_BLOCK]
    found = UInt64(0)
    for n in unroll(range(count)):
        wrote, read, beside = cell[CELL * n], cell[CELL * n + 1], cell[CELL * n + 2]
        if reads and wrote < since:
            found = UInt64(UNSET)
        elif clash(wrote, me, floor, block):
            found = wrote | BOTH_WRITE if writes and not reads else wrote
        if writes:
            if clash(read, me, floor, block):
                found = read
            elif clash(beside, me, floor, block):
                found = beside
            cell[CELL * n] = me
        elif read != me:
            if clash(read & ~UInt64(ATOMIC), me, floor, block) and not (floor <= beside < block):
                cell[CELL * n + 2] = read
            cell[CELL * n + 1] = me
    return found


@func
def is_fine(other: UInt64, me: UInt64, floor: UInt64) -> Bool:
    """Whether a record is at once seen to be in order with this one."""
    return (other < floor) | ((other ^ me) & SAME == 0)


@func
def access(
    shadow: Pointer[UInt64],
    cells: UInt64,
    at: Int64,
    who: UInt64,
    *,
    count: Comptime[int],
    shift: Comptime[int],
    shared: Comptime[bool],
    reads: Comptime[bool],
    writes: Comptime[bool],
) -> UInt64:
    """What ``noted`` does; most accesses are seen here to be in order, which is put where they are made."""
    now = shadow[_NOW]
    me = now | who
    floor, since = shadow[_LAUNCH], cells >> FRESH & 1
    if shared:
        floor = since = shadow[_BLOCK]
    soon = now if shared else floor
    cell = Pointer.from_address((cells & ADDRESS) + UInt64((at >> shift) * CELL_BYTES), UInt64)
    fine = Bool(True)
    for n in unroll(range(count)):
        wrote, read, beside = cell[CELL * n], cell[CELL * n + 1], cell[CELL * n + 2]
        fine = fine & is_fine(wrote, me, soon)
        if reads:
            fine = fine & (wrote >= since)
        if writes:
            fine = fine & is_fine(read, me, soon) & is_fine(beside, me, soon)
        elif not shared:
            fine = fine & is_fine(read, me, soon)
    if not fine:
        return noted(shadow, cell, me, floor, since, count=count, reads=reads, writes=writes)
    for n in unroll(range(count)):
        if writes:
            cell[CELL * n] = me
        else:
            read = cell[CELL * n + 1]
            if shared:
                cell[CELL * n + 2] = ((read ^ me) & SAME == 0).select(cell[CELL * n + 2], read)
            cell[CELL * n + 1] = me
    return UInt64(0)


_SHADOW = PointerSpec(DType.uint64, AddressSpace.GLOBAL)
_WORD, _AT = NumberSpec(DType.uint64), NumberSpec(DType.int64)


@functools.cache
def checks(name: str, target: Target) -> tuple[Function, ...]:
    """What a function calls, and itself: ``weft.enter``, ``weft.meet``, or an access.

    ``weft.reads.shared.4.2`` is one that reads 4 bytes of shared memory, where cells are for 1 << 2 bytes.
    """
    kind, *parts = name.removeprefix("weft.").split(".")
    found: tuple[Func[..., Any], tuple[Spec, ...]]
    if kind in ("enter", "meet"):
        found = (enter if kind == "enter" else meet), (_SHADOW, _WORD)
    else:
        size, shift = int(parts[1]), int(parts[2])
        how = max(1, size >> shift), shift, parts[0] == "shared", kind != "writes", kind != "reads"
        found = access, (_SHADOW, _WORD, _AT, _WORD, *map(StaticSpec, how))
    module = Elaborator(target).function(found[0].definition, found[1])
    apart = f"weft.noted.{kind}.{found[1][4].value}" if len(found[1]) > 4 else ""
    inline(module, lambda f: f.name not in ("noted", module.functions[-1].name))
    made: list[Function] = []
    for f in module.functions:
        for op in f.body.walk():
            if op.name == "func.call":
                op.attrs = {"callee": apart}
        own = f.name == "noted"
        made.append(replace(f, name=apart if own else name, inline=not own))
    return tuple(made)
