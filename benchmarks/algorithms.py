"""``weft.algorithm`` beside torch, CuPy (whose reductions, scans and sorts are CUB's) and NumPy.

On a GPU a time is that of several calls in a row, then one wait, divided by their number; on a CPU that
of one call. Peers that are not installed are left out; results are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import in_turns, module, spread, table
from weft.algorithm import elementwise, reduce, scan, sort
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
Case = Callable[[], Any]


def run(options: argparse.Namespace) -> None:
    print("## Algorithms\n")
    for api in ("cpu", "cuda"):
        if DeviceContext.number_of_devices(api=api):
            bench = Algorithms(DeviceContext(api=api), options.rounds or 7)
            bench.elementwise()
            bench.sum()
            bench.scan()
            bench.sort()


def add(a: Any, b: Any) -> Any:
    return a + b


class Algorithms:
    """One device and the peers that have arrays there."""

    def __init__(self, ctx: DeviceContext, rounds: int) -> None:
        self.ctx, self.rounds, self.gpu = ctx, rounds, ctx.api == "cuda"
        torch = module("torch")
        self.torch: Any = torch if torch is not None and (not self.gpu or torch.cuda.is_available()) else None
        self.cupy: Any = module("cupy") if self.gpu else None
        self.n = 1 << (28 if self.gpu else 24)
        print(f"{ctx.name}, {self.n:,} elements\n")

    def wait(self) -> None:
        self.ctx.synchronize()
        if self.gpu and self.torch is not None:
            self.torch.cuda.synchronize()
        if self.cupy is not None:
            self.cupy.cuda.Device().synchronize()

    def ours(self, values: Array) -> Any:
        buffer: Any = self.ctx.enqueue_create_buffer(values.dtype, values.size)
        self.ctx.enqueue_copy(dst=buffer, src=values)
        return buffer

    def theirs(self, values: Array) -> tuple[Any, Any]:
        """The values as torch and CuPy have them, or None."""
        tensor = None if self.torch is None else self.torch.from_numpy(values)
        if tensor is not None and self.gpu:
            tensor = tensor.cuda()
        return tensor, None if self.cupy is None else self.cupy.asarray(values)

    def compare(
        self,
        title: str,
        cases: dict[str, Case],
        results: dict[str, Callable[[], Array]],
        right: Array,
        moved: int,
    ) -> None:
        """Check all against NumPy, then measure them in turns; ``moved`` are bytes read and written."""
        for name, case in cases.items():
            case()
            self.wait()
            assert np.allclose(results[name](), right, rtol=1e-4), f"{title}: {name} is wrong"
        for case in cases.values() if self.gpu else ():  # what launches is at hand then
            end = time.perf_counter() + 1
            while time.perf_counter() < end:
                case()
                self.wait()
        count = 10 if self.gpu else 1

        def timed(case: Case) -> float:
            self.wait()
            start = time.perf_counter()
            for _ in range(count):
                case()
            self.wait()
            return (time.perf_counter() - start) / count

        times = in_turns({name: lambda c=case: timed(c) for name, case in cases.items()}, self.rounds)
        print(title)
        rows = [
            [name, *(f"{1e3 * t:.3f}" for t in spread(got)), f"{moved / statistics.median(got) / 1e9:.0f}"]
            for name, got in times.items()
        ]
        table(("", "least ms", "median", "most", "GB/s"), rows)

    def read(self, buffer: Any) -> Array:
        made = np.empty(len(buffer), buffer.dtype.numpy)
        self.ctx.enqueue_copy(dst=made, src=buffer)
        self.ctx.synchronize()
        return made

    def floats(self) -> Array:
        return np.random.default_rng(1).random(self.n, np.float32)

    def elementwise(self) -> None:
        values, n = self.floats(), self.n
        x, y = self.ours(values), self.ours(values)

        def double(i: Any) -> None:
            y[i] = 2 * x[i] + 1

        cases: dict[str, Case] = {
            "weft": lambda: elementwise(double, n, context=self.ctx),
            "weft, simd_width=4": lambda: elementwise(wide, n, simd_width=4, context=self.ctx),
        }

        def wide(i: Any, *, width: Any) -> None:
            y.store(i, 2 * x.load(i, width=width) + 1)

        results: dict[str, Callable[[], Array]] = dict.fromkeys(cases, lambda: self.read(y))
        tensor, array = self.theirs(values)
        if tensor is not None:
            out = self.torch.empty_like(tensor)
            one = self.torch.ones((), device=tensor.device)
            cases["torch, add(out=)"] = lambda: self.torch.add(one, tensor, alpha=2, out=out)
            results["torch, add(out=)"] = lambda: out.cpu().numpy()
        if array is not None:
            made = self.cupy.empty_like(array)
            kernel = self.cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x + 1", "twice_and_one")
            cases["CuPy, ElementwiseKernel"] = lambda: kernel(array, made)
            results["CuPy, ElementwiseKernel"] = made.get
        self.compare("elementwise, float32: y = 2 x + 1", cases, results, 2 * values + 1, 8 * n)

    def sum(self) -> None:
        values = self.floats()
        x, out = self.ours(values), self.ours(np.zeros(1, np.float32))
        cases: dict[str, Case] = {"weft": lambda: reduce(add, x, out=out)}
        results: dict[str, Callable[[], Array]] = {"weft": lambda: self.read(out)}
        tensor, array = self.theirs(values)
        kept: dict[str, Any] = {}
        if tensor is not None:
            cases["torch, sum"] = lambda: kept.update(torch=tensor.sum())
            results["torch, sum"] = lambda: kept["torch"].cpu().numpy()
        if array is not None:
            cases["CuPy, sum"] = lambda: kept.update(cupy=array.sum())
            results["CuPy, sum"] = lambda: kept["cupy"].get()
        if not self.gpu:
            cases["NumPy, sum"] = lambda: kept.update(numpy=values.sum())
            results["NumPy, sum"] = lambda: kept["numpy"]
        self.compare("reduce, float32: sum", cases, results, values.sum(dtype=np.float64), 4 * self.n)

    def scan(self) -> None:
        values = np.random.default_rng(2).integers(-100, 100, self.n, np.int32)
        x, out = self.ours(values), self.ours(values)
        cases: dict[str, Case] = {"weft": lambda: scan(add, x, out)}
        results: dict[str, Callable[[], Array]] = {"weft": lambda: self.read(out)}
        tensor, array = self.theirs(values)
        if tensor is not None:
            made = self.torch.empty_like(tensor)
            cases["torch, cumsum"] = lambda: self.torch.cumsum(tensor, 0, dtype=tensor.dtype, out=made)
            results["torch, cumsum"] = lambda: made.cpu().numpy()
        if array is not None:
            own = self.cupy.empty_like(array)
            cases["CuPy, cumsum"] = lambda: self.cupy.cumsum(array, dtype=np.int32, out=own)
            results["CuPy, cumsum"] = own.get
        if not self.gpu:
            space = np.empty_like(values)
            cases["NumPy, cumsum"] = lambda: np.cumsum(values, dtype=np.int32, out=space)
            results["NumPy, cumsum"] = lambda: space
        self.compare(
            "scan, int32: running sums", cases, results, np.cumsum(values, dtype=np.int32), 8 * self.n
        )

    def sort(self) -> None:
        values = np.random.default_rng(3).integers(-(2**31), 2**31, self.n // 4, np.int32)
        x, keys = self.ours(values), self.ours(values)

        def fresh() -> None:
            self.ctx.enqueue_copy(dst=keys, src=x)
            sort(keys)

        cases: dict[str, Case] = {"weft, and a copy": fresh}
        results: dict[str, Callable[[], Array]] = {"weft, and a copy": lambda: self.read(keys)}
        tensor, array = self.theirs(values)
        kept: dict[str, Any] = {}
        if tensor is not None:
            cases["torch, sort"] = lambda: kept.update(torch=self.torch.sort(tensor)[0])
            results["torch, sort"] = lambda: kept["torch"].cpu().numpy()
        if array is not None:
            cases["CuPy, sort"] = lambda: kept.update(cupy=self.cupy.sort(array))
            results["CuPy, sort"] = lambda: kept["cupy"].get()
        if not self.gpu:
            cases["NumPy, sort"] = lambda: kept.update(numpy=np.sort(values))
            results["NumPy, sort"] = lambda: kept["numpy"]
        title = f"sort, {values.size:,} of int32"
        self.compare(title, cases, results, np.sort(values), 8 * values.size)
