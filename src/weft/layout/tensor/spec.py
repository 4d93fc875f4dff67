"""What the compiler knows of a tensor: element type, memory, layout as far as it is static."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from weft.dtype import DType
from weft.lang.number import type_name
from weft.lang.spec import Leaf, NumberSpec, PointerSpec
from weft.layout.algebra.int_tuple import IntTuple, flatten, unflatten
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import Swizzle
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import Element, Swizzled
from weft.layout.tensor.edge import Edge
from weft.record import record

Key = tuple[Any, ...]
_INT = NumberSpec(DType.int64)


@record
class TensorSpec:
    """A tensor: its pointer and the run-time extents and strides of its layout are its leaves."""

    cls: type[Any]
    dtype: DType
    space: int
    alignment: int
    """To how many bytes the first element is known to be aligned."""
    key: Key
    """The layout's ``weft.layout.Layout.key``."""
    element: Key | None = None
    """The key of a vectorised tensor's elements."""
    element_alignment: int = 0
    spread: tuple[tuple[int, int], ...] = ()
    edges: tuple[tuple[int | None, int] | None, ...] | None = None
    """Of a masked tensor each mode's ``Edge``: limit, None where that comes at run time, and step."""
    default: Any = 0
    """What is read where there is no element."""
    swizzle: tuple[Swizzle, int | None] | None = None
    """The permutation of offsets, and where it begins to count, None where that comes at run time."""

    def leaves(self) -> Sequence[Leaf]:
        """The pointer, then extents, then strides that come at run time."""
        return _leaves_of(self)

    def view(self) -> tuple[Any, ...] | None:
        """The elements' type, extents and strides, None for leaves; none of odd elements, or swizzled ones.

        Of a tensor that is no array of NumPy's also how many extents each mode has, extents and strides of a
        vector's lanes, and of each mode the limit and the step of its ``Edge`` and the ``spread`` of lanes.
        """
        profile: Any
        profile, shape, stride = self.key
        if self.swizzle is not None:
            return None
        modes = [len(flatten(mode)) for mode in ((profile,) if is_static(profile) else profile)]
        found = self.dtype, shape, stride
        if self.dtype.in_numpy and self.element is None and self.edges is None and {*modes} <= {1}:
            return found
        if not self.dtype.is_number:
            return None
        spread = self.spread or ((1, 1),) * len(modes)
        edges = [edge and (*edge, *lanes) for edge, lanes in zip(self.edges or (), spread, strict=False)]
        return *found, modes, self.element and self.element[1:], edges

    def build(self, leaves: Sequence[Any]) -> Any:
        """The tensor, from its leaves."""
        pointer = PointerSpec(self.dtype, self.space).build(leaves[:1])
        values = iter([_INT.build([leaf]) for leaf in leaves[1:]])
        layout = _layout(self.key, values)
        element = None
        if self.element is not None:
            element = Element(_layout(self.element, values), self.element_alignment, self.spread)
        edges = self.edges and tuple(
            [e and Edge(next(values) if e[0] is None else e[0], e[1]) for e in self.edges]
        )
        swizzled = None
        if self.swizzle is not None:
            swizzle, start = self.swizzle
            swizzled = Swizzled(swizzle, next(values) if start is None else start)
        return self.cls.of(pointer, layout, self.alignment, element, edges, self.default, swizzled)

    def describe(self) -> str:
        """How a message names it."""
        shown = _layout(self.key, iter(lambda: _Unknown(), None))
        masked = "" if self.edges is None else "masked "
        swizzled = "" if self.swizzle is None else f", {self.swizzle[0]}"
        return f"{masked}{self.cls.__name__}[{type_name(self.dtype)}] {shown}{swizzled}"


class _Unknown:
    """A run-time leaf of a layout that is only shown."""

    def __floordiv__(self, _: object) -> _Unknown:
        return self


@lru_cache(1024)
def _leaves_of(spec: TensorSpec) -> tuple[Leaf, ...]:
    return (
        *PointerSpec(spec.dtype, spec.space).leaves(),
        *_leaves(spec.key, ""),
        *([] if spec.element is None else _leaves(spec.element, ".element")),
        *_missing(".limit", [edge[0] if edge else 0 for edge in spec.edges or ()]),
        *_missing(".start", [spec.swizzle[1] if spec.swizzle else 0]),
    )


def _leaves(key: Key, prefix: str) -> Iterator[Leaf]:
    for side, name in ((key[1], "shape"), (key[2], "stride")):
        yield from _missing(f"{prefix}.{name}", side)


def _missing(name: str, side: Sequence[int | None]) -> Iterator[Leaf]:
    for n, leaf in enumerate(side):
        if leaf is None:
            yield Leaf(f"{name}[{n}]", _INT.leaves()[0].type, DType.int64)


def _layout(key: Key, values: Iterator[Any]) -> Layout:
    profile, *sides = key
    shape, stride = (_fill(profile, side, values) for side in sides)
    return Layout(shape, stride)


def _fill(profile: IntTuple, side: Sequence[int | None], values: Iterator[Any]) -> IntTuple:
    return unflatten([next(values) if leaf is None else leaf for leaf in side], profile)


def run_time_leaves(layout: Layout) -> list[Any]:
    """The extents, then the strides, that a layout holds as run-time values."""
    return [leaf for side in (layout.shape, layout.stride) for leaf in flatten(side) if not is_static(leaf)]
