"""A device and its queue of work: memory and copies. Launches are added where the compiler is seen."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self, SupportsIndex, TypeVar, overload

from weft.diagnostics import DeviceError, LaunchError, a_, in_digits
from weft.diagnostics.brackets import bracketed
from weft.diagnostics.instead import OF_CLASS, ON_HOST, instead
from weft.dtype import DType, DTypeLike
from weft.runtime import drivers, unwaited
from weft.runtime.allocation import Allocation
from weft.runtime.buffers import Buffer, DeviceBuffer
from weft.runtime.copies import CopyEnd, enqueue_copy, own_buffer, pattern_of
from weft.runtime.driver import Device, DeviceInfo, Driver, LoadObject, Stream
from weft.runtime.graphs import DeviceGraph, GraphCapture, Recording
from weft.runtime.here import Here
from weft.runtime.host_buffer import HostBuffer
from weft.runtime.instead import OF_CONTEXTS, OF_CONTEXTS_THEMSELVES
from weft.runtime.leaks import Leaks
from weft.runtime.new_memory import allocate
from weft.runtime.peers import PeerAccess
from weft.runtime.streams import DeviceEvent, DeviceStream

T = TypeVar("T")
_AS_IT_IS = nullcontext()


class _Keeping(threading.local):
    """What the work that a thread is about to queue uses."""

    def __init__(self) -> None:
        self.owners: list[object] = []


@instead(OF_CONTEXTS, ON_HOST)
@instead(OF_CONTEXTS_THEMSELVES, OF_CLASS)
class BaseContext(Here, PeerAccess):
    """One device, opened, with a stream on which work runs in order and beside the host.

    Args:
        device_id: Which of the API's devices, from 0.
        api: The API; without it ``WEFT_DEVICE`` or the best that this machine has.
        driver: The driver to use in place of the API's own, for tests.
        threads: How many threads run the blocks of a launch, on a CPU.

    Raises:
        LaunchError: ``device_id`` or ``threads`` is no number that there is.
        DeviceError: weft does not know the API, this machine cannot use it, or it has no such device.

    Example:
        >>> import numpy as np
        >>> ctx = BaseContext(api="cpu")
        >>> buffer = ctx.enqueue_create_buffer("float32", 4)
        >>> ctx.enqueue_copy(dst=buffer, src=np.arange(4, dtype=np.float32))
        >>> with buffer.map_to_host() as host:
        ...     print(host)
        HostBuffer([0.0, 1.0, 2.0, 3.0])
    """

    __weft_inside__ = (
        "begin_capture capturing device end_capture enqueue_by_python guests handle instead keep keys "
        "leaks load_object native note_use notes_writes queue_of queued reaches recording refuse_waiting "
        "stream "
    )

    instead = "make one in each process: `DeviceContext()`"
    load_object: ClassVar[LoadObject] = staticmethod(drivers.no_loader)
    """How object files become code in memory; the class that can launch provides it."""
    leaks: Leaks | None = None
    """Its buffers, where they are to be closed."""
    notes_writes = False
    """Whether host memory that copies write is not to be looked at before somebody has waited."""

    def __init__(
        self,
        device_id: int = 0,
        *,
        api: str | None = None,
        driver: Driver | None = None,
        threads: int | None = None,
    ) -> None:
        with self._prepared():
            if driver is None:
                driver = drivers.find_driver(drivers.meant_api(api), type(self).load_object)
            self._id, self._device = drivers.open_device(driver, device_id, threads)
        self._api = driver.api
        self._stream = self._device.create_stream()
        self._closed = False
        self.recording: Recording | None = None
        self.capturing: DeviceGraph | None = None
        self.keys: defaultdict[DType, object] = defaultdict(object)
        """What open buffers of this context and of one element type have in common."""
        self._keeping = _Keeping()
        self.guests: dict[int, Stream] = {}
        """The streams of other libraries' arrays that launches went to, by their handles."""

    @staticmethod
    def _prepared() -> AbstractContextManager[None]:
        """What is worth doing while the device is opened, which takes its time."""
        return nullcontext()

    @staticmethod
    def number_of_devices(*, api: str | None = None) -> int:
        """How many devices an API has here, by default the API that ``DeviceContext()`` takes.

        Raises:
            DeviceError: weft does not know the API. One that cannot be used here has 0 devices.
        """
        return drivers.device_count(drivers.default_api() if api is None else api)

    @property
    def api(self) -> str:
        """The API's name, such as ``cpu``."""
        return self._api

    @property
    def id(self) -> int:
        """The device's number among those of its API."""
        return self._id

    @property
    def info(self) -> DeviceInfo:
        """What the device is and what it can take."""
        return self._device.info

    @property
    def name(self) -> str:
        """The device's name as its maker writes it."""
        return self._device.info.name

    @property
    def device(self) -> Device:
        """The driver's handle.

        Raises:
            LaunchError: the context is closed.
        """
        self._check_open()
        return self._device

    @property
    def stream(self) -> Stream:
        """The driver's handle of the context's own stream.

        Raises:
            LaunchError: the context is closed.
        """
        self._check_open()
        return self._stream if self.recording is None else self.recording.branch(self._stream)

    @property
    def native(self) -> Stream:
        """The driver's handle of the context's own stream itself, also within a capture."""
        return self._stream

    @property
    def handle(self) -> Device:
        """The driver's handle of the device, of a closed context too."""
        return self._device

    def memory_info(self) -> tuple[int, int]:
        """Bytes of the device's memory: free, and in all."""
        return self.device.free_memory(), self.info.total_memory

    # Memory

    @overload
    def enqueue_create_buffer(self, dtype: type[T], size: SupportsIndex) -> DeviceBuffer[T]: ...
    @overload
    def enqueue_create_buffer(self, dtype: DTypeLike, size: SupportsIndex) -> DeviceBuffer[Any]: ...
    @bracketed
    def enqueue_create_buffer(self, dtype: Any, size: SupportsIndex) -> DeviceBuffer[Any]:
        """New device memory. Its elements are undefined.

        Args:
            dtype: The element type: ``Float32``, ``DType.float32`` or ``"float32"``.
            size: How many elements.

        Raises:
            LaunchError: the size is no int or negative, or the type is no element type.
            DeviceError: there is not so much memory.
        """
        return DeviceBuffer(self, *self._allocate(dtype, size, host=False))

    @overload
    def enqueue_create_host_buffer(self, dtype: type[T], size: SupportsIndex) -> HostBuffer[T]: ...
    @overload
    def enqueue_create_host_buffer(self, dtype: DTypeLike, size: SupportsIndex) -> HostBuffer[Any]: ...
    @bracketed
    def enqueue_create_host_buffer(self, dtype: Any, size: SupportsIndex) -> HostBuffer[Any]:
        """New host memory that this device copies from fastest. Its elements are undefined.

        It can be written at once. Arguments and errors are those of ``enqueue_create_buffer``.
        """
        return HostBuffer(self, *self._allocate(dtype, size, host=True))

    @overload
    def create_buffer_sync(self, dtype: type[T], size: SupportsIndex) -> DeviceBuffer[T]: ...
    @overload
    def create_buffer_sync(self, dtype: DTypeLike, size: SupportsIndex) -> DeviceBuffer[Any]: ...
    def create_buffer_sync(self, dtype: Any, size: SupportsIndex) -> DeviceBuffer[Any]:
        """New device memory, once all queued work has ended."""
        buffer: DeviceBuffer[Any] = self.enqueue_create_buffer(dtype, size)
        self.synchronize()
        return buffer

    def _allocate(self, like: Any, size: SupportsIndex, *, host: bool) -> tuple[DType, Allocation, int, int]:
        return allocate(self, like, size, host=host)

    # Work

    def enqueue_copy(
        self,
        dst: CopyEnd | None = None,
        src: CopyEnd | None = None,
        *,
        dst_buf: CopyEnd | None = None,
        src_buf: CopyEnd | None = None,
        stream: DeviceStream | None = None,
    ) -> None:
        """Queue a copy of all elements between buffers, NumPy arrays and arrays of other libraries.

        An array must be contiguous. A NumPy array may be changed once the call returns where it is the
        source, and is complete after ``synchronize`` where it is the destination. Arrays on the context's
        GPU are copied in the order of their library's stream, see ``docs/guide/interop.md``.

        One of the buffers may belong to another context, of another device too. The copy then waits for
        what that context's own stream holds, and what that stream is given afterwards waits for it.

        Args:
            dst: Where to: a DeviceBuffer, a HostBuffer or an array.
            src: Where from: the same.
            dst_buf: Another name of ``dst``.
            src_buf: Another name of ``src``.
            stream: Another stream than the context's own.

        Raises:
            LaunchError: the ends differ in length or type, one of them cannot be used, or none of them
                is memory of this context.

        Example:
            >>> one, two = BaseContext(api="cpu"), BaseContext(api="cpu")
            >>> here, there = one.enqueue_create_buffer("int32", 3), two.enqueue_create_buffer("int32", 3)
            >>> two.enqueue_fill(there, 7)
            >>> one.enqueue_copy(dst=here, src=there)
            >>> with here.map_to_host() as host:
            ...     print(host)
            HostBuffer([7, 7, 7])
        """
        queue = self.queue_of(stream)
        ends = dst_buf if dst is None else dst, src_buf if src is None else src
        dst, src, order = self._ends(queue, *ends)
        if self.notes_writes:
            unwaited.check_array(src)
        with order:
            enqueue_copy(self, queue, dst, src)
        if self.notes_writes and isinstance(dst, HostBuffer):
            unwaited.writes(dst.allocation)
        self.queued()

    def _ends(self, queue: Stream, dst: Any, src: Any) -> tuple[Any, Any, AbstractContextManager[object]]:
        """What is copied to and from, and what to queue that within: a class above knows of more arrays."""
        return dst, src, _AS_IT_IS

    def enqueue_fill(self, buffer: Buffer[Any], value: object, *, stream: DeviceStream | None = None) -> None:
        """Queue setting every element of a buffer to a value.

        Raises:
            LaunchError: the value does not fit the element type, or the buffer cannot be used.
        """
        address = own_buffer(self, buffer)
        try:
            pattern = pattern_of(buffer.dtype, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise LaunchError.here(
                "fill-value",
                f"a buffer of {buffer.dtype} cannot be filled with {in_digits(value)}: {error}",
                f"give a value that {buffer.dtype} holds, or make the buffer of another type",
                at=("value", 1),
            ) from error
        if len(buffer):
            self.queue_of(stream).fill(address, pattern, len(buffer))
        self.queued()

    enqueue_memset = enqueue_fill

    def create_stream(self, *, priority: int = 0) -> DeviceStream:
        """A further stream, whose work runs beside that of the context's own.

        Args:
            priority: A lower number is more urgent, where the device has priorities; numbers beyond
                ``stream_priority_range()`` mean the nearest within.

        Raises:
            LaunchError: the priority is no int.
        """
        if type(priority) is not int:
            raise LaunchError.here(
                "stream-priority",
                f"a stream's priority is an int, not {priority!r}",
                "0 is the usual one; `ctx.stream_priority_range()` gives the least and the most urgent",
            )
        return DeviceStream(self, self.device.create_stream(priority), priority)

    def stream_priority_range(self) -> tuple[int, int]:
        """The least and the most urgent priority of streams; (0, 0) where the device has only one."""
        return self.device.priority_range()

    def record_event(self, *, stream: DeviceStream | None = None) -> DeviceEvent:
        """An event at the present end of the context's own stream, or of another.

        Example:
            >>> ctx = BaseContext(api="cpu")
            >>> buffer = ctx.enqueue_create_buffer("float32", 1000)
            >>> start = ctx.record_event()
            >>> ctx.enqueue_fill(buffer, 1.0)
            >>> ctx.record_event().seconds_since(start) > 0
            True
        """
        event = self.queue_of(stream).record()
        return DeviceEvent(event, self.capturing, f"{self._api}:{self._id}, {self.name}")

    def enqueue_wait_for(
        self, other: DeviceEvent | DeviceStream | BaseContext, *, stream: DeviceStream | None = None
    ) -> None:
        """Hold what is queued from now on until something else has been reached; the host goes on.

        Args:
            other: An event, or a stream or a context, which means all that it holds now. It may be of
                another device.
            stream: Another stream than the context's own to hold.

        Raises:
            LaunchError: it is none of these, or belongs to a capture and this does not.
        """
        if isinstance(other, DeviceEvent):
            event = other
        elif isinstance(other, (DeviceStream, BaseContext)):  # pyright: ignore[reportUnnecessaryIsInstance]
            event = other.record_event()
        else:
            raise LaunchError.here(
                "wait-type",
                f"a stream waits for an event, a stream or a context, not for {other!r}",
                "record an event: `event = stream.record_event()`",
            )
        if event.capture is not self.capturing:
            raise LaunchError.here(
                "capture-event",
                "work that runs cannot wait for an event of a capture, which is reached only in replays"
                if self.capturing is None
                else "a capture cannot wait for what is outside of it",
                "replay the graph, and wait for an event recorded after it"
                if self.capturing is None
                else "wait before the `with ctx.capture() as graph:` block, or before each replay",
            )
        self.queue_of(stream).wait(event.native)

    def enqueue_host_call(
        self, function: Callable[[], object], *, stream: DeviceStream | None = None
    ) -> None:
        """Queue a call of a Python function, on a thread of weft's or of the driver's.

        What is queued after it waits for it. It must not wait for the device or queue work. What it
        raises surfaces at the next ``synchronize``.

        Raises:
            LaunchError: it cannot be called.
        """
        if not callable(function):
            raise LaunchError.here(
                "host-call",
                f"enqueue_host_call takes a function without arguments, not {function!r}",
                "write `lambda: ...` around the call that is meant",
                at=("function", 0),
            )
        self.queue_of(stream).call(function)

    def execution_time(self, function: Callable[[Self], object], iterations: int = 1) -> int:
        """Nanoseconds that the context's own stream takes for so many calls of a function.

        The time is between two events of the device, so what the function only does on the host counts
        where the device has to wait for it. ``weft.benchmark`` also warms up and repeats.

        Args:
            function: Called with this context; it queues the work.
            iterations: How often.

        Raises:
            LaunchError: there is to be no iteration.
        """
        if type(iterations) is not int or iterations < 1:
            raise LaunchError.here(
                "execution-time",
                f"execution_time takes a number of calls of 1 or more, not {iterations!r}",
                "leave it out for one call",
                at=("iterations", 1),
            )
        if not callable(function):
            kind = "None" if function is None else a_(type(function).__name__)
            raise LaunchError.here(
                "execution-time",
                f"execution_time calls a function with the context, not {kind}",
                "write lambda ctx: ctx.enqueue_function(...)",
                at=("function", 0),
            )
        self.refuse_waiting()
        start = self.record_event()
        for _ in range(iterations):
            function(self)
        return round(self.record_event().seconds_since(start) * 1e9)

    # Graphs

    def capture(self) -> GraphCapture:
        """For ``with``: record the work that is queued in the block as a graph, instead of running it.

        All that this context queues meanwhile, on any of its streams, becomes part of the graph: launches,
        copies, fills, calls of host functions. Streams that wait for nothing run beside each
        other; the graph ends when all have ended. A NumPy array that is copied from is read once, in the
        block; host buffers are read at each replay. Within the block memory cannot be allocated and the
        device cannot be waited for.

        Raises:
            LaunchError: a capture is under way.

        Example:
            >>> ctx = BaseContext(api="cpu")
            >>> buffer = ctx.enqueue_create_buffer("int32", 3)
            >>> host = ctx.enqueue_create_host_buffer("int32", 3)
            >>> with ctx.capture() as graph:
            ...     ctx.enqueue_copy(dst=buffer, src=host)
            >>> host[:] = [1, 2, 3]
            >>> graph.replay()
            >>> with buffer.map_to_host() as values:
            ...     print(values)
            HostBuffer([1, 2, 3])
        """
        return GraphCapture(self, DeviceGraph(self))

    def begin_capture(self, graph: DeviceGraph) -> Recording:
        """Record work for a graph from now on."""
        if self.recording is not None:
            raise LaunchError.here(
                "capture-nested", "this context is capturing a graph already", "end that `with` block first"
            )
        recording = Recording(self.device.begin_capture(self._stream))
        self.recording, self.capturing = recording, graph
        return recording

    def end_capture(self) -> None:
        """Record no more."""
        self.recording = self.capturing = None

    def note_use(self, buffer: Buffer[Any]) -> None:
        """Take notice that work is about to use a buffer."""
        if self.recording is not None:
            self.recording.native.keep((buffer, getattr(buffer, "allocation", None)))

    def refuse_waiting(self) -> None:
        """Say no where a capture is under way."""
        if self.recording is not None:
            raise LaunchError.here(
                "capture-synchronize",
                "within a capture nothing runs, so there is nothing to wait for",
                "wait after the `with ctx.capture() as graph:` block and `graph.replay()`",
            )

    def synchronize(self) -> None:
        """Wait until all work queued on the context's own stream has ended; write what kernels printed.

        Launches on other libraries' arrays, which may be on the streams of these, are waited for too.

        Raises:
            DeviceError: work failed since the last time, by an assertion in a kernel for example.
        """
        if self._closed or self.recording is not None:  # asked here: after idle each call takes microseconds
            self._check_open()
            self.refuse_waiting()
        if self.guests:
            self._wait_for_guests()
        if unwaited.written or unwaited.arrays:
            unwaited.waited()
        self._stream.synchronize()

    def _wait_for_guests(self) -> None:
        """Wait for launches that went to streams of other libraries."""

    def keep(self, owner: object) -> None:
        """Keep an object until the work has ended that this thread is about to queue and that uses it.

        It is handed to the device by ``queued``, so only behind that work. What other threads queue
        meanwhile, or wait for, or close, does not matter.
        """
        if self.recording is not None:
            self.recording.native.keep(owner)
            return
        self._keeping.owners.append(owner)

    def queued(self) -> None:
        """Take note that this thread has queued its work, behind which what it keeps may go."""
        owners = self._keeping.owners
        if owners:
            self._device.hold(tuple(owners))
            owners.clear()

    def close(self) -> None:
        """Wait for the queued work and take no more. Buffers keep their memory. Idempotent.

        Raises:
            DeviceError: work failed since the last synchronisation; the context is closed even so.
        """
        self._close(wait=True)

    def _close(self, *, wait: bool) -> None:
        if self._closed:
            return
        self._closed = True
        if (recording := self.recording) is not None:
            self.end_capture()
            recording.native.abandon()
        try:
            if wait:
                self._stream.synchronize()
        except DeviceError as error:
            if error.diagnostics[0].code != "context-lost":  # that was reported when it happened
                raise
        finally:
            self._device.close()
        if wait and self.leaks is not None:
            self.leaks.check(self.name)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Who interrupts work may do so as it never ends.
        self._close(wait=kind is None or issubclass(kind, (Exception, SystemExit, GeneratorExit)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._api}:{self._id}, {self.name}>"

    def queue_of(self, stream: DeviceStream | None) -> Stream:
        """The driver's handle of a stream of this context, its own by default, for work to be queued."""
        if stream is None:
            return self.stream
        if stream.context is not self:
            raise LaunchError.here(
                "stream-context",
                f"the stream belongs to another context ({stream.context!r})",
                "make it with this context: ctx.create_stream()",
                at=("stream", 9),
            )
        self._check_open()
        return stream.native if self.recording is None else self.recording.branch(stream.native)

    def _check_open(self) -> None:
        if self._closed:
            raise LaunchError.here(
                "context-closed",
                f"this context ({self!r}) is closed",
                "use it before close() or inside its `with`, or make a new DeviceContext",
            )
