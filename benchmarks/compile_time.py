"""From Python to PTX for sm_90, warm, beside compilers that do the same job.

weft hands LLVM's part to a process of its own, unless it is told not to: both are measured. The peers have
all in one process. The processor's time is that of one process, so weft's is that of the second row.

Each compiler runs in processes of its own, in turns. A process compiles one kernel to get the first
use of everything over with, then the seven kernels in several passes, each time from functions that
were never compiled before and with no cache. The first pass meets every part of the library for the
first time, the later ones do not; both are reported.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.measure import PEERS, Target, process_environment, table, worker
from benchmarks.seven_check import check_all

NAMES = ("vadd", "gray", "box", "mm_naive", "mm_tiled", "bsum", "softmax")
PASSES = 4
WORKER, IN_PROCESS = "weft", "weft, in process"

Pass = dict[str, dict[str, float]]


def run(options: argparse.Namespace) -> None:
    rounds = options.rounds or 7
    print("## Compile: seven kernels, Python to PTX for sm_90, milliseconds\n")
    for name, error in check_all():
        print(f"{name:9} on the CPU: within {error:.1e} of NumPy")
    print()

    own = [sys.executable, "-m", "benchmarks.compile_worker", str(PASSES)]
    commands = {
        WORKER: own,
        IN_PROCESS: own,
        "NVRTC": [options.peer_python, PEERS / "compile_nvrtc.py", str(PASSES)],
        "Triton": [options.peer_python, PEERS / "compile_triton.py", str(PASSES)],
        "LLVM, IR by hand": [options.peer_python, PEERS / "compile_llvmlite.py", str(PASSES)],
    }
    passes: dict[str, list[list[Pass]]] = {name: [] for name in commands}
    versions: dict[str, str] = {}
    for _ in range(rounds):
        for name, command in commands.items():
            if versions.get(name, "").startswith(("not installed", "failed")):
                continue
            kind = {"WEFT_COMPILE": "in-process"} if name == IN_PROCESS else {}
            found = worker(command, process_environment(**kind))
            versions[name] = found.missing or found.data["version"]
            if not found.missing:
                passes[name].append(found.data["passes"])

    for name, version in versions.items():
        print(f"{name}: {version}")
    print("\nFirst pass: median over processes of wall time, and of processor time")
    rows = [_row(name, [p[0] for p in got]) for name, got in passes.items() if got]
    table(("", *NAMES, "seven", "processor"), rows)
    print("Later passes: median over all")
    rows = [_row(name, [x for p in got for x in p[1:]]) for name, got in passes.items() if got]
    table(("", *NAMES, "seven", "processor"), rows)

    for name in (WORKER, IN_PROCESS):
        if passes[name]:
            _targets(name, passes[name])


def _targets(name: str, passes: list[list[Pass]]) -> None:
    first, later = [p[0] for p in passes], [x for p in passes for x in p[1:]]
    for text, group in (("first pass", first), ("later passes", later)):
        _stages(f"{name}: stages, {text}", group)
    for text, group in (("first pass", first), ("later passes", later)):
        print(Target(f"{name}: vadd, {text}", _median(group, "vadd", "wall"), 6))
        print(Target(f"{name}: seven together, {text}", _total(group, "wall"), 65))
        if name == IN_PROCESS:
            print(Target(f"the same, processor time, {text}", _total(group, "cpu"), 65))
        outside = _median_of(group, lambda p: 100 * (1 - _sum(p, "llvm") / _sum(p, "wall")))
        print(Target(f"outside LLVM, of the seven, {text}", outside, 25, "%"))
    print()


def _sum(p: Pass, kind: str) -> float:
    return sum(p[n][kind] for n in NAMES if n in p)


def _median_of(group: list[Pass], value: Callable[[Pass], float]) -> float:
    return statistics.median(value(p) for p in group)


def _median(group: list[Pass], name: str, kind: str) -> float:
    return _median_of(group, lambda p: p[name][kind])


def _total(group: list[Pass], kind: str) -> float:
    return _median_of(group, lambda p: _sum(p, kind))


def _row(name: str, group: list[Pass]) -> list[str]:
    cells = [f"{_median(group, n, 'wall'):.1f}" if n in group[0] else "" for n in NAMES]
    if all(n in group[0] for n in NAMES):
        cells.append(f"{_total(group, 'wall'):.1f}")
        cells += [f"{_total(group, 'cpu'):.1f}"] if name != WORKER else []
    return [name, *cells]


def _stages(title: str, group: list[Pass]) -> None:
    print(title)
    kinds: list[Any] = [k for k in group[0]["vadd"] if k not in ("wall", "cpu")]
    rows = [[k, *(f"{_median(group, n, k):.2f}" for n in NAMES), f"{_total(group, k):.1f}"] for k in kinds]
    table(("", *NAMES, "seven"), rows)
