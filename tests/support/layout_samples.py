"""Layouts by chance, and layouts as plain functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from weft.layout import Layout
from weft.layout.algebra.int_tuple import flatten, unflatten

few = settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])


@st.composite
def shapes(draw: st.DrawFn, most: int = 4) -> Any:
    """A shape of a few small leaves, nested by chance."""
    leaves = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most))
    return nest(draw, leaves)


def nest(draw: st.DrawFn, leaves: list[int]) -> Any:
    if len(leaves) == 1:
        return draw(st.sampled_from([leaves[0], (leaves[0],)]))
    cuts = draw(st.lists(st.integers(1, len(leaves) - 1), min_size=1, max_size=2, unique=True))
    edges = [0, *sorted(cuts), len(leaves)]
    parts = (leaves[a:b] for a, b in itertools.pairwise(edges))
    return tuple(part[0] if len(part) == 1 else nest(draw, part) for part in parts)


@st.composite
def layouts(draw: st.DrawFn, most: int = 4) -> Layout:
    """Any layout: offsets may repeat and leave gaps."""
    shape = draw(shapes(most))
    strides = draw(st.lists(st.integers(0, 12), min_size=len(flatten(shape)), max_size=len(flatten(shape))))
    return Layout(shape, unflatten(strides, shape))


@st.composite
def compact(draw: st.DrawFn, most: int = 4) -> Layout:
    """A layout whose offsets are 0 to size - 1, in any order of its leaves."""
    shape = draw(shapes(most))
    leaves = cast("tuple[int, ...]", flatten(shape))
    strides = [0] * len(leaves)
    step = 1
    for leaf in draw(st.permutations(range(len(leaves)))):
        strides[leaf], step = step, step * leaves[leaf]
    return Layout(shape, unflatten(strides, shape))


def offsets(layout: Layout) -> list[int]:
    """The layout as a function of one number."""
    return [layout(i) for i in range(layout.size())]


def coordinates(shape: Any) -> Iterator[Any]:
    """All coordinates nested like ``shape``, leftmost leaf fastest."""
    leaves = cast("tuple[int, ...]", flatten(shape))
    for backwards in itertools.product(*(range(n) for n in reversed(leaves))):
        yield unflatten(tuple(reversed(backwards)), shape)


def dot(a: Any, b: Any) -> int:
    return sum(x * y for x, y in zip(flatten(a), flatten(b), strict=True))


sides = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3)
"""Tile and number of tiles along each mode."""
