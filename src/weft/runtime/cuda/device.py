"""A GPU as a device: its memory, its streams, and the code loaded on it."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING

from weft.abi.artifact import Artifact
from weft.runtime.cuda.errors import Cuda, CudaFailure
from weft.runtime.cuda.graph import CudaCapture
from weft.runtime.cuda.guest import GuestStream, guest_stream
from weft.runtime.cuda.module import CudaFunction, load_functions
from weft.runtime.cuda.stream import CudaStream
from weft.runtime.cuda.tensor_map import tensor_map
from weft.runtime.driver import Device, DeviceInfo, DriverMissing, Kept, Stream, Tiled, anew
from weft.targets import TARGETS, Feature

if TYPE_CHECKING:
    from weft.runtime.cuda.context import Primary

_OLDEST = 70
_HELD = 64
"""After so many objects held, those of ended work are let go."""


def device_info(cuda: Cuda, ordinal: int) -> DeviceInfo:
    """What a GPU is, by the driver's account.

    Raises:
        DriverMissing: it is older than what weft compiles for.
    """
    cu = cuda.cu
    attributes = cu.CUdevice_attribute
    try:
        device = cuda(cu.cuDeviceGet, ordinal)

        def attribute(name: str) -> int:
            return cuda(cu.cuDeviceGetAttribute, getattr(attributes, "CU_DEVICE_ATTRIBUTE_" + name), device)

        name: str = cuda(cu.cuDeviceGetName, 256, device).split(b"\0")[0].decode()
        capability = attribute("COMPUTE_CAPABILITY_MAJOR") * 10 + attribute("COMPUTE_CAPABILITY_MINOR")
        bx, by, bz = (attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ")
        gx, gy, gz = (attribute(f"MAX_GRID_DIM_{axis}") for axis in "XYZ")
        target = _target(name, capability)
        return DeviceInfo(
            name=name,
            api="cuda",
            target=target,
            max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
            max_block_dim=(bx, by, bz),
            max_grid_dim=(gx, gy, gz),
            max_shared_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
            warp_size=attribute("WARP_SIZE"),
            total_memory=int(cuda(cu.cuDeviceTotalMem, device)),
            bandwidth=2 * 1000 * attribute("MEMORY_CLOCK_RATE") * attribute("GLOBAL_MEMORY_BUS_WIDTH") // 8,
            flops=_flops(
                _target(name, capability), attribute("MULTIPROCESSOR_COUNT"), 1000 * attribute("CLOCK_RATE")
            ),
            dlpack=2,
        )
    except CudaFailure as failure:
        raise DriverMissing(f"the NVIDIA driver says nothing of GPU {ordinal}: {failure}") from failure


def _flops(target: str, multiprocessors: int, hertz: int) -> int:
    """Operations on Float32 a second at most: each lane has a product and a sum in a clock."""
    residence = TARGETS[target].residence
    return 0 if residence is None else 2 * residence.float_lanes * multiprocessors * hertz


def _target(name: str, capability: int) -> str:
    """The newest target whose code a GPU runs: its own, or one before it."""
    known = [int(target[3:]) for target in TARGETS if target.startswith("sm_") and target[3:].isdigit()]
    if capability < _OLDEST:
        raise DriverMissing(
            f"{name} has compute capability {capability / 10:.1f}, and weft compiles for 7.0 and newer"
        )
    return f"sm_{max(number for number in known if number <= capability)}"


class CudaDevice:
    """One user of a GPU. Memory and code are shared by all users in this process."""

    def __init__(self, primary: Primary) -> None:
        self.info: DeviceInfo = primary.info
        self.primary = primary
        self._streams: weakref.WeakSet[CudaStream] = weakref.WeakSet()
        self._closed = False
        self._held = 0

    def alloc(self, nbytes: int) -> int:
        """The address of new device memory."""
        return self.primary.memory.alloc(nbytes)

    def free(self, address: int) -> None:
        """Give memory back once all work queued so far has ended."""
        self.primary.memory.release("device", address)

    def host_alloc(self, nbytes: int) -> int:
        """The address of new pinned host memory."""
        return self.primary.memory.host_alloc(nbytes)

    def host_free(self, address: int) -> None:
        """Give pinned memory back once all work queued so far has ended."""
        self.primary.memory.release("host", address)

    def note(self, address: int, nbytes: int, *, written: bool) -> None:
        """Nothing is noted of memory here."""

    def hold(self, owner: object) -> None:
        """Keep an object until all work queued so far has ended."""
        self.primary.memory.release("object", owner)
        self._held += 1
        if self._held % _HELD == 0:
            self.primary.memory.collect()

    def can_access(self, peer: Device) -> bool:
        """Whether the GPUs are linked, or the same."""
        return isinstance(peer, CudaDevice) and self.primary.can_access(peer.primary)

    def enable_access(self, peer: Device) -> None:
        """Let kernels here use the memory of another GPU."""
        assert isinstance(peer, CudaDevice)
        self.primary.enable_access(peer.primary)

    def accesses(self, peer: Device) -> bool:
        """Whether that is another GPU, and ``enable_access`` was called for it."""
        return isinstance(peer, CudaDevice) and peer.primary in self.primary.peers

    def free_memory(self) -> int:
        """Bytes that could be allocated now."""
        return self.primary.memory.free_memory()

    def create_stream(self, priority: int = 0) -> CudaStream:
        """A new stream; priorities beyond what the GPU has are its nearest."""
        stream = CudaStream(self.primary, priority)
        self._streams.add(stream)
        return stream

    def adopt_stream(self, handle: int, owner: object) -> GuestStream:
        """Another library's stream, in which ``owner`` keeps it alive."""
        return guest_stream(self.primary, handle, owner)

    def owner_of(self, address: int) -> int:
        """The number of the GPU in whose memory an address lies."""
        primary, cu = self.primary, self.primary.cu
        primary.enter()
        attribute = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(primary.call(cu.cuPointerGetAttribute, attribute, address))

    def priority_range(self) -> tuple[int, int]:
        """The least urgent and the most urgent priority."""
        self.primary.enter()
        least, greatest = self.primary.call(self.primary.cu.cuCtxGetStreamPriorityRange)
        return int(least), int(greatest)

    def begin_capture(self, stream: Stream) -> CudaCapture:
        """Record work from now on, by streams of their own that capture."""
        assert isinstance(stream, CudaStream)
        return CudaCapture(self.primary, stream)

    def write_at_once(self, address: int, data: bytes) -> None:
        """Write to memory that no queued work uses, also while other libraries capture."""
        primary, cu = self.primary, self.primary.cu
        source, stream = ctypes.create_string_buffer(data, len(data)), primary.memory.stream
        primary.enter()
        relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        before = primary.call(cu.cuThreadExchangeStreamCaptureMode, relaxed)
        try:
            primary.call(cu.cuMemcpyHtoDAsync, address, ctypes.addressof(source), len(data), stream)
            primary.call(cu.cuStreamSynchronize, stream)
        finally:
            primary.call(cu.cuThreadExchangeStreamCaptureMode, before)

    def describe_tiles(self, tiles: Tiled) -> bytes | None:
        """A tensor map, from compute capability 9.0 on.

        Raises:
            DeviceError: the driver knows none, or refuses this one.
        """
        target = TARGETS[self.info.target]
        return tensor_map(self.primary, tiles) if target.supports(Feature.TENSOR_MEMORY_ACCESS) else None

    def load(self, artifact: Artifact, kept: Kept = anew) -> tuple[CudaFunction, ...]:
        """Assemble PTX and load it."""
        return load_functions(self.primary, artifact, kept)

    def close(self) -> None:
        """Close the streams, and give the system back what is unused."""
        if self._closed:
            return
        self._closed = True
        for stream in tuple(self._streams):
            stream.close()
        primary = self.primary
        if primary.lost is None:
            primary.enter()
            primary.memory.collect()
            primary.memory.trim()
