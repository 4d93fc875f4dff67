"""Which tiles a product takes, and into how many parts k is split, by what that takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from weft.kernels.products.joining import EIGHT


class Shape(NamedTuple):
    """What a kernel is compiled for."""

    tile: tuple[int, int]
    each: Any
    """Warpgroups beside each other; or a thread's rows and columns."""
    stages: int
    blocks: int
    """Blocks that a multiprocessor runs at once."""
    rate: float
    """Multiply-adds of a multiprocessor in a cycle, of 16 bits by tensor cores, as such tiles reach: where it
    runs several at once, as several do."""
    cluster: int = 1
    """Blocks with tiles beneath each other, which bring the columns' side together."""
    along: int = 1
    """Blocks of a cluster that share what of k a tile has, or a part of it."""
    groups: int = 2
    """Warpgroups that multiply."""


WARPGROUPS = (
    Shape((128, 256), 1, 4, 1, 2040),
    Shape((128, 256), 1, 4, 1, 2000, cluster=2),
    Shape((256, 128), 1, 4, 1, 2030),
    Shape((128, 192), 1, 4, 1, 1900),
    Shape((128, 128), 1, 5, 1, 1790),
    Shape((128, 64), 1, 8, 1, 1230),
    Shape((128, 128), 1, 5, 1, 1790, along=8),
    Shape((128, 128), 1, 5, 1, 1790, along=4),
    Shape((128, 64), 1, 8, 1, 1230, along=2),
    Shape((64, 256), 2, 4, 1, 2030),
    Shape((64, 128), 2, 7, 1, 920),
    Shape((64, 128), 2, 7, 1, 920, along=2),
    Shape((64, 128), 1, 6, 1, 1500, groups=1),
    Shape((64, 64), 1, 6, 1, 850, groups=1),
    Shape((64, 64), 1, 11, 1, 850, along=2, groups=1),
    Shape((64, 128), 1, 8, 1, 1500, along=8, groups=1),
    Shape((64, 32), 1, 12, 1, 800, along=2, groups=1),
    Shape((64, 16), 1, 12, 1, 430, along=2, groups=1),
)
"""Rates are those of an H200, whose tiles took so long for each stage."""
NARROW = (*WARPGROUPS, Shape((128, 32), 1, 8, 1, 1000), Shape((128, 16), 1, 8, 1, 860))
"""Where a tile has all columns, or few rows as columns, so that memory alone counts."""
LANES = (
    Shape((128, 256), (8, 16), 4, 1, 95),
    Shape((128, 128), (8, 8), 4, 1, 90),
    Shape((64, 64), (8, 4), 3, 4, 86),
)
ACROSS = (Shape((128, 128), (8, 8), 3, 2, 106), Shape((64, 64), (8, 4), 3, 4, 86))
"""Where no side lies along k: a thread's numbers are in fewer registers then, so two blocks run at once."""
ALONE = 0.82
"""The share of its rate that a tile reaches by itself, of those of which a multiprocessor runs several."""
FEW = 64
"""The most rows that may be a tile's columns instead."""
SPLITS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 22, 33, 44)
BESIDES, BYTES, JOIN = 4000, 26, 4000
"""Cycles that a tile takes beside its products; bytes of memory in a cycle of a multiprocessor; cycles until
parts may be joined."""
GATHER = 4000
"""Cycles that a cluster takes to add up its blocks' sums."""
HIDDEN = 1 / 8
"""Of the lesser of what memory and multiprocessors take, what shows beside the other."""
NEAR, FAST, PARTS, FOUR = 60, 96, 36, 4
"""Bytes in a cycle that each multiprocessor has from the cache, if all read and if few do, and of parts;
bytes of a sum."""


TURN = 6000
"""Cycles that it takes to begin a copy and end it."""


def turns(extents: tuple[int, int, int, int], sides: int, width: int, units: int) -> bool:
    """Whether a product by ``ACROSS`` gains more than copying sides of so many elements, across k, costs."""
    m, n, k, z = extents
    gained = m * n * k * z / units * (1 / LANES[0].rate - 1 / ACROSS[0].rate)
    return gained > TURN + sides * 2 * width / (BYTES * units)


class Way(NamedTuple):
    """How a product is made."""

    shape: Shape
    splits: int = 1
    """Parts of k."""
    whole: int = 0
    """Tiles that are not split, of those that are counted first."""


def cost(
    way: Way,
    extents: tuple[int, int, int, int],
    depth: int,
    width: int,
    units: int,
    lines: tuple[int, int] = (1, 1),
) -> float:
    """Cycles that a product takes, roughly.

    Args:
        way: how.
        extents: of the product.
        depth: elements along k of a stage.
        width: bytes of an element.
        units: multiprocessors.
        lines: of the cache, that a row of a stage is read from, of each side: two where rows begin within.
    """
    (shape, splits, whole), (m, n, k, z) = way, extents
    (bm, bn), stages = shape.tile, -(-k // depth)
    speed = shape.rate * 2 / width if isinstance(shape.each, int) else shape.rate
    count, most = _tiles(shape, extents), _at_once(shape, units)
    parts = (count - whole) * splits
    if shape.blocks > 1 and whole + parts <= most:
        speed *= ALONE
    near = NEAR if (whole + parts) * shape.cluster * shape.along > units // 2 else FAST
    each = depth * max(bm * bn / speed, (bm * lines[0] + bn * lines[1] / shape.cluster) * width / near)
    waves = -(-whole // most), -(-parts // most)
    part = -(-stages // (splits * shape.along))
    gather = GATHER if shape.along > 1 else 0
    own = waves[0] * (stages * each + BESIDES) + waves[1] * (part * each + BESIDES + gather)
    memory = (m * k + n * k) * z * width / (BYTES * units) / min(1, 2 * (whole + parts) / most)
    total = max(own, memory) + HIDDEN * min(own, memory)
    if splits > 1:
        read = min(splits, EIGHT) + (splits > EIGHT) * -(-splits // EIGHT)
        total += JOIN * (1 + (splits > EIGHT)) + waves[1] * (2 + read) * bm * bn // shape.along * FOUR / PARTS
    return total


def _at_once(shape: Shape, units: int) -> int:
    """Units that run at once, each with a multiprocessor's whole rate.

    Of larger clusters not all find room, whose blocks lie near each other.
    """
    if shape.along > 2:
        return units * 7 // (8 * shape.along)
    return units // (shape.cluster * shape.along)


def _tiles(shape: Shape, extents: tuple[int, int, int, int]) -> int:
    m, n, _, z = extents
    return -(-m // (shape.tile[0] * shape.cluster)) * -(-n // shape.tile[1]) * z


@lru_cache(4096)
def choose(
    shapes: tuple[Shape, ...],
    extents: tuple[int, int, int, int],
    depth: int,
    width: int,
    units: int,
    most: int = 64,
    lines: tuple[int, int] = (1, 1),
    hybrid: bool = True,
) -> Way:
    """The cheapest way: whole tiles, all in up to ``most`` parts, or, if ``hybrid``, the last ones."""
    most = min(most, max(1, -(-extents[2] // depth) // 2))
    ways = [Way(shape, splits) for shape in shapes for splits in SPLITS if splits * shape.along <= most]
    for shape in [shape for shape in shapes if shape.along == 1] if hybrid and most > 1 else ():
        tiles, blocks = _tiles(shape, extents), units // shape.cluster
        rest = tiles % blocks
        if tiles > blocks and 0 < rest <= blocks // 2:
            ways.append(Way(shape, min(blocks // rest, most), tiles - rest))
    return min(ways, key=lambda way: cost(way, extents, depth, width, units, lines))
