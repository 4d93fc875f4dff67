"""Timing what is compared in turns, so that whatever slows the machine slows all of them alike."""

from __future__ import annotations

import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.benchmark.text import columns

__all__ = [
    "MISSING",
    "PEERS",
    "ROOT",
    "Outcome",
    "Target",
    "describe_machine",
    "in_turns",
    "module",
    "process_environment",
    "spread",
    "table",
    "worker",
]

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
MISSING = 3
"""A worker's exit status when what it measures is not installed."""


def module(name: str) -> Any:
    """An optional module, or None where it is not installed or cannot be loaded."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):
        return None


def torch_on_gpu() -> Any:
    """PyTorch, where it knows a GPU; else None, and it is said."""
    torch = module("torch")
    if torch is None or not torch.cuda.is_available():
        print("needs torch and a GPU that it knows\n")
        return None
    return torch


REST = 0.03
"""Seconds between cases on a CPU: OpenMP's threads look for work for some 10 ms after their loops."""


def in_turns(
    cases: Mapping[str, Callable[[], float | None]], rounds: int, *, pause: float = 0.0, warm_up: int = 1
) -> dict[str, list[float]]:
    """Run every case once a round, A B C A B C.

    Args:
        cases: by name; one that returns a number has timed itself, in seconds.
        rounds: how many count, after the warm-up.
        pause: seconds of rest before each, for threads of the one before to go to sleep.
        warm_up: rounds that do not count.

    Returns:
        the seconds of each case, round by round.
    """
    times: dict[str, list[float]] = {name: [] for name in cases}
    for round_ in range(warm_up + rounds):
        for name, case in cases.items():
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            own = case()
            taken = time.perf_counter() - start if own is None else own
            if round_ >= warm_up:
                times[name].append(taken)
    return times


def spread(times: Sequence[float]) -> tuple[float, float, float]:
    """The smallest, the median and the largest."""
    return min(times), statistics.median(times), max(times)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker process printed, or why it printed nothing."""

    data: Any = None
    missing: str = ""


def worker(command: Sequence[str | os.PathLike[str]], env: Mapping[str, str] | None = None) -> Outcome:
    """Run a process whose last line is JSON."""
    done = subprocess.run(
        [os.fspath(c) for c in command], capture_output=True, text=True, cwd=ROOT, env=env, check=False
    )
    if done.returncode == MISSING:
        return Outcome(missing=f"not installed ({done.stderr.strip().splitlines()[-1]})")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Outcome(missing=f"failed: {reason}")
    return Outcome(json.loads(done.stdout.strip().splitlines()[-1]))


def process_environment(**changes: str | os.PathLike[str]) -> dict[str, str]:
    """This environment for a child, which may write bytecode whatever is set here."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return env | {k: os.fspath(v) for k, v in changes.items()}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are numbers."""
    full = [[*row, *[""] * (len(head) - len(row))] for row in rows]
    print(columns([head, *full]), end="\n\n", flush=True)


@dataclass(frozen=True, slots=True)
class Target:
    """What weft is to reach, and what was measured."""

    text: str
    measured: float
    limit: float
    unit: str = "ms"
    at_least: bool = False

    def __str__(self) -> str:
        met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        sign = "≥" if self.at_least else "≤"
        verdict = "reached" if met else "MISSED"
        return f"{verdict:8} {self.text}: {self.measured:.4g} {self.unit} (target {sign} {self.limit:g})"


def describe_machine() -> str:
    """The processor, the cores this process may use, and the versions that matter."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    llvmlite = module("llvmlite")
    version = "no llvmlite" if llvmlite is None else f"llvmlite {llvmlite.__version__}"
    return f"{cores} cores of {cpu}{load}; Python {platform.python_version()}, {version}; {sys.platform}"
