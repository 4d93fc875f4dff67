"""Several threads, forks and full queues on the CPU as a device: nothing crashes, hangs or is lost."""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from weft import Float32, Int, Pointer, UInt64, config, kernel
from weft.compiler.pipeline import elaborate_kernel
from weft.diagnostics import LaunchError
from weft.ffi import external_call
from weft.gpu import block_idx, global_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.runtime.cpu.device import CpuStream
from weft.runtime.cpu.queue import MOST_TASKS, Lane

N = 1 << 19


@kernel
def relax(x: Pointer[Float32]):
    i = global_idx.x
    for _ in range(2):
        x[i] = x[i] * 0.5 + 1.0


def lane_of(ctx: DeviceContext) -> Lane:
    stream = ctx.stream
    assert isinstance(stream, CpuStream)
    return stream._lane  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def launch_array(ctx: DeviceContext) -> None:
    ctx.enqueue_function(relax, np.zeros(N, np.float32), grid_dim=N // 256, block_dim=256)


def launch_buffer(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, N)
    ctx.enqueue_function(relax, buffer, grid_dim=N // 256, block_dim=256)


def copy_array(ctx: DeviceContext) -> None:
    ctx.enqueue_copy(dst=ctx.enqueue_create_buffer(Float32, N), src=np.zeros(N, np.float32))
    ctx.enqueue_copy(dst=np.empty(N, np.float32), src=ctx.enqueue_create_buffer(Float32, N))


def fill_on_a_stream(ctx: DeviceContext) -> None:
    with ctx.create_stream() as stream:
        ctx.enqueue_fill(ctx.enqueue_create_buffer(Float32, N), 2.0, stream=stream)
        ctx.record_event(stream=stream).synchronize()


USES: list[Callable[[DeviceContext], None]] = [launch_array, launch_buffer, copy_array, fill_on_a_stream]


def test_closing_while_others_use_the_context(quick_switches: None) -> None:
    codes: set[str] = set()
    done: list[int] = []
    with DeviceContext(api="cpu") as warm:
        launch_array(warm)

    def use(ctx: DeviceContext, work: Callable[[DeviceContext], None]) -> None:
        for n in range(40):
            try:
                work(ctx)
            except LaunchError as error:
                codes.add(error.diagnostics[0].code)
                return
            done.append(n)

    for repetition in range(8):
        ctx = DeviceContext(api="cpu")
        threads = [threading.Thread(target=use, args=(ctx, work)) for work in USES]
        for thread in threads:
            thread.start()
        time.sleep(0.004 * (repetition % 4))
        ctx.synchronize()
        closers = [threading.Thread(target=ctx.close) for _ in range(2)]
        for thread in closers:
            thread.start()
        for thread in (*threads, *closers):
            thread.join()
    assert codes <= {"context-closed", "stream-closed"}
    assert done


@kernel
def who(out: Pointer[UInt64], rounds: Int):
    total = Float32(0.0)
    for i in range(rounds):
        total = total * 0.5 + Float32(i)
    out[block_idx.x] = external_call["pthread_self", UInt64]() + UInt64(total < 0.0)


@pytest.mark.skipif(sys.platform == "win32", reason="C's threads have no such numbers")
def test_as_many_threads_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(ctx: DeviceContext) -> int:
        out = np.zeros(40, np.uint64)
        for _ in range(2):
            ctx.enqueue_function(who, out, 1_000_000, grid_dim=40, block_dim=1)
            ctx.synchronize()
        return len(set(out.tolist()))

    for count in (1, 3):
        ctx = DeviceContext(api="cpu", threads=count)
        assert ctx.info.multiprocessors == count
        assert taken(ctx) in ((1,) if count == 1 else (2, 3))
    monkeypatch.setenv("WEFT_CPU_THREADS", "1")
    assert DeviceContext(api="cpu").info.multiprocessors == taken(DeviceContext(api="cpu")) == 1
    assert DeviceContext(api="cpu", threads=2).info.multiprocessors == 2
    with config.scope(cpu_threads=5):
        assert DeviceContext(api="cpu").info.multiprocessors == 5
    for bad in (0, -1, 1025, True, 1.5, "2"):
        with pytest.raises(LaunchError, match=f"threads={bad!r} is no number of threads from 1 to 1024"):
            DeviceContext(api="cpu", threads=cast("Any", bad))


def test_what_is_queued_before_close_is_done() -> None:
    ctx = DeviceContext(api="cpu")
    out = np.zeros(N, np.float32)
    for _ in range(50):
        ctx.enqueue_function(relax, out, grid_dim=N // 256, block_dim=256)
    ctx.close()
    expected = np.float32(0)
    for _ in range(100):
        expected = expected * np.float32(0.5) + np.float32(1)
    assert np.array_equal(out, np.full(N, expected))


def test_a_queue_that_is_full_makes_its_thread_wait() -> None:
    ctx = DeviceContext(api="cpu")
    begin, count = threading.Event(), 3 * MOST_TASKS
    seen: list[int] = []

    def submit() -> None:
        for n in range(count):
            ctx.enqueue_host_call(lambda n=n: seen.append(n))

    ctx.enqueue_host_call(begin.wait)
    thread = threading.Thread(target=submit)
    thread.start()
    lane = lane_of(ctx)
    while not lane.waiting:
        time.sleep(0.001)
    assert lane.tasks <= MOST_TASKS + 1
    begin.set()
    thread.join()
    ctx.synchronize()
    assert seen == list(range(count))


def test_bytes_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.runtime.cpu.queue.MOST_BYTES", 1 << 20)
    ctx = DeviceContext(api="cpu")
    begin, source = threading.Event(), np.ones(1 << 16, np.float32)
    buffer = ctx.enqueue_create_buffer(Float32, source.size)

    def submit() -> None:
        for _ in range(50):
            ctx.enqueue_copy(dst=buffer, src=source)

    ctx.enqueue_host_call(begin.wait)
    thread = threading.Thread(target=submit)
    thread.start()
    lane = lane_of(ctx)
    while not lane.waiting:
        time.sleep(0.001)
    assert lane.nbytes <= (1 << 20) + source.nbytes
    begin.set()
    thread.join()
    ctx.synchronize()


def test_queued_functions_may_queue_more_than_there_is_room_for() -> None:
    one, two = DeviceContext(api="cpu"), DeviceContext(api="cpu")
    seen: list[int] = []

    def inside() -> None:
        for n in range(2 * MOST_TASKS):
            one.enqueue_host_call(lambda n=n: seen.append(n))
            two.enqueue_host_call(lambda n=n: seen.append(n))

    one.enqueue_host_call(inside)
    one.synchronize()  # what that queues comes behind
    one.synchronize()
    two.synchronize()
    assert len(seen) == 4 * MOST_TASKS


def run_python(text: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_wait_for_room_can_be_interrupted() -> None:
    text = (
        "import os, signal, threading, time\n"
        "from weft.runtime.context import BaseContext\n"
        "from weft.runtime.cpu.queue import MOST_TASKS\n"
        "ctx, begin = BaseContext(api='cpu'), threading.Event()\n"
        "ctx.enqueue_host_call(begin.wait)\n"
        "def interrupt():\n"
        "    while not ctx.stream._lane.waiting: time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "try:\n"
        "    for _ in range(2 * MOST_TASKS): ctx.enqueue_host_call(int)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "begin.set(); ctx.synchronize(); print('done')\n"
    )
    ended = run_python(text)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\ndone\n", "")


# -- forks --------------------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> int:
    """The exit status of a forked child that does the work; -1 where it hangs."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    for _ in range(2000):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def use_all(ctx: DeviceContext) -> None:
    for work in USES:
        work(ctx)
    ctx.synchronize()
    x = np.zeros(N, np.float32)
    ctx.enqueue_function(relax, x, grid_dim=N // 256, block_dim=256)
    ctx.synchronize()
    assert (x == 1.5).all()


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
loud = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@forks
@loud
def test_a_fork_while_kernels_run_and_the_queue_is_full(quick_switches: None) -> None:
    ctx = DeviceContext(api="cpu")
    use_all(ctx)
    stop = threading.Event()

    def submit() -> None:
        while not stop.is_set():
            launch_buffer(ctx)

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        statuses = [in_child(lambda: use_all(ctx)) for _ in range(8)]
        made_there = in_child(lambda: use_all(DeviceContext(api="cpu")))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert (statuses, made_there) == ([0] * 8, 0)
    use_all(ctx)


@forks
@loud
def test_a_fork_in_queued_work_and_in_a_thread() -> None:
    ctx = DeviceContext(api="cpu")
    use_all(ctx)
    found: list[int] = []
    ctx.enqueue_host_call(lambda: found.append(in_child(lambda: use_all(ctx))))
    ctx.synchronize()
    thread = threading.Thread(target=lambda: found.append(in_child(lambda: use_all(ctx))))
    thread.start()
    thread.join()
    assert found == [0, 0]
    use_all(ctx)


@forks
@loud
def test_an_event_of_the_parent_is_refused_in_the_child() -> None:
    ctx = DeviceContext(api="cpu")
    begin = threading.Event()
    ctx.enqueue_host_call(begin.wait)
    event = ctx.record_event()

    def wait() -> None:
        with pytest.raises(LaunchError, match="recorded before the process forked"):
            event.synchronize()

    status = in_child(wait)
    begin.set()
    event.synchronize()
    assert status == 0


def process(queue: Any) -> None:
    x = np.zeros(N, np.float32)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(relax, x, grid_dim=N // 256, block_dim=256)
    queue.put(float(x.sum()))


@loud
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"the system has no {method}")
    with DeviceContext(api="cpu") as ctx:
        use_all(ctx)
        context: Any = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        child = context.Process(target=process, args=(queue,))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        assert queue.get() == N * 1.5


# -- stacks -------------------------------------------------------------------------------------

STACKS = """
import threading, sys
import numpy as np
from weft import Float32, Int, Pointer, func, kernel
from weft.memory import stack_allocation
from weft.gpu import barrier, thread_idx
from weft.gpu.host import DeviceContext

{functions}

@kernel
def deep(x: Pointer[Float32], n: Int):
    own = stack_allocation(Float32, {own})
    for i in range(n):
        own[i] = x[i]
    x[thread_idx.x] = f{last}(own, n) + own[n - 1]

if {small}:
    threading.stack_size(131072)
ctx = DeviceContext(api="cpu")
x = np.arange(64, dtype=np.float32)
ctx.enqueue_function(deep, x, 64, grid_dim=1, block_dim=1)
ctx.synchronize()
print(x[0])
"""
FUNCTION = """
@func
def f{n}(x: Pointer[Float32], n: Int) -> Float32:
    mine = stack_allocation(Float32, {size})
    for i in range(n):
        mine[i] = x[n - 1 - i] + 1.0
    return mine[0] + {inner}
"""


def nested_arrays(count: int, size: int) -> tuple[str, float]:
    """So many functions that call each other, each with an array of so many floats, and what they give."""
    text = ""
    first, last = 0.0, 63.0
    total = 0.0
    for n in range(count):
        inner = f"f{n - 1}(mine, n)" if n else "0.0"
        text += FUNCTION.format(n=n, size=size, inner=inner)
        first, last = last + 1, first + 1
        total += first
    return text, total + 63.0


@pytest.mark.parametrize(
    ("count", "size", "own", "small"),
    [(34, 62_500, 64, False), (1, 50_000, 50_000, True), (12, 20_000, 64, True)],
)
def test_kernels_run_on_stacks_that_are_large_enough(
    tmp_path: Path, count: int, size: int, own: int, small: bool
) -> None:
    functions, expected = nested_arrays(count, size)
    program = tmp_path / "program.py"
    program.write_text(STACKS.format(functions=functions, own=own, last=count - 1, small=small))
    ended = run_python(f"import runpy; runpy.run_path({str(program)!r})")
    assert (ended.returncode, ended.stdout) == (0, f"{expected}\n"), ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_small_limit_of_the_system_does_not_matter(tmp_path: Path) -> None:
    functions, expected = nested_arrays(3, 50_000)
    program = tmp_path / "program.py"
    program.write_text(STACKS.format(functions=functions, own=50_000, last=2, small=False))
    ended = subprocess.run(
        ["sh", "-c", f"ulimit -s 256; exec {sys.executable} {program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (ended.returncode, ended.stdout) == (0, f"{expected}\n"), ended.stderr


def test_more_variables_than_a_stack_holds_are_refused(tmp_path: Path) -> None:
    """A function that calls one twice, which calls one twice: a million variables, put into the kernel."""
    text = "from weft import Float32, Int, Pointer, func, kernel\nfrom weft.gpu.host import DeviceContext\n"
    for n in range(20):
        inner = f"f{n - 1}(x, i) + f{n - 1}(x, i + 1)" if n else "x[i]"
        text += (
            f"@func\ndef f{n}(x: Pointer[Float32], i: Int) -> Float32:\n    v = {inner}\n"
            "    if i > 3:\n        v = x[0]\n    return v\n"
        )
    text += "@kernel\ndef wide(x: Pointer[Float32]):\n    x[0] = f19(x, Int(0))\n"
    text += "ctx = DeviceContext(api='cpu')\nbuffer = ctx.enqueue_create_buffer(Float32, 8)\n"
    text += "ctx.enqueue_function(wide, buffer, grid_dim=1, block_dim=1)\n"
    program = tmp_path / "program.py"
    program.write_text(text)
    ended = run_python(f"import runpy; runpy.run_path({str(program)!r})")
    assert ended.returncode == 1
    assert "error[stack]: wide takes " in ended.stderr
    assert "bytes of stack on a CPU, with the functions that it calls; there are 4194304" in ended.stderr


WILD = """
import faulthandler; faulthandler.enable()
import numpy as np
from weft import Float32, Pointer, kernel
from weft.gpu.host import DeviceContext

@kernel
def wild(x: Pointer[Float32]):
    x[1 << 44] = 1.0

ctx = DeviceContext(api="cpu")
ctx.enqueue_function(wild, np.zeros(1, np.float32), grid_dim=1, block_dim=1)
ctx.synchronize()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_crash_names_its_kernel(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WILD)
    ended = run_python(f"import runpy; runpy.run_path({str(program)!r})")
    assert ended.returncode == -signal.SIGSEGV
    assert f'File "{program}", line 7 in wild' in ended.stderr


# -- memory -------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say it so")
def test_dropped_kernels_give_their_memory_back() -> None:
    specs = {"x": spec_of_annotation(Pointer[Float32])}
    artifact = elaborate_kernel(relax, specs, "native").artifact()
    device = DeviceContext(api="cpu").device

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    for _ in range(50):
        device.load(artifact)
    before = resident()
    for _ in range(500):
        device.load(artifact)
    assert resident() - before < 6 << 20
