"""Arrays of other libraries as arguments: NumPy, and objects that implement the protocols."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, LaunchError, PerformanceWarning, Pointer, Tensor, kernel, struct
from weft.foreign import dlpack
from weft.foreign.arrays import HostArray
from weft.foreign.exchange import has_interface
from weft.foreign.read import reader_of
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.interop import as_buffer, as_tensor, torch_op
from weft.layout import Layout, LayoutTensor

pytestmark = pytest.mark.filterwarnings("ignore:this launch copies")


@kernel
def add_one(x: Pointer[Float32], size: Int):
    if global_idx.x < size:
        x[global_idx.x] += 1.0


@kernel
def double(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    out[i, j] = x[i, j] * 2.0


class Shared:
    """Memory offered by DLPack alone."""

    def __init__(self, array: np.ndarray[Any, Any], device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        from weft.dtype import as_dtype

        a = self.array
        return dlpack.make_capsule(self, a.ctypes.data, as_dtype(a.dtype.name), a.shape, self.device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class OnGpu:
    """What says that it lies on a GPU."""

    dtype = "float32"

    def __init__(self, **more: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "strides": None,
            "version": 3,
            **more,
        }


@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cpu") as context:
        yield context


def refusal(ctx: DeviceContext, *args: object) -> str:
    with pytest.raises(LaunchError) as caught:
        ctx.enqueue_function(add_one, *args, grid_dim=1, block_dim=32)  # pyright: ignore[reportArgumentType]
    return str(caught.value)


def test_numpy_as_pointer_and_tensor(any_context: DeviceContext) -> None:
    ctx = any_context
    x = np.arange(12, dtype=np.float32)
    ctx.enqueue_function(add_one, x, 12, grid_dim=1, block_dim=32)
    ctx.synchronize()
    assert np.array_equal(x, np.arange(12) + 1)
    grid = x.reshape(3, 4)
    out = np.zeros((4, 3), np.float32)
    ctx.enqueue_function(double, grid.T, out, over=(4, 3))
    ctx.synchronize()
    assert np.array_equal(out, 2 * grid.T)


def test_parts_and_broadcasts(any_context: DeviceContext) -> None:
    ctx = any_context
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    part = base[1::2, 2:8:3]
    row = np.broadcast_to(base[0, :2], (3, 2))
    out = np.zeros((3, 2), np.float32)
    for source in (part, row):
        ctx.enqueue_function(double, source, out, over=(3, 2))
        ctx.synchronize()
        assert np.array_equal(out, 2 * source)
    ctx.enqueue_function(double, part, part, over=(3, 2))  # shares memory, so nothing is promised distinct
    before = part.copy()
    ctx.synchronize()
    assert np.array_equal(part, 2 * before) or np.array_equal(part, before)


def test_dlpack_alone(any_context: DeviceContext) -> None:
    ctx = any_context
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    shared = Shared(x)
    assert "Float32" in repr(as_tensor(shared)) or as_tensor(shared).dtype.name == "float32"
    ctx.enqueue_function(add_one, shared, 6, grid_dim=1, block_dim=32)
    ctx.synchronize()
    assert x[1, 2] == 6.0


def test_copies(ctx: DeviceContext) -> None:
    values = np.arange(12, dtype=np.float32)
    buffer = ctx.enqueue_create_buffer(Float32, 12)
    ctx.enqueue_copy(dst=buffer, src=Shared(values.reshape(3, 4)))
    out = np.zeros((4, 3), np.float32)
    ctx.enqueue_copy(dst_buf=Shared(out), src_buf=buffer)
    ctx.synchronize()
    assert out.ravel().tolist() == list(range(12))
    with pytest.raises(LaunchError, match="of one length"):
        ctx.enqueue_copy(dst=buffer, src=Shared(values[:5]))
    with pytest.raises(LaunchError, match="is on cuda:0"):
        ctx.enqueue_copy(dst=buffer[:6], src=OnGpu())
    with pytest.raises(LaunchError, match="Closed that does not share its memory"):
        ctx.enqueue_copy(dst=buffer, src=Closed(values))


class Closed(Shared):
    def __dlpack__(self, *, stream: int | None = None) -> Any:
        raise BufferError("not today")


def test_memory_lives_until_the_work_has_run(ctx: DeviceContext) -> None:
    shared = Shared(np.zeros(1 << 16, np.float32))
    alive = weakref.ref(shared)
    ctx.enqueue_host_call(lambda: __import__("time").sleep(0.05))
    ctx.enqueue_function(add_one, shared, 1 << 16, grid_dim=256, block_dim=256)
    del shared
    gc.collect()
    assert alive() is not None
    ctx.synchronize()
    gc.collect()
    dlpack.sweep()
    assert alive() is None


def test_refusals_name_the_fix(ctx: DeviceContext) -> None:
    x = np.zeros((4, 8), np.float32)
    assert "pass `changed = np.ascontiguousarray(x)`, and after synchronize() write" in refusal(
        ctx, x[:, ::2], 16
    )
    text = refusal(ctx, np.zeros(4), 4)
    assert "takes a buffer or array of Float32, not a NumPy array of Float64" in text
    lost = (
        'pass `changed = x.astype("float32")`, and after synchronize() write `x[...] = changed`, or annotate'
    )
    assert lost in text
    assert "NumPy array of complex64" in refusal(ctx, np.zeros(4, np.complex64), 4)
    assert "foreign byte order" in refusal(ctx, np.zeros(4, ">f4"), 4)
    assert "multiple of 4 bytes" in refusal(ctx, np.frombuffer(bytes(17), np.float32, 4, 1), 4)
    assert "no multiples of its 4-byte" in refusal(ctx, np.zeros(4, "f4,i1")["f0"], 4)
    assert "DLPack's kind 8" in refusal(ctx, Shared(x, (8, 0)), 4)
    with pytest.raises(LaunchError, match="one is below 0"):
        ctx.enqueue_function(double, x[::-1], x, over=(4, 8))


def test_a_gpu_array_on_the_cpu_is_refused(ctx: DeviceContext) -> None:
    text = refusal(ctx, Shared(np.zeros(4, np.float32), (2, 1)), 4)
    assert "not a Shared of Float32 on cuda:1" in text
    assert "on the host" in text
    assert "use a DeviceContext of the GPU" in text
    assert "not an OnGpu of Float32 on cuda" in refusal(ctx, OnGpu(), 4)
    assert "OnGpu of complex64" in refusal(ctx, OnGpu(typestr="<c8"), 4)
    assert "byte order" in refusal(ctx, OnGpu(typestr=">f4"), 4)
    with pytest.raises(LaunchError, match="this context uses memory of cpu:0"):
        as_buffer(OnGpu()).lend(ctx)


def test_what_is_no_array() -> None:
    assert reader_of([1.0]) is None
    assert reader_of(np.float32(1.0)) is None
    assert reader_of(Tensor(Float32, 3)) is None
    with pytest.raises(LaunchError, match="a list is no array of another library"):
        as_tensor([1.0])
    with pytest.raises(LaunchError, match="datetime64"):
        as_buffer(np.zeros(4, "M8[s]"))


def test_as_tensor_and_as_buffer() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = as_tensor(x.T)
    assert tensor.shape == (3, 2)
    assert tensor[2, 1] == 5.0
    tensor[2, 1] = 9.0
    assert x[1, 2] == 9.0
    assert np.array_equal(tensor.numpy(), x.T)
    assert tensor[1:, 0][0] == 1.0
    view: LayoutTensor[Any] = LayoutTensor(as_buffer(x), Layout.row_major(3, 2))
    assert view[2, 1] == 9.0
    with pytest.raises(LaunchError, match="not contiguous"):
        as_buffer(x.T)
    with pytest.raises(LaunchError, match="below 0"):
        as_tensor(x[::-1])
    with pytest.raises(Exception, match="spans 8 elements"):
        LayoutTensor(as_buffer(x), Layout.row_major(2, 4))
    assert isinstance(as_buffer(x), HostArray)
    assert as_buffer(np.zeros((0, 3))).size == 0
    assert as_tensor(np.ones((1, 2))[:, :0]).shape == (1, 0)


def test_what_is_read_only_stays_as_it_is() -> None:
    array = np.arange(4.0)
    array.flags.writeable = False
    tensor = as_tensor(array)
    assert tensor[1] == 1.0
    with pytest.raises(LaunchError, match="read-only"):
        tensor[1] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        tensor.fill(9.0)
    assert list(array) == [0.0, 1.0, 2.0, 3.0]


def test_dynamic_tensors_share_one_kernel(any_context: DeviceContext) -> None:
    ctx = any_context
    for rows in (2, 5):
        x = np.ones((rows, 3), np.float32)
        out = np.zeros((rows, 3), np.float32)
        ctx.enqueue_function(double, as_tensor(x, dynamic=True), as_tensor(out, dynamic=True), over=(rows, 3))
        ctx.synchronize()
        assert np.all(out == 2.0)


def test_a_kernel_compiled_for_ever_new_shapes_is_pointed_out(ctx: DeviceContext) -> None:
    def run(rows: int) -> None:
        x = np.ones((rows, 3), np.float32)
        ctx.enqueue_function(double, x, x, over=(rows, 3))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for rows in range(1, 40):
            run(rows)
            run(rows)
    ctx.synchronize()
    [warning] = found
    assert issubclass(warning.category, PerformanceWarning)
    assert "double has been compiled 32 times" in str(warning.message)
    assert "layout.dynamic(), or weft.interop.as_tensor(x, dynamic=True)" in str(warning.message)
    assert warning.filename == __file__


@struct
class Image:
    pixels: LayoutTensor[Float32]
    gain: Float32


@kernel
def amplify(image: Image):
    image.pixels[global_idx.y, global_idx.x] *= image.gain


def test_in_a_struct(any_context: DeviceContext) -> None:
    ctx = any_context
    x = np.ones((2, 3), np.float32)
    ctx.enqueue_function(amplify, Image(as_tensor(x), 3.0), over=(2, 3))
    ctx.synchronize()
    assert np.all(x == 3.0)


def test_capsules_are_freed() -> None:
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    x = np.arange(6, dtype=np.float32)
    from weft.dtype import DType

    capsule = dlpack.make_capsule(owner, x.ctypes.data, DType.float32, (2, 3), (1, 0))
    del owner
    found = dlpack.read_capsule(capsule)
    assert (found.address, found.element) == (x.ctypes.data, DType.float32)
    assert (found.shape, found.strides, found.device) == ((2, 3), (3, 1), (1, 0))
    assert alive() is not None
    dlpack.sweep()
    assert alive() is not None
    del capsule
    dlpack.sweep()
    assert alive() is None
    again = np.from_dlpack(Shared(x))
    assert np.shares_memory(again, x)


def test_torch_op_needs_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LaunchError, match="needs PyTorch"):
        torch_op("weft::add_one", add_one, mutates=["x"])


def test_weft_torch_needs_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    import weft.torch
    from weft.torch.calls import loaded

    monkeypatch.setattr(loaded, "torch", None)
    with pytest.raises(LaunchError, match="needs PyTorch, which is not installed"):
        weft.torch.softmax(None)


def test_arrays_whose_data_is_no_buffer_are_launched_natively_no_further() -> None:
    class Shorts(np.ndarray[Any, Any]):
        @property
        def data(self) -> Any:  # so do arrays of ml_dtypes.bfloat16
            raise ValueError("cannot include dtype 'E' in a buffer")

    memory: Any = np.zeros(3, np.float32)
    read: Any = reader_of(memory)
    assert not has_interface(memory.view(Shorts), read(memory))
