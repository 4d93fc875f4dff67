"""weft on an NVIDIA GPU beside torch, Triton, CuPy and CUDA C++, all in one process and in turns.

A time is that of many launches in a row, then one wait, divided by their number. Peers that are not
installed are left out; everybody's results are compared with torch's or NumPy's.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.kernels import pictures
from benchmarks.launches import first_launches, launches
from benchmarks.measure import PEERS, Target, in_turns, module, spread, table
from weft import Float32
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.math import ceildiv

Case = Callable[[], None]
Array = npt.NDArray[np.float32]


def run(options: argparse.Namespace) -> None:
    print("## GPU\n")
    if not DeviceContext.number_of_devices(api="cuda"):
        print("not measured: there is no NVIDIA GPU\n")
        return
    launches(options.rounds or 7)  # before this process has a context, which would slow the others
    first_launches(options.rounds or 5)
    bench = Gpu(DeviceContext(api="cuda"), options.size or 8192, options.rounds or 7)
    bench.describe()
    ceiling = bench.copy()
    bench.grayscale(ceiling)
    bench.downsample(ceiling)


class Gpu:
    """One GPU, its picture, and the peers that are here."""

    def __init__(self, ctx: DeviceContext, size: int, rounds: int) -> None:
        self.ctx, self.size, self.rounds = ctx, size, rounds
        torch = module("torch")
        self.torch: Any = torch if torch is not None and torch.cuda.is_available() else None
        self.triton: Any = None if self.torch is None else module("benchmarks.peers.gpu_triton")
        self.cupy: Any = module("cupy")
        source = (PEERS / "pictures.cu").read_text(encoding="utf-8")
        self.cuda: Any = None if self.cupy is None else self.cupy.RawModule(code=source)
        self.pixels = np.random.default_rng(1).uniform(0, 255, (size, size, 3)).astype(np.float32)
        self.image: Any = ctx.enqueue_create_buffer(Float32, self.pixels.size)
        ctx.enqueue_copy(dst=self.image, src=self.pixels.reshape(-1))
        ctx.synchronize()
        self.torch_image: Any = None if self.torch is None else self.torch.from_numpy(self.pixels).cuda()
        self.cupy_image: Any = None if self.cupy is None else self.cupy.asarray(self.pixels)

    def describe(self) -> None:
        found = {"torch": self.torch, "triton": self.triton and module("triton"), "cupy": self.cupy}
        found["cuda.core"] = module("cuda.core")
        versions = [
            f"{n} {getattr(m, '__version__', '') if m else 'not installed'}" for n, m in found.items()
        ]
        nvcc = "found" if shutil.which("nvcc") else "not installed"
        print(f"{self.ctx.name}; {', '.join(versions)}, nvcc {nvcc}\n")

    # -- how things are timed -------------------------------------------------------------------
    def wait(self) -> None:
        self.ctx.synchronize()
        if self.torch is not None:
            self.torch.cuda.synchronize()
        if self.cupy is not None:
            self.cupy.cuda.Device().synchronize()

    def in_a_row(self, case: Case, count: int) -> Callable[[], float]:
        """Seconds of one of ``count`` launches in a row, the wait at the end included."""

        def timed() -> float:
            self.wait()
            start = time.perf_counter()
            for _ in range(count):
                case()
            self.wait()
            return (time.perf_counter() - start) / count

        return timed

    def bandwidth(
        self, title: str, cases: dict[str, Case], nbytes: float, ceiling: float | None, count: int = 50
    ) -> dict[str, float]:
        """Measure and print gigabytes a second; the medians."""
        timed = {name: self.in_a_row(case, 5 if "1 x 1" in name else count) for name, case in cases.items()}
        times = in_turns(timed, self.rounds)
        rates = {name: nbytes / statistics.median(got) / 1e9 for name, got in times.items()}
        rows: list[list[str]] = []
        for name, got in times.items():
            row = [name, *(f"{1e6 * t:.1f}" for t in spread(got)), f"{rates[name]:.0f}"]
            rows.append(row if ceiling is None else [*row, f"{100 * rates[name] / ceiling:.1f} %"])
        print(title)
        head = ("", "least µs", "median", "most", "GB/s")
        table(head if ceiling is None else (*head, "of copy"), rows)
        return rates

    def check(self, name: str, got: Any, expected: Array) -> None:
        array = got.get() if hasattr(got, "get") else got.cpu().numpy() if hasattr(got, "cpu") else got
        assert np.allclose(array, expected, rtol=1e-4, atol=1e-3), f"{name} is wrong"

    def read(self, buffer: Any, shape: tuple[int, ...]) -> Array:
        made = np.empty(shape, np.float32)
        self.ctx.enqueue_copy(dst=made.reshape(-1), src=buffer)
        self.ctx.synchronize()
        return made

    # -- the rows of the table ------------------------------------------------------------------
    def copy(self) -> float:
        """Copy 4 GiB; the best rate is the ceiling of what follows."""
        n = 1 << 30
        cases: dict[str, Case] = {}
        src: Any = self.ctx.enqueue_create_buffer(Float32, n)
        dst: Any = self.ctx.enqueue_create_buffer(Float32, n)
        src.enqueue_fill(1.0)
        cases["weft, enqueue_copy"] = lambda: self.ctx.enqueue_copy(dst=dst, src=src)
        pair: list[Any] = []
        if self.torch is not None:
            pair = [self.torch.ones(n, device="cuda") for _ in range(2)]
            cases["torch, copy_"] = lambda: pair[1].copy_(pair[0])
        rates = self.bandwidth("Copy of 4 GiB, bytes read and written", cases, 8.0 * n, None, 10)
        del cases
        src.close()
        dst.close()
        pair.clear()
        if self.torch is not None:
            self.torch.cuda.empty_cache()
        return max(rates.values())

    def grayscale(self, ceiling: float) -> None:
        ctx, size = self.ctx, self.size
        shape = (size, size)
        picture = self.image.tensor(Layout.row_major(size, size, 3))
        outs: list[Any] = [ctx.enqueue_create_buffer(Float32, size * size) for _ in range(2)]
        views = [o.tensor(Layout.row_major(size, size)) for o in outs]
        squares = (ceildiv(size, 32), ceildiv(size, 32))

        def blocks() -> None:
            ctx.enqueue_function(
                pictures.grayscale, size, size, picture, views[1], grid_dim=squares, block_dim=(32, 32)
            )

        cases: dict[str, Case] = {
            "weft, over=": lambda: ctx.enqueue_function(
                pictures.grayscale_over, picture, views[0], over=shape
            ),
            "weft, blocks of 32 x 32": blocks,
        }
        results: dict[str, Callable[[], Any]] = {
            "weft, over=": lambda: self.read(outs[0], shape),
            "weft, blocks of 32 x 32": lambda: self.read(outs[1], shape),
        }
        if self.triton is not None:
            tout = self.torch.empty(shape, device="cuda")
            n = size * size

            def triton() -> None:
                self.triton.grayscale[(ceildiv(n, 1024),)](self.torch_image, tout, n, B=1024)

            cases["Triton"], results["Triton"] = triton, lambda: tout
        if self.torch is not None:
            image, eager = self.torch_image, self.torch.empty(shape, device="cuda")

            def in_torch() -> None:
                self.torch.add(
                    image[..., 0] * 0.299 + image[..., 1] * 0.587, image[..., 2], alpha=0.114, out=eager
                )

            cases["torch, eager"], results["torch, eager"] = in_torch, lambda: eager
        if self.cuda is not None:
            kernel, i32 = self.cuda.get_function("grayscale"), np.int32
            for x, y in ((32, 32), (256, 1)):
                made, name = self.cupy.empty(shape, np.float32), f"CUDA C++, blocks of {x} x {y}"
                grid, block = (ceildiv(size, x), ceildiv(size, y)), (x, y)
                arguments = (i32(size), i32(size), self.cupy_image, made)
                cases[name] = lambda g=grid, b=block, a=arguments: kernel(g, b, a)
                results[name] = lambda made=made: made
        expected = self.pixels @ np.array([0.299, 0.587, 0.114], np.float32)
        self.verify(cases, results, expected)
        title = f"Grayscale of {size} x {size} float32 RGB, 16 bytes a pixel"
        rates = self.bandwidth(title, cases, 16.0 * size * size, ceiling)
        print(Target("grayscale, over=", rates["weft, over="], 4200, "GB/s", at_least=True), "\n")

    def downsample(self, ceiling: float) -> None:
        ctx, half = self.ctx, self.size // 2
        shape = (half, half, 3)
        picture = self.image.tensor(Layout.row_major(self.size, self.size, 3))
        cases: dict[str, Case] = {}
        results: dict[str, Callable[[], Any]] = {}

        def ours() -> tuple[Any, Any]:
            buffer: Any = ctx.enqueue_create_buffer(Float32, half * half * 3)
            return buffer, buffer.tensor(Layout.row_major(*shape))

        buffer, view = ours()
        cases["weft, over="] = lambda: ctx.enqueue_function(
            pictures.downsample_over, picture, view, factor=2, over=shape
        )
        results["weft, over="] = lambda: self.read(buffer, shape)
        sizes = ((32, 8, 1), (1, 1, 3))
        for block in sizes:
            own, tensor = ours()
            grid = tuple(ceildiv(n, b) for n, b in zip((half, half, 3), block, strict=True))
            name = "weft, blocks of " + " x ".join(map(str, block))

            def blocks(g: Any = grid, b: Any = block, out: Any = tensor) -> None:
                ctx.enqueue_function(
                    pictures.downsample, half, half, 3, picture, out, factor=2, grid_dim=g, block_dim=b
                )

            cases[name] = blocks
            results[name] = lambda own=own: self.read(own, shape)
        if self.triton is not None:
            tout, n = self.torch.empty(shape, device="cuda"), half * half * 3

            def triton() -> None:
                self.triton.downsample[(ceildiv(n, 512),)](self.torch_image, tout, self.size, n, B=512)

            cases["Triton"], results["Triton"] = triton, lambda: tout
        if self.torch is not None:
            pool, planes = self.torch.nn.functional.avg_pool2d, self.torch_image.permute(2, 0, 1)[None]
            kept: list[Any] = [None]

            def in_torch() -> None:
                kept[0] = pool(planes, 2)

            cases["torch, avg_pool2d"] = in_torch
            results["torch, avg_pool2d"] = lambda: kept[0][0].permute(1, 2, 0)
        if self.cuda is not None:
            kernel, i32 = self.cuda.get_function("downsample"), np.int32
            for block in sizes:
                made, name = self.cupy.empty(shape, np.float32), "CUDA C++, " + " x ".join(map(str, block))
                grid = tuple(ceildiv(n, b) for n, b in zip((half, half, 3), block, strict=True))
                arguments = (i32(half), i32(half), i32(3), self.cupy_image, made)
                cases[name] = lambda g=grid, b=block, a=arguments: kernel(g, b, a)
                results[name] = lambda made=made: made
        expected = self.pixels.reshape(half, 2, half, 2, 3).mean(axis=(1, 3), dtype=np.float32)
        self.verify(cases, results, expected)
        title = f"Downsampling by 2 of {self.size} x {self.size} float32 RGB, 15 bytes an input pixel"
        rates = self.bandwidth(title, cases, 15.0 * self.size**2, ceiling)
        print(Target("downsample, over=", rates["weft, over="], 4150, "GB/s", at_least=True), "\n")

    def verify(self, cases: dict[str, Case], results: dict[str, Callable[[], Any]], expected: Array) -> None:
        for name, case in cases.items():
            case()
            self.wait()
            self.check(name, results[name](), expected)
