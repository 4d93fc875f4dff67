"""``weft debug``: pdb stops at the lines of kernels, and shows what is theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "debugger.md").read_text(encoding="utf-8")
PROGRAM = GUIDE.split("```python\n")[1].split("```")[0]
"""What the guide steps through."""


def pdb(folder: Path, text: str, options: str, commands: str) -> tuple[str, int]:
    """What ``weft debug`` prints for commands, each behind its prompt, and how it ends."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "weft", "debug", *options.split()]
    given = "\n".join(commands.split("; ")) + "\n"
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, timeout=120)
    assert not done.stderr, done.stderr
    told = done.stdout.replace(f"{folder}/", "")
    return re.sub("0x[0-9a-f]+", "ADDRESS", told), done.returncode


def test_the_guide_shows_what_pdb_says(tmp_path: Path) -> None:
    head, _, session = GUIDE.split("```console\n$ weft debug ")[1].split("```")[0].partition("\n")
    commands = re.findall(r"^\(Pdb\) (.*)$", session, re.MULTILINE)
    assert len(commands) > 10
    told, status = pdb(tmp_path, PROGRAM, head, "; ".join(commands))
    assert told == re.sub(r"^(\(Pdb\) ).*\n", r"\1", session, flags=re.MULTILINE)
    assert status == 0


def test_breakpoints_of_pdb(tmp_path: Path) -> None:
    commands = (
        "b 23, t == 4 and global_idx is not None; c; p t, s[4], a; !a[0] = 7; p a[0:2]; b 14; c; p y; q"
    )
    told, status = pdb(tmp_path, PROGRAM, "program.py --block 1", commands)
    assert told.splitlines()[3:] == [
        "(Pdb) Breakpoint 1 at program.py:23",
        "(Pdb) in block (1, 0, 0), thread (4, 0, 0)",
        "> program.py(23)smooth()",
        "-> left = s[max(t - 1, 0)]",
        "(Pdb) (4, np.float32(24.0), Pointer[Float32] at ADDRESS)",
        "(Pdb) (Pdb) array([7., 1.], dtype=float32)",
        "(Pdb) Breakpoint 2 at program.py:14",
        "(Pdb) in block (2, 0, 0), thread (0, 0, 0)",
        "> program.py(14)scaled()",
        "-> return y",
        "(Pdb) np.float32(32.0)",
        "(Pdb) ",
    ]
    assert status == 1


def test_pdb_stops_at_a_line(tmp_path: Path) -> None:
    text = PROGRAM.replace("    barrier()\n", "    barrier()\n    if global_idx.x == 26:\n        t = 7\n")
    told, status = pdb(tmp_path, text, "--block 3 --thread 2 --line 26 program.py", "p t, s[2]; q")
    assert told.splitlines()[2:] == [
        "-> out[global_idx.x] = left + s[t]",
        "(Pdb) (7, np.float32(52.0))",
        "(Pdb) ",
    ]
    told, status = pdb(tmp_path, PROGRAM, "--kernel smooth --line 14 program.py", "p x; q")
    assert told.splitlines()[1:4] == ["> program.py(14)scaled()", "-> return y", "(Pdb) np.float32(0.0)"]
    assert status == 1


