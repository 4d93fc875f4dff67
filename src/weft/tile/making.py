"""Tiles out of nothing: numbers everywhere, and numbers that count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from weft.diagnostics import refuse
from weft.dtype import DTypeLike, as_dtype
from weft.gpu.indices import launch_bounds
from weft.lang.elaboration import current
from weft.lang.generic import K
from weft.lang.number import Number, NumberLike, number_class
from weft.lang.python_number import python_number
from weft.lang.scalars import Bool, Float32, Int32
from weft.tile.distribution import Distribution, Shape, sums_of
from weft.tile.registers import joined
from weft.tile.shapes import checked
from weft.tile.tile import Tile, chosen, together

__all__ = ["arange", "block_threads", "full", "where", "zeros"]


def block_threads() -> int:
    """How many threads a block of the tile kernel at hand has; known at compile time.

    Raises:
        CompileError: the kernel is no ``tile_kernel``.
    """
    found = current().elaborator.threads
    if found:
        launch_bounds(found)
    if not found:
        refuse(
            "tile-kernel",
            "tiles are spread over the threads of a block, whose number this kernel does not say",
            hint="write @tile_kernel(threads=256) in place of @kernel",
        )
    return found


def usual(shape: Shape, itemsize: int) -> Distribution:
    """How tiles are distributed that come from no memory."""
    return sums_of(shape, block_threads(), itemsize)


def full(
    shape: int | Sequence[int],
    value: NumberLike,
    dtype: type[K] | DTypeLike | None = None,
    *,
    like: Tile[Any] | None = None,
) -> Tile[K]:
    """A tile with one number in all its elements.

    Args:
        shape: its extents, powers of two.
        value: the number.
        dtype: its type; by default that of ``value``, Float32 for a literal.
        like: a tile whose distribution this one is to have, such as what is added to it.
    """
    extents = checked(shape)
    given = value.dtype if isinstance(value, Number) else Float32
    kind = as_dtype(given if dtype is None else dtype)
    distribution = usual(extents, kind.itemsize) if like is None else like.distribution
    one: Any = number_class(kind)(value)
    return Tile(distribution, number_class(kind, distribution.count)(one))


def zeros(
    shape: int | Sequence[int],
    dtype: type[K] | DTypeLike = Float32,
    *,
    like: Tile[Any] | None = None,
) -> Tile[K]:
    """A tile of zeros: ``full(shape, 0, dtype)``."""
    return full(shape, 0, dtype, like=like)


def arange(
    extent: int,
    dtype: type[K] | DTypeLike | NumberLike = Int32,
    *,
    axis: int = 0,
    rank: int = 1,
    like: Tile[Any] | None = None,
) -> Tile[K]:
    """The numbers from 0 on, as a tile.

    Args:
        extent: how many, a power of two.
        dtype: their type; or a number, up to which they count from ``extent`` on, as ``tl.arange(0, 64)``.
        axis: along which they count, in a tile of ``rank`` axes whose other extents are 1.
        rank: how many axes the tile has.
        like: a tile with as many elements along its last axis as these, whose distribution this one takes:
            so that ``arange(n, axis=1, rank=2, like=t) < limit`` moves nothing.
    """
    if isinstance(python_number(dtype), (int, Number)):
        first, end = extent, cast("Any", dtype)
        counted: Any = arange(end - first, axis=axis, rank=rank, like=like) + first
        return counted
    kind = as_dtype(cast("DTypeLike", dtype))
    shape = checked(tuple([extent if n == axis else 1 for n in range(rank)]))
    distribution = usual(shape, kind.itemsize)
    if like is not None:
        distribution = like.distribution
        for n in range(rank):
            distribution = distribution if n == axis else distribution.reduced(n)
    made = Tile[Any](distribution, number_class(kind, distribution.count)(0))
    return Tile(distribution, joined([number_class(kind)(index[axis]) for index in made.indices()]))


def where(condition: Tile[Any] | Bool | bool, true: Any, false: Any) -> Tile[Any]:
    """Element by element: ``true`` where ``condition`` holds, else ``false``; tiles and numbers."""
    if not any(isinstance(x, Tile) for x in (condition, true, false)):
        refuse("operand", "none of these is a tile", hint="write a if condition else b")
    condition = Bool(condition) if isinstance(condition, bool) else condition
    if isinstance(condition, Tile):
        return condition.where(true, false)
    return together(chosen, condition, true, false)
