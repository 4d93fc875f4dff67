"""What threads hand over to each other, for the checks of ``compiler/shadow.py``: releases, acquires, fences.

Written in weft, as those are; what a launch keeps of it is said in ``abi/shadow.py``.
"""

from __future__ import annotations

import ctypes

from weft.abi.shadow import FENCES, NARROW, RELEASE, SITE, THREAD, TICK, WORD, Entry, Shadow
from weft.abi.warp import WARP
from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.pointer import Pointer
from weft.lang.scalars import Bool, Int64, UInt64

_BLOCK, _LOG, _LOGGED, _ROOM, _ENTRY, _ACQUIRED, _FENCED, _THREADS, _PHASE, _SEEN = (
    getattr(Shadow, name).offset // WORD
    for name in "block log logged room entry acquired fenced threads phase seen".split()
)
_FIRST, WIDE, OWN_ONES = (getattr(Entry, name).offset // WORD for name in ("first", "released", "own"))
ENTRY_BYTES = ctypes.sizeof(Entry)
RELEASED, MET = range(2)
"""From ``WIDE`` and from ``OWN_ONES`` on."""
_HAS_ACQUIRED, _HAS_FENCED, _HAS_FENCED_OWN = range(FENCES)
"""Of a thread's words."""
OWN = ((1 << SITE) - 1) & -(1 << THREAD)
WARPS = OWN & -(1 << (THREAD + 5))
"""The bits in which records of one thread agree, and those of one warp."""


@func
def fence(shadow: Pointer[UInt64], me: UInt64) -> None:
    """A thread has come to a fence: what it writes atomically from now on releases what was before."""
    if shadow[_FENCED] == 0:
        shadow[_FENCED] = tick_of(me)
    did(shadow, me, which=_HAS_FENCED)


@func
def fence_own(shadow: Pointer[UInt64], me: UInt64) -> None:
    """A thread has come to a fence of its block alone."""
    did(shadow, me, which=_HAS_FENCED_OWN)


@func
def thread_words(shadow: Pointer[UInt64], me: UInt64) -> Pointer[UInt64]:
    """What is known of a record's thread: the ticks when it first acquired something, and met fences."""
    return Pointer.from_address(shadow[_THREADS], UInt64) + FENCES * Int64(thread_of(me))


@func
def did(shadow: Pointer[UInt64], me: UInt64, *, which: Comptime[int]) -> None:
    """A thread has done one of these."""
    words = thread_words(shadow, me)
    if words[which] < shadow[_BLOCK]:
        words[which] = tick_of(me)


@func
def by_others(
    shadow: Pointer[UInt64], me: UInt64, first: UInt64, *, which: Comptime[int], of: Comptime[str]
) -> Bool:
    """Whether a thread did one of these before this one last waited for it.

    ``first``: when one of the block first did.
    """
    if of == "warps":
        found = 0 < first < shadow[_PHASE]
        words = Pointer.from_address(shadow[_THREADS], UInt64) + FENCES * Int64(thread_of(me) // WARP * WARP)
        for lane in range(WARP):
            word = words[FENCES * lane + which]
            found = found | (shadow[_BLOCK] <= word < tick_of(me))
        return found
    return 0 < first < (shadow[_PHASE] if of == "threads" else tick_of(me))


@func
def acquire(shadow: Pointer[UInt64], me: UInt64) -> None:
    """A thread has seen what another released."""
    shadow[_SEEN] = 1
    if shadow[_ACQUIRED] == 0:
        shadow[_ACQUIRED] = tick_of(me)
    did(shadow, me, which=_HAS_ACQUIRED)


@func
def give(shadow: Pointer[UInt64], me: UInt64) -> None:
    """A thread comes where some wait for each other: it hands over what it did."""
    releases(shadow, me | RELEASE, of="threads")


@func
def tick_of(me: UInt64) -> UInt64:
    """A record's tick, where records have it."""
    return me >> TICK << TICK


@func
def thread_of(me: UInt64) -> UInt64:
    """The number of a record's thread."""
    return (me & ((1 << SITE) - 1)) >> THREAD


@func
def releases(shadow: Pointer[UInt64], me: UInt64, *, of: Comptime[str]) -> Bool:
    """Whether an atomic write hands over what came before it: by its order, or since there was a fence.

    It then does so for the block, of which one record is kept, and one of what its own threads alone see.
    """
    words, first = thread_words(shadow, me), shadow[_BLOCK]
    met = shadow[_PHASE] if of else tick_of(me)
    wide = (words[_HAS_FENCED] >= first) | (me & RELEASE != 0)
    own = (words[_HAS_FENCED_OWN] >= first) | (wide & (me & NARROW != 0))
    fenced = by_others(shadow, me, shadow[_FENCED], which=_HAS_FENCED, of=of)
    wide = (wide | fenced) & (me & NARROW == 0)
    if not (wide or own):
        return Bool(False)
    kept = Pointer.from_address(shadow[_ENTRY], UInt64) + (WIDE if wide else OWN_ONES)
    before = kept[RELEASED]
    several = (kept[MET] == met) & ((before & RELEASE != 0) | ((before ^ me) & OWN != 0))
    kept[MET] = met
    kept[RELEASED] = several.select(max(before, me) | RELEASE, me & ~UInt64(RELEASE))
    return Bool(True)


@func
def logged_by(shadow: Pointer[UInt64], other: UInt64) -> UInt64:
    """How many entries there were when a record was made, whose block's is the last of them."""
    low, high = UInt64(0), shadow[_LOGGED]
    while low < high:
        middle = (low + high) // 2
        if entry_at(shadow, middle + 1)[_FIRST] <= other:
            low = middle + 1
        else:
            high = middle
    return low


@func
def entry_at(shadow: Pointer[UInt64], logged: UInt64) -> Pointer[UInt64]:
    """The last of so many entries."""
    return Pointer.from_address(shadow[_LOG] + (logged - 1) * ENTRY_BYTES, UInt64)


@func
def handed(shadow: Pointer[UInt64], other: UInt64, me: UInt64, *, of: Comptime[str]) -> Bool:
    """Whether an access was released, and this thread has acquired, or before a barrier its block."""
    own = thread_words(shadow, me)[_HAS_ACQUIRED] >= shadow[_BLOCK]
    if not (own or by_others(shadow, me, shadow[_ACQUIRED], which=_HAS_ACQUIRED, of=of)):
        return Bool(False)
    logged = logged_by(shadow, other)
    if logged == shadow[_ROOM]:
        return Bool(True)  # of one of the blocks that are too many nothing is known
    entry = entry_at(shadow, logged)
    here = (other >= shadow[_BLOCK]) & is_handed(entry + OWN_ONES, other, of=of)
    return here | is_handed(entry + WIDE, other, of=of)


@func
def is_handed(kept: Pointer[UInt64], other: UInt64, *, of: Comptime[str]) -> Bool:
    """Whether an access comes before what was released."""
    released = kept[RELEASED]
    same = (released & RELEASE != 0) | ((released ^ other) & OWN == 0)
    found = (other < kept[MET]) | ((other >> TICK <= released >> TICK) & same)
    if of == "warps":  # what the warp did before its lanes last waited for each other
        found = found | ((other >> TICK < released >> TICK) & ((released ^ other) & WARPS == 0))
    return found
