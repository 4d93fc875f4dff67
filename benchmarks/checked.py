"""The fourteen kernels under the checks of a CPU's contexts, and without: the same arrays.

Checked launches for races run their blocks one after the other, so one core (``taskset -c 0``) is fair.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping

import numpy as np

from benchmarks.fourteen import WORKS, Work, launches, prepared, processor_time
from benchmarks.kernels import fourteen as kernels
from benchmarks.measure import Target, in_turns, table, worker
from weft import config
from weft.abi.checks import Checks, checks_of
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters

ASKED: Mapping[str, Checks] = {"unchecked": False, "bounds": "bounds", "races": True}
"""What is compared, by what it is checked for."""
LIMITS = {"bounds": 10.0, "races": 50.0}
"""How many times as long they may take."""


def run(options: argparse.Namespace) -> None:
    """Print how many times as long the checked kernels take to run and to compile."""
    scale = options.size or 1024
    print(f"## Checked kernels on the CPU, {scale}² elements\n")
    rows: list[list[str]] = []
    found: dict[str, list[float]] = {name: [] for name in LIMITS}
    for made in WORKS:
        if options.kernels and made.__name__.lstrip("_") not in options.kernels.split(","):
            continue
        least: dict[str, float] = {}
        for name in ASKED:  # each alone: beside streams of other contexts more is noted
            given = made.__name__, name, str(scale), str(options.rounds or 15)
            least[name] = worker([sys.executable, "-m", "benchmarks.checked", *given]).data
        work = made(64, np.random.default_rng(1))
        compiled = {name: compile_time(work, checks_of(asked)) for name, asked in ASKED.items()}
        row = [work.name, f"{1e3 * least['unchecked']:.2f}"]
        for name, ratios in found.items():
            ratios.append(least[name] / least["unchecked"])
            row += [f"{1e3 * least[name]:.2f}", f"{ratios[-1]:.1f} ×"]
        row += [f"{compiled['unchecked']:.0f}"]
        row += [f"{compiled[name] / compiled['unchecked']:.1f} ×" for name in LIMITS]
        rows.append(row)
        print(f"{row[0]:14}" + "".join(f"{cell:>10}" for cell in row[1:]), flush=True)
    print()
    head = ("ms, least", "unchecked", "bounds", "", "races too", "", "compile", "bounds", "races too")
    table(head, rows)
    for name, limit in LIMITS.items():
        within = sum(ratio <= limit for ratio in found[name])
        middle = statistics.median(found[name])
        print(f"{name}: {within} of {len(rows)} within {limit:g} ×, median {middle:.1f} ×")
        print(Target(f"the slowest, checked for {name}", max(found[name]), limit, "×"))


def measured(made: str, name: str, scale: str, rounds: str) -> float:
    """Seconds of the processor that one kernel takes, in a context that is checked so; the least."""
    work = next(work for work in WORKS if work.__name__ == made)(int(scale), np.random.default_rng(1))
    case = processor_time(launches(DeviceContext(api="cpu", checked=ASKED[name]), work))
    prepared(work, name, case)
    return min(in_turns({name: case}, int(rounds), warm_up=3)[name])


def compile_time(work: Work, checks: frozenset[str]) -> float:
    """Milliseconds of the processor from Python to code, without the cache; the least of three."""
    kernel = getattr(kernels, work.name)
    specs = {p.name: spec_of_annotation(p.annotation) for p in parameters(kernel.definition)}
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder, config.scope(cache_dir=folder, compile="in-process"):
        for _ in range(3):
            start = time.process_time()
            elaborate_kernel(kernel, specs, "native", CompileOptions(checked=checks, distinct=True)).code()
            took.append(time.process_time() - start)
    return 1e3 * min(took)


if __name__ == "__main__":
    print(measured(*sys.argv[1:]))
