"""CUDA graphs: work of a context captured by the driver, and launched again as a whole.

What is captured goes to streams of this file's own, so that the streams that really run are never in
the state of capturing: memory is collected and other threads work as ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.abi.artifact import KernelInfo
from weft.diagnostics import LaunchError, WeftError
from weft.runtime.cuda.context import Queue
from weft.runtime.cuda.errors import CudaFailure
from weft.runtime.cuda.stream import (
    CudaEvent,
    CudaStream,
    called_address,
    forget_calls,
    primary_of_device,
    register_call,
)
from weft.runtime.driver import Copy, Graph, Stream

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_UPDATE_FAILED = 910


class _Held:
    """What a graph uses. It goes when neither the graph nor queued work needs it."""

    def __init__(self) -> None:
        self.owners: list[object] = []
        self.launched: dict[str, KernelInfo] = {}
        self.replaying: list[Queue] = []
        """The stream that replays. Calls know this list and not what has it, which ends them when it goes."""
        self.calls: list[int] = []
        weakref.finalize(self, forget_calls, self.calls).atexit = False


class _PinnedBytes:
    """Pinned memory, given back with this object."""

    def __init__(self, primary: Primary, nbytes: int) -> None:
        self.address = primary.memory.host_alloc(nbytes)
        weakref.finalize(self, primary.memory.release, "host", self.address).atexit = False


class _CaptureStream(CudaStream):
    """A stream whose work becomes nodes of a graph."""

    def __init__(self, primary: Primary, priority: int, held: _Held) -> None:
        super().__init__(primary, priority)
        self._held = held
        self._queue.launched = held.launched

    def _register(self) -> None:
        """Nothing runs here that anybody would wait for."""

    def copy(self, copy: Copy) -> None:
        """Capture a copy; of ordinary memory by way of pinned memory that the graph keeps.

        One between two GPUs the driver can do where one reaches the other's memory.
        """
        kind, dst, src, nbytes, dst_owner, src_owner, devices = copy
        if devices is not None:
            mine = self._primary
            peer = next(p for p in map(primary_of_device, devices) if p is not mine)
            if not mine.link(peer):
                raise LaunchError.here(
                    "capture-copy",
                    f"a graph holds no copy between {mine.place} and {peer.place}, which are not linked",
                    "queue the copy after `graph.replay()`",
                )
        if src_owner is not None:
            pinned = self._pin(nbytes)
            ctypes.memmove(pinned, src, nbytes)
            src = pinned
        if dst_owner is None:
            super().copy(Copy(kind, dst, src, nbytes))
            return
        self._held.owners.append(dst_owner)
        if kind == "d2h":
            pinned = self._pin(nbytes)
            super().copy(Copy(kind, pinned, src, nbytes))
            src = pinned

        def task() -> None:
            ctypes.memmove(dst, src, nbytes)

        self.call(task)

    def _pin(self, nbytes: int) -> int:
        pinned = _PinnedBytes(self._primary, nbytes)
        self._held.owners.append(pinned)
        return pinned.address

    def call(self, function: Callable[[], object]) -> None:
        """Capture a call of a host function, made at each replay."""
        self._enter()
        replaying = self._held.replaying
        number = register_call(function, lambda: replaying[0], once=False)
        self._held.calls.append(number)
        # not through the binding, whose own record of the call is freed when it has been made once
        launch = self._primary.library().cuLaunchHostFunc
        launch.argtypes = [ctypes.c_void_p] * 3
        status: int = launch(int(self.handle), called_address, number)
        if status:
            raise self._primary.status_error("cuLaunchHostFunc", status)


class CudaCapture:
    """Work being captured."""

    def __init__(self, primary: Primary, stream: CudaStream) -> None:
        self._primary = primary
        self._held = _Held()
        self._events: list[CudaEvent] = []
        self._replaced = stream
        self._origin = _CaptureStream(primary, stream.priority, self._held)
        self._branches: list[_CaptureStream] = []
        self._first = True
        cu = primary.cu
        # relaxed: what weft refuses is refused before; kernels may be compiled and loaded meanwhile
        mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        primary.call(cu.cuStreamBeginCapture, self._origin.handle, mode)
        self._root = self._origin.record()
        stream.pause_launchers()

    def branch(self, like: Stream) -> CudaStream:
        """A stream that captures, from the graph's beginning on."""
        assert isinstance(like, CudaStream)
        if like is self._replaced:
            return self._origin
        branch = _CaptureStream(self._primary, like.priority, self._held)
        branch.wait(self._root)
        self._branches.append(branch)
        return branch

    def keep(self, owner: object) -> None:
        """Keep an object as long as the graph may run."""
        self._held.owners.append(owner)

    def finish(self, earlier: Graph | None) -> CudaGraph:
        """End; the graph."""
        cu, call = self._primary.cu, self._primary.call
        try:
            self._primary.enter()
            for branch in self._branches:
                event = branch.record()
                self._events.append(event)
                self._origin.wait(event)
            graph = call(cu.cuStreamEndCapture, self._origin.handle)
        finally:
            self._replaced.resume_launchers()
        try:
            size = int(call(cu.cuGraphGetNodes, graph)[-1])
            return CudaGraph(self._primary, self._executable(graph, earlier), self._held, size)
        finally:
            call(cu.cuGraphDestroy, graph)

    def _executable(self, graph: Any, earlier: Graph | None) -> _Executable:
        cuda, cu = self._primary.cuda, self._primary.cu
        if isinstance(earlier, CudaGraph):
            try:
                cuda(cu.cuGraphExecUpdate, earlier.executable.handle, graph)
            except CudaFailure as failure:
                if failure.status != _UPDATE_FAILED:
                    raise self._primary.error(failure) from None
            else:
                return earlier.executable
        return _Executable(self._primary, self._primary.call(cu.cuGraphInstantiate, graph, 0))

    def abandon(self) -> None:
        """End without a graph."""
        cuda, cu = self._primary.cuda, self._primary.cu
        self._replaced.resume_launchers()
        with contextlib.suppress(CudaFailure, WeftError):
            for branch in self._branches:
                event = branch.record()
                self._events.append(event)
                self._origin.wait(event)
        with contextlib.suppress(CudaFailure):
            cuda(cu.cuGraphDestroy, cuda(cu.cuStreamEndCapture, self._origin.handle))


class _Executable:
    """The driver's instance of a graph, which later graphs of the same form take over."""

    def __init__(self, primary: Primary, handle: Any) -> None:
        self.handle = handle
        weakref.finalize(self, primary.memory.release, "graph", handle).atexit = False


class CudaGraph:
    """An instantiated graph."""

    def __init__(self, primary: Primary, executable: _Executable, held: _Held, size: int) -> None:
        self.executable = executable
        self.size = size
        self._held = held
        weakref.finalize(self, primary.memory.release, "object", held).atexit = False

    def replay(self, stream: Stream) -> None:
        """Queue the graph."""
        assert isinstance(stream, CudaStream)
        self._held.replaying[:] = (stream.queue,)  # before the driver may call what looks for it
        stream.replay(self.executable.handle, self._held.launched)
