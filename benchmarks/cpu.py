"""weft's CPU device beside Numba and NumPy: the same arrays, in turns, results compared."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.kernels import pictures
from benchmarks.measure import REST, Target, in_turns, module, process_environment, spread, table, worker
from weft import Float32, Tensor
from weft.gpu.host import DeviceContext
from weft.math import ceildiv

Array = npt.NDArray[np.float32]
Case = Callable[[], None]


@dataclass
class Work:
    """A job, the ways to do it, and where each leaves its result."""

    title: str
    cases: dict[str, tuple[Case, Callable[[], Array]]]
    expected: Array
    amount: float
    unit: str
    judged: bool
    """Whether weft must not be slower than the peers."""


def run(options: argparse.Namespace) -> None:
    size = options.size or 4096
    ctx = DeviceContext(api="cpu")
    numba = _numba()
    peers = "NumPy " + np.__version__
    peers += ", Numba: not installed" if numba is None else f", Numba {module('numba').__version__}"
    print(f"## CPU: {ctx.name}; {peers}\n")
    rng = np.random.default_rng(1)
    pixels = rng.uniform(0, 255, (size, size, 3)).astype(np.float32)
    image = Tensor.from_numpy(pixels, ctx)
    for work in (
        _grayscale(ctx, pixels, image, numba),
        _downsample(ctx, pixels, image, numba),
        _vadd(ctx, rng, numba, size),
        _matmul(ctx, rng, numba, size // 8),
    ):
        _measure(work, options.rounds or 15)
    found = [
        worker([sys.executable, "-m", "benchmarks.queue_worker"], process_environment()) for _ in range(5)
    ]
    for name in ("blocks", "over"):
        least = min(figures.data[name] for figures in found)
        print(Target(f"a launch queued, {name}", least, 15, "µs of the processor"))


def _measure(work: Work, rounds: int) -> None:
    for name, (case, result) in work.cases.items():
        case()
        assert np.allclose(result(), work.expected, rtol=1e-4, atol=1e-3), f"{work.title}: {name} is wrong"
    times = in_turns({name: case for name, (case, _) in work.cases.items()}, rounds, pause=REST)
    medians = {name: statistics.median(got) for name, got in times.items()}
    peers = [name for name in times if not name.startswith("weft")]
    best = min(peers, key=lambda name: medians[name])
    rows: list[list[str]] = []
    for name, got in times.items():
        ratio = statistics.median(a / b for a, b in zip(got, times[best], strict=True))
        least, middle, most = (f"{1e3 * t:.2f}" for t in spread(got))
        rows.append([name, least, middle, most, f"{work.amount / medians[name] / 1e9:.1f}", f"{ratio:.2f}"])
    print(work.title)
    table(("", "least ms", "median", "most", work.unit, f"time / {best}"), rows)
    if not work.judged:
        return
    for name in times:
        if name.startswith("weft, over="):
            for peer in peers:
                ratio = statistics.median(a / b for a, b in zip(times[name], times[peer], strict=True))
                verdict = "reached" if ratio <= 1.0 else "MISSED"
                print(f"{verdict:8} {name}: {ratio:.2f} of the time of {peer}")
    print()


def _launch(ctx: DeviceContext, kernel: Any, *args: Any, **how: Any) -> Case:
    def case() -> None:
        ctx.enqueue_function(kernel, *args, **how)
        ctx.synchronize()

    return case


def _grayscale(ctx: DeviceContext, pixels: Array, image: Tensor[Any], numba: Any) -> Work:
    height, width, _ = pixels.shape
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    outs = [Tensor(Float32, (height, width), ctx) for _ in range(2)]
    product = np.empty((height, width), np.float32)
    total = np.empty((height, width), np.float32)
    grid = (ceildiv(width, 32), ceildiv(height, 32))
    cases: dict[str, tuple[Case, Callable[[], Array]]] = {
        "weft, over=": (
            _launch(ctx, pictures.grayscale_over, image, outs[0], over=(height, width)),
            outs[0].numpy,
        ),
        "weft, blocks of 32 x 32": (
            _launch(
                ctx, pictures.grayscale, width, height, image, outs[1], grid_dim=grid, block_dim=(32, 32)
            ),
            outs[1].numpy,
        ),
    }
    if numba is not None:
        loops = np.empty((height, width), np.float32)
        cases["Numba, parallel=True"] = (lambda: numba.grayscale(pixels, loops), lambda: loops)

    def matmul() -> None:
        np.matmul(pixels, weights, out=product)

    def channels() -> None:
        np.multiply(pixels[..., 0], np.float32(0.299), out=total)
        np.add(total, np.float32(0.587) * pixels[..., 1], out=total)
        np.add(total, np.float32(0.114) * pixels[..., 2], out=total)

    cases["NumPy, image @ weights"] = (matmul, lambda: product)
    cases["NumPy, channel by channel"] = (channels, lambda: total)
    expected = (pixels.astype(np.float64) @ weights).astype(np.float32)
    title = f"Grayscale of {height} x {width} float32 RGB"
    return Work(title, cases, expected, height * width * 16, "GB/s", True)


def _downsample(ctx: DeviceContext, pixels: Array, image: Tensor[Any], numba: Any) -> Work:
    height, width, channels = pixels.shape[0] // 2, pixels.shape[1] // 2, 3
    shape = (height, width, channels)
    outs = [Tensor(Float32, shape, ctx) for _ in range(3)]
    mean, slices = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def blocks(out: Tensor[Any], x: int, y: int, z: int) -> tuple[Case, Callable[[], Array]]:
        grid = (ceildiv(width, x), ceildiv(height, y), ceildiv(channels, z))
        values = (width, height, channels, image, out)
        launch = _launch(ctx, pictures.downsample, *values, factor=2, grid_dim=grid, block_dim=(x, y, z))
        return launch, out.numpy

    cases: dict[str, tuple[Case, Callable[[], Array]]] = {
        "weft, over=": (
            _launch(ctx, pictures.downsample_over, image, outs[0], factor=2, over=shape),
            outs[0].numpy,
        ),
        "weft, blocks of 32 x 8 x 1": blocks(outs[1], 32, 8, 1),
        "weft, blocks of 1 x 1 x 3": blocks(outs[2], 1, 1, 3),
    }
    if numba is not None:
        loops = np.empty(shape, np.float32)
        cases["Numba, parallel=True"] = (lambda: numba.downsample(pixels, loops), lambda: loops)
    squares = pixels.reshape(height, 2, width, 2, channels)

    def by_mean() -> None:
        squares.mean(axis=(1, 3), out=mean)

    def by_slices() -> None:
        np.add(pixels[::2, ::2], pixels[::2, 1::2], out=slices)
        np.add(slices, pixels[1::2, ::2], out=slices)
        np.add(slices, pixels[1::2, 1::2], out=slices)
        np.multiply(slices, np.float32(0.25), out=slices)

    cases["NumPy, mean"] = (by_mean, lambda: mean)
    cases["NumPy, sum of slices"] = (by_slices, lambda: slices)
    expected = squares.mean(axis=(1, 3), dtype=np.float64).astype(np.float32)
    title = f"Downsampling by 2 of {2 * height} x {2 * width} float32 RGB"
    return Work(title, cases, expected, height * width * 4 * 15, "GB/s", True)


def _vadd(ctx: DeviceContext, rng: np.random.Generator, numba: Any, size: int) -> Work:
    n = size * size
    a, b = (rng.uniform(-1, 1, n).astype(np.float32) for _ in range(2))
    ours = [Tensor.from_numpy(x, ctx) for x in (a, b)]
    over, blocks = Tensor(Float32, n, ctx), ctx.enqueue_create_buffer(Float32, n)
    buffers = [t.storage for t in ours]
    summed = np.empty(n, np.float32)
    copied = np.empty(n, np.float32)

    def read() -> Array:
        ctx.enqueue_copy(dst=copied, src=blocks)
        ctx.synchronize()
        return copied

    grid = ceildiv(n, 256)
    cases: dict[str, tuple[Case, Callable[[], Array]]] = {
        "weft, over=": (_launch(ctx, pictures.add_over, *ours, over, over=n), over.numpy),
        "weft, blocks of 256": (
            _launch(ctx, pictures.vector_addition, *buffers, blocks, n, grid_dim=grid, block_dim=256),
            read,
        ),
    }
    if numba is not None:
        loops = np.empty(n, np.float32)
        cases["Numba, parallel=True"] = (lambda: numba.vadd(a, b, loops), lambda: loops)

    def add() -> None:
        np.add(a, b, out=summed)

    cases["NumPy, a + b"] = (add, lambda: summed)
    return Work(f"Vector addition of {n} float32", cases, a + b, n * 12, "GB/s", False)


def _matmul(ctx: DeviceContext, rng: np.random.Generator, numba: Any, n: int) -> Work:
    a, b = (rng.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    out = Tensor(Float32, (n, n), ctx)
    ours = [Tensor.from_numpy(x, ctx) for x in (a, b)]
    product = np.empty((n, n), np.float32)
    cases: dict[str, tuple[Case, Callable[[], Array]]] = {
        "weft, over=": (_launch(ctx, pictures.matmul_over, *ours, out, n, over=(n, n)), out.numpy),
    }
    if numba is not None:
        loops = np.empty((n, n), np.float32)
        cases["Numba, parallel=True"] = (lambda: numba.matmul(a, b, loops), lambda: loops)

    def matmul() -> None:
        np.matmul(a, b, out=product)

    cases["NumPy, a @ b (BLAS)"] = (matmul, lambda: product)
    return Work(f"Matrix product, naive, {n} x {n} float32", cases, a @ b, 2.0 * n**3, "GFLOP/s", False)


def _numba() -> Any:
    """The peers' loops, or None without Numba."""
    return None if module("numba") is None else module("benchmarks.peers.cpu_numba")
