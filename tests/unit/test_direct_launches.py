"""Short launches on the CPU, which the thread that asks for them runs itself."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

from weft import DeviceError, Float32, Int, Int32, LaunchError, Pointer, kernel
from weft.abi import cpu_launch
from weft.atomic import Atomic
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.c_structs import c_struct
from weft.launch.native import tables
from weft.launch.native.asks import ask_all
from weft.launch.native.code import native_code
from weft.layout import LayoutTensor
from weft.runtime.cpu.device import CpuStream
from weft.runtime.cpu.queue import Lane


@pytest.mark.parametrize("name", ["LaneWords", "LaunchBlock", "DirectLaunch"])
def test_both_sides_mean_the_same_memory(name: str) -> None:
    one, other = getattr(cpu_launch, name), c_struct(getattr(tables, name))
    places = [[(n, getattr(s, n).offset, getattr(s, n).size) for n, *_ in s._fields_] for s in (one, other)]
    assert places[0] == places[1]
    assert ctypes.sizeof(one) == ctypes.sizeof(other)


@kernel
def add_one(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i] += 1.0


@kernel
def spin(x: Pointer[Int], n: Int):
    total = Int(0)
    for i in range(n):
        total = total * 3 + i ^ total
    x[0] = total


@kernel
def append(log: Pointer[Int32], value: Int32):
    log[0] += 1
    log[log[0]] = value


@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    """A context whose launches are native ones, by Python or not."""
    native_code()
    with DeviceContext(api="cpu") as made:
        buffer = made.enqueue_create_buffer(Float32, 4)
        for _ in range(200):
            made.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
            made.synchronize()
        assert type(made.enqueue_function) is type(len)
        yield made


def lane(ctx: DeviceContext) -> Lane:
    stream = ctx.stream.native
    assert isinstance(stream, CpuStream)
    return getattr(stream, "_lane")  # noqa: B009


def put(ctx: DeviceContext) -> int:
    """How many launches others than the thread that asks have been given, and tasks."""
    native = getattr(lane(ctx), "_native")  # noqa: B009
    return lane(ctx).words.submitted + native.queued


def repeated(launch: Callable[[], object], ctx: DeviceContext, times: int = 50) -> None:
    for _ in range(times):
        launch()
        ctx.synchronize()


def test_a_short_launch_has_ended_when_the_call_returns(ctx: DeviceContext) -> None:
    x = np.zeros(4, np.float32)
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0.0)

    def launch() -> None:
        ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)

    repeated(launch, ctx)
    count = lane(ctx).words.submitted
    for _ in range(100):
        launch()
    assert lane(ctx).words.submitted < count + 100
    ctx.enqueue_copy(dst=x, src=buffer)
    ctx.synchronize()
    assert x.tolist() == [150.0] * 4


@pytest.mark.parametrize("options", [{"grid_dim": 1, "block_dim": 4}, {"over": 4}])
def test_a_name_from_before_launches_without_python(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    native_code()
    with DeviceContext(api="cpu") as ctx:
        go, buffer = ctx.enqueue_function, ctx.enqueue_create_buffer(Float32, 4)
        buffer.enqueue_fill(0.0)
        repeated(lambda: go(add_one, buffer, 4, **options), ctx)
        assert type(go) is not type(len)

        def slow(*_: Any, **__: Any) -> None:
            raise AssertionError("prepared by Python")

        monkeypatch.setattr(DeviceContext, "_launch", slow)
        repeated(lambda: go(add_one, buffer, 4, **options), ctx)
        monkeypatch.undo()
        with pytest.raises(LaunchError, match="grid_dim"):
            go(add_one, buffer, 4, grid_dim=0, block_dim=4)
        with buffer.map_to_host() as host:
            assert list(host) == [100.0] * 4


def test_small_copies_and_fills_are_made_where_they_are_asked_for(ctx: DeviceContext) -> None:
    small, large = (ctx.enqueue_create_buffer(Int32, n) for n in (100, 1 << 20))
    host = ctx.enqueue_create_host_buffer(Int32, 100)
    ctx.synchronize()
    count = lane(ctx).words.submitted
    small.enqueue_fill(7)
    ctx.enqueue_copy(dst=host, src=small)
    assert lane(ctx).words.submitted == count
    assert set(host.numpy()) == {7}
    large.enqueue_fill(1)
    assert lane(ctx).words.submitted == count + 1
    go = threading.Event()
    ctx.enqueue_host_call(go.wait)
    small.enqueue_fill(8)
    ctx.enqueue_copy(dst=host, src=small)
    assert set(host.numpy()) == {7}
    go.set()
    ctx.synchronize()
    assert set(host.numpy()) == {8}


def test_the_order_of_a_stream_is_kept(ctx: DeviceContext) -> None:
    log = ctx.enqueue_create_buffer(Int32, 4000)
    log.enqueue_fill(0)
    repeated(lambda: ctx.enqueue_function(append, log, 7, grid_dim=1, block_dim=1), ctx)
    log.enqueue_fill(0)
    wanted: list[int] = []
    for n in range(300):
        if n % 50 == 0:
            ctx.enqueue_host_call(lambda: time.sleep(0.002))
        for value in (3 * n, 3 * n + 1, 3 * n + 2):
            ctx.enqueue_function(append, log, value, grid_dim=1, block_dim=1)
            wanted.append(value)
        if n % 7 == 0:
            ctx.synchronize()
    with log.map_to_host() as host:
        assert host[0] == len(wanted)
        assert host.numpy()[1 : len(wanted) + 1].tolist() == wanted


def test_a_stream_that_is_busy_is_no_reason_to_learn_a_launch_again(
    ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would take longer than the launch: each of them goes to Python until the stream is free."""
    learned: list[object] = []

    def learn(*given: Any) -> Any:
        learned.append(given)
        return ask_all(*given)

    monkeypatch.setattr("weft.launch.native.install.ask_all", learn)
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0.0)

    def launch() -> None:
        ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)

    repeated(launch, ctx)
    learned.clear()
    go = threading.Event()
    ctx.enqueue_host_call(go.wait)
    for _ in range(20):
        launch()
    again = len(learned)
    ctx.enqueue_function(add_one, buffer, n=4, grid_dim=1, block_dim=4)  # not made before
    go.set()
    assert (again, len(learned)) == (0, 1)
    with buffer.map_to_host() as host:
        assert host.numpy().tolist() == [71.0] * 4


