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
    SHARED,
    SHIFT,
    TICK,
    UNSET,
    WORD,
    Shadow,
)
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.ir.core import Function
from weft.compiler.passes.inline_barriers import inline
from weft.dtype import DType
from weft.lang.comptime import Comptime
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
def access(
    shadow: Pointer[UInt64],
    cells: UInt64,
    at: Int64,
    who: UInt64,
    *,
    size: Comptime[int],
    reads: Comptime[bool],
    writes: Comptime[bool],
) -> UInt64:
    """Note an access of ``size`` bytes; gives 0, ``UNSET``, or the record of one that it clashes with."""
    if cells == 0:
        return UInt64(0)
    me, block = shadow[_NOW] | who, shadow[_BLOCK]
    floor = (cells & SHARED != 0).select(block, shadow[_LAUNCH])
    since = (cells & FRESH != 0).select((cells & SHARED != 0).select(block, 1), 0)
    shift = Int64(cells >> SHIFT)
    cell = Pointer.from_address((cells & ADDRESS) + UInt64((at >> shift) * CELL_BYTES), UInt64)
    found = UInt64(0)
    for n in range(((size - 1) >> shift) + 1):
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


_SHADOW, _WORD, _AT = (
    PointerSpec(DType.uint64, AddressSpace.GLOBAL),
    NumberSpec(DType.uint64),
    NumberSpec(DType.int64),
)


@functools.cache
def checks(name: str, target: Target) -> Function:
    """``weft.enter``, ``weft.meet``, or an access of a kind and size: ``weft.reads.4``."""
    kind, _, size = name.removeprefix("weft.").partition(".")
    found: tuple[Func[..., Any], tuple[Spec, ...]]
    if kind in ("enter", "meet"):
        found = (enter if kind == "enter" else meet), (_SHADOW, _WORD)
    else:
        how = int(size), kind != "writes", kind != "reads"
        found = access, (_SHADOW, _WORD, _AT, _WORD, *map(StaticSpec, how))
    module = Elaborator(target).function(found[0].definition, found[1])
    made = module.functions[-1]
    inline(module, lambda f: f is not made)
    return replace(made, name=name)
