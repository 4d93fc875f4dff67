"""Contexts whose launches have become native, on a GPU whose driver is played here."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, cast

import pytest

from driver_played import CupyArray, Gpu, Stream, always
from weft import Comptime, Float32, Int32, Pointer, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.launch.context import AFTER
from weft.launch.native import code
from weft.launch.native.objects import supported
from weft.layout import LayoutTensor
from weft.runtime.host_event import HostEvent

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")


@kernel
def scale(x: Pointer[Float32], factor: Int32):
    x[global_idx.x] *= factor.cast(Float32)


def warmed(gpu: Gpu) -> tuple[DeviceContext, Any]:
    """A context past its first launches, and a buffer."""
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, 8)
    for _ in range(AFTER + 2):
        ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)
    assert gpu.launches[0] == ("python", (4, 1, 1), (32, 1, 1), [buffer.address, 3])
    assert gpu.launches[-1] == ("native", (4, 1, 1), (32, 1, 1), [buffer.address, 3])
    gpu.launches.clear()
    return ctx, buffer


def test_launches_become_native(gpu: Gpu) -> None:
    ctx, buffer = warmed(gpu)
    ctx.close()
    with pytest.raises(LaunchError, match="closed"):
        ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)


def test_a_parameter_with_the_name_of_an_option(gpu: Gpu) -> None:
    @kernel
    def filled(x: Pointer[Float32], grid_dim: Int32):
        x[global_idx.x] = grid_dim.cast(Float32)

    ctx, buffer = warmed(gpu)
    for grid in (4, 4, 5):
        ctx.enqueue_function(filled, buffer, 3, grid_dim=grid, block_dim=32)
    assert gpu.launches[1:] == [
        ("native", (4, 1, 1), (32, 1, 1), [buffer.address, 3]),
        ("native", (5, 1, 1), (32, 1, 1), [buffer.address, 3]),
    ]


def test_a_bound_buffer_that_is_closed(gpu: Gpu) -> None:
    ctx, buffer = warmed(gpu)
    bound = scale.bind(x=buffer)
    for _ in range(3):
        ctx.enqueue_function(bound, factor=2, grid_dim=4, block_dim=32)
    assert {values[0] for *_, values in gpu.launches} == {buffer.address}
    buffer.close()
    with pytest.raises(LaunchError, match="closed"):
        ctx.enqueue_function(bound, factor=2, grid_dim=4, block_dim=32)


def test_a_context_that_was_lost(gpu: Gpu) -> None:
    """The driver's handles are another's by then, or nobody's."""
    ctx, buffer = warmed(gpu)
    gpu.returns["cuStreamSynchronize"] = always(700)
    with pytest.raises(DeviceError, match="scale"):
        ctx.synchronize()
    with pytest.raises(DeviceError, match="was lost"):
        ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)
    assert not gpu.launches


def test_the_launch_that_would_have_made_it_native_is_captured(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, 8)

    def launch(times: int) -> None:
        for _ in range(times):
            ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)

    gpu.returns["cuGraphGetNodes"] = always(0, [], 3)
    launch(AFTER - 1)
    with ctx.capture():
        launch(3)
    launch(3)
    assert gpu.launches[-1][0] == "native"


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("shared_mem_bytes=None is not", {"over": 5, "shared_mem_bytes": None}),
        ("shared_mem_bytes=-1 is not", {"over": 5, "shared_mem_bytes": -1}),
        ("takes 1000000 bytes of shared", {"over": 5, "shared_mem_bytes": 10**6}),
        (r"over=1000.* counts past 2\*\*62 elements", {"over": 10**30}),
        ("in y; NVIDIA H200 allows 65535", {"over": (10**8, 3)}),
    ],
)
def test_what_is_wrong_with_a_range(gpu: Gpu, message: str, named: dict[str, Any]) -> None:
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, 8)
    with pytest.raises(LaunchError, match=message):
        ctx.enqueue_function(scale, buffer, 3, **named)


