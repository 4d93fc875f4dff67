"""The native launch stub, with a driver that notes what it is told."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import math
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import DType
from weft.abi.artifact import KernelInfo, Signature
from weft.compiler.llvm.emit import emit, load_object
from weft.foreign.arrays import Advice, ForeignArray
from weft.foreign.exchange import Exchange
from weft.gpu.host import DeviceContext
from weft.launch.native.asks import Asks
from weft.launch.native.code import native_code
from weft.launch.native.launcher import Known, Launcher
from weft.launch.native.objects import supported
from weft.layout import Layout
from weft.runtime.cuda.errors import ELSEWHERE
from weft.runtime.driver import Launch
from weft.targets import find_target

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)

_LAUNCH_EX = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p
)


GRID, BLOCK = -6, -3
"""Where their extents are before the arguments."""


class Function:
    kernel = KernelInfo("k", Signature("k", ()))
    max_threads_per_block = 512

    def residency(self, threads: int, shared: int) -> None: ...


class Fake:
    """A launcher whose driver is here; ``calls`` is what it was told, ``slow`` what went to Python."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.slow: list[tuple[Any, ...]] = []
        self.status = 0
        self._launch = _LAUNCH(self.launched)
        self._extended = _LAUNCH_EX(self.extended)
        addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (self._launch, self._extended)]
        code = native_code()
        self.launcher = Launcher(
            (code.stub, code.keep), (addresses[0], addresses[1]), self.by_python, self.failed, 6
        )
        self.enqueue = self.launcher.make_builtin()

    def launched(self, function: int, *rest: Any) -> int:
        params = ctypes.cast(rest[8], ctypes.POINTER(ctypes.c_void_p))
        slots = [ctypes.c_uint64.from_address(params[i] or 0).value for i in range(4)]
        self.calls.append((function, rest[:3], rest[3:6], rest[6], rest[7], *slots))
        return self.status

    def extended(self, config: int, function: int, params: Any, extra: Any) -> int:
        slots = [ctypes.c_uint64.from_address(params[i]).value for i in range(4)]
        self.calls.append((config, function, *slots))
        return self.status

    def by_python(self, *args: Any, **named: Any) -> None:
        self.slow.append((args, named, self.launcher.names()))

    def failed(self, status: int) -> None:
        if status not in ELSEWHERE:
            raise RuntimeError(status)

    def learn(
        self,
        kernel: object,
        names: tuple[str, ...] | None,
        count: int,
        asks: Asks,
        *,
        apart: bool = False,
        exchange: Exchange | None = None,
        stream: int = 6,
        config: object = None,
        addresses: Sequence[int] = (),
    ) -> None:
        constants = struct.pack("<4q", *addresses, *[9] * (4 - len(addresses)))
        launch = Launch(Function(), (4, 1, 1), (256, 1, 1), constants, 16)
        known = Known(kernel, names, count, asks, launch, (5, stream), apart, exchange, config)
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


def test_keywords_outlive_their_call(fake: Fake) -> None:
    """Another thread may have made a call before Python looks for its own."""
    named = {"first": 1, "second": 2}
    fake.enqueue("k", **named)  # their tuple is made for this call
    fake.slow.clear()
    others = [tuple([n, n + 1]) for n in range(100)]
    assert fake.launcher.names() == ("first", "second")
    fake.enqueue("k")
    assert fake.launcher.names() is None
    del others


@pytest.mark.parametrize("by_another_thread", [False, True])
def test_sites_that_are_chained_while_they_are_chained(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, by_another_thread: bool
) -> None:
    """By the end of an object, or by another thread: none follows itself, where the stub would never end."""
    kernel, found, threads = object(), list[object](), list[threading.Thread]()
    for n in range(4):
        fake.learn(kernel, (f"a{n}",), 1, Asks())

    def address(one: object) -> int:
        found.append(one)
        if len(found) == 2:  # one is chained, and the next is about to be
            if by_another_thread:
                threads.append(threading.Thread(target=fake.launcher.resume))
                threads[0].start()
                threads[0].join(0.05)
            else:
                fake.launcher.resume()
        return id(one)

    monkeypatch.setattr("weft.launch.native.launcher.id", address, raising=False)
    fake.launcher.resume()
    for thread in threads:
        thread.join()
    table = fake.launcher.table
    [at] = [ctypes.cast(at, ctypes.c_void_p).value for at in table.buckets if at]
    seen: list[int | None] = []
    while at and len(seen) < 5:
        seen.append(at)
        at = ctypes.c_void_p.from_address(at).value  # the first word of a site is the next one
    assert len({*seen}) == len(seen) == 4


