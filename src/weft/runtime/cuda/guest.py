"""Streams that other libraries made on a GPU: weft's work may go there, and each may wait for the other."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from weft.runtime.cuda.context import Queue
from weft.runtime.cuda.stream import CudaStream

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary
    from weft.runtime.cuda.device import CudaDevice

__all__ = ["GuestStream", "device_of", "guest_stream"]


class GuestStream(CudaStream):
    """Another library's stream, which stays that library's.

    Args:
        primary: The GPU's context, in which the other library made it.
        handle: The driver's handle.
        owner: What keeps the stream alive.
    """

    def __init__(self, primary: Primary, handle: int, owner: object) -> None:
        primary.enter()
        cu = primary.cu
        self._primary = primary
        self._owner = owner
        self._queue = Queue(cu.CUstream(handle))
        self.handle = self._queue.handle
        self.number = handle
        """The handle as a number."""
        self.priority = 0
        self._closed = False
        # one event for all: waiting takes note of what it means by then, so no other thread may come between
        self._lock = threading.Lock()
        flags = cu.CUevent_flags.CU_EVENT_DISABLE_TIMING
        self._event = primary.call(cu.cuEventCreate, flags)
        primary.queues.add(self._queue)

    def before(self, stream: CudaStream) -> None:
        """Have another stream wait for what is queued here."""
        primary, cu = self._primary, self._primary.cu
        primary.enter()
        with self._lock:
            primary.call(cu.cuEventRecord, self._event, self.handle)
            primary.call(cu.cuStreamWaitEvent, stream.handle, self._event, 0)

    def after(self, stream: CudaStream) -> None:
        """Wait for what is queued in another stream."""
        primary, cu = self._primary, self._primary.cu
        primary.enter()
        with self._lock:
            primary.call(cu.cuEventRecord, self._event, stream.handle)
            primary.call(cu.cuStreamWaitEvent, self.handle, self._event, 0)


_guests: weakref.WeakKeyDictionary[Primary, dict[int, GuestStream]] = weakref.WeakKeyDictionary()


def guest_stream(device: CudaDevice, handle: int, owner: object) -> GuestStream:
    """The stream of this handle, in which ``owner`` keeps it alive."""
    primary = device.primary
    known = _guests.setdefault(primary, {})
    found = known.get(handle)
    if found is None:
        found = known[handle] = GuestStream(primary, handle, owner)
    return found


def device_of(device: CudaDevice, address: int) -> int:
    """The number of the GPU in whose memory an address lies."""
    primary, cu = device.primary, device.primary.cu
    primary.enter()
    attribute = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(primary.call(cu.cuPointerGetAttribute, attribute, address))
