"""Tiles of which less may exist than their layout says: where each mode ends, and keeping to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from weft.diagnostics import refuse
from weft.dtype import DType
from weft.lang.decorators import func
from weft.lang.number import Number, number_class
from weft.lang.pointer import Pointer
from weft.layout.algebra.coordinates import crd2idx
from weft.layout.algebra.int_tuple import is_tuple, product
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import Scalar, ceildiv, is_static, least, most, mul, sub
from weft.layout.tensor.access import Element, coordinate, modes, read, write
from weft.record import record


@record
class Edge:
    """Where a mode ends: index ``n`` stands for elements from ``n * step`` on, of which ``limit`` exist."""

    limit: Scalar
    """How many elements exist, counted from the first; none where it is below 1."""
    step: int = 1
    """Elements from one index to the next."""

    def count(self, extent: Scalar) -> Scalar:
        """How many of ``extent`` indices have something."""
        return least(most(ceildiv(self.limit, self.step), 0), extent)

    def within(self, extent: Scalar) -> Edge:
        """The edge, or the end of so many indices where that comes first."""
        return Edge(least(self.limit, mul(extent, self.step)), self.step)

    def moved(self, start: Scalar, step: int = 1) -> Edge:
        """The edge of the part that begins at an index and goes on in steps."""
        return Edge(sub(self.limit, mul(start, self.step)), self.step * step)


Edges = tuple[Edge | None, ...]
"""One for each mode; None where all of it exists."""


def known(edges: Sequence[Edge | None]) -> Edges | None:
    """The edges; None where there are none."""
    return tuple(edges) if any(edges) else None


def edge_of(edges: Edges | None, layout: Layout, element: Element | None, mode: int) -> Edge:
    """That of one mode; where all of it exists, behind its last index."""
    edge = edges[mode] if edges else None
    size = 1 if element is None else element.spread[mode][0]
    return edge or Edge(mul(product(layout[mode].shape), size), size)


def inside(edges: Edges, layout: Layout, index: Sequence[Any], element: Element | None) -> Any:
    """In which lanes of the element at an index there is something: Bools, or True for all.

    Args:
        edges: of each mode.
        layout: of the tensor.
        index: a number, or a nested mode's tuple, for each mode.
        element: what is accessed there.

    Raises:
        CompileError: it is known now that there is nothing.
    """
    lanes = 1 if element is None else element.lanes
    spread = [(1, 1)] * len(index) if element is None else element.spread
    found: Any = True
    wide: Any = number_class(DType.int64, lanes)
    every = zip(edges, index, spread, modes(layout), strict=True)
    for mode, (edge, at, (size, period), (extent, _)) in enumerate(every):
        if edge is None:
            continue
        at = coordinate(at)
        first = mul(crd2idx(at, extent) if is_tuple(at) else at, edge.step)
        if is_static(first) and is_static(edge.limit):
            if first >= edge.limit:
                reach = f"which ends after {max(0, edge.limit)} elements"
                refuse("bounds", f"index {at} is outside mode {mode}, {reach}", "correct the index")
            if first + size <= edge.limit:
                continue
        of_lane = [n // period % size for n in range(lanes)]
        there = (wide(first) + wide(*of_lane) if size > 1 else wide(first)) < wide(edge.limit)
        found = there if found is True else found & there
    return found


def complete(edges: Edges, layout: Layout) -> Any:
    """Whether all of a tile is there: a Bool, or False where it is known that some is not."""
    found: Any = True
    for edge, (extent, _) in zip(edges, modes(layout), strict=True):
        if edge is None:
            continue
        needed = mul(product(extent), edge.step)
        if is_static(edge.limit) and is_static(needed):
            if edge.limit < needed:
                return False
            continue
        there = cast(Any, edge.limit) >= needed
        found = there if found is True else found & there
    return found


def absent(tensor: Any, index: Sequence[Any]) -> bool:
    """Whether it is known now that there is nothing at an index."""
    ends = zip(tensor.edges or (), index, strict=False)
    return any(e and is_static(e.limit) and is_static(at) and at * e.step >= e.limit for e, at in ends)


def whole_read(tensor: Any, index: Sequence[Any]) -> Any:
    """``tensor[index]``; where a masked tile has nothing, its default."""
    if absent(tensor, index):
        return number_class(tensor.dtype, tensor.lanes)(tensor.default)
    return tensor[tuple(index)]


def whole_write(tensor: Any, index: Sequence[Any], value: Any) -> None:
    """``tensor[index] = value``; where a masked tile has nothing, nothing."""
    if not absent(tensor, index):
        tensor[tuple(index)] = value


@func
def _keep(pointer: Any, offset: Any, there: Any, value: Any) -> None:
    if there:
        pointer[offset] = value


def _where(offset: Any, element: Element) -> Any:
    """The offsets of a vector's lanes."""
    lanes = element.lanes
    wide: Any = number_class(DType.int64, lanes)
    return wide(*[element.at(offset, lane) for lane in range(lanes)])


def read_inside(
    pointer: Pointer[Any], offset: Any, element: Element | None, alignment: int, there: Any, default: Any
) -> Any:
    """The element at an offset; in lanes that do not exist, ``default``."""
    if there is True:
        return read(pointer, offset, element, alignment)
    if element is None:
        if not pointer.dtype.is_number:
            refuse(
                "element",
                "the tile may end before this element, and a struct has no value to read instead",
                "ask `if i < tile.dim(0):` and read tile.address(i)[0]",
            )
        return pointer.load(offset, mask=there, default=default)
    if element.contiguous:
        alignment = max(element.alignment, alignment)
        return pointer.load(offset, width=element.lanes, alignment=alignment, mask=there, default=default)
    return pointer.gather(_where(offset, element), mask=there, default=default)


def write_inside(
    pointer: Pointer[Any], offset: Any, element: Element | None, alignment: int, there: Any, value: Any
) -> None:
    """Write what exists of the element at an offset."""
    if there is True:
        write(pointer, offset, element, alignment, value)
    elif element is None and isinstance(value, Number) and value.lanes != 1:
        write(pointer, offset, element, alignment, value)  # which refuses
    elif element is None and pointer.dtype.is_number:
        pointer.store(offset, value, mask=there)
    elif element is None:
        _keep(pointer, offset, there, value)
    elif element.contiguous:
        alignment = max(element.alignment, alignment)
        pointer.store(offset, value, alignment=alignment, mask=there)
    else:
        pointer.scatter(_where(offset, element), value, mask=there)
