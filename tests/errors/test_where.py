"""Errors from everywhere that code comes from, and what they leave behind."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
import weft.math
from weft import CompileError, Float32, Int, LaunchError, Pointer, WeftError, kernel
from weft.compile import compile_info
from weft.compiler.frontend.syntax import HOST_ONLY, REJECTED
from weft.compiler.frontend.translate import MATH
from weft.diagnostics import hook, is_internal
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.elaboration import maybe_current

IMPORTS = "from weft import *\nfrom weft.compile import compile_info\n"
WRONG = (
    IMPORTS
    + """
@kernel
def halve(p: Pointer[Float32], n: Int):
    p[n / 2] = 1.0
"""
)
LAUNCH = """
from weft.gpu.host import DeviceContext
ctx = DeviceContext(api="cpu")
ctx.enqueue_function(halve, ctx.enqueue_create_buffer(Float32, 4), 2, grid_dim=1, block_dim=1)
"""


def message(make: Callable[[], object]) -> str:
    with pytest.raises(WeftError) as caught:
        make()
    return str(caught.value)


def load(file: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    module = types.ModuleType(file.stem)
    monkeypatch.setitem(sys.modules, file.stem, module)
    exec(compile(text, str(file), "exec", dont_inherit=True), module.__dict__)
    return module


def uncaught(command: list[str], cwd: Path) -> str:
    """What Python writes of an uncaught error."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(weft.__file__).parents[1]),
        "NO_COLOR": "1",
        "PYTHON_COLORS": "0",
    }
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, check=False, cwd=cwd
    )
    assert done.returncode == 1
    return "\n".join(line for line in done.stderr.splitlines() if line.strip(" ~^"))


def test_script(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WRONG + LAUNCH)
    assert uncaught(["program.py"], tmp_path).replace(str(tmp_path) + os.sep, "").splitlines() == [
        "Traceback (most recent call last):",
        '  File "program.py", line 10, in <module>',
        "    ctx.enqueue_function(halve, ctx.enqueue_create_buffer(Float32, 4), 2, grid_dim=1, block_dim=1)",
        "weft.CompileError: error[int-division]: `/` of integers (here Int) is a float in Python, "
        "and weft does not choose which",
        " --> program.py:6:7",
        "  |",
        "6 |     p[n / 2] = 1.0",
        "  |       ^^^^^",
        "  |",
        "  = help: write n // 2 for the integer quotient, or Float32(n) / Float32(2)",
    ]


def test_script_whose_error_is_told_shows_no_cause(tmp_path: Path) -> None:
    text = (
        IMPORTS
        + """
@kernel
def k(p: Pointer[Float32]):
    p[0] = p[0].nothing

compile_info(k, target="sm_90")
"""
    )
    (tmp_path / "program.py").write_text(text)
    shown = uncaught(["program.py"], tmp_path)
    assert shown.count("Traceback") == 1
    assert "AttributeError" not in shown
    assert "error[unknown-attribute]" in shown


def test_script_whose_compile_time_python_fails(tmp_path: Path) -> None:
    text = (
        IMPORTS
        + """
def table(n):
    return 1 // n

@kernel
def k(p: Pointer[Float32]):
    p[0] = table(0)

compile_info(k, target="sm_90")
"""
    )
    (tmp_path / "program.py").write_text(text)
    lines = uncaught(["program.py"], tmp_path).replace(str(tmp_path) + os.sep, "").splitlines()
    assert lines == [
        "Traceback (most recent call last):",
        '  File "program.py", line 9, in k',
        "    p[0] = table(0)",
        '  File "program.py", line 5, in table',
        "    return 1 // n",
        "ZeroDivisionError: integer division or modulo by zero",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        '  File "program.py", line 11, in <module>',
        '    compile_info(k, target="sm_90")',
        "weft.CompileError: error[compile-time-error]: ZeroDivisionError at compile time: "
        "integer division or modulo by zero",
        " --> program.py:5:12",
        "  |",
        "5 |     return 1 // n",
        "  |            ^^^^^^",
        "  |",
        "  = note: table was called from program.py:9",
        "  = help: table is ordinary Python and runs at compile time",
    ]


def test_command_without_a_file(tmp_path: Path) -> None:
    text = uncaught(["-c", WRONG + LAUNCH], tmp_path)
    if sys.version_info < (3, 13):
        assert "error[no-source]: the source of halve cannot be found: <string> is not a file" in text
        assert "help: define it in a file or a notebook cell" in text
    else:  # such a Python keeps the command's text, so the error is the program's own
        assert "error[int-division]" in text
    assert "src/weft" not in text.replace(os.sep, "/")


