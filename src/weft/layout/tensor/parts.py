"""Parts of tensors: tiles, vectors, a thread's share, and other views of the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from weft.diagnostics import refuse
from weft.layout.algebra.divisions import sublayout
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import is_static
from weft.layout.tensor.iterator import Iterating
from weft.layout.tensor.split import Distributing, Tiles, Tiling, Vectorizing
from weft.record import replace

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

T = TypeVar("T")


class Parts(Generic[T]):
    """What names a part of a tensor, without copying it; LayoutTensor has it."""

    __slots__ = ()

    @property
    def tile(self) -> Tiling[T]:
        """``t.tile[bm, bn](i, j)``: the tile of ``bm`` times ``bn`` elements at place (i, j) among the tiles.

        Where the sizes do not divide the extents, or these come at run time, the tile is ``masked``: its
        ``dim`` and ``shape`` count what exists of it; the rest is read as 0, or what ``t.tile[bm, bn](i, j,
        default=-inf)`` says at compile time, and not written.
        """
        return Tiling(_tensor(self))

    def tiles(self, *sizes: int) -> Tiles[T]:
        """All tiles of these sizes, row by row; ``for`` over them is a loop of the device.

        Those at the edge are ``masked``, as ``tile`` has them.

        Example:
            >>> import numpy as np
            >>> from weft import Float32, func
            >>> from weft.layout import LayoutTensor
            >>> @func
            ... def mean_of_peaks(t: LayoutTensor[Float32]) -> Float32:
            ...     total = 0.0
            ...     for tile in t.tiles(2, 2):
            ...         total += max(tile[0, 0], tile[0, 1], tile[1, 0], tile[1, 1])
            ...     return total / 4.0
            >>> mean_of_peaks(np.arange(16, dtype=np.float32).reshape(4, 4))
            10.0
        """
        return Tiles(_tensor(self), sizes)

    @property
    def tiled_iterator(self) -> Iterating[T]:
        """``t.tiled_iterator[bm, bn](i, j, axis=1)``: the tile at (i, j), which walks along a mode.

        With ``circular=True`` it begins again behind the last tile. See ``LayoutTensorIter``.
        """
        return Iterating(_tensor(self))

    @property
    def vectorize(self) -> Vectorizing[T]:
        """``t.vectorize[1, 4]()``: the tensor of vectors; its elements are ``SIMD[T, 4]``.

        ``vectorize[1, 4](alignment=16)`` promises that every vector is aligned to 16 bytes, where weft
        cannot know, e.g. because strides come at run time. Where extents do, the last vector is masked.
        """
        return Vectorizing(_tensor(self))

    @property
    def distribute(self) -> Distributing[T]:
        """``t.distribute[Layout.row_major(8, 4)](thread)``: one thread's elements, dealt out in turn."""
        return Distributing(_tensor(self))

    def reshape(self, layout: Layout) -> LayoutTensor[T]:
        """The same memory through another layout.

        Raises:
            CompileError: it spans more elements than this one, as far as that is known.
        """
        tensor = _tensor(self)
        if tensor.masked:
            refuse(
                "layout",
                "a tile that may end at the edge has no other layout",
                "reshape the tensor, then take a tile",
            )
        spans = layout.cosize(), tensor.layout.cosize()
        if is_static(spans[0]) and is_static(spans[1]) and spans[0] > spans[1]:
            refuse("tensor-size", f"{layout} spans {spans[0]} elements, the tensor {spans[1]}")
        checked = layout.tensor(tensor.storage)
        return tensor.of(tensor.storage, checked.layout, tensor.alignment, swizzled=tensor.swizzled)

    def transpose(self, *order: int) -> LayoutTensor[T]:
        """The same elements with their modes in another order; by default from the last to the first.

        >>> from weft import Float32
        >>> from weft.gpu.host import DeviceContext
        >>> from weft.layout import Layout
        >>> buffer = DeviceContext(api="cpu").enqueue_create_buffer(Float32, 6)
        >>> buffer.tensor(Layout.row_major(2, 3)).transpose().layout
        ((3, 2):(1, 3))
        """
        tensor = _tensor(self)
        along = order or tuple(reversed(range(tensor.rank)))
        if sorted(along) != list(range(tensor.rank)):
            message = f"{order} is no order of the {tensor.rank} modes of {tensor.layout}"
            refuse("rank", message, f"name each once, as in {tuple(reversed(range(tensor.rank)))}")
        element, edges = tensor.element, tensor.edges
        if element is not None:
            element = replace(element, spread=tuple([element.spread[mode] for mode in along]))
        layout = sublayout(tensor.layout, *along)
        return tensor.moved(
            0, tensor.alignment, layout, edges and tuple([edges[mode] for mode in along]), element
        )

    def unmasked(self) -> LayoutTensor[T]:
        """Of a masked tensor all of which is there: the same without its edges. Nothing is checked."""
        tensor = _tensor(self)
        return tensor.moved(0, tensor.alignment, tensor.layout)


def _tensor(tensor: Parts[T]) -> LayoutTensor[T]:
    return cast("LayoutTensor[T]", tensor)
