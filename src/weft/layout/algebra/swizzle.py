"""Swizzles: permutations of offsets by exclusive or, against bank conflicts in shared memory.

Source: CuTe's ``Swizzle<B, M, S>`` (NVIDIA CUTLASS, ``include/cute/swizzle.hpp``); ``make_swizzle``
and ``ComposedLayout`` as in Mojo's ``layout.swizzle``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import add, ceildiv, is_static, mul, wrong
from weft.record import record

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor


@record
class Swizzle:
    """Mixes one field of an offset's bits into another: a permutation that is its own inverse.

    The lowest ``base`` bits stay. For a positive ``shift``, the ``bits`` bits above them are replaced
    by their exclusive or with the ``bits`` bits that stand ``shift`` places higher; for a negative
    one, the higher field is changed by the lower.

    Args:
        bits: Width of the two fields; 0 changes nothing.
        base: Bits below, which stay; ``2**base`` elements stay together.
        shift: Distance of the fields, in bits; at least ``bits``.

    Raises:
        CompileError: ``bits`` or ``base`` below 0, or ``abs(shift) < bits`` (the fields would overlap).

    >>> swizzle = Swizzle(bits=2, base=0, shift=3)
    >>> [swizzle(offset) for offset in range(8, 16)]
    [9, 8, 11, 10, 13, 12, 15, 14]
    """

    bits: int
    base: int
    shift: int

    def __init__(self, bits: int, base: int, shift: int) -> None:
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "shift", shift)
        if bits < 0 or base < 0:
            wrong(f"{self} has a field of negative width", "bits and base are at least 0")
        if abs(shift) < bits:
            wrong(f"the fields of {self} overlap", "use abs(shift) >= bits")

    def __call__(self, offset: Any) -> Any:
        """The permuted offset; three operations for a run-time value, none if ``bits`` is 0."""
        if self.bits == 0:
            return offset
        mask = (1 << self.bits) - 1 << self.base + max(0, self.shift)
        field = offset & mask
        return offset ^ (field >> self.shift if self.shift > 0 else field << -self.shift)

    @property
    def block(self) -> int:
        """Aligned blocks of so many elements are permuted within themselves."""
        return 1 << self.bits + self.base + max(0, -self.shift) if self.bits else 1

    def size(self) -> int:
        """After so many elements the permutation repeats."""
        return 1 << self.bits + self.base + abs(self.shift)


@record(eq=False)
class ComposedLayout:
    """A layout followed by a swizzle: ``swizzle(offset + layout(coordinate))``.

    >>> tile = ComposedLayout(Layout.row_major(8, 8), make_swizzle(num_rows=8, row_size=8, access_size=1))
    >>> tile(0, 0), tile(1, 0), tile(2, 0)   # a column meets all banks
    (0, 9, 18)
    """

    layout: Layout
    swizzle: Swizzle
    offset: Any = 0

    @property
    def shape(self) -> Any:
        """The layout's extents."""
        return self.layout.shape

    @property
    def rank(self) -> int:
        """The number of modes."""
        return self.layout.rank

    def size(self) -> Any:
        """The number of elements."""
        return self.layout.size()

    def cosize(self) -> Any:
        """How many elements of memory hold all offsets: the layout's own, in whole blocks of the swizzle."""
        return mul(ceildiv(add(self.offset, self.layout.cosize()), self.swizzle.block), self.swizzle.block)

    def __call__(self, *coordinate: Any) -> Any:
        """The swizzled offset of a coordinate, in elements."""
        return self.swizzle(add(self.offset, self.layout(*coordinate)))

    def tensor(self, storage: Any) -> LayoutTensor[Any]:
        """A buffer (in a kernel: a pointer) seen through this layout; ``buffer.tensor(layout)`` is the same.

        Raises:
            CompileError: The layout reaches outside of the buffer.
        """
        from weft.layout.tensor.tensor import LayoutTensor

        return LayoutTensor(storage, self)

    def __iter__(self) -> Iterator[ComposedLayout]:
        return (self[mode] for mode in range(self.rank))

    def __getitem__(self, mode: int) -> ComposedLayout:
        return ComposedLayout(self.layout[mode], self.swizzle, self.offset)

    def __repr__(self) -> str:
        start = self.offset if is_static(self.offset) else "?"
        return f"({self.swizzle} o {start} o {self.layout})"


def make_swizzle(*, num_rows: int, row_size: int, access_size: int) -> Swizzle:
    """The swizzle that spreads the columns of a row-major tile over all banks.

    Args:
        num_rows: Rows that are accessed together.
        row_size: Elements in a row.
        access_size: Elements that one thread accesses at once; they stay together.

    Raises:
        CompileError: A number is no power of two, or the rows are too short to permute.

    >>> make_swizzle(num_rows=8, row_size=64, access_size=8)
    Swizzle(bits=3, base=3, shift=3)
    """
    for name, value in (("num_rows", num_rows), ("row_size", row_size), ("access_size", access_size)):
        if value < 1 or value & value - 1:
            wrong(f"{name}={value} is no power of two", "use 1, 2, 4, 8, ...")
    base = access_size.bit_length() - 1
    return Swizzle(num_rows.bit_length() - 1, base, row_size.bit_length() - 1 - base)
