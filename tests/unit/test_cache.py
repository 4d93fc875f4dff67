"""The cache: a hit spares LLVM, whatever became of a kernel is in its key, damage costs a compilation."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import linecache
import multiprocessing
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edits import EDITS, write
from weft import Float32, Func, Int32, Kernel, PerformanceWarning, Pointer, config, func, kernel
from weft.abi.artifact import Artifact
from weft.compiler import cache
from weft.compiler.cache import tools
from weft.compiler.cache.folder import NAME
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.llvm.emit import load_object
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.dtype import DType
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.launch.ranges import describe_over
from weft.targets import find_target

SOURCE = """
from weft import Float32, Pointer, func, kernel, struct
from weft.gpu import global_idx
from weft.memory import AddressSpace, stack_allocation
import numpy as np

SCALE = 2.0
TABLE = [1.0, 2.0]
WEIGHTS = np.array([0.5, 0.25])


@struct
class Pair:
    a: Float32
    b: Float32

    def total(self) -> Float32:
        return self.a + self.b


@func
def helper(x: Float32) -> Float32:
    return x * SCALE


def plain(x):
    return x + TABLE[1]


@kernel
def k(p: Pointer[Float32]):
    i = global_idx.x
    print(i, f"{p[i]:.2f}")
    assert i < 100, "far"
    p[i] = plain(helper(p[i])) + Pair(p[i], 1.0).total() + float(WEIGHTS[0])
"""


@pytest.fixture(autouse=True)
def own_tools() -> None:
    """What is kept of weft's files lies in the folder of all tests, so that others hold kernels alone."""
    assert tools.toolchain(False) is not None
    assert tools.toolchain(True) is not None
    assert tools.whole() is not None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with config.scope(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache" / NAME


def kernel_of(source: str, folder: Path) -> Kernel[...]:
    path = folder / "program.py"
    if not path.exists() or path.read_text() != source:
        path.write_text(source)
    linecache.checkcache(str(path))
    module = types.ModuleType("program")
    module.__file__ = str(path)
    sys.modules["program"] = module
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module.k


def elaborated(kernel: Kernel[...], target: str = "sm_90") -> Compilation:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.definition)}
    return elaborate_kernel(kernel, specs, target)


def key(kernel: Kernel[...], target: str = "sm_90") -> str:
    found = cache.key_of(elaborated(kernel, target))
    assert found is not None
    return found


