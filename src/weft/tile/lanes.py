"""Products of tiles without tensor cores: each thread computes its sums, from shared memory."""

from __future__ import annotations

from typing import Any

from weft.lang.comptime import Comptime
from weft.lang.decorators import func
from weft.lang.scalars import Int
from weft.tile.distribution import Distribution
from weft.tile.registers import joined, picked
from weft.tile.staged import Staged

__all__ = ["by_lanes"]


def by_lanes(left: Staged[Any], right: Staged[Any], sums: Any, to: Distribution) -> Any:
    """For each k in turn, a thread's rows of a column and columns of a row, and their products by fma."""
    return _summed(left, right, sums, to=to)


@func
def _summed(left: Any, right: Any, sums: Any, *, to: Comptime[Distribution]) -> Any:
    row, column = to.of_thread()
    for k in range(left.shape[1]):
        sums = _added(left, right, sums, row, column, Int(k), to)
    return sums


def _added(left: Any, right: Any, sums: Any, row: Any, column: Any, k: Any, to: Distribution) -> Any:
    every = [to.of_register(n) for n in range(to.count)]
    rows, columns = (sorted({place[axis] for place in every}) for axis in (0, 1))
    a = joined([left.at(row + more, k).load(0) for more in rows]).cast(sums.dtype)
    b = joined([right.at(k, column + more).load(0) for more in columns]).cast(sums.dtype)
    wide = picked(a, [rows.index(place[0]) for place in every])
    high = picked(b, [columns.index(place[1]) for place in every])
    return wide.fma(high, sums) if sums.dtype.is_float else wide * high + sums
