"""Contexts, buffers and copies, against NumPy; and what they refuse."""

from __future__ import annotations

import contextlib
import operator
import pydoc
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from weft import Float32, Int32, Pointer, config, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.dtype import DType
from weft.gpu.host import DeviceContext
from weft.runtime import drivers
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.context import BaseContext
from weft.runtime.host_buffer import HostBuffer

NUMPY_TYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.fixture
def ctx() -> BaseContext:
    return BaseContext(api="cpu")


def test_a_program_of_the_seeds(ctx: BaseContext) -> None:
    host = ctx.enqueue_create_host_buffer("float32", 20)
    host[:] = range(20)
    device = ctx.enqueue_create_buffer("float32", 20)
    ctx.enqueue_copy(src_buf=host, dst_buf=device)
    back = ctx.enqueue_create_host_buffer(DType.float32, 20)
    device.enqueue_copy_to(back)
    ctx.synchronize()
    assert repr(back) == f"HostBuffer([{', '.join(f'{i}.0' for i in range(20))}])"
    assert ctx.api == "cpu"
    assert ctx.id == 0
    assert ctx.name
    assert BaseContext.number_of_devices() == 1
    assert BaseContext.number_of_devices(api="cpu") == 1


def test_long_host_buffer_is_cut(ctx: BaseContext) -> None:
    host = ctx.enqueue_create_host_buffer("float32", 1024)
    host[:] = np.arange(1024)
    assert repr(host) == "HostBuffer([0.0, 1.0, 2.0, ..., 1021.0, 1022.0, 1023.0])"
    assert "..." not in repr(ctx.enqueue_create_host_buffer("int8", 1000))


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_copies_of_every_direction_and_type(ctx: BaseContext, name: str) -> None:
    values = np.random.default_rng(1).integers(0, 2 if name == "bool" else 100, 77).astype(name)
    one, two = ctx.enqueue_create_buffer(name, 77), ctx.enqueue_create_buffer(name, 77)
    first, second = ctx.enqueue_create_host_buffer(name, 77), ctx.enqueue_create_host_buffer(name, 77)
    out, again = np.zeros_like(values), np.zeros_like(values)
    ctx.enqueue_copy(dst=first, src=values)
    ctx.enqueue_copy(dst=second, src=first)
    ctx.enqueue_copy(dst=one, src=second)
    ctx.enqueue_copy(two, one)
    two.enqueue_copy_to(out)
    first.enqueue_copy_from(two)
    first.enqueue_copy_to(again)
    ctx.synchronize()
    assert np.array_equal(out, values)
    assert np.array_equal(again, values)
    assert np.array_equal(np.asarray(first), values)
    assert len(one) == 77
    assert one.nbytes == values.nbytes
    assert one.address % 256 == 0


@pytest.mark.parametrize("name", NUMPY_TYPES)
@pytest.mark.parametrize("size", [0, 1, 5, 300_000])
def test_fill(ctx: BaseContext, name: str, size: int) -> None:
    host = ctx.enqueue_create_host_buffer(name, size)
    host.enqueue_fill(1)
    ctx.synchronize()
    assert np.array_equal(np.asarray(host), np.ones(size, name))


def test_fill_part(ctx: BaseContext) -> None:
    device = ctx.enqueue_create_buffer("float32", 10)
    ctx.enqueue_fill(device, 1.5)
    ctx.enqueue_memset(device[2:4], -2)
    device.sub_buffer(8, 2).enqueue_fill(np.float32(7))
    with device.map_to_host() as host:
        assert list(host) == [1.5, 1.5, -2, -2, 1.5, 1.5, 1.5, 1.5, 7, 7]
        host[0] = 3
    with device.map_to_host() as host:
        assert host[0] == 3


