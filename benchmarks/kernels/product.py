"""A product of matrices as one writes it for a CPU: with tensors' tiles, vectors and shared memory."""

from __future__ import annotations

from weft import Comptime, Float32, kernel, unroll
from weft.gpu import barrier, block_idx, thread_idx
from weft.lang import contraction
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, stack_allocation


@kernel
def product(
    a: LayoutTensor[Float32],
    b: LayoutTensor[Float32],
    c: LayoutTensor[Float32],
    *,
    rows: Comptime[int],
    columns: Comptime[int],
    depth: Comptime[int],
    threads: Comptime[int],
    lanes: Comptime[int],
):
    """c = a @ b. A thread has ``rows`` x ``columns`` of c in registers; a block packs panels of b for all.

    ``rows * threads`` must divide the rows of c, ``columns`` its columns, ``depth`` the rows of b.
    """
    panel = stack_allocation(
        Float32, Layout.row_major(depth, columns), address_space=AddressSpace.SHARED, alignment=64
    ).vectorize[1, lanes]()
    sums = stack_allocation(Float32, Layout.row_major(rows, columns)).vectorize[1, lanes]()
    t, wide = thread_idx.x, columns // lanes
    place = block_idx.y * threads + t
    out = c.tile[rows, columns](place, block_idx.x).vectorize[1, lanes]()
    for step in range(b.shape[0] // depth):
        left = a.tile[rows, depth](place, step)
        right = b.tile[depth, columns](step, block_idx.x).vectorize[1, lanes]()
        for k in range(t, depth, threads):
            for j in unroll(range(wide)):
                panel[k, j] = right[k, j]
        barrier()
        for i in unroll(range(rows)):
            for j in unroll(range(wide)):
                sums[i, j] = out[i, j] if step > 0 else 0.0
        for k in range(depth):
            for i in unroll(range(rows)):
                x = left[i, k]
                for j in unroll(range(wide)):
                    with contraction():
                        sums[i, j] += x * panel[k, j]
        out.copy_from(sums)
        barrier()
