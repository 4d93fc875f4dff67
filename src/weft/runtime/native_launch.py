"""Launches that were made before, for the native launch stub, which looks through them.

``abi/sites.py`` has the structs, ``launch/native/stub.py`` the code. All objects that a site compares
with are kept alive, so that no other can have their address.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.abi.sites import BUCKETS, MOST_SLOTS, Entry, Held, Site, Table
from weft.record import record
from weft.runtime.driver import Function
from weft.runtime.forks import after_fork
from weft.runtime.stub_entries import Asks, Exchange, Helds

__all__ = ["Known", "Launcher"]

_SITES = 8
"""Sites of one kernel; a call that has other objects every time must not fill the memory."""
_RENEWED = 64
"""Where a kernel has all its sites, one of so many launches by Python takes an unused one's place."""
_OLDER = 2
"""Sites of a launch that stay when what its code has read changes: it may change back."""
_ALL = 256
"""Sites after which those go that made no launch since the last synchronisation."""


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


@record
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
    constants: bytes
    """The argument block, whose slots the arguments overwrite."""
    handles: tuple[int, int]
    """The driver's function and stream."""
    dims: tuple[int, ...]
    """Extents of grid and block."""
    shared: int
    function: Function
    apart: bool = False
    """Whether no two buffers may share memory."""
    exchange: Exchange | None = None
    """Whose current stream must be that of ``handles``."""
    config: Any = None
    """The driver's configuration of a launch with attributes; ``dims`` and ``shared`` are in it."""
    helds: Helds | None = None
    """What the kernel's code has read of the program, which must be what it was."""

    def asks_as(self, other: Known) -> bool:
        """Whether the stub would take the same calls for this launch as for another of the kernel."""
        same = (self.names, self.count, self.handles) == (other.names, other.count, other.handles)
        return same and self.apart == other.apart and self.asks.form == other.asks.form

    def reads_as(self, other: Known) -> bool:
        """Whether it was compiled of the same names and values as another."""
        return (self.helds and self.helds.form) == (other.helds and other.helds.form)


