"""The native launch stub, with a driver that notes what it is told."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from weft import DType
from weft.artifact import Artifact, Signature
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.runtime.native_launch import Asks, Known, Launcher, supported
from weft.stubs import stub_code

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
_CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))


class Function:
    artifact = Artifact("k", "sm_90", "ptx", b"", Signature("k", ()))
    max_threads_per_block = 512


class Fake:
    """A launcher whose driver is here; ``calls`` is what it was told, ``slow`` what went to Python."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.slow: list[tuple[Any, ...]] = []
        self.status = 0
        self.context = 77
        self._launch = _LAUNCH(self.launched)
        self._current = _CURRENT(self.current)
        addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (self._launch, self._current)]
        self.launcher = Launcher(stub_code(), addresses[0], addresses[1], self.by_python, self.failed)
        self.enqueue = self.launcher.make_builtin()

    def launched(self, function: int, *rest: Any) -> int:
        params = ctypes.cast(rest[8], ctypes.POINTER(ctypes.c_void_p))
        slots = [ctypes.c_uint64.from_address(params[i] or 0).value for i in range(4)]
        self.calls.append((function, rest[:3], rest[3:6], rest[6], rest[7], *slots))
        return self.status

    def current(self, out: Any) -> int:
        out[0] = self.context
        return 0

    def by_python(self, *args: Any, **named: Any) -> None:
        self.slow.append((args, named, self.launcher.names()))

    def failed(self, status: int) -> None:
        raise RuntimeError(status)

    def learn(
        self, kernel: object, names: tuple[str, ...] | None, count: int, asks: Asks, *, apart: bool = False
    ) -> None:
        known = Known(
            kernel,
            names,
            count,
            asks,
            (9).to_bytes(8, "little") * 4,
            (5, 6, 77),
            (4, 1, 1, 256, 1, 1),
            16,
            Function(),
            apart,
        )
        self.launcher.learn(known)


@pytest.fixture
def fake() -> Fake:
    return Fake()


def bits(value: float) -> int:
    return ctypes.c_uint32.from_buffer(ctypes.c_float(value)).value


def test_what_was_not_made_before_goes_to_python(fake: Fake) -> None:
    fake.enqueue("k", 1, grid_dim=2)
    fake.enqueue("k")
    fake.enqueue()
    assert fake.slow == [(("k", 1), {"grid_dim": 2}, ("grid_dim",)), (("k",), {}, None), ((), {}, None)]


def test_arguments_are_packed(fake: Fake) -> None:
    ctx = DeviceContext(api="cpu")
    buffer, other = (ctx.enqueue_create_buffer(DType.float32, 8) for _ in range(2))
    kernel, asks = object(), Asks()
    asks.buffer(buffer, 0)
    asks.integer(-(2**63), 2**63 - 1, 1)
    asks.floating(32, float, 2)
    asks.dimension(2**31 - 1, 0)
    asks.dimension(1024, 3)

    def call(*args: Any, grid: Any = 4, block: Any = 256) -> None:
        fake.enqueue(*args, grid_dim=grid, block_dim=block)

    call(kernel)
    names = fake.slow.pop()[2]
    fake.learn(kernel, names, 4, asks)
    call(kernel, buffer, 1000, 0.1)
    call(kernel, other[2:], -7, math.inf, grid=100_000, block=512)
    assert fake.calls == [
        (5, (4, 1, 1), (256, 1, 1), 16, 6, buffer.address, 1000, 9 >> 32 << 32 | bits(0.1), 9),
        (5, (100_000, 1, 1), (512, 1, 1), 16, 6, other.address + 8, 2**64 - 7, bits(math.inf), 9),
    ]
    assert fake.launcher.take_used() == [Function.artifact]
    assert fake.launcher.take_used() == []
    fake.calls.clear()
    closed = ctx.enqueue_create_buffer(DType.float32, 8)
    closed.close()
    foreign = DeviceContext(api="cpu").enqueue_create_buffer(DType.float32, 8)
    wrong: list[Callable[[], None]] = [
        lambda: call(kernel, closed, 1, 1.0),
        lambda: call(kernel, foreign, 1, 1.0),
        lambda: call(kernel, ctx.enqueue_create_buffer(DType.int32, 8), 1, 1.0),
        lambda: call(kernel, ctx.enqueue_create_host_buffer(DType.float32, 8), 1, 1.0),
        lambda: call(kernel, buffer, 1.0, 1.0),
        lambda: call(kernel, buffer, True, 1.0),
        lambda: call(kernel, buffer, 2**63, 1.0),
        lambda: call(kernel, buffer, 1, 1),
        lambda: call(kernel, buffer, 1),
        lambda: call(kernel, buffer, 1, 1.0, 1),
        lambda: call(object(), buffer, 1, 1.0),
        lambda: call(kernel, buffer, 1, 1.0, grid=0),
        lambda: call(kernel, buffer, 1, 1.0, grid=2**31),
        lambda: call(kernel, buffer, 1, 1.0, block=513),
        lambda: call(kernel, buffer, 1, 1.0, block=(256,)),
        lambda: fake.enqueue(kernel, buffer, 1, 1.0, grid_dim=1),
        lambda: fake.enqueue(kernel, buffer, 1, 1.0, block_dim=1, grid_dim=1),
    ]
    for attempt in wrong:
        attempt()
    assert not fake.calls
    assert len(fake.slow) == len(wrong)
    fake.context = 78
    call(kernel, buffer, 1, 1.0)
    assert not fake.calls
    fake.context, fake.status = 77, 700
    with pytest.raises(RuntimeError, match="700"):
        call(kernel, buffer, 1, 1.0)
    fake.launcher.forget()
    fake.calls.clear()
    call(kernel, buffer, 1, 1.0)
    assert not fake.calls


