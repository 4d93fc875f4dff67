"""Launches on the CPU that native code queues for the threads of the pool: order, ends, failures, forks."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from weft import DeviceError, Float32, Int, Int32, Pointer, kernel
from weft.abi.cpu_launch import JOBS_AT, JobWords, QueueWords
from weft.atomic import Atomic
from weft.gpu import block_idx, global_idx
from weft.gpu.host import DeviceContext
from weft.lang.c_structs import c_struct
from weft.launch.native import queues
from weft.launch.native.code import native_code
from weft.runtime.cpu.device import CpuStream
from weft.runtime.cpu.queue import Lane

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the pool is of pthreads")
N = 1 << 14
LONG = 3000


def test_both_sides_mean_the_same_memory() -> None:
    assert c_struct(queues.Job).own.offset == 8 * queues.OWN_AT
    assert ctypes.sizeof(c_struct(queues.Job)) == ctypes.sizeof(JobWords) == 8 * 64
    for name in ("entry", "instruction", "held", "own"):
        assert getattr(c_struct(queues.Job), name).offset == getattr(JobWords, name).offset
    assert 8 * queues.JOB_AT == JOBS_AT
    assert (QueueWords.queued.offset, QueueWords.ended.offset) == (8 * queues.QUEUED, 8 * queues.ENDED)


@kernel
def relax(x: Pointer[Float32], n: Int):
    i = global_idx.x
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v


@kernel
def step(x: Pointer[Int32], value: Int32, n: Int):
    i = global_idx.x
    v = x[i]
    for k in range(n):
        v = v * 3 + Int32(k)
    x[i] = v * 7 + value


def lane_of(stream: Any) -> Lane:
    native = stream.native
    assert isinstance(native, CpuStream)
    return getattr(native, "_lane")  # noqa: B009


def native(ctx: DeviceContext, launch: Callable[[], object], stream: Any = None) -> Lane:
    """Launch until native code queues such launches."""
    lane = lane_of(stream or ctx.stream)
    wait = (stream or ctx).synchronize
    for _ in range(100):
        before = lane.words.submitted
        launch()
        wait()
        if lane.words.submitted == before and lane.words.queue:
            return lane
    raise AssertionError("all launches go through Python")


@pytest.fixture(params=[1, 3])
def ctx(request: pytest.FixtureRequest) -> Iterator[DeviceContext]:
    native_code()
    with DeviceContext(api="cpu", threads=request.param) as made:
        buffer = made.enqueue_create_buffer(Float32, N)
        native(made, lambda: made.enqueue_function(relax, buffer, LONG, grid_dim=N // 64, block_dim=64))
        yield made


def queued(ctx: DeviceContext) -> int:
    native = getattr(lane_of(ctx.stream), "_native")  # noqa: B009
    return native.queued


def model(x: np.ndarray, value: int, n: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        for k in range(n):
            x = x * np.int32(3) + np.int32(k)
        return x * np.int32(7) + np.int32(value)


def test_the_order_of_a_stream_is_kept(ctx: DeviceContext) -> None:
    x = ctx.enqueue_create_buffer(Int32, N)
    x.enqueue_fill(1)
    wanted = np.full(1, 1, np.int32)
    count = queued(ctx)
    for n in range(250):
        rounds = 200 if n % 3 else 5
        ctx.enqueue_function(step, x, n, rounds, grid_dim=N // 64, block_dim=64)
        wanted = model(wanted, n, rounds)
        if n % 50 == 7:
            ctx.enqueue_host_call(lambda: time.sleep(0.001))
        if n % 40 == 3:
            ctx.synchronize()
        if n == 200:
            ctx.enqueue_fill(x, 5)
            wanted[:] = 5
    with x.map_to_host() as host:
        assert np.array_equal(host.numpy(), np.full(N, wanted[0]))
    assert queued(ctx) > count + 50


def test_more_launches_than_a_queue_holds(ctx: DeviceContext) -> None:
    x = ctx.enqueue_create_buffer(Int32, N)

    def launch(n: int) -> None:
        ctx.enqueue_function(step, x, n, 300, grid_dim=N // 64, block_dim=64)

    for _ in range(20):
        launch(0)
        ctx.synchronize()
    x.enqueue_fill(0)
    ctx.synchronize()
    wanted = np.zeros(1, np.int32)
    for n in range(3 * queues.MOST_JOBS):
        launch(n)
        wanted = model(wanted, n, 300)
    with x.map_to_host() as host:
        assert np.array_equal(host.numpy(), np.full(N, wanted[0]))


def test_streams_side_by_side(ctx: DeviceContext) -> None:
    streams = [ctx.create_stream() for _ in range(5)]
    buffers = [ctx.enqueue_create_buffer(Int32, N) for _ in streams]
    ctx.synchronize()
    wanted = np.zeros(5, np.int32)
    for stream, x in zip(streams, buffers, strict=True):
        ctx.enqueue_fill(x, 0, stream=stream)
    for n in range(60):
        for k, (stream, x) in enumerate(zip(streams, buffers, strict=True)):
            ctx.enqueue_function(step, x, n + k, 50, grid_dim=N // 64, block_dim=64, stream=stream)
            wanted[k : k + 1] = model(wanted[k : k + 1], n + k, 50)
        if n % 30 == 1:
            streams[n % 5].synchronize()
    for stream in streams:
        stream.synchronize()
    for x, value in zip(buffers, wanted, strict=True):
        with x.map_to_host() as host:
            assert np.array_equal(host.numpy(), np.full(N, value))


def test_more_streams_than_queues() -> None:
    """Queues of streams that are gone are used again."""
    native_code()
    with DeviceContext(api="cpu", threads=2) as ctx:
        x = ctx.enqueue_create_buffer(Float32, N)
        for _ in range(queues.MOST_QUEUES + 10):
            stream = ctx.create_stream()
            for _ in range(12):
                ctx.enqueue_function(relax, x, 400, grid_dim=N // 64, block_dim=64, stream=stream)
            stream.synchronize()
            stream.close()
        native(ctx, lambda: ctx.enqueue_function(relax, x, LONG, grid_dim=N // 64, block_dim=64))


def test_threads_of_the_host_take_turns(ctx: DeviceContext) -> None:
    out = ctx.enqueue_create_buffer(Int32, N)
    out.enqueue_fill(0)
    ctx.synchronize()

    def work() -> None:
        for n in range(60):
            ctx.enqueue_function(count, out, 40, grid_dim=N // 64, block_dim=64)
            if n % 9 == 0:
                ctx.synchronize()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    with out.map_to_host() as host:
        assert np.array_equal(host.numpy(), np.full(N, 4 * 60 * 40))


@kernel
def count(x: Pointer[Int32], n: Int):
    for _ in range(n):
        Atomic.fetch_add(x + global_idx.x, 1)


def test_arrays_live_until_their_launch_has_ended(ctx: DeviceContext) -> None:
    def launch(x: np.ndarray) -> None:
        ctx.enqueue_function(relax, x, LONG, grid_dim=N // 64, block_dim=64)

    x = np.zeros(N, np.float32)
    for _ in range(20):
        launch(x)
        ctx.synchronize()
    gone: list[weakref.ref[Any]] = []
    for _ in range(30):
        y = np.zeros(N, np.float32)
        gone.append(weakref.ref(y))
        launch(y)
        del y
    launch(x)
    ctx.synchronize()
    assert np.array_equal(x, np.full(N, 2.0, np.float32))
    ctx.synchronize()
    gc.collect()
    assert [one for one in gone if one() is not None] == []


def test_kernels_and_contexts_that_are_dropped(ctx: DeviceContext) -> None:
    out = np.zeros(N, np.float32)
    threads = ctx.info.multiprocessors
    for _ in range(3):
        other = DeviceContext(api="cpu", threads=threads)

        @kernel
        def own(x: Pointer[Float32], n: Int):
            for _ in range(n):
                x[global_idx.x] += 1.0

        for _ in range(30):
            other.enqueue_function(own, out, 500, grid_dim=N // 64, block_dim=64)
            other.synchronize()
        for _ in range(10):
            other.enqueue_function(own, out, 500, grid_dim=N // 64, block_dim=64)
        event = other.record_event()
        del other, own
        gc.collect()
        event.synchronize()
    assert np.array_equal(out, np.full(N, 3 * 40 * 500, np.float32))


@kernel
def wait_for(flag: Pointer[Int32], out: Pointer[Int32]):
    while Atomic.load(flag) == 0:
        pass
    Atomic.fetch_add(out, 1)


@kernel
def slow_flag(flag: Pointer[Int32], x: Pointer[Float32], n: Int):
    v = x[global_idx.x]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[global_idx.x] = v
    if global_idx.x == 0:
        Atomic.store(flag, 1)


def test_kernels_that_wait_leave_a_thread_for_others(ctx: DeviceContext) -> None:
    flag, out = ctx.enqueue_create_buffer(Int32, 1), ctx.enqueue_create_buffer(Int32, 1)
    x = ctx.enqueue_create_buffer(Float32, N)
    other, third = ctx.create_stream(), ctx.create_stream()

    def raise_flag() -> None:
        ctx.enqueue_function(slow_flag, flag, x, LONG, grid_dim=N // 64, block_dim=64, stream=other)

    for _ in range(30):
        raise_flag()
        other.synchronize()
    out.enqueue_fill(0)
    for n in range(20):
        flag.enqueue_fill(0)
        ctx.synchronize()
        ctx.enqueue_function(wait_for, flag, out, grid_dim=3000, block_dim=1)
        ctx.enqueue_function(wait_for, flag, out, grid_dim=3000, block_dim=1, stream=third)
        if n % 2:
            time.sleep(0.002)
        raise_flag()
        ctx.synchronize()
        third.synchronize()
        other.synchronize()
    with out.map_to_host() as host:
        assert host[0] == 20 * 6000


@kernel
def checked(x: Pointer[Float32], n: Int, bad: Int):
    i = global_idx.x
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v
    if i == 0:
        print("seen", bad)
    assert i != bad, "bad"


def test_prints_and_assertions(ctx: DeviceContext, capfd: pytest.CaptureFixture[str]) -> None:
    x = ctx.enqueue_create_buffer(Float32, N)

    def launch(bad: int) -> None:
        ctx.enqueue_function(checked, x, LONG, bad, grid_dim=N // 64, block_dim=64)

    for _ in range(30):
        launch(-1)
        ctx.synchronize()
    capfd.readouterr()
    for _ in range(2):
        for bad in (-1, 77, -2, 78):
            launch(bad)
        with pytest.raises(DeviceError, match=r"(?s)bad.*in block \(1, 0, 0\), thread \(13, 0, 0\)"):
            ctx.synchronize()
        assert capfd.readouterr().out == "seen -1\nseen 77\nseen -2\nseen 78\n"
    ctx.synchronize()


@kernel
def uneven(x: Pointer[Int], n: Int):
    total = Int(0)
    for i in range(n * Int(block_idx.x == 0)):
        total = total * 3 + i ^ total
    x[block_idx.x] = total + 1


def test_memory_is_kept_and_given_back(ctx: DeviceContext) -> None:
    y = ctx.enqueue_create_buffer(Int, 256)
    for _ in range(50):
        x = ctx.enqueue_create_buffer(Int, 256)
        ctx.enqueue_function(uneven, x, 100_000, grid_dim=256, block_dim=1)
        ctx.enqueue_copy(dst=y, src=x)
        x.close()
    with y.map_to_host() as host:
        assert host.numpy()[1:].tolist() == [1] * 255


# -- processes ----------------------------------------------------------------------------------

HEAD = """
import os, signal, sys, threading, time
import numpy as np
from weft import Float32, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code

