"""``tensor.tile[bm, bn](i, j)`` and its kin: what the brackets say at compile time, the call at run time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from weft.diagnostics import refuse
from weft.diagnostics.instead import instead
from weft.lang.doubts import doubt_place
from weft.lang.number import Number, NumberLike
from weft.layout.algebra.coordinates import crd2idx
from weft.layout.algebra.divisions import coalesce
from weft.layout.algebra.int_tuple import is_tuple, product
from weft.layout.algebra.layout import Layout, make_layout
from weft.layout.algebra.values import ceildiv, is_static, most, mul
from weft.layout.tensor.access import Element, coordinate, modes, place, step_alignment
from weft.layout.tensor.edge import Edge, Edges, edge_of, known
from weft.layout.tensor.partition import distribute, fit, tile, vectorize

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

T = TypeVar("T")
Sizes = NumberLike | tuple[NumberLike, ...]


def _sizes(given: Sizes) -> tuple[int, ...]:
    sizes = given if isinstance(given, tuple) else (given,)
    return tuple([int(s) if isinstance(s, Number) else coordinate(s) for s in sizes])


def _cut(tile: Layout, edges: list[Edge | None]) -> tuple[Layout, Edges | None]:
    """A tile's layout as far as it is inside, on the host, and the edges that are known later."""
    kept: list[Layout] = []
    left: list[Edge | None] = []
    for (extent, stride), edge in zip(modes(tile), edges, strict=True):
        if edge and is_static(edge.limit) and is_static(extent) and not is_tuple(stride):
            count = max(0, -(-edge.limit // edge.step))
            extent = min(extent, count)
            edge = None if extent < count or extent * edge.step <= edge.limit else edge
        kept.append(Layout(extent, stride))
        left.append(edge)
    return make_layout(*kept), known(left)


class _Splitting(Generic[T]):
    __slots__ = ("_tensor",)

    def __init__(self, tensor: LayoutTensor[T]) -> None:
        self._tensor = tensor


@instead({"()": "give the sizes in brackets, then the place: t.tile[16, 16](i, j)"})
class Tiling(_Splitting[T]):
    """``tensor.tile``."""

    def __getitem__(self, sizes: Sizes) -> Callable[..., LayoutTensor[T]]:
        tensor = self._tensor
        tiling = tile(tensor.layout, *_sizes(sizes))

        def at(*position: NumberLike, default: float | None = None) -> LayoutTensor[T]:
            steps: list[Layout] = []
            edges: list[Edge | None] = []
            for mode, size, step in zip(tiling.layout, tiling.sizes, tiling.steps, strict=True):
                extent = product(mode.shape)
                # Without elements there is one tile all the same, an empty one.
                tiles = most(ceildiv(extent, size), 1) if is_static(extent) else extent
                steps.append(step if isinstance(step, Layout) else Layout(tiles, step))
            start = tensor.place_in(make_layout(*steps), position)
            taken: list[tuple[Any, Any]] = []
            for mode, (size, given, step) in enumerate(zip(tiling.sizes, position, steps, strict=True)):
                if tensor.in_kernel:
                    doubt_place(given, size)
                extent, whole = product(tiling.layout[mode].shape), not (tensor.edges and tensor.edges[mode])
                if whole and fit(extent, size):
                    edges.append(None)
                    taken += [(at, product(step.shape)) for at in [coordinate(given)] if not is_static(at)]
                    continue
                place = coordinate(given)
                place = crd2idx(place, step.shape) if is_tuple(place) else place
                edge = edge_of(tensor.edges, tensor.layout, tensor.element, mode)
                if not whole and not fit(extent, size):
                    edge = edge.within(extent)  # more may exist behind this tensor, itself a part
                edges.append(edge.moved(mul(place, size)))
            cut = (tiling.tile, known(edges)) if tensor.in_kernel else _cut(tiling.tile, edges)
            made = tensor.moved(*start, *cut, default=_default(default))
            made.taken += tuple(taken)
            return made

        return at


def _default(given: object) -> float | None:
    """What is read where a tile has no element, if it was said.

    Raises:
        CompileError: it is not known at compile time.
    """
    value = given.value if isinstance(given, Number) else given
    if value is None or isinstance(value, (int, float)):
        return math.nan if value != value else value  # one nan, so that equal tiles are of one type
    refuse(
        "operand", f"default={given!r} is no number that is known at compile time", "write default=0.0, say"
    )


class Tiles(Generic[T]):
    """``tensor.tiles(...)``."""

    __slots__ = ("_sizes", "_tensor")

    def __init__(self, tensor: LayoutTensor[T], sizes: tuple[int, ...]) -> None:
        self._tensor = tensor
        self._sizes = _sizes(sizes)
        tile(tensor.layout, *self._sizes)  # refuses sizes that are none

    def __weft_loop__(self) -> tuple[Any, Callable[[Any], LayoutTensor[T]]]:
        counts = [ceildiv(extent, size) for extent, size in zip(self._tensor.shape, self._sizes, strict=True)]

        def at(number: Any) -> LayoutTensor[T]:
            position: list[Any] = []
            for count in reversed(counts[1:]):
                position.insert(0, number % count)
                number = number // count
            return self._tensor.tile[self._sizes](number, *position)

        return product(tuple(counts)), at

    def __iter__(self) -> Iterator[LayoutTensor[T]]:
        length, at = self.__weft_loop__()
        return map(at, range(length))


@instead({"()": "give the lanes in brackets, then call it: t.vectorize[1, 4]()"})
class Vectorizing(_Splitting[T]):
    """``tensor.vectorize``."""

    def __getitem__(self, sizes: Sizes) -> Callable[..., LayoutTensor[T]]:
        tensor = self._tensor
        if tensor.element is not None:
            refuse(
                "vectorize", "the tensor is vectorized already", "vectorize the tensor that it was made of"
            )
        if not tensor.dtype.is_number:
            refuse("vectorize", f"a vector is of numbers, not of {tensor.dtype}", "index it: t[i, j].x")
        split = vectorize(tensor.layout, *_sizes(sizes))
        lanes = split.element.size()
        if lanes & (lanes - 1):
            refuse(
                "vectorize", f"a vector has a power of two of lanes, not {lanes}", "vectorize by 2, 4, 8 ..."
            )

        def vectors(*, alignment: int = 0) -> LayoutTensor[T]:
            along = _sizes(sizes)
            element = (
                None if lanes == 1 else Element(coalesce(split.element), alignment, Element.spread_of(along))
            )
            edges = [
                None
                if is_static(extent) and not (tensor.edges and tensor.edges[mode])
                else edge_of(tensor.edges, tensor.layout, None, mode).moved(0, along[mode])
                for mode, extent in enumerate(map(product, (extent for extent, _ in modes(tensor.layout))))
            ]
            return tensor.moved(0, tensor.alignment, split.layout, known(edges), element)

        return vectors


@instead({"()": "give the threads in brackets, then which one: t.distribute[layout](thread_idx.x)"})
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
            edges = tensor.edges and tuple(
                [
                    edge and edge.moved(at, count)
                    for edge, at, count in zip(tensor.edges, part.places, threads.static_shape, strict=True)
                ]
            )
            return tensor.moved(part.offset, alignment, part.fragment, edges)

        return of