def test_threads_of_the_host_take_turns(ctx: DeviceContext) -> None:
    log = ctx.enqueue_create_buffer(Int32, 6001)
    log.enqueue_fill(0)

    def work(mine: int) -> None:
        for n in range(1000):
            ctx.enqueue_function(append, log, mine * 10000 + n, grid_dim=1, block_dim=1)
            if n % 100 == 0:
                ctx.synchronize()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 3)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    with log.map_to_host() as host:
        assert host[0] == 3000
        found = host.numpy()[1:3001]
    for mine in range(3):
        assert found[found // 10000 == mine].tolist() == [mine * 10000 + n for n in range(1000)]


@kernel
def wait_for(flag: Pointer[Int32], out: Pointer[Int32]):
    while Atomic.load(flag) == 0:
        pass
    out[0] += 1


@kernel
def raise_flag(flag: Pointer[Int32]):
    Atomic.store(flag, 1)


def test_a_kernel_that_waits_for_a_later_one_does_not_hold_its_thread(ctx: DeviceContext) -> None:
    flag, out = ctx.enqueue_create_buffer(Int32, 1), ctx.enqueue_create_buffer(Int32, 1)
    flag.enqueue_fill(1)
    out.enqueue_fill(0)
    repeated(lambda: ctx.enqueue_function(wait_for, flag, out, grid_dim=1, block_dim=1), ctx)
    flag.enqueue_fill(0)
    ctx.synchronize()
    other = ctx.create_stream()
    ctx.enqueue_function(wait_for, flag, out, grid_dim=1, block_dim=1)
    ctx.enqueue_function(raise_flag, flag, grid_dim=1, block_dim=1, stream=other)
    ctx.synchronize()
    with out.map_to_host() as host:
        assert host[0] == 51


def test_what_becomes_long_goes_to_the_stream_again(ctx: DeviceContext) -> None:
    x = ctx.enqueue_create_buffer(Int, 1)
    repeated(lambda: ctx.enqueue_function(spin, x, 10, grid_dim=1, block_dim=1), ctx)
    for rounds in (20_000_000, -(2**62)):
        start = put(ctx)
        ctx.enqueue_function(spin, x, rounds, grid_dim=1, block_dim=1)
        assert put(ctx) == start + 1
        repeated(lambda: ctx.enqueue_function(spin, x, 10, grid_dim=1, block_dim=1), ctx)


@kernel
def tell_last(
    x: Pointer[Int], rounds: Int, a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int,
    j: Int, k: Int, v: Int, m: Int, n: Int, o: Int, p: Int, q: Int, r: Int, s: Int, t: Int, u: Int,
):  # fmt: skip
    total = Int(0)
    for round in range(rounds):
        total = total * 3 + round ^ total
    x[1] = total
    x[0] = a + b + c + d + e + f + g + h + i + j + k + v + m + n + o + p + q + r + s + t + u


def test_many_arguments_of_queued_launches_stay_apart(ctx: DeviceContext) -> None:
    def launch(n: int) -> None:
        ctx.enqueue_function(tell_last, buffers[n], 300_000, *[n] * 21, grid_dim=1, block_dim=1)

    buffers = [ctx.enqueue_create_buffer(Int, 2) for _ in range(8)]
    repeated(lambda: launch(0), ctx)
    start = getattr(lane(ctx), "_native").queued  # noqa: B009
    for n in range(8):
        launch(n)
    assert getattr(lane(ctx), "_native").queued >= start + 7  # noqa: B009
    ctx.synchronize()
    for n, buffer in enumerate(buffers):
        with buffer.map_to_host() as host:
            assert host[0] == 21 * n


def test_what_is_larger_and_still_short_is_run_at_once_later(ctx: DeviceContext) -> None:
    x = ctx.enqueue_create_buffer(Int, 1)
    for rounds in (10, 300, 1000):
        repeated(lambda n=rounds: ctx.enqueue_function(spin, x, n, grid_dim=1, block_dim=1), ctx)
        start = lane(ctx).words.submitted
        for _ in range(20):
            ctx.enqueue_function(spin, x, rounds, grid_dim=1, block_dim=1)
        assert lane(ctx).words.submitted < start + 20


@kernel
def shifted(x: Pointer[Float32], y: Pointer[Float32], n: Int):
    for i in range(n):
        y[i] = x[i] + 1.0


def numpy_shifted(x: np.ndarray, y: np.ndarray, n: int) -> None:
    for i in range(n):
        y[i] = x[i] + 1


def test_arrays_of_numpy(ctx: DeviceContext) -> None:
    base = np.arange(16, dtype=np.float32)
    repeated(lambda: ctx.enqueue_function(shifted, base[:8], base[8:], 8, grid_dim=1, block_dim=1), ctx)
    count = lane(ctx).words.submitted
    for x, y, n in (
        (slice(0, 4), slice(8, 12), 4),
        (slice(0, 8), slice(1, 9), 8),  # they overlap, and each step takes from the one before
        (slice(1, 9), slice(0, 8), 8),
        (slice(3, 3), slice(4, 4), 0),
    ):
        found, wanted = base.copy(), base.copy()
        ctx.enqueue_function(shifted, found[x], found[y], n, grid_dim=1, block_dim=1)
        ctx.synchronize()
        numpy_shifted(wanted[x], wanted[y], n)
        assert found.tolist() == wanted.tolist(), (x, y)
    assert lane(ctx).words.submitted <= count + 3
    wide = np.zeros((4, 4), np.float32)
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    unaligned = np.frombuffer(bytearray(21), np.uint8)[1:17].view(np.float32)
    for bad in (
        wide[:, 1],
        base.astype(np.float64),
        base.astype(">f4"),
        read_only,
        unaligned,
        base.view(np.int32),
    ):
        with pytest.raises(LaunchError):
            ctx.enqueue_function(shifted, base[:4], bad, 4, grid_dim=1, block_dim=1)
    ctx.enqueue_function(shifted, read_only, wide[0], 4, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert wide.tolist() == [[1.0] * 4, *[[0.0] * 4] * 3]


def test_arrays_of_numpy_beside_buffers(ctx: DeviceContext) -> None:
    buffer, y = ctx.enqueue_create_buffer(Float32, 9), np.zeros(8, np.float32)
    buffer.enqueue_fill(3.0)
    repeated(lambda: ctx.enqueue_function(shifted, buffer, y, 8, grid_dim=1, block_dim=1), ctx)
    count = lane(ctx).words.submitted
    for n in range(1, 4):
        y, other = np.zeros(8, np.float32), ctx.enqueue_create_buffer(Float32, 8)
        other.enqueue_fill(float(n))
        ctx.enqueue_function(shifted, other, y, 8, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert y.tolist() == [n + 1.0] * 8
    assert lane(ctx).words.submitted <= count + 3
    same = np.ctypeslib.as_array((ctypes.c_float * 9).from_address(buffer.address))
    for _ in range(3):  # each step takes from the one before
        same[0] = 1.0
        ctx.enqueue_function(shifted, buffer, same[1:], 8, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert same.tolist() == [*range(1, 10)]


def test_arrays_beside_buffers_stay_while_a_kernel_uses_them(ctx: DeviceContext) -> None:
    flag, buffer = ctx.enqueue_create_buffer(Int32, 1), ctx.enqueue_create_buffer(Float32, 4)
    y = np.zeros(4, np.float32)
    repeated(lambda: ctx.enqueue_function(shifted, buffer, y, 4, grid_dim=1, block_dim=1), ctx)
    out = ctx.enqueue_create_buffer(Int32, 1)
    for buffers in (flag, out):
        buffers.enqueue_fill(0)
    ctx.synchronize()
    count = sys.getrefcount(y)
    side = ctx.create_stream()
    ctx.enqueue_function(wait_for, flag, out, grid_dim=1, block_dim=1)
    ctx.enqueue_function(shifted, buffer, y, 4, grid_dim=1, block_dim=1)
    assert sys.getrefcount(y) > count
    ctx.enqueue_function(raise_flag, flag, grid_dim=1, block_dim=1, stream=side)
    ctx.synchronize()
    assert sys.getrefcount(y) == count


@kernel
def transposed(a: LayoutTensor[Int32], b: LayoutTensor[Int32]):
    b[global_idx.x, global_idx.y] = a[global_idx.y, global_idx.x]


def test_tensors_of_numpy(ctx: DeviceContext) -> None:
    for shape in ((2, 3), (3, 2), (4, 1), (2, 3)):
        a = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        for source in (a, np.asfortranarray(a), np.stack([a, a + 100], 2)[:, :, 1]):
            b = np.zeros(shape[::-1], np.int32)
            for _ in range(20):
                ctx.enqueue_function(transposed, source, b, over=shape)
                ctx.synchronize()
            assert b.tolist() == source.T.tolist()


@pytest.mark.parametrize(
    "dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)
def test_elements_of_numpy(ctx: DeviceContext, dtype: str) -> None:
    x = np.array([1, 2, 3], dtype)
    for n in range(30):
        ctx.enqueue_function(add_two, x, grid_dim=1, block_dim=3)
        ctx.synchronize()
        assert x.tolist() == [2 * n + 3, 2 * n + 4, 2 * n + 5]


@kernel
def add_two(x: Pointer[Any]):
    x[thread_idx.x] += 2


@kernel
def checked(x: Pointer[Int32], n: Int32):
    print("seen", n)
    assert n >= 0, "negative"
    x[0] = n


def test_prints_and_assertions(ctx: DeviceContext, capfd: pytest.CaptureFixture[str]) -> None:
    x = ctx.enqueue_create_buffer(Int32, 1)
    repeated(lambda: ctx.enqueue_function(checked, x, 5, grid_dim=1, block_dim=1), ctx)
    capfd.readouterr()
    for _ in range(2):
        for n in (1, -2, 3, -4):
            ctx.enqueue_function(checked, x, n, grid_dim=1, block_dim=1)
        with pytest.raises(DeviceError, match="negative"):
            ctx.synchronize()
        assert capfd.readouterr().out == "seen 1\nseen -2\nseen 3\nseen -4\n"
    ctx.synchronize()


@kernel
def parts(x: Pointer[Int32], at: Int):
    if thread_idx.x == at:
        barrier()
    x[thread_idx.x] = 1


def test_threads_that_part_are_told_of_the_present_block(ctx: DeviceContext) -> None:
    x = ctx.enqueue_create_buffer(Int32, 64)
    repeated(lambda: ctx.enqueue_function(parts, x, 100, grid_dim=1, block_dim=16), ctx)
    ctx.enqueue_function(parts, x, 5, grid_dim=1, block_dim=(4, 4))
    ctx.synchronize()
    ctx.enqueue_function(parts, x, 3, grid_dim=1, block_dim=(8, 2))
    with pytest.raises(DeviceError, match=r"for thread \(3, 0, 0\)"):
        ctx.synchronize()


def test_a_capture_records_and_does_not_run(ctx: DeviceContext) -> None:
    log = ctx.enqueue_create_buffer(Int32, 200)
    repeated(lambda: ctx.enqueue_function(append, log, 7, grid_dim=1, block_dim=1), ctx)
    log.enqueue_fill(0)
    with ctx.capture() as graph:
        ctx.enqueue_function(append, log, 1, grid_dim=1, block_dim=1)
        ctx.enqueue_function(append, log, 2, grid_dim=1, block_dim=1)
    ctx.enqueue_function(append, log, 3, grid_dim=1, block_dim=1)
    graph.replay()
    ctx.enqueue_function(append, log, 4, grid_dim=1, block_dim=1)
    with log.map_to_host() as host:
        assert host.numpy()[:5].tolist() == [4, 3, 1, 2, 4]


def test_a_closed_context_takes_nothing() -> None:
    native_code()
    made = DeviceContext(api="cpu")
    log = made.enqueue_create_buffer(Int32, 200)
    log.enqueue_fill(0)
    repeated(lambda: made.enqueue_function(append, log, 7, grid_dim=1, block_dim=1), made, 150)
    stream = made.create_stream()
    for _ in range(40):
        made.enqueue_function(append, log, 7, grid_dim=1, block_dim=1, stream=stream)
        stream.synchronize()
    stream.close()
    with pytest.raises(LaunchError, match="closed"):
        made.enqueue_function(append, log, 7, grid_dim=1, block_dim=1, stream=stream)
    made.close()
    with pytest.raises(LaunchError, match="closed"):
        made.enqueue_function(append, log, 7, grid_dim=1, block_dim=1)


def test_none_is_no_buffer_that_was_given_before(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0.0)
    ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
    for _ in range(3):
        with pytest.raises(LaunchError, match="takes a buffer of Float32, not None"):
            ctx.enqueue_function(add_one, cast("Any", None), 4, grid_dim=1, block_dim=4)
    with buffer.map_to_host() as host:
        assert host[:].tolist() == [1.0] * 4
