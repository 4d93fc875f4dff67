"""``weft profile``: what the launches of a program took."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.explorer.roofline import Point, roofline_svg
from weft.launch.profile import Row
from weft.runtime.driver import DeviceInfo

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
    assert all(row.endswith("%") for row in rows)
    events = json.loads(trace.read_text())["traceEvents"]
    assert sorted(event["name"] for event in events) == ["add", *["fill"] * counts["fill"]]
    assert {event["args"]["bytes"] for event in events} == {4 << 16, 8 << 16}
    assert all(event["dur"] > 0 and event["ts"] >= 0 for event in events)


def test_a_program_without_kernels(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print(1)")
    command = [sys.executable, "-m", "weft", "profile", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "weft profile: no kernel was launched\n")


@pytest.mark.parametrize("api", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_graphs_declared_work_and_a_page(api: str, tmp_path: Path) -> None:
    program, page, trace = Path(__file__).with_name("profiled.py"), tmp_path / "p.html", tmp_path / "t.json"
    words = ["profile", "--page", str(page), "--trace", str(trace), str(program), api, "16"]
    done = subprocess.run(
        [sys.executable, "-m", "weft", *words], capture_output=True, text=True, check=True, timeout=100
    )
    counts = dict(
        re.findall(r"^(fill|add|polynomial|graph of 2 \(fill, add\)) +(\d+)", done.stderr, re.MULTILINE)
    )
    assert counts == {"fill": "12", "add": "12", "polynomial": "12", "graph of 2 (fill, add)": "5"}
    assert re.search(r"^on .+ \([\d,]+ GB/s\), measured by a copy; ", done.stderr, re.MULTILINE)
    events = json.loads(trace.read_text())["traceEvents"]
    work = {event["name"]: (event["args"]["bytes"], event["args"]["flops"]) for event in events}
    n = 1 << 16
    assert work["fill"] == (4 * n, 0)
    assert work["add"] == (8 * n, n)
    assert work["polynomial"] == (8 * n, 128 * n)
    assert work["graph of 2 (fill, add)"] == (12 * n, n)
    text = page.read_text()
    assert text.count("<circle") == 3  # what declares no operations has no place in a roofline
    assert "<code>declare_work</code>): fill." in text
    assert len(re.findall(r"<rect ", text)) == len(events) == 41
    assert not re.search(r"(src|href)=|https?://(?!www.w3.org/2000/svg)|@import|url\(", text)


def test_ranges_are_those_of_launches(tmp_path: Path) -> None:
    fake, program = tmp_path / "nvtx.py", Path(__file__).with_name("profiled.py")
    fake.write_text(
        "def push_range(message=None, color='blue', domain=None): print('push', message, domain)\n"
        "def pop_range(domain=None): print('pop', domain)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    words = [sys.executable, "-m", "weft", "profile", "--nvtx", str(program), "cpu", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100, env=environment)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["push fill weft", "pop weft"]
    assert lines.count("pop weft") == 38  # of launches, two of which a graph has captured
    assert "push polynomial weft" in lines


def test_ranges_need_their_package(tmp_path: Path) -> None:
    (tmp_path / "nvtx.py").write_text("raise ImportError('not here')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    program = tmp_path / "program.py"
    program.write_text("print('it ran')")
    words = [sys.executable, "-m", "weft", "profile", "--nvtx", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "pip install weft[nvtx]" in done.stderr
    assert not done.stdout


def test_the_roof() -> None:
    device = DeviceInfo("d", "cuda", "sm_90", 1024, (1, 1, 1), (1, 1, 1), 0, 1, 32, 0, flops=1000)
    row = Row("k", device, 1, 2.0, 2.0, 2.0, 50.0, 500.0, 100.0, 1000.0)
    assert row.of_roof(100.0) == 0.5  # both a second of memory and a second of arithmetic would do
    assert row.of_roof(60.0) == pytest.approx(100 / 60 / 2)
    picture = roofline_svg([Point("k", 10.0, 500.0), Point("<none>", 0.0, 0.0)], 100.0, 1000.0, 60.0)
    assert picture.count("<circle") == 1
    assert "none" not in re.sub(r'role="img"', "", picture)
    assert "copy as measured 0 GB/s" in picture


def test_the_roof_where_arithmetic_is_unknown() -> None:
    """As on CPUs: the line of the copy lies within the picture, also where no kernel says its operations."""
    for points in ([], [Point("k", 0.1, 1e9)]):
        picture = roofline_svg(points, 0.0, 0.0, 25e9)
        [line] = re.findall(
            r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"[^>]*dash', picture
        )
        x1, y1, x2, y2 = map(float, line)
        assert x1 < x2
        assert 14 <= y2 < y1 <= 260
