"""Saving a file until the explorer's open page has what became of it, for sm_90.

Each save changes a number in the kernel, so that nothing comes from a cache. The time ends when the page has
been sent all; its own drawing is not in it. Machine code follows as a second message, that nothing waits for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Target, process_environment, spread, table

SOURCE = (ROOT / "benchmarks" / "kernels" / "seven.py").read_text()
KERNELS = {
    "vadd": ("a[i] + b[i]", "a[i] + {}.5 * b[i]"),
    "softmax": ("values[base + i] - l", "{}.5 * values[base + i] - l"),
}
"""What is changed in each, into what with a number."""
LIMIT = 100.0


def run(options: argparse.Namespace) -> None:
    print("## Saving a file until the explorer's page has it, milliseconds\n")
    rows: list[list[str]] = []
    targets: list[Target] = []
    for name, change in KERNELS.items():
        times = _saves(name, change, options.rounds or 15)
        rows.append([name, *(f"{1e3 * t:.0f}" for t in spread(times))])
        targets.append(Target(f"{name}, saved until shown", 1e3 * spread(times)[1], LIMIT))
    table(("kernel", "least", "median", "most"), rows)
    for target in targets:
        print(target)


def _saves(name: str, change: tuple[str, str], rounds: int) -> list[float]:
    """Seconds from a save to the page's new content."""
    old, new = change
    assert old in SOURCE
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "saved.py"
        file.write_text(SOURCE)
        words = [sys.executable, "-m", "weft", "explore", f"{file}:{name}", "--target", "sm_90", "--serve"]
        env = process_environment(WEFT_CACHE_DIR=Path(folder) / "cache")
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().split()[0]
                with urllib.request.urlopen(f"{url}changes", timeout=60) as changes:
                    for n in range(1001, 1001 + rounds):
                        time.sleep(0.3)  # as an author, who does not save when the last is not shown
                        start = time.perf_counter()
                        file.write_text(SOURCE.replace(old, new.format(n)))
                        while f"{n}.5" not in (text := _event(changes)):
                            pass
                        times.append(time.perf_counter() - start)
                        assert "error" not in json.loads(text)
            finally:
                server.terminate()
    return times


def _event(stream: Any) -> str:
    while not (line := stream.readline().decode()).startswith("data: "):
        pass
    return line.removeprefix("data: ")
