"""Launches that were made before, for the native launch stub, which looks through them.

``tables.py`` has the structs, ``stub.py`` the code. All objects that a site compares with are kept alive, so
that no other can have their address.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.foreign.exchange import Exchange
from weft.lang.c_structs import c_struct
from weft.launch.native.asks import Asks
from weft.launch.native.builtins import NO_ARGUMENTS, WITH_KEYWORDS, make_builtin, records
from weft.launch.native.objects import WORD, offsets, words
from weft.launch.native.reads import Helds
from weft.launch.native.tables import (
    BUCKETS,
    EMPTIES,
    LOOKED_UP,
    MOST_SLOTS,
    Described,
    Entry,
    Held,
    Site,
    Table,
)
from weft.record import field, record
from weft.runtime.driver import Launch
from weft.runtime.forks import after_fork

_SITES = 8
"""Sites of one kernel; a call that has other objects every time must not fill the memory."""
_RENEWED = 64
"""Where a kernel has all its sites, one of so many launches by Python takes an unused one's place."""
_OLDER = 2
"""Sites of a launch that stay when what its code has read changes: it may change back."""
_PLACES = 64
"""Addresses for which a site knows where the tiles are described that lie there."""
_ALL = 256
"""Sites after which those go that made no launch since the last synchronisation."""


Tiles = Mapping[tuple[int, int], dict[int, Any]]
"""By the slot that says where tiles are described, and that of their memory: by its address, a buffer."""


@record(frozen=False, eq=False)
class Known:
    """A launch that the stub can make: what the call was, and what the driver was told."""

    kernel: object
    """The first positional argument."""
    names: tuple[str, ...] | None
    """The keywords."""
    count: int
    """How many positional arguments there are."""
    asks: Asks
    """What the others must be, positional first."""
    launch: Launch
    handles: tuple[int, int]
    """The driver's function and stream."""
    apart: bool = False
    """Whether no two buffers may share memory."""
    exchange: Exchange | None = None
    """Whose current stream must be that of ``handles``."""
    config: Any = None
    """The driver's configuration of a launch with attributes, which has the extents in it."""
    helds: Helds = Helds()
    """What the kernel's code has read of the program, which must be what it was."""
    tiles: Tiles = field(default_factory=dict[tuple[int, int], dict[int, Any]])
    """Where the tiles are described that the launch describes."""
    site: Any = None
    """What the stub looks at."""

    def asks_as(self, other: Known) -> bool:
        """Whether the stub would take the same calls for this launch as for another of the kernel."""
        same = (self.names, self.count, self.handles) == (other.names, other.count, other.handles)
        return same and self.apart == other.apart and self.asks.form == other.asks.form

    def make_site(self) -> None:
        """Write down what the stub looks at."""
        launch, (function, stream), ex = self.launch, self.handles, self.exchange
        block = words([*launch.grid, *launch.block, *memoryview(launch.arguments).cast("q")])
        entries, helds = records(Entry, self.asks.entries), records(Held, self.helds.entries)
        self.site = c_struct(Site)(
            kernel=id(self.kernel),
            names=0 if self.names is None else id(self.names),
            count=self.count,
            entries=ctypes.addressof(entries),
            total=len(self.asks.entries),
            helds=ctypes.addressof(helds),
            held_count=len(self.helds.entries),
            block=ctypes.addressof(block),
            slots=len(block),
            apart=self.apart,
            max_threads=launch.function.max_threads_per_block,
            function=function,
            stream=stream,
            stream_of=0 if ex is None else ex.stream_of,
            device=0 if ex is None else ex.device,
            shared=launch.shared_bytes,
            config=0 if self.config is None else int(self.config.getPtr()),
        )
        self.site.keep = block, entries, helds
        self.note_tiles({})

    def note_tiles(self, more: Tiles) -> None:
        """Write down where tiles are described, and ``more`` of the same, in place of the oldest."""
        rows, kept = list[tuple[int, ...]](), list[object]()
        for place, known in self.tiles.items():
            for address, descriptor in more.get(place, {}).items():
                known.setdefault(address, descriptor)
                if len(known) > _PLACES:
                    del known[next(iter(known))]
            pairs = words([word for at, buffer in known.items() for word in (at, buffer.address)])
            rows.append((*place, ctypes.addressof(pairs), len(known)))
            kept.append(pairs)
        tiles = records(Described, rows)
        self.site.tiles, self.site.tile_count = ctypes.addressof(tiles), len(rows)
        self.site.described = tiles, kept


