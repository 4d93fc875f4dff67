"""Tensors in memory of a thread's own, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from weft.dtype import DType
from weft.lang.allocate import local_memory
from weft.layout.algebra.layout import Layout
from weft.layout.tensor.access import Element

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

_ALIGNMENT = 16


def fragment(
    shape: tuple[int, ...], dtype: DType, lanes: int, like: LayoutTensor[Any] | None = None
) -> LayoutTensor[Any]:
    """A tensor whose elements nobody has written; where another's is ``like`` it, masked as that one is.

    Raises:
        CompileError: the thread would take more memory than the target has.
    """
    from weft.layout.tensor.tensor import LayoutTensor

    count = Layout.row_major(*shape).size() * lanes
    memory = local_memory(dtype, cast("int", count), max(_ALIGNMENT, dtype.alignment))
    rows = Layout.row_major(*shape, lanes)
    layout = Layout(shape, tuple(cast("tuple[int, ...]", rows.stride)[:-1]))
    spread = Element.spread_of([1] * (len(shape) - 1) + [lanes])
    if like is not None and like.element is not None:
        spread = like.element.spread
    element = Element(Layout(lanes, 1), 0, spread) if lanes > 1 else None
    edges, default = (None, 0) if like is None else (like.edges, like.default)
    return LayoutTensor[Any].of(memory, layout, _ALIGNMENT, element, edges, default)
