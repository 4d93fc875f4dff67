"""A process of one peer: what launches of scalar_add cost it, and replays of a graph of 100 of them.

Peers do not share a process, since one changes what the others measure: after torch's first
``copy_`` on the default stream, every kernel of the process starts 0.18 µs later.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.pictures import scalar_add
from benchmarks.measure import MISSING, PEERS, module
from weft import Float32, WeftError
from weft.compiler.llvm.emit import emit, load_object
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code
from weft.targets import find_target

LAUNCHES, REPLAYS, N = 5000, 50, 1024
Loop = Callable[[int], None]
Figures = dict[str, float]
"""Microseconds: ``launch`` end to end, ``graph`` for each launch of a replay, ``side`` without the driver."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=list(PEERS_BY_NAME))
    parser.add_argument("rounds", type=int)
    options = parser.parse_args()
    if options.peer.startswith("weft"):
        native_code()  # which contexts do not wait for
    print(json.dumps(PEERS_BY_NAME[options.peer](options.rounds)))


def needs(name: str) -> Any:
    """A module, without which this process ends and says so."""
    found = module(name)
    if found is None:
        print(f"no {name}", file=sys.stderr)
        sys.exit(MISSING)
    return found


def median(loop: Loop, wait: Callable[[], object], count: int, rounds: int) -> float:
    """Microseconds of one among ``count`` in a row, the wait at the end included."""
    times: list[float] = []
    for _ in range(rounds + 1):
        wait()
        start = time.perf_counter()
        loop(count)
        wait()
        times.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(times[1:])


def with_buffers(rounds: int) -> Figures:
    """weft with its own buffer."""
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, N)
    buffer.enqueue_fill(0.0)

    def loop(count: int) -> None:
        for _ in range(count):
            ctx.enqueue_function(scalar_add, buffer, N, 1.0, grid_dim=4, block_dim=256)

    figures = {"launch": median(loop, ctx.synchronize, LAUNCHES, rounds)} | python_side(ctx, loop, rounds)
    with ctx.capture() as graph:
        loop(100)

    def replays(count: int) -> None:
        for _ in range(count):
            graph.replay()

    return figures | {"graph": median(replays, ctx.synchronize, REPLAYS, rounds) / 100}


def compiled(rounds: int) -> Figures:
    """weft with what ``compile_function`` returns."""
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, N)
    buffer.enqueue_fill(0.0)
    ready = ctx.compile_function(scalar_add)

    def loop(count: int) -> None:
        for _ in range(count):
            ctx.enqueue_function(ready, buffer, N, 1.0, grid_dim=4, block_dim=256)

    return {"launch": median(loop, ctx.synchronize, LAUNCHES, rounds)} | python_side(ctx, loop, rounds)


def with_tensors(rounds: int) -> Figures:
    """weft with a tensor of torch's."""
    torch = needs("torch")
    ctx, vector = DeviceContext(api="cuda"), torch.zeros(N, device="cuda")

    def loop(count: int) -> None:
        for _ in range(count):
            ctx.enqueue_function(scalar_add, vector, N, 1.0, grid_dim=4, block_dim=256)

    wait = torch.cuda.synchronize
    return {"launch": median(loop, wait, LAUNCHES, rounds)} | python_side(ctx, loop, rounds)


def with_cupy(rounds: int) -> Figures:
    """weft with an array of CuPy's."""
    cupy = needs("cupy")
    ctx, vector = DeviceContext(api="cuda"), cupy.zeros(N, np.float32)

    def loop(count: int) -> None:
        for _ in range(count):
            ctx.enqueue_function(scalar_add, vector, N, 1.0, grid_dim=4, block_dim=256)

    wait = cupy.cuda.Device().synchronize
    return {"launch": median(loop, wait, LAUNCHES, rounds)} | python_side(ctx, loop, rounds)


def python_side(ctx: DeviceContext, loop: Loop, rounds: int) -> Figures:
    """The time of a launch whose driver call does nothing; nothing where launches are not native."""
    table = getattr(ctx.enqueue_function, "__self__", None)
    if not isinstance(table, ctypes.Structure):
        return {}
    code = emit("define i32 @nothing() {\n  ret i32 0\n}\n", find_target("native"), "object").data
    nothing = load_object(code, ["nothing"], {})
    driver = ctypes.c_void_p.from_address(ctypes.addressof(table))  # its first field: cuLaunchKernel
    saved = driver.value
    driver.value = nothing.addresses[0]
    try:
        return {"side": median(loop, lambda: None, LAUNCHES, rounds)}
    finally:
        driver.value = saved


def in_torch(rounds: int) -> Figures:
    """torch's own ``add_``."""
    torch = needs("torch")
    vector, graph = torch.zeros(N, device="cuda"), torch.cuda.CUDAGraph()
    wait = torch.cuda.synchronize

    def loop(count: int) -> None:
        for _ in range(count):
            vector.add_(1.0)

    def replays(count: int) -> None:
        for _ in range(count):
            graph.replay()

    launch = median(loop, wait, LAUNCHES, rounds)
    with torch.cuda.graph(graph):
        loop(100)
    return {"launch": launch, "graph": median(replays, wait, REPLAYS, rounds) / 100}


def in_triton(rounds: int) -> Figures:
    torch, triton = needs("torch"), needs("benchmarks.peers.gpu_triton")
    vector = torch.zeros(N, device="cuda")

    def loop(count: int) -> None:
        for _ in range(count):
            triton.scalar_add[(4,)](vector, N, 1.0, B=256)

    return {"launch": median(loop, torch.cuda.synchronize, LAUNCHES, rounds)}


def in_cupy(rounds: int) -> Figures:
    cupy = needs("cupy")
    kernel = cupy.RawModule(code=source()).get_function("scalar_add")
    arguments = (cupy.zeros(N, np.float32), np.int32(N), np.float32(1))

    def loop(count: int) -> None:
        for _ in range(count):
            kernel((4,), (256,), arguments)

    return {"launch": median(loop, cupy.cuda.Device().synchronize, LAUNCHES, rounds)}


def in_core(rounds: int) -> Figures:
    """cuda.core, with memory of weft's."""
    core: Any = needs("cuda.core")
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, N)
    ctx.synchronize()
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    program = core.Program(source(), "c++", core.ProgramOptions(arch=f"sm_{major}{minor}"))
    kernel = program.compile("cubin").get_kernel("scalar_add")
    config = core.LaunchConfig(grid=4, block=256)
    arguments = (int(buffer.unsafe_ptr()), np.int32(N), np.float32(1))

    def loop(count: int) -> None:
        for _ in range(count):
            core.launch(stream, config, kernel, *arguments)

    return {"launch": median(loop, stream.sync, LAUNCHES, rounds)}


def source() -> str:
    return (PEERS / "pictures.cu").read_text(encoding="utf-8")


PEERS_BY_NAME: dict[str, Callable[[int], Figures]] = {
    "weft": with_buffers,
    "weft, compile_function": compiled,
    "weft, torch tensor": with_tensors,
    "weft, CuPy array": with_cupy,
    "torch, add_": in_torch,
    "Triton": in_triton,
    "CuPy": in_cupy,
    "cuda.core": in_core,
}

if __name__ == "__main__":
    try:
        main()
    except WeftError as error:
        sys.exit(str(error).splitlines()[0])
