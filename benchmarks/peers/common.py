"""What the peers' workers share. They run in any Python, which need not have weft."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

NAMES = ("vadd", "gray", "box", "mm_naive", "mm_tiled", "bsum", "softmax")


def missing(error: Exception) -> None:
    """Say that the peer is not installed, and end."""
    print(error, file=sys.stderr)
    sys.exit(3)


def run(version: str, fresh: Callable[[], Callable[[str], str]], names: tuple[str, ...] = NAMES) -> None:
    """Warm up with scale, then time passes over the kernels; ``fresh`` makes a compiler for a pass."""
    fresh()("scale")
    passes: list[dict[str, dict[str, float]]] = []
    for _ in range(int(sys.argv[1])):
        compile_one = fresh()
        times: dict[str, dict[str, float]] = {}
        for name in names:
            start, processor = time.perf_counter(), time.process_time()
            ptx = compile_one(name)
            wall, cpu = time.perf_counter() - start, time.process_time() - processor
            assert ".target sm_90" in ptx, name
            times[name] = {"wall": wall * 1e3, "cpu": cpu * 1e3}
        passes.append(times)
    print(json.dumps({"version": version, "passes": passes}))
