"""A float32 product of matrices in weft's tiles beside NumPy's BLAS, on one thread or as many as asked.

``OPENBLAS_NUM_THREADS=N python -m benchmarks product`` gives both so many; NumPy reads it when it is loaded.
On one thread times are of the processor, so that what else runs on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.product import product
from benchmarks.measure import REST, Target, in_turns, spread, table
from weft import Tensor
from weft.gpu.host import DeviceContext

DEPTH, THREADS = 256, 32
WIDE, NARROW = (8, 32, 16), (4, 16, 8)
"""Rows and columns that a thread has in registers, and lanes: 16 vectors of 32, or 8 of 16."""
WARM_UP = 12
"""Rounds that do not count: the first launches go through Python."""


def run(options: argparse.Namespace) -> None:
    n, threads = options.size or 1024, int(os.environ.get("OPENBLAS_NUM_THREADS", "1"))
    ctx = DeviceContext(api="cpu", threads=threads)
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    a, b, c = Tensor.from_numpy(x, ctx), Tensor.from_numpy(y, ctx), Tensor.from_numpy(np.zeros_like(x), ctx)
    found = np.empty_like(x)
    rows, columns, lanes = WIDE if _has_wide_vectors() else NARROW
    grid = n // columns, n // (rows * THREADS)

    def weft() -> None:
        ctx.enqueue_function(
            product,
            a,
            b,
            c,
            rows=rows,
            columns=columns,
            depth=DEPTH,
            threads=THREADS,
            lanes=lanes,
            grid_dim=grid,
            block_dim=THREADS,
        )
        ctx.synchronize()

    def numpy() -> None:
        np.matmul(x, y, out=found)

    cases = {"weft, tiles": weft, "NumPy, BLAS": numpy}
    for case in cases.values():
        case()
    assert np.allclose(c.numpy(), found, rtol=1e-3, atol=1e-3), "weft's product is wrong"
    print(f"## Product of {n} x {n} float32 on {threads} thread{'s'[: threads > 1]} of {ctx.name}\n")
    timed = {name: _of_the_processor(case) for name, case in cases.items()} if threads == 1 else cases
    times = in_turns(timed, options.rounds or 30, pause=REST, warm_up=WARM_UP)
    lines: list[list[str]] = []
    for name, got in times.items():
        least, middle, _ = spread(got)
        lines.append([name, f"{1e3 * least:.1f}", f"{1e3 * middle:.1f}", f"{2e-9 * n**3 / least:.0f}"])
    table(("ms", "least", "median", "GFLOP/s"), lines)
    ours, theirs = (spread(got) for got in times.values())
    print(Target("of BLAS's speed, least times", theirs[0] / ours[0], 0.7, "", at_least=True))
    print(Target("of BLAS's speed, medians", theirs[1] / ours[1], 0.7, "", at_least=True), "\n")


def _has_wide_vectors() -> bool:
    """Whether the processor has AVX-512, as NumPy found."""
    found: Any = np.show_config(mode="dicts")
    return any(name in ("X86_V4", "AVX512_SKX") for name in found["SIMD Extensions"]["found"])


def _of_the_processor(case: Callable[[], None]) -> Callable[[], float]:
    def timed() -> float:
        start = time.process_time()
        case()
        return time.process_time() - start

    return timed
