"""Races between checked launches of several streams: what each has read and written is held for a while.

Cells say what a launch did last to each granule. Once it has ended, they are compared with those of launches
that it is not in order with (``runtime/clocks.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import FaultSite, KernelInfo
from weft.abi.shadow import ADDRESS, ATOMIC, CELL, SITE, SITES, THREAD, WORD
from weft.diagnostics import Report, code_location
from weft.diagnostics.reports import Other, Place
from weft.runtime.clocks import Clock, host_clock, pending
from weft.runtime.faults import location_of, named

_MOST = 8
"""Launches that are held."""
_MOST_BYTES = 96 << 20
"""Cells of one memory: of more nothing is held."""
_HINT = (
    "let one stream wait for the other: `stream.enqueue_wait_for(other)`; or the host: `ctx.synchronize()`",
)


class Done(NamedTuple):
    """A launch that has run: its stream, what it came behind, where it was launched, its block's extents; and
    of memory from there to there, for each granule the records of who wrote and who read.
    """

    kernel: KernelInfo
    stream: int
    clock: Clock
    place: Any
    block: Sequence[int]
    touched: Sequence[tuple[int, int, Any]]

    def before(self, other: Done) -> bool:
        """Whether another comes behind it."""
        return self.clock[self.stream] <= other.clock.get(self.stream, 0)

    def site(self, record: int) -> FaultSite | None:
        """The site of a record."""
        found = self.kernel.sites.get(record >> SITE & SITES - 1)
        return found if isinstance(found, FaultSite) else None

    def thread(self, record: int) -> Place:
        """The thread of a record, in its block."""
        n, (x, y, _) = (record & (1 << SITE) - 1) >> THREAD, self.block
        return n % x, n // x % y, n // (x * y)


_done: list[Done] = []


def touched(
    wholes: Sequence[tuple[tuple[int, int], int]], granule: int, first: int
) -> Iterator[tuple[int, int, Any]]:
    """What the launch whose ticks begin at ``first`` has noted of memory that has cells."""
    import numpy as np

    for (low, high), cells in wholes:
        count = -(-(high - low) // granule)
        if not cells or count * CELL * WORD > _MOST_BYTES:
            continue
        words = np.ctypeslib.as_array(_words(cells & ADDRESS, count * CELL)).reshape(count, CELL)
        seen = np.where(words >= np.uint64(first), words, np.uint64(0))
        if seen.any():
            yield low, high, np.stack([seen[:, 0], np.maximum(seen[:, 1], seen[:, 2])])


def _words(address: int, count: int) -> Any:
    import ctypes

    return (ctypes.c_uint64 * count).from_address(address)


def races(done: Done) -> list[tuple[str, Report]]:
    """What a launch that has run does beside others; it is held from now on."""
    known = host_clock()
    pending.discard((done.stream, done.clock[done.stream]))
    if not pending:  # who comes now comes behind all that the host knows
        _done[:] = [old for old in _done if old.clock[old.stream] > known.get(old.stream, 0)]
    del _done[:-_MOST]
    found: list[tuple[str, Report]] = []
    for old in _done:
        if old.stream != done.stream and not old.before(done) and not done.before(old):
            for one in old.touched:
                for two in done.touched:
                    found += _clashes(old, one, done, two)
    _done.append(done)
    return found


def _clashes(
    old: Done, one: tuple[int, int, Any], new: Done, two: tuple[int, int, Any]
) -> Iterator[tuple[str, Report]]:
    """The first element that two launches clash at, as reads and writes meet."""
    import numpy as np

    grain = min(old.kernel.granule, new.kernel.granule)
    low, high = max(one[0], two[0]), min(one[1], two[1])
    if low >= high or (low - one[0]) % grain or (low - two[0]) % grain:
        return
    cut: list[Any] = []
    for launch, (begin, _, records) in ((old, one), (new, two)):
        fine = np.repeat(records, launch.kernel.granule // grain, axis=1)
        first = (low - begin) // grain
        cut.append(fine[:, first : first + -(-(high - low) // grain)])
    for mine, theirs in ((0, 0), (0, 1), (1, 0)):  # writes, reads
        a, b = cut[1][mine], cut[0][theirs]
        met = (a != 0) & (b != 0) & ((a & b & np.uint64(ATOMIC)) == 0)
        if met.any():
            n = int(met.argmax())
            made = _report(old, int(b[n]), new, int(a[n]), low + n * grain, two[0])
            if made is not None:
                yield f"{old.stream} {old.clock[old.stream]} {mine} {theirs} {low}", made
                return


def _report(old: Done, theirs: int, new: Done, mine: int, address: int, begin: int) -> Report | None:
    site, there = new.site(mine), old.site(theirs)
    if site is None or there is None:
        return None
    name, other = new.kernel.signature.name, old.kernel.signature.name
    index = (address - begin) // site.size
    message = (
        f"kernel {name!r} {site.verb} element {index} of {named(site)}, kernel {other!r} of another stream "
        f"{there.verb} it, and nothing orders the two"
    )
    launched = [
        f"{kernel!r} was launched at {place.file}:{place.line}"
        for kernel, place in ((other, old.place), (name, new.place))
        if place is not None
    ]
    return Report(
        "data-race",
        message,
        location_of(site),
        name,
        (0, 0, 0),
        new.thread(mine),
        verb=site.verb,
        buffer=site.name,
        index=index,
        size=site.size,
        address=address,
        other=Other(
            location_of(there), f"{there.verb} it in thread {old.thread(theirs)}", None, old.thread(theirs)
        ),
        said=f"in thread {new.thread(mine)} of a block",
        notes=tuple(launched),
        hints=_HINT,
    )


def placed(place: Any) -> Any:
    """A place in code as a location."""
    return None if place is None else code_location(*place)
