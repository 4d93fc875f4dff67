"""The checks of a checked kernel for data races and for reads of what nobody wrote, written in weft.

The algorithm is FastTrack (C. Flanagan, S. Freund: FastTrack: efficient and precise dynamic race detection,
2009), which keeps of each variable the last write and the reads since, as epochs; for programs whose threads
meet at barriers, as in BARRACUDA (A. Eizenberg et al.: BARRACUDA: binary-level analysis of runtime races in
CUDA programs, 2017), an epoch is a thread and the stretch between two barriers of its block. A checked launch
runs its blocks one after the other, so stretches are numbered as they come (``tick``), and two accesses are

- in order, if one thread makes them, or if they are in two stretches of one block;
- not in order, though one ran first, if two threads make them in one stretch, or in two blocks.

Where the grid meets, all that came before is in order; where a cluster meets, what its own blocks did. Where
lanes of a warp wait for each other, these end stretches too, for the warp: two warps between two barriers of
the block are in no order, whatever their stretches.

Two accesses that are not in order, of which one writes and one is not atomic, or is so for its block alone
where the other is of another, are a data race. What is told is one on a GPU too; what is not told may be one:

- Of reads a cell keeps two: the last, and one by another thread that was not in order with it, of another
  block if there was such. Where many read, a race with one of them is found, though not with each.
- Of atomic writes to global memory a cell keeps two as well, the last and one of another thread's, with which
  who writes plainly then is compared; who reads so is compared with the last alone.
- An atomic write that releases (by its order, or behind a fence) hands over what its thread did before, and
  its block before the last barrier, and its warp before the lanes last waited for each other
  (``handing_over``): it ends a stretch of its thread's, where no warps wait. There is one such
  record for a block, another of what scopes let its own threads alone see, and an atomic read of any memory
  that was released acquires all that was released so far, whatever its order. So what is missing in a
  program that hands over by several flags may go unnoticed, and so may a missing acquire; a missing release
  or barrier does not. In clusters, what one has acquired counts for all, and of whatever was released.
- Two writes of the same value.
- Where a block waits in a loop of its own and others run, all that came before it goes on is in order with
  all that comes then.
- Where blocks meet within an ``if`` or a loop, others run between what a block does there and around it. Its
  own threads are in the stretch that they were in (``resume``); where clusters and the grid meet in one
  kernel, those that read shared memory before are forgotten.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from weft.abi.shadow import (
    ADDRESS,
    ATOMIC,
    BOTH_WRITE,
    CELL,
    CELL_BYTES,
    NARROW,
    RELEASE,
    ROUND,
    SAME,
    TICK,
    UNDER_WAY,
    UNSET,
    WORD,
    Entry,
    Piece,
    Shadow,
)
from weft.compiler.copies_under_way import COPIES
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.handing_over import (
    ENTRY_BYTES,
    MET,
    OWN,
    OWN_ONES,
    RELEASED,
    WARPS,
    WIDE,
    acquire,
    entry_at,
    fence,
    fence_own,
    give,
    handed,
    logged_by,
    releases,
)
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

_BLOCK, _LAUNCH, _LAST, _WHOSE, _LOG, _LOGGED, _ROOM = (
    getattr(Shadow, name).offset // WORD
    for name in ("block", "launch", "last", "whose", "log", "logged", "room")
)
_ENTRY, _ACQUIRED, _FENCED, _THREADS = (
    getattr(Shadow, name).offset // WORD for name in ("entry", "acquired", "fenced", "threads")
)
_ROUNDS, _PHASE, _PASSED, _PIECES, _COUNT = (
    getattr(Shadow, name).offset // WORD for name in ("rounds", "phase", "passed", "pieces", "count")
)
_BEGAN, _GATHERED, _CLUSTER, _TURN, _SEEN, _UNORDERED = (
    getattr(Shadow, name).offset // WORD
    for name in ("began", "gathered", "cluster", "turn", "seen", "unordered")
)
_LOW, _HIGH = (getattr(Piece, name).offset // WORD for name in ("low", "high"))
_PIECE = ctypes.sizeof(Piece)
_FIRST, _NUMBER, _LEFT = (getattr(Entry, name).offset // WORD for name in ("first", "number", "left"))
How = tuple[bool, bool, bool, str, bool, bool]
"""An access: whether it reads, writes, is atomic; whose stretches there are beside those of blocks (``warps``
or ``threads``), whether blocks of clusters wait too, whether copies may be under way."""
_NEXT = 1 << TICK
_NEVER = (1 << 64) - 1
_FEW = 2
"""Cells of an access that is looked at where it is made: of more the code would grow too long."""


@func
def enter(shadow: Pointer[UInt64], number: UInt64) -> UInt64:
    """A thread of the block of this number begins, or goes on behind where the grid has met.

    Gives the first tick since.
    """
    if shadow[_WHOSE] != number + 1:
        if number >> ROUND != shadow[_ROUNDS]:
            shadow[_ROUNDS] = number >> ROUND
            shadow[_LAUNCH] = shadow[_LAST] + _NEXT
        first = shadow[_LAST] + _NEXT
        if shadow[_ENTRY] != 0:
            Pointer.from_address(shadow[_ENTRY], UInt64)[_LEFT] = shadow[_UNORDERED]
        shadow[_UNORDERED] = first
        shadow[_WHOSE] = number + 1
        shadow[_BLOCK] = first
        shadow[_PHASE] = first
        shadow[_PASSED] = 0
        shadow[_LAST] = first
        shadow[_ACQUIRED] = 0
        shadow[_FENCED] = 0
        logged = shadow[_LOGGED]
        shadow[_ENTRY] = shadow[_LOG] + logged * ENTRY_BYTES
        entry = Pointer.from_address(shadow[_ENTRY], UInt64)
        entry[_FIRST] = first
        entry[_NUMBER] = number & ((1 << ROUND) - 1)
        for place in unroll((WIDE, OWN_ONES)):
            entry[place + RELEASED] = 0
            entry[place + MET] = 0
        if logged < shadow[_ROOM]:
            shadow[_LOGGED] = logged + 1
    return shadow[_BLOCK]


@func
def gather(shadow: Pointer[UInt64], number: UInt64) -> None:
    """A thread of the cluster of this number begins, or goes on behind where the cluster has met."""
    if shadow[_GATHERED] != number + 1:
        now = shadow[_LAST] + _NEXT
        if (shadow[_GATHERED] - 1) & ((1 << ROUND) - 1) != number & ((1 << ROUND) - 1):
            shadow[_CLUSTER] = now
            shadow[_SEEN] = 0
        shadow[_GATHERED] = number + 1
        shadow[_TURN] = now
        shadow[_WHOSE] = 0


@func
def meet(shadow: Pointer[UInt64], now: UInt64) -> None:
    """A thread has passed a barrier, behind which is this tick."""
    if now > shadow[_LAST]:
        shadow[_LAST] = now
        shadow[_UNORDERED] = now


@func
def resume(shadow: Pointer[UInt64], before: UInt64) -> None:
    """A thread goes on where others ran since the stretch from that tick on: it is in that one still."""
    if before < shadow[_BLOCK] == shadow[_UNORDERED]:
        logged = logged_by(shadow, before)
        if logged < shadow[_ROOM]:
            shadow[_UNORDERED] = entry_at(shadow, logged)[_LEFT]


@func
def phase(shadow: Pointer[UInt64], passed: UInt64) -> None:
    """A thread has passed so many barriers, where warps wait too."""
    if shadow[_PASSED] != passed:
        shadow[_PASSED] = passed
        shadow[_LAST] = shadow[_LAST] + _NEXT
        shadow[_PHASE] = shadow[_LAST]
        shadow[_UNORDERED] = shadow[_LAST]


@func
def stretch(shadow: Pointer[UInt64], waited: UInt64) -> UInt64:
    """The tick of a thread that has waited so many times for its warp since the block's last barrier."""
    now = shadow[_PHASE] + waited * _NEXT
    if now > shadow[_LAST]:
        shadow[_LAST] = now
    return now


