"""``weft tune``, and what it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from weft import Config
from weft.runtime.driver import Residency
from weft.tuning.candidates import Candidate
from weft.tuning.classes import Class
from weft.tuning.search import Failed, Timing, fastest
from weft.tuning.show import Search, line, page, svg, table

PROGRAM = """
from weft import Comptime, Float32, Pointer, autotune, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

@autotune({"ROUNDS": [4000, 10], "block_dim": [32, 2048]}, on_launch=False, table="chosen.json")
@kernel
def work(x: Pointer[Float32], *, ROUNDS: Comptime[int]):
    for _ in range(ROUNDS):
        x[global_idx.x] = x[global_idx.x] * 0.5 + 1.0

ctx = DeviceContext(api="cpu")
x = ctx.enqueue_create_buffer(Float32, 32)
x.enqueue_fill(2.0)
ctx.enqueue_function(work, x, grid_dim=1)
print(work.choice(ctx, x, grid_dim=1))
"""


def weft(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "weft", *words]
    return subprocess.run(command, cwd=folder, env={**os.environ}, capture_output=True, text=True)


def test_a_program_is_tuned_and_its_table_taken(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = weft(tmp_path, "tune", "--write", "chosen.json", "--picture", "space.html", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ROUNDS=10, block_dim=32\n"
    (said,) = done.stderr.splitlines()
    assert said.startswith("work, all sizes of DeviceBuffer of float32 on ")
    assert ": ROUNDS=10, block_dim=32 (" in said
    assert said.endswith("times as fast as the first; 4 tried, 2 left out)")
    (entry,) = json.loads((tmp_path / "chosen.json").read_text())["choices"]
    assert (entry["kernel"], entry["config"]) == ("program.work", {"ROUNDS": 10, "block_dim": 32})
    assert (tmp_path / "space.html").read_text().count("<rect") == 1 + 4
    (tmp_path / "other.py").write_text("import program\n")  # by import it is the same kernel
    assert weft(tmp_path, "run", "other.py").stdout == "ROUNDS=10, block_dim=32\n"


def test_a_program_without_tuned_kernels(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print(1)\n")
    done = weft(tmp_path, "tune", "plain.py")
    assert (done.returncode, done.stdout) == (1, "1\n")
    assert done.stderr == "weft tune: plain.py has launched no kernel under @autotune\n"
    done = weft(tmp_path, "tune", "--picture", "space.png", "plain.py")
    assert "error[output]: --picture space.png: its name says no format" in done.stderr


def search() -> Search:
    space = [Config(EACH=each, block_dim=block) for each in (1, 2) for block in (64, 128, 4096)]
    candidates, timings = [Candidate(config) for config in space], [Timing() for _ in space]
    for n, seconds in enumerate((4e-6, 2e-6, 0, 1e-6, 8e-6, 0)):
        timings[n].samples = [seconds] * 3
        candidates[n].residency = Residency(32, 0, 1024, 8, 0.5)
        if not seconds:
            candidates[n].left_out = "4096 < all that <b> allows"
    return Search("file.double", Class("Device", "Int", (("n", 10),)), candidates, timings)


def test_what_is_shown() -> None:
    assert line(search()) == (
        "double, n=10 of Int on Device: EACH=2, block_dim=64 (1 µs, 4 times as fast as the first; "
        "6 tried, 2 left out)"
    )
    lines = table(search()).splitlines()
    assert [row.split()[:4] for row in lines[3:5]] == [["*", "2", "64", "1"], ["1", "128", "2", "µs"]]
    assert lines[3].split()[-4:] == ["32", "0", "1024", "50%"]
    assert lines[-1] == "  EACH=2, block_dim=4096: 4096 < all that <b> allows"
    picture = ElementTree.fromstring(svg([search()]))
    assert len(picture.findall("{*}g")) == 6
    titles = [title.text for title in picture.iterfind("{*}g/{*}title")]
    assert "EACH=1, block_dim=4096: 4096 < all that <b> allows" in titles
    assert "<b>" not in page([search()])


def test_rounds() -> None:
    order: list[int] = []

    def sample(n: int) -> float:
        order.append(n)
        if n == 2 and len(order) > 4:
            raise Failed("it has failed")
        return [1.0, 1.01, 1.02, 9.0][n]

    found = fastest(4, sample, rounds=3)
    assert order == [0, 1, 2, 3, 2, 1, 0, 0, 1]
    assert [len(timing.samples) for timing in found] == [3, 3, 1, 1]
    assert [timing.left_out for timing in found] == ["", "", "it has failed", ""]


def test_one_slow_sample_leaves_nobody_out() -> None:
    samples = {0: iter([1.0] * 9), 1: iter([5.0] + [0.9] * 8)}  # somebody else had the machine
    found = fastest(2, lambda n: next(samples[n]))
    assert [timing.seconds for timing in found] == [1.0, 0.9]