def test_arguments_are_packed(fake: Fake) -> None:
    ctx = DeviceContext(api="cpu")
    buffer, other = (ctx.enqueue_create_buffer(DType.float32, 8) for _ in range(2))
    kernel, asks = object(), Asks()
    asks.buffer(buffer, 0)
    asks.integer(-(2**63), 2**63 - 1, 1)
    asks.floating(32, float, 2)
    asks.ints(4, [(1, 2**31 - 1)], [GRID])
    asks.ints(256, [(1, 1024)], [BLOCK])

    def call(*args: Any, grid: Any = 4, block: Any = 256) -> None:
        fake.enqueue(*args, grid_dim=grid, block_dim=block)

    call(kernel)
    names = fake.slow.pop()[2]
    fake.learn(kernel, names, 4, asks, addresses=[buffer.address])
    call(kernel, buffer, 1000, 0.1)
    call(kernel, other[2:], -7, math.inf, grid=100_000, block=512)
    assert fake.calls == [
        (5, (4, 1, 1), (256, 1, 1), 16, 6, buffer.address, 1000, 9 >> 32 << 32 | bits(0.1), 9),
        (5, (100_000, 1, 1), (512, 1, 1), 16, 6, other.address + 8, 2**64 - 7, bits(math.inf), 9),
    ]
    assert fake.launcher.take_used(6) == [Function.kernel]
    assert fake.launcher.take_used(6) == []
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
    for refused in (201, 400):  # in another thread's or library's context Python finds its way
        fake.status = refused
        fake.slow.clear()
        call(kernel, buffer, 1, 1.0)
        assert len(fake.slow) == 1
    fake.status = 700
    with pytest.raises(RuntimeError, match="700"):
        call(kernel, buffer, 1, 1.0)
    fake.launcher.forget(6)
    fake.calls.clear()
    call(kernel, buffer, 1, 1.0)
    assert not fake.calls


def test_ints_for_floats_and_the_same_object(fake: Fake) -> None:
    kernel, same = object(), (1, 2)
    for kind, number in ((int, 3), (float, 3.5)):
        asks = Asks()
        asks.identity(same)
        asks.floating(64, kind, 1)
        asks.floating(32, kind, 3)
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
    layout, like = Layout.row_major(4), Layout(4, 1)
    buffers = [ctx.enqueue_create_buffer(DType.float32, 16) for _ in range(2)]
    first, second = (buffer.tensor(layout) for buffer in buffers)
    kernel, asks = object(), Asks()
    for n, tensor in enumerate((first, second)):
        asks.member(tensor, "layout")
        asks.member(tensor, "element")
        asks.inside(tensor, "storage")
        asks.buffer(tensor.storage, n, 16)
    asks.integer(0, 9, 2)
    fake.learn(kernel, None, 4, asks, apart=True, addresses=[buffer.address for buffer in buffers])
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


def test_sites_of_kernels_that_do_not_come_again_go(fake: Fake) -> None:
    """Such as ``scale.bind(factor=3)`` makes for every launch."""
    used = object()
    fake.learn(used, None, 1, Asks())
    fake.enqueue(used)
    for _ in range(2000):
        fake.learn(object(), None, 1, Asks())
    assert len(fake.launcher._sites) <= 256  # pyright: ignore[reportPrivateUsage]
    fake.enqueue(used)
    assert len(fake.calls) == 2


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


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Array:
    """A NumPy array that another library would say is on GPU 3."""

    def __init__(self, array: npt.NDArray[Any], *, negated: bool = False) -> None:
        self.array, self.negated = array, negated
        rank, size = array.ndim, array.itemsize
        self.shape = (ctypes.c_int64 * max(1, rank))(*array.shape)
        self.strides = (ctypes.c_int64 * max(1, rank))(*(s // size for s in array.strides))

    def is_neg(self) -> bool:
        return self.negated


class Library:
    """DLPack's exchange API for ``Array``, with a current stream."""

    def __init__(self) -> None:
        self.stream = 0
        self.strides = True
        read = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_DLTensor))(self.read)
        kinds = ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
        current = ctypes.CFUNCTYPE(*kinds)(self.current)
        self._keep = read, current
        addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (read, current)]
        self.exchange = Exchange(addresses[0], addresses[1], 2 | 3 << 32, ("is_neg",))

    def read(self, value: Array, out: Any) -> int:
        a, to = value.array, out[0]
        to.data, to.byte_offset = a.ctypes.data - 16, 16
        to.device = (2, 3)
        to.ndim, to.code, to.bits, to.lanes = a.ndim, {"f": 2, "i": 0}[a.dtype.kind], 8 * a.itemsize, 1
        to.shape = value.shape
        to.strides = value.strides if self.strides else None
        return 0

    def current(self, kind: int, number: int, out: Any) -> int:
        assert (kind, number) == (2, 3)
        out[0] = self.stream
        return 0


