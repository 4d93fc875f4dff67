"""The CPU as a device: order, launches, callbacks, failures, the end of buffers and processes."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.abi.artifact import Argument, Artifact, AssertSite, KernelInfo, LoadedCode, PrintSite, Signature
from weft.abi.cpu_launch import LaunchBlock
from weft.diagnostics import DeviceError, LaunchError
from weft.dtype import DType
from weft.runtime.context import BaseContext
from weft.runtime.cpu.device import CpuDevice, CpuDriver
from weft.runtime.cpu.pool import Pool
from weft.runtime.driver import Extents, Launch

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
Body = Callable[[Any, Any, dict[str, int]], object]


class Fake:
    """A driver whose machine code is Python: ``body(arguments, launch, externals)`` is the entry."""

    def __init__(self) -> None:
        self.body: Body = lambda arguments, launch, externals: None
        self.driver = CpuDriver(self.load)

    def load(self, code: bytes, entries: Sequence[str], externals: dict[str, int]) -> LoadedCode:
        def native(arguments: int, launch: int) -> None:
            pointer = ctypes.cast(launch, ctypes.POINTER(LaunchBlock))
            self.body(ctypes.cast(arguments, ctypes.POINTER(ctypes.c_uint64)), pointer.contents, externals)

        callback = ENTRY(native)
        return LoadedCode((ctypes.cast(callback, ctypes.c_void_p).value or 0,), callback)


def artifact(**fields: Any) -> Artifact:
    signature = Signature("scale", (Argument("vector", DType.float32, pointer=True),))
    return Artifact("x86-64", "object", b"", (KernelInfo("entry", signature, **fields),))


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def ctx(fake: Fake) -> Iterator[BaseContext]:
    context = BaseContext(driver=fake.driver)
    yield context
    context.close()


def blocks(ctx: BaseContext) -> Mapping[int, object]:
    device = ctx.device
    assert isinstance(device, CpuDevice)
    return device._blocks  # pyright: ignore[reportPrivateUsage]


def launch(ctx: BaseContext, code: Artifact, grid: Extents = (1, 1, 1), block: Extents = (1, 1, 1)) -> None:
    ctx.stream.launch(Launch(ctx.device.load(code)[0], grid, block, b""))


@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 3, 2), (1000, 1, 1)])
def test_every_block_runs_once(ctx: BaseContext, fake: Fake, grid: Extents) -> None:
    taken: list[int] = []
    lock = threading.Lock()
    seen: list[tuple[list[int], list[int], int, list[int], int]] = []

    def body(arguments: Any, launch: Any, externals: dict[str, int]) -> None:
        seen.append(
            (list(launch.grid), list(launch.block), launch.dynamic_shared, list(launch.over), arguments[1])
        )
        while True:
            with lock:
                first = launch.next
                launch.next = first + launch.chunk
            if first >= launch.total:
                return
            taken.extend(range(first, min(first + launch.chunk, launch.total)))

    fake.body = body
    [function] = ctx.device.load(artifact())
    arguments = (5).to_bytes(8, "little") + (6).to_bytes(8, "little")
    ctx.stream.launch(Launch(function, grid, (64, 1, 1), arguments, 128, (9, 8, 7)))
    ctx.synchronize()
    assert sorted(taken) == list(range(grid[0] * grid[1] * grid[2]))
    assert all(entry == (list(grid), [64, 1, 1], 128, [9, 8, 7], 6) for entry in seen)


def test_work_is_in_order_and_beside_the_host(ctx: BaseContext, fake: Fake) -> None:
    release = threading.Event()
    buffer = ctx.enqueue_create_buffer("int32", 4)
    ctx.stream.call(release.wait)
    ctx.enqueue_fill(buffer, 1)
    fake.body = lambda arguments, launch, externals: ctypes.memset(buffer.address, 2, 8)
    launch(ctx, artifact())
    out = np.zeros(4, np.int32)
    ctx.enqueue_copy(dst=out, src=buffer)
    ctx.enqueue_fill(buffer, 3)
    assert out.sum() == 0
    release.set()
    ctx.synchronize()
    assert out.tolist() == [0x02020202, 0x02020202, 1, 1]


def test_array_may_change_after_the_call(ctx: BaseContext) -> None:
    release = threading.Event()
    buffer, out = ctx.enqueue_create_buffer("int64", 1000), np.zeros(1000, np.int64)
    ctx.stream.call(release.wait)
    source = np.arange(1000)
    ctx.enqueue_copy(dst=buffer, src=source)
    source[:] = 0
    ctx.enqueue_copy(dst=out, src=buffer)
    release.set()
    ctx.synchronize()
    assert np.array_equal(out, np.arange(1000))


def call_assert(externals: dict[str, int], state: int, site: int, x: int) -> None:
    native = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p)
    native(externals["weft$tell"])(state, site, (ctypes.c_uint64 * 7)(x, 0, 0, 3, 1, 0, x))


def test_assertion_surfaces_once(ctx: BaseContext, fake: Fake) -> None:
    code = artifact(
        sites={
            0: AssertSite(("no",), "other.py", 1),
            1: AssertSite(("size must be even, not ", DType.int32), __file__, 12),
        }
    )

    def body(arguments: Any, launch: Any, externals: dict[str, int]) -> None:
        for x in (4, 5):
            call_assert(externals, launch.state, 1, x)

    fake.body = body
    launch(ctx, code)
    with pytest.raises(DeviceError) as failed:
        ctx.synchronize()
    [found] = failed.value.diagnostics
    assert found.message == "assertion failed in kernel 'scale': size must be even, not 4"
    assert found.location is not None
    assert (found.location.file, found.location.line) == (__file__, 12)
    assert found.labels[0].text == "failed in block (4, 0, 0), thread (3, 1, 0)"
    ctx.synchronize()
    buffer = ctx.enqueue_create_host_buffer("int32", 2)
    ctx.enqueue_fill(buffer, 9)
    ctx.synchronize()
    assert list(buffer) == [9, 9]


def test_failures_of_several_launches_come_together(ctx: BaseContext, fake: Fake) -> None:
    fake.body = lambda arguments, launch, externals: call_assert(externals, launch.state, 0, 0)
    for _ in range(7):
        launch(ctx, artifact(sites={0: AssertSite((), "x.py", 1)}))
    with pytest.raises(DeviceError) as failed:
        ctx.synchronize()
    assert len(failed.value.diagnostics) == 6
    assert failed.value.diagnostics[-1].message == "2 more launches failed"
    assert str(failed.value).endswith("7 errors")


def test_exception_on_the_worker_surfaces(ctx: BaseContext) -> None:
    ctx.stream.call(lambda: 1 // 0)
    done: list[int] = []
    ctx.stream.call(lambda: done.append(1))
    with pytest.raises(DeviceError, match="ZeroDivisionError") as failed:
        ctx.synchronize()
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert done == [1]
    ctx.synchronize()


def test_print(ctx: BaseContext, fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    def body(arguments: Any, launch: Any, externals: dict[str, int]) -> None:
        native = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p)
        for i in range(3):
            native(externals["weft$tell"])(launch.state, 0, (ctypes.c_uint64 * 2)(i, 1))

    fake.body = body
    launch(ctx, artifact(sites={0: PrintSite(("i ", DType.int32, " ", DType.bool, "\n"))}))
    time.sleep(0.05)
    assert capsys.readouterr().out == ""
    ctx.synchronize()
    assert capsys.readouterr().out == "i 0 True\ni 1 True\ni 2 True\n"


def test_memory_outlives_queued_work(ctx: BaseContext) -> None:
    release = threading.Event()
    out = np.zeros(8, np.int32)
    before = len(blocks(ctx))
    ctx.stream.call(release.wait)
    buffer = ctx.enqueue_create_buffer("int32", 8)
    ctx.enqueue_fill(buffer, 5)
    ctx.enqueue_copy(dst=out, src=buffer)
    del buffer
    gc.collect()
    assert len(blocks(ctx)) == before + 1
    release.set()
    ctx.synchronize()
    ctx.synchronize()
    assert out.tolist() == [5] * 8
    assert len(blocks(ctx)) == before


def test_memory_waits_for_all_streams(ctx: BaseContext) -> None:
    releases = [threading.Event(), threading.Event()]
    streams = [ctx.create_stream() for _ in releases]
    buffer = ctx.enqueue_create_buffer("int32", 8)
    for stream, release in zip(streams, releases, strict=True):
        stream.native.call(release.wait)
        ctx.enqueue_fill(buffer, 1, stream=stream)
    buffer.close()
    releases[0].set()
    streams[0].synchronize()
    assert len(blocks(ctx)) == 1
    releases[1].set()
    streams[1].synchronize()
    deadline = time.monotonic() + 5
    while blocks(ctx) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not blocks(ctx)


def test_cycle_of_garbage_frees_memory(ctx: BaseContext) -> None:
    holder: list[Any] = []
    for _ in range(200):
        holder = [ctx.enqueue_create_buffer("int32", 100_000)]
        ctx.enqueue_fill(holder[0], 1)
        holder.append(holder)
    del holder
    gc.collect()
    ctx.synchronize()
    gc.collect()
    ctx.synchronize()
    assert len(blocks(ctx)) <= 1


def test_events_order_streams(ctx: BaseContext) -> None:
    order: list[str] = []
    release = threading.Event()
    with ctx.create_stream() as first, ctx.create_stream() as second:
        first.native.call(release.wait)
        first.native.call(lambda: order.append("first"))
        event = first.record()
        second.wait(event)
        second.native.call(lambda: order.append("second"))
        assert not event.done
        release.set()
        second.synchronize()
        assert event.done
        assert first.record().seconds_since(event) >= 0
    assert order == ["first", "second"]


def test_stream_cannot_wait_for_itself(ctx: BaseContext) -> None:
    ctx.stream.call(ctx.synchronize)
    with pytest.raises(DeviceError, match="cannot wait for that stream"):
        ctx.synchronize()


def test_closed(fake: Fake) -> None:
    context = BaseContext(driver=fake.driver)
    stream = context.create_stream()
    done: list[int] = []
    context.stream.call(lambda: done.append(1))
    context.close()
    context.close()
    assert done == [1]
    with pytest.raises(LaunchError, match="closed"):
        context.synchronize()
    with pytest.raises(LaunchError, match="closed"):
        stream.native.call(print)
    stream.synchronize()


def test_threads_end_with_their_context(fake: Fake) -> None:
    before = threading.active_count()
    for _ in range(20):
        context = BaseContext(driver=fake.driver)
        context.stream.call(lambda: None)
        context.synchronize()
        del context
    gc.collect()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert threading.active_count() <= before


def test_many_threads_submit(ctx: BaseContext) -> None:
    count: list[int] = []

    def submit() -> None:
        for _ in range(500):
            ctx.stream.call(lambda: count.append(1))
            ctx.enqueue_create_buffer("int8", 10).close()

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ctx.synchronize()
    assert len(count) == 2000


def test_pool_reports_and_goes_on() -> None:
    pool = Pool()
    calls: list[int] = []
    for _ in range(100):
        pool.run(lambda: calls.append(1), 3)
    assert 100 <= len(calls) <= 400

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        pool.run(fail, 3)
    pool.run(lambda: calls.append(1), 3)


def run_python(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


GLIBC = platform.libc_ver()[0] == "glibc"
FAILED_AT_THE_END = 1 if GLIBC else 120
FORGOTTEN = """\
import atexit, ctypes, os, sys
def leave(name): open(name, "w").write(name)
atexit.register(leave, "before")
from weft.runtime.context import BaseContext
atexit.register(leave, "after")
ctx = BaseContext(api="cpu")
text, data = open("text", "w"), open("data", "wb")
text.write("text"); data.write(b"data")
ctx.stream.call(lambda: 1 // 0)
"""


def test_a_failure_found_at_exit_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run_python(FORGOTTEN + "print('out', end='')")
    assert (ended.returncode, ended.stdout) == (FAILED_AT_THE_END, "out")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        name: name for name in ("before", "after", "text", "data")
    }
    if GLIBC:
        ended = run_python(FORGOTTEN + "ctypes.CDLL(None).printf(b'of C')")
        assert (ended.returncode, ended.stdout) == (1, "of C")
    for lacking in ("os.confstr = lambda name: None", "sys.orig_argv = []"):  # another C; a part of a program
        assert run_python(FORGOTTEN + lacking).returncode == 120, "as Python has it for what fails at the end"


def test_exit_runs_forgotten_work_and_never_hangs() -> None:
    head = "import time\nfrom weft.runtime.context import BaseContext\nctx = BaseContext(api='cpu')\n"
    ended = run_python(
        head + "for i in range(3): ctx.stream.call(lambda: ctx._stream._lane.console.write('x'))"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "xxx", "")
    failed = run_python(head + "ctx.stream.call(lambda: 1 // 0)")
    assert failed.returncode == FAILED_AT_THE_END
    assert "ZeroDivisionError" in failed.stderr
    start = time.monotonic()
    stuck = run_python(head + "ctx.stream.call(lambda: time.sleep(60))")
    assert stuck.returncode == 0
    assert time.monotonic() - start < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fork() -> None:
    child = run_python(
        "import os\nfrom weft.runtime.context import BaseContext\nctx = BaseContext(api='cpu')\n"
        "b = ctx.enqueue_create_host_buffer('int32', 2)\n"
        "ctx.enqueue_fill(b, 1); ctx.synchronize()\n"
        "pid = os.fork()\n"
        "ctx.enqueue_fill(b, 2 if pid else 3); ctx.synchronize(); os.write(1, f'{b}\\n'.encode())\n"
        "if pid: os.waitpid(pid, 0)\n"
    )
    assert child.returncode == 0, child.stderr
    assert sorted(child.stdout.splitlines()) == ["HostBuffer([2, 2])", "HostBuffer([3, 3])"], child.stderr


NATIVE = """
define void @entry(ptr %args, ptr %launch) {
  %vp = load ptr, ptr %args
  %nextp = getelementptr i8, ptr %launch, i64 24
  %totalp = getelementptr i8, ptr %launch, i64 32
  %chunkp = getelementptr i8, ptr %launch, i64 40
  %total = load i64, ptr %totalp
  %chunk = load i64, ptr %chunkp
  br label %take
take:
  %first = atomicrmw add ptr %nextp, i64 %chunk monotonic
  %more = icmp slt i64 %first, %total
  br i1 %more, label %blocks, label %end
blocks:
  %e = add i64 %first, %chunk
  %over = icmp sgt i64 %e, %total
  %last = select i1 %over, i64 %total, i64 %e
  br label %loop
loop:
  %i = phi i64 [ %first, %blocks ], [ %j, %loop ]
  %p = getelementptr float, ptr %vp, i64 %i
  %v = load float, ptr %p
  %w = fadd float %v, 1.0
  store float %w, ptr %p
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %last
  br i1 %c, label %loop, label %take
end:
  ret void
}
"""


def load_native(code: bytes, entries: Sequence[str], externals: dict[str, int]) -> LoadedCode:
    llvm: Any = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(NATIVE), machine)
    engine.finalize_object()
    return LoadedCode(tuple(map(engine.get_function_address, entries)), engine)


def test_native_code() -> None:
    with BaseContext(driver=CpuDriver(load_native)) as context:
        values = np.random.default_rng(0).random(100_003, np.float32)
        device = context.enqueue_create_buffer("float32", values.size)
        context.enqueue_copy(dst=device, src=values)
        [function] = context.device.load(artifact())
        for _ in range(20):
            context.stream.launch(
                Launch(function, (values.size, 1, 1), (1, 1, 1), device.address.to_bytes(8, "little"))
            )
        expected = values.copy()
        for _ in range(20):
            expected += np.float32(1)
        with device.map_to_host() as host:
            assert np.array_equal(host, expected)
