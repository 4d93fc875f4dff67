"""What a warp does as one where threads are loops: products of fragments, and matrices spread over the lanes.

Each function is compiled once for its types. It takes pointers to what the 32 lanes have of each value, one
lane's behind the other's, and to where they get what it makes (``weft.lang.machine.by_warp``).
"""

from __future__ import annotations

from typing import Any

from weft.gpu.lanes import LANES
from weft.lang.comptime import Comptime, unroll
from weft.lang.decorators import func
from weft.lang.number import number_class
from weft.lang.pointer import Pointer
from weft.lang.scalars import Float32, UInt32
from weft.memory import stack_allocation

_COLUMNS = 8
"""Of each product."""


@func
def multiplied(
    a: Pointer[Any], b: Pointer[Any], c: Pointer[Any], d: Pointer[Any], *, m: Comptime[int], k: Comptime[int]
) -> None:
    """``mma``'s product of m x k by k x 8: the terms of a sum are added in the lanes' order."""
    kind: Any = Float32.dtype if c.dtype.bits == 16 else c.dtype
    halves, count, each = m // 8, k // 4, max(1, 32 // a.dtype.bits)
    left, right = stack_allocation(kind, m * k), stack_allocation(kind, k * _COLUMNS)
    for lane in range(LANES):
        g, t = lane // 4, lane % 4
        row = _exact(a.load(lane * count * halves, width=count * halves)).cast(kind)
        column = _exact(b.load(lane * count, width=count)).cast(kind)
        for half in unroll(range(halves)):  # of a's registers every second one has rows g + 8
            places = [(r // each * halves + half) * each + r % each for r in range(count)]
            part = row.shuffle(*places) if count > 1 else row[half] if halves > 1 else row
            left.store((g + 8 * half) * k + t * count, part)
        for r in unroll(range(count)):
            right[(t * count + r) * _COLUMNS + g] = column[r] if count > 1 else column
    for g in range(8):
        for half in unroll(range(halves)):
            total = number_class(kind, _COLUMNS)(0)
            for p in range(k):
                total += left[(g + 8 * half) * k + p] * right.load(p * _COLUMNS, width=_COLUMNS)
            for n in unroll(range(_COLUMNS)):
                at = ((4 * g + n // 2) * halves + half) * 2 + n % 2
                d[at] = (c[at].cast(kind) + total[n]).cast(c.dtype)


def _exact(x: Any) -> Any:
    """Numbers as they are multiplied: of Float32 tf32, whose fraction has 10 bits."""
    if x.dtype.name != "float32":
        return x
    words = number_class(UInt32.dtype, x.lanes) if x.lanes > 1 else UInt32
    return (x.bitcast(words) & 0xFFFFE000).bitcast(type(x))


@func
def spread(rows: Pointer[Any], out: Pointer[Any], *, count: Comptime[int], transpose: Comptime[bool]) -> None:
    """Rows of 16 bytes of so many matrices, as ``ldmatrix`` hands them out."""
    each = 32 // rows.dtype.bits
    for lane in range(LANES):
        for n in unroll(range(count)):
            for part in unroll(range(each)):
                at = _place(n, lane, part, each=each, transpose=transpose)
                out[(lane * count + n) * each + part] = rows[at]


@func
def gathered(
    parts: Pointer[Any], rows: Pointer[Any], *, count: Comptime[int], transpose: Comptime[bool]
) -> None:
    """The other way, as ``stmatrix`` does it."""
    each = 32 // rows.dtype.bits
    for lane in range(LANES):
        for n in unroll(range(count)):
            for part in unroll(range(each)):
                at = _place(n, lane, part, each=each, transpose=transpose)
                rows[at] = parts[(lane * count + n) * each + part]


def _place(n: int, lane: Any, part: int, *, each: int, transpose: bool) -> Any:
    """Where an element of a lane's part of matrix n lies among its rows, which four lanes have each."""
    g, t = lane // 4, lane % 4
    row, column = (each * t + part, g) if transpose else (g, each * t + part)
    return (8 * n + row) * (4 * each) + column


@func
def matching(x: Pointer[Any], found: Pointer[UInt32]) -> None:
    """For each lane one bit for each that has the same number."""
    for lane in range(LANES):
        bits = UInt32(0)
        for other in range(LANES):
            bits |= (x[other] == x[lane]).cast(UInt32) << UInt32(other)
        found[lane] = bits
