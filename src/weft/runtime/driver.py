"""The one interface that every device API implements, one file per API.

A driver knows addresses, bytes and loaded code; element types, bounds and ownership are the
business of the room above it. Nothing here checks what a user wrote: that happened before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from weft.abi.artifact import Artifact, KernelInfo, LoadedCode
from weft.record import record

if TYPE_CHECKING:
    from weft.targets.occupancy import Resources

CopyKind = Literal["h2d", "d2h", "d2d", "h2h"]
"""The direction of a copy between host (h) and device (d)."""

Extents = tuple[int, int, int]
"""Sizes in x, y and z."""

LoadObject = Callable[[bytes, Sequence[str], dict[str, int]], LoadedCode]
"""Loads an object file: its bytes, the entries' symbols, addresses of the symbols that it may call.

Without bytes, it is that of weft's own handler of crashes (``launch/native/crash.py``)."""


@record
class DeviceInfo:
    """What a device is and what it can take. Memory is in bytes."""

    name: str
    api: str
    target: str
    """What to compile for, such as ``x86-64`` or ``sm_90``."""
    max_threads_per_block: int
    max_block_dim: Extents
    max_grid_dim: Extents
    max_shared_bytes: int
    """Shared memory that one block may have, the part that must be opted into included."""
    multiprocessors: int
    """Streaming multiprocessors of a GPU; threads that take the blocks of a launch on a CPU."""
    warp_size: int
    total_memory: int
    bandwidth: int = 0
    """Bytes a second that its memory gives at most, by its clock and its width; 0 where nothing says."""
    flops: int = 0
    """Operations on Float32 a second that it does at most without tensor cores, a product with a sum being
    two, by its clock and its lanes; 0 where nothing says."""
    shares_host: bool = False
    """Whether its memory is the host's, so that Python sees it and it sees that of other libraries."""
    dlpack: int = 0
    """DLPack's number for devices of this kind; 0 where it has none."""


@record
class LaunchAttributes:
    """What a launch asks for beyond its grid and block."""

    cluster: Extents | None = None
    """Blocks of a cluster."""
    cooperative: bool = False
    """All blocks run at once."""
    pdl: bool = False
    """It may begin before what is before it in the stream has ended, where the device can do so."""


class DriverMissing(Exception):
    """An API that weft knows cannot be used on this machine."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class OutOfMemory(Exception):
    """An allocation failed: bytes asked for, and bytes free where the driver can tell."""

    def __init__(self, asked: int, free: int | None = None) -> None:
        super().__init__(asked, free)
        self.asked = asked
        self.free = free


class Residency(NamedTuple):
    """What a block of a function takes of a multiprocessor."""

    registers: int
    """Of a thread."""
    spilled: int
    """Bytes of memory of its own that a thread has, registers that were spilled among it."""
    shared: int
    """Bytes of shared memory."""
    blocks: int
    """How many blocks a multiprocessor runs at once."""
    occupancy: float
    """The share of its threads that these are."""

    def __str__(self) -> str:
        spilled = f", {self.spilled} bytes of local memory" if self.spilled else ""
        return f"{self.registers} registers a thread{spilled}, {self.shared} bytes of shared memory"


class Function(Protocol):
    """Code loaded on a device. It stays loaded while this handle lives."""

    @property
    def kernel(self) -> KernelInfo:
        """What its launches must know."""
        ...

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block of this function may have, its registers considered."""
        ...

    def residency(self, threads: int, shared: int) -> Residency | None:
        """What a block of so many threads, and bytes of dynamic shared memory, takes; None: nothing says."""
        ...


class Copy(NamedTuple):
    """Bytes to be copied from address to address."""

    kind: CopyKind
    dst: int
    src: int
    nbytes: int
    dst_owner: object = None
    """The owner of ordinary host memory at ``dst``, which the driver keeps alive until the copy has ended;
    None where that memory is from ``Device.alloc`` or ``Device.host_alloc``."""
    src_owner: object = None
    """The same for ``src``."""
    devices: tuple[Device, Device] | None = None
    """Whose memory ``dst`` and ``src`` are, where one is not the stream's device but another of its API."""


class Tiled(NamedTuple):
    """Tiles of a tensor, as the hardware copies them: extents and strides from the outermost axis on."""

    dtype: str
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes; that of the last axis is an element's size."""
    box: tuple[int, ...]
    """A tile's extents."""
    swizzle: int
    """Bytes of the rows whose pieces change places; 0 for none."""


