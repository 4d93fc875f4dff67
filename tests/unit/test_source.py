"""The source that is compiled is that of the code that Python runs, or there is an error."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import linecache
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from source_samples import BASE, EDITS, PLACES
from weft import CompileError, Float32, Kernel, Pointer, kernel
from weft.compile import compile_info
from weft.compiler.source.find import find_function
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

SOURCE = """from weft import Float32, Float64, Pointer, func, kernel


def plain(x):
    return x + 1.0


@func
def helper(x: Float32) -> Float32:
    return x * 2.0


@kernel
def k(p: Pointer[Float64]):
    t: Float32 = 0.1
    p[0] = helper(p[0].cast(Float32)).cast(Float64) + t.cast(Float64)
    p[1] = 1.0
"""


def run(k: Kernel[...]) -> list[float]:
    ctx = DeviceContext(api="cpu")
    x = np.array([1.0, 0.0])
    ctx.enqueue_function(k, x, grid_dim=1, block_dim=1)
    ctx.synchronize()
    return x.tolist()


RIGHT = [2.0 + float(np.float32(0.1)), 1.0]


def function_of(text: str, file: Path) -> FunctionType:
    names: dict[str, Any] = {"__name__": file.stem}
    exec(compile(text, str(file), "exec", dont_inherit=True), names)
    return names["f"]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """``module(text)`` writes the file and imports it, or reloads it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made: list[ModuleType] = []
    name = f"written_{tmp_path.name}"

    def load(text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        made.append(importlib.reload(made[-1]) if made else importlib.import_module(name))
        return made[-1]

    yield load
    sys.modules.pop(name, None)


def file_of(module: ModuleType) -> Path:
    return Path(str(module.__file__))


@pytest.mark.parametrize("place", PLACES)
def test_source_is_found_wherever_it_stands(place: str, tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(PLACES[place], encoding="utf-8", newline="")
    fn = function_of(PLACES[place], file)
    found = find_function(fn)
    assert (found.name, found.body[0].lineno > 0) == ("f", True)
    assert fn.__code__.co_firstlineno in (found.lineno, *(d.lineno for d in found.decorator_list))


LAMBDAS = """
from functools import partial
def outer(a):
    return [lambda x: x + a, lambda x: x + a * 2], lambda y: (lambda x: x - y)
class C:
    __k = 4
    low = lambda x: x * C.__k; high = lambda x: x * 5
f = (lambda x: x + 1, lambda x: x + 2,
     lambda x, /, y=3, *, z=(lambda: 6): (
         x
         + y
     ), *outer(7)[0], outer(7)[1], outer(7)[1](8), C.low, C.high,
     *[lambda x, k=k: x ** k for k in (1, 2)], *[(lambda: lambda x: x % n)() for n in (5,)],
     partial(lambda x: "é", 1).func, lambda x: "é" + x)
"""


def test_lambdas_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(LAMBDAS, encoding="utf-8")
    lambdas: Any = function_of(LAMBDAS, file)
    bodies = [ast.unparse(find_function(fn).body[0]).removeprefix("return ") for fn in lambdas]
    first = ["x + 1", "x + 2", "x + y", "x + a", "x + a * 2", "lambda x: x - y", "x - y"]
    assert bodies == [*first, "x * C.__k", "x * 5", "x ** k", "x ** k", "x % n", "'é'", "'é' + x"]
    assert ast.unparse(find_function(lambdas[2]).args) == "x, /, y=3, *, z=lambda: 6"


def test_a_lambda_that_was_edited_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    fn = function_of("f = lambda x: x + 1", file)
    file.write_text("f = lambda x: x + 2", encoding="utf-8")
    with pytest.raises(CompileError, match="has changed since it was imported"):
        find_function(fn)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings(encoding: str, end: str, tmp_path: Path) -> None:
    text = f"# coding: {encoding.removesuffix('-sig')}\n\ndef f(x):\n    return 'ßä' + x, 'ü'\n"
    file = tmp_path / "sample.py"
    file.write_bytes(text.replace("\n", end).encode(encoding))
    names: dict[str, Any] = {}
    exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), names)
    assert find_function(names["f"]).name == "f"


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_an_edit_is_refused(old: str, new: str, tmp_path: Path) -> None:
    assert old in BASE
    assert len(old) == len(new)
    file = tmp_path / "sample.py"
    file.write_text(BASE)
    fn = function_of(BASE, file)
    find_function(fn)
    before = file.stat()
    file.write_text(BASE.replace(old, new, 1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    linecache.clearcache()  # which may remember the text that is right
    with pytest.raises(CompileError, match=r"sample.py has changed since it was imported"):
        find_function(fn)
    find_function(function_of(BASE.replace(old, new, 1), file))
    file.write_text(BASE)
    find_function(fn)


def test_a_file_with_a_kernel_is_known_as_it_was(module: Callable[[str], ModuleType]) -> None:
    made = module(SOURCE)
    file_of(made).write_text("")
    assert ast.unparse(find_function(made.plain).body[0]) == "return x + 1.0"


def test_a_helper_that_would_be_rewritten_is_refused_without_its_text(tmp_path: Path) -> None:
    text = "def f(flag):\n    return flag is True"
    names = {"helper": function_of(text, tmp_path / "gone.py")}
    file = tmp_path / "kernels.py"
    file.write_text("from weft import *\n\n\n@func\ndef g(flag: Bool):\n    return helper(flag)\n")
    exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), names)
    with pytest.raises(CompileError, match="the source of f cannot be found"):
        cast("Any", names["g"])(True)
    assert names["helper"](True) is True