@kernel
def relax(x: Pointer[Float32], n: Int):
    i = global_idx.x
    v = x[i]
    for _ in range(n):
        v = v * 0.5 + 1.0
    x[i] = v

native_code()
ctx = DeviceContext(api="cpu", threads=2)
x = ctx.enqueue_create_buffer(Float32, 1 << 14)
def launch(n=3000):
    ctx.enqueue_function(relax, x, n, grid_dim=256, block_dim=64)
for _ in range(40):
    launch(); ctx.synchronize()
lane = ctx.stream._lane
before = lane.words.submitted
launch(); ctx.synchronize()
assert lane.words.queue and lane.words.submitted == before, "through Python"
"""


def run_python(text: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(HEAD + text)
        return subprocess.run(
            [sys.executable, str(program)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )


def test_a_wait_can_be_interrupted() -> None:
    ended = run_python(
        "launch(300_000_000)\n"
        "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "start = time.monotonic()\n"
        "try: ctx.synchronize()\n"
        "except KeyboardInterrupt: print(time.monotonic() - start < 5, flush=True)\n"
        "os._exit(0)\n"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_the_end_waits_for_what_runs_and_not_for_ever() -> None:
    ended = run_python("y = np.zeros(1 << 14, np.float32)\nlaunch(30_000)\nctx.enqueue_copy(dst=y, src=x)\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    start = time.monotonic()
    ended = run_python("launch(3_000_000_000)\nstart = time.monotonic()\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert time.monotonic() - start < 30


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_while_the_pool_works() -> None:
    ended = run_python(
        "children = []\n"
        "for n in range(3):\n"
        "    for _ in range(10): launch()\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        own = DeviceContext(api='cpu', threads=2)\n"
        "        for c in (ctx, own):\n"
        "            y = np.zeros(1 << 14, np.float32)\n"
        "            for _ in range(30):\n"
        "                c.enqueue_function(relax, y, 3000, grid_dim=256, block_dim=64)\n"
        "                c.synchronize()\n"
        "            assert (y == 2).all()\n"
        "        os._exit(7)\n"
        "    children.append(pid)\n"
        "print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])\n"
        "ctx.synchronize()\n"
    )
    assert (ended.returncode, ended.stdout) == (0, f"{[7] * 3}\n"), ended.stderr
