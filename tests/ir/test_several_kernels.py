"""Several kernels in one module: each has its own figures, and runs as it does alone.

What is expected is what each kernel gives that was compiled by itself, and NumPy's numbers.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ptxas import find_ptxas
from weft import Comptime, DeviceError, Float32, Float64, Int, Kernel, Pointer, func, kernel, unroll
from weft.abi.artifact import KernelInfo
from weft.atomic import fence
from weft.compiler.cache import compile_kernels
from weft.compiler.frontend.options import PLAIN, CompileOptions
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import Instance, elaborate_kernels
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.cooperative import grid_sync
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import Spec, StaticSpec
from weft.launch.ranges import describe_over
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.runtime.driver import Function, Launch

THREADS = 64
SHARED = AddressSpace.SHARED


@func
def turned(x: Float32, by: Int) -> Float32:
    """The value of another thread, through 256 bytes of shared memory."""
    tile = stack_allocation(Float32, THREADS, address_space=SHARED)
    tile[thread_idx.x] = x
    barrier()
    return tile[(thread_idx.x + by) % THREADS]


@func
def kept(x: Float64) -> Pointer[Float64]:
    """512 bytes of shared memory, in a helper that does not wait."""
    tile = stack_allocation(Float64, THREADS, address_space=SHARED)
    tile[thread_idx.x] = x
    return tile


@func
def said(x: Float32) -> Float32:
    if thread_idx.x == 0:
        print("said", x)
    assert x >= 0.0, f"{x} is negative"
    return x


@func
def scaled(x: Float32) -> Float32:
    return x * 2.0 + 1.0


@kernel
def wide(x: Pointer[Float32]):
    """4096, 256 and 512 bytes: the memory of helpers lies behind its own."""
    own = stack_allocation(Float32, 1024, address_space=SHARED)
    t = thread_idx.x
    own[t + 960] = x[t]
    beside = kept(Float64(x[t]))
    value = turned(scaled(x[t]), 1)
    x[t] = said(value + own[t + 960] + Float32(beside[(t + 2) % THREADS]))


@kernel
def narrow(x: Pointer[Float32]):
    """512 bytes, and of the launch's 256 behind them."""
    t = thread_idx.x
    mine = dynamic_shared_memory(Float32, THREADS)
    mine[t] = scaled(x[t])
    fixed = kept(-1.0)
    barrier()
    x[t] = mine[(t + 3) % THREADS] + Float32(fixed[t])


@kernel
def quiet(x: Pointer[Float32], out: Pointer[Float32]):
    """Neither waits, nor tells, nor shares."""
    out[global_idx.x] = scaled(x[global_idx.x])


@kernel
def tells(x: Pointer[Float32]):
    x[thread_idx.x] = said(scaled(x[thread_idx.x]))


@kernel
def meets(x: Pointer[Float32], out: Pointer[Float32]):
    out[global_idx.x] = scaled(x[global_idx.x])
    grid_sync()


@kernel
def waits(x: Pointer[Float32], out: Pointer[Float32]):
    fence()
    out[global_idx.x] = scaled(x[global_idx.x])


@kernel
def asks(x: Pointer[Float32]):
    x[global_idx.x] = Float32(thread_idx.x)


@kernel
def adds(x: Pointer[Float32], *, n: Comptime[int]):
    x[thread_idx.x] += n


def instance(made: Kernel[...], options: CompileOptions = PLAIN, **comptime: Any) -> Instance:
    specs: dict[str, Spec] = {
        p.name: StaticSpec(comptime[p.name]) if p.comptime else spec_of_annotation(p.annotation)
        for p in parameters(made.definition)
    }
    return Instance(made, specs, options)


