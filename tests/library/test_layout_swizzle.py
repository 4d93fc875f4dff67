"""Swizzles, and layouts composed with them."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from layout_samples import few, layouts
from weft.layout import ComposedLayout, Layout, Swizzle, make_swizzle


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
