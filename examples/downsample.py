"""Shrink a picture by a factor that is known at compile time, so that the sums are unrolled."""

from __future__ import annotations

from weft import Comptime, Float32, Int, Tensor, accelerator, cpu, kernel
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.layout import LayoutTensor


@kernel
def downsample(
    width: Int,
    height: Int,
    channels: Int,
    image: LayoutTensor[Float32],
    out: LayoutTensor[Float32],
    *,
    factor: Comptime[int],
):
    """Each element of ``out`` is the mean of ``factor`` times ``factor`` elements of ``image``."""
    row = block_dim.y * block_idx.y + thread_idx.y
    col = block_dim.x * block_idx.x + thread_idx.x
    channel = block_dim.z * block_idx.z + thread_idx.z

    if col < width and row < height and channel < channels:
        out[row, col, channel] = 0.0
        for f1 in range(factor):
            for f2 in range(factor):
                out[row, col, channel] += image[row * factor + f1, col * factor + f2, channel]
        out[row, col, channel] /= factor * factor


@kernel
def downsample_over(image: LayoutTensor[Float32], out: LayoutTensor[Float32], *, factor: Comptime[int]):
    """For a launch over rows, columns and channels; the sum stays in a register."""
    row, col, channel = global_idx.z, global_idx.y, global_idx.x
    total = Float32(0.0)
    for f1 in range(factor):
        for f2 in range(factor):
            total += image[row * factor + f1, col * factor + f2, channel]
    out[row, col, channel] = total / (factor * factor)


def main() -> None:
    # Blocks of 2 x 2 pixels with one value each, so that half the size shows every value once.
    image = Tensor(Float32, (16, 16, 1))
    for y in range(16):
        for x in range(16):
            image[y, x, 0] = 8 * (y // 2) + x // 2
    print_image(image)

    device = accelerator()
    image = image.move_to(device)
    small = Tensor(Float32, (8, 8, 1), device)
    ctx = DeviceContext()

    print("\nHalf the size, with grid and block:")
    ctx.enqueue_function(downsample, 8, 8, 1, image, small, factor=2, grid_dim=Dim(8, 8), block_dim=Dim(1, 1))
    print_image(small.to(cpu()))

    print("\nHalf the size, over its elements:")
    small.fill(0.0)
    ctx.enqueue_function(downsample_over, image, small, factor=2, over=small.shape)
    print_image(small.to(cpu()))


def print_image(image: Tensor[Float32]) -> None:
    """Print the intensities of the first channel."""
    height, width, _ = image.shape
    for y in range(height):
        print("".join(f"{int(image[y, x, 0]):3}  " for x in range(width)))


if __name__ == "__main__":
    main()