def compiled(kernel: Kernel[...], target: str = "sm_90") -> Artifact:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.definition)}
    return cache.compile_kernel(kernel, specs, target)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a compilation is a failure."""

    def fail(*_args: object, **_named: object) -> None:
        raise AssertionError("compiled again")

    for module in (
        "weft.compiler.passes.pipeline.run_passes",
        "weft.compiler.llvm.lower.lower_module",
        "weft.compiler.llvm.emit.emit",
    ):
        monkeypatch.setattr(module, fail)


def without_comments(artifact: Artifact) -> Artifact:
    """LLVM numbers calls through the life of a process, in comments."""
    return dataclasses.replace(artifact, code=re.sub(rb"//.*", b"", artifact.code))


def entries(folder: Path) -> list[Path]:
    """The files with code; that some code has been compiled is noted in one of nothing but a head."""
    return sorted(path for path in folder.glob("*.weft") if path.stat().st_size > 36)


def test_hit(folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first = compiled(kernel_of(SOURCE, tmp_path))
    assert len(entries(folder)) == 1
    request.getfixturevalue("no_compiler")
    again = compiled(kernel_of(SOURCE, tmp_path))  # as a new process would
    assert again == first
    printed, asserted = first.kernels[0].sites.values()
    assert printed.pieces == (DType.int64, " ", (DType.float32, ".2f"), "\n")
    assert asserted.pieces == ("far",)


def test_calls_from_python_are_kept_too(folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = "from weft import *\n@func\ndef k(x: Float32, y):\n    return x * 2.0, y, 'known'\n"
    other: Any = kernel_of(source.replace("2.0", "4.0"), tmp_path)
    assert other(1.5, 7) == (6.0, 7, "known")  # the first call of a process keeps the stub of all calls too
    before = len(entries(folder))
    call: Any = kernel_of(source, tmp_path)
    assert call(1.5, 7) == (3.0, 7, "known")
    assert len(entries(folder)) == before + 1
    request.getfixturevalue("no_compiler")
    again: Any = kernel_of(source, tmp_path)
    assert again(2.5, 8) == (5.0, 8, "known")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("TABLE = [1.0, 2.0]", "TABLE = [1.0, 2.5]"),
        ("[0.5, 0.25]", "[0.75, 0.25]"),
        ("return x * SCALE", "return x + SCALE"),
        ("return x + TABLE[1]", "return x + TABLE[0]"),
        ("self.a + self.b", "self.a - self.b"),
        ("a: Float32\n    b: Float32\n", "b: Float32\n    a: Float32\n"),
        ("p[i] = plain", "p[i] = 1.0 + plain"),
        ('"far"', '"near"'),
        ('"far"', '"fa{p[0]}r"'),
        (":.2f", ":.3f"),
        ("    i = global", "\n    i = global"),
        ("    i = global_idx.x", "    i = global_idx.y"),
    ],
)
def test_what_matters_is_in_the_key(old: str, new: str, tmp_path: Path) -> None:
    assert old in SOURCE
    source = SOURCE.replace("import Float32,", "import Float32, Float64,")
    before = key(kernel_of(source, tmp_path))
    assert key(kernel_of(source.replace(old, new), tmp_path)) != before


def test_what_does_not_matter_is_not(tmp_path: Path) -> None:
    before = key(kernel_of(SOURCE, tmp_path))
    assert key(kernel_of(SOURCE, tmp_path)) == before
    assert key(kernel_of(SOURCE + "\n\ndef other():\n    return SCALE\n", tmp_path)) == before
    assert key(kernel_of(SOURCE.replace("[1.0, 2.0]", "[7.0, 2.0]"), tmp_path)) == before


def test_target_and_machine_are_in_the_key(tmp_path: Path) -> None:
    k = kernel_of(SOURCE, tmp_path)
    assert len({key(k, t) for t in ("sm_80", "sm_90", "native", "x86-64")}) == 4
    own = dataclasses.replace(find_target("sm_90"), features="+ptx84")
    specs = {"p": spec_of_annotation(Pointer[Float32])}
    assert cache.key_of(elaborate_kernel(k, specs, own)) != key(k)


def test_options_are_in_the_key(tmp_path: Path) -> None:
    k = kernel_of(SOURCE, tmp_path)
    specs = {"p": spec_of_annotation(Pointer[Float32])}
    made = [
        elaborate_kernel(k, specs, "sm_90", CompileOptions(over, distinct))
        for over in (None, describe_over(1), describe_over(1, (4, 1)), describe_over(2))
        for distinct in (False, True)
    ]
    keys = [cache.key_of(m) for m in made]
    assert len({m.llvm() for m in made}) == len(set(keys))


def test_the_key_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Whatever order sets have there, and whatever was compiled before."""
    (tmp_path / "program.py").write_text(SOURCE)
    check = (
        "import program; from weft.compiler.cache import key_of\n"
        "from weft.compiler.pipeline import elaborate_kernel\n"
        "from weft import *; from weft.lang.accept import spec_of_annotation\n"
        "specs = {'p': spec_of_annotation(Pointer[Float32])}\n"
        "for t in ('sm_90', 'native', 'native'): print(key_of(elaborate_kernel(program.k, specs, t)))\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    found: set[tuple[str, ...]] = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", check], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        found.add(tuple(done.stdout.split()))
    ((gpu, first, second),) = found
    assert first == second != gpu


# -- edits ----------------------------------------------------------------------------------------


def test_every_way_of_reaching_a_value(tmp_path: Path) -> None:
    """Of each program: with the first value, with the second, with the first again; each in a new process."""
    command = [sys.executable, str(Path(__file__).parents[1] / "support" / "edits.py"), str(tmp_path)]
    paths = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": paths, "WEFT_CACHE_DIR": str(tmp_path / "cache")}
    runs: list[list[list[Any]]] = []
    for version in (0, 1, 0):
        write(tmp_path, version)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        runs.append(json.loads(done.stdout))
    wrong: list[str] = []
    for number, name in enumerate(EDITS):
        found = [run[number] for run in runs]
        if any(len(each) != 2 for each in found):
            wrong.append(f"{name}: {found}")
        elif any(kept != fresh for kept, fresh in found):
            wrong.append(f"{name}: stale")
        elif found[0] == found[1]:
            wrong.append(f"{name}: the edit changes nothing")
    assert wrong == []
    assert len(entries(tmp_path / "cache" / NAME)) > len(EDITS)