@func
def clash(
    other: UInt64,
    me: UInt64,
    floor: UInt64,
    block: UInt64,
    phase: UInt64,
    whose: UInt64,
    cluster: UInt64,
    turn: UInt64,
) -> Bool:
    """Whether a record from ``floor`` on is not in order with this one, and one of both not atomic."""
    warps = (other >= phase) & ((other ^ me) & whose != 0)
    blocks = (other < block) & ((other >= turn) | (other < cluster))
    apart = ((other ^ me) >> TICK == 0).select((other ^ me) & SAME != 0, blocks | warps)
    narrow = ((other | me) & NARROW != 0) & (other < block)
    return (other >= floor) & apart & (narrow | (other & me & ATOMIC == 0))


@func
def find(shadow: Pointer[UInt64], address: UInt64) -> UInt64:
    """The ``Piece`` that an address is in, or at the end of, if that is the only one."""
    first, low, high = shadow[_PIECES], UInt64(0), shadow[_COUNT]
    none = first + high * _PIECE
    while high - low > 1:
        middle = (low + high) // 2
        if Pointer.from_address(first + middle * _PIECE, UInt64)[_LOW] <= address:
            low = middle
        else:
            high = middle
    piece = Pointer.from_address(first + low * _PIECE, UInt64)
    if address > piece[_HIGH]:
        return none
    if low > 0 and address == piece[_LOW]:
        before = Pointer.from_address(first + (low - 1) * _PIECE, UInt64)
        if before[_HIGH] == address:
            return none
    return UInt64(Int64(piece))


