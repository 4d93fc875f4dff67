"""The Mandelbrot set twice: SIMD on the CPU, and a thread for each pixel. One function serves both.

Writes out/mandelbrot.png. Where the second runs on a GPU, which rounds a product and a sum once, some
points at the rim take another number of steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from weft import (
    SIMD,
    Bool,
    Comptime,
    Float32,
    Int,
    Int32,
    Tensor,
    accelerator,
    cpu,
    func,
    iota,
    kernel,
    struct,
)
from weft.gpu import global_idx
from weft.layout import LayoutTensor
from weft.tensor import Device

WIDTH, HEIGHT = 960, 640
LEFT, TOP, STEP = -2.0, -1.0, 3.0 / WIDTH
MAX_ITERS = 200
LANES = 8


@cache
def complex_simd(width: int):
    """The type of ``width`` complex numbers, which are computed with at once."""

    @struct
    class ComplexSIMD:
        re: SIMD[Float32, width]
        im: SIMD[Float32, width]

        def squared_norm(self) -> SIMD[Float32, width]:
            return self.re * self.re + self.im * self.im

        def squared_add(self, c: ComplexSIMD) -> ComplexSIMD:
            """The square, plus ``c``."""
            re = self.re * self.re - self.im * self.im + c.re
            return ComplexSIMD(re, 2.0 * self.re * self.im + c.im)

    return ComplexSIMD


@func
def escape(row: Int, col: Int, *, width: Comptime[int]):
    """After how many iterations ``width`` points, from that pixel on, leave the circle of radius 2."""
    number = complex_simd(width)
    x = LEFT + STEP * (col + iota(Int32, width)).cast(Float32)
    y = TOP + STEP * row.cast(Float32)
    c, z = number(x, Float32.splat(width, y)), number(Float32.splat(width), Float32.splat(width))

    iters = Int32.splat(width, 0)
    inside = Bool.splat(width, True)
    for _ in range(MAX_ITERS):
        if not inside.reduce_or():
            break
        inside = z.squared_norm() <= 4.0
        iters = inside.select(iters + 1, iters)
        z = z.squared_add(c)
    return iters


@kernel
def mandelbrot_simd(out: LayoutTensor[Int32], *, width: Comptime[int]):
    """For a launch over rows and groups of ``width`` pixels."""
    row, col = global_idx.y, global_idx.x * width
    out.store(row, col, value=escape(row, col, width=width))


@kernel
def mandelbrot_pixels(out: LayoutTensor[Int32]):
    """For a launch over the pixels."""
    row, col = global_idx.y, global_idx.x
    out[row, col] = escape(row, col, width=1)


def main() -> None:
    host, device = cpu(), accelerator()
    by_lanes = Tensor(Int32, (HEIGHT, WIDTH), host)
    by_pixel = Tensor(Int32, (HEIGHT, WIDTH), device)

    def with_lanes() -> None:
        host.context.enqueue_function(mandelbrot_simd, by_lanes, width=LANES, over=(HEIGHT, WIDTH // LANES))

    def with_pixels() -> None:
        device.context.enqueue_function(mandelbrot_pixels, by_pixel, over=(HEIGHT, WIDTH))

    print(f"{LANES} lanes, {host.name}: {milliseconds(host, with_lanes):.1f} ms")
    print(f"a thread per pixel, {device.name}: {milliseconds(device, with_pixels):.1f} ms")

    picture, other = by_lanes.numpy(), by_pixel.numpy()
    print(f"{np.mean(picture == other):.2%} of the pixels are the same")
    print(f"picture: {save(picture, Path('out'))}")


def milliseconds(device: Device, launch: Callable[[], None]) -> float:
    """The time of a launch, after one that compiles."""
    launch()
    device.context.synchronize()
    start = time.perf_counter()
    launch()
    device.context.synchronize()
    return (time.perf_counter() - start) * 1e3


def save(iters: npt.NDArray[np.int32], folder: Path) -> Path:
    """Colour the iterations; the set itself is black."""
    shade = np.sqrt(iters / MAX_ITERS)[..., None]
    colours = np.where(iters[..., None] == MAX_ITERS, 0, 255 * shade ** np.array([2.0, 1.0, 0.5]))
    folder.mkdir(exist_ok=True)
    path = folder / "mandelbrot.png"
    Image.fromarray(colours.astype(np.uint8)).save(path)
    return path


if __name__ == "__main__":
    main()