def test_ints_for_floats_and_the_same_object(fake: Fake) -> None:
    kernel, same = object(), (1, 2)
    for given, number in ((int, 3), (float, 3.5)):
        asks = Asks()
        asks.identity(same)
        asks.floating(64, given, 1)
        asks.floating(32, given, 3)
        fake.learn(kernel, None, 4, asks)
        fake.enqueue(kernel, same, number, number)
        [call] = fake.calls
        assert ctypes.c_double.from_buffer(ctypes.c_uint64(call[6])).value == number
        assert call[8] & 0xFFFFFFFF == bits(number)
        fake.calls.clear()
    fake.enqueue(kernel, tuple([1, 2]), 3, 3)
    fake.enqueue(kernel, same, 2**60, 3)
    assert len(fake.slow) == 2


def test_tensors(fake: Fake) -> None:
    ctx = DeviceContext(api="cpu")
    layout, like = Layout.row_major(4), Layout.row_major(4)
    buffers = [ctx.enqueue_create_buffer(DType.float32, 16) for _ in range(2)]
    first, second = (buffer.tensor(layout) for buffer in buffers)
    kernel, asks = object(), Asks()
    for n, tensor in enumerate((first, second)):
        asks.member(tensor, "layout")
        asks.member(tensor, "element")
        asks.inside(tensor, "storage")
        asks.buffer(tensor.storage, n, 16)
    asks.integer(0, 9, 2)
    fake.learn(kernel, None, 4, asks, apart=True)
    fake.enqueue(kernel, first, second, 3)
    fake.enqueue(kernel, second, buffers[0][4:].tensor(layout), 4)
    assert [call[5:] for call in fake.calls] == [
        (buffers[0].address, buffers[1].address, 3, 9),
        (buffers[1].address, buffers[0].address + 16, 4, 9),
    ]
    fake.calls.clear()
    for args in [
        (first, first, 3),
        (first, buffers[0][4:].tensor(layout), 3),
        (first, buffers[1][1:].tensor(layout), 3),
        (first, buffers[1].tensor(like), 3),
        (first, buffers[1], 3),
        (buffers[0], second, 3),
        (first, ctx.enqueue_create_host_buffer(DType.float32, 16).tensor(layout), 3),
        (first, second, 10),
    ]:
        fake.enqueue(kernel, *args)
    assert not fake.calls
    assert len(fake.slow) == 8


def test_sites_of_one_kernel_are_bounded(fake: Fake) -> None:
    kernel = object()
    for n in range(100):
        asks = Asks()
        asks.identity((n,))
        fake.learn(kernel, None, 2, asks)
    assert len(fake.launcher._sites) == 8  # pyright: ignore[reportPrivateUsage]


def test_nothing_leaks(fake: Fake) -> None:
    kernel, asks, argument = object(), Asks(), object()
    asks.identity(argument)
    fake.learn(kernel, None, 2, asks)
    fake.enqueue(kernel, argument)
    before = sys.getrefcount(kernel), sys.getrefcount(argument), sys.getrefcount(fake.enqueue)
    for _ in range(2000):
        fake.enqueue(kernel, argument)
    assert (sys.getrefcount(kernel), sys.getrefcount(argument), sys.getrefcount(fake.enqueue)) == before
    gc.collect()
