"""The loop of a product along k as one operation, so that a round's products run while the next begins."""

from __future__ import annotations

from typing import Any, Literal

from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.number import number_class
from weft.layout.tensor.access import modes
from weft.layout.tensor.iterator import LayoutTensorIter
from weft.tile.bulk import rounds_by_hardware
from weft.tile.cores import by_warpgroups
from weft.tile.distribution import sums_of
from weft.tile.making import block_threads
from weft.tile.pipeline import Staging, shapes_of
from weft.tile.products import checked_pair, dot, sums_type, takes_warpgroups
from weft.tile.running import ended
from weft.tile.shapes import checked
from weft.tile.staged import Staged
from weft.tile.tile import Tile

__all__ = ["matmul"]


def matmul(
    left: LayoutTensorIter[Any],
    right: LayoutTensorIter[Any],
    *,
    stages: int = 3,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: Literal["exact", "tf32"] = "exact",
) -> Tile[Any]:
    """The sum of the products of tiles along k: what a block makes of a product of matrices.

    It is ``for x, y in pipeline(left, right): acc = dot(x, y, acc)``, but that where ``wgmma`` multiplies, a
    round's products still run while the next round's begin, for which one more stage is needed.

    Args:
        left: m x k tiles of the left matrix, along k: ``a.tiled_iterator[128, 64](i, 0, axis=1)``.
        right: k x n tiles of the right one: ``b.tiled_iterator[64, 256](0, j)``.
        stages: how many rounds' tiles there is room for in shared memory, at least 2.
        transpose_a: the left matrix lies as k x m.
        transpose_b: the right one lies as n x k.
        precision: as for ``dot``.

    Returns:
        the m x n sums.
    """
    turned = bool(transpose_a), bool(transpose_b)
    rounds = rounds_by_hardware((left, right), shapes_of((left, right)))
    return _summed(left, right, rounds, stages=stages, turned=turned, precision=precision)


@func
def _summed(
    left: Any,
    right: Any,
    rounds: Any,
    *,
    stages: Comptime[int],
    turned: Comptime[tuple[bool, bool]],
    precision: Comptime[Any],
) -> Any:
    sums, runs = _begun(left, right, turned, stages, precision)
    for x, y in Staging((left, right), stages, int(runs), rounds):
        sums = _added(_turned(x, turned[0]), _turned(y, turned[1]), sums, runs, precision)
    return Tile[Any](sums.distribution, ended(sums.values, sums.shape[1])) if runs else sums


def _begun(
    left: Any, right: Any, turned: tuple[bool, bool], stages: int, precision: Any
) -> tuple[Tile[Any], bool]:
    """No sums yet, and whether products run on while the next round begins."""
    one, other = (_like(side.get(), way) for side, way in zip((left, right), turned, strict=True))
    kind = sums_type(one.dtype)
    to = sums_of(checked_pair(one, other), block_threads(), kind.itemsize)
    return Tile(to, number_class(kind, to.count)(0)), stages > 2 and takes_warpgroups(
        one, other, to, precision
    )


def _like(tensor: Any, turned: bool) -> Staged[Any]:
    """A tile as it is going to be staged."""
    return Staged(tensor.ptr, checked(tuple([extent for extent, _ in modes(tensor.layout)])), turned)


def _turned(x: Staged[Any], turned: bool) -> Staged[Any]:
    return x.T if turned else x


def _added(x: Any, y: Any, sums: Tile[Any], runs: bool, precision: Any) -> Tile[Any]:
    if not runs:
        return dot(x, y, sums, precision=precision)
    return Tile(sums.distribution, by_warpgroups(x, y, sums.values, sums.distribution, 1)[0])
