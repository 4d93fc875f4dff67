"""The GPU's tests under compute-sanitizer: ``python tools/sanitize.py [--jobs N] [--tools A,B] [FILE ...]``.

Each tool takes each file of tests in a process of its own, several at a time, since one process for all of
them would take an hour. The exit status is 1 where a tool or a test told of something; it is shown.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = {
    "memcheck": ["--report-api-errors", "no"],
    "racecheck": [],
    "synccheck": [],
    "initcheck": [],
}
"""memcheck counts as errors what the binding asks the driver for and an older driver has not."""
PYTEST = [sys.executable, *"-m pytest -q --tb=short -p no:cacheprovider -p no:benchmark".split()]
APART = ["test_faults.py", "test_two_gpus.py"]
"""Files with faults on purpose, which end the context, and those that need a second GPU."""
DESELECTED = ["many_launches_leave_no_memory", "two_kernels_overlap"]
"""Tests that measure time or the memory that is free."""


def run_file(tool: str, file: Path, limit: float) -> tuple[str, str, str]:
    """What became of a file under a tool: a word, a line and all that was said."""
    start = time.monotonic()
    marks = "gpu and not host_waits" if tool == "initcheck" else "gpu"
    chosen = ["-m", marks, "-k", " and ".join(f"not {name}" for name in DESELECTED)]
    tested = [*PYTEST, str(file), *chosen]
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "77", *tested]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"WEFT_CACHE_DIR": cache, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=limit, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            said, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            said, status = (late.stdout or b"").decode(errors="replace"), 124
    counts = ", ".join(re.findall(r"\d+ (?:passed|failed|skipped|errors?\b)", said)) or "nothing was run"
    summary = ", ".join(re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)) or "no summary"
    status = (
        0 if "terminated before first instrumented API call" in said else status
    )  # no test of it is for GPUs
    word = "ok" if status in (0, 5) and "hazard" not in said.split("SUMMARY")[0] else "BAD"
    line = f"{word:4}{tool:10} {file.name:32} {time.monotonic() - start:4.0f} s  {counts}; {summary}"
    return word, line, said


class Options(argparse.Namespace):
    files: list[Path]
    jobs: int
    tools: str
    limit: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="default: those of tests/device, library and kernels"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--tools", default=",".join(TOOLS), help="with commas between them")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a file may take")
    options = parser.parse_args(namespace=Options())
    folders = [ROOT / "tests" / name for name in ("device", "library", "kernels")]
    files = options.files or sorted(f for folder in folders for f in folder.glob("test_*.py"))
    jobs = [(t, f) for t in options.tools.split(",") for f in files if f.name not in APART]
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(run_file, *job, options.limit) for job in jobs]):
            word, line, said = done.result()
            print(line, flush=True)
            if word != "ok":
                bad += 1
                telling = [n for n in said.splitlines() if re.search(r"=========|^FAILED|^E  ", n)]
                print("\n".join(telling[:40]), flush=True)
    print(f"{len(jobs)} runs of {len(files)} files, {bad} of them told of something")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
