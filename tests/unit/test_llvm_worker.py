"""LLVM works in a process of its own: what ends or stops that costs a message, and nothing else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Float32, Int, PerformanceWarning, Pointer, config, kernel
from weft.compile import compile_info
from weft.compiler.cache.program import Together
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.llvm import emit as llvm
from weft.compiler.llvm import workers
from weft.compiler.llvm.worker import serve
from weft.compiler.pipeline import Instance
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.targets import TARGETS, find_target

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks")
NATIVE = TARGETS["native"]
TEXT = "define i64 @number(ptr %block) {\n  ret i64 42\n}\n"


@kernel
def scaled(x: Pointer[Float32], n: Int, by: Float32):
    if global_idx.x < n:
        x[global_idx.x] *= by


ABORTS = Path(__file__).with_name("llvm_aborts.ll")
"""A module over which the vectoriser of LLVM 22 ends the process: its two models of cost disagree."""


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Any]:
    """A pool of the test's own, and nothing in the cache."""
    own: Any = workers._Pool()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(workers, "_pool", own)
    with config.scope(cache_dir=tmp_path):
        yield own
    for worker in (*own.idle, *own.busy):
        worker.process.kill()


def scales() -> bool:
    """Whether a kernel compiled now computes what it should."""
    x = np.arange(100, dtype=np.float32)
    with DeviceContext(api="cpu") as ctx:
        ctx.enqueue_function(scaled, x, 90, 3.0, grid_dim=1, block_dim=128)
        ctx.synchronize()
    expected = np.arange(100, dtype=np.float32)
    expected[:90] *= 3
    return np.array_equal(x, expected)


@contextmanager
def stopped(pool: Any) -> Generator[int]:
    """Within, the worker that takes the next job does not go on, as in a loop without end."""
    workers.warm()
    (worker,) = pool.idle
    os.kill(worker.process._pid, signal.SIGSTOP)
    yield worker.process._pid


def test_a_new_worker_makes_code_of_nothing_once(pool: Any) -> None:
    llvm.warm(NATIVE)
    (worker,) = pool.idle
    assert worker.jobs == 1
    llvm.warm(NATIVE)
    assert worker.jobs == 1
    assert scales()
    assert worker in pool.idle


