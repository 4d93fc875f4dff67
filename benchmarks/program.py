"""A program of two hundred kernels: one after the other, together, by forks over cores, and by NVRTC.

``alone`` is one after the other, ``together`` what ``ctx.compile_functions`` does, ``forks`` what
``weft build`` does. Where there is a GPU, ``ready`` are these until its driver has assembled all.
Processor time is that of this process and of those that it has started; each case is a process of its own.
``python -m benchmarks.program CASE JOBS`` is one of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.measure import PEERS, process_environment, table, worker


def run(options: argparse.Namespace) -> None:
    from weft import has_accelerator
    from weft.config import processors

    print("## A program of 200 kernels, Python to PTX for sm_90, without a cache\n")
    counts = [n for n in (1, 2, 4, 8, 16) if n <= processors()]
    cases = [("alone", 1), *[("together", n) for n in counts if n != 4], *[("forks", n) for n in counts]]
    if has_accelerator():
        cases += [("ready alone", 1), ("ready together", counts[-1])]
    found: dict[tuple[str, int], list[dict[str, Any]]] = {case: [] for case in cases}
    for _ in range(options.rounds or 3):
        for case, jobs in cases:
            command = [sys.executable, "-m", "benchmarks.program", case, str(jobs)]
            made = worker(command, process_environment(CUDA_CACHE_DISABLE="1"))  # the driver's own
            print(made.missing, end="")
            found[case, jobs] += [made.data] if made.data else []
    digests = {each["digest"] for got in found.values() for each in got if each["digest"]}
    print(f"{'the same code' if len(digests) == 1 else 'OTHER CODE'} in all cases\n")
    rows: list[list[str]] = []
    for (case, jobs), got in found.items():
        best = min(got, key=lambda each: each["wall"])
        numbers = [f"{best['wall']:.2f}", f"{best['cpu']:.2f}", f"{best['memory']:.0f}"]
        first = found["ready alone" if case.startswith("ready") else "alone", 1]
        slowest = min(each["wall"] for each in first)
        rows.append([f"{case}, {jobs}", *numbers, f"{slowest / best['wall']:.2f}"])
    nvrtc = [options.peer_python, PEERS / "compile_program_nvrtc.py"]
    for name, words in (("each a program", ("alone", "10")), ("one program", ("together", "1"))):
        peer = worker([*nvrtc, *words], process_environment())
        if peer.missing:
            print(f"NVRTC: {peer.missing}")
            continue
        scale = 200 / peer.data["kernels"]  # of those alone, every tenth
        numbers = [f"{peer.data[each] * scale:.2f}" for each in ("wall", "cpu")]
        rows.append([f"{peer.data['version']}, {name}", *numbers, f"{peer.data['memory']:.0f}"])
    table(("case, workers", "seconds", "processor", "MiB", "faster"), rows)
    print("Milliseconds of all kernels, one after the other, and with helpers elaborated once")
    alone, together = (_stages(found[case, 1]) for case in ("alone", "together"))
    whole = sum(alone.values())
    rows = [
        [s, f"{alone[s]:.0f}", f"{together[s]:.0f}", f"{100 * alone[s] / whole:.0f} %"]
        for s in alone
        if alone[s] >= 1
    ]
    rows.append(["all", f"{whole:.0f}", f"{sum(together.values()):.0f}", "100 %"])
    table(("stage", "alone", "together", "of alone"), rows)


def _stages(found: list[dict[str, Any]]) -> dict[str, float]:
    """By stage the least milliseconds of some runs."""
    from weft.build.report import STAGES

    return {s: min(each["stages"].get(s, 0.0) for each in found) for s in STAGES}


def _alone(instances: list[Any], _: int) -> list[bytes]:
    from weft.compiler.cache import compile_kernels

    return [compile_kernels([instance], "sm_90").code for instance in instances]


def _together(instances: list[Any], jobs: int) -> list[bytes]:
    from weft.compiler.cache.program import Together
    from weft.targets import find_target

    with Together(find_target("sm_90"), jobs, lambda artifact: artifact) as together:
        pending = [together.begin(instance) for instance in instances]
    return [each.result().code for each in pending]


def _forks(instances: list[Any], jobs: int) -> list[bytes]:
    from weft.build.compiled import compiled
    from weft.build.plan import Item
    from weft.targets import find_target

    items = [Item(str(n), instance, find_target("sm_90")) for n, instance in enumerate(instances)]
    outcomes = compiled(items, jobs, str)
    return [each.artifact.code for each in outcomes if each.artifact is not None]


def _ready(_: list[Any], jobs: int) -> list[bytes]:
    from benchmarks.kernels.program import kernels
    from weft.gpu.host import DeviceContext

    ctx = DeviceContext(api="cuda")
    if jobs > 1:
        ctx.compile_functions(kernels(), jobs=jobs)
    else:
        for kernel in kernels():
            ctx.compile_function(kernel)
    return []


def main() -> None:
    import resource

    from benchmarks.kernels.program import kernels
    from weft import config
    from weft.compiler.frontend.options import CompileOptions
    from weft.compiler.llvm import workers
    from weft.compiler.pipeline import Instance
    from weft.diagnostics.timed import noted, own_times
    from weft.launch.ahead import specs_ahead

    warnings.simplefilter("ignore")
    cases: dict[str, Callable[[list[Any], int], list[bytes]]] = {
        "alone": _alone,
        "together": _together,
        "forks": _forks,
    }
    cases |= {"ready alone": _ready, "ready together": _ready}
    instances: list[Any] = []
    for kernel in kernels():
        specs = specs_ahead(kernel)
        assert specs is not None
        instances.append(Instance(kernel, specs.by_name, CompileOptions(distinct=True)))
    with tempfile.TemporaryDirectory() as folder, config.scope(cache_dir=folder):
        before, start = os.times(), time.perf_counter()
        with noted() as spans:
            made = cases[sys.argv[1]](instances, int(sys.argv[2]))
        wall = time.perf_counter() - start
    workers._pool.end()  # pyright: ignore[reportPrivateUsage]
    after = os.times()
    usage = [
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    digest = hashlib.sha256(b"".join(made)).hexdigest() if made else ""
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": sum(after[:4]) - sum(before[:4]),
                "memory": sum(usage),
                "digest": digest,
                "stages": {s: 1e3 * each for s, each in own_times(list(spans)).items()},
            }
        )
    )


if __name__ == "__main__":
    main()