def test_map_to_host_leaves_the_device_alone_after_an_error(ctx: BaseContext) -> None:
    device = ctx.create_buffer_sync("int32", 2)
    ctx.enqueue_fill(device, 4)
    with contextlib.suppress(KeyError), device.map_to_host() as host:
        host[:] = 5
        raise KeyError
    with device.map_to_host() as host:
        assert list(host) == [4, 4]


def test_host_buffer_is_an_array(ctx: BaseContext) -> None:
    host = ctx.enqueue_create_host_buffer("float32", 6)
    view = np.asarray(host)
    host[:] = (i * 0.5 for i in range(6))
    host[-1] = 9
    assert view.tolist() == [0, 0.5, 1, 1.5, 2, 9]
    view[0] = 4
    assert host[0] == 4
    assert np.asarray(host[0]).dtype == np.float32
    host[1:3] = 0
    host[3:5] = np.array([1, 2])
    assert [float(x) for x in host] == [4, 0, 0, 1, 2, 9]
    assert np.asarray(host, np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(host), view)
    assert not np.shares_memory(np.array(host), view)
    assert np.sum(host) == 16
    host.close()
    host.close()
    del host
    assert view.tolist() == [4, 0, 0, 1, 2, 9]
    with pytest.raises(IndexError):
        _ = ctx.enqueue_create_host_buffer("int8", 3)[3]


def test_bfloat16(ctx: BaseContext) -> None:
    host = ctx.enqueue_create_host_buffer("bfloat16", 100)
    host[:] = np.linspace(-3, 3, 100, dtype=np.float32)
    host[0] = 0.1
    host[1:3] = [1, 2]
    assert isinstance(host[0], float)
    assert repr(host).startswith("HostBuffer([0.1, 1.0, 2.0, ")
    assert np.allclose(host[3:], np.linspace(-3, 3, 100)[3:], rtol=2**-8)
    bits = np.asarray(host)
    assert bits.dtype == np.uint16
    device = ctx.enqueue_create_buffer("bfloat16", 100)
    ctx.enqueue_fill(device, 1.0)
    ctx.enqueue_copy(dst=bits, src=device)
    ctx.synchronize()
    assert set(host) == {1.0}


def test_parts_in_the_order_of_mojo(ctx: BaseContext) -> None:
    whole = ctx.enqueue_create_buffer(Float32, 16)
    for part in (
        whole.create_sub_buffer(Float32, 5, 10),
        whole.create_sub_buffer("float32", 5, 10),
        whole.create_sub_buffer(np.float32, offset=5, size=10),
        whole.create_sub_buffer(5, 10),
        whole.create_sub_buffer(offset=5, size=10),
    ):
        assert (part.address - whole.address, len(part)) == (20, 10)
    with pytest.raises(LaunchError, match="elements of float32, not of Int32"):
        whole.create_sub_buffer(Int32, 5, 10)
    with pytest.raises(LaunchError, match="sub_buffer takes 2 positional arguments, but 3 were given"):
        cast("Any", whole).create_sub_buffer(5, 10, 15)


def test_parts_keep_their_memory(ctx: BaseContext) -> None:
    with ctx.enqueue_create_buffer("int32", 8) as whole:
        part = whole[2:6]
        part_of_part = part.sub_buffer(1, 2)
        assert part_of_part.address == whole.address + 12
    assert whole.closed
    part_of_part.enqueue_fill(3)
    out = np.zeros(2, np.int32)
    part_of_part.enqueue_copy_to(out)
    ctx.synchronize()
    assert out.tolist() == [3, 3]
    assert "closed" in repr(whole)
    assert "int32" in repr(part)
    assert whole.context is ctx


def test_tensor_asks_the_layout(ctx: BaseContext) -> None:
    class Rows:
        def tensor(self, buffer: DeviceBuffer[Any] | HostBuffer[Any]) -> tuple[str, int]:
            return ("tensor", len(buffer))

    layout: Any = Rows()
    assert ctx.enqueue_create_buffer("int32", 8).tensor(layout) == ("tensor", 8)


