"""The cache: hits skip the compiler, anything that matters changes the key, damage costs a compilation."""

from __future__ import annotations

import dataclasses
import linecache
import multiprocessing
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from weft import Float32, Kernel, cache, compiler, config
from weft.artifact import Artifact
from weft.dtype import DType
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.targets import find_target

SOURCE = """
from weft import Float32, Pointer, func, kernel, struct
from weft.gpu import global_idx
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


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with config.scope(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


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


def key(kernel: Kernel[...], target: str = "sm_90") -> str | None:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.function)}
    return cache.key_of(kernel, specs, find_target(target), None)


def compiled(kernel: Kernel[...], target: str = "sm_90") -> Artifact:
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.function)}
    return cache.compile_kernel(kernel, specs, target)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a compilation is a failure."""

    def fail(*_args: object, **_named: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiler, "elaborate_kernel", fail)


def without_comments(artifact: Artifact) -> Artifact:
    """LLVM numbers calls through the life of a process, in comments."""
    return dataclasses.replace(artifact, code=re.sub(rb"//.*", b"", artifact.code))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*"))


def test_hit(folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first = compiled(kernel_of(SOURCE, tmp_path))
    assert len(entries(folder)) == 1
    request.getfixturevalue("no_compiler")
    again = compiled(kernel_of(SOURCE, tmp_path))  # as a new process would
    assert again == first
    assert first.prints[0].pieces == (DType.int64, " ", (DType.float32, ".2f"), "\n")
    assert first.asserts[0].pieces == ("far",)


def test_private(folder: Path, tmp_path: Path) -> None:
    compiled(kernel_of(SOURCE, tmp_path))
    (entry,) = entries(folder)
    if sys.platform != "win32":
        assert entry.stat().st_mode & 0o077 == 0
        assert entry.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("TABLE = [1.0, 2.0]", "TABLE = [1.0, 2.5]"),
        ("[0.5, 0.25]", "[0.75, 0.25]"),
        ("return x * SCALE", "return x + SCALE"),
        ("return x + TABLE[1]", "return x + TABLE[0]"),
        ("self.a + self.b", "self.a - self.b"),
        ("b: Float32\n", "b: Float64\n"),
        ("p[i] = plain", "p[i] = 1.0 + plain"),
        ('"far"', '"near"'),
        ("p: Pointer[Float32]", "p: Pointer[Float64]"),
    ],
)
def test_what_matters_is_in_the_key(old: str, new: str, tmp_path: Path) -> None:
    assert old in SOURCE
    source = SOURCE.replace("import Float32,", "import Float32, Float64,")
    before = key(kernel_of(source, tmp_path))
    assert before is not None
    assert key(kernel_of(source.replace(old, new), tmp_path)) != before


def test_what_does_not_matter_is_not(tmp_path: Path) -> None:
    before = key(kernel_of(SOURCE, tmp_path))
    assert key(kernel_of(SOURCE, tmp_path)) == before
    assert key(kernel_of(SOURCE + "\n\ndef other():\n    return SCALE\n", tmp_path)) == before


def test_target_and_machine_are_in_the_key(tmp_path: Path) -> None:
    k = kernel_of(SOURCE, tmp_path)
    assert len({key(k, t) for t in ("sm_80", "sm_90", "native", "x86-64")}) == 4


def test_no_fingerprint_means_no_cache(folder: Path, tmp_path: Path) -> None:
    source = SOURCE.replace("SCALE = 2.0", "class C:\n    value = 2.0\n\n\nSCALE = C()").replace(
        "x * SCALE", "x * SCALE.value"
    )
    k = kernel_of(source, tmp_path)
    assert key(k) is None
    compiled(k)
    assert entries(folder) == []


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign", "folder"])
def test_damage_costs_a_compilation(damage: str, folder: Path, tmp_path: Path) -> None:
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
    else:
        entry.unlink()
        entry.mkdir()
    assert without_comments(compiled(k)) == without_comments(first)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with config.scope(cache_dir=blocked / "cache"):
        assert compiled(kernel_of(SOURCE, tmp_path)).code


def test_nothing_is_left_of_a_write_that_fails(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weft.cache.os.replace", full)
    assert compiled(kernel_of(SOURCE, tmp_path)).code
    assert entries(folder) == []


def test_bounded(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = compiled(kernel_of(SOURCE, tmp_path))
    size = entries(folder)[0].stat().st_size
    monkeypatch.setattr(cache, "_LIMIT", 10 * size)
    for n in range(40):
        cache.store(f"{n % 16:x}{n:063x}", artifact)
    cache.store("0" * 64, artifact)
    assert sum(p.stat().st_size for p in entries(folder)) <= 10 * size


def _in_process(arguments: tuple[str, str]) -> bytes:
    folder, work = arguments
    with config.scope(cache_dir=folder):
        return compiled(kernel_of(SOURCE, Path(work))).code


def test_many_processes(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SOURCE)
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        codes = pool.map(_in_process, [(str(folder), str(tmp_path))] * 8)
    assert len(set(codes)) == 1
    assert len(entries(folder)) == 1


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