@pytest.fixture
def library() -> Library:
    return Library()


def test_arrays_of_other_libraries(fake: Fake, library: Library) -> None:
    kernel, asks = object(), Asks()
    first = np.zeros((4, 6), np.float32)
    asks.array(Array(first), library.exchange, (2, 32), 1, alignment=4)
    fake.learn(kernel, None, 2, asks, exchange=library.exchange)
    fake.enqueue(kernel, Array(first))
    library.stream = 1
    fake.enqueue(kernel, Array(first))
    assert not fake.calls, "the streams 0 and 1 are the default one, and 6 was learnt"
    library.stream = 6
    library.strides = False
    fake.enqueue(kernel, Array(first[1:]))
    library.strides = True
    scalar = np.zeros((), np.float32)
    fake.enqueue(kernel, Array(scalar))
    assert [call[6] for call in fake.calls] == [first[1:].ctypes.data, scalar.ctypes.data]
    fake.calls.clear()
    fake.slow.clear()
    wrong = [Array(first.astype(np.float64)), Array(first.astype(np.int32)), Array(first, negated=True)]
    wrong += [Array(np.frombuffer(bytes(65), np.uint8)[1:].view(np.float32)), Array(first.T)]
    for value in [*wrong, first, None]:
        fake.enqueue(kernel, value)
    assert not fake.calls
    assert len(fake.slow) == len(wrong) + 2


def test_an_array_that_cannot_be_read_goes_to_python(fake: Fake, library: Library) -> None:
    kernel, asks, value = object(), Asks(), Array(np.zeros(4, np.float32))

    text = """
@PyExc = external global i8
declare void @PyErr_SetNone(ptr)
define i32 @cannot(ptr %value, ptr %out) {
  call void @PyErr_SetNone(ptr @PyExc)
  ret i32 -1
}
"""
    raising = ctypes.cast(ctypes.pythonapi.PyErr_SetNone, ctypes.c_void_p).value or 0
    code = emit(text, find_target("native"), "object").data
    loaded = load_object(code, ["cannot"], {"PyErr_SetNone": raising, "PyExc": id(ValueError)})
    exchange = dataclasses.replace(library.exchange, read=loaded.addresses[0])
    asks.array(value, exchange, (2, 32), 1)
    fake.learn(kernel, None, 2, asks, exchange=exchange)
    fake.enqueue(kernel, value)
    assert not fake.calls
    assert len(fake.slow) == 1


@st.composite
def views(draw: st.DrawFn) -> npt.NDArray[np.float32]:
    """Views of one small array, contiguous or not, empty ones among them."""
    base: npt.NDArray[np.float32] = BASE
    view = base.reshape(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4), (1, 24, 1), (2, 1, 12)])))
    for axis in range(view.ndim):
        start = draw(st.integers(0, view.shape[axis]))
        stop = draw(st.integers(start, view.shape[axis]))
        step = draw(st.sampled_from([1, 1, 2, 3]))
        view = view[(*[slice(None)] * axis, slice(start, stop, step))]
    return view.transpose(draw(st.permutations(range(view.ndim))))


BASE = np.zeros(24, np.float32)


@given(first=views(), one=views(), two=views())
def test_which_arrays_the_stub_takes(
    first: npt.NDArray[np.float32], one: npt.NDArray[np.float32], two: npt.NDArray[np.float32]
) -> None:
    """Contiguous ones for a pointer, those of one layout for a tensor, and apart ones where that matters."""
    fake, library = Fake(), Library()
    library.stream = 6
    flat, exact, both = object(), object(), object()
    layout = (one.shape, layout_strides(one))
    asks = [Asks() for _ in range(3)]
    asks[0].array(Array(first), library.exchange, (2, 32), 0)
    asks[1].array(Array(one), library.exchange, (2, 32), 0, layout=layout)
    for slot in (0, 1):
        asks[2].array(Array(first), library.exchange, (2, 32), slot)
    for kernel, ask, count in zip((flat, exact, both), asks, (2, 2, 3), strict=True):
        fake.learn(kernel, None, count, ask, apart=kernel is both, exchange=library.exchange)

    fake.enqueue(flat, Array(first))
    assert len(fake.calls) == first.flags.c_contiguous
    fake.calls.clear()
    for other in (one, two):
        fake.enqueue(exact, Array(other))
        alike = (other.shape, layout_strides(other)) == layout
        assert len(fake.calls) == alike
        fake.calls.clear()
    fake.enqueue(both, Array(one), Array(two))
    contiguous = one.flags.c_contiguous and two.flags.c_contiguous
    if one.size and two.size:  # of an empty one either would be right
        assert len(fake.calls) == (contiguous and not np.may_share_memory(one, two))


