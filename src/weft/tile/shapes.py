"""Extents of tiles: what they may be, and the same elements in others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from weft.diagnostics import INDEX, refuse
from weft.lang.number import Number
from weft.lang.python_number import python_number
from weft.tile.distribution import Bit, Distribution, Shape, bits_of
from weft.tile.tile import Tile, is_first, is_whole

__all__ = ["checked", "power_of_two", "reshaped", "spread"]

MOST = 1 << 17
"""Elements of a tile, at most: beyond, a block's threads have no registers for them."""


def power_of_two(extent: int) -> int:
    """The least power of two that is not less: the extent of a tile that holds so many elements.

    Example:
        >>> power_of_two(1000)
        1024
    """
    return 1 << max(0, int(extent) - 1).bit_length()


def checked(shape: Any) -> Shape:
    """The extents of a tile, as ints.

    Raises:
        CompileError: they are no powers of two that are known at compile time, or too many.
    """
    every: tuple[Any, ...] = tuple(cast("Any", shape)) if isinstance(shape, (tuple, list)) else (shape,)
    found: list[int] = []
    for extent in every:
        known = extent.value if isinstance(extent, Number) else python_number(extent)
        if not isinstance(known, int) or isinstance(known, bool):
            refuse(
                "tile-shape",
                f"an extent of a tile is known at compile time, and this {type(extent).__name__} is not",
                hint="make it a parameter annotated Comptime[int], or take it from a tensor of static shape",
            )
        if known < 1 or known & (known - 1):
            refuse(
                "tile-shape",
                f"a tile has extents that are powers of two, and {known} is none",
                notes=("what a tile has beyond the edge of its tensor is masked",),
                hint=f"write {power_of_two(known)}, or tile.power_of_two(n)",
            )
        found.append(known)
    if prod(found) > MOST:
        shown = " x ".join(map(str, found))
        refuse(
            "tile-shape",
            f"a tile of {shown} elements does not fit in the registers of a block",
            hint=f"loop over tiles of at most {MOST} elements",
        )
    return tuple(found)


def reshaped(tile: Tile[Any], shape: Sequence[Any]) -> Tile[Any]:
    """As ``Tile.reshape`` has it."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(cast("Any", shape[0]))
    known = [python_number(extent) for extent in shape]
    if known.count(-1) == 1:
        others = prod(checked([extent for extent in shape if python_number(extent) != -1]))
        shape = [
            max(1, prod(tile.shape) // others) if n == -1 else e for n, e in zip(known, shape, strict=True)
        ]
    extents = checked(shape)
    if prod(extents) != prod(tile.shape):
        refuse(
            "tile-shape",
            f"a tile of {prod(tile.shape)} elements is not one of {prod(extents)}",
            hint="keep the product of the extents",
        )
    flat = _flat(tile.shape)
    places = {place: bit for bit, place in _flat(extents).items()}

    def moved(bit: Bit) -> Bit:
        return places[flat[bit]]

    threads = tuple([None if bit is None else moved(bit) for bit in tile.distribution.threads])
    registers = tuple(map(moved, tile.distribution.registers))
    return Tile[Any](Distribution(extents, registers, threads), tile.values)


def spread(tile: Tile[Any], index: tuple[Any, ...]) -> Tile[Any]:
    """The tile with an axis of extent 1 for each None, as ``t[:, None]`` says, and without one for each 0."""
    axes = len(tile.shape)
    named = sum(is_whole(part) or is_first(part) for part in index)
    if named > axes or index.count(Ellipsis) > 1:
        refuse(
            "rank", f"{named} axes are named of a tile of {axes}", hint="write `:` for each axis", part=INDEX
        )
    at = index.index(Ellipsis) if Ellipsis in index else len(index)
    index = (*index[:at], *[slice(None)] * (axes - named), *index[at + 1 :])
    extents, made = iter(tile.shape), list[int]()
    for part in index:
        extent = 1 if part is None else next(extents)
        if not is_first(part):
            made.append(extent)
        elif extent != 1:
            message = f"`{part}` in brackets of a tile stands for an axis of extent 1, not one of {extent}"
            hint = "reduce it first, t.sum(axis=1)[:, 0] say, or load the part that is meant"
            refuse("index", message, hint=hint, part=INDEX)
    return reshaped(tile, tuple(made))


def _flat(shape: Shape) -> dict[Bit, int]:
    """Of each bit of an index the bit of the element's number that it is."""
    found: dict[Bit, int] = {}
    place = 0
    for axis in reversed(range(len(shape))):
        for bit in range(bits_of(shape[axis])):
            found[axis, bit] = place
            place += 1
    return found