def test_multi_dimensional_arrays_copy_whole(ctx: BaseContext) -> None:
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    device, out = ctx.enqueue_create_buffer("uint8", 24), np.empty_like(image)
    ctx.enqueue_copy(dst=device, src=image)
    ctx.enqueue_copy(dst=out, src=device)
    ctx.synchronize()
    assert np.array_equal(out, image)


REFUSED: list[tuple[Callable[[BaseContext], object], str, str]] = [
    (lambda c: c.enqueue_create_buffer("float32", -1), "buffer-size", "-1 elements"),
    (lambda c: c.enqueue_create_buffer("float32", cast("Any", 1.5)), "buffer-size", "1.5"),
    (lambda c: c.enqueue_create_buffer("flaot32", 1), "buffer-dtype", "'flaot32' is not an element type"),
    (
        lambda c: c.enqueue_copy(dst=c.enqueue_create_buffer("float32", 4), src=np.zeros(4)),
        "copy-dtype",
        "dst is a DeviceBuffer of 4 float32, src is a NumPy array of 4 float64",
    ),
    (
        lambda c: c.enqueue_copy(dst=c.enqueue_create_buffer("float64", 4), src=np.zeros(5)),
        "copy-length",
        "dst is a DeviceBuffer of 4 float64, src is a NumPy array of 5 float64",
    ),
    (
        lambda c: c.enqueue_copy(dst=c.enqueue_create_buffer("float64", 3), src=np.zeros((3, 2))[:, 0]),
        "copy-contiguous",
        "strides (16,)",
    ),
    (lambda c: c.enqueue_copy(dst=c.enqueue_create_buffer("float64", 3)), "copy-missing", "src is missing"),
    (
        lambda c: c.enqueue_copy(  # a list is no array, to pyright as well
            dst=c.enqueue_create_buffer("float64", 3),
            src=[1, 2, 3],  # pyright: ignore[reportArgumentType]
        ),
        "copy-type",
        "src is a list",
    ),
    (
        lambda c: c.enqueue_copy(
            dst=np.broadcast_to(np.zeros(1), (1,)), src=c.enqueue_create_buffer("float64", 1)
        ),
        "copy-readonly",
        "must not be written",
    ),
    (
        lambda c: c.enqueue_copy(dst=c.enqueue_create_buffer("float64", 1), src=np.zeros(1, ">f8")),
        "copy-byte-order",
        "foreign byte order",
    ),
    (lambda c: c.enqueue_fill(c.enqueue_create_buffer("uint8", 1), 256), "fill-value", "256"),
    (lambda c: c.enqueue_fill(c.enqueue_create_buffer("int32", 1), 0.5), "fill-value", "0.5"),
    (
        lambda c: c.enqueue_fill(BaseContext(api="cpu").enqueue_create_buffer("int32", 1), 0),
        "buffer-context",
        "belongs to another DeviceContext",
    ),
    (lambda c: c.enqueue_create_buffer("int32", 4).sub_buffer(2, 3), "sub-buffer-bounds", "4 elements"),
    (lambda c: c.enqueue_create_buffer("int32", 4)[::2], "buffer-step", "step 2"),
    (
        lambda c: operator.getitem(cast("Any", c.enqueue_create_buffer("int32", 4)), 0),
        "device-element",
        "on the device",
    ),
    (lambda c: c.enqueue_create_host_buffer("int8", 2).__setitem__(0, 300), "host-value", "300"),
    (
        lambda c: c.enqueue_create_host_buffer("int8", 2).__setitem__(slice(None), range(3)),
        "host-length",
        "3",
    ),
]


@pytest.mark.parametrize(("attempt", "code", "message"), REFUSED, ids=[code for _, code, _ in REFUSED])
def test_refused(ctx: BaseContext, attempt: Callable[[BaseContext], object], code: str, message: str) -> None:
    with pytest.raises(LaunchError) as refused:
        attempt(ctx)
    [found] = refused.value.diagnostics
    assert found.code == code
    assert message in found.message
    assert found.location is not None
    assert found.location.file == __file__


