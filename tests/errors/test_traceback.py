"""A user whose program fails sees the program's own frames and none of weft's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft.diagnostics
from weft.diagnostics import CompileError, is_internal

SOURCES = Path(weft.diagnostics.__file__).parents[2]

# weft's own frames are stood in for by code that carries a file name of weft.
PRELUDE = """\
import weft.diagnostics as wd
inner = compile('''
def refuse(place):
    raise wd.CompileError.at("no-lambda", "a lambda in a kernel", place, "here", hints=["write a def"])
def refuse_from(place):
    try:
        {}["x"]
    except KeyError as error:
        raise wd.CompileError.at("no-lambda", "a lambda in a kernel", place) from error
def wrap(function):
    try:
        function()
    except ValueError as error:
        raise wd.LaunchError.at("failed", "it failed", None) from error
''', wd.__file__, "exec")
exec(inner)
"""


def run(tmp_path: Path, body: str) -> str:
    script = tmp_path / "program.py"
    script.write_text(PRELUDE + body)
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "NO_COLOR": "1", "PYTHON_COLORS": "0"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr.replace(str(tmp_path) + os.sep, "")


def without_markers(text: str) -> list[str]:
    """The lines without those in which Python underlines; they differ among its versions."""
    return [line for line in text.splitlines() if line.strip(" ~^")]


def test_no_frame_of_weft(tmp_path: Path) -> None:
    text = run(tmp_path, "def main():\n    refuse(wd.caller_location())\nmain()\n")
    assert without_markers(text) == [
        "Traceback (most recent call last):",
        '  File "program.py", line 19, in <module>',
        "    main()",
        '  File "program.py", line 18, in main',
        "    refuse(wd.caller_location())",
        "weft.CompileError: error[no-lambda]: a lambda in a kernel",
        "  --> program.py:18:12",
        "   |",
        "18 |     refuse(wd.caller_location())",
        "   |            ^^^^^^^^^^^^^^^^^^^^ here",
        "   |",
        "   = help: write a def",
    ]


def test_cause_within_weft_is_left_out(tmp_path: Path) -> None:
    text = run(tmp_path, "refuse_from(None)\n")
    assert without_markers(text) == [
        "Traceback (most recent call last):",
        '  File "program.py", line 17, in <module>',
        "    refuse_from(None)",
        "weft.CompileError: error[no-lambda]: a lambda in a kernel",
    ]


def test_cause_of_the_user_is_shown(tmp_path: Path) -> None:
    text = run(tmp_path, "def mine():\n    raise ValueError('mine')\nwrap(mine)\n")
    assert without_markers(text) == [
        "Traceback (most recent call last):",
        '  File "program.py", line 18, in mine',
        "    raise ValueError('mine')",
        "ValueError: mine",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        '  File "program.py", line 19, in <module>',
        "    wrap(mine)",
        "weft.LaunchError: error[failed]: it failed",
    ]


def test_hook_chains_and_comes_once(tmp_path: Path) -> None:
    body = """\
import sys
assert sys.excepthook is sys.__excepthook__
calls = []
def mine(kind, error, trace):
    calls.append(kind)
    sys.__excepthook__(kind, error, trace)
    print(len(calls), "calls", file=sys.stderr)
sys.excepthook = mine
wd.LaunchError([])
hook = sys.excepthook
assert hook is not mine
wd.LaunchError([])
assert sys.excepthook is hook
refuse(None)
"""
    text = run(tmp_path, body)
    assert without_markers(text) == [
        "Traceback (most recent call last):",
        '  File "program.py", line 30, in <module>',
        "    refuse(None)",
        "weft.CompileError: error[no-lambda]: a lambda in a kernel",
        "  = help: write a def",
        "1 calls",
    ]


def test_other_exceptions_keep_their_traceback(tmp_path: Path) -> None:
    body = "wd.LaunchError([])\nexec(compile('def f():\\n  1 / 0', wd.__file__, 'exec'))\nf()\n"
    text = run(tmp_path, body)
    assert "in f" in text


def test_traceback_of_ipython() -> None:
    namespace: dict[str, object] = {"CompileError": CompileError}
    exec(compile("def refuse():\n    raise CompileError([])", weft.diagnostics.__file__, "exec"), namespace)
    with pytest.raises(CompileError) as caught:
        exec(compile("refuse()", "cell", "exec"), namespace)
    error = caught.value
    trace = error.__traceback__
    render = error._render_traceback_  # pyright: ignore[reportPrivateUsage]
    lines = render()
    assert error.__traceback__ is trace
    assert lines[-2].strip() == 'File "cell", line 1, in <module>'
    assert lines[-1] == "weft.CompileError"
    assert not any(is_internal(part) for line in lines for part in line.split('"'))