def layout_strides(array: npt.NDArray[np.float32]) -> tuple[int, ...]:
    """Strides in elements as weft reads them: those of extents up to 1 as in row-major order."""
    made = ForeignArray(
        array, 0, DType.float32, array.shape, tuple(s // 4 for s in array.strides), made_by="", advice=ADVICE
    )
    return made.strides


ADVICE = Advice("", "", "", "")


def test_launches_on_several_streams(fake: Fake) -> None:
    kernel = object()
    for stream in (6, 8):
        asks = Asks()
        asks.identity(stream)
        fake.learn(kernel, None, 2, asks, stream=stream)
    for stream in (6, 8):
        fake.enqueue(kernel, stream)
    assert [call[4] for call in fake.calls] == [6, 8]
    assert fake.launcher.used_streams() == {6, 8}
    assert fake.launcher.take_used(8) == [Function.kernel]
    assert fake.launcher.used_streams() == {6}
    fake.launcher.pause()
    fake.enqueue(kernel, 6)
    assert len(fake.slow) == 1
    fake.launcher.resume()
    fake.launcher.forget(8)
    fake.enqueue(kernel, 8)
    assert len(fake.slow) == 2
    fake.enqueue(kernel, 6)
    assert len(fake.calls) == 3
    fake.launcher.forget(6)  # the context's own
    fake.enqueue(kernel, 6)
    assert len(fake.slow) == 3


class Config:
    def getPtr(self) -> int:
        return 1234


def test_a_launch_with_attributes(fake: Fake) -> None:
    kernel, asks = object(), Asks()
    asks.integer(0, 99, 1)
    asks.ints(8, [(8, 8)], [GRID])
    fake.learn(kernel, None, 3, asks, config=Config())
    fake.enqueue(kernel, 7, 8)
    fake.enqueue(kernel, 7, 9)  # a grid that was not checked
    nine = 9
    assert fake.calls == [(1234, 5, nine, 7, nine, nine)]
    assert len(fake.slow) == 1


@given(
    st.integers(-(2**70), 2**70) | st.integers(-3, 3) | st.sampled_from([2**30, 2**60, -(2**60), 2**63 - 1])
)
def test_ints_of_any_size(value: int) -> None:
    fake, kernel, asks = Fake(), object(), Asks()
    asks.integer(-(2**63), 2**63 - 1, 0)
    fake.learn(kernel, None, 2, asks)
    fake.enqueue(kernel, value)
    fits = -(2**63) <= value < 2**63
    assert [call[5] for call in fake.calls] == ([value % 2**64] if fits else [])


def test_code_for_distinct_buffers_comes_first(fake: Fake) -> None:
    ctx = DeviceContext(api="cpu")
    one, two = (ctx.enqueue_create_buffer(DType.float32, 8) for _ in range(2))
    kernel = object()
    for stream, apart in ((6, True), (8, False)):  # the streams tell the two apart
        asks = Asks()
        asks.buffer(one, 0)
        asks.buffer(one, 1)
        fake.learn(kernel, None, 3, asks, apart=apart, stream=stream)
    for pair in ((one, two), (one, one), (two, one)):
        fake.enqueue(kernel, *pair)
    assert [call[4] for call in fake.calls] == [6, 8, 6]


def test_addresses_of_buffers_that_are_gone(fake: Fake) -> None:
    """Another number may come to lie where that of a buffer lay that was launched with."""
    buffer = DeviceContext(api="cpu").enqueue_create_buffer(DType.float32, 4096)
    kernel, asks, part = object(), Asks(), buffer[1:]
    asks.buffer(part, 0)
    fake.learn(kernel, None, 2, asks, addresses=[part.address])
    del part
    for n in range(2, 2000):
        part = buffer[n:]
        fake.enqueue(kernel, part)
        assert fake.calls.pop()[5] == part.address