def test_a_container_that_changes_between_launches(gpu: Gpu) -> None:
    @kernel
    def repeated(x: Pointer[Float32], start: Int32, factors: Comptime[tuple[list[float], ...]]):
        x[global_idx.x] = start.cast(Float32)
        for factor in factors[0]:
            x[global_idx.x] *= factor

    ctx, buffer = warmed(gpu)
    factors = ([2.0],)
    gpu.calls.clear()
    for _ in range(3):
        ctx.enqueue_function(repeated, buffer, 1, factors, grid_dim=4, block_dim=32)
    assert gpu.calls.count("cuModuleLoadDataEx") == 1
    factors[0].append(3.0)
    ctx.enqueue_function(repeated, buffer, 1, factors, grid_dim=4, block_dim=32)
    assert gpu.calls.count("cuModuleLoadDataEx") == 2


@kernel
def asks_for_its_thread(x: Pointer[Float32]):
    x[0] = Float32(thread_idx.x)


def test_a_range_with_fewer_elements_a_thread_than_planned(gpu: Gpu) -> None:
    """The plan was four rows a thread, which fit; a kernel that asks for its thread gets one."""
    ctx = DeviceContext(api="cuda")
    x = ctx.enqueue_create_buffer(Float32, 4)
    with pytest.raises(LaunchError, match=r"takes 235295 blocks of .* in y; .* allows 65535 there"):
        ctx.enqueue_function(asks_for_its_thread, x, over=(20_000_000, 3))
    ctx.enqueue_function(scale, x, 3, over=(20_000_000, 3))
    assert gpu.launches[-1][1] == (1, 58824, 1)


def test_arrays_of_cupy(gpu: Gpu, cupy: type[CupyArray]) -> None:
    ctx, _ = warmed(gpu)
    one, two = cupy(4096, (8,)), cupy(8192, (2, 4))

    def launch(array: object) -> tuple[str, list[int]]:
        ctx.enqueue_function(scale, cast("Any", array), 3, grid_dim=4, block_dim=32)
        return gpu.launches[-1][0], gpu.launches[-1][3]

    assert launch(one) == ("python", [4096, 3])
    assert launch(two) == ("native", [8192, 3])
    CupyArray.stream = Stream(99)  # an order of its own
    assert launch(one) == ("python", [4096, 3])
    assert launch(two) == ("native", [8192, 3])
    CupyArray.stream = Stream(0)
    assert launch(one) == ("native", [4096, 3])
    with pytest.raises(LaunchError, match="cuda:1"):
        launch(cupy(4096, (8,), 1))
    two.strides = (32, 4)  # every second row
    two.__class__ = type("ndarray", (cupy,), {"__cuda_array_interface__": 3, "__module__": "cupy"})
    with pytest.raises(LaunchError, match="not contiguous"):
        launch(two)


def test_arrays_of_cupy_as_tensors(gpu: Gpu, cupy: type[CupyArray]) -> None:
    @kernel
    def copied(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
        out[global_idx.x, 0] = x[global_idx.x, 0]

    ctx, _ = warmed(gpu)

    def launch(x: object, out: object) -> tuple[str, list[int]]:
        ctx.enqueue_function(copied, cast("Any", x), cast("Any", out), grid_dim=1, block_dim=2)
        return gpu.launches[-1][0], gpu.launches[-1][3]

    one, two, wide = cupy(4096, (2, 4)), cupy(8192, (2, 4)), cupy(12288, (2, 5))
    assert launch(one, two) == ("python", [4096, 8192])
    assert launch(two, one) == ("native", [8192, 4096])
    assert launch(one, wide) == ("python", [4096, 12288])  # another kernel
    assert launch(one, one) == ("python", [4096, 4096])  # which must not be the one for distinct arrays
    assert launch(two, one) == ("native", [8192, 4096])


def test_a_wait_for_the_host_where_the_gpu_cannot(gpu: Gpu) -> None:
    ctx = DeviceContext(api="cuda")
    host, reached = HostEvent(), threading.Event()
    page = ctypes.create_string_buffer(4096)
    gpu.returns["cuMemHostAlloc"] = always(0, ctypes.addressof(page))
    gpu.returns["cuStreamWaitValue32"] = always(801)
    threading.Timer(0.05, lambda: (reached.set(), host.reach())).start()
    ctx.native.wait(host)
    assert reached.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_launch_after_a_fork(gpu: Gpu) -> None:
    ctx, buffer = warmed(gpu)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)
        except DeviceError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert "before this process forked" in os.read(read, 1000).decode()
    ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)
    assert gpu.launches[-1][0] == "native"