def test_what_no_launch_comes_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "weft", "debug", "program.py", "--thread"]
    for thread, said in (
        ("9", "weft debug: the program has ended, and no launch came to thread (9, 0, 0)\n"),
        ("x", "weft debug: error: argument --thread: 'x' is no index such as 3 or 3,0,1\n"),
    ):
        done = subprocess.run([*command, thread], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode
        assert done.stderr.endswith(said)


def test_exceptions_on_the_way_to_a_line_stop_nowhere(tmp_path: Path) -> None:
    """The program's own and those of Python's library that it catches itself."""
    text = PROGRAM + "\ntry:\n    [].pop()\nexcept IndexError:\n    print('caught')\n"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "weft", "debug", "program.py", "--line", "999"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.endswith("caught\n")
    assert "(Pdb)" not in done.stdout
    assert done.stderr == "weft debug: the program has ended, and no launch came to line 999\n"


def test_breakpoint_and_failed_assertions_stop(tmp_path: Path) -> None:
    text = PROGRAM.replace("    barrier()\n", "    if t == 5 and global_idx.x > 20:\n        breakpoint()\n")
    text = text.replace(
        "    out[global_idx.x]", "    assert left < 40, f'left is {left}'\n    out[global_idx.x]"
    )
    told, status = pdb(tmp_path, text, "program.py", "p t; c; p left, t; q")
    assert told.splitlines() == [
        "in block (2, 0, 0), thread (5, 0, 0)",
        "> program.py(24)smooth()",
        "-> left = s[max(t - 1, 0)]",
        "(Pdb) 5",
        "(Pdb) error[device-assert]: assertion failed in kernel 'smooth': left is 40.0",
        "  --> program.py:25:5",
        "   |",
        "25 |     assert left < 40, f'left is {left}'",
        "   |     " + "^" * 35 + " failed in block (2, 0, 0), thread (5, 0, 0)",
        "> program.py(25)smooth()",
        "-> assert left < 40, f'left is {left}'",
        "(Pdb) (np.float32(40.0), 5)",
        "(Pdb) ",
    ]
    assert status == 1


NAMES = """\
import numpy as np

from weft import Comptime, Float32, Int, Pointer, UInt8, func, kernel, struct
from weft.gpu import block_dim, global_idx, thread_idx, warp
from weft.gpu.host import DeviceContext

x = pair = n = value = "the program's own"


@struct
class Pair:
    a: Float32
    n: UInt8


@func
def helper(value: Float32, pair: Pair) -> Float32:
    assert value != 99, f"value is {value}"
    value += pair.a
    return value


def factory(scale: int):
    @kernel
    def inner(x: Pointer[Float32], pair: Pair, n: UInt8, *, mode: Comptime[str]):
        k = global_idx.x
        if n > 3:
            n = UInt8(7)
        x[k] = helper(x[k] * scale, pair)
        x[k] = warp.sum(x[k])

    return inner


ctx = DeviceContext()
a = np.arange(64, dtype=np.float32)
ctx.enqueue_function(factory(LIMIT), a, Pair(1.5, 200), 250, grid_dim=2, block_dim=32, mode="abc")
ctx.synchronize()
print(a[0], a[32])
"""
"""A kernel whose names the program has for other things, too."""


def test_the_first_line_of_a_kernel_and_of_its_helpers(tmp_path: Path) -> None:
    """Parameters have their values there, and the frame above is the one that launches."""
    launch = (
        "-> ctx.enqueue_function(factory(2), a, Pair(1.5, 200), 250, grid_dim=2, block_dim=32, mode='abc')"
    )
    commands = (
        "a; p scale, thread_idx, global_idx.x, block_dim.x; w; up; p x; d; until; n; n; s; a; w; "
        "!value = 3; r; n; p x[k]; q"
    )
    told, status = pdb(tmp_path, NAMES.replace("LIMIT", "2"), "program.py --block 1 --thread 2", commands)
    assert told.replace('"abc"', "'abc'").splitlines() == [
        "in block (1, 0, 0), thread (2, 0, 0)",
        "> program.py(26)inner()",
        "-> k = global_idx.x",
        "(Pdb) x = Pointer[Float32] at ADDRESS",
        "pair = Pair(a=np.float32(1.5), n=200)",
        "n = 250",
        "mode = 'abc'",
        "scale = 2",
        "(Pdb) (2, (2, 0, 0), 34, 32)",
        "(Pdb)   program.py(37)<module>()",
        launch,
        "> program.py(26)inner()",
        "-> k = global_idx.x",
        "(Pdb) > program.py(37)<module>()",
        launch,
        '(Pdb) "the program\'s own"',
        "(Pdb) > program.py(26)inner()",
        "-> k = global_idx.x",
        "(Pdb) > program.py(27)inner()",
        "-> if n > 3:",
        "(Pdb) > program.py(28)inner()",
        "-> n = UInt8(7)",
        "(Pdb) > program.py(29)inner()",
        "-> x[k] = helper(x[k] * scale, pair)",
        "(Pdb) > program.py(18)helper()",
        '-> assert value != 99, f"value is {value}"',
        "(Pdb) value = np.float32(68.0)",
        "pair = Pair(a=np.float32(1.5), n=200)",
        "(Pdb)   program.py(37)<module>()",
        launch,
        "  program.py(29)inner()",
        "-> x[k] = helper(x[k] * scale, pair)",
        "> program.py(18)helper()",
        '-> assert value != 99, f"value is {value}"',
        "(Pdb) *** the kernel goes on with its own value: what memory holds can be changed here",
        "(Pdb) --Return--",
        "> program.py(20)helper()->np.float32(69.5)",
        "-> return value",
        "(Pdb) > program.py(30)inner()",
        "-> x[k] = warp.sum(x[k])",
        "(Pdb) np.float32(69.5)",
        "(Pdb) ",
    ]
    assert status == 1


def test_breakpoints_by_name_and_once(tmp_path: Path) -> None:
    commands = "b helper, value == 90; tbreak 30; c; p global_idx.x; c; p value; cl 1; until 20; n; c"
    told, status = pdb(tmp_path, NAMES.replace("LIMIT", "2"), "program.py --block 1", commands)
    assert told.splitlines()[3:] == [
        "(Pdb) Breakpoint 1 at program.py:16",
        "(Pdb) Breakpoint 2 at program.py:30",
        "(Pdb) Deleted breakpoint 2 at program.py:30",
        "> program.py(30)inner()",
        "-> x[k] = warp.sum(x[k])",
        "(Pdb) 32",
        "(Pdb) in block (1, 0, 0), thread (13, 0, 0)",
        "> program.py(18)helper()",
        '-> assert value != 99, f"value is {value}"',
        "(Pdb) np.float32(90.0)",
        "(Pdb) Deleted breakpoint 1 at program.py:16",
        "(Pdb) > program.py(20)helper()",
        "-> return value",
        "(Pdb) --Return--",
        "> program.py(20)helper()->np.float32(91.5)",
        "-> return value",
        f"(Pdb) {sum(2 * n + 1.5 for n in range(32))} {sum(2 * n + 1.5 for n in range(32, 64))}",
    ]
    assert status == 0


def test_after_a_failure_pdb_stands_in_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(NAMES.replace("LIMIT", "9"), encoding="utf-8")
    code = "try:\n import program\nexcept Exception:\n import pdb, sys\n pdb.post_mortem(sys.exc_info()[2])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="p value\nup\np k, scale, pair\nq\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WEFT_INTERPRET": "1"},
        timeout=120,
    )
    assert not done.stderr, done.stderr
    assert done.stdout.replace(f"{tmp_path}/", "").splitlines() == [
        "> program.py(18)helper()",
        '-> assert value != 99, f"value is {value}"',
        "(Pdb) np.float32(99.0)",
        "(Pdb) > program.py(29)inner()",
        "-> x[k] = helper(x[k] * scale, pair)",
        "(Pdb) (11, 9, Pair(a=np.float32(1.5), n=200))",
        "(Pdb) ",
    ]
