"""Races between the work of several streams: what each launch, copy and fill has read and written is held.

Cells say what a launch did last to each granule. Launches that are not in order (``runtime/clocks.py``) are
compared where they have used the same memory, of which one wrote.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import FaultSite, KernelInfo
from weft.abi.shadow import ADDRESS, ATOMIC, CELL, CELL_BYTES, SITE, SITES, THREAD
from weft.diagnostics import Location, Report, code_location
from weft.diagnostics.reports import Indices, Other
from weft.runtime.clocks import Clock, host_clock, pending
from weft.runtime.faults import location_of, named

_MOST = 64
"""How many are held."""
_MOST_BYTES = 1 << 30
"""Cells of all that are held."""
_HINT = (
    "let one stream wait for the other: `stream.enqueue_wait_for(other)`; or the host: `ctx.synchronize()`",
)
_WHOLE = 1 << 2
"""The record of each byte that a copy or a fill uses."""


class Touched(NamedTuple):
    """Memory from there to there that was used, and whether it was written.

    Of a launch: its cells, one for so many bytes, in which records from a tick on are its own; 0 where all of
    it was used. ``keeps`` has the cells, which are so many bytes.
    """

    low: int
    high: int
    written: bool
    cells: int = 0
    granule: int = 1
    first: int = 0
    keeps: Any = None
    nbytes: int = 0

    def records(self, low: int, high: int, grain: int) -> Any:
        """Who wrote and who read what lies there, for each so many bytes."""
        import numpy as np

        count = -(-(high - low) // grain)
        if not self.cells:
            used = np.full(count, _WHOLE, np.uint64), np.zeros(count, np.uint64)
            return np.stack(used if self.written else used[::-1])
        size, begin = self.granule, (low - self.low) // self.granule
        words = (ctypes.c_uint64 * (CELL * -(-(high - low) // size))).from_address(
            (self.cells & ADDRESS) + begin * CELL_BYTES
        )
        cells = np.ctypeslib.as_array(words).reshape(-1, CELL)
        seen = np.where(cells >= np.uint64(self.first), cells, np.uint64(0))
        who = np.stack([seen[:, 0], np.maximum(seen[:, 1], seen[:, 2])])
        return np.repeat(who, size // grain, axis=1)[:, :count]


class Done(NamedTuple):
    """Work that has run: its stream, what it came behind, where it was asked for, and what it used.

    Of a launch, the kernel and its block's extents; what else it is says ``called``.
    """

    called: str
    stream: int
    clock: Clock
    place: Any
    touched: Sequence[Touched]
    kernel: KernelInfo | None = None
    block: Sequence[int] = (1, 1, 1)

    def before(self, other: Done) -> bool:
        """Whether another comes behind it."""
        return self.clock[self.stream] <= other.clock.get(self.stream, 0)

    @property
    def grain(self) -> int:
        """For how many bytes it has records."""
        return self.kernel.granule if self.kernel else 8

    def access(self, record: int, *, written: bool) -> _Access | None:
        """That of a record."""
        if self.kernel is None:
            verb = "writes" if written else "reads"
            found = self.place and code_location(*self.place)
            return None if found is None else _Access(self.called, verb, found)
        site = self.kernel.sites.get(record >> SITE & SITES - 1)
        if not isinstance(site, FaultSite):
            return None
        n, (x, y, _) = (record & (1 << SITE) - 1) >> THREAD, self.block
        return _Access(self.called, site.verb, location_of(site), site, (n % x, n // x % y, n // (x * y)))


class _Access(NamedTuple):
    called: str
    verb: str
    location: Location
    site: FaultSite | None = None
    thread: Indices | None = None


_done: list[Done] = []


def races(done: Done) -> list[tuple[str, Report]]:
    """What work that has run does beside others; it is held from now on."""
    found: list[tuple[str, Report]] = []
    for old in _done:
        if old.stream != done.stream and not old.before(done) and not done.before(old):
            for one in old.touched:
                for two in done.touched:
                    if (one.written or two.written) and one.low < two.high and two.low < one.high:
                        found += _clashes(old, one, done, two)
    _done.append(done)
    known = host_clock()
    pending.discard((done.stream, done.clock[done.stream]))
    if not pending:  # who comes next comes behind all that the host knows
        _done[:] = [old for old in _done if old.clock[old.stream] > known.get(old.stream, 0)]
    held = sum([each.nbytes for old in _done for each in old.touched])
    while len(_done) > _MOST or held > _MOST_BYTES:
        held -= sum([each.nbytes for each in _done.pop(0).touched])
    return found


def _clashes(old: Done, one: Touched, new: Done, two: Touched) -> Iterator[tuple[str, Report]]:
    """The first element that two clash at, as reads and writes meet."""
    import numpy as np

    grain = min(old.grain, new.grain)
    low, high = max(one.low, two.low), min(one.high, two.high)
    if (low - one.low) % grain or (low - two.low) % grain:
        return
    theirs, mine = one.records(low, high, grain), two.records(low, high, grain)
    for row, other in ((0, 0), (0, 1), (1, 0)):  # writes, reads
        a, b = mine[row], theirs[other]
        met = (a != 0) & (b != 0) & ((a & b & np.uint64(ATOMIC)) == 0)
        if met.any():
            n = int(met.argmax())
            this = new.access(int(a[n]), written=row == 0)
            that = old.access(int(b[n]), written=other == 0)
            if this is not None and that is not None:
                made = _report(old, that, new, this, (low + n * grain, one.low, two.low))
                yield f"{old.stream} {old.clock[old.stream]} {row} {other} {low}", made
                return


def _report(old: Done, that: _Access, new: Done, this: _Access, at: tuple[int, int, int]) -> Report:
    """``at``: an address, and where the memory begins of what is ``old`` and ``new``."""
    notes = [
        f"{done.called} was launched at {place.file}:{place.line}"
        for done in (old, new)
        if done.kernel is not None and (place := done.place and code_location(*done.place)) is not None
    ]
    address, theirs, begin = at
    if this.site is None and that.site is not None:  # the kernel's access comes first
        this, that, begin = that, this, theirs
    size = this.site.size if this.site else 1
    index = (address - begin) // size
    what = f"element {index} of {named(this.site)}" if this.site else "memory"
    others = f"{that.called} of another stream {that.verb} it"
    return Report(
        "data-race",
        f"{this.called} {this.verb} {what}, {others}, and nothing orders the two",
        this.location,
        this.called.removeprefix("kernel ").strip("'") if this.site else "",
        (0, 0, 0),
        this.thread or (0, 0, 0),
        verb=this.verb,
        buffer=this.site.name if this.site else "",
        index=index,
        size=size,
        address=address,
        other=Other(that.location, _where(that, "it"), None, that.thread),
        said=f"in thread {this.thread} of a block" if this.site else _where(this, "here"),
        notes=tuple(notes),
        hints=_HINT,
    )


def _where(access: _Access, what: str) -> str:
    thread = f" in thread {access.thread}" if access.thread else ""
    return f"{access.verb} {what}{thread}"
