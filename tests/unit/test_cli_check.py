"""``weft run --check``: what it tells, where, and with which status."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_run_checks_accesses(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "wild.py").write_text(
        "from weft import Float32, Pointer, kernel\n"
        "from weft.gpu import global_idx\n"
        "from weft.gpu.host import DeviceContext\n"
        "@kernel\n"
        "def halve(x: Pointer[Float32]):\n"
        "    x[global_idx.x] /= 2.0\n"
        "ctx = DeviceContext(api='cpu')\n"
        "x = ctx.enqueue_create_buffer(Float32, 300)\n"
        "other = ctx.create_stream()\n"  # which nobody waits for
        "ctx.enqueue_function(halve, x[:3], grid_dim=1, block_dim=4, stream=other)\n"
    )
    assert weft("run", "wild.py").returncode == 0
    done = weft("run", "--check", "wild.py")
    assert done.returncode == 1
    assert "reads element 3 of `x`, which has 3 elements of 4 bytes" in done.stderr


UNENDING = """
from weft import Int32, Pointer, kernel
from weft.gpu import thread_idx
from weft.gpu.host import DeviceContext

@kernel
def first(x: Pointer[Int32], out: Pointer[Int32]):
    i = 0
    if thread_idx.x == 0:
        i = x[9]
    while thread_idx.x == 1 and x[i] == 0:
        i = (i + 1) % 9
    out[thread_idx.x] = Int32(i)

ctx = DeviceContext(api="cpu")
x, out = ctx.enqueue_create_buffer(Int32, 9), ctx.enqueue_create_buffer(Int32, 2)
x.enqueue_fill(0)
ctx.enqueue_function(first, x, out, grid_dim=1, block_dim=2)
ctx.enqueue_host_call(lambda: print("never"))
import os, signal, threading
threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
with ctx:
    ctx.synchronize()
"""


def test_who_interrupts_a_checked_program_is_told_what_was_found(weft: Run, tmp_path: Path) -> None:
    """Here a loop does not end, in a thread that has done nothing wrong; nor does `with` wait for that."""
    (tmp_path / "unending.py").write_text(UNENDING, encoding="utf-8")
    done = weft("run", "--check", "unending.py")
    assert done.returncode not in (0, 1)
    assert done.stdout == ""
    assert "reads element 9 of `x`, which has 9 elements of 4 bytes" in done.stderr
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_what_was_found_is_told_where_the_process_is_ended(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "unending.py").write_text(UNENDING.replace("SIGINT", "SIGTERM"), encoding="utf-8")
    done = weft("run", "--check", "--format", "json", "unending.py")
    assert done.returncode == -signal.SIGTERM
    [report] = json.loads(done.stdout)["reports"]
    assert (report["code"], report["line"]) == ("out-of-bounds", 10)


SEVERAL = """
import sys
import numpy as np
from weft import Float32, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

@kernel
def halve(x: Pointer[Float32]):
    x[global_idx.x] /= 2.0

@kernel
def claims(x: Pointer[Float32]):
    assert x[0] > 4.0, "small"

ctx = DeviceContext(api="cpu")
x = np.ones(3, np.float32)
for _ in range(2):
    ctx.enqueue_function(halve, x, over=5)
    ctx.synchronize()
