"""What is written with ``weft.gpu``'s warps, blocks and atomics beside torch, Triton and CuPy.

The kernels are those of ``examples``. All is measured by events of one stream, in turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from examples.block_sum import Sum
from examples.histogram import histogram
from examples.softmax import softmax
from examples.transpose import transpose

from benchmarks.measure import in_turns, module, table, torch_on_gpu
from weft.gpu.host import DeviceContext

Case = Callable[[], Any]


def run(options: argparse.Namespace) -> None:
    print("## The GPU library\n")
    torch = torch_on_gpu()
    if torch is None:
        return
    bench = Library(DeviceContext(api="cuda"), torch, options.rounds or 15)
    print(f"{bench.ctx.name}\n")
    every = "sum,softmax,transpose,histogram"
    for name in (options.kernels or every).split(","):
        getattr(bench, name)()


class Library:
    """One GPU and the peers that are there."""

    def __init__(self, ctx: DeviceContext, torch: Any, rounds: int) -> None:
        self.ctx, self.torch, self.rounds = ctx, torch, rounds
        self.cupy: Any = module("cupy")
        self.triton: Any = module("benchmarks.peers.library_triton")

    def compare(
        self,
        title: str,
        cases: dict[str, Case],
        right: Callable[[str], bool],
        *,
        work: float,
        unit: str,
        calls: int = 5,
    ) -> None:
        """Check what each case makes, then measure them in turns; ``work`` is a call's, in ``unit``."""
        torch = self.torch
        for name, case in cases.items():
            case()
            torch.cuda.synchronize()
            assert right(name), f"{title}: {name} is wrong"

        def timed(case: Case) -> float:
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            case()
            begin.record()
            for _ in range(calls):
                case()
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) / (1e3 * calls)

        times = in_turns({name: lambda c=case: timed(c) for name, case in cases.items()}, self.rounds)
        middle = {name: statistics.median(got) for name, got in times.items()}
        print(title)
        rows = [
            [name, f"{1e3 * min(times[name]):.4f}", f"{1e3 * took:.4f}", f"{work / took:.0f}"]
            for name, took in middle.items()
        ]
        table(("", "least ms", "median", unit), rows)

    def sum(self) -> None:
        torch, n = self.torch, 1 << 28
        x = torch.rand(n, device="cuda")
        exact = x.double().sum().item()
        found: dict[str, Any] = {}
        add = Sum(self.ctx)
        cases: dict[str, Case] = {
            "weft, by blocks": lambda: add.by_blocks(x, n),
            "weft, by warps": lambda: add.by_warps(x, n),
            "torch": lambda: found.update(torch=x.sum()),
        }
        if self.cupy is not None:
            own = self.cupy.from_dlpack(x)
            cases["CuPy"] = lambda: found.update(CuPy=own.sum())
        if self.triton is not None:
            steps, blocks, parts = 16, n // (16 * 8192), torch.empty(n // (16 * 8192), device="cuda")

            def triton() -> None:
                self.triton.add_all[(blocks,)](x, parts, n, steps, B=8192, num_warps=8)
                found["Triton"] = parts.sum()

            cases["Triton"] = triton

        def right(name: str) -> bool:
            if name.startswith("weft"):
                with add.total.map_to_host() as host:
                    return abs(float(host[0]) / exact - 1) < 1e-5
            return abs(float(found[name]) / exact - 1) < 1e-5

        self.compare("sum of 1 GiB of float32", cases, right, work=4 * n / 1e9, unit="GB/s")

    def softmax(self, size: int = 16384) -> None:
        torch = self.torch
        x = torch.randn(size, size, device="cuda") * 4
        out, kept = torch.empty_like(x), torch.softmax(x, dim=1)
        cases: dict[str, Case] = {
            "weft": lambda: softmax(self.ctx, x, out, size, size),
            "torch": lambda: torch.softmax(x, dim=1, out=out),
        }
        if self.triton is not None:
            cases["Triton"] = lambda: self.triton.softmax[(size,)](x, out, size, B=size, num_warps=32)

        def right(name: str) -> bool:
            close = torch.allclose(out, kept, rtol=1e-4, atol=1e-9)
            out.zero_()
            return close

        self.compare(
            f"softmax of {size} rows of {size} of float32", cases, right, work=8 * size**2 / 1e9, unit="GB/s"
        )

    def transpose(self, size: int = 16384) -> None:
        torch = self.torch
        x = torch.rand(size, size, device="cuda")
        out, kept = torch.empty_like(x), x.t().contiguous()
        cases: dict[str, Case] = {
            "weft": lambda: transpose(self.ctx, x, out, size, size),
            "torch": lambda: out.copy_(x.t()),
            "torch, copy without transposing": lambda: out.copy_(x),
        }
        if self.cupy is not None:
            own, made = self.cupy.from_dlpack(x), self.cupy.from_dlpack(out)
            cases["CuPy"] = lambda: self.cupy.copyto(made, own.T)

        def right(name: str) -> bool:
            same = torch.equal(out, x if "without" in name else kept)
            out.zero_()
            return same

        self.compare(
            f"transpose of {size} x {size} float32", cases, right, work=8 * size**2 / 1e9, unit="GB/s"
        )

    def histogram(self) -> None:
        torch, n = self.torch, 1 << 28
        x = torch.randint(0, 256, (n,), device="cuda", dtype=torch.uint8)
        counts = torch.zeros(256, device="cuda", dtype=torch.int32)
        kept = torch.bincount(x.int(), minlength=256)
        found: dict[str, Any] = {}
        unsigned = counts.view(torch.uint32)

        def ours() -> None:
            counts.zero_()
            histogram(self.ctx, x, n, unsigned)
            found["weft"] = counts

        cases: dict[str, Case] = {
            "weft": ours,
            "torch, histc of float32": lambda: found.update(
                {"torch, histc of float32": torch.histc(floats, 256, 0, 256)}
            ),
        }
        floats = x.float()
        if self.cupy is not None:
            own = self.cupy.from_dlpack(x)
            cases["CuPy, bincount"] = lambda: found.update(
                {"CuPy, bincount": self.cupy.bincount(own, minlength=256)}
            )

        def right(name: str) -> bool:
            return bool((torch.as_tensor(found[name], device="cuda").long() == kept).all())

        self.compare("histogram of 256 MiB", cases, right, work=n / 1e9, unit="GB/s", calls=2)
