"""A photograph through two kernels: to grayscale, and to a half and a quarter of its size.

``python examples/demo.py [PHOTO]`` writes the pictures to out/ and checks each against NumPy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from downsample import downsample_over
from grayscale import grayscale_over
from PIL import Image

from weft import Float32, Tensor
from weft.gpu.host import DeviceContext

Picture = npt.NDArray[np.float32]
OUT = Path("out")


@dataclass
class Row:
    """One line of the table."""

    name: str
    result: Tensor[Float32]
    first: float
    """Milliseconds of the first launch, which compiles the kernel."""
    again: float
    """Milliseconds of a later one, at best."""
    expected: Picture

    @property
    def correct(self) -> bool:
        """Whether NumPy computes the same."""
        return bool(np.allclose(self.result.numpy(), self.expected, rtol=1e-5, atol=1e-3))

    def save(self) -> Path:
        """Write the picture."""
        path = OUT / f"{self.name.replace(' ', '_')}.png"
        Image.fromarray(self.result.numpy().round().astype(np.uint8)).save(path)
        return path


def main() -> int:
    photo = Path(sys.argv[1]) if len(sys.argv) > 1 else default_photo()
    if not photo.is_file():
        sys.exit(f"there is no photo {photo}")
    pixels: Picture = np.asarray(Image.open(photo).convert("RGB"), np.float32)
    height, width, _ = pixels.shape

    ctx = DeviceContext()
    image = Tensor.from_numpy(pixels, ctx)
    rows = [grayscale(ctx, image, pixels)]
    rows += [shrink(ctx, image, pixels, factor) for factor in (2, 4) if min(height, width) >= factor]

    print(f"photo   {photo}, {width} x {height} pixels")
    print(f"device  {ctx.name} (api {ctx.api})\n")
    print(f"{'picture':<17} {'size':<11} {'first launch':>12} {'then':>10}   {'NumPy says':<11} file")
    OUT.mkdir(exist_ok=True)
    for row in rows:
        size = f"{row.result.shape[1]} x {row.result.shape[0]}"
        verdict = "the same" if row.correct else "DIFFERENT"
        first, again = f"{row.first:.1f} ms", f"{row.again:.2f} ms"
        print(f"{row.name:<17} {size:<11} {first:>12} {again:>10}   {verdict:<11} {row.save()}")
    return 0 if all(row.correct for row in rows) else 1


def grayscale(ctx: DeviceContext, image: Tensor[Float32], pixels: Picture) -> Row:
    height, width, _ = image.shape
    out = Tensor(Float32, (height, width), ctx)
    times = timed(ctx, lambda: ctx.enqueue_function(grayscale_over, image, out, over=out.shape))
    expected = pixels.astype(np.float64) @ (0.299, 0.587, 0.114)
    return Row("grayscale", out, *times, expected.astype(np.float32))


def shrink(ctx: DeviceContext, image: Tensor[Float32], pixels: Picture, factor: int) -> Row:
    height, width, channels = image.shape[0] // factor, image.shape[1] // factor, image.shape[2]
    out = Tensor(Float32, (height, width, channels), ctx)
    times = timed(
        ctx, lambda: ctx.enqueue_function(downsample_over, image, out, factor=factor, over=out.shape)
    )
    whole = pixels[: height * factor, : width * factor]  # what fills squares; a rest at the edge is left
    expected = whole.reshape(height, factor, width, factor, channels).mean(axis=(1, 3))
    return Row(f"downsampled by {factor}", out, *times, expected)


def timed(ctx: DeviceContext, launch: Callable[[], None]) -> tuple[float, float]:
    """Milliseconds of the first launch, and of the best of ten more."""
    times: list[float] = []
    for _ in range(11):
        start = time.perf_counter()
        launch()
        ctx.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return times[0], min(times[1:])


def default_photo() -> Path:
    """The portrait of Grace Hopper that matplotlib ships (it need not be imported for that)."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        sys.exit("name a photo: python examples/demo.py PHOTO (the default one comes with matplotlib)")
    return Path(spec.origin).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg"


if __name__ == "__main__":
    sys.exit(main())
