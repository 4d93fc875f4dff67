"""The public functions of Python's ``math`` that go through several numbers."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from weft.diagnostics import refuse
from weft.lang.number import Number, NumberLike
from weft.math.basic import abs
from weft.math.dispatch import is_plain
from weft.math.transcendental import hypot


def prod(items: Iterable[Any], /, *, start: NumberLike = 1) -> Any:
    """The product of numbers, from the left; of a SIMD value, of its lanes.

    Example:
        >>> prod([2, 3, 4]), prod([], start=0.5)
        (24, 0.5)
    """
    if isinstance(items, Number) and items.lanes > 1:
        return items.reduce_mul() * start
    return functools.reduce(operator.mul, items, start)


def dist(p: Sequence[Any], q: Sequence[Any], /) -> Any:
    """The distance of two points, also vectors, by ``hypot``, so that no square overflows.

    Example:
        >>> dist((1.0, 2.0), (4.0, 6.0))
        5.0
    """
    ps, qs = list(p), list(q)
    if is_plain(*ps, *qs):
        return math.dist(ps, qs)
    if len(ps) != len(qs):
        message = f"dist takes points of one dimension, not of {len(ps)} and {len(qs)}"
        refuse("argument-type", message, hint="give as many numbers of both")
    apart = [a - b for a, b in zip(ps, qs, strict=True)]
    if whole := next((type(d).__name__ for d in apart if isinstance(d, Number) and not d.dtype.is_float), ""):
        refuse(
            "argument-type",
            f"dist takes floats, not {whole}",
            hint="write Float32(x) for each of both points",
        )
    return abs(apart[0]) if len(apart) == 1 else functools.reduce(hypot, apart)


def fsum(items: Iterable[float], /) -> float:
    """The sum of Python's floats, rounded once. In a kernel it is refused: that takes memory without bounds.

    Example:
        >>> fsum([0.1] * 10)
        1.0
    """
    found = list(items)
    if not is_plain(*found):
        refuse(
            "host-only",
            "fsum keeps as many parts of a sum as it needs, for which a kernel has no memory",
            hint="add them up as Float64: sum(Float64(x) for x in items)",
        )
    return math.fsum(found)
