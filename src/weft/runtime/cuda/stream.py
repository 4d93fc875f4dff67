"""A stream of a GPU: copies, fills, launches and what else is queued."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.abi.artifact import KernelInfo
from weft.diagnostics import DeviceError, Diagnostic, LaunchError, Report, WeftError
from weft.runtime.cuda.attributes import launch_config
from weft.runtime.cuda.context import Queue
from weft.runtime.cuda.errors import ELSEWHERE, CudaFailure
from weft.runtime.cuda.module import CudaFunction
from weft.runtime.dim import Dim
from weft.runtime.driver import Copy, Device, Event, Launch, NativeLauncher, Stream
from weft.runtime.host_event import HostEvent
from weft.runtime.limits import check_launch
from weft.runtime.raised import raised

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_STAGED = 16 << 20
"""Ordinary memory goes to the GPU through pinned pieces of this size."""
_NOT_SUPPORTED = 801
_ROWS = 1 << 14
"""Elements of 8 bytes and more that a fill writes word by word before it copies what it has."""


class CudaStream:
    """One queue of work."""

    _mark: CudaEvent | None = None

    def __init__(self, primary: Primary, priority: int = 0) -> None:
        primary.enter()
        cu = primary.cu
        least, greatest = primary.call(cu.cuCtxGetStreamPriorityRange)
        urgency = min(max(priority, greatest), least)
        flags = cu.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._primary = primary
        self._queue = Queue(primary.call(cu.cuStreamCreateWithPriority, flags, urgency))
        self.handle: Any = self._queue.handle
        self.priority = urgency
        self.marking: threading.Lock = threading.Lock()
        self._closed = False
        self._register()
        weakref.finalize(self, primary.memory.release, "stream", self._queue).atexit = False

    def _register(self) -> None:
        self._primary.queues.add(self._queue)

    def _enter(self) -> Any:
        """Prepare for a call of the driver; gives its functions."""
        if self._closed:
            raise LaunchError.here(
                "stream-closed",
                "this stream is closed and takes no more work",
                "use it before close(), or make another: ctx.create_stream()",
            )
        self._primary.enter()
        return self._primary.cu

    def copy(self, copy: Copy) -> None:
        """Queue a copy; from ordinary memory, take the source's bytes now."""
        cu = self._enter()
        call, memory = self._primary.call, self._primary.memory
        kind, dst, src, nbytes, dst_owner, src_owner, devices = copy
        if devices is not None and self._copy_between(copy, *map(primary_of_device, devices)):
            return
        if kind == "h2h":
            self._copy_on_host(copy)
        elif kind == "d2d":
            call(cu.cuMemcpyDtoDAsync, dst, src, nbytes, self.handle)
        elif kind == "d2h":
            call(cu.cuMemcpyDtoHAsync, dst, src, nbytes, self.handle)
            if dst_owner is not None:
                memory.release("object", dst_owner)
        elif src_owner is None:
            call(cu.cuMemcpyHtoDAsync, dst, src, nbytes, self.handle)
        else:
            self._copy_staged(dst, src, nbytes)

    def _copy_on_host(self, copy: Copy) -> None:
        _, dst, src, nbytes, dst_owner, src_owner, _ = copy
        taken = src if src_owner is None else ctypes.string_at(src, nbytes)

        def task(owner: object = dst_owner) -> None:
            ctypes.memmove(dst, taken, nbytes)

        self.call(task)

    def _copy_staged(self, dst: int, src: int, nbytes: int) -> None:
        """Copy from memory that its owner may change at once.

        The driver does not promise when it has read ordinary memory, and an array may lie in pinned
        memory, which it reads later. Two pieces take turns, so at most two are in use.
        """
        cu, call, memory = self._primary.cu, self._primary.call, self._primary.memory
        pieces: list[tuple[int, Any]] = []
        for start in range(0, nbytes, _STAGED):
            size = min(_STAGED, nbytes - start)
            if len(pieces) == 2:
                pinned, event = pieces.pop(0)
                call(cu.cuEventSynchronize, event)
            else:
                pinned, event = memory.host_alloc(size), None
                if nbytes > 2 * _STAGED:
                    event = call(cu.cuEventCreate, cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
            pieces.append((pinned, event))
            ctypes.memmove(pinned, src + start, size)
            call(cu.cuMemcpyHtoDAsync, dst + start, pinned, size, self.handle)
            if event is not None:
                call(cu.cuEventRecord, event, self.handle)
        for pinned, event in pieces:
            memory.release("host", pinned)
            if event is not None:
                memory.release("event", event)

    def _copy_between(self, copy: Copy, to: Primary, source: Primary) -> bool:
        """Whether a copy is one between two GPUs, over their link where there is one; then it is queued."""
        peer = source if to is self._primary else to
        self._primary.link(peer)
        if copy.kind != "d2d":
            return False
        places = copy.dst, to.context, copy.src, source.context, copy.nbytes
        self._primary.call_with(peer, self._primary.cu.cuMemcpyPeerAsync, *places, self.handle)
        return True

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Queue a fill."""
        cu, call = self._enter(), self._primary.call
        if len(pattern) == 8 and pattern[:4] == pattern[4:]:
            pattern, count = pattern[:4], count * 2
        value = int.from_bytes(pattern, "little")
        if len(pattern) == 1:
            call(cu.cuMemsetD8Async, address, value, count, self.handle)
        elif len(pattern) == 2:
            call(cu.cuMemsetD16Async, address, value, count, self.handle)
        elif len(pattern) == 4:
            call(cu.cuMemsetD32Async, address, value, count, self.handle)
        else:
            size, unit = len(pattern), 1 if len(pattern) % 4 else 4
            write, done = (cu.cuMemsetD2D8Async if unit == 1 else cu.cuMemsetD2D32Async), min(count, _ROWS)
            for at in range(0, size, unit):
                part = int.from_bytes(pattern[at : at + unit], "little")
                call(write, address + at, size, part, 1, done, self.handle)
            while done < count:
                more = min(done, count - done)
                call(cu.cuMemcpyAsync, address + size * done, address, size * more, self.handle)
                done += more

    def launch(self, launch: Launch) -> None:
        """Queue a launch."""
        cu = self._enter()
        function, grid, block, arguments, shared_bytes, _, attributes = launch
        assert isinstance(function, CudaFunction)
        queue, kernel = self._queue, function.kernel
        queue.launched[kernel.signature.name] = kernel
        if block[0] * block[1] * block[2] > function.max_threads_per_block:
            limit = function.max_threads_per_block
            raise LaunchError(check_launch(self._primary.info, Dim(*grid), Dim(*block), kernel_threads=limit))
        if shared_bytes:
            function.allow_shared(shared_bytes)
        count = function.count
        packed = ctypes.create_string_buffer(arguments, max(8, 8 * count))
        first = ctypes.addressof(packed)
        slots = (ctypes.c_void_p * max(1, count))(*range(first, first + 8 * count, 8))
        if attributes is not None:
            config = launch_config(self._primary, launch, self.handle)
            self._primary.call(cu.cuLaunchKernelEx, config, function.handle, ctypes.addressof(slots), 0)
            return
        self._primary.call(
            cu.cuLaunchKernel,
            function.handle,
            *grid,
            *block,
            shared_bytes,
            self.handle,
            ctypes.addressof(slots),
            0,
        )

    def call(self, function: Callable[[], object]) -> None:
        """Queue a call of a host function."""
        cu = self._enter()
        queue = self._queue
        number = register_call(function, lambda: queue, once=True)
        self._primary.call(cu.cuLaunchHostFunc, self.handle, cu.CUhostFn(called_address), number)

    @property
    def queue(self) -> Queue:
        """The driver's stream, and what is known of the work in it."""
        return self._queue

    def replay(self, graph: Any, launched: Mapping[str, KernelInfo]) -> None:
        """Queue a graph of the driver's, with the kernels that it launches, by their names."""
        cu = self._enter()
        self._queue.launched.update(launched)
        self._primary.call(cu.cuGraphLaunch, graph, self.handle)

    def record(self) -> CudaEvent:
        """An event at the present end of the queue."""
        cu = self._enter()
        event = CudaEvent(self._primary)
        self._primary.call(cu.cuEventRecord, event.handle, self.handle)
        return event

    def wait(self, event: Event) -> None:
        """Hold later work until the event has been reached."""
        cu = self._enter()
        if isinstance(event, CudaEvent):
            self._primary.call_with(event.primary, cu.cuStreamWaitEvent, self.handle, event.handle, 0)
        elif isinstance(event, HostEvent):
            self._wait_for_host(event)
        else:
            self.call(event.synchronize)

    def follow(self, other: Stream) -> None:
        """Hold later work until all that another stream holds now has ended."""
        if not isinstance(other, CudaStream):
            self.wait(other.record())
            return
        # there is one mark, which each call moves on: no other thread may come before the wait for it
        with other.marking:
            mark = other.mark()
            cu = self._enter()
            self._primary.call_with(mark.primary, cu.cuStreamWaitEvent, self.handle, mark.handle, 0)

    def mark(self) -> CudaEvent:
        """The present end of the queue, while ``marking`` is held."""
        cu = self._enter()
        if self._mark is None:
            self._mark = CudaEvent(self._primary, timed=False)
        self._primary.call(cu.cuEventRecord, self._mark.handle, self.handle)
        return self._mark

    def _wait_for_host(self, event: HostEvent) -> None:
        """Have the GPU look at a word that the host writes; so no thread of the driver's is kept waiting."""
        if event.done:
            return
        primary, cu = self._primary, self._primary.cu
        place = primary.memory.host_alloc(4)
        word = ctypes.c_uint32.from_address(place)
        word.value = 0
        equal = cu.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
        try:
            primary.cuda(cu.cuStreamWaitValue32, self.handle, place, 1, equal)
        except CudaFailure as failure:
            if failure.status != _NOT_SUPPORTED:
                raise primary.error(failure) from None
            event.synchronize()  # instead of the GPU this thread waits
            return
        finally:
            primary.memory.release("host", place)

        def reached() -> None:
            if primary.lost is None:  # else the word may be gone
                word.value = 1

        event.then(reached)

    def synchronize(self) -> None:
        """Wait until all queued work has ended; let out what it printed; raise what failed."""
        primary, queue = self._primary, self._queue
        if getattr(_inside, "queue", None) is queue:
            raise LaunchError.here(
                "stream-deadlock",
                "a function that a stream calls cannot wait for that stream, so for itself",
                "wait outside of the function, or queue the function on another stream",
            )
        primary.enter()
        primary.call(primary.cu.cuStreamSynchronize, self.handle)
        queue.take_launched()
        found, reports = primary.read_console()
        primary.memory.collect()
        failures, queue.failures = queue.failures, []
        if found or reports or failures:
            raise _as_error(reports, found, failures) from (failures[0] if failures else None)

    @property
    def native(self) -> CudaStream:
        """Native code launches by the driver's C functions."""
        return self

    @property
    def number(self) -> int:
        """The handle as a number."""
        return int(self.handle)

    def launch_addresses(self) -> tuple[int, int]:
        """Where the driver's ``cuLaunchKernel`` and ``cuLaunchKernelEx`` are; 0 for what it has not."""
        return self._primary.launch_addresses()

    def launch_failed(self, status: int) -> None:
        """Raise the error for a status of ``cuLaunchKernel``, unless Python's own call may find its way."""
        if status not in ELSEWHERE:
            raise self._primary.status_error("cuLaunchKernel", status)

    def handles(self, launch: Launch) -> tuple[int, Any]:
        """The handle of the launch's function, and the configuration of one with attributes."""
        assert isinstance(launch.function, CudaFunction)
        config = None if launch.attributes is None else launch_config(self._primary, launch, self.handle)
        return int(launch.function.handle), config

    def empties(self) -> None:
        """The driver waits."""

    def note_launched(self, kernels: Mapping[str, KernelInfo]) -> None:
        """Take notice of kernels, by their names, that native code is about to launch."""
        self._queue.launched.update(kernels)

    def provide(self, pool: Sequence[int]) -> None:
        """The device has threads of its own."""

    def add_launcher(self, launcher: NativeLauncher) -> None:
        """Take part in what native code launches here."""
        self._queue.launchers.add(launcher)

    def pause_launchers(self) -> None:
        """Have Python see all launches until ``resume_launchers``."""
        for launcher in self._queue.launchers:
            launcher.pause()

    def resume_launchers(self) -> None:
        """Let native code launch again."""
        if not self._closed:
            for launcher in self._queue.launchers:
                launcher.resume()

    def close(self) -> None:
        """Take no more work."""
        self._closed = True
        for launcher in self._queue.launchers:
            launcher.forget(int(self.handle))


class CudaEvent:
    """A place in a stream of a GPU."""

    def __init__(self, primary: Primary, *, timed: bool = True) -> None:
        self.primary = primary
        flags = primary.cu.CUevent_flags
        flag = flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING
        self.handle: Any = primary.call(primary.cu.cuEventCreate, flag)
        weakref.finalize(self, primary.memory.release, "event", self.handle).atexit = False

    @property
    def done(self) -> bool:
        """Whether the place has been reached."""
        self.primary.enter()
        return self.primary.ready(self.primary.cu.cuEventQuery, self.handle)

    def synchronize(self) -> None:
        """Wait until the place has been reached."""
        self.primary.enter()
        self.primary.call(self.primary.cu.cuEventSynchronize, self.handle)

    def seconds_since(self, earlier: Event) -> float:
        """Seconds between two events that have been reached, by the GPU's clock."""
        assert isinstance(earlier, CudaEvent)
        self.primary.enter()
        return self.primary.call(self.primary.cu.cuEventElapsedTime, earlier.handle, self.handle) / 1e3


def primary_of_device(device: Device) -> Primary:
    """The primary context of a GPU."""
    primary: Primary | None = getattr(device, "primary", None)
    assert primary is not None, "a copy between GPUs has two GPUs"
    return primary


_numbers = itertools.count(1)
_calls: dict[int, tuple[Callable[[], object], Callable[[], Queue], bool]] = {}
_inside = threading.local()


def register_call(function: Callable[[], object], queue: Callable[[], Queue], *, once: bool) -> int:
    """The number by which ``_called`` finds a function, and what knows the stream that calls it."""
    number = next(_numbers)
    _calls[number] = (function, queue, once)
    return number


def forget_calls(numbers: list[int]) -> None:
    """Undo ``register_call`` where that was not for one call."""
    for number in numbers:
        _calls.pop(number, None)


def _called(number: int) -> None:
    """What the driver calls on a thread of its own."""
    function, find, once = _calls[number]
    if once:
        del _calls[number]
    _inside.queue = queue = find()
    try:
        function()
    except BaseException as error:
        queue.failures.append(error)
    finally:
        _inside.queue = None


_called_native = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(_called)
called_address = ctypes.cast(_called_native, ctypes.c_void_p).value


def _as_error(reports: list[Report], found: list[Diagnostic], failures: list[BaseException]) -> DeviceError:
    diagnostics = list(found)
    for failure in failures:
        if isinstance(failure, WeftError):
            diagnostics.extend(failure.diagnostics)
        else:
            diagnostics.append(raised(failure, "a function queued on the GPU's stream"))
    return DeviceError.of(reports, diagnostics)
