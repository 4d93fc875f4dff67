"""How a random program is launched, and the guards of its threads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tests.fuzz.scope import Scope

__all__ = ["Launched", "guard", "shape"]

MANY = [33, 64, 96, 100, 128, 160, 256]
"""Threads of larger blocks: whole vectors of a CPU's, and some more."""


@dataclass
class Launched:
    """A launch: what a thread's number in it is, how many there are, and the extents of the indices."""

    launch: dict[str, Any]
    where: str
    count: int
    axes: list[int]
    form: str = "each"
    """``each`` thread does its own, a ``block`` works together, the ``edge`` of a picture is another, or a
    function of the ``host`` calls one for each index.
    """
    wide: bool = False
    """Whether it has so many threads that each does little."""


def shape(s: Scope) -> Launched:
    """A launch."""
    form = s.pick(
        "flat flat flat wide two three over over2 over3 block block block block block edge edge host".split()
    )
    if form == "host":
        sizes = s.pick([[1], [7], [40], [100], [5, 8], [3, 2, 4]])
        where = "at_0"
        for n, size in enumerate(sizes[1:], 1):
            where = f"({where}) * {size} + at_{n}"
        return Launched({"host": sizes}, where, math.prod(sizes), [math.prod(sizes)], "host")
    if form == "block":
        return _block(s)
    if form == "edge":
        return _edge(s)
    if form in ("flat", "wide"):
        blocks, threads = s.number(1, 3), s.pick(MANY if form == "wide" else [1, 7, 16, 32])
        where = s.pick(["global_idx.x", "block_idx.x * block_dim.x + thread_idx.x"])
        launch = {"grid_dim": [blocks], "block_dim": [threads]}
        return Launched(launch, where, blocks * threads, [blocks * threads], wide=form == "wide")
    if form == "two":
        return _grid(s, [s.number(1, 2), s.number(1, 3)], [s.pick([1, 3, 4]), s.number(1, 3)])
    if form == "three":
        return _grid(s, [s.number(1, 2) for _ in range(3)], [s.number(1, 3) for _ in range(3)])
    sizes = [s.pick([1, 2, 5, 13, 32])] if form == "over" else [s.number(1, 4) for _ in range(int(form[-1]))]
    return _over(s, sizes)


def _grid(s: Scope, grid: list[int], threads: list[int]) -> Launched:
    axes = [g * t for g, t in zip(grid, threads, strict=True)]
    where = f"global_idx.y * {axes[0]} + global_idx.x"
    if len(axes) == 3:
        where = f"(global_idx.z * {axes[1]} + global_idx.y) * (grid_dim.x * block_dim.x) + global_idx.x"
    return Launched({"grid_dim": grid, "block_dim": threads}, where, math.prod(axes), axes)


def _over(s: Scope, sizes: list[int]) -> Launched:
    """A thread for each of these indices, the last of which is along x."""
    where = f"global_idx.y * {sizes[-1]} + global_idx.x" if len(sizes) > 1 else "global_idx.x"
    if len(sizes) == 3:
        where = f"(global_idx.z * {sizes[1]} + global_idx.y) * {sizes[2]} + global_idx.x"
    launch: dict[str, Any] = {"over": sizes}
    if s.chance(3):
        launch["each"] = s.pick([[4, 1], [1, 4], [2, 1], [3, 2]])
    return Launched(launch, where, math.prod(sizes), sizes[::-1])


def _block(s: Scope) -> Launched:
    """Blocks in a row, of threads in a row or in a rectangle."""
    blocks, threads = s.number(1, 2), s.pick([1, 3, 8, 16, 20, 32, 32, 64, 64, 128, *MANY])
    more: dict[str, Any] = {}
    if s.chance(4):  # blocks that wait for each other
        threads, size = s.pick([1, 8, 20, 32, 32, 33, 64, 64, 96]), s.pick([2, 2, 4])
        grid = s.chance(3)
        more = {"cooperative": True} if grid else {"cluster_dim": [size]}
        blocks = s.number(2, 4) if grid else size * s.pick([1, 1, 2])
    if not more and s.chance(3):
        width, height = s.pick([1, 4, 8, 17, 32]), s.number(1, 5)
        own = f"thread_idx.y * {width} + thread_idx.x"
        launch = {"grid_dim": [blocks], "block_dim": [width, height], **more}
        threads = width * height
        where = f"block_idx.x * {threads} + {own}"
    else:
        where, launch = "global_idx.x", {"grid_dim": [blocks], "block_dim": [threads], **more}
    return Launched(launch, where, blocks * threads, [], "block", threads > 32)


def _edge(s: Scope) -> Launched:
    """A picture of one to three extents, of which x is the longest."""
    form = s.pick("one one two two three over over2".split())
    if form == "one":
        blocks, threads = s.number(1, 3), s.pick([32, 64, 100])
        made = Launched({"grid_dim": [blocks], "block_dim": [threads]}, "global_idx.x", blocks * threads, [])
        made.axes = [made.count]
    elif form == "two":
        made = _grid(s, [s.number(1, 2), s.number(1, 3)], [s.pick([16, 20, 32]), s.number(1, 3)])
    elif form == "three":
        made = _grid(s, [s.number(1, 2), 1, 2], [s.pick([8, 16, 20]), s.number(2, 3), s.number(1, 2)])
    else:
        made = _over(s, [*([s.number(1, 6)] if form == "over2" else []), s.pick([33, 40, 64])])
    made.form, made.wide = "edge", True
    return made


ALONE = """row >= n
row > n
n <= row
row < n
row <= n
row == n
n > row
n >= row
row != n
row + 1 < n
row - 1 >= n
0 < row < n
1 <= row <= n - 2
row > 1 and row < n - 1
row < 2 or row >= n
row == 0 or row == n - 1
not (row < n)
row >= 3
Int32(row) < 20
row < n and row >= 0 and row != 5""".splitlines()


def guard(s: Scope, made: Launched) -> str:
    """A condition on where a thread is; empty where all go on."""
    if s.chance(8):
        return ""
    if len(made.axes) < 2 or s.chance(3):
        return s.pick(ALONE)
    parts: list[str] = []
    for name, extent in list(zip("xyz", made.axes, strict=False))[: s.number(1, len(made.axes))]:
        end = s.pick([str(extent), str(extent - 1), str(extent // 2), "n"])
        form = s.pick(["{0} < {1}", "{0} < {1}", "{0} > 0", "0 < {0} < {1}", "{0} >= 1 and {0} < {1} - 1"])
        parts.append(form.format(f"global_idx.{name}", end))
    test = " and ".join(parts)
    return s.pick([test, test, f"not ({test})", test.replace("<", ">=").replace(" and ", " or ")])
