"""Run the benchmarks: all that this machine can, or those that are named."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence

from benchmarks.measure import describe_machine

BENCHMARKS = {
    "compile": "compile_time",
    "startup": "startup",
    "explorer": "explorer",
    "program": "program",
    "cpu": "cpu",
    "fourteen": "fourteen",
    "product": "product",
    "checked": "checked",
    "short": "short_launches",
    "gpu": "gpu",
    "algorithms": "algorithms",
    "tensor-cores": "tensor_cores",
    "library": "library",
    "kernels": "kernels_table",
    "calls": "calls",
    "tiles": "tiles",
    "odd": "odd_shapes",
    "everyday": "everyday",
    "untuned": "untuned",
    "devices": "devices",
}
"""Each module has a function ``run(options)``, which prints its tables."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--rounds", type=int, default=0, help="how often each case is measured")
    parser.add_argument(
        "--peer-python",
        default=sys.executable,
        metavar="PATH",
        help="a Python with NVRTC, Triton, llvmlite",
    )
    parser.add_argument("--size", type=int, default=0, help="pixels along each side of the pictures")
    parser.add_argument(
        "--kernels",
        default="",
        help="which of the fourteen, of the library's, or of the ready ones, with commas between them",
    )
    options = parser.parse_args(argv)
    unknown = [n for n in options.names if n not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    print(f"{time.strftime('%Y-%m-%d')}, {describe_machine()}\n")
    for name in options.names or BENCHMARKS:
        importlib.import_module(f"benchmarks.{BENCHMARKS[name]}").run(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