DISTINCT = CompileOptions(distinct=True)
ALL = [
    instance(wide),
    instance(narrow),
    instance(quiet, DISTINCT),
    instance(tells),
    instance(meets, DISTINCT),
    instance(waits, DISTINCT),
    instance(quiet, CompileOptions(describe_over(1, (4, 1)), distinct=True)),
    instance(asks, CompileOptions(describe_over(1, (4, 1)), distinct=True)),
    instance(adds, n=1),
    instance(adds, n=2),
]
ON_CPU = [one for one in ALL if one.kernel is not meets]


def figures(info: KernelInfo, first: int) -> KernelInfo:
    """What a kernel has of its own: less its name in the module, and the numbers of its sites from 0 on."""
    return replace(info, entry="", sites={n - first: site for n, site in info.sites.items()})


@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_each_has_the_figures_that_it_has_alone(target: str) -> None:
    wanted = ALL if target == "sm_90" else ON_CPU
    for order in (wanted, wanted[::-1]):
        made, count = elaborate_kernels(order, target), 0
        for one, info, options in zip(order, made.kernels, made.options, strict=True):
            alone = elaborate_kernels([one], target)
            assert figures(info, count) == figures(alone.kernels[0], 0)
            assert options == alone.options[0]
            count += len(info.sites)
        entries = [info.entry.removeprefix("kernel$") for info in made.kernels]
        assert len(set(entries)) == len(entries)


def test_figures() -> None:
    made = {info.entry: info for info in elaborate_kernels(ALL, "sm_90").kernels}
    shared = {name: (info.shared, info.dynamic_shared) for name, info in made.items()}
    assert shared.pop("wide") == (4096 + 512 + 256, 0)
    assert shared.pop("narrow") == (512, 256)
    assert set(shared.values()) == {(0, 0)}
    assert {name for name, info in made.items() if info.uses} == {"meets"}
    assert {name for name, info in made.items() if info.sites} == {"wide", "tells"}
    assert {name: info.per_thread for name, info in made.items() if info.per_thread != (1, 1)} == {
        "quiet_1": (4, 1)
    }
    assert [info.signature.name for info in made.values()].count("adds") == 2


def test_functions_are_shared_but_for_those_that_tell() -> None:
    names = [f.name for f in elaborate_kernels([*ALL[:2], instance(tells)], "sm_90").module.functions]
    assert sorted(names) == ["kept", "narrow", "said", "said_1", "scaled", "tells", "turned", "wide"]


def entries(ptx: str) -> dict[str, str]:
    """The code of each kernel, its labels and its memory numbered from 0 on."""
    out: dict[str, str] = {}
    for name, body in re.findall(r"\.entry (\w+)\((.*?)\n}", ptx, re.DOTALL):
        numbers: dict[str, str] = {}

        def steady(found: re.Match[str], numbers: dict[str, str] = numbers) -> str:
            return numbers.setdefault(found[0], f"<{len(numbers)}>")

        body = re.sub(
            r"//.*|\t\.(loc|shared)\s.*|\$L__\w+:$", "", body.replace(f"{name}_param", "param"), flags=re.M
        )
        body = re.sub(r"\$L__BB\d+_|[\w$]*shared_\w+", steady, body)
        out[name] = "\n".join(line for line in body.splitlines() if line.strip())
    return out


def text_of(instances: list[Instance]) -> str:
    text = elaborate_kernels(instances, "sm_90").emit("asm")
    assert isinstance(text, str)
    return text


def test_the_code_of_each_is_what_it_is_alone() -> None:
    """Noalias of arguments too: LLVM reads through it by ``ld.global.nc``."""
    together = entries(text_of(ALL))
    found = elaborate_kernels(ALL, "sm_90").kernels
    for one, info in zip(ALL, found, strict=True):
        [alone] = entries(text_of([one])).values()
        if not info.sites:  # which have other numbers
            assert together[info.entry] == alone
    assert "ld.global.nc" in together["quiet"]
    assert "ld.global.nc" not in together["waits"]