class Launcher:
    """The native ``enqueue_function`` of one context.

    Args:
        code: The stub's address, and what keeps it there.
        launch: The addresses of the driver's ``cuLaunchKernel`` and ``cuLaunchKernelEx``.
        slow: What takes launches that were not made before.
        failed: What raises the error for a status of the driver, unless Python is to try the launch.
        home: The driver's handle of the context's own stream.
    """

    def __init__(
        self,
        code: tuple[int, object],
        launch: tuple[int, int],
        slow: Callable[..., object],
        failed: Callable[[int], object],
        home: int = 0,
    ) -> None:
        looked_up, where = [*map(sys.intern, LOOKED_UP)], offsets()
        interface = words([*map(id, looked_up)])
        self.table: Any = c_struct(Table)(
            *launch,
            id(slow),
            id(failed),
            interface=ctypes.addressof(interface),
            none=id(None),
            false=id(False),
            interrupt=id(KeyboardInterrupt),
            type_at=where.type,
        )
        self.table.key_at, self.table.address_at, self.table.owner_at = where.buffer
        self._code = code[0]
        self._keep = code, slow, failed, looked_up, interface
        self._home = home
        self._paused = False
        self._sites: list[Known] = []
        self._missed: dict[Hashable, int] = {}
        """How many launches of a kernel were not learned, since it has all its sites."""
        self._gone: list[Known] = []
        """Forgotten ones, whose site a call under way may be looking at."""
        self._used: list[Known] = []
        """Forgotten ones that were launched since the last synchronisation."""
        self.unlock()
        _launchers.add(self)

    def unlock(self) -> None:
        """Begin without a thread that changes the sites: a child has none of the others."""
        self._alone = threading.RLock()
        self._links = self._stale = False

    def make_builtin(self) -> Callable[..., None]:
        """The function to call, whose ``__self__`` is the table; it keeps this object alive."""
        return make_builtin("enqueue_function", self._code, self.table, self, WITH_KEYWORDS)

    def make_wait(
        self, code: int, slow: Callable[[], object], empties: Sequence[object]
    ) -> Callable[[], None]:
        """The function by which a program waits for the CPU's stream: what stands at ``code``.

        Args:
            code: The address of ``weft_synchronize``.
            slow: What waits where there is more to do.
            empties: What is empty where there is not, at most ``EMPTIES`` objects.
        """
        self._wait = slow, empties
        table = self.table
        table.slow_wait, table.main = id(slow), threading.main_thread().ident or 0
        table.empties[:] = [id(empties[min(n, len(empties) - 1)]) for n in range(EMPTIES)]
        table.lane = self._home
        return make_builtin("synchronize", code, table, self, NO_ARGUMENTS)

    def names(self) -> tuple[str, ...] | None:
        """The keywords of the call that came to Python last, of any thread: the very object."""
        names = self.table.names
        return ctypes.cast(names, ctypes.py_object).value if names else None

    def is_known(self) -> bool:
        """Whether the call that came to Python last has a site, so that nothing is to be learned from it."""
        return bool(self.table.known)

    def learn(self, known: Known) -> None:
        """From now on the stub makes such launches."""
        with self._alone:
            if self.table.inside <= 1:  # the call that is learned from, which has done with the sites
                self._gone.clear()
            if len(known.launch.arguments) <= MOST_SLOTS * WORD and self._make_room(known):
                known.make_site()
                self._sites.append(known)
                self._link()

    def _make_room(self, known: Known) -> bool:
        """Whether there is to be one more site, where need be in place of one without launches."""
        kernel = known.kernel
        alike = [one for one in self._sites if one.kernel is kernel]
        asked = [one for one in alike if one.asks_as(known)]
        same = next((other for other in asked if other.helds.form == known.helds.form), None)
        if same is not None:  # its tiles lie elsewhere, or it took the way through Python for another reason
            same.note_tiles(known.tiles)
            return False
        gone = asked[:-_OLDER]  # of code that read other values, which may have changed for good
        if not gone and len(alike) >= _SITES:
            missed = self._missed[id(kernel)] = self._missed.get(id(kernel), 0) + 1
            gone = [one for one in alike if not one.site.used][:1]
            if missed % _RENEWED or not gone:
                return False
        elif not gone and len(self._sites) >= _ALL:
            # kernels that are bound anew for each launch do not come again
            gone = [one for one in self._sites if not one.site.used]
            self._missed.clear()
        self._retire(lambda one: one in gone)
        return True

    def _retire(self, which: Callable[[Known], bool], *, counts: bool = True) -> None:
        """Take sites from the list, which calls under way may still look at; whether their launches count."""
        gone = [*filter(which, self._sites)]
        self._gone += gone
        self._sites[:] = [one for one in self._sites if one not in gone]
        self._used += [one for one in gone if one.site.used and counts]

    def take_used(self, stream: int) -> list[KernelInfo]:
        """What was launched on a stream since the last call."""
        with self._alone:
            if not self.table.inside:
                self._gone.clear()
            used = [*self._used, *(one for one in self._sites if one.site.used)]
            taken = [one for one in used if one.handles[1] == stream]
            self._used = [one for one in self._used if one not in taken]
            for one in taken:
                one.site.used = 0
        return [one.launch.function.kernel for one in taken]

    def used_streams(self) -> set[int]:
        """The streams on which there were launches that ``take_used`` has not taken."""
        return {one.handles[1] for one in (*self._used, *(one for one in self._sites if one.site.used))}

    def pause(self) -> None:
        """Until ``resume`` all launches go to Python."""
        self._paused, self.table.paused = True, 1
        with self._alone:
            self._link()

    def resume(self) -> None:
        """Undo ``pause``."""
        self._paused, self.table.paused = False, 0
        with self._alone:
            self._link()

    def forget(self, stream: int) -> None:
        """From now on all launches on a stream go to Python; those of its own stand for all."""
        with self._alone:
            self._retire(lambda known: stream in (self._home, known.handles[1]), counts=False)
            self._link()

    def drop(self, of: Callable[[Launch], bool]) -> None:
        """Forget the launches of which ``of`` says so."""
        with self._alone:
            self._retire(lambda known: of(known.launch))
            self._link()
            if not self.table.inside:
                self._gone.clear()

    def _link(self) -> None:
        """Chain the sites; the stub looks at them while it holds the interpreter's lock, as this does.

        One thread at a time, since two would chain a site to itself, where the stub would look for ever; and
        once more where what runs in between on this thread, such as the end of an object, changed the sites.
        """
        self._stale = True
        if self._links:
            return
        self._links = True
        try:
            while self._stale:
                self._stale = False
                self._chain()
        finally:
            self._links = False

    def _chain(self) -> None:
        self.table.changes += 1
        buckets = self.table.buckets
        buckets[:] = [0] * BUCKETS
        # what was compiled for distinct buffers is found first; the other takes what it leaves
        for one in () if self._paused else sorted(self._sites, key=lambda one: one.apart):
            bucket = id(one.kernel) >> 4 & BUCKETS - 1
            one.site.next = buckets[bucket]
            buckets[bucket] = ctypes.addressof(one.site)


_launchers: weakref.WeakSet[Launcher] = weakref.WeakSet()


def _after_fork() -> None:
    """Have Python see all launches, which says that GPUs do not survive a fork."""
    for launcher in _launchers:
        launcher.unlock()
        launcher.pause()


after_fork(_after_fork)
