"""Kernels that Python runs thread by thread: the same bits as compiled, and the user's lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import (
    BFloat16,
    Comptime,
    DeviceError,
    Float32,
    InlineArray,
    Int,
    Int32,
    Pointer,
    UInt8,
    UInt32,
    func,
    kernel,
    math,
    struct,
)
from weft.atomic import Atomic
from weft.bit import count_leading_zeros
from weft.compiler.pipeline import elaborate_kernels
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.interop import as_tensor
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, SoA, stack_allocation

BLOCK = 8


@pytest.fixture(params=["cpu", "interpreter"])
def ctx(request: pytest.FixtureRequest) -> DeviceContext:
    return DeviceContext(api=request.param)


@func
def halved(values: Any, t: Int) -> None:
    half = BLOCK // 2
    while half > 0:
        if t < half:
            values[t] += values[t + half]
        barrier()
        half //= 2


@kernel
def sums(x: Pointer[Float32], out: Pointer[Float32], count: Pointer[Int32]):
    values = stack_allocation(Float32, BLOCK, address_space=AddressSpace.SHARED)
    t = thread_idx.x
    values[t] = x[global_idx.x]
    barrier()
    halved(values, t)
    if t == 0:
        out[block_idx.x] = values[0]
    Atomic.fetch_add(count, count_leading_zeros(Int32(t)))


def test_threads_meet_at_barriers_in_helpers_and_loops(ctx: DeviceContext) -> None:
    x = np.random.default_rng(1).random(3 * BLOCK, np.float32)
    out, count = np.zeros(3, np.float32), np.zeros(1, np.int32)
    ctx.enqueue_function(sums, x, out, count, grid_dim=3, block_dim=BLOCK)
    ctx.synchronize()
    halves: npt.NDArray[np.float32] = x.reshape(3, BLOCK)
    while halves.shape[1] > 1:
        halves = halves[:, : halves.shape[1] // 2] + halves[:, halves.shape[1] // 2 :]
    assert out.tobytes() == halves[:, 0].tobytes()
    assert count[0] == 3 * sum(32 - n.bit_length() for n in range(BLOCK))


@kernel
def parts(x: Pointer[Int32]):
    if x[thread_idx.x] > 2:
        barrier()


@kernel
def asserts(x: Pointer[Int32], out: Pointer[Int32]):
    i = global_idx.x
    assert x[i] != 5, f"x[{i}] is {x[i]}"
    out[i] = 1


def test_what_fails_is_told_as_of_compiled_code() -> None:
    said: list[list[str]] = []
    for api in ("cpu", "interpreter"):
        context, x, out = DeviceContext(api=api), np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
        told: list[str] = []
        for launch in (
            lambda c=context, x=x: c.enqueue_function(parts, x, grid_dim=1, block_dim=8),
            lambda c=context, x=x, out=out: c.enqueue_function(asserts, x, out, grid_dim=2, block_dim=4),
        ):
            launch()
            with pytest.raises(DeviceError) as error:
                context.synchronize()
            told.append(str(error.value))
        said.append([*told, str(out)])
    assert said[0] == said[1]
    assert "thread (3, 0, 0)" in said[0][0]
    assert "x[5] is 5" in said[0][1]
    assert said[1][2] == "[1 1 1 1 1 0 1 1]"


@kernel
def reads_beside(x: Pointer[Int32], out: Pointer[Int32]):
    i = global_idx.x
    out[i] = x[i + 1] + x[i - 1]
    print("row", i, f"{out[i]:04d}")


def test_checks_and_prints_are_those_of_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[list[str], str, list[int]]] = []
    for api in ("cpu", "interpreter"):
        context = DeviceContext(api=api, checked=["bounds"])
        x, out = (context.enqueue_create_buffer(Int32, 4) for _ in range(2))
        x.enqueue_fill(5)
        context.enqueue_function(reads_beside, x, out, grid_dim=1, block_dim=4)
        with pytest.raises(DeviceError) as error:
            context.synchronize()
        reports = [f"{r.message} {r.location} {r.block} {r.thread} {r.count}" for r in error.value.reports]
        with out.map_to_host() as host:
            told.append((reports, capsys.readouterr().out, [*host]))
    assert told[0] == told[1]
    assert told[1][1].splitlines() == ["row 0 0005", "row 1 0010", "row 2 0010", "row 3 0005"]


@kernel
def counted(lock: Pointer[Int32], count: Pointer[Int32]):
    done = False
    while not done:
        if Atomic.compare_exchange(lock, Int32(0), Int32(1))[1]:
            before = count[0]
            barrier_of_nobody(count)
            count[0] = before + 1
            Atomic.store(lock, Int32(0))
            done = True


@func
def barrier_of_nobody(count: Pointer[Int32]) -> None:
    """While the lock is held, others run."""
    while Atomic.fetch_add(count + 1, 1) % 3 != 0:
        pass


@kernel
def handed_on(words: Pointer[Int32], out: Pointer[Int32]):
    b = block_idx.x
    if thread_idx.x == 1:
        while words.load(b + 1, volatile=True) == 0:
            pass
    barrier()
    if thread_idx.x == 0:
        out[b] = words[b + 1] + 1
        Atomic.store(words + b, out[b])


def test_threads_and_blocks_that_go_round_a_loop_let_others_run() -> None:
    context = DeviceContext(api="interpreter")
    lock, count = np.zeros(1, np.int32), np.zeros(2, np.int32)
    context.enqueue_function(counted, lock, count, grid_dim=3, block_dim=8)
    words, out = np.array([0] * 5 + [100], np.int32), np.zeros(5, np.int32)
    context.enqueue_function(handed_on, words, out, grid_dim=5, block_dim=4)
    context.synchronize()
    assert (lock[0], count[0], count[1] > 24) == (0, 24, True)
    assert out.tolist() == [105, 104, 103, 102, 101]


@kernel
def for_ever(word: Pointer[Int32]):
    if thread_idx.x > 1:
        while word.load(volatile=True) == 0:
            pass
    elif thread_idx.x == 0:
        while Atomic.load(word) == 0:
            pass
    barrier()


def test_a_wait_without_end_is_told() -> None:
    context, word = DeviceContext(api="interpreter"), np.zeros(1, np.int32)
    context.enqueue_function(for_ever, word, grid_dim=2, block_dim=4)
    with pytest.raises(DeviceError, match="'for_ever' never ends: 6 threads go round a loop") as error:
        context.synchronize()
    first = for_ever.definition.line
    assert f"{__file__}:{first + 6}:15" in str(error.value)
    assert f"others do so at line {first + 3}" in str(error.value)
    context.enqueue_function(for_ever, np.ones(1, np.int32), grid_dim=2, block_dim=4)
    context.synchronize()


@kernel
def wild(x: Pointer[Int32]):
    if thread_idx.x == 2:
        x[1 << 60] = 1


def test_an_access_of_no_memory_is_told() -> None:
    context, x = DeviceContext(api="interpreter"), np.zeros(4, np.int32)
    context.enqueue_function(wild, x, grid_dim=1, block_dim=4)
    with pytest.raises(DeviceError, match="kernel 'wild' accesses what is no memory") as error:
        context.synchronize()
    assert f"{__file__}:{wild.definition.line + 3}" in str(error.value)
    assert "in block (0, 0, 0), thread (2, 0, 0)" in str(error.value)


@kernel
def branches(x: Pointer[Float32], n: Int):
    i = global_idx.x
    if i < n:
        total = Float32(0)
        for k in range(i):
            total += k
        x[i] = total
    else:
        x[i] = -1


@kernel
def quiet(x: Pointer[Float32], t: Int):
    one = 1
    for k in range(3):
        if k == 1:
            one = 2
            break
        elif k == 7:
            pass
        else:
            continue
    match t:
        case 0:
            pass
        case _:
            x[0] = one


def lines_of(name: str, run: Callable[[], object]) -> list[list[int]]:
    """The lines that each call of a function of this file comes to, as coverage and debuggers see them."""
    seen: list[list[int]] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name != name:
            return None
        if event == "call":
            seen.append([])
        elif event == "line":
            seen[-1].append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return seen


def test_lines_run_as_python_runs_them() -> None:
    context, x = DeviceContext(api="interpreter"), np.zeros(4, np.float32)
    found = lines_of("branches", lambda: context.enqueue_function(branches, x, 3, grid_dim=1, block_dim=4))
    seen = [[line - branches.definition.line for line in each] for each in found]
    assert x.tolist() == [0, 0, 1, -1]
    once = [2, 3, 4, 5]
    assert seen == [[*once, 7], [*once, 6, 5, 7], [*once, 6, 5, 6, 5, 7], [2, 3, 9]]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
def test_monitors_see_the_lines() -> None:
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009
    context, x, seen = DeviceContext(api="interpreter"), np.zeros(4, np.float32), list[int]()

    def line(code: CodeType, number: int) -> None:
        if code.co_filename == __file__ and code.co_name == "branches":
            seen.append(number - branches.definition.line)

    monitoring.use_tool_id(4, "test")
    monitoring.register_callback(4, monitoring.events.LINE, line)
    monitoring.set_events(4, monitoring.events.LINE)
    try:
        context.enqueue_function(branches, x, 3, grid_dim=1, block_dim=4)
    finally:
        monitoring.set_events(4, 0)
        monitoring.free_tool_id(4)
    assert seen[:5] == [2, 3, 4, 5, 7]
    assert seen[-3:] == [2, 3, 9]


@pytest.mark.parametrize("t", [0, 1])
def test_lines_that_do_nothing_are_run_too(t: int) -> None:
    """``pass``, ``break``, ``continue`` and numbers that nobody reads, as where Python runs the function."""
    context, x = DeviceContext(api="interpreter"), np.zeros(4, np.float32)
    itself = quiet.definition.function
    assert itself is not None
    expected = lines_of("quiet", lambda: itself(x, t))
    assert (
        lines_of("quiet", lambda: context.enqueue_function(quiet, x, t, grid_dim=1, block_dim=1)) == expected
    )
    assert len(expected[0]) > 9


def test_a_tracer_goes_on_behind_the_compiler() -> None:
    """One in C, as of coverage, takes over again where something is called: before anything returns."""
    seen: list[str] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == elaborate_kernels.__code__.co_filename:
            seen.append(frame.f_code.co_name)
        return None

    context, x, before = DeviceContext(api="interpreter"), np.zeros(4, np.int32), sys.gettrace()
    sys.settrace(trace)
    try:
        context.enqueue_function(wild, x, grid_dim=1, block_dim=1)
    finally:
        sys.settrace(before)
    at = seen.index("_untraced")
    assert seen[at : at + 2] == ["_untraced", "<lambda>"]


@struct
class Pair:
    x: Float32
    n: UInt8


@kernel
def values(
    a: LayoutTensor[Float32], b: LayoutTensor[Float32], p: Pointer[Int32], n: UInt32, *, k: Comptime[int]
):
    i = global_idx.x
    pair = Pair(a[i, 0], 255)
    several = (i, n, "text")
    lanes = p.load(0, width=2)
    holds = i == k
    nothing = math.inf
    if holds:
        breakpoint()
        b[i, 1] = pair.x * nothing + Float32(several[0]) + Float32(lanes[0])


def test_what_a_debugger_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables, also those that the compiled kernel has none for, as the user knows them."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append({**sys._getframe(1).f_locals}))  # pyright: ignore[reportPrivateUsage]
    context = DeviceContext(api="interpreter")
    a, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.zeros((2, 4), np.float32)
    p = np.array([3, -4, 5], np.int32)
    narrow = as_tensor(b.T, dynamic=True)
    context.enqueue_function(values, a, narrow, p, 4_000_000_000, grid_dim=1, block_dim=4, k=2)
    [found] = seen
    assert found["a"].tolist() == a.tolist()
    assert (found["b"].shape, found["b"].strides) == ((4, 2), (4, 16))
    assert np.shares_memory(found["b"], b)
    assert (found["i"], found["n"], found["k"], found["holds"]) == (2, 4_000_000_000, 2, True)
    assert (repr(found["pair"]), found["pair"].n) == ("Pair(x=np.float32(6.0), n=255)", 255)
    assert found["several"] == (2, 4_000_000_000, "text")
    assert found["lanes"] == (3, -4)
    assert found["nothing"] == np.inf
    assert found["p"][0:3].tolist() == [3, -4, 5]
    found["p"][1] = 9
    assert p.tolist() == [3, 9, 5]


@struct
class Atom:
    at: Pair
    bonds: InlineArray[UInt8, 3]


@kernel
def atoms(p: Pointer[Atom], t: LayoutTensor[Atom]):
    own = stack_allocation(Atom, 2)
    own[1] = p[2]
    own[1].bonds[0] = 7
    near = own[1].at.x if p[0].at.n > 1 else None
    if near is not None:
        breakpoint()
        t[1].at.x = near


def test_a_debugger_reads_and_writes_structs_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def stop() -> None:
        found = {**sys._getframe(1).f_locals}  # pyright: ignore[reportPrivateUsage]
        seen.append(found)
        found["p"][0].at.x = 8.0
        found["p"][1] = ((4.0, 5), (6, 7, 8))

    monkeypatch.setattr(sys, "breakpointhook", stop)
    memory: Any = np.zeros(4, np.dtype(Atom))
    memory["at"]["x"], memory["at"]["n"] = np.arange(4), 2
    context = DeviceContext(api="interpreter")
    context.enqueue_function(atoms, memory, memory, grid_dim=1, block_dim=1)
    [found] = seen
    assert found["near"] == 2.0
    assert (found["p"][2].at.n, found["own"][1].bonds.tolist()) == (2, [7, 0, 0])
    assert repr(found["own"][1]).startswith("Atom(at=(x=np.float32(2.0), n=np.uint8(2)), bonds=array(")
    assert found["t"]["at"]["x"].tolist() == [8.0, 2.0, 2.0, 3.0]
    assert (memory["at"]["x"][1], memory["at"]["n"][1], memory["bonds"][1].tolist()) == (2.0, 5, [6, 7, 8])


@kernel
def columns(p: SoA[Atom]):
    i = thread_idx.x + 1
    p[i].at.x += 1.0
    breakpoint()


def test_a_debugger_shows_structs_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def stop() -> None:
        p = sys._getframe(1).f_locals["p"]  # pyright: ignore[reportPrivateUsage]
        seen.extend((p, repr(p[1]), p[0:3].at.x.tolist(), p[2].bonds.tolist()))
        p.at.n[2] = 9

    monkeypatch.setattr(sys, "breakpointhook", stop)
    context = DeviceContext(api="interpreter")
    atoms = SoA(context, Atom, 3)
    records: Any = np.zeros(3, np.dtype(Atom))
    records["at"]["x"], records["bonds"][2] = np.arange(3), (4, 5, 6)
    atoms.copy_from(records)
    context.enqueue_function(columns, atoms, grid_dim=1, block_dim=1)
    p, one, several, bonds = seen
    assert re.fullmatch(r"SoA of Atom\(at=Pair\(x=Pointer\[Float32\] at 0x\w+, n=.+\), bonds=.+\)", repr(p))
    assert one.startswith("Atom(at=Pair(x=np.float32(2.0), n=np.uint8(0)), bonds=array([0, 0, 0]")
    assert (several, bonds) == ([0.0, 2.0, 2.0], [4, 5, 6])
    assert atoms.numpy()["at"]["n"].tolist() == [0, 0, 9]


@kernel
def odd_tensors(a: LayoutTensor[Float32], short: LayoutTensor[BFloat16]):
    pairs = a.vectorize[2, 2]()
    edge = a.tile[3, 4](1, 1)
    nested = LayoutTensor[Float32](a.ptr, Layout(((2, 2), (3, 2)), ((1, 12), (2, 6))))
    breakpoint()
    a[0, 0] = pairs[0, 0][0] + edge[0, 0] + nested[0, 0] + Float32(short[0, 0])


def test_a_debugger_shows_tensors_that_are_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append({**sys._getframe(1).f_locals}))  # pyright: ignore[reportPrivateUsage]
    context = DeviceContext(api="interpreter")
    a, short = np.arange(24, dtype=np.float32).reshape(4, 6), context.enqueue_create_buffer(BFloat16, 6)
    with short.map_to_host() as host:
        host[:] = [1, 2, 3, -1.5, 0.25, 100]
    tensor = LayoutTensor[BFloat16](short, Layout.row_major(2, 3))
    context.enqueue_function(odd_tensors, as_tensor(a, dynamic=True), tensor, grid_dim=1, block_dim=1)
    [found] = seen
    assert found["short"].tolist() == [[1, 2, 3], [-1.5, 0.25, 100]]
    assert found["edge"].tolist() == [[22, 23, None, None], [None] * 4, [None] * 4]
    lanes = [[a[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].T.ravel().tolist() for j in range(3)] for i in range(2)]
    assert found["pairs"].tolist() == lanes
    flat = a.ravel()
    assert found["nested"].tolist() == [
        [flat[i % 2 + i // 2 * 12 + j % 3 * 2 + j // 3 * 6] for j in range(6)] for i in range(4)
    ]


def test_all_contexts_of_a_program_can_be_interpreted(tmp_path: Path) -> None:
    program = (
        "from weft.gpu.host import DeviceContext\nprint(DeviceContext(api='cpu').api, DeviceContext().api)\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "weft", "run"]
    for option, said in (("--interpret", "interpreter interpreter\n"), ("", "cpu cpu\n")):
        environment = {**os.environ, "WEFT_DEVICE": "cpu"}
        done = subprocess.run(
            [*command, *option.split(), "program.py"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        assert (done.stdout, done.stderr) == (said, "")


def test_what_nobody_waited_for_is_shown_at_the_end(tmp_path: Path) -> None:
    """Text and failures, as of compiled kernels."""
    program = (
        "import sys\n"
        "from weft import Float32, Int, Pointer, kernel\n"
        "from weft.gpu.host import DeviceContext\n"
        "@kernel\n"
        "def short(x: Pointer[Float32], n: Int):\n"
        "    print('has', n)\n"
        "    assert n > 3, 'too few'\n"
        "ctx = DeviceContext(api=sys.argv[1])\n"
        "x = ctx.enqueue_create_buffer(Float32, 4)\n"
        "ctx.enqueue_function(short, x, 2, grid_dim=1, block_dim=1)\n"
    )
    (tmp_path / "short.py").write_text(program)
    for api in ("cpu", "interpreter"):
        command = [sys.executable, str(tmp_path / "short.py"), api]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "has 2\n")
        assert "assertion failed in kernel 'short': too few" in done.stderr
