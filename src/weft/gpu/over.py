"""Launches over a range: ``ctx.enqueue_function(k, ..., over=(height, width))``.

The kernel is only its per-element body, and ``global_idx`` is the element: x counts along the last
extent, y along the one before, z along the first of three.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.gpu.indices import block_dim, block_idx, thread_idx
from weft.lang.comptime import unroll
from weft.lang.scalars import Int


def run_over(
    element: Callable[[Int, Int, Int], None], extents: tuple[Int, Int, Int], per_x: int, per_y: int
) -> None:
    """The code of one thread: its elements, a block's width apart, so that neighbours stay neighbours.

    A block wholly inside the range, which the whole block agrees on, tests nothing per element and
    has all its loads in flight at once; the blocks at the edge test each.
    """
    wide, high = block_dim.x, block_dim.y
    left, top = block_idx.x * wide * per_x, block_idx.y * high * per_y
    x, y = left + thread_idx.x, top + thread_idx.y
    z = block_idx.z * block_dim.z + thread_idx.z
    ends = extents
    inside = (left + wide * per_x <= ends[0]) & (top + high * per_y <= ends[1])
    if inside and z < ends[2]:
        for j in unroll(range(per_y)):
            for i in unroll(range(per_x)):
                element(x + wide * i, y + high * j, z)
    else:
        for j in range(per_y):
            for i in range(per_x):
                here_x, here_y = x + wide * i, y + high * j
                if here_x < ends[0] and here_y < ends[1] and z < ends[2]:
                    element(here_x, here_y, z)