@func
def is_own(shadow: Pointer[UInt64], other: UInt64, me: UInt64, whose: UInt64) -> Bool:
    """Whether a record is the block's own, of before others ran and it went on, and in order with this."""
    if other >= shadow[_BLOCK] or (other >= shadow[_UNORDERED] and (other ^ me) & whose != 0):
        return Bool(False)
    logged = logged_by(shadow, other)
    own = Pointer.from_address(shadow[_ENTRY], UInt64)[_NUMBER]
    return (logged < shadow[_ROOM]) & (entry_at(shadow, logged)[_NUMBER] == own)


@func
def noted(
    shadow: Pointer[UInt64],
    cell: Pointer[UInt64],
    me: UInt64,
    floor: UInt64,
    since: UInt64,
    count: Int64,
    *,
    how: Comptime[How],
) -> UInt64:
    """Note an access of so many cells; gives 0, ``UNSET``, or the record of one that it clashes with."""
    reads, writes, atomic, of, clusters, copies = how
    cluster, turn = (shadow[_CLUSTER], shadow[_TURN]) if clusters else (UInt64(0), UInt64(0))
    phase, whose = shadow[_PHASE] if of else UInt64(_NEVER), UInt64(WARPS if of == "warps" else OWN)
    marks = floor, shadow[_BLOCK], phase, whose, cluster, turn
    found, under_way = UInt64(0), Bool(False)
    if atomic:
        gets = (cell[0] >= floor) & (cell[0] & RELEASE != 0) if reads else Bool(False)
        if gets:
            acquire(shadow, me)
        if writes:
            me = (me & ~UInt64(RELEASE)) | (gets | releases(shadow, me, of=of)).select(RELEASE, UInt64(0))
    for n in range(count):
        wrote, read, beside = cell[CELL * n], cell[CELL * n + 1], cell[CELL * n + 2]
        if reads and wrote < since:
            found = UInt64(UNSET)
        elif clash(wrote, me, *marks):
            found = wrote | BOTH_WRITE if writes and not reads else wrote
        if copies and is_under_way(wrote, floor):
            found = wrote | BOTH_WRITE if writes and not reads else wrote
            under_way = Bool(True)
        if writes:
            if clash(read, me, *marks):
                found = read
            elif clash(beside, me, *marks):
                found = beside
            if atomic and (wrote & ATOMIC == 0) & (wrote >= floor):  # others may race with that alone
                cell[CELL * n + 2] = wrote
            cell[CELL * n] = me
        elif read != me:
            if clash(read & ~UInt64(ATOMIC), me, *marks) and not (floor <= beside < shadow[_BLOCK]):
                cell[CELL * n + 2] = read
            cell[CELL * n + 1] = me
    if copies and under_way:
        return found
    if found > UNSET and (shadow[_SEEN] != 0 if clusters else handed(shadow, found, me, of=of)):
        return UInt64(0)
    if found > UNSET and is_own(shadow, found, me, whose):
        return UInt64(0)
    return found


