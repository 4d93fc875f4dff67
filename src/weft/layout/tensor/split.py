"""``tensor.tile[bm, bn](i, j)`` and its kin: what the brackets say at compile time, the call at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from weft.diagnostics import refuse
from weft.lang.number import Number, NumberLike
from weft.layout.algebra.divisions import coalesce
from weft.layout.algebra.int_tuple import is_tuple, product
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.values import Scalar, ceildiv, floordiv, is_static, sub
from weft.layout.tensor.access import Element, coordinate, modes, place, step_alignment
from weft.layout.tensor.partition import distribute, tile, vectorize

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

T = TypeVar("T")
Sizes = NumberLike | tuple[NumberLike, ...]


def _sizes(given: Sizes) -> tuple[int, ...]:
    sizes = given if isinstance(given, tuple) else (given,)
    return tuple([int(s) if isinstance(s, Number) else coordinate(s) for s in sizes])


def _cut(tile: Layout, inside: tuple[Scalar, ...]) -> tuple[Layout, tuple[Scalar, ...] | None]:
    """A tile's layout as far as it is inside, where that is known now, else with the bounds known later."""
    kept: list[Layout] = []
    for (extent, stride), bound in zip(modes(tile), inside, strict=True):
        flat = is_static(bound) and is_static(extent) and not is_tuple(stride)
        kept.append(Layout(bound if flat else extent, stride))
    whole = all(is_static(b) and b == product(m.shape) for b, m in zip(inside, kept, strict=True))
    return make_layout(*kept), None if whole else inside


class _Splitting(Generic[T]):
    __slots__ = ("_tensor",)

    def __init__(self, tensor: LayoutTensor[T]) -> None:
        self._tensor = tensor


class Tiling(_Splitting[T]):
    """``tensor.tile``."""

    def __getitem__(self, sizes: Sizes) -> Callable[..., LayoutTensor[T]]:
        tensor = self._tensor
        tiling = tile(tensor.layout, *_sizes(sizes))

        def at(*position: NumberLike) -> LayoutTensor[T]:
            steps: list[Layout] = []
            for mode, size, step in zip(tiling.layout, tiling.sizes, tiling.steps, strict=True):
                extent = product(mode.shape)
                tiles = ceildiv(extent, size) if is_static(extent) else extent
                steps.append(step if isinstance(step, Layout) else Layout(tiles, step))
            start = tensor.place_in(make_layout(*steps), position)
            inside = tiling.inside(tensor.shape, [coordinate(p) for p in position])
            return tensor.moved(*start, *_cut(tiling.tile, inside))

        return at


class Vectorizing(_Splitting[T]):
    """``tensor.vectorize``."""

    def __getitem__(self, sizes: Sizes) -> Callable[..., LayoutTensor[T]]:
        tensor = self._tensor
        if tensor.element is not None:
            refuse(
                "vectorize", "the tensor is vectorized already", "vectorize the tensor that it was made of"
            )
        split = vectorize(tensor.layout, *_sizes(sizes))
        lanes = split.element.size()
        if lanes & (lanes - 1):
            refuse(
                "vectorize", f"a vector has a power of two of lanes, not {lanes}", "vectorize by 2, 4, 8 ..."
            )

        def vectors(*, alignment: int = 0) -> LayoutTensor[T]:
            element = None if lanes == 1 else Element(coalesce(split.element), alignment)
            bounds = tensor.bounds and tuple(map(floordiv, tensor.bounds, _sizes(sizes)))
            return tensor.moved(0, tensor.alignment, split.layout, bounds, element)

        return vectors


class Distributing(_Splitting[T]):
    """``tensor.distribute``."""

    def __getitem__(self, threads: Layout) -> Callable[[NumberLike], LayoutTensor[T]]:
        tensor = self._tensor

        def of(thread: NumberLike) -> LayoutTensor[T]:
            part = distribute(tensor.layout, threads, coordinate(thread))
            itemsize = tensor.dtype.itemsize
            if is_static(part.offset):
                _, alignment = place(Layout(part.offset + 1), (part.offset,), tensor.alignment, itemsize)
            else:
                alignment = step_alignment(tensor.alignment, itemsize, tensor.layout.stride)
            bounds = tensor.bounds and tuple(
                ceildiv(sub(extent, at), count)
                for extent, at, count in zip(tensor.bounds, part.places, threads.static_shape, strict=True)
            )
            return tensor.moved(part.offset, alignment, part.fragment, bounds)

        return of