@pytest.mark.parametrize(
    "text", ["# nothing is left\n" * 30, "\n" + SOURCE, SOURCE.replace("(x)", "(y)"), "(" * 9, ""]
)
def test_a_changed_file_is_refused(text: str, module: Callable[[str], ModuleType]) -> None:
    made = module(SOURCE.partition("@func")[0])
    file_of(made).write_text(text)
    with pytest.raises(CompileError) as refused:
        find_function(made.plain)
    found = refused.value.diagnostics[0]
    assert found.code == "source-changed"
    assert found.hints == (
        "restart, or reload the module; leave out tools that rewrite the code of functions",
    )


CHANGES = [
    ("x * 2.0", "x * 3.0", [3.0 + float(np.float32(0.1)), 1.0]),
    ("p[1] = 1.0", "p[1] = 5.0", [RIGHT[0], 5.0]),
    ("t: Float32", "t: Float64", [2.0 + 0.1, 1.0]),  # Python keeps nothing of such an annotation
]


@pytest.mark.parametrize(("old", "new", "after"), CHANGES)
@pytest.mark.parametrize("launched", [True, False])
def test_edit_and_reload(
    old: str, new: str, after: list[float], launched: bool, module: Callable[[str], ModuleType]
) -> None:
    """What was imported runs until it is reloaded, whether it was compiled by then or not."""
    made = module(SOURCE)
    before = made.k
    if launched:
        assert run(before) == RIGHT
    file_of(made).write_text(SOURCE.replace(old, new))
    assert run(before) == RIGHT
    again = module(SOURCE.replace(old, new))
    assert run(again.k) == after
    assert run(before) == (RIGHT if "x *" not in old else after)  # the helper is looked up by name
    assert run(module(SOURCE).k) == RIGHT


def test_an_edit_that_is_undone_leaves_nothing(module: Callable[[str], ModuleType]) -> None:
    made = module(SOURCE)
    file_of(made).write_text(SOURCE.replace("x * 2.0", "x * 4.0"))
    assert run(made.k) == RIGHT
    assert run(module(SOURCE).k) == RIGHT


