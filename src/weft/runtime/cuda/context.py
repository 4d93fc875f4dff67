"""The primary context of a GPU: one for all who use the GPU in this process, other libraries too."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from weft.abi.artifact import KernelInfo
from weft.diagnostics import DeviceError, Diagnostic, Report, WeftError
from weft.runtime.cuda.console import DeviceConsole
from weft.runtime.cuda.errors import FAULTS, Cuda, CudaFailure, fault_error, lost_error
from weft.runtime.cuda.memory import Memory
from weft.runtime.driver import DeviceInfo, NativeLauncher
from weft.runtime.forks import after_fork
from weft.runtime.last_words import last_words

_ALREADY_ENABLED, _TOO_MANY_PEERS = 704, 711
_EXIT_SECONDS = 2.0
"""How long the process waits at its end for work that nobody waited for."""


class Queue:
    """A stream of the driver, and what weft must know of the work in it."""

    __slots__ = ("failures", "handle", "launched", "launchers")

    def __init__(self, handle: Any) -> None:
        self.handle: Any = handle
        self.launched: dict[str, KernelInfo] = {}
        """The kernels launched since the last synchronisation, by their names."""
        self.failures: list[BaseException] = []
        """What host functions raised since then."""
        self.launchers: weakref.WeakSet[NativeLauncher] = weakref.WeakSet()
        """The native code that also launches here."""

    def take_launched(self) -> list[KernelInfo]:
        """The kernels launched since the last call."""
        native = [used for one in self.launchers for used in one.take_used(int(self.handle))]
        taken = [*self.launched.values(), *native]
        self.launched.clear()
        return taken


class Primary:
    """A GPU's primary context. Calls go through it, so that a fault is noticed in one place."""

    def __init__(self, cuda: Cuda, ordinal: int, info: DeviceInfo) -> None:
        self.cuda = cuda
        self.cu: Any = cuda.cu
        self.info = info
        self.lost: str | None = None
        self.queues: set[Queue] = set()
        self.peers: set[Primary] = set()
        """Other GPUs whose memory kernels here may use."""
        self._linked: dict[Primary, bool] = {}
        self.ordinal = ordinal
        self.place: str = info.name if cuda.count == 1 else f"{info.name} (cuda:{ordinal})"
        """Which GPU, in words."""
        self._pid = os.getpid()
        self._number = cuda(self.cu.cuDeviceGet, ordinal)
        self.context: Any = self.call(self.cu.cuDevicePrimaryCtxRetain, self._number)
        self.handle: int = int(self.context)
        self.enter()
        self.memory: Memory = Memory(self, ordinal)
        self._console: DeviceConsole | None = None

    def console(self) -> DeviceConsole:
        """Where kernels write what they print."""
        if self._console is None:
            self._console = DeviceConsole(self)
        return self._console

    def read_console(self) -> tuple[list[Diagnostic], list[Report]]:
        """Write out what kernels have printed; what failed in them, and what checked ones have found."""
        return ([], []) if self._console is None else self._console.read()

    def library(self) -> ctypes.CDLL:
        """The driver itself, for what the binding does not pass on as it is."""
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")

    def launch_addresses(self) -> tuple[int, int]:
        """Where the driver's ``cuLaunchKernel`` and ``cuLaunchKernelEx`` are; 0 for what it has not."""
        library = self.library()
        launch = ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p).value
        extended = getattr(library, "cuLaunchKernelEx", None)
        assert launch
        return launch, 0 if extended is None else ctypes.cast(extended, ctypes.c_void_p).value or 0

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that made the context."""
        return self._pid != os.getpid()

    def enter(self) -> None:
        """Make this the context that the calling thread's driver calls are for.

        Raises:
            DeviceError: the context is lost, or this process is a fork of the one that made it.
        """
        if self.lost is not None:
            raise lost_error(self.place, self.lost)
        if self.forked:
            raise forked(f"{self.info.name} was opened")
        status = self.cu.cuCtxSetCurrent(self.context)[0]
        if status:
            raise self.error(self.cuda.failure("cuCtxSetCurrent", status))

    def call(self, function: Callable[..., tuple[Any, ...]], *args: Any) -> Any:
        """Call the driver.

        Raises:
            DeviceError: it refused, or work queued earlier made the context fail.
        """
        try:
            return self.cuda(function, *args)
        except CudaFailure as failure:
            raise self.error(failure) from None

    def can_access(self, peer: Primary) -> bool:
        """Whether kernels here can use the memory of that GPU."""
        numbers = self._number, peer._number
        return peer is self or bool(self.call(self.cu.cuDeviceCanAccessPeer, *numbers))

    def enable_access(self, peer: Primary) -> None:
        """Let kernels here use the memory of another GPU."""
        if peer is not self and self.link(peer):
            self.peers.add(peer)

    def link(self, peer: Primary) -> bool:
        """Whether the memory of another GPU can be reached from here, by copies too; sees to it once."""
        if peer in self._linked:
            return self._linked[peer]
        self._linked[peer] = self.can_access(peer)
        if not self._linked[peer]:
            return False
        self.enter()
        try:
            self.cuda(self.cu.cuCtxEnablePeerAccess, peer.context, 0)
        except CudaFailure as failure:
            if failure.status == _TOO_MANY_PEERS:
                self._linked[peer] = False
                return False
            if failure.status != _ALREADY_ENABLED:  # by another library
                raise self.error(failure) from None
        peer.memory.share(self.ordinal)
        self.enter()
        return True

    def call_with(self, peer: Primary, function: Callable[..., tuple[Any, ...]], *args: Any) -> Any:
        """``call`` for what concerns another GPU too.

        Raises:
            DeviceError: as ``call``, or the other GPU has failed.
        """
        if peer.lost is not None:
            raise lost_error(peer.place, peer.lost)
        return self.call(function, *args)

    def ready(self, query: Callable[..., tuple[Any, ...]], handle: Any) -> bool:
        """Whether a stream or an event has been reached; errors as for ``call``."""
        try:
            return self.cuda.ready(query, handle)
        except CudaFailure as failure:
            raise self.error(failure) from None

    def error(self, failure: CudaFailure) -> DeviceError:
        """What a failed call means: a fault of the device, after which nothing works, or a refusal."""
        if failure.status not in FAULTS:
            return DeviceError.here("driver-call", f"the NVIDIA driver refused {failure}")
        if self.lost is not None:
            return lost_error(self.place, self.lost)
        reason = f"{FAULTS[failure.status]} ({failure.name})"
        # a fault of one GPU may come back from calls for any, so the kernels tell whose it is
        others = [p for p in tuple(_primaries.copy().values()) if p.cu is self.cu and p is not self]
        for other in others:
            if other.lost is not None:
                reason = f"{other.place} had failed"
                self._lose(reason)
                return lost_error(self.place, reason)
        found = {primary.place: primary.take_launched() for primary in (self, *others)}
        suspects = {place: launched for place, launched in found.items() if launched}
        for primary in (self, *others):
            if primary.place in (suspects or (self.place,)):
                primary._lose(reason)
        if self.lost is None:
            self._lose(f"{next(iter(suspects))} had failed")
        return fault_error(failure, suspects or {self.place: []})

    def _lose(self, reason: str) -> None:
        """Note that nothing works here any more. Launches go by Python from now on, which says so."""
        self.lost = reason
        for queue in tuple(self.queues):
            for launcher in tuple(queue.launchers):
                launcher.forget(int(queue.handle))

    def take_launched(self) -> list[KernelInfo]:
        """The kernels launched here that nobody has waited for."""
        return [kernel for queue in tuple(self.queues) for kernel in queue.take_launched()]

    def status_error(self, function: str, status: int) -> DeviceError:
        """``error`` for a status that native code has got."""
        return self.error(self.cuda.failure(function, self.cu.CUresult(status)))

    def release(self) -> None:
        """Give the driver's context up, with all that is in it, after it was lost."""
        self.cuda(self.cu.cuDevicePrimaryCtxReset, self._number)