class Launch(NamedTuple):
    """A function to be run by a grid of blocks."""

    function: Function
    """From ``Device.load`` of the same device."""
    grid: Extents
    """Blocks."""
    block: Extents
    """Threads of a block."""
    arguments: bytes
    """8 bytes for each parameter of the signature, little end first."""
    shared_bytes: int = 0
    """Shared memory of a block beyond what the kernel declares."""
    over: Extents = (0, 0, 0)
    """Extents in x, y and z of an ``over=`` launch, else zeros."""
    attributes: LaunchAttributes | None = None
    """What else it asks for."""


class Event(Protocol):
    """A place in a stream: reached once all work queued before it has ended."""

    @property
    def done(self) -> bool:
        """Whether the place has been reached."""
        ...

    def synchronize(self) -> None:
        """Wait until the place has been reached."""
        ...

    def seconds_since(self, earlier: Event) -> float:
        """Seconds on the device between two events that have been reached."""
        ...


class Stream(Protocol):
    """A queue of work that runs in order, beside the host and other streams."""

    @property
    def native(self) -> NativeStream | None:
        """What native code needs to launch here without Python; None where it cannot."""
        ...

    def copy(self, copy: Copy) -> None:
        """Queue a copy. An ordinary source may be changed once the call returns."""
        ...

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Queue writing ``count`` times a pattern of 1, 2, 4 or 8 bytes, to device or pinned memory."""
        ...

    def launch(self, launch: Launch) -> None:
        """Queue a launch."""
        ...

    def call(self, function: Callable[[], object]) -> None:
        """Queue a call of a host function, which must not use the device."""
        ...

    def record(self) -> Event:
        """An event at the present end of the queue."""
        ...

    def wait(self, event: Event) -> None:
        """Hold what is queued from now on until the event has been reached."""
        ...

    def follow(self, other: Stream) -> None:
        """Hold what is queued from now on until all that another stream holds now has ended."""
        ...

    def synchronize(self) -> None:
        """Wait until all queued work has ended.

        Raises:
            DeviceError: work failed since the last synchronisation.
        """
        ...

    def close(self) -> None:
        """Take no more work. What is queued still runs. Idempotent."""
        ...


class Toolkit(Protocol):
    """Programs of a vendor that show what becomes of a kernel's code. They raise CompileError where they are
    missing.
    """

    def assemble(self, code: str, opt_level: int | None = None, /) -> tuple[bytes, Resources]:
        """The machine's binary of assembly, and what the kernel uses there."""
        ...

    def disassemble(self, binary: bytes, /) -> str:
        """A binary as text."""
        ...


class NativeLauncher(Protocol):
    """Native code that launches to streams of a context, as its driver sees it."""

    def take_used(self, stream: int) -> list[KernelInfo]:
        """What was launched on a stream since the last call."""
        ...

    def forget(self, stream: int) -> None:
        """From now on all launches on a stream go to Python; those of its own stand for all."""
        ...

    def pause(self) -> None:
        """Until ``resume`` all launches go to Python."""
        ...

    def resume(self) -> None:
        """Undo ``pause``."""
        ...


class NativeStream(Protocol):
    """A stream to which native code launches, by C functions of its driver."""

    @property
    def number(self) -> int:
        """The driver's handle."""
        ...

    def launch_addresses(self) -> tuple[int, int]:
        """The addresses of the driver's functions for a launch and for one with attributes, 0 for none."""
        ...

    def launch_failed(self, status: int) -> None:
        """Raise the error for a status that these have returned.

        It returns for those of a thread that must be brought into the device's context first.
        """
        ...

    def handles(self, launch: Launch) -> tuple[int, Any]:
        """The handle of the launch's function, and the driver's configuration where it has attributes."""
        ...

    def note_launched(self, kernels: Mapping[str, KernelInfo]) -> None:
        """Take notice of kernels, by their names, that native code is about to launch by these functions."""
        ...

    def provide(self, pool: Sequence[int]) -> None:
        """There are functions at these addresses by which threads of the host share launches."""
        ...

    def add_launcher(self, launcher: NativeLauncher) -> None:
        """Take part in what native code launches here."""
        ...

    def empties(self) -> Sequence[object] | None:
        """Objects that are empty where a wait has nothing to do but wait for the words that ``number`` is
        the address of (``abi/cpu_launch.py``); None where a wait is the driver's.
        """
        ...


