"""Slices of tensors: which part ``tensor[i, 2:5, :]`` names."""

from __future__ import annotations

from typing import Any, cast

from weft.diagnostics import refuse
from weft.lang.arith import known_difference
from weft.layout.algebra.coordinates import crd2idx
from weft.layout.algebra.int_tuple import IntTuple, is_tuple, product
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import Scalar, ceildiv, is_static, most, mul, sub
from weft.layout.tensor.access import Element, check_inside, coordinate, modes, refuse_rank
from weft.layout.tensor.edge import Edge, Edges, edge_of, known
from weft.record import replace


def is_slice(parts: tuple[Any, ...]) -> bool:
    """Whether the indices name a part of the tensor rather than an element."""
    return any(isinstance(part, slice) or part is Ellipsis for part in parts)


def is_whole(part: slice[Any, Any, Any]) -> bool:
    """Whether a slice takes all of its mode."""
    return part.start is None and part.stop is None and part.step is None


def sliced(
    layout: Layout, edges: Edges | None, element: Element | None, parts: tuple[Any, ...], *, host: bool
) -> tuple[Layout, list[Any], Layout, Edges | None, Element | None]:
    """The part's layout, and where it starts: a coordinate, in a layout of the same strides.

    ``edges`` say where the modes of a masked tensor end; the last of the result are those of the part, and
    its element.

    Raises:
        CompileError: the number of indices is not the rank, a step is not a positive int, or a mode is
            nested and not taken whole, or named by one number while vectors end in it.
    """
    parts = expanded(layout, parts)
    kept: list[tuple[IntTuple, IntTuple]] = []
    start: list[Any] = []
    origin: list[tuple[IntTuple, IntTuple]] = []
    left: list[Edge | None] = []
    gone: list[Edge] = []
    for mode, (part, (extent, stride)) in enumerate(zip(parts, modes(layout), strict=True)):
        edge = edges[mode] if edges else None
        if not isinstance(part, slice):
            start.append(part)
            origin.append((extent, stride))
            if edge:
                if element and element.spread[mode][0] > 1:
                    hint = "index all modes, or slice the tensor before `vectorize`"
                    refuse("slice", f"vectors may end within mode {mode}, which an index takes away", hint)
                at = coordinate(part)
                gone.append(edge.moved(crd2idx(at, extent) if is_tuple(at) else at))
            continue
        part = cast("slice[Any, Any, Any]", part)
        if is_whole(part):
            kept.append((extent, stride))
            left.append(edge)
            continue
        if is_tuple(extent) or is_tuple(stride):
            refuse("slice", f"mode {mode} of {layout} is nested and cannot be cut", "take it whole, with `:`")
        begin, length, step = _bounds(part, extent, mode, host)
        kept.append((length, mul(step, stride)))
        left.append(edge and edge.moved(begin, step))
        start.append(begin)
        origin.append((_reach(extent), stride))
    part_of = _of(kept)
    if element:
        spread = zip(element.spread, parts, strict=True)
        element = replace(element, spread=tuple([s for s, part in spread if isinstance(part, slice)]))
    for edge in gone:  # nothing is there where what the index names is not
        first = left[0] or edge_of(None, part_of, element, 0)
        left[0] = Edge(_if(edge.limit, first.limit), first.step)
    return part_of, start, _of(origin), known(left), element


def taken_by(layout: Layout, edges: Edges | None, parts: tuple[Any, ...]) -> tuple[tuple[Any, Scalar], ...]:
    """The indices of run time that take modes away, each with its extent; not where edges say what exists."""
    every = zip(expanded(layout, parts), modes(layout), edges or (None,) * layout.rank, strict=True)
    found = [
        (coordinate(part), product(extent))
        for part, (extent, _), edge in every
        if edge is None and not isinstance(part, (slice, tuple))
    ]
    return tuple([(at, extent) for at, extent in found if not is_static(at)])


def _if(limit: Any, then: Scalar) -> Scalar:
    """``then`` where something exists, else 0."""
    if is_static(limit):
        return then if limit > 0 else 0
    return (limit > 0).select(then, 0)


def _of(pairs: list[tuple[IntTuple, IntTuple]]) -> Layout:
    return Layout(tuple(extent for extent, _ in pairs), tuple(stride for _, stride in pairs))


def _reach(extent: Scalar) -> Scalar:
    """An empty slice may begin at the end."""
    return extent + 1 if is_static(extent) else extent


def expanded(layout: Layout, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index or a slice for each mode.

    Raises:
        CompileError: there are more or fewer.
    """
    dots = [n for n, part in enumerate(parts) if part is Ellipsis]
    if len(dots) == 1 and len(parts) - 1 <= layout.rank:
        whole = (slice(None),) * (layout.rank - len(parts) + 1)
        parts = (*parts[: dots[0]], *whole, *parts[dots[0] + 1 :])
    if len(parts) != layout.rank or len(dots) > 1:
        refuse_rank(layout, len(parts))
    return parts


def _bounds(part: slice[Any, Any, Any], extent: Scalar, mode: int, host: bool) -> tuple[Any, Any, int]:
    begin = 0 if part.start is None else coordinate(part.start)
    end = extent if part.stop is None else coordinate(part.stop)
    step = 1 if part.step is None else coordinate(part.step)
    if not is_static(step) or step < 1:
        refuse("slice", "the step of a slice must be a positive int", "reverse by indexing n - 1 - i")
    if is_static(end) and end < 0:
        check_inside(end, end, extent, mode, host=host)  # refuses what NumPy counts from the end
    if is_static(begin) and is_static(end):
        end = max(begin, end)
        check_inside(begin, end, extent, mode, host=host)
    elif is_static(begin):
        check_inside(begin, begin, extent, mode, host=host)
    elif is_static(end):
        check_inside(0, end, extent, mode, host=host)
    return begin, ceildiv(most(_between(begin, end), 0), step), step


def _between(begin: Any, end: Any) -> Any:
    """``end - begin``, which of ``i : i + 4`` is known."""
    if not (is_static(begin) or is_static(end)):
        found = known_difference(begin.dtype, begin.value, end.value)
        if found is not None:
            return found
    return sub(end, begin)
