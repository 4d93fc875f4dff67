"""Arrays of the host in launches on a device with memory of its own, which the driver played here has."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from device_played import PlayedDevice, PlayedDriver
from driver_played import Gpu
from weft import (
    BFloat16,
    DeviceError,
    Float32,
    Int,
    Int32,
    LaunchError,
    PerformanceWarning,
    Pointer,
    Tensor,
    config,
    kernel,
    struct,
)
from weft.dtype import DType
from weft.foreign import dlpack
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.interop import as_tensor
from weft.launch.native.code import native_code
from weft.layout import LayoutTensor
from weft.runtime import drivers
from weft.runtime.cuda.context import Primary
from weft.runtime.cuda.driver import CudaDriver


@kernel
def add(x: Pointer[Float32], y: Pointer[Float32], out: Pointer[Float32], n: Int):
    if global_idx.x < n:
        out[global_idx.x] = x[global_idx.x] + y[global_idx.x]


@kernel
def scale(x: LayoutTensor[Float32], by: Float32, out: LayoutTensor[Float32]):
    out[global_idx.y, global_idx.x] = x[global_idx.y, global_idx.x] * by


@kernel
def shift(x: Pointer[Float32], out: Pointer[Float32]):
    """One thread: what ``out`` gets is seen through ``x`` where they share memory."""
    for i in range(4):
        out[i] = x[i] + 1.0


@kernel
def checked(x: Pointer[Float32], n: Int):
    x[global_idx.x] = -1.0
    assert global_idx.x < n, "too far"


@struct
class Pair:
    x: Pointer[Float32]
    image: LayoutTensor[Float32]
    by: Float32


@kernel
def of_pair(pair: Pair):
    pair.image[global_idx.y, global_idx.x] += pair.by * pair.x[global_idx.y]


@kernel
def count(x: Pointer[Int32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] += 1


@pytest.fixture
def ctx(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeviceContext]:
    monkeypatch.setitem(drivers.DRIVERS, "toy", partial(PlayedDriver, "toy"))
    with warnings.catch_warnings(), DeviceContext(api="toy") as context:
        warnings.simplefilter("ignore", PerformanceWarning)
        yield context
    drivers._made.cache_clear()  # pyright: ignore[reportPrivateUsage]


def copies(ctx: DeviceContext) -> list[str]:
    assert isinstance(ctx.device, PlayedDevice)
    return ctx.device.copies


def left(ctx: DeviceContext) -> int:
    assert isinstance(ctx.device, PlayedDevice)
    return len(ctx.device.own)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_what_is_read_goes_there_and_what_is_written_comes_back(ctx: DeviceContext) -> None:
    x, y, out = floats(5), floats(5) * 10, np.full(7, 9.0, np.float32)
    before = left(ctx)
    ctx.enqueue_function(add, x, y, out, 5, over=5)
    assert out.tolist() == [0.0, 11.0, 22.0, 33.0, 44.0, 9.0, 9.0]
    assert copies(ctx) == ["h2d", "h2d", "h2d", "d2h"]
    assert left(ctx) == before  # all that was for the launch is free


def test_beside_a_buffer_nothing_comes_back(ctx: DeviceContext) -> None:
    x, out = floats(5), ctx.enqueue_create_buffer(Float32, 5)
    ctx.enqueue_function(add, x, x, out, 5, grid_dim=1, block_dim=5)
    assert copies(ctx) == ["h2d"]
    with out.map_to_host() as host:
        assert list(host) == list(2 * x)


def test_nothing_is_copied_for_a_range_without_elements(ctx: DeviceContext) -> None:
    x = floats(4)
    ctx.enqueue_function(add, x, x, x, 4, over=0)
    assert copies(ctx) == []


@pytest.mark.parametrize("api", ["cpu", "toy"])
def test_arrays_that_overlap_share_memory(ctx: DeviceContext, api: str) -> None:
    context = DeviceContext(api=api)
    base = floats(8)
    context.enqueue_function(shift, base[1:5], base[2:6], grid_dim=1, block_dim=1)
    context.synchronize()
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    context.enqueue_function(shift, base[3:7], base[1:5], grid_dim=1, block_dim=1)
    context.enqueue_function(shift, base[0:4], base[0:4], grid_dim=1, block_dim=1)
    context.synchronize()
    assert base.tolist() == [1.0, 5.0, 6.0, 7.0, 7.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("api", ["cpu", "toy"])
def test_strides(ctx: DeviceContext, api: str) -> None:
    context = DeviceContext(api=api)
    x, out = floats(6, 8), np.full((4, 9), -1.0, np.float32)
    expected = out.copy()
    expected[1:3, ::3] = 2.0 * x[1::3, 2:5]
    context.enqueue_function(scale, x[1::3, 2:5], 2.0, out[1:3, ::3], over=(2, 3))
    context.enqueue_function(scale, x.T, 0.5, x.T, over=(8, 6))
    context.synchronize()
    assert np.array_equal(out, expected)
    assert np.array_equal(x, floats(6, 8) / 2)


def test_the_gaps_of_an_array_are_not_written_back(ctx: DeviceContext) -> None:
    """What lies between the elements may change meanwhile."""
    grid = np.zeros((3, 4), np.float32)

    device = ctx.device
    assert isinstance(device, PlayedDevice)
    device.late = True
    bring = device.copies.append

    class Noted(list[str]):
        def append(self, kind: str) -> None:
            bring(kind)
            if kind == "d2h":
                grid[:, 1] = 7.0

    device.copies = Noted()
    ctx.enqueue_function(scale, np.ones((3, 1), np.float32), 5.0, grid[:, ::2], over=(3, 1))
    assert grid.tolist() == [[5.0, 7.0, 0.0, 0.0]] * 3


def test_a_row_given_to_all_rows(ctx: DeviceContext) -> None:
    out = np.zeros((3, 4), np.float32)
    ctx.enqueue_function(scale, np.broadcast_to(floats(4), (3, 4)), 2.0, out, over=(3, 4))
    assert np.array_equal(out, np.tile(2 * floats(4), (3, 1)))


def test_fields_of_structs(ctx: DeviceContext) -> None:
    x, image = floats(2), floats(2, 3)
    ctx.enqueue_function(of_pair, Pair(x, as_tensor(image), 10.0), over=(2, 3))
    assert np.array_equal(image, floats(2, 3) + 10 * floats(2)[:, None])


def test_parts_of_host_buffers_stay_where_they_are(ctx: DeviceContext) -> None:
    host = ctx.enqueue_create_host_buffer(Float32, 8)
    host[:] = range(8)
    ctx.enqueue_function(shift, host, np.asarray(host)[4:], grid_dim=1, block_dim=1)
    assert list(host) == [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0]
    assert copies(ctx) == []


def test_what_a_failing_kernel_wrote_comes_back(ctx: DeviceContext) -> None:
    x = floats(4)
    with pytest.raises(DeviceError, match="too far"):
        ctx.enqueue_function(checked, x, 2, grid_dim=1, block_dim=4)
    assert x.tolist() == [-1.0] * 4


def test_earlier_work_comes_first(ctx: DeviceContext) -> None:
    """A copy into an array that is queued is done before the array is read."""
    buffer, x, out = ctx.enqueue_create_buffer(Float32, 4), np.zeros(4, np.float32), np.zeros(4, np.float32)
    ctx.enqueue_fill(buffer, 3.0)
    device = ctx.device
    assert isinstance(device, PlayedDevice)
    device.late = True
    ctx.enqueue_copy(dst=x, src=buffer)
    assert x[0] == 0.0
    ctx.enqueue_function(add, x, x, out, 4, over=4)
    assert out.tolist() == [6.0] * 4


def test_read_only_arrays(ctx: DeviceContext) -> None:
    x = floats(4)
    x.flags.writeable = False
    ctx.enqueue_function(add, x, x, ctx.enqueue_create_buffer(Float32, 4), 4, over=4)
    with pytest.raises(LaunchError, match="add writes to `out`, but the NumPy array is read-only"):
        ctx.enqueue_function(add, x, x, x, 4, over=4)


def test_graphs_refuse(ctx: DeviceContext) -> None:
    x = floats(4)
    with pytest.raises(LaunchError, match="a graph copies no arrays: before the capture, keep it on the"):
        with ctx.capture():
            ctx.enqueue_function(add, x, x, x, 4, over=4)


def test_mappings_of_files(ctx: DeviceContext, tmp_path: Path) -> None:
    file = tmp_path / "values"
    floats(4).tofile(file)
    one, two = (np.memmap(file, np.float32, "r+") for _ in range(2))
    with pytest.raises(LaunchError, match="several mappings of files"):
        ctx.enqueue_function(shift, one, two, grid_dim=1, block_dim=1)
    ctx.enqueue_function(shift, np.array(one), two, grid_dim=1, block_dim=1)
    assert one.tolist() == [1.0, 2.0, 3.0, 4.0]
    (10 * floats(4)).tofile(tmp_path / "others")
    other = np.memmap(tmp_path / "others", np.float32, "r")
    ctx.enqueue_function(shift, other[:4], one, grid_dim=1, block_dim=1)  # of two files
    assert two.tolist() == [1.0, 11.0, 21.0, 31.0]


def test_one_warning_for_a_place(ctx: DeviceContext) -> None:
    x, out = floats(4), floats(4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            ctx.enqueue_function(add, x, x, out, 4, over=4)
    [warning] = found
    assert warning.category is PerformanceWarning
    assert warning.filename == __file__
    assert str(warning.message) == (
        "this launch copies `x`, a NumPy array of Float32, and `y`, a NumPy array of Float32, and `out`, "
        "a NumPy array of Float32, from the host to toy:0 and `out` back, and waits for that. Where speed "
        "matters, keep it on the device: `buffer = ctx.enqueue_create_buffer(Float32, 4)` and "
        "`ctx.enqueue_copy(dst=buffer, src=x)`, or `Tensor.from_numpy(x, ctx)`"
    )


def test_a_warning_that_is_an_error_stops_the_launch(ctx: DeviceContext) -> None:
    x = floats(4)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PerformanceWarning):
                ctx.enqueue_function(add, x, x, x, 4, over=4)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert copies(ctx) == []


def test_the_setting_that_refuses(ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    x = floats(4)
    with config.scope(host_arrays="refuse"), pytest.raises(LaunchError) as caught:
        ctx.enqueue_function(add, x, x, x, 4, over=4)
    text = str(caught.value)
    assert "takes a buffer or array of Float32 on toy:0, not a NumPy array of Float32 on the host" in text
    assert "`buffer = ctx.enqueue_create_buffer(Float32, 4)`" in text
    monkeypatch.setenv("WEFT_HOST_ARRAYS", "refuse")
    with pytest.raises(LaunchError, match="on the host"):
        ctx.enqueue_function(add, x, x, x, 4, over=4)
    ctx.enqueue_function(add, *[Tensor.from_numpy(x, ctx)] * 3, 4, over=4)  # pyright: ignore[reportCallIssue]
    assert DeviceContext(api="cpu").enqueue_function(add, x, x, x, 4, over=4) is None


def test_arrays_of_any_size_and_alignment(ctx: DeviceContext) -> None:
    base = np.zeros(3072, np.int32)
    expected = base.copy()
    for start in (0, 1, 3, 70):
        ctx.enqueue_function(count, base[start : start + 3000], 3000, over=3000)
        expected[start : start + 3000] += 1
    assert np.array_equal(base, expected)


@struct
class Particle:
    x: Float32
    n: Int32


@kernel
def age(particles: LayoutTensor[Particle]):
    p = particles[global_idx.x]
    particles[global_idx.x] = Particle(p.x + 0.5, p.n + 1)


@pytest.mark.parametrize("api", ["cpu", "toy"])
def test_arrays_of_structs(ctx: DeviceContext, api: str) -> None:
    context = DeviceContext(api=api)
    records = np.zeros(6, [("x", np.float32), ("n", np.int32)])
    records["n"] = range(6)
    context.enqueue_function(age, records[::2], over=3)
    context.enqueue_function(count, records.view(np.int32)[1:2], 1, over=1)
    context.synchronize()
    assert records["n"].tolist() == [2, 1, 3, 3, 5, 5]
    assert records["x"].tolist() == [0.5, 0.0, 0.5, 0.0, 0.5, 0.0]


@kernel
def halve(x: Pointer[BFloat16]):
    x[global_idx.x] = x[global_idx.x] * 0.5


def test_memory_without_a_type_of_numpys(ctx: DeviceContext) -> None:
    shared = Shared(np.array([0x4000, 0x4080], np.uint16))  # 2 and 4 as bfloat16
    ctx.enqueue_function(halve, shared, over=2)
    assert [hex(bits) for bits in shared.array] == ["0x3f80", "0x4000"]


class Shared:
    """Offers an array's memory by DLPack, as bfloat16."""

    def __init__(self, array: npt.NDArray[np.uint16]) -> None:
        self.array = array

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return dlpack.make_capsule(self, self.array.ctypes.data, DType.bfloat16, self.array.shape, (1, 0))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class RealMemory(Gpu):
    """Notes copies in the order in which they are queued; what is pinned is memory."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[object, ...]] = []
        self.blocks: list[Any] = []

    def on_MemHostAlloc(self, nbytes: int, flags: object) -> tuple[int, int]:
        self.blocks.append(ctypes.create_string_buffer(nbytes))
        return 0, ctypes.addressof(self.blocks[-1])

    def on_MemcpyHtoDAsync(self, dst: int, src: int, nbytes: int, stream: object) -> tuple[int]:
        self.done.append(("to", dst, ctypes.string_at(src, nbytes)))
        return (0,)

    def on_MemcpyDtoHAsync(self, dst: int, src: int, nbytes: int, stream: object) -> tuple[int]:
        self.done.append(("from", src, dst, nbytes))
        return (0,)

    def on_MemFreeAsync(self, address: int, stream: object) -> tuple[int]:
        self.done.append(("free", address))
        return (0,)

    def note(self, who: str, *args: Any) -> int:
        self.done.append((who,))
        return super().note(who, *args)


@pytest.mark.filterwarnings("ignore:this launch copies")
def test_on_the_cuda_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies come before and behind the launch; memory of the pool goes back after both."""
    native_code()  # which contexts do not wait for
    gpu = RealMemory()
    address = ctypes.cast(gpu.native, ctypes.c_void_p).value or 0
    monkeypatch.setattr(Primary, "launch_addresses", lambda _: (address, 0))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setitem(drivers.DRIVERS, "cuda", lambda _: CudaDriver(gpu))
    drivers._made.cache_clear()  # pyright: ignore[reportPrivateUsage]
    ctx = DeviceContext(api="cuda")
    x = np.arange(4, dtype=np.int32)
    for _ in range(12):  # native code does not take such launches over
        gpu.done.clear()
        ctx.enqueue_function(count, x, 4, grid_dim=1, block_dim=4)
        [to, launched, back] = [each for each in gpu.done if each[0] != "free"]
        assert to[::2] == ("to", x.tobytes())
        assert launched == ("python",)
        assert back == ("from", to[1], x.ctypes.data, 16)
        assert gpu.launches[-1][3][0] == to[1]
        block = ("free", cast("int", to[1]) - x.ctypes.data % 256)
        assert block not in gpu.done
        ctx.synchronize()
        assert block in gpu.done
    out, y = ctx.enqueue_create_buffer(Float32, 4), floats(4)
    gpu.calls.clear()
    ctx.enqueue_function(add, y, y, out, 4, grid_dim=1, block_dim=4)
    launched_at = gpu.calls.index("cuLaunchKernel")
    assert "cuStreamSynchronize" in gpu.calls[:launched_at]
    assert "cuStreamSynchronize" not in gpu.calls[launched_at:]  # it is only read, so nobody waits
    drivers._made.cache_clear()  # pyright: ignore[reportPrivateUsage]
