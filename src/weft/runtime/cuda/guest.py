"""Streams that other libraries made on a GPU: weft's work may go there, and each may wait for the other."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from weft.runtime.cuda.context import Queue
from weft.runtime.cuda.stream import CudaStream

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary


class GuestStream(CudaStream):
    """Another library's stream, which stays that library's."""

    def __init__(self, primary: Primary, handle: int, owner: object) -> None:
        self._primary = primary
        self._owner = owner
        self._queue = Queue(primary.cu.CUstream(handle))
        self.handle = self._queue.handle
        self.priority = 0
        self.marking: threading.Lock = threading.Lock()
        self._closed = False
        primary.queues.add(self._queue)


_guests: weakref.WeakKeyDictionary[Primary, dict[int, GuestStream]] = weakref.WeakKeyDictionary()


def guest_stream(primary: Primary, handle: int, owner: object) -> GuestStream:
    """The stream of this handle, in which ``owner`` keeps it alive."""
    known = _guests.setdefault(primary, {})
    found = known.get(handle)
    if found is None:
        found = known[handle] = GuestStream(primary, handle, owner)
    return found
