"""What calls of ``weft.kernels`` cost the host beside torch's, and whether calls keep the GPU busy.

Host time is a call's share of some that follow one another, with arrays so small that the GPU keeps up. The
second table has larger arrays: the time of some calls in a row, over that of the same in a graph.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measure import in_turns, table, torch_on_gpu

Case = Callable[[], Any]
_CALLS = 50
"""In a row: fewer than the driver queues before it waits."""


def run(options: argparse.Namespace) -> None:
    print("## Calls of ready kernels\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    rounds = options.rounds or 25
    chosen = [name for name in options.kernels.split(",") if name]
    _host(torch, small(torch), rounds, chosen)
    _whole(torch, large(torch), rounds, chosen)


def _host(torch: Any, works: dict[str, tuple[Case, Case]], rounds: int, chosen: list[str]) -> None:
    print(f"Host time per call, µs ({_CALLS} calls in a row):")
    rows: list[list[str]] = []
    for name, (ours, theirs) in works.items():
        if chosen and name not in chosen:
            continue

        def timed(case: Case) -> float:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(_CALLS):
                case()
            took = time.perf_counter() - begin
            torch.cuda.synchronize()
            return took / _CALLS

        cases = {"weft": partial(timed, ours), "torch": partial(timed, theirs)}
        got = in_turns(cases, rounds, warm_up=3)
        shown = [
            f"{1e6 * of(got[peer]):.1f}" for of in (min, statistics.median) for peer in ("weft", "torch")
        ]
        rows.append([name, *shown])
    table(("", "weft least", "torch least", "weft median", "torch median"), rows)


def _whole(torch: Any, works: dict[str, Case], rounds: int, chosen: list[str]) -> None:
    print("Ten calls in a row over ten in a graph:")
    rows: list[list[str]] = []
    for name, case in works.items():
        if chosen and name not in chosen:
            continue
        case()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(10):
                case()

        def timed(work: Case) -> float:
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            torch.cuda.synchronize()
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) / 1e4

        def ten(case: Case = case) -> None:
            for _ in range(10):
                case()

        got = in_turns(
            {"calls": lambda ten=ten: timed(ten), "graph": lambda g=graph: timed(g.replay)}, rounds
        )
        calls, kernels = (statistics.median(got[way]) for way in ("calls", "graph"))
        rows.append([name, f"{1e6 * calls:.1f}", f"{1e6 * kernels:.1f}", f"{calls / kernels:.3f}"])
    table(("", "calls µs", "graph µs", "ratio"), rows)


def small(torch: Any) -> dict[str, tuple[Case, Case]]:
    """Calls that are all host time: weft's and torch's, by name."""
    kernels: Any = importlib.import_module("weft.kernels")
    x = torch.randn(256, 1024, device="cuda")
    weight, bias = torch.randn(2, 1024, device="cuda")
    half = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(1, 8, 512, 128, device="cuda", dtype=torch.bfloat16)
    places = torch.randint(0, 256, (512,), device="cuda")
    out = torch.empty_like(x)
    dot = torch.nn.functional.scaled_dot_product_attention
    return {
        "softmax": (lambda: kernels.softmax(x), lambda: torch.softmax(x, -1)),
        "softmax, out=": (lambda: kernels.softmax(x, out=out), lambda: torch.softmax(x, -1, out=out)),
        "sum": (lambda: kernels.sum(x, -1), lambda: torch.sum(x, -1)),
        "argmax": (lambda: kernels.argmax(x, -1), lambda: torch.argmax(x, -1)),
        "layer_norm": (
            lambda: kernels.layer_norm(x, weight, bias),
            lambda: torch.nn.functional.layer_norm(x, (1024,), weight, bias),
        ),
        "cumsum": (lambda: kernels.cumsum(x.view(-1)), lambda: torch.cumsum(x.view(-1), 0)),
        "sort": (lambda: kernels.sort(x), lambda: torch.sort(x)),
        "transpose": (lambda: kernels.transpose(x), lambda: x.T.contiguous()),
        "gemv": (lambda: kernels.gemv(x, weight), lambda: torch.mv(x, weight)),
        "embedding": (
            lambda: kernels.embedding(places, x),
            lambda: torch.nn.functional.embedding(places, x),
        ),
        "matmul bf16": (lambda: kernels.matmul(half, half), lambda: torch.matmul(half, half)),
        "matmul fp32": (lambda: kernels.matmul(x, x.T), lambda: torch.matmul(x, x.T)),
        "attention bf16": (lambda: kernels.attention(q, q, q), lambda: dot(q, q, q)),
    }


def large(torch: Any) -> dict[str, Case]:
    """Calls of 0.1 ms and more, by name."""
    kernels: Any = importlib.import_module("weft.kernels")
    x = torch.randn(4096, 8192, device="cuda")
    half = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(1, 32, 128, device="cuda", dtype=torch.bfloat16)
    cache = torch.randn(2, 1, 8, 131072, 128, device="cuda", dtype=torch.bfloat16)
    return {
        "softmax": lambda: kernels.softmax(x),
        "sum": lambda: kernels.sum(x),
        "matmul bf16": lambda: kernels.matmul(half, half),
        "decode attention": lambda: kernels.decode_attention(q, cache[0], cache[1]),
    }
