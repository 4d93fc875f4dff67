"""Products of odd shapes beside cuBLAS, each by itself, as replays of a graph: the host does not count."""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

from benchmarks.kernels_table import ODD
from benchmarks.measure import table, torch_on_gpu
from benchmarks.replays import replayed


def run(options: argparse.Namespace) -> None:
    print("## Products of odd shapes\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    print(f"{torch.cuda.get_device_name()}, bfloat16, medians in µs of replays in turns\n")
    rows, logs = list[list[str]](), list[float]()
    for shape in ODD:
        ours, theirs = _measured(torch, shape, options.rounds or 9)
        logs.append(math.log(theirs / ours))
        name = " x ".join(map(str, shape))
        rows.append([name, f"{ours * 1e6:.1f}", f"{theirs * 1e6:.1f}", f"{theirs / ours:.2f}"])
    table(["m x n x k", "weft", "cuBLAS", "of cuBLAS"], rows)
    print(f"geometric mean {math.exp(statistics.mean(logs)):.3f}\n")


def _measured(torch: Any, shape: tuple[int, int, int], rounds: int) -> tuple[float, float]:
    """Seconds of a call of weft's and of cuBLAS's."""
    from weft import kernels

    m, n, k = shape
    a, b = (torch.randn(*extents, device="cuda").bfloat16() for extents in ((m, k), (k, n)))
    out = torch.empty(m, n, device="cuda", dtype=a.dtype)
    right = (a @ b).float()

    def multiply() -> None:
        kernels.matmul(a, b, out=out)

    def multiply_by_cublas() -> None:
        torch.matmul(a, b, out=out)

    multiply()
    assert (out.float() - right).norm() <= 5e-3 * right.norm(), shape
    times = replayed(torch, {"weft": multiply, "cuBLAS": multiply_by_cublas}, rounds)
    return times["weft"], times["cuBLAS"]