@func
def is_under_way(other: UInt64, floor: UInt64) -> Bool:
    """Whether a record from ``floor`` on is of a copy that nobody has waited for."""
    return (other >= floor) & (other & UNDER_WAY != 0)


@func
def is_fine(other: UInt64, me: UInt64, soon: UInt64, *, atomic: Comptime[bool]) -> Bool:
    """Whether a record is at once seen to be in order with this one, or atomic as it is."""
    fine = (other < soon) | ((other ^ me) & SAME == 0)
    return fine | ((other & (ATOMIC | NARROW) == ATOMIC) & (me & NARROW == 0)) if atomic else fine


@func
def note_read(cell: Pointer[UInt64], me: UInt64, now: UInt64) -> None:
    """Note who reads memory of the block, which nobody reads atomically: of a stretch the first two."""
    if cell[2] < now:
        if cell[1] < now:
            cell[1] = me
        elif (cell[1] ^ me) & SAME != 0:
            cell[2] = me


@func
def passes(
    cell: Pointer[UInt64],
    me: UInt64,
    soon: UInt64,
    floor: UInt64,
    *,
    shared: Comptime[bool],
    how: Comptime[How],
) -> Bool:
    """Whether what a cell says is at once seen to be in order with an access."""
    reads, writes, atomic, _, _, copies = how
    wrote, read, beside = cell[0], cell[1], cell[2]
    here = max(wrote, read, beside) < soon if writes else max(wrote, read) < soon
    if atomic or not here:
        here = is_fine(wrote, me, soon, atomic=atomic)
        if writes:
            here = here & is_fine(read, me, soon, atomic=atomic) & is_fine(beside, me, soon, atomic=atomic)
        elif not shared:
            here = here & is_fine(read, me, soon, atomic=atomic)
        if atomic:
            here = here & ((wrote < floor) | (wrote & ATOMIC != 0))
        if atomic and reads:
            here = here & ((wrote < floor) | (wrote & RELEASE == 0))
    if copies:
        here = here & ~is_under_way(wrote, floor)
    return here


@func
def note(cell: Pointer[UInt64], me: UInt64, *, shared: Comptime[bool], writes: Comptime[bool]) -> None:
    """Note an access that is in order with all that its cell says."""
    if writes:
        cell[0] = me
    else:
        read = cell[1]
        if shared:
            cell[2] = ((read ^ me) & SAME == 0).select(cell[2], read)
        cell[1] = me


@func
def keep_update(shadow: Pointer[UInt64], cell: Pointer[UInt64], me: UInt64, floor: UInt64) -> None:
    """Keep an atomic write of another thread's beside that which comes now: others may race with either."""
    wrote, beside = cell[0], cell[2]
    apart = ((wrote ^ me) & OWN != 0) | (wrote < shadow[_BLOCK])
    if apart & (wrote >= floor) & (wrote & ATOMIC != 0) & ((beside < floor) | (beside & ATOMIC != 0)):
        cell[2] = wrote


