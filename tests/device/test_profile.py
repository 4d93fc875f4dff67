"""``weft profile``: what the launches of a program took."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
from weft import Float32, Int, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext


@kernel
def fill(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] = 2.0


@kernel
def add(x: Pointer[Float32], y: Pointer[Float32]):
    y[global_idx.x] += x[global_idx.x]


api, n = sys.argv[1], 1 << 16
ctx = DeviceContext(api=api)
x, y = ctx.enqueue_create_buffer("float32", n), ctx.enqueue_create_buffer("float32", n)
y.enqueue_fill(0)
for _ in range(3):
    ctx.enqueue_function(fill, x, n, grid_dim=n // 256, block_dim=256)
ctx.enqueue_function(add, x, y, grid_dim=n // 256, block_dim=256)
if api == "cpu":
    ctx.enqueue_function(fill, np.zeros(n, np.float32), n, grid_dim=n // 256, block_dim=256)
ctx.synchronize()
sys.exit(5)
"""


@pytest.mark.parametrize("api", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_what_launches_took(api: str, tmp_path: Path) -> None:
    program, trace = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "weft", "profile", "--trace", str(trace), str(program), api]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 5, done.stderr
    head, *rows = [line for line in done.stderr.splitlines() if re.match("kernel|fill|add", line)]
    assert head.split()[:2] == ["kernel", "launches"]
    counts = {row.split()[0]: int(row.split()[1]) for row in rows}
    assert counts == {"fill": 3 + (api == "cpu"), "add": 1}
    assert sum(int(row.split()[3].rstrip("%")) for row in rows) in (99, 100, 101)
    assert all(0 < float(row.split()[5]) <= float(row.split()[4]) for row in rows)
    assert rows[0].endswith("%") == (api == "cuda")
    events = json.loads(trace.read_text())["traceEvents"]
    assert sorted(event["name"] for event in events) == ["add", *["fill"] * counts["fill"]]
    assert {event["args"]["bytes"] for event in events} == {4 << 16, 8 << 16}
    assert all(event["dur"] > 0 and event["ts"] >= 0 for event in events)


def test_a_program_without_kernels(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print(1)")
    command = [sys.executable, "-m", "weft", "profile", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "weft profile: no kernel was launched but by graphs\n")
