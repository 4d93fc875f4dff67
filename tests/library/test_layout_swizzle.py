"""Swizzles, and layouts composed with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layout_samples import few, layouts
from weft import CompileError, Float32, kernel
from weft.gpu import thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import ComposedLayout, Layout, LayoutTensor, Swizzle, make_swizzle


@given(st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4))
@few
def test_swizzle_is_a_permutation_of_its_blocks(bits: int, base: int, shift: int) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    size = swizzle.size()
    image = [swizzle(i) for i in range(2 * size)]
    assert sorted(image) == list(range(2 * size))
    assert [swizzle(i) for i in image] == list(range(2 * size))
    assert all(i // swizzle.block == image[i] // swizzle.block for i in range(2 * size))
    assert all(image[i + k] == image[i] + k for i in range(0, size, 1 << base) for k in range(1 << base))


@given(layouts(), st.integers(0, 3), st.integers(0, 2), st.integers(-3, 3), st.integers(0, 5))
@few
def test_composed_layout_fits_its_cosize(
    layout: Layout, bits: int, base: int, shift: int, start: int
) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    composed = ComposedLayout(layout, swizzle, start)
    for i in range(layout.size()):
        assert composed(i) == swizzle(start + layout(i)) < composed.cosize()


def test_swizzle_128b() -> None:
    """64 half-precision numbers a row, 8 at once: no two of 8 rows meet in a bank group."""
    tile = ComposedLayout(Layout.row_major(8, 64), make_swizzle(num_rows=8, row_size=64, access_size=8))
    assert tile.swizzle == Swizzle(3, 3, 3)
    for column in range(0, 64, 8):
        assert len({tile(row, column) // 8 % 8 for row in range(8)}) == 8


@kernel
def numbered(t: LayoutTensor[Float32], column: LayoutTensor[Float32]):
    i, j = thread_idx.y, thread_idx.x
    if j == 4:
        column[i, 0] = 100.0
    else:
        t[i, j] = 16.0 * i + j
        part = t.tile[4, 8](i // 4, j // 8)
        part[i % 4, j % 8] += 0.5


@pytest.mark.parametrize("swizzle", [Swizzle(2, 0, 3), Swizzle(3, 1, 4)])
def test_a_buffer_is_seen_through_a_swizzle(device: DeviceContext, swizzle: Swizzle) -> None:
    seen = ComposedLayout(Layout.row_major(8, 16), swizzle)
    memory = device.enqueue_create_buffer(Float32, 128)
    tensor = memory.tensor(seen)
    launches = [tensor, memory.tensor(ComposedLayout(Layout.row_major(8, 16), Swizzle(1, 0, 3)))]
    for n in range(24):  # from some on without Python, where tensors are told apart as well
        used = launches[(n + 1) % 2]
        whole = used.tile[8, 4](0, 1)
        device.enqueue_function(numbered, used, whole, grid_dim=1, block_dim=(16, 8))
    expected = np.add.outer(16.0 * np.arange(8), np.arange(16)) + 0.5
    expected[:, 4] = 100.0
    made = np.zeros(128, np.float32)
    device.enqueue_copy(dst=made, src=memory)
    device.synchronize()
    assert [[made[seen(i, j)] for j in range(16)] for i in range(8)] == expected.tolist()


def test_the_host_reads_and_writes_what_a_swizzle_permutes() -> None:
    host = DeviceContext(api="cpu").enqueue_create_host_buffer(Float32, 64)
    seen = ComposedLayout(Layout.row_major(8, 8), Swizzle(3, 0, 3))
    tensor = host.tensor(seen)
    for i, j in np.ndindex(8, 8):
        tensor[i, j] = 8.0 * i + j
    assert [host[seen(i, j)] for i, j in np.ndindex(8, 8)] == list(range(64))
    assert tensor.tile[4, 4](1, 0)[2, 3] == 8 * 6 + 3
    with pytest.raises(CompileError, match="has no array"):
        tensor.numpy()
    with pytest.raises(CompileError, match="spans 64 elements"):
        host.sub_buffer(0, 60).tensor(seen)