@func
def access(
    shadow: Pointer[UInt64],
    cells: UInt64,
    at: Int64,
    me: UInt64,
    soon: UInt64,
    floor: UInt64,
    since: UInt64,
    *,
    count: Comptime[int],
    shift: Comptime[int],
    shared: Comptime[bool],
    how: Comptime[How],
    mixed: Comptime[bool],
) -> UInt64:
    """What ``noted`` does; most accesses are seen here to be in order, which is put where they are made.

    What is noted from ``floor`` on counts; that before ``soon`` is in order with this; what nobody has
    written from ``since`` on is not written. ``mixed``: some read shared memory atomically, and some do not.
    What two threads have read of shared memory in a stretch is written, and not in it: else the second is
    forgotten, as it is by who writes later.
    """
    reads, writes, atomic, warps, clusters, copies = how
    cell = Pointer.from_address((cells & ADDRESS) + UInt64((at >> shift) * CELL_BYTES), UInt64)
    if atomic and writes and not shared:
        for n in range(count):
            keep_update(shadow, cell + CELL * n, me, floor)
    if (atomic and not writes) or count > _FEW:
        return noted(shadow, cell, me, floor, since, Int64(count), how=how)
    if shared and not (writes or warps or mixed):
        for n in unroll(range(count)):
            read_by_two = Bool(False) if clusters else cell[CELL * n + 2] >= soon
            late = cell[CELL * n] - floor >= soon - floor
            if copies:
                late = late | is_under_way(cell[CELL * n], floor)
            if not read_by_two and late:
                found = noted(shadow, cell, me, floor, since, Int64(count), how=how)
                for m in unroll(range(count)):
                    if not clusters and (found != 0 or cell[CELL * m] >= soon):
                        cell[CELL * m + 2] = 0
                return found
        for n in unroll(range(count)):
            note_read(cell + CELL * n, me, soon)
        return UInt64(0)
    fine = Bool(True)
    if atomic:  # nothing is handed over
        fine = (shadow[_FENCED] == 0) & (me & RELEASE == 0)
    for n in unroll(range(count)):
        here = passes(cell + CELL * n, me, soon, floor, shared=shared, how=how)
        if reads:
            here = here & (cell[CELL * n] >= since)
        fine = fine & here
    if not fine:
        found = noted(shadow, cell, me, floor, since, Int64(count), how=how)
        if shared and not (atomic or warps or clusters):
            for n in unroll(range(count)):
                cell[CELL * n + 2] = 0
        return found
    for n in unroll(range(count)):
        note(cell + CELL * n, me, shared=shared, writes=writes)
    return UInt64(0)


_SHADOW = PointerSpec(DType.uint64, AddressSpace.GLOBAL)
_WORD, _AT = NumberSpec(DType.uint64), NumberSpec(DType.int64)


_EVENTS: dict[str, Func[..., Any]] = {
    "enter": enter,
    "resume": resume,
    "gather": gather,
    "meet": meet,
    "phase": phase,
    "stretch": stretch,
    "fence": fence,
    "fence_own": fence_own,
    "find": find,
    "give": give,
    "acquire": acquire,
}


@functools.cache
def checks(name: str, target: Target) -> tuple[Function, ...]:
    """What a function calls, and itself: one of ``_EVENTS``, as ``weft.enter``, or an access.

    ``weft.reads.shared.4.2`` is one that reads 4 bytes of shared memory, where cells are for 1 << 2 bytes;
    ``.warps`` and ``.clusters`` stand behind that where lanes of a warp or blocks of a cluster wait for each
    other, ``.threads`` where threads hand over, ``.mixed`` where others read memory of blocks atomically,
    ``.copies`` where copies to it may be under way.
    """
    kind, *parts = name.removeprefix("weft.").split(".")
    found: tuple[Func[..., Any], tuple[Spec, ...]]
    apart = of = ""
    if kind in _EVENTS:
        found = _EVENTS[kind], (_SHADOW, _WORD)
    elif kind in COPIES:
        found = COPIES[kind], (_SHADOW, *[_WORD] * int(parts[0]))
    else:
        size, shift, atomic = int(parts[1]), int(parts[2]), kind.startswith("atomic")
        reads, writes = "writes" not in kind, "reads" not in kind
        of = next((word for word in ("warps", "threads") if word in parts), "")
        count = max(1, size >> shift)
        how = reads, writes, atomic, of, "clusters" in parts, "copies" in parts
        static = count, shift, parts[0] == "shared", how, "mixed" in parts
        found = access, (_SHADOW, _WORD, _AT, *[_WORD] * 4, *map(StaticSpec, static))
        apart = ".".join(["weft.noted", kind, *[part for part in parts[3:] if part != "mixed"]])
    module = Elaborator(target).function(found[0].definition, found[1])
    names = {"noted": apart, "handed": f"weft.handed.{of}", "releases": f"weft.releases.{of}"}
    names[module.functions[-1].name] = name
    inline(module, lambda f: f.name not in names)
    made: list[Function] = []
    for f in module.functions:
        for op in f.body.walk():
            if op.name == "func.call":
                op.attrs = {"callee": names[str(op.attrs["callee"])]}
        made.append(replace(f, name=names[f.name], inline=names[f.name] == name, rare=names[f.name] != name))
    return tuple(made)
