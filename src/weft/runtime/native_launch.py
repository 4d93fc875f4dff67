"""Launches that were made before, as structs that the native launch stub looks through.

``emit/stub.py`` is the code; here are its tables. A site is a kernel with the keywords and the types
of arguments of one call in a program. The stub checks a site's entries against the arguments, packs
them, and calls the driver. All objects that a site compares with are kept alive, so that no other
can have their address.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.artifact import Artifact
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.driver import Function

__all__ = ["OFFSETS", "Asks", "Known", "Launcher", "member_offset", "supported"]

_BUCKETS = 32
_MOST = 32
_SITES = 8
"""Sites of one kernel; a call that has other objects every time must not fill the memory."""


class Entry(ctypes.Structure):
    """What a site asks of one argument."""

    _fields_ = [
        ("kind", ctypes.c_int64),
        ("what", ctypes.c_void_p),
        ("a", ctypes.c_int64),
        ("b", ctypes.c_int64),
        ("c", ctypes.c_int64),
        ("slot", ctypes.c_int64),
    ]


class Site(ctypes.Structure):
    """A launch as a program has made it."""

    _fields_ = [
        ("next", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("total", ctypes.c_int64),
        ("entries", ctypes.c_void_p),
        ("slots", ctypes.c_int64),
        ("constants", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("shared", ctypes.c_int64),
        ("used", ctypes.c_int64),
        ("dims", ctypes.c_int64 * 6),
        ("max_threads", ctypes.c_int64),
        ("apart", ctypes.c_int64),
    ]


class Table(ctypes.Structure):
    """What the stub of one context knows."""

    _fields_ = [
        ("launch", ctypes.c_void_p),
        ("current", ctypes.c_void_p),
        ("slow", ctypes.c_void_p),
        ("failed", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
        ("buckets", ctypes.c_void_p * _BUCKETS),
    ]


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


def supported() -> bool:
    """Whether objects of this Python have the form that the stub reads."""
    return sys.implementation.name == "cpython" and object.__basicsize__ == 16


def member_offset(descriptor: Any) -> int:
    """Where instances have the member that a ``__slots__`` descriptor stands for."""
    member = ctypes.c_void_p.from_address(id(descriptor) + object.__basicsize__ + 24).value or 0
    return ctypes.c_ssize_t.from_address(member + 16).value


class Asks:
    """The entries of a site under way; each method is for the next argument."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.keep: list[object] = []

    def identity(self, value: object) -> None:
        """The same object again."""
        self.keep.append(value)
        self.entries.append(Entry(0, id(value)))

    def buffer(self, value: DeviceBuffer[Any], slot: int, alignment: int = 1) -> None:
        """Any open buffer of the same context and element type."""
        key = value.key
        self.keep.append(key)
        self.entries.append(Entry(1, id(DeviceBuffer), OFFSETS["_key"], id(key), alignment - 1, slot))

    def member(self, value: object, name: str) -> None:
        """An object of this type with the same member; what follows is still for the same argument."""
        cls, member = type(value), getattr(value, name)
        self.keep += [cls, member]
        self.entries.append(Entry(8, id(cls), member_offset(getattr(cls, name)), id(member)))

    def inside(self, value: object, name: str) -> None:
        """An object of this type; what follows is for its member."""
        cls = type(value)
        self.keep.append(cls)
        self.entries.append(Entry(9, id(cls), member_offset(getattr(cls, name))))

    def integer(self, low: int, high: int, slot: int) -> None:
        """Any int in a range."""
        self.entries.append(Entry(2, id(int), low, high, 0, slot))

    def floating(self, bits: int, given: type, slot: int) -> None:
        """Any float or int for a parameter of that many bits."""
        kind = {(32, float): 3, (64, float): 4, (32, int): 6, (64, int): 7}[bits, given]
        self.entries.append(Entry(kind, id(given), 0, 0, 0, slot))

    def dimension(self, high: int, axis: int) -> None:
        """Any int that the grid (axis 0) or the block (axis 3) may have in x."""
        self.entries.append(Entry(5, id(int), 0, high, axis))


@dataclass(frozen=True, slots=True)
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
    handles: tuple[int, int, int]
    """The driver's function, stream and context."""
    dims: tuple[int, ...]
    """Extents of grid and block."""
    shared: int
    function: Function
    apart: bool = False
    """Whether no two buffers may share memory."""


class Launcher:
    """The native ``enqueue_function`` of one context.

    Args:
        code: The stub's address, and what keeps it there.
        launch: The address of the driver's ``cuLaunchKernel``.
        current: The address of its ``cuCtxGetCurrent``.
        slow: What takes launches that were not made before.
        failed: What raises the error for a status of the driver.
    """

    __slots__ = (
        "_code",
        "_failed",
        "_heads",
        "_keep",
        "_method",
        "_paused",
        "_sites",
        "_slow",
        "_table",
        "table",
    )

    def __init__(
        self,
        code: tuple[int, object],
        launch: int,
        current: int,
        slow: Callable[..., object],
        failed: Callable[[int], object],
    ) -> None:
        self._code, self._slow, self._failed = code, slow, failed
        self._table = Table(launch, current, id(slow), id(failed))
        self.table = ctypes.addressof(self._table)
        self._method = _Method(b"enqueue_function", code[0], _FASTCALL_KEYWORDS, None)
        self._heads: dict[int, int] = {}
        self._paused: list[int | None] | None = None
        self._keep: list[object] = []
        self._sites: list[tuple[Site, Artifact]] = []

    def make_builtin(self) -> Callable[..., None]:
        """The function to call; it keeps this object alive."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        return make(ctypes.addressof(self._method), self, None)

    def names(self) -> tuple[str, ...] | None:
        """The keywords of the call that came to Python last, the very object."""
        address = self._table.names
        return None if address is None else ctypes.cast(address, ctypes.py_object).value

    def learn(self, known: Known) -> None:
        """From now on the stub makes such launches."""
        bucket = id(known.kernel) >> 4 & _BUCKETS - 1
        slots, asks = len(known.constants) // 8, known.asks
        number = self._heads.get(id(known.kernel), 0)
        if number >= _SITES or slots > _MOST:
            return
        self._heads[id(known.kernel)] = number + 1
        entries = (Entry * max(1, len(asks.entries)))(*asks.entries)
        block = ctypes.create_string_buffer(known.constants, max(8, len(known.constants)))
        site = Site(
            self._table.buckets[bucket],
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
        )
        self._keep.append((known, entries, block))
        self._sites.append((site, known.function.artifact))
        self._table.buckets[bucket] = ctypes.addressof(site)

    def take_used(self) -> list[Artifact]:
        """What was launched since the last call."""
        used: list[Artifact] = []
        for site, artifact in self._sites:
            if site.used:
                site.used = 0
                used.append(artifact)
        return used

    def pause(self) -> None:
        """Until ``resume`` all launches go to Python."""
        self._paused = list(self._table.buckets)
        for bucket in range(_BUCKETS):
            self._table.buckets[bucket] = None

    def resume(self) -> None:
        """Undo ``pause``."""
        for bucket, head in enumerate(self._paused or ()):
            self._table.buckets[bucket] = head
        self._paused = None

    def forget(self) -> None:
        """From now on all launches go to Python."""
        for bucket in range(_BUCKETS):
            self._table.buckets[bucket] = None


OFFSETS: dict[str, int] = {
    name: member_offset(getattr(DeviceBuffer, name)) if supported() else 0
    for name in ("_key", "_address", "_allocation")
}
"""Where a buffer has its members."""
