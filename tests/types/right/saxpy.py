import numpy as np

from weft import Float32, Int, Pointer, kernel
from weft.gpu import block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext


@kernel
def saxpy(n: Int, a: Float32, x: Pointer[Float32], y: Pointer[Float32]):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        y[i] = a * x[i] + y[i]


def main() -> None:
    ctx = DeviceContext(api="cpu")
    n = 1000
    x = np.arange(n, dtype=np.float32)
    y = np.ones(n, np.float32)
    d_x, d_y = ctx.enqueue_create_buffer(Float32, n), ctx.enqueue_create_buffer(Float32, n)
    ctx.enqueue_copy(dst=d_x, src=x)
    ctx.enqueue_copy(dst=d_y, src=y)
    ctx.enqueue_function(saxpy, n, 2.0, d_x, d_y, grid_dim=(n + 255) // 256, block_dim=256)
    ctx.enqueue_copy(dst=y, src=d_y)
    ctx.synchronize()
    assert np.array_equal(y, 2 * x + 1)


if __name__ == "__main__":
    main()
