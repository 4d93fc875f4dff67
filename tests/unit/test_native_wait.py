"""Waits for the CPU's stream by native code: what there is to tell is told all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from weft import DeviceError, Float32, Int, LaunchError, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code
from weft.runtime.cpu.device import CpuStream
from weft.runtime.cpu.queue import Lane


@kernel
def add_one(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        x[i] += 1.0


@kernel
def checked_add(x: Pointer[Float32], n: Int):
    assert n < 100, "too many"
    x[0] += 1.0


@kernel
def told(x: Pointer[Float32], n: Int):
    print(n)
    x[0] += 1.0


@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    """A context that launches and waits natively."""
    native_code()
    with DeviceContext(api="cpu", threads=2) as made:
        buffer = made.enqueue_create_buffer(Float32, 4)
        for _ in range(200):
            made.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
            made.synchronize()
        assert type(made.synchronize) is type(len)
        yield made


@pytest.fixture
def by_python(ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes the waits that come to Python."""
    stream, waits, wait = ctx.stream.native, list[int](), Lane.synchronize
    assert isinstance(stream, CpuStream)

    def noted(lane: Lane) -> None:
        waits.append(1)
        wait(lane)

    monkeypatch.setattr(Lane, "synchronize", noted)
    return waits


def test_nothing_to_tell_does_not_come_to_python(ctx: DeviceContext, by_python: list[int]) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0.0)
    ctx.synchronize()
    by_python.clear()
    for _ in range(20):
        ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
        ctx.synchronize()
    assert len(by_python) < 20
    with buffer.map_to_host() as values:
        assert list(values) == [20.0] * 4


def test_long_native_launches_have_ended(ctx: DeviceContext) -> None:
    n = 1 << 22
    x = np.zeros(n, np.float32)
    for times in range(1, 20):
        ctx.enqueue_function(add_one, x, n, grid_dim=n // 256, block_dim=256)
        ctx.synchronize()
        assert x.min() == x.max() == times


def test_a_failed_assertion_is_raised_once(ctx: DeviceContext) -> None:
    x = np.zeros(4, np.float32)
    for _ in range(50):
        ctx.enqueue_function(checked_add, x, 5, grid_dim=1, block_dim=1)
        ctx.synchronize()
    for _ in range(3):
        ctx.enqueue_function(checked_add, x, 500, grid_dim=1, block_dim=1)
        with pytest.raises(DeviceError, match="too many"):
            ctx.synchronize()
        ctx.synchronize()


def test_text_is_written(ctx: DeviceContext, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.zeros(4, np.float32)
    for n in range(50):
        ctx.enqueue_function(told, x, n, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert capsys.readouterr().out == f"{n}\n"


def test_tasks_of_python_are_waited_for(ctx: DeviceContext) -> None:
    done: list[int] = []

    def call() -> None:
        time.sleep(0.01)
        done.append(1)

    for n in range(1, 5):
        ctx.enqueue_host_call(call)
        ctx.synchronize()
        assert len(done) == n


def test_a_failed_task_is_raised(ctx: DeviceContext) -> None:
    def call() -> None:
        raise ValueError("of the task")

    ctx.enqueue_host_call(call)
    with pytest.raises(DeviceError, match="of the task"):
        ctx.synchronize()


def test_a_capture_and_a_closed_context_refuse(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    buffer.enqueue_fill(0.0)
    with ctx.capture() as graph:
        ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
        with pytest.raises(LaunchError, match="nothing to wait for"):
            ctx.synchronize()
    graph.replay()
    ctx.synchronize()
    with buffer.map_to_host() as values:
        assert list(values) == [1.0] * 4
    ctx.close()
    with pytest.raises(LaunchError, match="is closed"):
        ctx.synchronize()


def test_other_threads_wait_too(ctx: DeviceContext) -> None:
    n = 1 << 20
    x = np.zeros(n, np.float32)
    for _ in range(30):
        ctx.enqueue_function(add_one, x, n, grid_dim=n // 256, block_dim=256)
        ctx.synchronize()

    def work() -> None:
        for _ in range(20):
            ctx.enqueue_function(add_one, x, n, grid_dim=n // 256, block_dim=256)
            ctx.synchronize()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ctx.synchronize()
    assert x.min() == x.max() == 70


def test_a_subclass_that_waits_its_own_way_is_asked() -> None:
    native_code()

    class Counted(DeviceContext):
        waits = 0

        def synchronize(self) -> None:
            Counted.waits += 1
            super().synchronize()

    with Counted(api="cpu") as ctx:
        buffer = ctx.enqueue_create_buffer(Float32, 4)
        for _ in range(100):
            ctx.enqueue_function(add_one, buffer, 4, grid_dim=1, block_dim=4)
            ctx.synchronize()
    assert Counted.waits >= 100
