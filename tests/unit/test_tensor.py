"""Tensors: elements, devices, NumPy and DLPack, and their life as arguments of kernels."""

from __future__ import annotations

import dataclasses
import gc
import operator
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import BFloat16, DType, Float32, Int32, LaunchError, Tensor, accelerator, cpu, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.runtime.cpu.device import CpuDevice, CpuDriver
from weft.runtime.drivers import DRIVERS
from weft.tensor import Device


@kernel
def double(t: LayoutTensor[Float32]):
    t[global_idx.y, global_idx.x] *= 2.0


@pytest.fixture
def ramp() -> Tensor[Any]:
    return Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), cpu())


def test_shape_type_and_place() -> None:
    tensor = Tensor(Float32, (4, 5, 3))
    assert (tensor.shape, tensor.rank, tensor.size, len(tensor)) == ((4, 5, 3), 3, 60, 4)
    assert tensor.dtype is DType.float32
    assert tensor.device == cpu()
    assert str(tensor.layout) == "((4, 5, 3):(15, 3, 1))"
    assert repr(tensor) == f"<Tensor of Float32 (4, 5, 3) on {cpu().name}>"
    assert Tensor("int32", 7).shape == (7,)
    assert Tensor(DType.int32, ()).size == 1
    assert Tensor(Float32, (0, 3)).numpy().shape == (0, 3)


def test_elements(ramp: Tensor[Any]) -> None:
    assert ramp[1, 2] == 5.0
    ramp[1, 2] = 7
    assert ramp[1, 2].dtype == np.float32
    assert ramp[1].tolist() == [3.0, 4.0, 7.0]
    ramp[:, 0] = 9.0
    assert np.asarray(ramp).tolist() == [[9.0, 1.0, 2.0], [9.0, 4.0, 7.0]]
    assert ramp.to_layout_tensor()[1, 2] == 7.0
    with pytest.raises(IndexError):
        ramp[2, 0]


def test_numpy_shares_memory(ramp: Tensor[Any]) -> None:
    ramp.numpy()[0, 0] = 8.0
    assert ramp[0, 0] == 8.0
    assert np.asarray(ramp, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="only by copying"):
        np.asarray(ramp, np.float64, copy=False)
    view = ramp.numpy()
    del ramp
    gc.collect()
    assert view[1, 2] == 5.0


def test_from_numpy_copies() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    tensor = Tensor.from_numpy(array)
    array[0, 0] = 99
    assert tensor[0, 0] == 0
    assert Tensor.from_numpy(array.T[::2]).numpy().tolist() == array.T[::2].tolist()
    assert Tensor.from_numpy(array.astype(">i4")).numpy().tolist() == array.tolist()
    assert Tensor.from_numpy(np.float32(3)).shape == ()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64"])
