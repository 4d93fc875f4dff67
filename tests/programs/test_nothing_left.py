"""A branch around stores that nobody reads: NVIDIA's assembler left the kernel on the wrong condition."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from weft import Int, PerformanceWarning, Pointer, UInt32, UInt64, kernel
from weft.compile import compile_info
from weft.gpu.host import DeviceContext
from weft.memory import stack_allocation


@kernel
def left_over(n: Int, x: UInt64, out: Pointer[UInt64]):
    kept = stack_allocation(UInt32, 16)
    first = kept[n & 1]
    for i in range(n & 3):
        out[i + 1] = 1
    if x not in (0, 2, 15):
        for _ in [3, 1, 2]:
            for i in range(n & 3):
                kept[8 + (n & 1)] = UInt32(i) if first else 10
        return
    out[0] = x + 1


@pytest.mark.parametrize("x", [0, 1, 2, 15, 16, 2**32, 2**32 + 2, 2**64 - 2])
def test_what_leaves_a_kernel(device: DeviceContext, x: int) -> None:
    out = np.zeros(5, np.uint64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(left_over, 3, x, out, grid_dim=1, block_dim=1)
    device.synchronize()
    assert out.tolist() == [x + 1 if x in (0, 2, 15) else 0, 1, 1, 1, 0]


def test_nothing_is_stored_that_nobody_reads() -> None:
    assert "st.local" not in str(compile_info(left_over, target="sm_90"))
