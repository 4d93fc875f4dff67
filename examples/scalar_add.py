"""Add a number to every element of a vector: host memory, device memory, a kernel, and back."""

from __future__ import annotations

from weft import Float32, Int, Pointer, kernel
from weft.gpu import block_dim, block_idx, thread_idx
from weft.gpu.host import DeviceContext

NUM_ELEMENTS = 20


@kernel
def scalar_add(vector: Pointer[Float32], size: Int, scalar: Float32):
    """Each thread adds ``scalar`` to one element."""
    idx = block_idx.x * block_dim.x + thread_idx.x

    # There may be more threads than elements; the rest must not touch memory.
    if idx < size:
        vector[idx] += scalar


def main() -> None:
    ctx = DeviceContext()  # the best device here: a GPU, or else the CPU

    # Memory of the host, filled with 0, 1, 2, ...
    host_buffer = ctx.enqueue_create_host_buffer(Float32, NUM_ELEMENTS)
    host_buffer[:] = range(NUM_ELEMENTS)
    print("Original host buffer:", host_buffer)

    # Memory of the device, and the data in it.
    device_buffer = ctx.enqueue_create_buffer(Float32, NUM_ELEMENTS)
    ctx.enqueue_copy(dst=device_buffer, src=host_buffer)

    # One block of as many threads as there are elements.
    compiled = ctx.compile_function(scalar_add)
    ctx.enqueue_function(compiled, device_buffer, NUM_ELEMENTS, 20.0, grid_dim=1, block_dim=NUM_ELEMENTS)

    # What is enqueued runs in order, beside the host; synchronize() waits for all of it.
    ctx.enqueue_copy(dst=host_buffer, src=device_buffer)
    ctx.synchronize()
    print("Modified host buffer:", host_buffer)


if __name__ == "__main__":
    main()
