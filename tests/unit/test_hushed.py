"""Python's own errors that weft lets a program have: the traceback is the program's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import numpy as np
from weft import Float32, InlineArray, Tensor
from weft import math as wm
from weft.gpu.host import DeviceContext
from weft.layout import Layout
ctx = DeviceContext(api="cpu")
host = ctx.enqueue_create_host_buffer(Float32, 6)
tensor = Tensor(Float32, (2, 3))
"""
CASES = {
    "host[9]": "IndexError: index 9 is outside the HostBuffer, which has 6 elements",
    "host['a']": "TypeError: an index of a HostBuffer is an integer or a slice, not 'a'",
    "host.tensor(Layout.row_major(2, 3))[5, 0]": "IndexError: index 5 is outside mode 0",
    "tensor[2, 0]": "IndexError: index 2 is out of bounds for axis 0 with size 2",
    "tensor[:, :] = np.zeros((4, 4))": "ValueError: could not broadcast",
    "InlineArray[Float32, 2](1, 2)[5]": "IndexError: index 5 is outside of this array",
    "wm.sqrt(-1.0)": "ValueError: ",
}


@pytest.mark.parametrize("text", CASES)
def test_a_traceback_without_frames_of_weft(tmp_path: Path, text: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PRELUDE + text + "\n", encoding="utf-8")
    for command in (["-m", "weft", "run"], []):
        ran = subprocess.run([sys.executable, *command, str(program)], capture_output=True, text=True)
        assert ran.returncode == 1
        assert ran.stderr.count("File ") == 1, ran.stderr
        assert CASES[text] in ran.stderr


def test_pytest_shows_the_line_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(f"{PRELUDE}\ndef test_it():\n    host[9]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert "IndexError: index 9 is outside the HostBuffer" in said
    assert "host_buffer.py" not in said