class Graph(Protocol):
    """Work that was recorded and can be queued again as a whole."""

    @property
    def size(self) -> int:
        """How many pieces of work it has."""
        ...

    def replay(self, stream: Stream) -> None:
        """Queue all of it, to a stream of the same device that runs."""
        ...


class Capture(Protocol):
    """Work being recorded instead of run. It keeps what its work uses, and so does its graph."""

    def branch(self, like: Stream) -> Stream:
        """A stream that records what would go to this one; it begins where the graph begins."""
        ...

    def keep(self, owner: object) -> None:
        """Keep an object as long as the graph may run."""
        ...

    def finish(self, earlier: Graph | None) -> Graph:
        """End; the graph of all branches.

        Args:
            earlier: A graph of the same device to change into this one, where that is cheaper.
        """
        ...

    def abandon(self) -> None:
        """End without a graph. It raises nothing."""
        ...


Kept = Callable[[Sequence[str | bytes], Callable[[], bytes]], bytes]
"""What a function makes of something, or made of it in another process."""


def anew(key: Sequence[str | bytes], make: Callable[[], bytes]) -> bytes:
    """Nothing is kept."""
    return make()


class Device(Protocol):
    """One opened device."""

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        ...

    def alloc(self, nbytes: int) -> int:
        """The address of new device memory, aligned to 256 bytes.

        Raises:
            OutOfMemory: there is not so much.
        """
        ...

    def free(self, address: int) -> None:
        """Give memory back once all work queued so far, on any stream, has ended.

        Callable at any time, from a finalizer too.
        """
        ...

    def host_alloc(self, nbytes: int) -> int:
        """The address of new host memory that the device copies from fastest (pinned).

        Raises:
            OutOfMemory: there is not so much.
        """
        ...

    def host_free(self, address: int) -> None:
        """``free`` for memory of ``host_alloc``."""
        ...

    def note(self, address: int, nbytes: int, *, written: bool) -> None:
        """Take notice that memory is new and nobody has written to it, or that somebody else may from now on.

        Checked kernels may tell of reads of what nobody has written.
        """
        ...

    def hold(self, owner: object) -> None:
        """Keep an object until all work queued so far, on any stream, has ended."""
        ...

    def can_access(self, peer: Device) -> bool:
        """Whether kernels here can be allowed to use the memory of that device."""
        ...

    def enable_access(self, peer: Device) -> None:
        """Let kernels here use the memory of another device, that of the future too. Idempotent."""
        ...

    def accesses(self, peer: Device) -> bool:
        """Whether that is another device, and ``enable_access`` was called for it."""
        ...

    def free_memory(self) -> int:
        """Bytes that could be allocated now."""
        ...

    def create_stream(self, priority: int = 0) -> Stream:
        """A new stream; a lower number is more urgent, where the device has priorities."""
        ...

    def adopt_stream(self, handle: int, owner: object) -> Stream | None:
        """Another library's stream, kept alive by ``owner``, of that handle; None where there are none."""
        ...

    def owner_of(self, address: int) -> int:
        """The number of the device of this API in whose memory an address lies."""
        ...

    def priority_range(self) -> tuple[int, int]:
        """The least urgent and the most urgent priority of streams, the latter a lower number."""
        ...

    def begin_capture(self, stream: Stream) -> Capture:
        """Record work from now on, in place of what would go to this stream first of all."""
        ...

    def write_at_once(self, address: int, data: bytes) -> None:
        """Write to device memory that no queued work uses; it waits for none, and no capture has it."""
        ...

    def describe_tiles(self, tiles: Tiled) -> bytes | None:
        """What the hardware's copies of such tiles want in memory; None where it makes none."""
        ...

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[Function, ...]:
        """Load compiled code, for each of its kernels; what is still made of it here comes from ``kept``."""
        ...

    def close(self) -> None:
        """Release what the device holds; its streams take no more work. Idempotent."""
        ...


class Driver(Protocol):
    """One API, such as ``cuda``, and the devices that it reaches."""

    @property
    def api(self) -> str:
        """The API's name."""
        ...

    def device_count(self) -> int:
        """How many devices there are."""
        ...

    def device_info(self, device_id: int) -> DeviceInfo:
        """What the device of this number is, from 0."""
        ...

    def open(self, device_id: int, threads: int | None = None) -> Device:
        """A handle to the device of this number, which takes so many threads of the host, where it is one.

        Raises:
            DeviceError: the device is none of the host's, and threads were asked for.
        """
        ...
