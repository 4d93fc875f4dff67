"""Options that do not go together, files that are none, and files of packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft import config
from weft.cli import main
from weft.launch.profile import is_profiled

PROGRAM = """
from weft import Comptime, Float32, Pointer, kernel


class Shape: ...


@kernel
def power(x: Pointer[Float32], *, exponent: Comptime[int]):
    x[0] = x[0] ** exponent


@kernel
def open(x):
    x[0] = 1.0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--format", "json", "program.py"], "add --check"),
        (["run", "-o", "found.json", "program.py"], "add --check"),
        (["run", "--check=", "program.py"], "write --check alone, or words"),
        (["run", "--explore", "2", "--schedule-seed", "1", "program.py"], "leave --schedule-seed out"),
        (["layout", "Layout.row_major(0, 4)"], "((0, 4):(4, 1)) has no elements to show"),
        (["layout", "Layout(4)", "--svg", "no/such/tile.svg"], "cannot write no/such/tile.svg: No such"),
        (["layout", "Layout(4)", "--vector", "4"], "add --conflicts Float32, say"),
        (["inspect", "program.py:Shape"], "Shape in program.py is a class, not a kernel"),
        (["inspect", "program.py:power", "--param", "exponent=1.5"], "takes an int known at compile time"),
        (["inspect", "program.py:open", "--type", "x=3"], "found the int 3, allowed is a type"),
        (["inspect", "program.py:open", "--type", "x=1/0"], "'1/0' is no type"),
        (["build", "program.py", "--param", "exponnet=3"], "did you mean `exponent`?"),
        (["explore", "program.py", "--param", "exponnet=3"], "did you mean `exponent`?"),
        (
            ["explore", "program.py:power", "--param", "exponent=2", "--serve", "--port", "70000"],
            "port 70000",
        ),
    ],
    ids=str,
)
def test_words_that_say_nothing_here(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_orders_are_run_with_the_other_options(here: Path) -> None:
    wild = """
        from weft import Int, Pointer, kernel
        from weft.gpu.host import DeviceContext

        @kernel
        def wild(x: Pointer[Int]):
            x[3] = 1

        ctx = DeviceContext(api="cpu")
        ctx.enqueue_function(wild, ctx.enqueue_create_buffer(Int, 3), grid_dim=1, block_dim=1)
    """
    (here / "wild.py").write_text("\n".join(line[8:] for line in wild.splitlines()))
    command = [sys.executable, "-m", "weft", "run", "--explore", "1", "--check=bounds", "wild.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    assert "error[out-of-bounds]" in done.stderr
    assert done.returncode == 1


def test_a_program_that_fails_is_not_said_to_launch_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "nowhere.py"]) == 1
    assert "no kernel was launched" not in capsys.readouterr().err
    assert not is_profiled()  # the next launches of this process are native again


def test_tune_measures_where_launches_shall_not(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = """
        import numpy as np
        from weft import Comptime, Int, Pointer, autotune, kernel
        from weft.gpu.host import DeviceContext

        @autotune({"BY": [1, 2], "block_dim": [1]}, measure=lambda config, launch: 1.0, isolated=False)
        @kernel
        def add(x: Pointer[Int], *, BY: Comptime[int]):
            x[0] += BY

        ctx = DeviceContext(api="cpu")
        ctx.enqueue_function(add, np.zeros(1, np.int64), grid_dim=1)
        ctx.synchronize()
    """
    (here / "tuned.py").write_text("\n".join(line[8:] for line in tuned.splitlines()))
    with config.scope(cache_dir=here / "cache", tune=False):
        assert main(["tune", "tuned.py"]) == 0
    assert "add" in capsys.readouterr().err
    assert main(["tune", "nowhere.py"]) == 1
    assert "no kernel" not in capsys.readouterr().err


def test_files_that_cannot_be_imported_leave_the_others(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "raises.py").write_text("raise ValueError('not here')")
    (here / "ends.py").write_text("raise SystemExit(7)")
    with config.scope(cache_dir=here / "cache"):
        words = ["raises.py", "ends.py", "nowhere.py", "program.py", "--param", "exponent=2"]
        assert main(["build", *words, "--target", "sm_90"]) == 1
    out, err = capsys.readouterr()
    assert out == "sm_90: 1 kernel compiled, 0 found in the cache\n"
    assert "ValueError: not here" in err
    assert "weft: ends.py ends the program as it is imported" in err
    assert "error[no-file]: cannot read nowhere.py" in err


def test_files_of_a_package_import_what_is_beside_them(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    inner = here / "things" / "inner"
    inner.mkdir(parents=True)
    for folder in (here / "things", inner):
        (folder / "__init__.py").touch()
    (here / "things" / "helpers.py").write_text(
        "from weft import *\n\n\n@func\ndef twice(x: Float32) -> Float32:\n    return 2 * x\n"
    )
    (inner / "kernels.py").write_text(
        "from weft import *\nfrom ..helpers import twice\n\n\n"
        "@kernel\ndef doubled(x: Pointer[Float32]):\n    x[0] = twice(x[0])\n"
    )
    assert main(["inspect", os.path.join("things", "inner", "kernels.py")]) == 0
    assert capsys.readouterr().out == "doubled(x: Pointer[Float32])\n"
    with config.scope(cache_dir=here / "cache"):
        assert main(["build", "things", "--target", "sm_90"]) == 0
    assert capsys.readouterr().out == "sm_90: 1 kernel compiled, 0 found in the cache\n"
    for name in [name for name in sys.modules if name.split(".")[0] == "things"]:
        del sys.modules[name]