def test_factories_that_capture_methods_of_containers(folder: Path) -> None:
    """Without any edit, what one kernel captured must not become another's."""
    ctx = DeviceContext(api="cpu")

    def make(get: Callable[[int], float]) -> Kernel[...]:
        @kernel
        def k(p: Pointer[Float32]):
            p[0] = get(0)

        return k

    for value in (1.0, 2.0, 3.0):
        x = np.zeros(1, np.float32)
        ctx.enqueue_function(make([value].__getitem__), x, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert x[0] == value


# -- damage and limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign", "folder", "another's"])
def test_damage_costs_a_compilation(
    damage: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = kernel_of(SOURCE, tmp_path)
    first = compiled(k)
    (entry,) = entries(folder)
    data = entry.read_bytes()
    if damage == "flip":
        entry.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    elif damage == "cut":
        entry.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "foreign":
        entry.write_bytes(b"PK" + data)
    elif damage == "folder":
        entry.unlink()
        entry.mkdir()
    else:  # right in itself, but of another kernel
        compiled(kernel_of(SOURCE.replace("SCALE = 2.0", "SCALE = 9.0"), tmp_path))
        (other,) = set(entries(folder)) - {entry}
        other.replace(entry)
        k = kernel_of(SOURCE, tmp_path)
    if damage == "folder":
        monkeypatch.setattr("weft.compiler.cache.disk._said", False)
        with pytest.warns(PerformanceWarning, match="are not kept"):
            again = compiled(k)
    else:
        again = compiled(k)
    assert without_comments(again) == without_comments(first)


def _in_process(arguments: tuple[str, str]) -> bytes:
    folder, work = arguments
    with config.scope(cache_dir=folder):
        return without_comments(compiled(kernel_of(SOURCE, Path(work)))).code


def test_many_processes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SOURCE)
    folder = tmp_path / "cache"
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        codes = pool.map(_in_process, [(str(folder), str(tmp_path))] * 8)
    assert len(set(codes)) == 1
    assert len(entries(folder / NAME)) == 2  # the kernel, and what weft's files hold
    assert [p.name for p in folder.iterdir()] == [NAME]


def test_results_through_the_cache(folder: Path, tmp_path: Path) -> None:
    source = SOURCE.replace('    print(i, f"{p[i]:.2f}")\n', "")
    for _ in range(2):
        ctx = DeviceContext(api="cpu")
        buffer = ctx.enqueue_create_buffer(Float32, 8)
        ctx.enqueue_copy(dst=buffer, src=np.arange(8, dtype=np.float32))
        ctx.enqueue_function(kernel_of(source, tmp_path), buffer, grid_dim=1, block_dim=8)
        with buffer.map_to_host() as host:
            x = np.arange(8, dtype=np.float32)
            np.testing.assert_array_equal(np.asarray(host), x * 2 + 2 + x + 1 + 0.5)
    assert len(entries(folder)) == 1


# -- what makes the code --------------------------------------------------------------------------


@pytest.fixture
def fresh_tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str | None]]:
    """Ask anew, as another process would."""
    found = tools.toolchain.cache_clear

    def ask() -> str | None:
        found()
        return tools.toolchain(False)

    yield ask
    found()


def test_contents_of_weft_are_in_the_key(
    tmp_path: Path, folder: Path, fresh_tools: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(tools.__file__).parents[2]
    copied = tmp_path / "weft"
    for name in tools.TOOLS:
        for path in [package / name] if name.endswith(".py") else sorted((package / name).rglob("*.py")):
            to = copied / path.relative_to(package)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    here = fresh_tools()
    monkeypatch.setattr(tools, "__file__", str(copied / "compiler" / "cache" / "tools.py"))
    assert fresh_tools() is None  # written after weft was loaded
    monkeypatch.setattr(tools, "STARTED", 2**63)
    assert fresh_tools() == here
    file = copied / "compiler" / "passes" / "pipeline.py"
    status = file.stat()
    text = file.read_text()
    file.write_text(text.replace("Module", "Modulo"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    changed = fresh_tools()
    assert changed not in (None, here)
    file.write_text(text)
    assert fresh_tools() == here
    (copied / "compiler" / "passes" / "new.py").write_text("")
    assert fresh_tools() not in (None, here, changed)


def test_without_sources_nothing_is_kept(
    tmp_path: Path, folder: Path, fresh_tools: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "__file__", str(tmp_path / "app.zip" / "weft" / "cache" / "tools.py"))
    assert fresh_tools() is None
    assert compiled(kernel_of(SOURCE, tmp_path)).code
    assert not folder.exists()


OPENS = """
import sys
from weft.compiler.llvm import emit as llvm
asked = []
llvm.warm = lambda target=None: asked.append(1)
from weft import *
from weft.gpu.host import DeviceContext
ctx = DeviceContext(api="cpu")
print(len(asked), int("weft.compiler.llvm.lower" in sys.modules))

@kernel
def k(p: Pointer[Float32]):
    p[0] = 1.0

if "run" in sys.argv:
    ctx.enqueue_function(k, ctx.enqueue_create_buffer(Float32, 1), grid_dim=1, block_dim=1)
    ctx.synchronize()
"""


def test_what_compiles_comes_up_with_the_device_until_a_program_has_compiled(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OPENS)
    env = {
        **os.environ,
        "WEFT_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }

    def asked(*arguments: str) -> str:
        command = [sys.executable, str(program), *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert [asked(), asked("run"), asked("run"), asked()] == ["1 1", "1 1", "0 0", "0 0"]
    program.write_text(OPENS + "\n# another program\n")
    assert asked() == "1 1"


@func
def answer(n: Int32) -> Int32:
    return n + 40


def answers() -> list[Func[..., Any]]:
    return [answer]


def test_functions_that_others_call_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found by weft's sources, and not even elaborated."""
    code = cache.kept_object(answers)
    assert len(entries(folder)) == 1
    monkeypatch.setattr("weft.compiler.exported.exported", None)
    assert cache.kept_object(answers) == code
    loaded = load_object(code, ["answer"], {})
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(loaded.addresses[0])(2) == 42
    monkeypatch.setattr(cache, "whole", lambda: "other sources")
    with pytest.raises(TypeError):
        cache.kept_object(answers)