def test_the_assembler_gives_each_its_own_memory(tmp_path: Any) -> None:
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("NVIDIA's assembler is not here")
    made = elaborate_kernels(ALL, "sm_90")
    command = [ptxas, "-v", "-arch", "sm_90", "-o", os.devnull, "-"]
    done = subprocess.run(command, input=str(made.emit("asm")), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said: dict[str, int] = {}
    for name, used in re.findall(r"entry function '(\w+)'[^U]*: (Used .*)", done.stderr):
        memory = re.search(r"(\d+) bytes smem", used)
        said[name] = 0 if memory is None else int(memory[1])
    assert said == {info.entry: info.shared for info in made.kernels}


# -- on the CPU -------------------------------------------------------------------------------------
Run = Callable[..., np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def loaded() -> Iterator[tuple[DeviceContext, Mapping[str, Function]]]:
    with DeviceContext(api="cpu") as ctx:
        artifact = compile_kernels(ON_CPU, ctx.target)
        functions = ctx.device.load(artifact)
        yield ctx, {f.kernel.entry.removeprefix("kernel$"): f for f in functions}


@pytest.fixture
def run(loaded: tuple[DeviceContext, Mapping[str, Function]]) -> Run:
    ctx, functions = loaded

    def run(name: str, *arrays: np.ndarray[Any, Any], shared: int = 0, over: int = 0) -> np.ndarray[Any, Any]:
        pointers = [a.ctypes.data_as(ctypes.c_void_p).value for a in arrays]
        grid = (1, 1, 1) if not over else (-(-over // THREADS), 1, 1)
        packed = struct.pack(f"<{len(pointers)}Q", *pointers)
        extents = (over, 1, 1) if over else (0, 0, 0)
        ctx.stream.launch(Launch(functions[name], grid, (THREADS, 1, 1), packed, shared, extents))
        ctx.queued()
        ctx.synchronize()
        return arrays[-1]

    return run


def numbers() -> np.ndarray[Any, Any]:
    return np.arange(THREADS, dtype=np.float32)


def test_each_runs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    x = numbers()
    wanted = np.roll(x * 2 + 1, -1) + x + np.roll(x, -2)
    assert np.array_equal(run("wide", x.copy()), wanted)
    assert capsys.readouterr().out == f"said {wanted[0]}\n"
    for _ in range(3):
        assert np.array_equal(run("narrow", x.copy(), shared=256), np.roll(x * 2 + 1, -3) - 1)
    assert np.array_equal(run("quiet", x, np.zeros_like(x)), x * 2 + 1)
    long = np.arange(1000, dtype=np.float32)
    assert np.array_equal(run("quiet_1", long, np.zeros(1000, np.float32), over=1000), long * 2 + 1)
    assert np.array_equal(run("adds", x.copy()), x + 1)
    assert np.array_equal(run("adds_1", x.copy()), x + 2)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["wide", "tells"])
def test_an_assertion_of_a_shared_function_names_its_kernel(
    run: Run, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with pytest.raises(DeviceError) as failed:
        run(name, numbers() - 1000)
    first = failed.value.diagnostics[0].message
    assert first.startswith(f"assertion failed in kernel '{name}': -")
    assert first.endswith(" is negative")
    capsys.readouterr()


@func
def part(n: Int) -> Int:
    """200,000 bytes of a thread's own."""
    mine = stack_allocation(Int, 25_000)
    mine[n] = 3
    return mine[n]


@kernel
def hoards(out: Pointer[Int]):
    """More than fits on a stack, all together."""
    for n in unroll(range(25)):
        out[n] = part(out[n])


@kernel
def holds(out: Pointer[Int]):
    mine = stack_allocation(Int, 1000)
    mine[out[1]] = 3
    out[0] = mine[out[1]]


def test_only_who_takes_much_takes_it_from_the_heap() -> None:
    made = elaborate_kernels([instance(holds), instance(hoards)], "x86-64")
    passed = run_passes(made.module, made.target)
    takes = {f.name for f in passed.functions for op in f.body.walk() if op.name == "weft.take_memory"}
    assert takes == {"part"}
