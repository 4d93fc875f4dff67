"""Compiles the seven kernels with weft, in this process; prints the times as JSON."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.compile_time import NAMES
from weft import __version__, config
from weft.compile import compile_info
from weft.layout import Layout

SOURCE = Path(__file__).parent / "kernels" / "seven.py"
IMAGE, PICTURE, SMALL = Layout.row_major(512, 512, 3), Layout.row_major(512, 512), Layout.row_major(256, 256)
OPEN: dict[str, dict[str, Any]] = {
    "gray": {"image": IMAGE, "out": PICTURE},
    "box": {"picture": PICTURE, "small": SMALL, "factor": 2},
}
"""What a launch would tell the compiler: the layouts, and compile-time values."""

_numbers = itertools.count()


def fresh() -> ModuleType:
    """The kernels' file, executed anew: none of its functions was ever compiled."""
    spec = importlib.util.spec_from_file_location(f"seven_{next(_numbers)}", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def compile_one(module: ModuleType, name: str) -> dict[str, float]:
    """Milliseconds by stage, of the wall and of the processor; what no stage counts is ``other``."""
    kernel = getattr(module, name)
    with tempfile.TemporaryDirectory() as folder, config.scope(cache_dir=folder):
        start, processor = time.perf_counter(), time.process_time()
        info = compile_info(kernel, target="sm_90", **OPEN.get(name, {}))
        wall, cpu = time.perf_counter() - start, time.process_time() - processor
    assert f".entry {name}" in str(info)
    times = dict(info.times)
    return {
        "wall": wall * 1e3,
        "cpu": cpu * 1e3,
        **times,
        "other": wall * 1e3 - sum(times.values()),
    }


def main() -> None:
    compile_one(fresh(), "scale")
    passes: list[dict[str, dict[str, float]]] = []
    for _ in range(int(sys.argv[1])):
        module = fresh()
        passes.append({name: compile_one(module, name) for name in NAMES})
    print(json.dumps({"version": f"weft {__version__}", "passes": passes}))


if __name__ == "__main__":
    main()