def cell(text: str, name: str) -> dict[str, Any]:
    """Run a cell as a notebook does: its text in ``linecache``, under a name that is no file."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec", dont_inherit=True), names)
    return names


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<ipython-input-3-5b1c>"
    monkeypatch.setitem(linecache.cache, name, linecache.cache.get(name, (0, None, [], name)))
    names = cell(WRONG, name)
    assert message(lambda: compile_info(names["halve"])).splitlines() == [
        "error[int-division]: `/` of integers (here Int) is a float in Python, "
        "and weft does not choose which",
        " --> <ipython-input-3-5b1c>:6:7",
        "  |",
        "6 |     p[n / 2] = 1.0",
        "  |       ^^^^^",
        "  |",
        "  = help: write n // 2 for the integer quotient, or Float32(n) / Float32(2)",
    ]


@pytest.mark.parametrize("target", ["native", "sm_90"])
@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_nested(indent: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = WRONG.removeprefix(IMPORTS).replace("    ", indent).replace("\n", "\n" + indent * 2)
    text = IMPORTS + f"if True:\n{indent}class Kernels:{body}\n{indent}halve = Kernels.halve\n"
    module = load(tmp_path / "nested.py", text, monkeypatch)
    lines = message(lambda: compile_info(module.halve, target=target)).splitlines()
    assert lines[1].endswith(f"nested.py:7:{len(indent) * 3 + 3}")
    assert lines[3] == "7 |             p[n / 2] = 1.0"
    assert lines[4] == "  |               ^^^^^"


@kernel
def right(x: Pointer[Float32], n: Int) -> None:
    if global_idx.x < n:
        x[global_idx.x] *= 2.0


@pytest.mark.parametrize("target", ["native", "sm_90"])
def test_nothing_is_left(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compile_info(right, target=target, emission_kind="ir").code
    module = load(tmp_path / "left.py", WRONG, monkeypatch)
    texts = {message(lambda: compile_info(module.halve, target=target)) for _ in range(3)}
    assert len(texts) == 1
    assert maybe_current() is None
    assert compile_info(right, target=target, emission_kind="ir").code == before


def test_launch_after_refused_launches() -> None:
    ctx = DeviceContext(api="cpu")
    host = ctx.enqueue_create_host_buffer(Float32, 4)
    host[:] = [1.0, 2.0, 3.0, 4.0]
    wrong: Any = right
    with pytest.raises(LaunchError):
        ctx.enqueue_function(wrong, host, 1.5, grid_dim=1, block_dim=4)
    with pytest.raises(LaunchError):
        ctx.enqueue_function(wrong, host, 4, grid_dim=0, block_dim=4)
    ctx.enqueue_function(right, host, 4, grid_dim=1, block_dim=4)
    ctx.synchronize()
    assert list(host) == [2.0, 4.0, 6.0, 8.0]


def test_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(tmp_path / "threads.py", WRONG, monkeypatch)
    found: list[str] = []

    def work() -> None:
        for _ in range(5):
            try:
                compile_info(module.halve, target="sm_90", emission_kind="ir")
            except CompileError as error:
                found.append(str(error))
            compile_info(right, target="sm_90", emission_kind="ir")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert len(set(found)) == 1


def test_uncaught_in_a_thread(tmp_path: Path) -> None:
    body = (
        WRONG
        + "import threading\nt = threading.Thread(target=compile_info, args=(halve,))\n"
        + "t.start()\nt.join()\nraise SystemExit(1)\n"
    )
    (tmp_path / "program.py").write_text(body)
    text = uncaught(["program.py"], tmp_path)
    assert "error[int-division]" in text
    assert "help: write n // 2" in text


def test_error_of_the_users_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        IMPORTS
        + "def table():\n    return {}['x']\n@kernel\ndef k(p: Pointer[Float32]):\n    p[0] = table()\n"
    )
    module = load(tmp_path / "cause.py", text, monkeypatch)
    with pytest.raises(CompileError) as caught:
        compile_info(module.k)
    assert isinstance(caught.value.__cause__, KeyError)
    frames = [line for line in hook.formatted(caught.value) if line.lstrip().startswith("File ")]
    assert frames
    assert not any(is_internal(line.split('"')[1]) for line in frames)


def test_longest_chain_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = "".join(f"@func\ndef f{n}(x):\n    return f{n + 1}(x)\n" for n in range(30))
    text = IMPORTS + functions + "@func\ndef f30(x):\n    return x / 2\n"
    text += "@kernel\ndef k(p: Pointer[Int]):\n    p[0] = f0(p[0])\n"
    module = load(tmp_path / "chain.py", text, monkeypatch)
    lines = message(lambda: compile_info(module.k)).splitlines()
    assert sum("was called from" in line for line in lines) < 20
    assert any(line.endswith("= note: ...") for line in lines)
    assert any("f0 was called from" in line for line in lines)


def test_pythons_mathematics_has_a_counterpart() -> None:
    assert set(weft.math.__all__) >= MATH


def test_every_rejection_says_what_to_write() -> None:
    for rejected in REJECTED.values():
        assert rejected.what
        assert rejected.instead
    assert all(HOST_ONLY.values())
