"""Memory of a GPU, and host memory that it copies from fastest, reused instead of given back.

Finalizers may run on any thread at any moment, so what they call (``Memory.release``) takes no
lock and calls no driver: it notes what was let go, and the next allocation or synchronisation
gives it back, once the work queued by then has ended on all streams. Memory is allocated on a
stream of its own that never has work, so it can be used on every stream at once.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from weft.runtime.cuda.errors import OUT_OF_MEMORY, CudaFailure
from weft.runtime.driver import OutOfMemory

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

Kind = Literal["device", "host", "stream", "event", "module", "graph", "object"]
"""What can be let go: memory, handles of the driver, and objects that queued work reads."""

_KEEP_ALL = 2**64 - 1
_CACHED_BLOCK = 16 << 20
"""Pinned blocks up to this size are kept for the next that asks, since pinning is slow."""
_CACHED_TOTAL = 256 << 20
_SMALLEST = 4096
_WORD = 4
"""Atomic operations on fewer bytes read and write the word around them."""


class Memory:
    """The memory of one primary context."""

    def __init__(self, primary: Primary, ordinal: int) -> None:
        self._primary = primary
        self._lock = threading.RLock()
        self._let_go: deque[tuple[Kind, Any]] = deque()
        self._waiting: deque[tuple[list[Any], list[tuple[Kind, Any]]]] = deque()
        self._events: list[Any] = []
        self._sizes: dict[int, int] = {}
        self._cache: dict[int, list[int]] = {}
        self._cached = 0
        cu = primary.cu
        self.stream: Any = primary.call(cu.cuStreamCreate, cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._pool = self._make_pool(ordinal)

    def _make_pool(self, ordinal: int) -> Any:
        primary, cu = self._primary, self._primary.cu
        supported = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        if not primary.call(cu.cuDeviceGetAttribute, supported, ordinal):
            return None
        properties = cu.CUmemPoolProps()
        properties.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        location = cu.CUmemLocation()
        location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = ordinal
        properties.location = location
        pool = primary.call(cu.cuMemPoolCreate, properties)
        threshold = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        primary.call(cu.cuMemPoolSetAttribute, pool, threshold, cu.cuuint64_t(_KEEP_ALL))
        return pool

    def alloc(self, nbytes: int) -> int:
        """The address of new device memory.

        Raises:
            OutOfMemory: there is not so much, even when all that is unused is given back.
        """
        self._primary.enter()  # refuses a forked child, where the lock may be held for ever
        with self._lock:
            self.collect()
            for attempt in (self.collect, self._give_back_unused, None):
                try:
                    return self._take(nbytes)
                except CudaFailure as failure:
                    if failure.status != OUT_OF_MEMORY:
                        raise self._primary.error(failure) from None
                    if attempt is not None:
                        attempt()
            raise OutOfMemory(nbytes, self.free_memory())

    def _take(self, nbytes: int) -> int:
        cuda, cu = self._primary.cuda, self._primary.cu
        whole = -(-nbytes // _WORD) * _WORD
        if self._pool is None:
            address = int(cuda(cu.cuMemAlloc, whole))
        else:
            address = int(cuda(cu.cuMemAllocFromPoolAsync, whole, self._pool, self.stream))
        if whole != nbytes:  # the rest is nobody's, but those atomic operations read it
            cuda(cu.cuMemsetD32Async, address + whole - _WORD, 0, 1, self.stream)
        cuda(cu.cuStreamSynchronize, self.stream)
        return address

    def _give_back_unused(self) -> None:
        """Wait for what is let go but still in use, and return all free memory to the system."""
        gc.collect()
        self.collect()
        while self._waiting:
            for event in self._waiting[0][0]:
                self._primary.call(self._primary.cu.cuEventSynchronize, event)
            self.collect()
        self.trim()

    def trim(self) -> None:
        """Give the driver back what the pool holds and nobody uses."""
        if self._pool is not None:
            self._primary.call(self._primary.cu.cuStreamSynchronize, self.stream)
            self._primary.call(self._primary.cu.cuMemPoolTrimTo, self._pool, 0)

    def share(self, ordinal: int) -> None:
        """Let another GPU use all device memory of this one."""
        if self._pool is None:
            return  # the driver has opened single allocations with its context
        primary, cu = self._primary, self._primary.cu
        primary.enter()
        access, location = cu.CUmemAccessDesc(), cu.CUmemLocation()
        location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = ordinal
        access.location = location
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        primary.call(cu.cuMemPoolSetAccess, self._pool, [access], 1)

    def host_alloc(self, nbytes: int) -> int:
        """The address of new pinned host memory.

        Raises:
            OutOfMemory: there is not so much.
        """
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length()) if nbytes <= _CACHED_BLOCK else nbytes
        self._primary.enter()
        with self._lock:
            self.collect()
            kept = self._cache.get(size)
            if kept:
                self._cached -= size
                return kept.pop()
            cu = self._primary.cu
            for attempt in (self._give_back_unused_host, None):
                try:
                    address = int(self._primary.cuda(cu.cuMemHostAlloc, size, cu.CU_MEMHOSTALLOC_PORTABLE))
                except CudaFailure as failure:
                    if failure.status != OUT_OF_MEMORY:
                        raise self._primary.error(failure) from None
                    if attempt is not None:
                        attempt()
                else:
                    self._sizes[address] = size
                    return address
            raise OutOfMemory(nbytes)

    def _give_back_unused_host(self) -> None:
        self._give_back_unused()
        for kept in self._cache.values():
            while kept:
                address = kept.pop()
                self._cached -= self._sizes.pop(address)
                self._primary.call(self._primary.cu.cuMemFreeHost, address)

    def release(self, kind: Kind, thing: Any) -> None:
        """Let something go, once all work queued so far has ended. Callable from finalizers."""
        self._let_go.append((kind, thing))

    def free_memory(self) -> int:
        """Bytes of device memory that could be allocated now."""
        primary, cu = self._primary, self._primary.cu
        primary.enter()
        with self._lock:
            self.collect()
            free = int(primary.call(cu.cuMemGetInfo)[0])
            if self._pool is not None:
                attributes = cu.CUmemPool_attribute
                reserved, used = (
                    int(primary.call(cu.cuMemPoolGetAttribute, self._pool, attribute))
                    for attribute in (
                        attributes.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                        attributes.CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                    )
                )
                free += reserved - used
            return free

    def collect(self) -> None:
        """Give back what was let go and is no longer in use.

        Raises:
            DeviceError: work failed.
        """
        if not self._let_go and not self._waiting:
            return
        primary, cu = self._primary, self._primary.cu
        primary.enter()  # behind a copy between two GPUs the other's is current, and events belong to one
        with self._lock:
            while self._waiting:
                events, things = self._waiting[0]
                if not all(primary.ready(cu.cuEventQuery, event) for event in events):
                    break
                self._waiting.popleft()
                self._events.extend(events)
                self._free(things)
            things: list[tuple[Kind, Any]] = []
            while self._let_go:
                things.append(self._let_go.popleft())
            if not things:
                return
            events = [
                self._mark(queue.handle)
                for queue in tuple(primary.queues)
                if not primary.ready(cu.cuStreamQuery, queue.handle)
            ]
            if events:
                self._waiting.append((events, things))
            else:
                self._free(things)

    def _mark(self, stream: Any) -> Any:
        primary, cu = self._primary, self._primary.cu
        event = (
            self._events.pop()
            if self._events
            else primary.call(cu.cuEventCreate, cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        )
        primary.call(cu.cuEventRecord, event, stream)
        return event

    def _free(self, things: list[tuple[Kind, Any]]) -> None:
        primary, cu = self._primary, self._primary.cu
        for kind, thing in things:
            if kind == "device":
                if self._pool is None:
                    primary.call(cu.cuMemFree, thing)
                else:
                    primary.call(cu.cuMemFreeAsync, thing, self.stream)
            elif kind == "host":
                self._free_host(thing)
            elif kind == "event":
                primary.call(cu.cuEventDestroy, thing)
            elif kind == "graph":
                primary.call(cu.cuGraphExecDestroy, thing)
            elif kind == "module":
                primary.call(cu.cuModuleUnload, thing)
            elif kind == "stream":
                primary.queues.discard(thing)
                primary.call(cu.cuStreamDestroy, thing.handle)

    def _free_host(self, address: int) -> None:
        size = self._sizes[address]
        if size <= _CACHED_BLOCK and self._cached + size <= _CACHED_TOTAL:
            self._cache.setdefault(size, []).append(address)
            self._cached += size
            return
        del self._sizes[address]
        self._primary.call(self._primary.cu.cuMemFreeHost, address)