def forked(what: str) -> DeviceError:
    """What is said where a forked child uses what its parent made."""
    return DeviceError.here(
        "forked",
        f"{what} before this process forked, and CUDA does not survive a fork",
        "start processes by `multiprocessing.get_context('spawn')`",
    )


_primaries: dict[tuple[int, int], Primary] = {}
_lock = threading.Lock()


def _after_fork() -> None:
    """A thread that held the lock is not in the child."""
    global _lock
    _lock = threading.Lock()


after_fork(_after_fork)


def primary_of(cuda: Cuda, ordinal: int, info: DeviceInfo) -> Primary:
    """The primary context of a GPU, made at first use and made anew after a fault.

    Raises:
        DeviceError: the driver cannot make it.
    """
    if cuda.pid != os.getpid():
        raise forked("CUDA was started")
    with _lock:
        if not _primaries:
            atexit.register(_at_exit)
        key = (id(cuda.cu), ordinal)
        found = _primaries.get(key)
        if found is None or found.lost is not None:
            lost = None if found is None else found.lost
            try:
                if found is not None:
                    found.release()
                found = _primaries[key] = Primary(cuda, ordinal, info)
            except DeviceError as error:
                if lost is not None and error.diagnostics[0].code == "device-fault":
                    raise lost_error(info.name, lost) from None
                raise
            except CudaFailure as failure:
                raise DeviceError.here(
                    "device-open",
                    f"{info.name} cannot be opened: {failure.text} ({failure.name})",
                    "`nvidia-smi` shows whether other processes use up its memory",
                ) from failure
        return found


def _at_exit() -> None:
    """Give queued work a moment to end, so that a forgotten synchronize() loses no output."""
    deadline = time.monotonic() + _EXIT_SECONDS
    for primary in _primaries.values():
        if primary.forked:
            continue  # its work is the parent's
        try:
            primary.enter()
            for queue in tuple(primary.queues):
                _last_words(primary, queue, deadline)
        except WeftError as error:
            if primary.lost is not None and error.diagnostics[0].code != "device-fault":
                continue  # it was reported when it happened
            last_words(error, at_exit=True)


def _last_words(primary: Primary, queue: Queue, deadline: float) -> None:
    while not primary.ready(primary.cu.cuStreamQuery, queue.handle):
        if time.monotonic() > deadline:
            return
        time.sleep(0.0005)
    failures: list[object] = list(queue.failures)
    found, reports = primary.read_console()
    if found or reports:
        failures.insert(0, DeviceError.of(reports, found))
    if failures:
        last_words(failures[0], at_exit=True)
