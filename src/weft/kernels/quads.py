"""Matrices of 4 x 4 words turned among four lanes, so that each stores 16 bytes instead of pieces."""

from __future__ import annotations

from typing import Any

from weft.gpu import lane_id, warp
from weft.lang.number import number_class
from weft.lang.scalars import UInt32


def whole(words: Any) -> Any:
    """Of four chunks, of each of which every lane of four has the word of its place, this lane's chunk.

    By two exchanges, with the lane beside and with the one two away (the transposition of Eklundh, 1972).
    All lanes of a warp come here together.
    """
    a, b, c, d = words
    odd, late = lane_id() % 2 == 1, lane_id() % 4 >= 2
    low, high = _exchanged(a, b, odd, 1), _exchanged(c, d, odd, 1)
    first, second = (_exchanged(x, y, late, 2) for x, y in zip(low, high, strict=True))
    return number_class(UInt32.dtype, 4)(first[0], second[0], first[1], second[1])


def _exchanged(x: Any, y: Any, late: Any, mask: int) -> tuple[Any, Any]:
    """What two lanes have of ``x``, in the earlier of them, and of ``y`` in the later one."""
    mine, found = late.select(y, x), warp.shuffle_xor(late.select(x, y), mask)
    return late.select(found, mine), late.select(mine, found)
