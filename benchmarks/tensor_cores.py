"""Products of matrices by tensor cores beside cuBLAS, as torch calls it: BFloat16, 8192 along each axis."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from examples.hopper_matmul import prepared
from examples.matmul_mma import matmul

from benchmarks.kernels.products import launch_by_warpgroups
from benchmarks.measure import in_turns, table, torch_on_gpu
from weft.gpu.host import DeviceContext

SIZE = 8192


def run(options: argparse.Namespace) -> None:
    print("## Products of matrices by tensor cores\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    size = options.size or SIZE
    ctx = DeviceContext(api="cuda")
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.zeros(size, size, device="cuda")
    made, short = (torch.empty(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    right = (a @ b.T).float()
    cases: dict[str, Callable[[], Any]] = {"weft, mma.sync": lambda: matmul(ctx, a, b, short)}
    if ctx.info.target == "sm_90":
        cases["weft, wgmma"] = lambda: launch_by_warpgroups(ctx, a, b, out, bm=256, bn=128, stages=4)
        cases["weft, wgmma and TMA"] = prepared(ctx, a, b, short)
    for name, case in cases.items():
        out.zero_()
        short.zero_()
        case()
        torch.cuda.synchronize()
        error = ((out + short - right).norm() / right.norm()).item()
        assert error < 0.01, f"{name} is wrong: {error}"
    cases["cuBLAS"] = lambda: torch.matmul(a, b.T, out=made)

    def timed(case: Callable[[], Any]) -> float:
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        case()
        begin.record()
        for _ in range(5):
            case()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 5e3

    times = in_turns({name: lambda c=case: timed(c) for name, case in cases.items()}, options.rounds or 9)
    base = statistics.median(times["cuBLAS"])
    rows = [
        [
            name,
            f"{1e3 * statistics.median(got):.3f}",
            f"{2 * size**3 / statistics.median(got) / 1e12:.0f}",
            f"{base / statistics.median(got):.2f}",
        ]
        for name, got in times.items()
    ]
    print(f"{ctx.name}, {size} x {size} x {size}\n")
    table(("", "median ms", "TFLOP/s", "of cuBLAS"), rows)