def test_a_file_that_is_gone_or_left(
    module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = module(SOURCE)
    file_of(made).unlink()
    monkeypatch.chdir(tmp_path)
    assert run(made.k) == RIGHT


FACTORY = """from weft import Float32, Float64, Pointer, kernel


@kernel
def known(p: Pointer[Float64]):
    p[0] = 0.0


def make():
    @kernel
    def k(p: Pointer[Float64]):
        t: Float32 = 0.1
        p[0] = t.cast(Float64) * 2.0
        p[1] = 1.0

    return k
"""


@pytest.mark.parametrize(
    ("old", "new"), [("p[1] = 1.0", "p[1] = 5.0"), ("t: Float32", "t: Float64"), ("* 2.0", "* 3.0")]
)
def test_a_kernel_that_is_defined_after_an_edit(
    old: str, new: str, module: Callable[[str], ModuleType]
) -> None:
    """Its code is of the text that was imported, and so is what runs; or it is refused."""
    made = module(FACTORY)
    file_of(made).write_text(FACTORY.replace(old, new))
    if old == "t: Float32":
        with pytest.raises(CompileError, match="has changed since it was imported"):
            run(made.make())
    else:
        assert run(made.make()) == [2.0 * float(np.float32(0.1)), 1.0]
        assert run(module(FACTORY).make()) == [2.0 * float(np.float32(0.1)), 1.0]


def cell(text: str, name: str) -> dict[str, Any]:
    """Run a cell as a notebook does."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec", dont_inherit=True), names)
    return names


def test_a_cell_that_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<a-cell-of-this-test>"
    monkeypatch.setitem(linecache.cache, name, (0, None, [], name))
    first = cell(SOURCE, name)
    assert run(first["k"]) == RIGHT
    second = cell(SOURCE.replace("p[1] = 1.0", "p[1] = 2.0"), name)
    assert run(second["k"]) == [RIGHT[0], 2.0]
    third = cell(SOURCE.replace("p[1] = 1.0", "p[1] = 3.0"), name)
    cell(SOURCE.replace("p[1] = 1.0", "p[1] = 4.0"), name)
    with pytest.raises(CompileError, match="has changed since it was imported"):
        run(third["k"])


def test_code_that_is_put_in_place_of_other(tmp_path: Path) -> None:
    """As IPython's autoreload does: the function stays, its code is another."""
    file = tmp_path / "sample.py"
    texts = [f"from weft import *\n@func\ndef f(x: Float32):\n    return x + {n}.0\n" for n in (1, 2)]
    made: list[Any] = []
    for text in texts:
        file.write_text(text)
        made.append(function_of(text, file))
        assert made[-1](1.0) == len(made) + 1.0
    made[0].function.__code__ = made[1].function.__code__
    assert compile_info(kernel_of(made[0]), target="sm_90", emission_kind="ir").code == (
        compile_info(kernel_of(made[1]), target="sm_90", emission_kind="ir").code
    )


def kernel_of(f: Any) -> Kernel[...]:
    @kernel
    def k(p: Pointer[Float32]):
        p[0] = f(p[0])

    return k


@kernel
def asserts(p: Pointer[Float32]):
    """pytest has rewritten this function as this module was imported."""
    i = global_idx.x
    value = p[i] * 2.0
    assert value < 10.0, "far"
    assert 0.0 <= value < 9.0
    p[i] = value


def test_rewritten_assertions() -> None:
    names = asserts.function.__code__.co_names
    assert "@pytest_ar" in asserts.function.__globals__
    assert any("assert" in name.lower() for name in names)
    assert find_function(asserts.function).name == "asserts"


def test_rewritten_assertions_that_were_edited(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    text = "def f(x):\n    assert x > 1, 'one'\n    return x + 1\n"
    file = tmp_path / "sample.py"
    tree = ast.parse(text)
    rewrite_asserts(tree, text.encode(), str(file), pytestconfig)
    names: dict[str, Any] = {"__name__": "sample"}
    exec(compile(tree, str(file), "exec", dont_inherit=True), names)
    file.write_text(text)
    assert find_function(names["f"]).name == "f"
    for old, new in (("x > 1", "x < 1"), ("x > 1", "x > 2"), ("one", "two"), ("x + 1", "x + 2")):
        file.write_text(text.replace(old, new))
        linecache.clearcache()
        with pytest.raises(CompileError, match="has changed"):
            find_function(names["f"])


class Rewriting(importlib.machinery.SourceFileLoader):
    """A tool that puts a call before every function's first line, as checkers of types do."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        return compile(
            bytes(data).replace(b"    return", b"    len(''); return"), path, "exec", dont_inherit=True
        )


def test_modules_that_a_loader_rewrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "rewritten.py"
    file.write_text("def f(x):\n    return x + 1\n")
    spec = importlib.util.spec_from_file_location("rewritten", file, loader=Rewriting("rewritten", str(file)))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert "len" in made.f.__code__.co_names
    assert find_function(made.f).name == "f"
    file.write_text("def f(x):\n    return x + 2\n")
    with pytest.raises(CompileError, match="has changed"):
        find_function(made.f)


def test_modules_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("from_archive.py", SOURCE)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "all.zip"), *sys.path])
    made = importlib.import_module("from_archive")
    assert run(made.k) == RIGHT
    sys.modules.pop("from_archive")


def test_code_with_columns_where_python_keeps_none(tmp_path: Path) -> None:
    """Byte code that was written with columns is loaded by a Python that makes none."""
    (tmp_path / "written.py").write_text(BASE)
    check = (
        "import written; from weft.compiler.source.find import find_function\n"
        "print(find_function(written.f).name)"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    for options in ([], ["-X", "no_debug_ranges"], ["-O"], ["-OO"]):
        command = [sys.executable, *options, "-c", check]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("f\n", "")
