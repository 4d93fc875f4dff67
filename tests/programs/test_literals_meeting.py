"""A variable that begins as a literal: what it becomes when it meets other types."""

from __future__ import annotations

import numpy as np

from weft import Float32, Int, Pointer, kernel
from weft.gpu.host import DeviceContext


@kernel
def literals(p: Pointer[Float32], out: Pointer[Float32], n: Int):
    best = 0
    for i in range(n):
        if p[i] > p[best]:  # an index, so it stays an Int
            best = i
    total = 0
    half = 0
    for i in range(n):
        total += p[i]  # stored as a float, so it is one
        half = half + 0.5
    out[0] = total + best  # meets a float here, and is converted for it
    out[1] = half
    out[2] = best
    out[3] = p[best]


def test_an_int_literal_is_a_float_only_if_a_float_is_stored(device: DeviceContext) -> None:
    ctx = device
    p, out = ctx.enqueue_create_buffer(Float32, 4), ctx.enqueue_create_buffer(Float32, 4)
    ctx.enqueue_copy(dst=p, src=np.array([1, 5, 2, 3], np.float32))
    ctx.enqueue_function(literals, p, out, 4, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert list(host) == [12.0, 2.0, 1.0, 5.0]
