"""Copies between two NVIDIA GPUs, and kernels that read the other's memory, beside torch and CuPy.

A time is that of some copies in a row, then one wait, divided by their number. All in one process, in turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import in_turns, module, spread, table
from weft import Float32, WeftError, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

SIZE = 1 << 28
"""Elements of a large copy: 1 GiB."""
Loop = Callable[[int], None]


@kernel
def fetch(there: LayoutTensor[Float32], here: LayoutTensor[Float32]):
    here[global_idx.x] = there[global_idx.x]


def run(options: argparse.Namespace) -> None:
    print("## Two GPUs\n")
    try:
        count = DeviceContext.number_of_devices(api="cuda")
        if count < 2:
            print(f"not measured: needs two NVIDIA GPUs; this machine has {count or 'none'}\n")
            return
        Peers(options.rounds or 7).measure()
    except WeftError as error:
        print(f"not measured: {str(error).splitlines()[0]}\n")


class Peers:
    """GPU 0 and GPU 1."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.zero, self.one = DeviceContext(0, api="cuda"), DeviceContext(1, api="cuda")
        self.here: list[Any] = [self.zero.enqueue_create_buffer(Float32, SIZE) for _ in range(2)]
        self.there: list[Any] = [self.one.enqueue_create_buffer(Float32, SIZE) for _ in range(2)]
        self.streams = self.zero.create_stream(), self.one.create_stream()
        torch = module("torch")
        self.torch: Any = torch if torch is not None and torch.cuda.device_count() > 1 else None
        self.cupy: Any = module("cupy")

    def wait(self) -> None:
        for stream in (*self.streams, self.zero, self.one):
            stream.synchronize()
        if self.torch is not None:
            for number in range(2):
                self.torch.cuda.synchronize(number)
        if self.cupy is not None:
            for number in range(2):
                self.cupy.cuda.Device(number).synchronize()

    def timed(self, loop: Loop, count: int) -> Callable[[], float]:
        def measure() -> float:
            self.wait()
            start = time.perf_counter()
            loop(count)
            self.wait()
            return (time.perf_counter() - start) / count

        return measure

    def report(self, title: str, loops: dict[str, Loop], count: int, nbytes: float) -> None:
        times = in_turns({name: self.timed(loop, count) for name, loop in loops.items()}, self.rounds)
        rows = [
            [name, *(f"{1e6 * t:.2f}" for t in spread(got)), f"{nbytes / statistics.median(got) / 1e9:.1f}"]
            for name, got in times.items()
        ]
        print(title)
        table(("", "least µs", "median", "most", "GB/s"), rows)
        print()

    def measure(self) -> None:
        zero, (here, back), (there, away) = self.zero, self.here, self.there
        print(f"{zero.name} and {self.one.name}; linked: {zero.can_access(self.one)}\n")
        here.enqueue_fill(1.0)
        there.enqueue_fill(2.0)
        zero.enable_peer_access(self.one)
        self.one.enable_peer_access(zero)
        pairs: list[Any] = []
        if self.torch is not None:
            pairs = [self.torch.ones(SIZE, device=f"cuda:{number}") for number in (0, 1)]
        arrays: list[Any] = []
        if self.cupy is not None:
            for number in range(2):
                with self.cupy.cuda.Device(number):
                    arrays.append(self.cupy.ones(SIZE, np.float32))
        for size, count in ((SIZE, 10), (256, 2000)):
            loops: dict[str, Loop] = {"weft, enqueue_copy": self.push(there[:size], here[:size])}
            if pairs:
                one, two = (tensor[:size] for tensor in pairs)
                loops["torch, copy_"] = lambda n, one=one, two=two: repeat(
                    n, lambda: two.copy_(one, non_blocking=True)
                )
            if arrays:
                loops["CuPy, memcpyPeerAsync"] = self.in_cupy(arrays, 4 * size)
            shown = "1 GiB" if size == SIZE else f"{4 * size} bytes"
            self.report(f"Copy of {shown} from GPU 0 to GPU 1", loops, count, 4.0 * size)
        assert np.all(self.read(there) == 1.0), "the copy is wrong"

        def both(count: int) -> None:
            for _ in range(count):
                zero.enqueue_copy(dst=away, src=here, stream=self.streams[0])
                self.one.enqueue_copy(dst=back, src=there, stream=self.streams[1])

        self.report("1 GiB each way at once, on streams of their own", {"weft": both}, 10, 8.0 * SIZE)
        layout = Layout.row_major(SIZE)
        source, target = there.tensor(layout), here.tensor(layout)

        def kernels(count: int) -> None:
            for _ in range(count):
                zero.enqueue_function(fetch, source, target, over=SIZE)

        self.report("A kernel on GPU 0 reads 1 GiB of GPU 1", {"weft, over=": kernels}, 10, 4.0 * SIZE)

    def push(self, dst: Any, src: Any) -> Loop:
        return lambda n: repeat(n, lambda: self.zero.enqueue_copy(dst=dst, src=src))

    def in_cupy(self, arrays: list[Any], nbytes: int) -> Loop:
        runtime: Any = self.cupy.cuda.runtime
        with self.cupy.cuda.Device(0):
            stream = self.cupy.cuda.Stream(non_blocking=True)
        source, target = arrays[0].data.ptr, arrays[1].data.ptr

        def loop(count: int) -> None:
            for _ in range(count):
                runtime.memcpyPeerAsync(target, 1, source, 0, nbytes, stream.ptr)

        return loop

    def read(self, buffer: Any) -> Any:
        made = np.empty(len(buffer), np.float32)
        buffer.context.enqueue_copy(dst=made, src=buffer)
        buffer.context.synchronize()
        return made


def repeat(count: int, function: Callable[[], object]) -> None:
    for _ in range(count):
        function()
