"""Several contexts: copies between them and their order, whatever the devices."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import Float32, Int, Pointer, Tensor, kernel
from weft.diagnostics import DeviceError, LaunchError
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

Open = Callable[[str], DeviceContext]
Pair = tuple[DeviceContext, DeviceContext]
PAIRS = [
    pytest.param("cpu cpu", id="two contexts of the CPU"),
    pytest.param("cuda:0 cuda:0", marks=pytest.mark.gpu, id="two contexts of a GPU"),
    pytest.param("cuda:0 cpu", marks=pytest.mark.gpu, id="a GPU and the CPU"),
    pytest.param("cpu cuda:0", marks=pytest.mark.gpu, id="the CPU and a GPU"),
    pytest.param("cuda:0 cuda:1", marks=pytest.mark.gpu, id="two GPUs"),
]
PIECE = (16 << 20) // 4
"""Elements of four bytes that go by way of the host at a time."""


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, open_device: Open) -> Pair:
    first, second = request.param.split()
    return open_device(first), open_device(second)


@kernel
def add(vector: Pointer[Float32], size: Int, scalar: Float32):
    if global_idx.x < size:
        vector[global_idx.x] += scalar


@kernel
def add_to(vector: Pointer[Float32], other: Pointer[Float32], size: Int):
    if global_idx.x < size:
        vector[global_idx.x] += other[global_idx.x]


def read(ctx: DeviceContext, buffer: Any) -> Any:
    out = np.empty(len(buffer), buffer.dtype.name)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.synchronize()
    return out


def create(ctx: DeviceContext, where: str, dtype: str, size: int) -> Any:
    return (
        ctx.enqueue_create_buffer(dtype, size)
        if where == "device"
        else ctx.enqueue_create_host_buffer(dtype, size)
    )


@pytest.mark.parametrize("ends", ["device device", "device host", "host device", "host host"])
@pytest.mark.parametrize(("dtype", "size"), [("int8", 1), ("float32", 1000), ("int32", 2 * PIECE + 77)])
def test_copies(pair: Pair, ends: str, dtype: str, size: int) -> None:
    """Both ways, queued by either context, which alone is then waited for."""
    here, there = pair
    values = np.random.default_rng(3).integers(0, 100, size).astype(dtype)
    own_where, their_where = ends.split()
    own, theirs = create(here, own_where, dtype, size), create(there, their_where, dtype, size)
    their_end: Any = there.enqueue_create_host_buffer(dtype, size)
    there.enqueue_copy(dst=theirs, src=values)
    here.enqueue_copy(dst=own, src=theirs)
    assert np.array_equal(read(here, own), values)
    there.enqueue_fill(theirs, 7)
    here.enqueue_fill(own, 5)
    own.sub_buffer(0, size // 2).enqueue_copy_to(theirs.sub_buffer(0, size // 2))
    theirs.enqueue_copy_to(their_end)
    there.synchronize()
    expected = np.full(size, 7, dtype)
    expected[: size // 2] = 5
    assert np.array_equal(np.asarray(their_end), expected)


@pytest.mark.parametrize("size", [10, 3 * PIECE])
def test_the_end_is_complete_for_who_queued_it(pair: Pair, size: int) -> None:
    here, there = pair
    theirs: Any = there.enqueue_create_host_buffer("float32", size)
    own: Any = here.enqueue_create_buffer("float32", size)
    own.enqueue_fill(2.5)
    here.enqueue_copy(dst=theirs, src=own)
    here.synchronize()
    assert np.all(np.asarray(theirs) == 2.5)
    theirs[:] = np.arange(size, dtype=np.float32)
    there.enqueue_copy(dst=own, src=theirs)
    there.synchronize()
    theirs[:] = np.zeros(size, np.float32)
    assert np.array_equal(read(here, own), np.arange(size, dtype=np.float32))


@pytest.mark.host_waits
@pytest.mark.parametrize("size", [100, 2 * PIECE + 5])
def test_a_copy_waits_for_the_other_context_s_work(pair: Pair, size: int) -> None:
    """It takes what was written before it, and is not disturbed by what is written after."""
    here, there = pair
    own, theirs = here.enqueue_create_buffer(Float32, size), there.enqueue_create_buffer(Float32, size)
    own.enqueue_fill(0)
    theirs.enqueue_fill(1)
    here.synchronize()
    there.synchronize()
    release = threading.Event()
    there.enqueue_host_call(release.wait)
    theirs.enqueue_fill(2)
    here.enqueue_copy(dst=own, src=theirs)
    event = here.record_event()
    theirs.enqueue_fill(3)
    time.sleep(0.02)
    assert not event.done
    release.set()
    assert np.all(read(here, own) == 2)
    assert np.all(read(there, theirs) == 3)


@pytest.mark.host_waits
@pytest.mark.parametrize("size", [100, 2 * PIECE + 5])
def test_the_other_context_waits_for_a_copy(pair: Pair, size: int) -> None:
    here, there = pair
    own, theirs = here.enqueue_create_buffer(Float32, size), there.enqueue_create_buffer(Float32, size)
    arrived: Any = there.enqueue_create_host_buffer(Float32, size)
    there.compile_function(add)
    own.enqueue_fill(1)
    theirs.enqueue_fill(0)
    there.synchronize()
    here.synchronize()
    release = threading.Event()
    here.enqueue_host_call(release.wait)
    own.enqueue_fill(4)
    here.enqueue_copy(dst=theirs, src=own)
    there.enqueue_function(add, theirs, size, 1.0, grid_dim=-(-size // 256), block_dim=256)
    there.enqueue_copy(dst=arrived, src=theirs)
    event = there.record_event()
    time.sleep(0.02)
    assert not event.done
    release.set()
    there.synchronize()
    assert np.all(np.asarray(arrived) == 5)


@pytest.mark.host_waits
def test_further_streams(pair: Pair) -> None:
    """On ``stream=`` a copy is in the order of that stream, and of the other context's own."""
    here, there = pair
    own, theirs = here.enqueue_create_buffer(Float32, 50), there.enqueue_create_buffer(Float32, 50)
    release = threading.Event()
    with here.create_stream() as side:
        theirs.enqueue_fill(6)
        here.enqueue_host_call(release.wait)  # for which nothing of the copy waits
        here.enqueue_copy(dst=own, src=theirs, stream=side)
        side.synchronize()
        theirs.enqueue_fill(7)
        there.synchronize()
        release.set()
        assert np.all(read(here, own) == 6)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param("cpu cpu cpu", id="CPU"),
        pytest.param("cuda:0 cuda:0 cuda:0", marks=pytest.mark.gpu, id="GPU"),
        pytest.param("cpu cuda:0 cuda:0 cpu", marks=pytest.mark.gpu, id="both"),
        pytest.param("cuda:0 cuda:1 cuda:1", marks=pytest.mark.gpu, id="two GPUs"),
        pytest.param("cpu cuda:0 cuda:1", marks=pytest.mark.gpu, id="CPU and two GPUs"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_any_program_of_copies_is_as_if_in_order(open_device: Open, names: str, seed: int) -> None:
    """Fills, kernels and copies of several contexts in random order, and nobody waits before the end."""
    random = np.random.default_rng(seed)
    size, contexts = 20_000, [open_device(name) for name in names.split()]
    buffers: list[tuple[DeviceContext, Any, Any]] = []
    for ctx in contexts:
        for where in ("device", "host", "device"):
            buffer = create(ctx, where, "float32", size)
            buffer.enqueue_fill(0)
            buffers.append((ctx, buffer, np.zeros(size, np.float32)))
        ctx.compile_function(add)
    for _ in range(300):
        ctx, buffer, model = buffers[random.integers(len(buffers))]
        what, value = random.integers(5), float(random.integers(100))
        if what == 0:
            buffer.enqueue_fill(value)
            model[:] = value
        elif what == 1 and buffer.space == "device":
            ctx.enqueue_function(add, buffer, size, value, grid_dim=80, block_dim=256)
            model += value
        else:
            _, source, their_model = buffers[random.integers(len(buffers))]
            if source is not buffer:
                (ctx if random.integers(2) else source.context).enqueue_copy(dst=buffer, src=source)
                model[:] = their_model
    for ctx, buffer, model in buffers:
        assert np.array_equal(read(ctx, buffer), model)


@pytest.mark.host_waits
def test_memory_lives_until_the_copy_has_ended(pair: Pair) -> None:
    here, there = pair
    size = 100_000
    own = here.enqueue_create_buffer("int32", 50 * size)
    expected = np.repeat(np.arange(50, dtype=np.int32), size)
    release = threading.Event()
    here.enqueue_host_call(release.wait)
    for number in range(50):
        theirs = there.enqueue_create_buffer("int32", size)
        theirs.enqueue_fill(number)
        here.enqueue_copy(dst=own[number * size : (number + 1) * size], src=theirs)
        del theirs
        if number % 20 == 0:
            gc.collect()
    release.set()
    assert np.array_equal(read(here, own), expected)


def test_a_closed_context_s_buffers(pair: Pair) -> None:
    here, there = pair
    own, theirs = here.enqueue_create_buffer("int32", 1000), there.enqueue_create_buffer("int32", 1000)
    theirs.enqueue_fill(3)
    there.close()
    if here.api == "cpu" and there.api == "cuda":
        with pytest.raises(LaunchError, match=r"this context .*cuda:0.* is closed"):
            here.enqueue_copy(dst=own, src=theirs)
        return
    here.enqueue_copy(dst=own, src=theirs)
    assert np.all(read(here, own) == 3)
    own.enqueue_fill(4)
    here.enqueue_copy(dst=theirs, src=own)
    del theirs
    here.synchronize()


@pytest.mark.host_waits
def test_memory_of_a_closed_context_lives_until_the_copy_has_ended(pair: Pair, open_device: Open) -> None:
    here, there = pair
    if here.api == "cpu" and there.api == "cuda":
        pytest.skip("a closed context of a GPU has no stream for it")
    size, release = 1 << 20, threading.Event()
    own = here.enqueue_create_buffer("int32", 20 * size)
    theirs = [there.enqueue_create_buffer("int32", size) for _ in range(20)]
    for number in range(20):
        theirs[number].enqueue_fill(number)
    there.close()
    here.enqueue_host_call(release.wait)
    for number in range(20):
        here.enqueue_copy(dst=own[number * size : (number + 1) * size], src=theirs[number])
    del theirs
    gc.collect()
    again = open_device(f"{there.api}:{there.id}")
    for _ in range(20):  # in the memory that would be free
        again.enqueue_create_buffer("int32", size).enqueue_fill(99)
    again.synchronize()
    release.set()
    assert np.array_equal(read(here, own), np.repeat(np.arange(20, dtype=np.int32), size))


def test_copies_in_a_graph(pair: Pair) -> None:
    """They are part of it, read their source at each replay, and wait for nobody."""
    here, there = pair
    own, theirs = here.enqueue_create_buffer("int32", 1000), there.enqueue_create_buffer("int32", 1000)
    back = there.enqueue_create_buffer("int32", 1000)
    theirs.enqueue_fill(1)
    there.synchronize()
    if (here.api, there.api) == ("cpu", "cuda"):
        with pytest.raises(LaunchError, match="a graph of the CPU holds no copy from or to a GPU's memory"):
            with here.capture():
                here.enqueue_copy(dst=own, src=theirs)
        return
    with here.capture() as graph:
        here.enqueue_copy(dst=own, src=theirs)
        here.enqueue_copy(dst=back, src=own)
    for value in (2, 3):
        theirs.enqueue_fill(value)
        there.synchronize()
        graph.replay()
        here.synchronize()
        assert np.all(read(here, own) == value)
        assert np.all(read(there, back) == value)
    theirs.close()
    back.close()
    gc.collect()
    graph.replay()
    graph.close()
    here.synchronize()


def test_a_copy_beside_another_context_s_capture(pair: Pair) -> None:
    """What another context captures is its own work; this one's runs."""
    here, there = pair
    own, theirs = here.enqueue_create_buffer("int32", 10), there.enqueue_create_buffer("int32", 10)
    theirs.enqueue_fill(1)
    with there.capture() as graph:
        theirs.enqueue_fill(2)
        here.enqueue_copy(dst=own, src=theirs)
    assert len(graph) == 1
    assert np.all(read(here, own) == 1)


def test_neither_end_is_own(pair: Pair) -> None:
    here, there = pair
    with DeviceContext(api="cpu") as third:
        one, two = here.enqueue_create_buffer("int32", 4), there.enqueue_create_buffer("int32", 4)
        with pytest.raises(
            LaunchError, match="neither end of the copy is a buffer of this context"
        ) as refused:
            third.enqueue_copy(dst=one, src=two)
        assert refused.value.diagnostics[0].hints == (
            "have the buffer's context do it: `dst.enqueue_copy_from(src)`",
        )
        with pytest.raises(LaunchError, match="src is a DeviceBuffer of 4 int32 of ") as refused:
            third.enqueue_copy(dst=np.zeros(4, np.int32), src=two)
        assert "`src.enqueue_copy_to(dst)`" in refused.value.diagnostics[0].hints[0]
        one.close()
        with pytest.raises(LaunchError, match="is closed"):
            there.enqueue_copy(dst=two, src=one)


def test_time_between_events_of_two_devices(pair: Pair) -> None:
    here, there = pair
    first, last = here.record_event(), there.record_event()
    here.enqueue_wait_for(last)
    if (here.api, here.id) == (there.api, there.id):
        last.seconds_since(first)
        return
    with pytest.raises(LaunchError, match="events of two devices have no time between them: this is of "):
        last.seconds_since(first)


def test_tensors_move(pair: Pair) -> None:
    here, there = pair
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tensor = Tensor.from_numpy(values, here)
    assert np.array_equal(tensor.to(there).to(here).numpy(), values)
    assert np.array_equal(tensor.move_to(there).numpy(), values)


def test_kernels_take_a_peer_s_buffers(pair: Pair) -> None:
    here, there = pair
    own, theirs = here.enqueue_create_buffer(Float32, 100), there.enqueue_create_buffer(Float32, 100)
    own.enqueue_fill(1)
    theirs.enqueue_fill(2)

    def launch(one: Any = own, two: Any = theirs) -> None:
        here.enqueue_function(add_to, one, two, 100, grid_dim=1, block_dim=128)

    if not here.reaches(there):  # between two GPUs an earlier test of this process may have enabled it
        with pytest.raises(LaunchError, match="argument `other` belongs to another") as refused:
            launch()
        hints = " ".join(refused.value.diagnostics[0].hints)
        assert "ctx.enqueue_copy(" in hints
        assert ("ctx.enable_peer_access(other)" in hints) == here.can_access(there)
    if not here.can_access(there):
        with pytest.raises(DeviceError, match="cannot use the memory of"):
            here.enable_peer_access(there)
        return
    here.enable_peer_access(there)
    here.enable_peer_access(there)
    here.enqueue_wait_for(there)
    for _ in range(20):  # also by the native stub
        launch()
    assert np.all(read(here, own) == 41)
    there.enable_peer_access(here)
    there.enqueue_wait_for(here)
    there.enqueue_function(add, own, 100, 1.0, grid_dim=1, block_dim=128)
    there.synchronize()
    assert np.all(read(here, own) == 42)
    tensors = Tensor.from_numpy(np.ones(100, np.float32), there)
    here.enqueue_function(add_to, own, tensors.storage, 100, grid_dim=1, block_dim=128)
    assert np.all(read(here, own) == 43)
    here.enqueue_fill(theirs[:50], 9)
    here.synchronize()
    assert read(there, theirs).tolist() == [9.0] * 50 + [2.0] * 50


@pytest.mark.host_waits
def test_a_peer_s_memory_lives_until_the_kernel_has_ended(pair: Pair) -> None:
    here, there = pair
    if not here.can_access(there):
        pytest.skip("these two cannot use each other's memory")
    here.enable_peer_access(there)
    here.compile_function(add_to)
    size, release = 100_000, threading.Event()
    own = here.enqueue_create_buffer(Float32, size)
    with here.create_stream() as side:
        here.enqueue_fill(own, 0, stream=side)
        side.enqueue_host_call(release.wait)
        for number in range(30):
            theirs = there.enqueue_create_buffer(Float32, size)
            theirs.enqueue_fill(number)
            side.enqueue_wait_for(there)
            here.enqueue_function(add_to, own, theirs, size, grid_dim=400, block_dim=256, stream=side)
            del theirs
            here.synchronize()  # not what the kernels are on
        release.set()
        side.synchronize()
    assert np.all(read(here, own) == sum(range(30)))


def test_peers_that_are_none(any_context: DeviceContext) -> None:
    wrong: Any = 1
    for name in ("can_access", "enable_peer_access"):
        with pytest.raises(LaunchError, match=f"{name} takes another DeviceContext, not an int") as refused:
            getattr(any_context, name)(wrong)
        assert refused.value.diagnostics[0].hints == (f"write ctx.{name}(DeviceContext(1))",)
    DeviceContext.enable_all_peer_access(api="cpu")
