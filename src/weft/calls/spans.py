"""The memory of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from weft.foreign.read import array_of
from weft.layout import LayoutTensor
from weft.runtime.buffers import Buffer

APART, SAME, OVERLAPPING = range(3)
"""How the memory of two arrays lies."""


class Span(NamedTuple):
    """Memory, from its first byte to the one behind its last."""

    begin: int
    end: int


def span_of(array: Any) -> Span:
    """The memory of an array that can be read, from its first element to behind its last."""
    view: Any = array.to_layout_tensor() if hasattr(array, "to_layout_tensor") else array
    tensor = isinstance(view, LayoutTensor)
    kept: Any = cast("Any", view).storage if tensor else view
    memory = cast("Any", kept if isinstance(kept, Buffer) else array_of(kept))
    size: int = cast("Any", view).layout.cosize() * memory.dtype.itemsize if tensor else memory.nbytes
    return Span(memory.address, memory.address + size)


def relation(one: int, size: int, other: int, other_size: int) -> int:
    """How memory at two addresses lies, of so many bytes."""
    if one + size <= other or other + other_size <= one:
        return APART
    return SAME if one == other and size == other_size else OVERLAPPING
