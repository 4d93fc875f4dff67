"""``weft build``: which kernels a program has, what becomes of them, and that nothing is lost on the way.

What is expected is what each kernel gives that was compiled by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft import CompileError, Float32, LaunchError, config, precompile
from weft.build import forked
from weft.build.assembled import assembled
from weft.build.compiled import compiled
from weft.build.outcome import Outcome
from weft.build.plan import Item, kernels_of, named, planned
from weft.build.report import table, trace
from weft.cli import main
from weft.cli.program import compiled as code_of
from weft.cli.program import execute
from weft.compiler.cache import compile_kernels
from weft.compiler.cache.disk import load
from weft.compiler.cache.shipped import take
from weft.compiler.llvm.worker import backend
from weft.diagnostics.timed import Span, timed
from weft.gpu.host import DeviceContext
from weft.targets import find_target

PROGRAM = """
from typing import TypeVar
from weft import Comptime, Float32, Float64, Int, Pointer, func, kernel
from weft.gpu import global_idx

T = TypeVar("T", Float32, Float64)


@func
def half(x: T) -> T:
    return x / 2


@kernel
def halve(x: Pointer[T], n: Int):
    i = global_idx.x
    if i < n:
        x[i] = half(x[i])


@kernel
def power(x: Pointer[Float32], *, n: Comptime[int]):
    i = global_idx.x
    y = Float32(1.0)
    for _ in range(n):
        y *= half(x[i])
    x[i] = y


@kernel
def plain(x: Pointer[Float32]):
    x[global_idx.x] = half(x[global_idx.x])


SOME = [power.bind(n=n) for n in range(1, 11)]


def kernels():
    return [halve.bind(T=Float32), halve.bind(T=Float64), [plain, *SOME]]
"""
posix = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def build(*words: object) -> int:
    return main(["build", *map(str, words)])


def items_of(program: Path, *targets: str) -> list[Item]:
    module = execute(code_of(str(program)), "__planned__")
    found = [find_target(name) for name in targets]
    items, left = planned(named(module.kernels()), found, 0, {})
    assert not left
    return items


def codes(outcomes: Sequence[Outcome]) -> list[bytes]:
    assert [each.error for each in outcomes] == [None] * len(outcomes)
    return [each.artifact.code for each in outcomes if each.artifact is not None]


def alone(items: Sequence[Item], folder: Path) -> list[bytes]:
    with config.scope(cache_dir=folder):
        return [compile_kernels([each.instance], each.target).code for each in items]


def ignore(_: object) -> None:
    """Nobody looks on."""


# -- what there is to compile ------------------------------------------------------------------------
def test_names(program: Path) -> None:
    module = execute(code_of(str(program)), "__named__")
    assert [*kernels_of(module)] == ["halve", "power", "plain", *(f"SOME[{n}]" for n in range(10))]
    names = [*named(module.kernels())]
    assert names[:4] == ["halve[T=Float32]", "halve[T=Float64]", "plain", "power[n=1]"]
    assert [*named([module.plain, module.plain])] == ["plain"]
    assert next(iter(named(module))) == "__named__.halve"
    for wrong in ("plain", 3, [module.plain, 3], [module.half]):
        with pytest.raises(LaunchError, match="names no kernels"):
            named(wrong)


def test_a_package_is_all_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "built_package" / "inner"
    folder.mkdir(parents=True)
    for place in (folder.parent, folder):
        (place / "__init__.py").write_text("")
    (folder / "one.py").write_text(PROGRAM)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import built_package  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    assert "built_package.inner.one.plain" in named(built_package)


# -- what becomes of it ------------------------------------------------------------------------------
@posix
@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("forks", [False, True])
def test_the_same_code_however_many_compile(
    program: Path, tmp_path: Path, jobs: int, forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.active_count", lambda: 1)  # the tests' own wait in the parent
    items = items_of(program, "sm_90", "x86-64")
    wanted = alone(items, tmp_path / "alone")
    with config.scope(cache_dir=tmp_path / "cache"):
        told: list[Outcome] = []
        first = compiled(items, jobs, told.append, forks=forks)
        again = compiled(items, jobs, ignore, forks=forks)
    assert codes(first) == codes(again) == wanted
    assert not any(each.found for each in first)
    assert all(each.found for each in again)
    assert sorted(each.item.name for each in told) == sorted(each.name for each in items)
    assert len({each.process for each in first} - {os.getpid()}) == (jobs if forks and jobs > 1 else 0)
    stages = {span.stage for each in first for span in each.spans}
    assert stages >= {"elaborate", "verify", "passes", "lower", "read", "optimise", "make code of"}


@posix
def test_what_ends_a_fork_costs_a_fork(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM ends, or stays, in the process that has certain kernels; the parent has workers for these."""
    items = items_of(program, "sm_90")
    wanted = alone(items, tmp_path / "alone")
    parent, compile = os.getpid(), backend.compile

    def ends(job: Any, stage: Any) -> Any:
        if os.getpid() != parent and "power" in job.text:
            if job.text.count("fmul") == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            if job.text.count("fmul") == 5:
                signal.pause()
            if job.text.count("fmul") == 7:
                raise RuntimeError("no such instruction")
        return compile(job, stage)

    monkeypatch.setattr(backend, "compile", ends)
    monkeypatch.setattr(forked, "_SLACK", 0.5)
    with config.scope(cache_dir=tmp_path / "cache", compile_limit=2.0):
        assert codes(forked.forked(items, 2, ignore)) == wanted


