"""Programs of the sort that authors write in their third week, beside NumPy and plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.gpu.host import DeviceContext

HEADER = """
from weft import *
from weft.gpu import *
"""


def test_a_compile_time_parameter_of_any_type(device: DeviceContext, load: Any) -> None:
    source = """
@kernel
def shifted(x: Pointer[Float32], n: Int, *, by: Comptime = None, mode: "Comptime" = "add"):
    i = global_idx.x
    if i < n and by is not None:
        x[i] = x[i] + by if mode == "add" else x[i] * by
"""
    shifted = load(HEADER + source).shifted
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 2.0),
        ({"by": 3}, 5.0),
        ({"by": 0.5, "mode": "scale"}, 1.0),
    ]
    for given, expected in cases:
        x = device.enqueue_create_buffer("float32", 4)
        x.enqueue_fill(2.0)
        device.enqueue_function(shifted, x, 4, over=4, **given)
        with x.map_to_host() as host:
            assert np.array_equal(host, np.full(4, expected, np.float32))