ctx.enqueue_function(claims, x, over=1)
ctx.synchronize()
print("end", x[0])
sys.exit(int(sys.argv[1]))
"""


def test_checks_do_not_stop_the_program_and_are_told_at_its_end(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(SEVERAL)
    for given, status in ((0, 1), (7, 7)):
        done = weft("run", "--check", "several.py", str(given))
        assert (done.returncode, done.stdout) == (status, "end 0.25\n")
        assert re.findall(r"^error\[(.*?)\]", done.stderr, re.MULTILINE) == ["out-of-bounds", "device-assert"]
        assert "thread (3, 0, 0), and 3 more times" in done.stderr
    done = weft("run", "several.py", "0")
    assert (done.returncode, done.stdout) == (1, "")


def test_reports_stand_alone_on_standard_output(weft: Run, tmp_path: Path) -> None:
    loud = "import os, subprocess, weft.gpu.host\nos.write(1, b'raw ')\nsubprocess.run(['echo', 'child'])\n"
    (tmp_path / "loud.py").write_text(loud + "weft.gpu.host.DeviceContext(api='cpu').close()\nprint('own')\n")
    done = weft("run", "--check", "--format", "json", "loud.py")
    assert (done.returncode, json.loads(done.stdout)["reports"]) == (0, [])
    assert sorted(done.stderr.split()) == ["child", "own", "raw"]
    done = weft("run", "--check", "--format", "json", "-o", "found.json", "loud.py")
    assert sorted(done.stdout.split()) == ["child", "own", "raw"]


def test_reports_for_programs(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(SEVERAL)
    done = weft("run", "--format", "json", "--check", "several.py", "0")
    said = json.loads(done.stdout)
    assert (done.returncode, done.stderr, said["version"]) == (1, "end 0.25\n", 1)
    wild, claim = said["reports"]
    assert {name: wild[name] for name in ("code", "line", "column", "end_line", "end_column")} == {
        "code": "out-of-bounds",
        "line": 10,
        "column": 5,
        "end_line": 10,
        "end_column": 20,
    }
    assert (wild["kernel"], wild["buffer"], wild["access"], wild["index"], wild["size"], wild["count"]) == (
        "halve",
        "x",
        "reads",
        3,
        4,
        4,
    )
    assert (wild["block"], wild["thread"]) == ([0, 0, 0], [3, 0, 0])
    assert (claim["code"], claim["line"]) == ("device-assert", 14)
    done = weft("run", "--check=bounds", "--format=sarif", "-o", "found.sarif", "several.py", "0")
    assert (done.returncode, done.stdout, done.stderr) == (1, "end 0.25\n", "")
    log = json.loads((tmp_path / "found.sarif").read_text())
    (run,) = log["runs"]
    assert (log["version"], [rule["id"] for rule in run["tool"]["driver"]["rules"]]) == (
        "2.1.0",
        ["out-of-bounds", "device-assert"],
    )
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"], first["occurrenceCount"]) == (
        "out-of-bounds",
        0,
        "error",
        4,
    )
    (place,) = first["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "several.py"},
        "region": {"startLine": 10, "startColumn": 5, "endLine": 10, "endColumn": 20},
    }
    known = first["properties"]
    assert known.pop("address") % 4 == 0
    assert known == {
        "kernel": "halve",
        "block": [0, 0, 0],
        "thread": [3, 0, 0],
        "access": "reads",
        "buffer": "x",
        "index": 3,
        "size": 4,
    }


def test_nothing_found_is_status_0_and_an_empty_report(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(SEVERAL.replace("over=5", "over=3").replace("4.0", "0.1"))
    done = weft("run", "--check", "right.py", "0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end 0.25\n", "")
    done = weft("run", "--check", "--format", "json", "-o", "out.json", "right.py", "0")
    assert json.loads((tmp_path / "out.json").read_text()) == {"version": 1, "reports": []}
    assert done.returncode == 0


def test_unknown_checks(weft: Run, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text("print('ran')")
    done = weft("run", "--check=bonds", "right.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[setting]: --check: 'bonds' is none of bounds, ")


PLACES = """
import numpy as np
from weft import Float32, Pointer, kernel
from weft.gpu.host import DeviceContext

@kernel
def much(x: Pointer[Float32]):
{lines}
DeviceContext(api="cpu").enqueue_function(much, np.zeros(3, np.float32), grid_dim=1, block_dim=1)
"""


def test_of_many_places_some_are_shown_and_all_are_counted(weft: Run, tmp_path: Path) -> None:
    lines = "".join(f"    x[{3 + n}] = 1.0\n" for n in range(25))
    (tmp_path / "places.py").write_text(PLACES.format(lines=lines))
    done = weft("run", "--check=bounds", "places.py")
    assert done.stderr.count("error[out-of-bounds]") == 20
    assert done.stderr.endswith("error[more-failures]: 5 more places have faults\n\n25 errors\n")
    done = weft("run", "--check=bounds", "--format", "json", "places.py")
    assert len(json.loads(done.stdout)["reports"]) == 25


def test_faults_within_the_library_are_told_at_the_line_of_the_program(weft: Run, tmp_path: Path) -> None:
    """As data as well, which CI shows beside the program's lines."""
    (tmp_path / "program.py").write_text(
        "from weft import Float32\n"
        "from weft.algorithm import reduce\n"
        "from weft.gpu.host import DeviceContext\n"
        "x = DeviceContext(api='cpu').enqueue_create_buffer(Float32, 8)\n"
        "total = reduce(lambda a, b: a + b, x, Float32(0))\n"
    )
    (found,) = json.loads(weft("run", "--check", "--format", "json", "program.py").stdout)["reports"]
    assert (found["code"], Path(found["file"]).name, found["line"]) == ("uninitialised", "program.py", 5)
    assert "program.py:5:9" in weft("run", "--check", "program.py").stderr


def test_strided_arrays_of_ready_kernels_reach_as_far_as_they_do(weft: Run, tmp_path: Path) -> None:
    """Their memory is what they span, not as many elements as they have."""
    (tmp_path / "program.py").write_text(
        "import numpy as np\n"
        "from weft.kernels import matmul, softmax, sum\n"
        "a = np.arange(37 * 500, dtype=np.float32).reshape(37, 500) % 11\n"
        "left, right = a[:, :64], a[:, 100:164].T\n"
        "assert np.array_equal(matmul(left, right), left @ right)\n"
        "assert np.array_equal(sum(a[:, ::3], axis=0), a[:, ::3].sum(0))\n"
        "powers = np.exp(a[::2, 5:60] - a[::2, 5:60].max(1, keepdims=True))\n"
        "assert np.allclose(softmax(a[::2, 5:60]), powers / powers.sum(1, keepdims=True))\n"
    )
    for checks in ("bounds", "races"):
        done = weft("run", f"--check={checks}", "program.py")
        assert (done.returncode, done.stderr) == (0, "")