def test_closed_buffer(ctx: BaseContext) -> None:
    buffer = ctx.enqueue_create_buffer("int32", 4)
    buffer.close()
    for attempt in (
        lambda: buffer.address,
        lambda: ctx.enqueue_fill(buffer, 1),
        lambda: buffer[1:2],
        lambda: buffer.unsafe_ptr(),
    ):
        with pytest.raises(LaunchError, match="DeviceBuffer of 4 int32 is closed"):
            attempt()


def test_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match="there is no device 7 of api 'cpu'; this machine has one device"):
        BaseContext(7, api="cpu")
    with pytest.raises(LaunchError, match="'cpu' is a str") as named:
        BaseContext(cast("Any", "cpu"))
    assert named.value.diagnostics[0].hints == ("write api='cpu'",)
    with pytest.raises(DeviceError, match="no device API 'cudda'; weft knows 'cuda', 'cpu'") as unknown:
        BaseContext(api="cudda")
    assert unknown.value.diagnostics[0].hints == ("did you mean 'cuda'?",)
    with pytest.raises(DeviceError, match="no 'cuda' device: ") as absent:
        BaseContext(api="cuda")
    assert "api='cpu'" in absent.value.diagnostics[0].hints[-1]
    assert BaseContext.number_of_devices(api="cuda") == 0
    with pytest.raises(DeviceError, match="'gpu'"):
        BaseContext.number_of_devices(api="gpu")
    with config.scope(device="cpu"):
        assert drivers.default_api() == "cpu"
    monkeypatch.setenv("WEFT_DEVICE", "gpu")
    with pytest.raises(DeviceError, match="WEFT_DEVICE=gpu is none of cuda, cpu"):
        BaseContext()
    monkeypatch.setenv("WEFT_DEVICE", "cuda")
    with pytest.raises(DeviceError, match="no 'cuda' device"):
        BaseContext()


def test_no_memory(ctx: BaseContext) -> None:
    with pytest.raises(DeviceError, match=r"no memory on .* for 8\.0 PiB; .* are free"):
        ctx.enqueue_create_buffer("float64", 1 << 50)


def test_memory_info(ctx: BaseContext) -> None:
    free, total = ctx.memory_info()
    assert 0 < free <= total


def test_streams_and_events_say_what_they_are(ctx: BaseContext) -> None:
    with ctx.create_stream(priority=-1) as stream:
        assert repr(stream) == f"<DeviceStream of priority {stream.priority} on {ctx.name}>"
        event = stream.record_event()
        event.synchronize()
        assert repr(event).startswith("<DeviceEvent")
        assert repr(event).endswith(", reached>")


def test_import_loads_neither_numpy_nor_llvm() -> None:
    text = (
        "import sys, weft.runtime.context as c\nctx = c.BaseContext(api='cpu')\n"
        "b = ctx.enqueue_create_buffer('int32', 3); b.enqueue_fill(1); ctx.synchronize()\n"
        "assert not {'numpy', 'llvmlite'} & set(sys.modules), 'loaded'"
    )
    subprocess.run(
        [sys.executable, "-c", text], check=True, timeout=30, env={"PYTHONPATH": ":".join(sys.path)}
    )


def test_what_completion_and_help_show() -> None:
    shown = {name for name in dir(DeviceContext(api="cpu")) if not name.startswith("_")}
    assert {"enqueue_function", "enqueue_copy", "synchronize", "capture"} < shown
    assert shown.isdisjoint(["note_use", "queue_of", "load_object", "native"])

    @kernel
    def noted(x: Pointer[Float32]):
        x[0] = 1.0

    text = pydoc.plain(pydoc.render_doc(noted))
    assert "noted(x: " in text
    assert "class Kernel" not in text