def test_errors_are_told_and_the_others_compiled(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = textwrap.dedent("""
        @kernel
        def wrong(x: Pointer[Float32]):
            x[global_idx.x] = half(x[global_idx.x], 1)
    """)
    program.write_text(PROGRAM + wrong)
    with config.scope(cache_dir=tmp_path / "cache"):
        assert build(program, "--target", "sm_90,cpu") == 1
    out, err = capsys.readouterr()
    assert "half takes 1" in err
    assert "left out halve: compiling halve without a launch needs to know the type `T`" in err
    assert "left out power: " in err
    assert out.splitlines() == [
        "sm_90: 11 kernels compiled, 0 found in the cache",
        "native: 11 kernels compiled, 0 found in the cache",
    ]


def test_options(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with config.scope(cache_dir=tmp_path / "cache"):
        given = "--type", "T=Float64", "--param", "n=3", "--over", "1", "--target", "sm_90"
        assert build(f"{program}:halve", f"{program}:power", *given, "--time-report") == 0
        out, err = capsys.readouterr()
        assert out.startswith("sm_90: 2 kernels compiled, 0 found in the cache\n")
        assert "optimise" in out.splitlines()[1]
        assert not err
        assert build(tmp_path, *given) == 0
        assert (
            capsys.readouterr().out == "sm_90: 10 kernels compiled, 3 found in the cache\n"
        )  # one is SOME[2]
        assert build(f"{program}:half", *given) == 1
        assert build(f"{program}:3", *given) == 1
        assert build(tmp_path / "none.py", *given) == 1
        assert build(program, "--target", "sm_9") == 1
        assert build(program, "--trace", tmp_path, *given) == 1
        assert build(program, "-o", tmp_path / "none" / "x.tar.gz", *given) == 1


# -- what is written ---------------------------------------------------------------------------------
def test_an_archive_has_it_for_all_targets(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "program.tar.gz"
    with config.scope(cache_dir=tmp_path / "here"):
        build(f"{program}:SOME[2]", "--target", "sm_80", "-o", tmp_path / "other.tar.gz")
        assert build(f"{program}:kernels()", "--target", "sm_90,x86-64", "-o", archive) == 0
    with config.scope(cache_dir=tmp_path / "there"):
        assert main(["cache", "import", str(archive)]) == 0
        capsys.readouterr()
        build(f"{program}:kernels()", "--target", "sm_90,x86-64,sm_80")
    assert capsys.readouterr().out.splitlines() == [
        "sm_90: 0 kernels compiled, 13 found in the cache",
        "x86-64: 0 kernels compiled, 13 found in the cache",
        "sm_80: 13 kernels compiled, 0 found in the cache",
    ]


def test_a_folder_has_code_and_an_index(program: Path, tmp_path: Path) -> None:
    with config.scope(cache_dir=tmp_path / "cache"):
        assert build(f"{program}:SOME", "--target", "sm_90,x86-64", "-o", f"{tmp_path}/code/") == 0
    index = json.loads((tmp_path / "code" / "program.json").read_text())
    assert [each["kernel"] for each in index[:3]] == ["power[n=1]", "power[n=1]", "power[n=2]"]
    assert index[0]["parameters"] == [{"name": "x", "type": "float32", "pointer": True}]
    for each in index:
        code = (tmp_path / "code" / each["file"]).read_bytes()
        assert each["entry"].encode() in code
        assert code.startswith(b"\x7fELF" if each["target"] == "x86-64" else b"//")


def unquoted(text: str) -> bytes:
    """What stands between MLIR's quotes."""
    return re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())


def test_one_module_shows_a_program_with_its_device_code(program: Path, tmp_path: Path) -> None:
    place = tmp_path / "program.mlir"
    with config.scope(cache_dir=tmp_path / "cache"):
        words = ["--target", "sm_90,sm_80,x86-64", "-o"]
        assert build(f"{program}:SOME", *words, place) == 0
        assert build(f"{program}:SOME", *words, f"{tmp_path}/code/") == 0
    text = place.read_text()
    index = json.loads((tmp_path / "code" / "program.json").read_text())
    wanted = {(e["kernel"], e["target"]): (tmp_path / "code" / e["file"]).read_bytes() for e in index}
    found: dict[tuple[str, str], bytes] = {}
    for name, objects in re.findall(r'gpu\.binary @"(.*?)" \[(.*)\]', text):
        for target, code in re.findall(r'chip = "(\w+)">, assembly = "([^"]*)"', objects):
            found[name, target] = unquoted(code)
    for name, code in re.findall(r'llvm\.mlir\.global constant @"(.*?)\.x86-64"\("([^"]*)"', text):
        found[name, "x86-64"] = unquoted(code)
    assert found == wanted
    assert 'func.func @"launch power[n=2]"(%a0_x: !llvm.ptr, %grid_x: index,' in text
    assert 'gpu.launch_func @"power[n=2]"::@"power"' in text


def test_mlir_takes_that_module(program: Path, tmp_path: Path) -> None:
    ir: Any = pytest.importorskip("jaxlib.mlir.ir")
    more: Any = pytest.importorskip("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    place = tmp_path / "program.mlir"
    with config.scope(cache_dir=tmp_path / "cache"):
        assert build(f"{program}:kernels()", "--target", "sm_90,sm_80,x86-64", "-o", place) == 0
    registry = ir.DialectRegistry()
    more.register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        assert ir.Module.parse(place.read_text()).operation.verify()


STATE = """
from weft import Float32, Pointer, func, kernel

SCALE = [1.0]

def grow():
    SCALE[0] += 1.0

@func
def scaled(x: Float32) -> Float32:
    return x * SCALE[0]

@kernel
def first(p: Pointer[Float32]):
    p[0] = scaled(p[0])

@kernel
def grows(p: Pointer[Float32]):
    grow()
    p[0] = 7.0

@kernel
def last(p: Pointer[Float32]):
    p[0] = scaled(p[0]) + 0.5
"""


def test_what_one_kernel_changes_others_read_as_if_compiled_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "state.py").write_text(STATE)
    found: list[list[float]] = []
    for together in (True, False):
        names = vars(execute(code_of(str(tmp_path / "state.py")), f"__state_{together}__"))
        kernels = [names[name] for name in ("first", "grows", "last")]
        with config.scope(cache_dir=tmp_path / "cache"), DeviceContext(api="cpu") as ctx:
            made = ctx.compile_functions(kernels) if together else [ctx.compile_function(k) for k in kernels]
            found.append([])
            for each in made:
                x = ctx.enqueue_create_buffer(Float32, 1)
                x.enqueue_fill(1.0)
                ctx.enqueue_function(each, x, grid_dim=1, block_dim=1)
                with x.map_to_host() as host:
                    found[-1].append(host[0])
            found[-1].append(names["SCALE"][0])
    assert found[0] == found[1]
    assert found[0][2] == found[0][3] + 0.5 > 1.5


def test_reports() -> None:
    item: Any = Item("k", None, find_target("sm_90"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    spans = (
        Span("stage", 0.001, 0.002, 7),
        Span("elaborate", 0.0, 0.004, 7),
        Span("optimise", 0.003, 0.005, 8),
    )
    outcome = Outcome(item, None, spans=spans, process=5)
    lines = [line.split() for line in table([outcome, outcome], 0.007, most=1).splitlines()]
    assert lines[0] == ["milliseconds", "stage", "elaborate", "optimise", "all"]
    assert lines[1] == ["k", "(sm_90)", "1.0", "3.0", "2.0", "6.0"]
    assert lines[2] == ["1", "others", "1.0", "3.0", "2.0", "6.0"]
    assert lines[3] == ["all", "2.0", "6.0", "4.0", "12.0"]
    events = json.loads(trace([outcome]))["traceEvents"]
    assert events[1] == {
        "name": "elaborate",
        "cat": "compile",
        "ph": "X",
        "ts": 0.0,
        "dur": 4000.0,
        "pid": 5,
        "tid": 7,
        "args": {"kernel": "k", "target": "sm_90"},
    }


# -- faults of the cache -----------------------------------------------------------------------------
def in_another(program: Path, cache: Path, *words: str) -> subprocess.Popen[str]:
    targets = "sm_90,sm_80"
    line = [sys.executable, "-m", "weft", "build", f"{program}:kernels()", "--target", targets, "-j", "2"]
    env = {**os.environ, "WEFT_CACHE_DIR": str(cache)}
    return subprocess.Popen([*line, *words], env=env, stdout=-1, stderr=-1, text=True)


def ends_well(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def folder_of(place: Path, name: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (place / name).iterdir() if p.suffix == ".ptx"}


def damage(clean: Path, cache: Path) -> None:
    """Cut, change, empty and overwrite what a cache has."""
    cache.mkdir(exist_ok=True, mode=0o700, parents=True)
    (cache / "CACHEDIR.TAG").write_bytes((clean / "CACHEDIR.TAG").read_bytes())
    for n, file in enumerate(sorted(clean.glob("*.weft"))):
        data = file.read_bytes()
        wrong = (data[: len(data) // 2], data[:-1] + bytes([data[-1] ^ 1]), b"", b"\0" * len(data))
        (cache / file.name).write_bytes(wrong[n % 4])
        (cache / file.name).chmod(0o600)


@posix
def test_builds_that_race_are_killed_and_meet_damage(program: Path, tmp_path: Path) -> None:
    """Whatever became of the cache, what a build gives is the code."""
    cache = tmp_path / "cache"
    ends_well(in_another(program, tmp_path / "clean", "-o", f"{tmp_path}/wanted/"))
    wanted = folder_of(tmp_path, "wanted")
    assert len(wanted) == 26
    for seconds in (0.1, 0.2, 0.3):  # killed in the midst of it, unless what was kept is all by then
        killed = in_another(program, cache)
        with contextlib.suppress(subprocess.TimeoutExpired):
            killed.communicate(timeout=seconds)
        killed.kill()
        killed.communicate()
    damage(tmp_path / "clean" / "weft-compiled", cache / "weft-compiled")
    racing = [in_another(program, cache, "-o", f"{tmp_path}/out{n}/") for n in range(12)]
    racing += [in_another(program, cache, "-o", f"{tmp_path}/all.tar.gz") for _ in range(4)]
    for n, each in enumerate(racing):
        ends_well(each)
        assert n >= 12 or folder_of(tmp_path, f"out{n}") == wanted
    found = "0 kernels compiled, 13 found in the cache"
    assert ends_well(in_another(program, cache)).splitlines() == [f"sm_90: {found}", f"sm_80: {found}"]
    with config.scope(cache_dir=tmp_path / "shipped"):
        assert take(tmp_path / "all.tar.gz") == (26, 0)


# -- weft.precompile ---------------------------------------------------------------------------------
def test_precompile_fills_the_cache_beside_the_program(program: Path, tmp_path: Path) -> None:
    module = execute(code_of(str(program)), "__ahead__")
    targets = "sm_90", "cpu"
    with config.scope(cache_dir=tmp_path / "cache"):
        coming = precompile(module.kernels(), target=targets, jobs=2)
        assert coming.wait() is coming
        assert coming.done
        assert len(coming.names) == 13
        assert not coming.left_out
        outcomes = compiled(items_of(program, *targets), 1, ignore)
        assert all(each.found for each in outcomes)
        partly = precompile(module, target="sm_90")
        assert partly.left_out == ("__ahead__.halve", "__ahead__.power")
        one = precompile(module.plain, target="sm_90").wait()
        assert repr(one) == "<1 kernel, compiled>"


def test_precompile_tells_what_cannot_be_compiled(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM + "\n@kernel\ndef wrong(x: Pointer[Float32]):\n    x[0] = half(x[0], 1)\n")
    module = execute(code_of(str(program)), "__ahead_wrong__")
    with config.scope(cache_dir=tmp_path / "cache"):
        coming = precompile([module.wrong, module.plain], target="sm_90")
        with pytest.raises(CompileError, match="half takes 1"):
            coming.wait()
        [outcome] = compiled(planned({"plain": module.plain}, [find_target("sm_90")], 0, {})[0], 1, ignore)
        assert outcome.found
        with pytest.raises(LaunchError, match="jobs=0"):
            precompile(module.plain, jobs=0)
        with pytest.raises(LaunchError, match="names no kernels"):
            precompile(module.half)


class _Driver:
    """A driver that has one GPU, for which it assembles by turning code round."""

    @staticmethod
    def device_info(_: int) -> Any:
        return SimpleNamespace(target="sm_90")


def driver_of(_: str) -> type[_Driver]:
    return _Driver


class _Context:
    """A context of it."""

    def __init__(self, *, api: str) -> None:
        self.device = self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def load(self, artifact: Any, kept: Any) -> None:
        with timed("assemble"):
            kept([artifact.code, "a driver"], lambda: artifact.code[::-1])


def test_what_the_driver_assembles_is_kept_too(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weft.runtime.drivers.default_api", lambda: "played")
    monkeypatch.setattr("weft.runtime.drivers.find_driver", driver_of)
    monkeypatch.setattr("weft.launch.context.DeviceContext", _Context)
    with config.scope(cache_dir=tmp_path / "here"):
        outcomes = compiled(items_of(program, "sm_90", "sm_80"), 1, ignore)
        made, keys = assembled(outcomes, 2)
        assert len(set(keys)) == 13  # of sm_90 alone
        assert load(keys[0]) in [code[::-1] for code in codes(outcomes)]
        damage(tmp_path / "here" / "weft-compiled", tmp_path / "here" / "weft-compiled")
        assert load(keys[0]) is None
        assert set(assembled(outcomes, 2)[1]) == set(keys)
        assert sorted(load(key) or b"" for key in keys) == sorted(code[::-1] for code in codes(outcomes)[::2])
        assert ["assemble" in {s.stage for s in o.spans} for o in made] == [True, False] * 13
        assert build(f"{program}:SOME", "-o", tmp_path / "all.tar.gz", "--target", "sm_90") == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"20 files in {tmp_path / 'all.tar.gz'}"
