"""Layouts: where the elements of a tensor lie in memory.

Names are those of Mojo's ``layout`` package, semantics those of CuTe's layout algebra:

>>> from weft.layout import Layout, zipped_divide
>>> image = Layout.row_major(480, 640, 3)
>>> image(1, 2, 0)
1926
>>> zipped_divide(Layout.row_major(16, 32), (4, 8))
(((4, 8), (4, 4)):((32, 1), (128, 8)))
"""

from __future__ import annotations

from weft.layout.algebra.coordinates import crd2idx, idx2crd
from weft.layout.algebra.divide import (
    blocked_product,
    logical_divide,
    logical_product,
    raked_product,
    tiled_divide,
    zipped_divide,
)
from weft.layout.algebra.divisions import (
    Tiler,
    coalesce,
    complement,
    composition,
    is_contiguous,
    left_inverse,
    right_inverse,
    sublayout,
    with_shape,
)
from weft.layout.algebra.int_tuple import IntTuple
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.swizzle import ComposedLayout, Swizzle, make_swizzle
from weft.layout.tensor.tensor import LayoutTensor

__all__ = [
    "ComposedLayout",
    "IntTuple",
    "Layout",
    "LayoutTensor",
    "Swizzle",
    "Tiler",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "crd2idx",
    "idx2crd",
    "is_contiguous",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "make_swizzle",
    "raked_product",
    "right_inverse",
    "sublayout",
    "tiled_divide",
    "with_shape",
    "zipped_divide",
]
