"""Add two vectors, seen through layouts."""

from __future__ import annotations

from weft import Float32, Int, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor
from weft.math import ceildiv

VECTOR_WIDTH = 10
BLOCK_SIZE = 5
LAYOUT = Layout.row_major(VECTOR_WIDTH)


@kernel
def vector_addition(
    lhs: LayoutTensor[Float32], rhs: LayoutTensor[Float32], out: LayoutTensor[Float32], size: Int
):
    """Each thread adds one pair of elements. The layouts come with the arguments."""
    i = global_idx.x
    if i < size:
        out[i] = lhs[i] + rhs[i]


def main() -> None:
    ctx = DeviceContext()

    lhs_buffer = ctx.enqueue_create_buffer(Float32, VECTOR_WIDTH)
    rhs_buffer = ctx.enqueue_create_buffer(Float32, VECTOR_WIDTH)
    out_buffer = ctx.enqueue_create_buffer(Float32, VECTOR_WIDTH)
    lhs_buffer.enqueue_fill(1.25)
    rhs_buffer.enqueue_fill(2.5)

    ctx.enqueue_function(
        vector_addition,
        lhs_buffer.tensor(LAYOUT),
        rhs_buffer.tensor(LAYOUT),
        out_buffer.tensor(LAYOUT),
        VECTOR_WIDTH,
        grid_dim=ceildiv(VECTOR_WIDTH, BLOCK_SIZE),
        block_dim=BLOCK_SIZE,
    )

    with out_buffer.map_to_host() as host_buffer:
        print("Resulting vector:", host_buffer.tensor(LAYOUT))


if __name__ == "__main__":
    main()