def test_dlpack_both_ways(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = Tensor.from_dlpack(array)
    assert tensor.dtype.name == dtype
    tensor[1, 1] = 1
    assert array[1, 1] == 1
    back: Any = np.from_dlpack(tensor)
    assert np.shares_memory(back, array)
    assert tensor.__dlpack_device__() == (1, 0)


def test_dlpack_keeps_memory_while_work_is_queued() -> None:
    array = np.full((64, 64), 3.0, np.float32)
    context = DeviceContext(api="cpu")
    tensor = Tensor.from_dlpack(array)
    alive = weakref.ref(tensor.storage)
    begin = threading.Event()
    context.enqueue_host_call(begin.wait)
    context.enqueue_function(double, tensor, over=(64, 64))
    del tensor
    gc.collect()
    assert alive() is not None
    begin.set()
    context.synchronize()
    gc.collect()
    assert alive() is None
    assert (array == 6.0).all()


def test_copies_between_contexts_and_memory_of_other_libraries() -> None:
    array = np.zeros(4, np.float32)
    tensor, other = Tensor.from_dlpack(array), DeviceContext(api="cpu")
    buffer = other.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(3.0)
    tensor.device.context.enqueue_copy(dst=tensor.storage, src=buffer)
    tensor.device.context.synchronize()
    assert list(array) == [3.0] * 4


def test_dlpack_errors() -> None:
    with pytest.raises(LaunchError, match="does not offer its memory"):
        Tensor.from_dlpack([1.0])
    with pytest.raises(LaunchError, match="not contiguous"):
        Tensor.from_dlpack(np.zeros((4, 4), np.float32)[:, ::2])
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        Tensor.from_dlpack(frozen)
    with pytest.raises(LaunchError, match="bfloat16"):
        np.from_dlpack(Tensor("bfloat16", 3))


def test_devices() -> None:
    assert accelerator() == accelerator()
    assert cpu().api == "cpu"
    assert cpu().id == 0
    assert {cpu(): 1}[cpu()] == 1
    assert cpu() != "cpu"
    assert repr(cpu()) == f"<Device cpu:0, {cpu().name}>"


def test_moving(ramp: Tensor[Any]) -> None:
    assert ramp.to(cpu()) is ramp
    assert ramp.move_to(cpu()) is ramp
    moved = ramp.move_to(accelerator())
    assert moved.device == accelerator()
    assert moved.to(cpu()).numpy().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_contexts_are_places_too(ramp: Tensor[Any]) -> None:
    context = DeviceContext(api="cpu")
    assert ramp.to(context) is ramp
    own = Tensor(Float32, (2, 2), context)
    own.fill(1.5)
    assert own.storage.context is context
    assert own.numpy().tolist() == [[1.5, 1.5], [1.5, 1.5]]


def test_contexts_take_turns(ramp: Tensor[Any]) -> None:
    contexts = [DeviceContext(api="cpu"), DeviceContext(api="cpu"), cpu().context]
    for _ in range(4):
        for context in contexts:
            context.enqueue_function(double, ramp, over=ramp.shape)
    assert ramp[1, 2] == 5.0 * 2.0**12


def test_a_closed_context_does_not_hinder(ramp: Tensor[Any]) -> None:
    with DeviceContext(api="cpu") as context:
        context.enqueue_function(double, ramp, over=ramp.shape)
    assert ramp[1, 2] == 10.0


def test_closing(ramp: Tensor[Any]) -> None:
    ramp.close()
    with pytest.raises(LaunchError, match="closed"):
        ramp.numpy()


@pytest.mark.parametrize("shape", [-1, (2, -1), 2.5, (2, "a"), None])
def test_shapes_that_are_none(shape: Any) -> None:
    with pytest.raises(LaunchError, match="a shape is one extent or a tuple"):
        Tensor(Float32, shape)


def test_wrong_arguments() -> None:
    with pytest.raises(LaunchError, match="not on a str"):
        Tensor(Float32, 3, "cuda")  # pyright: ignore
    with pytest.raises(LaunchError, match="is not an element type"):
        Tensor.from_numpy(np.array(["text"]))
    context = DeviceContext(api="cpu")
    with pytest.raises(LaunchError, match="takes a LayoutTensor of Float32, not a LayoutTensor of Int32"):
        context.enqueue_function(double, Tensor(Int32, (2, 2)), over=(2, 2))


class OtherDriver(CpuDriver):
    """Stands for a device whose memory the host does not see."""

    api = "other"

    def open(self, device_id: int, threads: int | None = None) -> CpuDevice:
        device = super().open(device_id, threads)
        device.info = dataclasses.replace(device.info, api=self.api, shares_host=False, dlpack=0)
        return device


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Device:
    monkeypatch.setitem(DRIVERS, "other", OtherDriver)
    return Device(DeviceContext(api="other"))


def test_another_device(other: Device, ramp: Tensor[Any]) -> None:
    there = ramp.to(other)
    assert there.device == other
    assert there.device != cpu()
    assert ramp[1, 2] == 5.0, "to() leaves the original"
    other.context.enqueue_function(double, there, over=there.shape)
    assert there.numpy().tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    there.numpy()[0, 0] = 99.0
    assert there.numpy()[0, 0] == 0.0, "numpy() of a device's tensor is a copy"
    DeviceContext(api="other").enqueue_function(double, there, over=there.shape)
    back = there.move_to(cpu())
    assert back[1, 2] == 20.0
    with pytest.raises(LaunchError, match="closed"):
        there.numpy()
    assert Tensor.from_numpy(np.ones(3, np.float32), other).to(cpu())[2] == 1.0


def test_what_the_host_cannot_do_on_another_device(other: Device, ramp: Tensor[Any]) -> None:
    there = ramp.to(other)
    with pytest.raises(LaunchError, match=r"take tensor.to\(cpu\(\)\) first"):
        there[0, 0]
    with pytest.raises(LaunchError, match="writing elements needs them on the CPU"):
        there[0, 0] = 1.0
    with pytest.raises(LaunchError, match="needs them on the CPU"):
        np.from_dlpack(there)
    with pytest.raises(LaunchError, match="belongs to another context"):
        cpu().context.enqueue_function(double, there, over=there.shape)


def _held_by_the_host() -> list[Any]:
    ctx = DeviceContext(api="cpu")
    host = ctx.enqueue_create_host_buffer(Float32, 3)
    host[:] = [1, 2, 3]
    return [host, Tensor.from_numpy(np.array(host)), host.tensor(Layout.row_major(3))]


def test_arrays_of_numpy_are_compared_with_the_elements_of_what_the_host_holds():
    array = np.array([3, 2, 1], np.float32)
    elements = np.array([1, 2, 3], np.float32)
    for held in _held_by_the_host():
        for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
            assert compare(held, array).tolist() == compare(elements, array).tolist()
            assert compare(array, held).tolist() == compare(array, elements).tolist()


def test_what_the_host_holds_is_a_key_by_what_it_is_and_not_by_what_it_has():
    ctx = DeviceContext(api="cpu")
    held = [*_held_by_the_host(), ctx.enqueue_create_buffer(Float32, 3)]
    held += _held_by_the_host()
    places = {one: n for n, one in enumerate(held)}
    assert [places[one] for one in held] == list(range(len(held)))
    assert held[0] in held, "which Python asks by identity first"
    tensors: list[Any] = [one for one in held if type(one) is Tensor]
    weakly = weakref.WeakKeyDictionary({one: n for n, one in enumerate(tensors)})
    assert [weakly[one] for one in tensors] == [0, 1]


def test_bits_of_bfloat16_are_not_compared_with_numbers():
    host = DeviceContext(api="cpu").enqueue_create_host_buffer(BFloat16, 2)
    host[:] = [1.0, 2.0]
    for held in (host, host.tensor(Layout.row_major(2))):
        with pytest.raises(LaunchError, match="not compared as a whole"):
            assert held == np.array([1.0, 2.0], np.float32)
    assert (host[:] == np.array([1.0, 3.0], np.float32)).tolist() == [True, False]
    tensor = Tensor("bfloat16", 2)
    tensor.fill(1.0)
    numbers = np.array([1.0, 2.0], np.float32)
    asked: list[Callable[[Any], Any]] = [
        lambda held: numbers == held,
        lambda held: numbers + held,
        lambda held: held + numbers,
        lambda held: np.float32(1) < held,
        lambda held: np.equal(numbers, held),
        lambda held: np.add(numbers, numbers, out=held),
        lambda held: np.allclose(held, numbers),
        lambda held: np.stack([numbers, held]),
        lambda held: np.copyto(held, numbers),
        lambda held: np.sum(held),
    ]
    for held in (host, tensor):
        for ask in asked:
            with pytest.raises(LaunchError, match="NumPy has no bfloat16, and would compute with its bits"):
                ask(held)
        assert (np.shape(held), np.size(held)) == ((2,), 2)
        assert np.asarray(held).dtype == np.uint16
    assert np.asarray(host, np.float64).tolist() == [1.0, 2.0]
    assert np.asarray(tensor, np.float32).tolist() == [1.0, 1.0]


COMPUTES: list[Any] = [
    *(getattr(operator, name) for name in ("add", "truediv", "matmul")),
    *(np.maximum, np.dot, np.allclose),
]


def test_numpy_computes_with_what_the_host_holds():
    array, elements = np.array([4, 5, 6], np.float32), np.array([1, 2, 3], np.float32)
    for held in _held_by_the_host()[:2]:
        for compute in COMPUTES:
            assert np.all(compute(held, array) == compute(elements, array))
            assert np.all(compute(array, held) == compute(array, elements))
        assert np.stack([held, array]).tolist() == [[1, 2, 3], [4, 5, 6]]
        assert np.sum(held) == 6
        np.multiply(array, 2, out=held)
        assert held[:].tolist() == [8, 10, 12]
        with pytest.raises(LaunchError, match="`-=` does not compute with"):
            held -= array


def test_what_weft_holds_is_not_computed_with_by_python():
    ctx = DeviceContext(api="cpu")
    for held in (*_held_by_the_host()[:2], ctx.enqueue_create_buffer(Float32, 3)):
        for name in ("add", "floordiv", "pow", "matmul", "and_", "lshift", "iadd"):
            for pair in ((held, 1), (held, held), (1, held)):
                if name != "iadd" or pair[0] is held:
                    with pytest.raises(LaunchError, match="does not compute with"):
                        getattr(operator, name)(*pair)
        for name in ("neg", "pos", "invert", "abs"):
            with pytest.raises(LaunchError, match="does not compute with"):
                getattr(operator, name)(held)
    for other in (ctx.enqueue_create_buffer(Float32, 3), ctx.enqueue_create_host_buffer(Float32, 3)):
        with pytest.raises(LaunchError, match="not compared as a whole"):
            assert _held_by_the_host()[0] == other


def test_parts_of_a_tensor_are_lent_as_it_is():
    ctx = DeviceContext(api="cpu")
    tensor = Tensor(Float32, 8, cpu())
    tensor.fill(1.0)
    part: Any = tensor.storage.sub_buffer(2, 4)
    part = part.sub_buffer(1, 2)
    ctx.enqueue_function(double, part.tensor(Layout.row_major(1, 2)), grid_dim=1, block_dim=(2, 1))
    assert tensor.numpy().tolist() == [1, 1, 1, 2, 2, 1, 1, 1]
