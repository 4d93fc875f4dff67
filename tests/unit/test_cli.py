"""The command ``weft``, as a user's shell starts it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from weft import __version__
from weft.cli import main

Run = Callable[..., subprocess.CompletedProcess[str]]

KERNELS = """
from weft import Comptime, Float32, Int, Pointer, func, kernel
from weft.gpu import global_idx
from weft.layout import LayoutTensor

@kernel
def scale(x: Pointer[Float32], n: Int, by: Float32):
    if global_idx.x < n:
        x[global_idx.x] *= by

@kernel
def shrink(image: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int]):
    out[global_idx.y, global_idx.x] = image[global_idx.y * factor, global_idx.x * factor]

@func
def half(x: Float32) -> Float32:
    return x * 0.5

def make(by):
    @kernel
    def made(x: Pointer[Float32]):
        x[global_idx.x] *= by
    return made

@kernel
def add(x: Pointer[Float32], a):
    x[global_idx.x] += half(a)

TWO = 2
twice = make(2.0)
table = {"three": make(3.0)}

class Named:
    four = make(4.0)

if __name__ == "__main__":
    raise SystemExit("inspecting must not run this")
"""


@pytest.fixture
def weft(weft: Run, tmp_path: Path) -> Run:
    """Runs the command in a folder with the file kernels.py."""
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    return weft


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As ``weft``, for commands in this process."""
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_version(weft: Run) -> None:
    assert weft("--version").stdout == f"weft {__version__}\n"


def test_no_command(weft: Run) -> None:
    done = weft()
    assert done.returncode == 2
    assert "usage: weft" in done.stderr


def test_run_passes_arguments_and_status(weft: Run, tmp_path: Path) -> None:
    program = "import sys\nprint(__name__, sys.argv)\nsys.exit(7)\n"
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = weft("run", "program.py", "a", "--flag", "-o")
    assert done.stdout == "__main__ ['program.py', 'a', '--flag', '-o']\n"
    assert done.returncode == 7


