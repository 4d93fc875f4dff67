"""Contexts whose launches have become native, on a GPU whose driver is played here."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from driver_played import Binding, always
from weft import Comptime, Float32, Int32, Pointer, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.runtime import drivers
from weft.runtime.cuda import CudaDriver
from weft.runtime.cuda_context import Primary
from weft.runtime.native_launch import supported
from weft.stubs import AFTER

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


class Gpu(Binding):
    """A driver that notes launches: who asked for it, grid, block and two arguments' slots."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]] = []
        self.memory = 0
        self.native = _LAUNCH(lambda *args: self.note("native", *args))

    def on_MemAllocFromPoolAsync(self, nbytes: int, pool: Any, stream: Any) -> tuple[int, int]:
        self.memory += 1
        return 0, self.memory << 20

    def on_LaunchKernel(self, *args: Any) -> tuple[int]:
        return (self.note("python", *args),)

    def note(self, who: str, *args: Any) -> int:
        slots = (ctypes.c_void_p * 2).from_address(args[9])
        values = [ctypes.c_uint64.from_address(slot or 0).value for slot in slots]
        self.launches.append((who, args[1:4], args[4:7], values))
        return 0


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    address = ctypes.cast(made.native, ctypes.c_void_p).value or 0
    driver = CudaDriver(made)
    monkeypatch.setattr(drivers, "find_driver", lambda *_: driver)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(Primary, "launch_addresses", lambda _: (address, 0))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return made


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
        (r"has an extent of 1000.*below 2\*\*63", {"over": 10**30}),
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
    with pytest.raises(LaunchError, match=r"is 235295 in y; .* allows 65535 there"):
        ctx.enqueue_function(asks_for_its_thread, x, over=(20_000_000, 3))
    ctx.enqueue_function(scale, x, 3, over=(20_000_000, 3))
    assert gpu.launches[-1][1] == (1, 58824, 1)