def test_a_job_of_which_nothing_is_told_may_fail(pool: Any, capfd: pytest.CaptureFixture[str]) -> None:
    workers.warm(llvm.job_of("nonsense", NATIVE, "warm", 1, vectors=False, passes=True))
    assert scales()
    assert len(pool.idle) == 1
    assert capfd.readouterr().err == ""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def waits_until(condition: Callable[[], bool]) -> bool:
    for _ in range(2000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def up(pool: Any) -> None:
    """Wait until a worker has come up: it has done a job."""
    llvm.emit(TEXT, NATIVE, "object", passes=False)
    assert pool.idle


def test_what_is_in_the_cache_starts_no_worker(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scales()
    assert pool.idle
    asked: list[threading.Thread] = []
    take = pool.take
    monkeypatch.setattr(pool, "take", lambda: (asked.append(threading.current_thread()), take())[1])
    assert scales()
    assert threading.current_thread() not in asked  # what launches natively is compiled beside it, once


def test_an_abort_of_llvm_costs_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    run = workers.run
    texts = [ABORTS.read_text(encoding="utf-8")] * 2

    def aborts_at_first(job: Any, *rest: Any) -> Any:
        return run((texts.pop(), *job[1:]) if texts else job, *rest)

    monkeypatch.setattr(workers, "run", aborts_at_first)
    with pytest.warns(PerformanceWarning, match=r"fails to optimise scaled: .*LoopVectorize") as told:
        code = compile_info(scaled, target="x86-64", emission_kind="object").code
    assert len(code) > 500
    assert (told[0].filename, told[0].lineno) == (__file__, scaled.function.__code__.co_firstlineno)


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_every_lesser_way_computes_the_same(
    failing: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, jobs = workers.run, list[Any]()

    def fails_at_first(job: Any, *rest: Any) -> Any:
        jobs.append(job)
        if len(jobs) <= failing:
            raise workers.Ended("optimise", "ended by SIGABRT", "LLVM ERROR: played")
        return run(job, *rest)

    assert scales()  # and the code of launches is compiled
    monkeypatch.setattr(workers, "run", fails_at_first)
    x = np.arange(100, dtype=np.float32)
    with config.scope(cache_dir=tmp_path / "other"), DeviceContext(api="cpu") as ctx:
        with warnings.catch_warnings(record=True, action="always") as told:
            ctx.enqueue_function(scaled, x, 90, 0.1, grid_dim=1, block_dim=128)
        wanted = "LLVM fails to optimise scaled: .*LLVM ERROR: played"
        assert [bool(re.match(wanted, str(one.message))) for one in told] == [True] * (failing > 1)
        ctx.synchronize()
    expected = np.arange(100, dtype=np.float32)
    expected[:90] *= np.float32(0.1)
    assert np.array_equal(x, expected)
    assert len({job[5:] for job in jobs}) == failing + 1


def test_what_fails_always_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    run = workers.run

    def fails(job: Any, *rest: Any) -> Any:
        if "@kernel$scaled" not in job[0]:  # what is asked about parts of it
            return run(job, *rest)
        raise workers.Ended("make code of", "ended by SIGABRT", "LLVM ERROR: Cannot select: played")

    monkeypatch.setattr(workers, "run", fails)
    with pytest.raises(CompileError, match="LLVM cannot compile scaled") as caught:
        compile_info(scaled, target="sm_90")
    (found,) = caught.value.diagnostics
    assert "LLVM ERROR: Cannot select: played" in "\n".join(found.notes)
    assert found.location is not None
    assert found.location.line == scaled.function.__code__.co_firstlineno


def test_what_llvm_says_is_in_the_message() -> None:
    with pytest.raises(CompileError, match="expected type"):
        llvm.emit("define nonsense", NATIVE, "object")
    assert scales()


def test_an_abort_while_reading_is_not_tried_again(pool: Any) -> None:
    named = '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
    call = "%y = call i32 @llvm.ctpop.i32(i32 %x, i32 %x)"
    wrong = f"define i32 @f(i32 %x) {{\n  {call}\n  ret i32 %y\n}}\n{named}"
    with pytest.raises(CompileError, match="LLVM refuses code of weft's own"):
        llvm.emit(f"declare i32 @llvm.ctpop.i32(i32, i32)\n{wrong}", NATIVE, "object")
    assert scales()


@posix
def test_a_worker_that_was_killed_is_replaced(pool: Any) -> None:
    up(pool)
    os.kill(pool.idle[0].process._pid, signal.SIGKILL)
    assert scales()


@posix
def test_a_loop_without_end_ends_at_the_limit(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    up(pool)
    run, limits = workers.run, [60.0, 0.2]

    def with_limit(job: Any, limit: float, *rest: Any) -> Any:
        return run(job, limits.pop(), *rest)

    monkeypatch.setattr(workers, "run", with_limit)
    with stopped(pool) as pid, config.scope(compile_limit=0.2):
        with pytest.warns(PerformanceWarning, match=r"within 0.2 seconds"):
            assert compile_info(scaled, target="x86-64", emission_kind="object").code
    assert not alive(pid)


@posix
def test_an_interrupt_ends_a_compilation_at_once(pool: Any) -> None:
    up(pool)
    with stopped(pool) as pid:
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            compile_info(scaled, target="x86-64", emission_kind="object")
        timer.join()
        assert not alive(pid)
    assert scales()


@posix
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_has_workers_of_its_own(pool: Any) -> None:
    up(pool)
    with stopped(pool) as pid:
        thread = threading.Thread(target=lambda: llvm.emit(TEXT, NATIVE, "object", passes=False))
        thread.start()
        assert waits_until(lambda: bool(pool.busy))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with config.scope(compile_limit=30):
                    code = 0 if llvm.emit(TEXT, NATIVE, "object", passes=False).data else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.kill(pid, signal.SIGCONT)
        thread.join()
    assert scales()


@posix
@pytest.mark.parametrize("how", ["sys.exit()", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_worker_ends_with_its_parent(how: str) -> None:
    program = f"""
import os, signal, sys
from weft.compiler.llvm import workers
workers.warm()
print(workers._pool.idle[0].process._pid, flush=True)
if os.fork() == 0:  # a child that lives on holds none of its pipes
    os.close(1); os.close(2)
    import time; time.sleep(60)
    os._exit(0)
{how}
"""
    made = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(llvm.__file__).parents[3])},
    )
    assert waits_until(lambda: not alive(int(made.stdout)))


def test_both_ways_make_the_same_code() -> None:
    infos: list[Any] = []
    for how in ("process", "in-process"):
        with config.scope(compile=how):
            infos.append(
                [compile_info(scaled, target=t, emission_kind="llvm-opt").code for t in ("native", "sm_90")]
            )
    assert infos[0] == infos[1]


@pytest.mark.parametrize("name", ["", "/usr/bin/true", "/nowhere/python"])
def test_without_processes_llvm_works_here(name: str, monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    monkeypatch.setattr(sys, "executable", name)
    assert scales()
    assert not pool.idle


def test_a_worker_that_does_not_come_up_is_done_without(monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    monkeypatch.setattr(workers, "_program", lambda: "raise SystemExit(3)")
    assert scales()
    assert not pool.idle


def test_threads_compile_side_by_side(pool: Any) -> None:
    def number(n: int) -> bytes:
        return llvm.emit(TEXT.replace("42", str(n)), NATIVE, "object").data

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(number, range(40)))
    with config.scope(compile="in-process"):
        assert made == [number(n) for n in range(40)]
    assert len(pool.idle) <= 4


def test_an_old_worker_is_replaced(monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    monkeypatch.setattr(workers, "_JOBS", 3)
    used: set[int] = set()
    for n in range(7):
        llvm.emit(TEXT.replace("42", str(n)), NATIVE, "object", passes=False)
        used.add(id(pool.idle[0].process))
        assert len(pool.idle) == 1
    assert pool.idle[0].jobs == 1


def test_messages_travel_whole() -> None:
    message = ("done", b"\0\xff" * 100_000, "ü")
    worker: Any = object.__new__(workers._Worker)  # pyright: ignore[reportPrivateUsage]
    worker._buffer = b""
    data, found = serve.packed(message) * 2, list[Any]()
    for start in range(0, len(data), 65_521):
        worker._buffer += data[start : start + 65_521]
        while (one := worker._message()) is not None:
            found.append(one)
    assert found == [message, message]


def test_settings() -> None:
    assert (config.settings().compile, config.settings().compile_limit) == ("process", 60.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEFT_COMPILE", "elsewhere"),
        ("WEFT_COMPILE_LIMIT", "soon"),
        ("WEFT_COMPILE_LIMIT", "-1"),
        ("WEFT_CPU_THREADS", "0"),
        ("WEFT_CPU_THREADS", "-2"),
        ("WEFT_CPU_THREADS", "1025"),
        ("WEFT_CPU_THREADS", "two"),
    ],
)
def test_settings_that_say_nothing(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(CompileError, match=f"{name}={value}"):
        config._from_environment()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no way to see how much memory is taken")
def test_compilations_keep_no_memory() -> None:
    program = """
import gc
from pathlib import Path
from weft.compiler.llvm.emit import emit, load_object
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.targets import TARGETS, find_target

def kept(times):
    for n in range(times):
        code = emit(f"define i64 @number(ptr %p) {{ ret i64 {n} }}", TARGETS["native"], "object").data
        for _ in range(4):
            load_object(code, ["number"], {})
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])

before = kept(60)
print((kept(150) - before) * 4096 // 150)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(llvm.__file__).parents[3])}
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert made.stderr == ""
    assert int(made.stdout) < 6000  # bytes of each: it was 120,000; 10,000 may keep 20 MB


def test_a_gpus_code_is_made_without_what_makes_loops_of_threads(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom weft import *\nfrom weft.compile import compile_info\n"
        "@kernel\ndef k(p: Pointer[Float32]):\n    p[0] = 1.0\n"
        "assert '.entry k' in str(compile_info(k, target='sm_90'))\n"
        "print([name for name in sys.modules if name.startswith('weft.compiler.passes.thread_loops')])\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    made = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, check=True)
    assert made.stdout == "[]\n"


def test_few_kernels_wait_for_the_worker_that_is_up(pool: Any) -> None:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(scaled.definition)}
    with Together(find_target("sm_90"), 4, lambda artifact: artifact.code) as together:
        each = [Instance(scaled, specs, CompileOptions(opt_level=n)) for n in (1, 2, 3)]
        made = [together.begin(one) for one in each]
        assert all(b".entry" in one.result() for one in made)
    assert len([*pool.idle, *pool.busy]) == 1


@kernel
def columns(x: Pointer[Float32], out: Pointer[Float32], n: Int, stride: Int):
    total = Float32(0.0)
    for i in range(n):
        total += x[i * stride + global_idx.x]
    out[global_idx.x] = total


def test_what_a_processor_is_compiled_with_is_not_a_gpus() -> None:
    """One worker makes code for both; only GPUs' loops have their addresses made cheaper."""
    before = str(compile_info(columns, target="sm_90"))
    assert scales()
    assert str(compile_info(columns, target="sm_90")) == before
