"""Launches made again and again on copies of the memory that they are about, and how long they take.

Nothing that the program has is touched: each stretch of memory among the arguments is copied once, and the
pointers in the launches are moved to the copies. What a kernel both reads and writes is put back before each
launch, outside of what is timed; what it only writes need not be.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import Artifact
from weft.diagnostics import DeviceError
from weft.record import record
from weft.runtime.driver import Copy, Device, Extents, Graph, Launch, LaunchAttributes, OutOfMemory, Tiled
from weft.tuning.search import Failed

_ALIGNED = 256
_AIM = 1e-3
"""Seconds that a sample should take."""
_MOST = 64
"""Launches of a sample at most."""


class Image(NamedTuple):
    """A stretch of memory: where the launches have it, and what was in it."""

    address: int
    data: Any
    """Its bytes, as an array of NumPy."""


@record
class Job:
    """A launch, without the function that is loaded of its artifact."""

    artifact: Artifact
    grid: Extents
    block: Extents
    words: bytes
    shared: int
    extents: Extents
    attributes: LaunchAttributes | None
    tiles: Mapping[int, Tiled]
    """What the hardware was told of tiles, by the slots of where that lies."""


class Trials:
    """Launches on a device of their own.

    Args:
        device: where they run.
        jobs: the launches.
        images: the memory that their pointers lead to.

    Raises:
        Failed: the device has not the memory for copies.
    """

    def __init__(self, device: Device, jobs: Sequence[Job], images: Sequence[Image]) -> None:
        self.device = device
        self.stream = device.create_stream()
        self._jobs = jobs
        self._images = images
        self._blocks: list[int] = []
        self._copies: list[int] = []
        self._launches: dict[int, tuple[Launch, list[int]]] = {}
        self._graphs: dict[int, tuple[Graph, int]] = {}
        self._whole: dict[int, int] = {}
        """Where on the device there is once more what was in the memory."""
        for image in images:
            block = self._alloc(len(image.data))
            self._copies.append(block + (image.address - block) % _ALIGNED)
            self._fill(self._copies[-1], image.data)

    def sample(self, n: int) -> float:
        """Seconds that a launch takes, of several where it is short.

        Raises:
            Failed: it has failed on the device; that is then of no more use.
        """
        try:
            if n not in self._graphs:
                self._begin(n)
            graph, count = self._graphs[n]
            return self._timed(n, graph) / count
        except DeviceError as error:
            raise Failed(error.diagnostics[0].message) from None

    def launch(self, n: int) -> None:
        """Make one launch, on the copies."""
        launch, restored = self._launch_of(n)
        self._restore(restored)
        self.stream.launch(launch)
        self.stream.synchronize()

    def close(self) -> None:
        """Give back what was copied."""
        self.stream.close()
        for block in self._blocks:
            self.device.free(block)

    def _begin(self, n: int) -> None:
        """Warm a launch up, and find out how often it goes into a sample."""
        self.launch(n)
        launch, restored = self._launch_of(n)
        once = self._recorded(launch, 1)
        seconds = self._timed(n, once)
        count = 1 if restored else max(1, min(_MOST, math.ceil(_AIM / max(seconds, 1e-7))))
        self._graphs[n] = (once if count == 1 else self._recorded(launch, count)), count

    def _recorded(self, launch: Launch, count: int) -> Graph:
        capture = self.device.begin_capture(self.stream)
        branch = capture.branch(self.stream)
        for _ in range(count):
            branch.launch(launch)
        return capture.finish(None)

    def _timed(self, n: int, graph: Graph) -> float:
        self._restore(self._launch_of(n)[1])
        start = self.stream.record()
        graph.replay(self.stream)
        end = self.stream.record()
        self.stream.synchronize()
        return end.seconds_since(start)

    def _launch_of(self, n: int) -> tuple[Launch, list[int]]:
        """The launch on the copies, and which of these are put back before it."""
        if n not in self._launches:
            job = self._jobs[n]
            function = self.device.load(job.artifact)[0]
            words, written, read = memoryview(bytearray(job.words)).cast("Q"), set[int](), set[int]()
            for slot, parameter in enumerate(function.kernel.signature.parameters):
                if slot in job.tiles:
                    words[slot] = self._described(job.tiles[slot])
                if slot in job.tiles or not parameter.pointer or not words[slot]:
                    continue
                image = self._image_of(words[slot])
                words[slot] += self._copies[image] - self._images[image].address
                written.update([image] if parameter.written else ())
                read.update([image] if parameter.read else ())
            launch = Launch(
                function, job.grid, job.block, words.tobytes(), job.shared, job.extents, job.attributes
            )
            self._launches[n] = launch, sorted(written & read)
        return self._launches[n]

    def _described(self, tiles: Tiled) -> int:
        """Where it lies what the hardware is told of tiles, of the copy of their memory."""
        import numpy as np

        image = self._image_of(tiles.address)
        moved = tiles.address + self._copies[image] - self._images[image].address
        words = self.device.describe_tiles(tiles._replace(address=moved)) or bytes(128)
        address = -(-self._alloc(len(words)) // _ALIGNED) * _ALIGNED
        self._fill(address, np.frombuffer(words, np.uint8).copy())
        return address

    def _image_of(self, address: int) -> int:
        for past in (0, 1):  # a pointer behind the end of one stretch may be to the begin of another
            for n, image in enumerate(self._images):
                if image.address <= address < image.address + len(image.data) + past:
                    return n
        raise Failed("a pointer among its arguments leads to memory that weft does not know")

    def _alloc(self, nbytes: int) -> int:
        try:
            self._blocks.append(self.device.alloc(nbytes + _ALIGNED))
        except OutOfMemory as error:
            raise Failed(f"the device has no {error.asked} bytes for a copy of the arguments") from None
        return self._blocks[-1]

    def _fill(self, address: int, data: Any) -> None:
        if len(data):
            self.stream.copy(Copy("h2d", address, data.ctypes.data, len(data), src_owner=data))

    def _restore(self, which: Sequence[int]) -> None:
        """Queue copies of what was in the memory, from elsewhere on the device."""
        for n in which:
            data = self._images[n].data
            if n not in self._whole:
                self._whole[n] = self._alloc(len(data))
                self._fill(self._whole[n], data)
            if len(data):
                self.stream.copy(Copy("d2d", self._copies[n], self._whole[n], len(data)))


def images_of(device: Device, stream: Any, memory: Sequence[Any], *, shares_host: bool) -> list[Image]:
    """What is in the memory of a launch's arguments by now; stretches that overlap are one."""
    import numpy as np  # here, since few programs ask for it

    spans: list[list[Any]] = []
    for m in sorted(memory, key=lambda m: m.address):
        on_host = shares_host or getattr(m, "api", "") is None
        if spans and m.address < spans[-1][1] and spans[-1][2] == on_host:
            spans[-1][1] = max(spans[-1][1], m.address + m.nbytes)
        else:
            spans.append([m.address, m.address + m.nbytes, on_host])
    found: list[Image] = []
    for low, high, on_host in spans:
        data = np.empty(high - low, np.uint8)
        if on_host:
            ctypes.memmove(data.ctypes.data, low, high - low)
        elif high > low:
            stream.copy(Copy("d2h", data.ctypes.data, low, high - low, dst_owner=data))
        found.append(Image(low, data))
    stream.synchronize()
    return found