class Launcher:
    """The native ``enqueue_function`` of one context.

    Args:
        code: The stub's address, and what keeps it there.
        launch: The addresses of the driver's ``cuLaunchKernel`` and ``cuLaunchKernelEx``.
        slow: What takes launches that were not made before.
        failed: What raises the error for a status of the driver.
        home: The driver's handle of the context's own stream.
    """

    __slots__ = (
        "__weakref__",
        "_code",
        "_failed",
        "_gone",
        "_home",
        "_method",
        "_missed",
        "_paused",
        "_sites",
        "_slow",
        "_table",
        "_used",
        "table",
    )

    def __init__(
        self,
        code: tuple[int, object],
        launch: tuple[int, int],
        slow: Callable[..., object],
        failed: Callable[[int], object],
        home: int = 0,
    ) -> None:
        self._code, self._slow, self._failed = code, slow, failed
        self._table = Table(*launch, id(slow), id(failed))
        self.table = ctypes.addressof(self._table)
        self._method = _Method(b"enqueue_function", code[0], _FASTCALL_KEYWORDS, None)
        self._home = home
        self._paused = False
        self._sites: list[tuple[Site, Known]] = []
        self._missed: dict[Hashable, int] = {}
        """How many launches of a kernel were not learned, since it has all its sites."""
        self._gone: list[tuple[Site, Known]] = []
        """Forgotten sites, which a call under way may be looking at."""
        self._used: list[Known] = []
        """Forgotten launches that were made since the last synchronisation."""
        _launchers.add(self)

    def make_builtin(self) -> Callable[..., None]:
        """The function to call; it keeps this object alive."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        return make(ctypes.addressof(self._method), self, None)

    def names(self) -> tuple[str, ...] | None:
        """The keywords of the call that came to Python last, of any thread: the very object."""
        try:
            return self._table.names
        except ValueError:  # there were none
            return None

    def learn(self, known: Known) -> None:
        """From now on the stub makes such launches."""
        slots, asks = len(known.constants) // 8, known.asks
        if self._table.inside <= 1:  # the call that is learned from, which has done with the sites
            self._gone.clear()
        if slots > MOST_SLOTS or not self._make_room(known):
            return
        entries = (Entry * max(1, len(asks.entries)))(*asks.entries)
        block = ctypes.create_string_buffer(known.constants, max(8, len(known.constants)))
        read = [] if known.helds is None else known.helds.entries
        helds = (Held * max(1, len(read)))(*read)
        exchange = known.exchange
        site = Site(
            None,
            id(known.kernel),
            None if known.names is None else id(known.names),
            known.count,
            len(asks.entries),
            ctypes.addressof(entries),
            slots,
            ctypes.addressof(block),
            *known.handles,
            known.shared,
            0,
            (ctypes.c_int64 * 6)(*known.dims),
            known.function.max_threads_per_block,
            known.apart,
            exchange.stream_of or None if exchange is not None else None,
            0 if exchange is None else exchange.device,
            None if known.config is None else int(known.config.getPtr()),
            ctypes.addressof(helds),
            len(read),
        )
        site.keep = entries, block, helds  # a member of the Python object, not of the struct
        self._sites.append((site, known))
        self._link()

    def _make_room(self, known: Known) -> bool:
        """Whether there is to be one more site, where need be in place of one without launches."""
        kernel = known.kernel
        alike = [one for one in self._sites if one[1].kernel is kernel]
        asked = [one for one in alike if one[1].asks_as(known)]
        if any(other.reads_as(known) for _, other in asked):
            return False  # this launch took the way through Python for another reason
        gone = asked[:-_OLDER]  # of code that read other values, which may have changed for good
        if not gone and len(alike) >= _SITES:
            missed = self._missed[id(kernel)] = self._missed.get(id(kernel), 0) + 1
            gone = [one for one in alike if not one[0].used][:1]
            if missed % _RENEWED or not gone:
                return False
        elif not gone and len(self._sites) >= _ALL:
            # kernels that are bound anew for each launch do not come again
            gone = [one for one in self._sites if not one[0].used]
            self._missed.clear()
        if gone:
            left = set(map(id, gone))
            self._retire(lambda one: id(one) in left)
        return True

    def _retire(self, which: Callable[[tuple[Site, Known]], bool]) -> None:
        """Take sites from the list; calls under way may still look at them."""
        sites, self._sites = self._sites, []
        for one in sites:
            gone = which(one)
            (self._gone if gone else self._sites).append(one)
            if gone and one[0].used:
                self._used.append(one[1])

    def take_used(self, stream: int) -> list[KernelInfo]:
        """What was launched on a stream since the last call."""
        if not self._table.inside:
            self._gone.clear()
        used = [known.function.kernel for known in self._used if known.handles[1] == stream]
        self._used = [known for known in self._used if known.handles[1] != stream]
        for site, known in self._sites:
            if site.used and known.handles[1] == stream:
                site.used = 0
                used.append(known.function.kernel)
        return used

    def used_streams(self) -> set[int]:
        """The streams on which there were launches that ``take_used`` has not taken."""
        used = [known for site, known in self._sites if site.used]
        return {known.handles[1] for known in (*self._used, *used)}

    def pause(self) -> None:
        """Until ``resume`` all launches go to Python."""
        self._paused = True
        self._link()

    def resume(self) -> None:
        """Undo ``pause``."""
        self._paused = False
        self._link()

    def forget(self, stream: int) -> None:
        """From now on all launches on a stream go to Python; those of its own stand for all."""
        sites, self._sites = self._sites, []
        for site, known in sites:
            gone = stream in (self._home, known.handles[1])
            (self._gone if gone else self._sites).append((site, known))
        self._link()

    def drop(self, of: Callable[[Known], bool]) -> None:
        """Forget the launches of which ``of`` says so."""
        self._retire(lambda one: of(one[1]))
        self._link()
        if not self._table.inside:
            self._gone.clear()

    def _link(self) -> None:
        """Chain the sites; the stub looks at them while it holds the interpreter's lock, as this does."""
        self._table.changes += 1
        for bucket in range(BUCKETS):
            self._table.buckets[bucket] = None
        # what was compiled for distinct buffers is found first; the other takes what it leaves
        for site, known in () if self._paused else sorted(self._sites, key=lambda one: one[1].apart):
            bucket = id(known.kernel) >> 4 & BUCKETS - 1
            site.next = self._table.buckets[bucket]
            self._table.buckets[bucket] = ctypes.addressof(site)


_launchers: weakref.WeakSet[Launcher] = weakref.WeakSet()


def _after_fork() -> None:
    """Have Python see all launches, which says that GPUs do not survive a fork."""
    for launcher in _launchers:
        launcher.pause()


after_fork(_after_fork)
