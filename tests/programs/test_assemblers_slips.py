"""What NVIDIA's assembler makes wrong code of, unless weft writes it otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from weft import Int, Int32, PerformanceWarning, Pointer, UInt32, UInt64, kernel
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


@kernel
def by_lower_halves(x: UInt64, y: UInt64, out: Pointer[UInt64]):
    out[0] = x if Int32(x) >= Int32(y) else y
    out[1] = y if UInt32(x) > UInt32(y) else x
    out[2] = (y if Int32(y) > Int32(x) else x) >> 33


_WIDE = [0, 1, 12, 2**31, 2**32 + 3, 2**63 + 2**31 + 1, 2**64 - 2]


@pytest.mark.parametrize("x", _WIDE)
@pytest.mark.parametrize("y", _WIDE)
def test_wide_numbers_chosen_by_their_lower_halves(device: DeviceContext, x: int, y: int) -> None:
    out = np.zeros(3, np.uint64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # a GPU's array is copied
        device.enqueue_function(by_lower_halves, x, y, out, grid_dim=1, block_dim=1)
    device.synchronize()
    wide = np.array([x, y], np.uint64)
    (sx, sy), (ux, uy) = wide.astype(np.int32), wide.astype(np.uint32)
    assert out.tolist() == [x if sx >= sy else y, y if ux > uy else x, (y if sy > sx else x) >> 33]


def test_halves_are_chosen_one_by_one() -> None:
    text = str(compile_info(by_lower_halves, target="sm_90"))
    assert "selp.b64" not in text
    assert text.count("selp.b32") == 4
