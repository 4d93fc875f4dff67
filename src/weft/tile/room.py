"""Shared memory that tiles take for themselves, and what is said where a block has not so much."""

from __future__ import annotations

from math import prod
from typing import Any

from weft.dtype import DType, as_dtype
from weft.lang.allocate import shared_memory
from weft.lang.intrinsics import current_target
from weft.lang.number import type_name
from weft.tile.distribution import Shape

__all__ = ["CHUNK", "between_barriers", "for_the_kernel"]

CHUNK = 16
"""Bytes that stay together."""


def between_barriers(kind: Any, count: int, tile: tuple[Shape, DType], why: str, *more: str) -> Any:
    """Scratch for ``count`` elements, which a tile takes, as ``why`` says; ``more`` is other advice.

    Behind the last access of each use all threads meet at a barrier.
    """
    hint = _smaller(*tile), *more
    return shared_memory(as_dtype(kind), count, scratch=True, what=_what(*tile), hint=hint, notes=(why,))


def for_the_kernel(shape: Shape, dtype: DType, alignment: int) -> Any:
    """Memory for a matrix that products read."""
    target, hint, notes = current_target(), (_smaller(shape, dtype),), ("products read it there",)
    if target.shared_limit > target.static_limit:
        hint += (f"or let tile.pipeline(...) copy it, which may take {target.shared_limit} bytes",)
    return shared_memory(dtype, prod(shape), alignment, what=_what(shape, dtype), hint=hint, notes=notes)


def _what(shape: Shape, dtype: DType) -> str:
    return f"a tile of {' x '.join(map(str, shape))} {type_name(dtype)} takes"


def _smaller(shape: Shape, dtype: DType) -> str:
    """Advice for a tile that takes too much: one that takes a quarter of a block's memory at most."""
    extents = list(shape)
    while prod(extents) > 1 and prod(extents) * dtype.itemsize > current_target().static_limit // 4:
        extents[extents.index(max(extents))] //= 2
    return f"work on smaller tiles, of {tuple(extents)} say"
