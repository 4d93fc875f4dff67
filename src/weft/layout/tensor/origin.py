"""Of which tensor another is a part: what the hardware's copies have to know, which count from its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import coordinate, modes
from weft.layout.tensor.slice import expanded, is_whole
from weft.record import record

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor


@record
class Origin:
    """A part of a tensor that has all of some of its modes, and of the others one place."""

    whole: LayoutTensor[Any]
    start: tuple[Any, ...]
    """A place along each mode of ``whole``: 0 along those of the part."""
    modes: tuple[int, ...]
    """Which modes of ``whole`` those of the part are."""


def origin_of(tensor: LayoutTensor[Any]) -> Origin | None:
    """Of which tensor one is a part, perhaps its own; None where nothing says it, or its layout is not plain.

    All extents and strides of the whole are known at compile time.
    """
    if tensor.origin is not None:
        return tensor.origin
    every = [number for mode in modes(tensor.layout) for number in mode]
    odd = tensor.element is not None or tensor.edges is not None or tensor.swizzled is not None
    if odd or not tensor.in_kernel or not all(map(is_static, every)):
        return None
    return Origin(tensor, (0,) * tensor.rank, tuple(range(tensor.rank)))


def part_of(tensor: LayoutTensor[Any], parts: tuple[Any, ...]) -> Origin | None:
    """That of the part which indices name; None where a slice takes less than all of a mode."""
    found = origin_of(tensor)
    every = expanded(tensor.layout, parts)
    if found is None or any(
        isinstance(part, slice) and not is_whole(cast("slice[Any, Any, Any]", part)) for part in every
    ):
        return None
    start = list(found.start)
    for part, mode in zip(every, found.modes, strict=True):
        if not isinstance(part, slice):
            start[mode] = coordinate(part)
    left = [mode for part, mode in zip(every, found.modes, strict=True) if isinstance(part, slice)]
    return Origin(found.whole, tuple(start), tuple(left))
