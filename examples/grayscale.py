"""A colour picture to grayscale, a thread for each pixel, in two ways to say the same."""

from __future__ import annotations

import numpy as np

from weft import Float32, Int, Tensor, accelerator, cpu, kernel
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.layout import LayoutTensor
from weft.math import ceildiv

HEIGHT, WIDTH, CHANNELS = 512, 512, 3


@kernel
def grayscale(width: Int, height: Int, image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Grid and block are the launch's business, and the kernel guards the edge of the picture."""
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x

    if col < width and row < height:
        red = image[row, col, 0]
        green = image[row, col, 1]
        blue = image[row, col, 2]
        out[row, col] = 0.299 * red + 0.587 * green + 0.114 * blue


@kernel
def grayscale_over(image: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """For a launch over the pixels: only what is done with one."""
    row, col = global_idx.y, global_idx.x
    red, green, blue = image[row, col, 0], image[row, col, 1], image[row, col, 2]
    out[row, col] = 0.299 * red + 0.587 * green + 0.114 * blue


def main() -> None:
    pixels = np.random.default_rng(0).uniform(0, 255, (HEIGHT, WIDTH, CHANNELS)).astype(np.float32)
    expected = pixels @ np.array([0.299, 0.587, 0.114], np.float32)

    device = accelerator()
    image = Tensor.from_numpy(pixels).move_to(device)
    gray = Tensor(Float32, (HEIGHT, WIDTH), device)
    ctx = DeviceContext()

    block = Dim(32, 32)
    grid = Dim(ceildiv(WIDTH, block.x), ceildiv(HEIGHT, block.y))
    ctx.enqueue_function(grayscale, WIDTH, HEIGHT, image, gray, grid_dim=grid, block_dim=block)
    report("grid and block", np.allclose(gray.to(cpu()).numpy(), expected))

    gray.fill(0.0)
    ctx.enqueue_function(grayscale_over, image, gray, over=(HEIGHT, WIDTH))
    report("over=(height, width)", np.allclose(gray.to(cpu()).numpy(), expected))


def report(form: str, same: bool) -> None:
    print(f"{'✅' if same else '❌'} {form}: {'same as' if same else 'differs from'} NumPy")


if __name__ == "__main__":
    main()
