"""Where every thread of a launch stands: a grid of 2 x 2 x 1 blocks of 4 x 4 x 2 threads each."""

from __future__ import annotations

from weft import kernel
from weft.gpu import block_dim, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext


@kernel
def print_threads():
    """Print the indices of block and thread."""
    print(
        "block_idx: [",
        block_idx.x,
        block_idx.y,
        block_idx.z,
        "]\tthread_idx: [",
        thread_idx.x,
        thread_idx.y,
        thread_idx.z,
        "]\tglobal_idx: [",
        global_idx.x,
        global_idx.y,
        global_idx.z,
        "]\tcalculated global_idx: [",
        block_dim.x * block_idx.x + thread_idx.x,
        block_dim.y * block_idx.y + thread_idx.y,
        block_dim.z * block_idx.z + thread_idx.z,
        "]",
    )


def main() -> None:
    ctx = DeviceContext()
    ctx.enqueue_function(print_threads, grid_dim=(2, 2, 1), block_dim=(4, 4, 2))
    ctx.synchronize()
    print("Done")


if __name__ == "__main__":
    main()
