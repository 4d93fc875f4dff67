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

from typing import TYPE_CHECKING

from weft.diagnostics.modules import present
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

if TYPE_CHECKING:
    from weft.lang.memory_types import LayoutTensor
    from weft.layout import banks as banks
    from weft.layout import copies as copies
    from weft.layout import show as show
    from weft.layout import tensor_core as tensor_core
    from weft.layout import tma_async as tma_async
    from weft.layout.banks import conflicts
    from weft.layout.copies import (
        copy_dram_to_local,
        copy_dram_to_sram,
        copy_dram_to_sram_async,
        copy_local_to_dram,
        copy_local_to_shared,
        copy_sram_to_dram,
        copy_sram_to_local,
    )
    from weft.layout.show import format_layout, layout_svg, print_layout
    from weft.layout.tensor.iterator import LayoutTensorIter
else:
    from weft.layout.tensor.tensor import LayoutTensor

__all__ = [
    "ComposedLayout",
    "IntTuple",
    "Layout",
    "LayoutTensor",
    "LayoutTensorIter",
    "Swizzle",
    "Tiler",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "conflicts",
    "copy_dram_to_local",
    "copy_dram_to_sram",
    "copy_dram_to_sram_async",
    "copy_local_to_dram",
    "copy_local_to_shared",
    "copy_sram_to_dram",
    "copy_sram_to_local",
    "crd2idx",
    "format_layout",
    "idx2crd",
    "is_contiguous",
    "layout_svg",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "make_swizzle",
    "print_layout",
    "raked_product",
    "right_inverse",
    "sublayout",
    "tiled_divide",
    "with_shape",
    "zipped_divide",
]

_LATER = {
    "LayoutTensorIter": "weft.layout.tensor.iterator",
    "conflicts": "weft.layout.banks",
    **dict.fromkeys(("format_layout", "layout_svg", "print_layout"), "weft.layout.show"),
    **{name: "weft.layout.copies" for name in __all__ if name.startswith("copy_")},
    **{part: f"weft.layout.{part}" for part in ("banks", "copies", "show", "tensor_core", "tma_async")},
}
"""What is loaded when it is asked for, and where it lies."""

present(globals(), _LATER)
