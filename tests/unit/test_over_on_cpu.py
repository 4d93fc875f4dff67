"""Launches over a range on the CPU: of whatever extents, as no block of theirs has a limit."""

from __future__ import annotations

import numpy as np
import pytest

from weft import Float32, LaunchError, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor


@kernel
def mark(out: LayoutTensor[Float32]) -> None:
    out[global_idx.z, global_idx.y, global_idx.x] += Float32(
        global_idx.x + 100 * global_idx.y + 10_000 * global_idx.z
    )


@pytest.mark.parametrize(
    "shape", [(1, 1, 5000), (1, 50, 60), (1, 2000, 3), (3, 70, 33), (2, 3, 1), (1, 5000, 1)]
)
def test_every_element_once(shape: tuple[int, int, int]) -> None:
    out = np.zeros(shape, np.float32)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(mark, out, over=shape)
    ctx.synchronize()
    z, y, x = np.indices(shape)
    np.testing.assert_array_equal(out, x + 100 * y + 10_000 * z)


def test_shared_memory_is_checked_all_the_same() -> None:
    with pytest.raises(LaunchError, match="shared"):
        DeviceContext(api="cpu").enqueue_function(
            mark, np.zeros((1, 1, 4), np.float32), over=(1, 1, 4), shared_mem_bytes=1 << 40
        )