def test_forgotten_sites_stay_while_calls_are_under_way(gpu: Gpu) -> None:
    ctx, buffer = warmed(gpu)
    streams = [ctx.create_stream() for _ in range(3)]
    for stream in streams * 2:
        ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32, stream=stream)
    native = ctx._native  # pyright: ignore[reportPrivateUsage]
    assert native is not None
    gone = native._gone  # pyright: ignore[reportPrivateUsage]
    seen: list[int] = []

    @kernel
    def another(x: Pointer[Float32], n: Int32):
        x[n] = 1.0

    def close(*_: Any) -> tuple[int, int]:  # which the launch of another kernel calls
        for stream in streams:
            stream.close()
        ctx.synchronize()
        seen.append(len(gone))
        return 0, 0

    gpu.returns["cuModuleLoadDataEx"] = close
    ctx.enqueue_function(another, buffer, 3, grid_dim=4, block_dim=32)
    assert seen == [4]  # all, since the played driver's streams have one handle
    ctx.synchronize()
    assert not gone


def test_closing_while_other_threads_launch(gpu: Gpu) -> None:
    """Each launch is made or refused, natively or by Python, and what it uses outlives it."""
    codes: set[str] = set()

    def use(ctx: DeviceContext, buffer: Any, started: threading.Event) -> None:
        for n in range(100_000):
            own = ctx.enqueue_create_buffer(Float32, 8) if n % 3 == 0 and not ctx.closed else buffer
            try:
                ctx.enqueue_function(scale, own, 3, grid_dim=4, block_dim=32)
            except LaunchError as error:
                codes.add(error.diagnostics[0].code)
                return
            started.set()

    def use_safely(*args: Any) -> None:
        try:
            use(*args)
        except LaunchError as error:  # of the allocation
            codes.add(error.diagnostics[0].code)

    for _ in range(5):
        gpu.launches.clear()
        ctx, buffer = warmed(gpu)
        begun = [threading.Event() for _ in range(3)]
        threads = [threading.Thread(target=use_safely, args=(ctx, buffer, one)) for one in begun]
        for thread in threads:
            thread.start()
        for one in begun:
            one.wait(10)
        ctx.close()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
    assert codes
    assert codes <= {"context-closed", "stream-closed"}


def test_launches_go_on_while_the_code_is_compiled(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, [made] = threading.Event(), list(code._made)  # pyright: ignore[reportPrivateUsage]
    under_way: list[threading.Thread] = []
    monkeypatch.setattr(code, "_made", [])
    monkeypatch.setattr(code, "_under_way", under_way)
    asked: list[bool] = []

    def native_code() -> None:
        asked.append(compiled.wait(60))
        code._made.append(made)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(code, "native_code", native_code)
    ctx = DeviceContext(api="cuda")
    buffer = ctx.enqueue_create_buffer(Float32, 8)

    def who(times: int) -> set[str]:
        gpu.launches.clear()
        for _ in range(times):
            ctx.enqueue_function(scale, buffer, 3, grid_dim=4, block_dim=32)
        return {launch[0] for launch in gpu.launches}

    assert who(5 * AFTER) == {"python"}
    compiled.set()
    under_way[0].join()
    assert asked == [True]
    who(AFTER + 1)
    assert who(10) == {"native"}
