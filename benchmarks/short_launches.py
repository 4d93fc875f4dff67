"""A tiny kernel launched on the CPU and waited for: right after another, and after the process has slept.

A C function through ctypes and a sum by NumPy take turns with it: what is not in the caches any more takes
time, whoever calls.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.kernels.pictures import scalar_add
from benchmarks.measure import Target, table
from weft import Float32
from weft.gpu.host import DeviceContext
from weft.launch.native.code import native_code

N = 64
SOURCE = "void add(float *x, int n, float by) { for (int i = 0; i < n; i++) x[i] += by; }"
PAUSE = 0.01
"""Seconds of sleep before each launch that comes after idle."""


def run(options: argparse.Namespace) -> None:
    native_code()
    ctx = DeviceContext(api="cpu")
    buffer, array = ctx.enqueue_create_buffer(Float32, N), np.zeros(N, np.float32)
    buffer.enqueue_fill(0.0)

    def weft() -> None:
        ctx.enqueue_function(scalar_add, buffer, N, 1.0, grid_dim=1, block_dim=N)
        ctx.synchronize()

    cases: dict[str, Callable[[], object]] = {"weft": weft, "NumPy, x.sum()": array.sum}
    added = _c(array)
    if added is not None:
        cases["C through ctypes"] = added
    print(f"## Short launches on the CPU: {ctx.name}\n")
    for name, case in cases.items():
        for _ in range(3000 if name == "weft" else 100):  # until launches go without Python
            case()
    rounds = options.rounds or 200
    hot = {name: _times(case, 20 * rounds) for name, case in cases.items()}
    idle: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            time.sleep(PAUSE)
            idle[name] += _times(case, 1)
    rows = [[name, *_spread(hot[name]), *_spread(idle[name])] for name in cases]
    table(("µs", "hot: least", "median", "p90", "after idle: least", "median", "p90"), rows)
    print(Target("launch and wait, hot, median", _at(hot["weft"], 0.5), 3, "µs"))
    print(Target("launch and wait, after idle, median", _at(idle["weft"], 0.5), 20, "µs"), "\n")


def _c(array: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Callable[[], object] | None:
    """The same by C, or None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "add.so"
        command = [compiler, "-O3", "-shared", "-fPIC", "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        add = ctypes.CDLL(str(made)).add
    arguments = ctypes.c_void_p(array.ctypes.data), ctypes.c_int(N), ctypes.c_float(1.0)
    return lambda: add(*arguments)


def _times(case: Callable[[], object], count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        case()
        times.append(1e6 * (time.perf_counter() - start))
    return times


def _at(times: Sequence[float], part: float) -> float:
    return sorted(times)[int(part * (len(times) - 1))]


def _spread(times: Sequence[float]) -> list[str]:
    return [f"{_at(times, part):.1f}" for part in (0.0, 0.5, 0.9)]