def test_run_shows_diagnostics_without_traceback(weft: Run, tmp_path: Path) -> None:
    program = KERNELS.replace(
        'raise SystemExit("inspecting must not run this")',
        "from weft.gpu.host import DeviceContext\n"
        "    DeviceContext().enqueue_function(scale, 1, 2, grid_dim=1, block_dim=1)",
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = weft("run", "program.py")
    assert done.returncode == 1
    assert "error[argument-" in done.stderr
    assert re.search(r"program\.py:\d+:", done.stderr)
    assert "Traceback" not in done.stderr
    assert "__main__.py" not in done.stderr


def test_run_shows_the_programs_own_errors_from_its_own_frames(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def f():\n    1 / 0\n\nf()\n", encoding="utf-8")
    done = weft("run", "program.py")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert done.stderr.count('File "') == 2


UNASKED = """
import sys
import numpy as np
from weft import Float32, Pointer, kernel
from weft.gpu.host import DeviceContext

@kernel
def claims(x: Pointer[Float32]):
    assert x[0] > 0.0, "not positive"

ctx = DeviceContext()
ctx.enqueue_function(claims, np.zeros(1, np.float32), grid_dim=1, block_dim=1)
print("queued")
"""


def test_run_fails_where_work_failed_that_nobody_waited_for(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNASKED, encoding="utf-8")
    done = weft("run", "program.py")
    assert (done.returncode, done.stdout) == (1, "queued\n")
    assert done.stderr.startswith("error[device-assert]: assertion failed in kernel 'claims': not positive\n")
    assert done.stderr.count("not positive") == 2  # the message, and the line that it quotes


def test_run_without_file(weft: Run) -> None:
    done = weft("run", "nowhere.py")
    assert done.returncode == 1
    assert done.stderr == "error[no-file]: cannot read nowhere.py: No such file or directory\n"


def test_run_of_a_kernel(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text("print('ran')")
    done = weft("run", "right.py:scale")
    assert done.returncode == 1
    assert done.stderr.endswith("  = help: write right.py: the whole file is run\n")


def test_run_of_what_is_not_python(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def f(:\n", encoding="utf-8")
    done = weft("run", "program.py")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "weft" not in done.stderr.replace(str(tmp_path), "")


def test_inspect(weft: Run) -> None:
    done = weft("inspect", "kernels.py:scale", "--target", "sm_90")
    assert done.returncode == 0, done.stderr
    assert ".target sm_90" in done.stdout
    assert ".visible .entry scale(" in done.stdout


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ir", '"func.func"()'),
        ("llvm", "define dso_local ptx_kernel void @kernel$shrink"),
        ("llvm-opt", "target datalayout"),
        ("asm", ".visible .entry shrink("),
    ],
)
def test_inspect_kinds(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes], kind: str, expected: str
) -> None:
    layouts = ["--layout", "image=64,64", "--layout", "out=32,32"]
    words = ["inspect", "kernels.py:shrink", "--emit", kind, "--target", "a100", "--param", "factor=TWO"]
    assert main([*words, *layouts]) == 0
    assert expected in capfdbinary.readouterr().out.decode()


@pytest.mark.parametrize("made", ["twice", "table['three']", "Named.four", "make(2.0)", "make(by=TWO)"])
def test_inspect_kernels_that_a_function_makes(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes], made: str
) -> None:
    assert main(["inspect", f"kernels.py:{made}", "--emit", "ptx", "--target", "sm_90"]) == 0
    assert ".entry made(" in capfdbinary.readouterr().out.decode()


def test_inspect_with_a_type(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    words = ["inspect", "kernels.py:add", "--emit", "ir", "--type", "a=Float32"]
    assert main(words) == 0
    assert b"%a: f32" in capfdbinary.readouterr().out


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_what_is_no_python(here: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (here / "README.md").write_text("# Kernels\nthis is *not* Python\n", encoding="utf-8")
    assert main([command, "README.md"]) == 1
    assert capsys.readouterr().err == (
        "error[no-python]: README.md is not Python: SyntaxError: invalid syntax\n"
        f" --> {here / 'README.md'}:2:9\n"
        "  |\n2 | this is *not* Python\n  |         ^\n  |\n  = help: give it a file of Python\n"
    )
    (here / "bytes.py").write_bytes(b"\0\xff")
    assert main([command, "bytes.py"]) == 1
    assert "bytes.py is not Python" in capsys.readouterr().err


def test_inspecting_what_fails_shows_its_own_frames(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def f():\n    1 / 0\n\nf()\n", encoding="utf-8")
    done = weft("inspect", "program.py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert done.stderr.count('File "') == 2


TESTS = """
import numpy as np
from weft.gpu.host import DeviceContext
from weft.testing import assert_equal
from kernels import scale

def test_launch():
    DeviceContext(api="cpu").enqueue_function(scale, np.zeros(3), 3, 2.0, over=3)

def test_numbers():
    assert_equal(np.arange(3), np.ones(3))
"""


def test_pytest_shows_frames_of_the_test_alone(here: Path) -> None:
    (here / "test_kernels.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_kernels.py"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=here).stdout
    assert '>       DeviceContext(api="cpu").enqueue_function(scale, np.zeros(3), 3, 2.0, over=3)' in shown
    assert "E       weft.LaunchError: error[argument-type]: argument `x` of scale takes" in shown
    assert "test_kernels.py:8: LaunchError" in shown
    assert "context.py" not in shown
    assert "test_kernels.py:11: AssertionError" in shown
    assert "testing.py" not in shown


def test_inspect_object_to_a_file(here: Path) -> None:
    words = ["inspect", "kernels.py:scale", "--emit", "object", "--target", "aarch64", "--over", "1"]
    assert main([*words, "-o", "scale.o"]) == 0
    assert (here / "scale.o").read_bytes().startswith(b"\x7fELF")


def test_inspect_does_not_write_over_its_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / "kernels.py").read_bytes()
    assert main(["inspect", f"{here / 'kernels.py'}:scale", "-o", str(here / "kernels.py")]) == 1
    assert "would write over the file that is inspected" in capsys.readouterr().err
    assert (here / "kernels.py").read_bytes() == before


def test_inspect_lists_kernels(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "kernels.py"]) == 0
    assert capsys.readouterr().out == (
        "scale(x: Pointer[Float32], n: Int, by: Float32)\n"
        "shrink(image: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int])\n"
        "add(x: Pointer[Float32], a)\n"
        "twice(x: Pointer[Float32])\n"
        "table['three'](x: Pointer[Float32])\n"
        "Named.four(x: Pointer[Float32])\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["kernels.py:scal"],
            ["has no kernel 'scal'", "did you mean 'scale'?", "it has scale, shrink, add, twice"],
        ),
        (
            ["kernels.py:scale", "--emit", "amd"],
            ["--emit amd is no form of a kernel", "did you mean --emit asm?"],
        ),
        (["kernels.py:scale", "--target", "sm90"], ["there is no target 'sm90'", "did you mean 'sm_90'?"]),
        (["kernels.py:scale", "--param", "by"], ["--param by gives it no value", "write --param by=2, say"]),
        (["kernels.py:scale", "--param", "=2"], ["--param =2 names no parameter", "write --param factor=2"]),
        (["kernels.py:scale", "--param", "b=2"], ["scale has no parameter `b`"]),
        (
            ["kernels.py:scale", "--layout", "x=a,b"],
            ["'a,b' is not a list of extents", "--layout x=512,512,3"],
        ),
        (["kernels.py:shrink"], ["`image`", "`out`", "compile-time value for `factor`", "3 errors"]),
        (["kernels.py:shrink"], ["write --layout image=480,640, say", "write --param factor=2, say"]),
        (
            ["kernels.py:scale", "--emit", "ptx", "--target", "x86-64"],
            ["the target is x86-64", "--target sm_90"],
        ),
        (["kernels.py:scale", "--emit", "sass", "--target", "x86-64"], ["sass is for NVIDIA's GPUs"]),
        (["kernels.py:scale", "--emit", "sas"], ["did you mean --emit sass?"]),
        (["kernels.py:add"], ["type of `a`", "write --type 'a=Pointer[Float32]', say"]),
        (["kernels.py:add", "--type", "a=Flote32"], ["--type a=Flote32: 'Flote32' is no type"]),
        (["kernels.py:make"], ["make in kernels.py is a function, not a kernel", "kernels.py:'make(...)'"]),
        (["kernels.py:half"], ["half is a @func: it becomes code within the kernels that call it"]),
        (["kernels.py:TWO"], ["TWO in kernels.py is an int, not a kernel"]),
        (["kernels.py:scale", "-o", "no/such/folder"], ["cannot write no/such/folder: No such file"]),
        (["missing.py:scale"], ["cannot read missing.py"]),
    ],
    ids=lambda value: " ".join(value) if value[0].endswith(("py", "scale", "scal", "shrink")) else "",
)
def test_inspect_errors(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: list[str]
) -> None:
    assert main(["inspect", *words]) == 1
    error = capsys.readouterr().err
    for text in expected:
        assert text in error
    assert "-->" not in error, "the command line has no place in a source file"


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("API ")
    assert re.search(r"^cpu +0 ", text, re.MULTILINE)
    assert "sm_120" in text


def test_inspect_loads_little(weft: Run, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom weft.cli import main\n"
        "main(['inspect', 'kernels.py:scale', '--target', 'sm_90'])\n"
        "print({'numpy', 'asyncio', 'llvmlite', 'weft.launch.context'} & {*sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "set()\n"  # LLVM is in another process


def test_layout(weft: Run, tmp_path: Path) -> None:
    tile = "ComposedLayout(Layout.row_major(32, 32), Swizzle(3, 2, 3))"
    threads = ("--threads", "Layout.row_major(4, 8)")
    done = weft("layout", tile, *threads, "--conflicts", "Float32", "--vector", "1,4", "--svg", "tile.svg")
    assert done.stdout == "no bank conflicts: 8 accesses of 16 bytes a lane, 32 wavefronts (32 at best)\n"
    assert (tmp_path / "tile.svg").read_text().count("<rect") == 1024
    assert (
        " 1  | 2 T2 | 3 T3 |"
        in weft("layout", "Layout.row_major(2, 2)", "--threads", "Layout.row_major(2, 2)").stdout
    )
    assert "error[layout]: `Layot` does not evaluate: NameError" in weft("layout", "Layot").stderr
    assert "error[layout]: `3` is 3, which does not fit here" in weft("layout", "3").stderr
    assert "none were given" in weft("layout", tile, "--conflicts", "Float32").stderr


def test_import_loads_little() -> None:
    heavy = {"numpy", "llvmlite", "dataclasses", "inspect", "ast", "dis", "tokenize", "difflib", "traceback"}
    heavy |= {"weft.compiler.pipeline", "weft.lang.captured", "weft.targets.nvidia"}
    program = f"import sys, weft; print(sorted({heavy} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="crashes differently there")
def test_a_crash_says_where_python_was(tmp_path: Path) -> None:
    (tmp_path / "stray.py").write_text("""
from weft import Float32, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

@kernel
def stray(x: Pointer[Float32]):
    x[global_idx.x + (1 << 44)] = 1.0

ctx = DeviceContext(api="cpu")
buffer = ctx.enqueue_create_buffer(Float32, 4)
ctx.enqueue_function(stray, buffer, grid_dim=1, block_dim=4)
ctx.synchronize()
""")
    command = [sys.executable, "-m", "weft", "run", "stray.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    if sys.platform == "linux":
        assert "error[wild-access]: kernel 'stray' accesses memory at" in done.stderr
        assert re.search(r"stray\.py:12:1\n.*launched here", done.stderr, re.DOTALL)
        assert "/weft/" not in done.stderr
        return
    assert "Segmentation fault" in done.stderr or "Bus error" in done.stderr
    assert re.search(r'stray\.py", line 13 in <module>', done.stderr)


LOCAL_TYPE = """
from weft import Float32, Float64, Pointer, func

def make(T):
    @func
    def first(x: Pointer[T], y: T):
        return x[0] + y
    return first

T = Float64
import numpy as np
print(make(Float32)(np.ones(1, np.float32), 2.0))
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_run_leaves_the_programs_futures_to_it(weft: Run, tmp_path: Path, future: str) -> None:
    (tmp_path / "program.py").write_text(future + LOCAL_TYPE, encoding="utf-8")
    done = weft("run", "program.py")
    assert (done.stdout, done.stderr) == ("3.0\n", "")


def test_inspect_leaves_the_programs_futures_to_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "def f(x: 1 + 1): ...\nprint(f.__annotations__)\n"
    (here / "kernels.py").write_text(text, encoding="utf-8")
    assert main(["inspect", "kernels.py"]) == 0
    assert capsys.readouterr().out == "{'x': 2}\n"


def test_an_error_at_a_terminal_names_the_command(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["run", "missing.py"]) == 1
    assert capsys.readouterr().err.endswith("\n\n`weft explain no-file` tells more\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inspect file.py:k --emti asm", "unrecognized arguments: --emti asm; did you mean --emit?"),
        ("build file.py --targets sm_90", "unrecognized arguments: --targets sm_90; did you mean --target?"),
        ("run --xyz file.py", "unrecognized arguments: --xyz"),
        ("inspect a.py:k extra", "unrecognized arguments: extra"),
    ],
)
def test_words_that_no_command_has(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    usage, *_, last = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"usage: weft {words.split()[0]} ")
    assert last == f"weft {words.split()[0]}: error: {said}"


def test_a_command_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["inspekt", "file.py"])
    assert capsys.readouterr().err.endswith("did you mean inspect?\n")


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert all(f"\n    {command} " in shown for command in ("run", "inspect", "explain", "devices"))
