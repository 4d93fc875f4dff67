"""Whole processes: how long until ``weft inspect`` has shown a kernel, and what ``import weft`` costs.

Every process but those that say so starts without weft's cache. Python's own bytecode files are there, as
after an installation: one run that does not count writes them, into a folder of the benchmark's own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.compile_time import NAMES
from benchmarks.measure import ROOT, Target, in_turns, process_environment, spread, table

KERNELS = ROOT / "benchmarks" / "kernels" / "seven.py"
HEAVY = ("llvmlite", "numpy")
INSPECT = ["-m", "weft", "inspect", "--target", "sm_90"]
OPEN = {"image": "512,512,3", "out": "512,512", "picture": "512,512", "small": "256,256"}
LAYOUTS = [word for name, extents in OPEN.items() for word in ("--layout", f"{name}={extents}")]
SEVEN = f"{KERNELS}:[{', '.join(NAMES)}]"
BUILD = ["-m", "weft", "build", "--target", "sm_90", *LAYOUTS, "--param", "factor=2", SEVEN]


def run(options: argparse.Namespace) -> None:
    print("## Start-up: whole processes, milliseconds\n")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        env = process_environment(PYTHONPYCACHEPREFIX=Path(folder) / "bytecode", WEFT_CACHE_DIR=cache)

        def process(*words: str, kept: bool = False) -> Callable[[], None]:
            def start() -> None:
                if not kept:
                    shutil.rmtree(cache, ignore_errors=True)
                before = os.times()
                subprocess.run([sys.executable, *words], env=env, cwd=ROOT, check=True, capture_output=True)
                after = os.times()
                user = after.children_user - before.children_user
                processor.setdefault((*words, str(kept)), []).append(
                    user + after.children_system - before.children_system
                )

            return start

        processor: dict[tuple[str, ...], list[float]] = {}
        times = in_turns(
            {
                "python -c pass": process("-c", "pass"),
                "import weft": process("-c", "import weft"),
                "import llvmlite.binding": process("-c", "import llvmlite.binding"),
                "weft inspect, vadd": process(*INSPECT, f"{KERNELS}:vadd"),
                "weft inspect, mm_tiled": process(*INSPECT, f"{KERNELS}:mm_tiled"),
                "weft inspect --emit ir": process(*INSPECT, "--emit", "ir", f"{KERNELS}:vadd"),
                "weft build, seven": process(*BUILD),
                "weft build, seven cached": process(*BUILD, kept=True),
            },
            options.rounds or 15,
            warm_up=2,
        )
        names = f"import sys, weft; print(*[m for m in {HEAVY} if m in sys.modules])"
        command = [sys.executable, "-c", names]
        loaded = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)

    rows = [
        [name, *(f"{1e3 * t:.0f}" for t in spread(got)), f"{1e3 * statistics.median(cpu):.0f}"]
        for (name, got), cpu in zip(times.items(), processor.values(), strict=True)
    ]
    table(("process", "least", "median", "most", "processor"), rows)
    bare, imported = times["python -c pass"], times["import weft"]
    above = 1e3 * statistics.median(b - a for a, b in zip(bare, imported, strict=True))
    print(Target("weft inspect of one kernel", statistics.median(times["weft inspect, vadd"]), 0.25, "s"))
    print(Target("import weft, above bare Python", above, 80))
    for name, limit in (("weft build, seven", 150), ("weft build, seven cached", 90)):
        print(Target(name, 1e3 * statistics.median(times[name]), limit))
    found = loaded.stdout.strip()
    verdict = "MISSED" if found else "reached"
    print(f"{verdict:8} import weft loads {found or 'neither ' + ' nor '.join(HEAVY)}\n")
